"""Biases of forward dynamics behind the joint and along the way: the same results from another program."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.values import links_at
from phistar.backends.programs.biases import WAY, cheap_biases
from phistar.backends.programs.interpret import run
from phistar.loops.forward import free_motion
from phistar.sweeps.ir import Call, Field, Move, Times, rebuild, subterms
from phistar.sweeps.lower import GIVEN
from tests.trees import KINDS, mechanism

CASES = [mechanism(40, kind=kind, bodies=4, frames=2, serial=False) for kind in KINDS]
CASES += [
    mechanism(41, serial=True, tips=True, frames=1, armature=False, bodies=5),
    mechanism(42, serial=False, tips=False, frames=2, armature=True, bodies=6, floating=True),
]


def results(case, program):
    """The outputs of a program on floats, where no structure is at work."""
    rows = {GIVEN.get(name, name): value for name, value in case.vectors.items()}
    rows["a_g"] = np.concatenate([np.zeros(3), -case.model.gravity])
    inputs = {name: np.asarray(rows[name])[..., None] for name, _ in program.inputs}
    return run(program, RigidLinks(links_at(case.model, case.q, case.frames)), inputs, case.operators)


def program_of(function, case, frames=()):
    wanted, _ = function.statements_for(case.model, frames)
    return wanted.program()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("loaded", [False, True])
def test_the_accelerations_are_those_of_the_papers_program(case, loaded):
    """On every kind of joint, on trees, with armature, and with forces at frames."""
    program = program_of(ps.forward_dynamics, case, case.frames if loaded else ())
    changed = cheap_biases(program)
    assert changed is not program
    (ours,), (papers,) = results(case, changed).values(), results(case, program).values()
    assert np.allclose(ours, papers, rtol=0, atol=1e-10 * np.abs(papers).max())


@pytest.mark.parametrize("case", CASES)
def test_accelerations_of_frames_keep_all_of_the_bias(case):
    """Where a frame's acceleration is asked for beside θ̈, the links' are whole."""
    program = program_of(free_motion, case, case.frames)
    changed = results(case, cheap_biases(program))
    for name, papers in results(case, program).items():
        assert np.allclose(changed[name], papers, rtol=0, atol=1e-10 * np.abs(papers).max()), name


@pytest.mark.parametrize("name", ["ε", "ν", "z", "z⁺", "λ", "λ⁻"])
def test_whatever_is_asked_for_beside_the_accelerations_keeps_its_value(name):
    program = program_of(ps.forward_dynamics, CASES[-1])
    space = "joints" if name in ("ε", "ν") else "links"
    program = replace(program, outputs=(*program.outputs, (name, space)))
    ours, papers = results(CASES[-1], cheap_biases(program))[name], results(CASES[-1], program)[name]
    assert np.allclose(ours, papers, rtol=0, atol=1e-10 * np.abs(papers).max())


def test_no_bias_meets_the_inertia_in_front_of_the_joint():
    changed = cheap_biases(program_of(ps.forward_dynamics, CASES[0]))
    terms = [s.term for sweep in changed.sweeps for s in sweep.statements]
    assert not any(isinstance(x, Times) and x.left is Field("P") and isinstance(x.right, Field) for x in _all(terms))
    assert sum(isinstance(x, Call) and x.function == WAY for x in _all(terms)) == 1


def test_other_programs_stay_as_they_are():
    """Without biases, without the innovations, and with rotors, whose G has a term of its own."""
    plain = [ps.force_response, ps.inverse_dynamics, ps.mass_matrix_inverse, ps.forward_dynamics_two_step]
    for function in plain:
        program = program_of(function, CASES[0])
        assert cheap_biases(program) is program
    rotors = mechanism(35, serial=False, tips=False, frames=2, armature=True, rotors=True, bodies=4, kind="revolute")
    program = program_of(ps.forward_dynamics, rotors)
    assert cheap_biases(program) is program


def _all(terms):
    for term in terms:
        yield term
        yield from _all(subterms(term))


def called_otherwise(program):
    """The program with other names for all its fields."""

    def name(field):
        return f"{field} called otherwise"

    def renamed(term):
        match term:
            case Field():
                return Field(name(term.name))
            case Move():
                return Move(term.source, term.act, name(term.name), tuple(map(name, term.update)))
        return rebuild(term, renamed)

    def statement(made):
        return replace(made, target=name(made.target), term=renamed(made.term))

    return replace(
        program,
        inputs=tuple((name(field), space) for field, space in program.inputs),
        outputs=tuple((name(field), space) for field, space in program.outputs),
        sweeps=tuple(replace(x, statements=tuple(map(statement, x.statements))) for x in program.sweeps),
    )


def test_biases_are_found_by_what_the_statements_say_whatever_their_fields_are_called():
    program = program_of(ps.forward_dynamics, CASES[0])
    usual, found = cheap_biases(program), cheap_biases(called_otherwise(program))
    assert usual is not program and WAY in str(usual) and WAY in str(found)
    assert [len(x.statements) for x in found.sweeps] == [len(x.statements) for x in usual.sweeps]
