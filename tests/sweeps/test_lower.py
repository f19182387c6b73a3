"""From statements to sweeps: how many there are; passes keep what is computed; broken programs are refused."""

import numpy as np
import pytest

from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.values import links_at
from phistar.backends.programs.interpret import run
from phistar.identities.law import TREE, Setting
from phistar.identities.match import everywhere
from phistar.identities.rewriter import simplify
from phistar.operators.nodes import Node, Symbol
from phistar.operators.spaces import FORCES, MOTIONS, SCALARS
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import (
    CHILDREN,
    INERTIA,
    INWARD,
    ONE,
    OUTWARD,
    Data,
    Field,
    Move,
    Plus,
    Program,
    Statement,
    Sweep,
    Times,
    from_children,
    from_parent,
    plus,
    times,
)
from phistar.sweeps.lower import GIVEN, lower, lower_all
from phistar.sweeps.passes import PASSES, order, validate
from tests.identities.targets import CHAIN, TARGETS, regular_mechanisms

S = CHAIN[0]


def chain_form(node: Node) -> Node:
    return simplify(node, *CHAIN).result


def directions(node: Node, matrix: bool = False) -> list[str]:
    return [sweep.direction for sweep in lower(node, matrix).passes]


# Numbers of sweeps


def test_forward_dynamics_takes_three_sweeps_and_two_at_rest():
    """Velocities outward, the filter inward, the smoother outward (RJK91 §4); without velocities the first is saved."""
    assert directions(chain_form(S.mass.inv @ (S.T - S.C - S.g))) == [OUTWARD, INWARD, OUTWARD]
    assert directions(chain_form(S.mass.inv @ (S.T - S.g))) == [INWARD, OUTWARD]
    assert directions(chain_form(S.mass.inv)) == [INWARD, OUTWARD]


def test_inverse_dynamics_takes_two_sweeps():
    assert directions(chain_form(S.mass @ S.qdd + S.C + S.g)) == [OUTWARD, INWARD]


def test_tip_forces_reach_the_joints_in_one_sweep_once_the_links_are_placed():
    """T = J*F: frames are in world axes, so that the poses come first."""
    assert directions(chain_form(S.J.T @ S.f)) == [OUTWARD, INWARD]
    assert directions(S.H @ S.phi @ given_vector("T", FORCES)) == [INWARD]


def test_factors_take_one_sweep():
    assert directions(chain_form((S.I + S.H @ S.phi @ S.K).inv)) == [INWARD]
    assert directions(S.I + S.H @ S.phi @ S.K) == [INWARD]
    assert directions(chain_form(S.J)) == [OUTWARD]


@pytest.mark.parametrize("name", ["inverse operational inertia", "c(0)", "g(0)"])
def test_operational_space_quantities_take_the_filter_and_one_outward_sweep(name):
    """On a serial chain Ω needs no smoother: with (56), c(0) is one sweep shorter than in KJR92 §4.2."""
    node = TARGETS[name].statement(S)
    assert directions(chain_form(node), matrix=name.startswith("inverse")) == [INWARD, OUTWARD]
    general = simplify(node, Symbols(armature=False), TREE).result
    assert directions(general) == [OUTWARD, INWARD, OUTWARD]


def delayed(node: Node, s: Symbols) -> Node:
    """The velocity terms given from the last sample, instead of made from velocities."""
    filling = {
        s.a: given_vector("v", MOTIONS),
        s.b: given_vector("T", FORCES),
        s.a0: given_vector("f", s.task.dual),
    }
    while (new := everywhere(node, filling.get)) is not None:
        node = new
    return node


def given_vector(name: str, space) -> Symbol:
    """A vector that the caller gives, on any space."""
    assert name in GIVEN
    return Symbol(name, SCALARS, space, frozenset({"vector"}))


def operational_space_control(s: Symbols) -> Node:
    """T = J*(Λu + c(0) + g(0)), u the commanded tip acceleration (KJR92 eq. 5)."""
    omega = s.J @ s.mass.inv @ s.J.T
    command = given_vector("qdd", s.task.dual)
    return s.J.T @ omega.inv @ (command + s.J @ s.mass.inv @ (s.C + s.g) - s.Jdot_v)


def test_operational_space_control_takes_the_papers_numbers_of_sweeps():
    """KJR92 §5: 4; 3 with delayed velocity terms; 2 when the tip force is delayed too. And 3 with no delay."""
    s, node = S, operational_space_control(S)
    papers = simplify(node, s, Setting(serial=False)).result  # Ω at one frame, without (56)
    assert directions(papers) == [OUTWARD, INWARD, OUTWARD, INWARD]
    assert directions(delayed(papers, s)) == [INWARD, OUTWARD, INWARD]
    last_force = s.H @ s.phi @ given_vector("T", FORCES)
    tip_force = delayed(simplify(node.factors[1] @ node.factors[2], s, Setting()).result, s)
    both = lower_all({"T": last_force, "F": tip_force})
    assert [sweep.direction for sweep in both.passes] == [INWARD, OUTWARD]
    assert directions(chain_form(node)) == [INWARD, OUTWARD, INWARD]


def test_several_statements_share_what_they_have_in_common():
    forms = {name: chain_form(TARGETS[name].statement(S)) for name in ("c(0)", "g(0)", "inverse operational inertia")}
    together = lower_all({name: node for name, node in forms.items() if node.domain == SCALARS})
    assert len(together.passes) == 2
    riccati = [s for sweep in together.sweeps for s in sweep.statements if s.target == "P"]
    assert len(riccati) == 1
    assert set(together.result_names) == {"c(0)", "g(0)"}


# Passes

ON = {
    "chain": {"serial": True, "tips": True, "frames": 1, "armature": False},
    "tree": {"serial": False, "tips": False, "frames": 2, "armature": True},
}


def value(case, program: Program) -> np.ndarray:
    rng = np.random.default_rng(3)
    sizes = {"joints": case.model.nv, "links": 6 * len(case.model.bodies), "base": 6, "task": 6 * len(case.frames)}
    sizes["closures"] = len(case.operators["Q"])
    named = {GIVEN[name]: vector for name, vector in case.vectors.items()}
    inputs = {}
    for name, space in program.inputs:
        columns = name in program.columns
        inputs[name] = np.eye(sizes[space]) if columns else named.get(name, rng.normal(size=sizes[space]))[:, None]
    links = links_at(case.model, case.q, case.frames)
    outputs = run(program, RigidLinks(links), inputs, {"Q": case.operators["Q"]})
    return outputs[program.result_names["y"]]


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("where", ON)
def test_each_pass_keeps_the_result(name, where, monkeypatch):
    (case,) = regular_mechanisms(TARGETS[name], 1, **ON[where])
    node = simplify(TARGETS[name].statement(case.symbols), case.symbols, case.setting).result
    monkeypatch.setattr("phistar.sweeps.lower.PASSES", ())
    program = lower(node)
    expected = value(case, order(program))
    for improve in PASSES:
        program = improve(program)
        assert np.allclose(value(case, order(program)), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", TARGETS)
def test_passes_leave_one_transport_per_recursion_and_nothing_unused(name):
    program = lower(chain_form(TARGETS[name].statement(S)))
    for sweep in program.passes:
        for statement in sweep.statements:
            terms = getattr(statement.term, "terms", ((1, statement.term),))
            assert sum(isinstance(term, Move) and term is from_children(term.name) for _, term in terms) <= 1
    again = program
    for improve in PASSES:
        again = improve(again)
    assert again == program


def test_there_are_passes_and_each_is_named():
    assert [improve.__name__ for improve in PASSES] == [
        "merge_transports",
        "drop_unused",
        "share",
        "drop_unused",
        "order",
    ]


# Validation


def program_of(*sweeps: Sweep, outputs=(("y", "joints"),)) -> Program:
    return Program((("x", "joints"),), sweeps, outputs)


H_X = Times(Data("H"), Field("x"))
GOOD = Sweep(INWARD, (Statement("z", from_children("z")), Statement("y", Field("z"))))
BROKEN = {
    "makes a field twice": program_of(Sweep(INWARD, (Statement("y", H_X), Statement("y", Field("x"))))),
    "again": program_of(Sweep(INWARD, (Statement("y", H_X),)), Sweep(OUTWARD, (Statement("y", H_X),))),
    "which nothing has made": program_of(Sweep(INWARD, (Statement("y", Field("nowhere")),))),
    "of the children is not known in an outward sweep": program_of(
        Sweep(OUTWARD, (Statement("z", from_children("z")), Statement("y", Field("z"))))
    ),
    "of the parent is not known in an inward sweep": program_of(
        Sweep(INWARD, (Statement("z", from_parent("z")), Statement("y", Field("z"))))
    ),
    "P of the children is not known in an outward sweep": program_of(
        Sweep(OUTWARD, (Statement("P", Move(CHILDREN, INERTIA, "P")), Statement("y", H_X)))
    ),
}


def test_a_sound_program_is_accepted():
    assert validate(program_of(GOOD)) == program_of(GOOD)


@pytest.mark.parametrize("reason", BROKEN)
def test_a_broken_program_is_refused(reason):
    with pytest.raises(AssertionError, match=reason):
        validate(BROKEN[reason])


def test_an_output_that_nothing_makes_is_refused():
    with pytest.raises(AssertionError):
        validate(program_of(GOOD, outputs=(("nowhere", "joints"),)))


@pytest.mark.parametrize("improve", PASSES, ids=lambda improve: improve.__name__)
def test_each_pass_is_followed_by_validation(improve):
    late = program_of(Sweep(OUTWARD, (Statement("z", from_children("z")), Statement("y", Field("z")))))
    with pytest.raises(AssertionError, match="children"):
        improve(late)


def test_statements_that_wait_for_each_other_are_refused():
    circular = program_of(Sweep(INWARD, (Statement("z", Field("y")), Statement("y", Field("z")))))
    with pytest.raises(AssertionError, match="wait for each other"):
        order(circular)


def test_a_term_beside_a_product_with_itself_is_kept():
    """X + XY: nothing but products with X share it."""
    x, y, z = (Field(name) for name in "xyz")
    assert plus([(ONE, x), (ONE, times(x, y))]) is Plus(((ONE, x), (ONE, times(x, y))))
    assert plus([(ONE, times(x, z)), (ONE, times(x, y))]) is times(x, plus([(ONE, y), (ONE, z)]))
