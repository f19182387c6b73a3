"""The sweeps of tables are their statements: scaled ones make other tables, and what is written is what laws say."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.backends.links.common_frame import single_axes
from phistar.backends.machine.rows import Signature
from phistar.backends.pairwise.forms import FORMS
from phistar.backends.pairwise.kernel import pair_kernel
from phistar.backends.pairwise.programs import PROGRAMS, called_sides
from phistar.backends.programs.linearized import tables_program
from phistar.operators.symbols import Symbols
from tests.trees import mechanism, relative

TREE = mechanism(71, serial=False, floating=False, armature=False, varying=False, bodies=5).model
INVERSE = "inverse_dynamics_derivatives"


def statements(mass, velocity):
    """∂τ/∂θ and ∂τ/∂θ̇ as the laws find them, with M and 𝓑 so many times as large."""

    def stated(s):
        by_q = mass * (s.M @ s.phi.T @ s.Psi_ddot) + 2 * velocity * (s.B_v @ s.phi.T @ s.Psi_dot)
        by_v = mass * (s.M @ s.phi.T @ s.Psi_prime) + 2 * velocity * (s.B_v @ s.phi.T @ s.H.T)
        turned = s.H @ s.phi_tilde @ s.F_hat @ s.H.T
        return {"dq": s.H @ s.phi @ by_q + turned, "dv": s.H @ s.phi @ by_v}

    return stated


def state(model):
    rng = np.random.default_rng(4)
    return model.random(rng), *rng.normal(size=(2, model.nv))


def made(name, model, *arrays):
    signature = Signature((model.nq, model.nv, model.nv), ((model.nv, model.nv),) * 3)
    return pair_kernel(name, single_axes(model), signature)[0](*arrays)


@pytest.fixture
def scaled(monkeypatch):
    """The tables of a statement with M and 𝓑 scaled, by sweeps and loops of long robots."""

    def tables(mass, velocity):
        stated = statements(mass, velocity)(Symbols())
        program = tables_program(tuple(stated.items()), Symbols()).program
        name, called = f"{mass} M, {velocity} 𝓑", called_sides(program.tables)
        monkeypatch.setitem(PROGRAMS, name, lambda: (program, called))
        monkeypatch.setitem(FORMS, name, replace(FORMS[INVERSE], program=name))
        return np.stack(made(name, TREE, *state(TREE))[:2])

    return tables


def test_masses_and_velocities_of_the_statement_are_in_the_tables_of_long_robots(scaled):
    """Nothing stands beside the algebra: the tables change with M and with 𝓑, each in proportion."""
    plain = np.stack(ps.inverse_dynamics_derivatives(TREE, *state(TREE))[:2])
    first = scaled(1, 1)
    assert relative(first, plain) < 1e-12
    by_mass, by_velocity = scaled(2, 1) - first, scaled(1, 2) - first
    assert min(np.abs(x).max() for part in (by_mass, by_velocity) for x in part) > 1e-2
    assert relative(scaled(3, 2), first + 2 * by_mass + by_velocity) < 1e-12


@pytest.mark.parametrize("seed", [71, 75, 76])
def test_what_is_eliminated_rate_by_rate_is_what_the_laws_of_articulated_bodies_say(seed):
    """−ℳ⁻¹∂τ by P, ψ and 𝒴 as the rewriter finds it, on explicit matrices."""
    case = mechanism(seed, serial=False, rotors=False, varying=False, bodies=5)
    model, (q, v, tau) = case.model, state(case.model)
    found = made("forward_dynamics_derivatives", model, q, v, tau)
    algebra = ps.algebra(model)
    nodes = ps.forward_dynamics_derivatives.nodes(algebra.symbols)
    given = {"v": v, "qdd": ps.forward_dynamics(model, q, v, tau)}
    for ours, node in zip(found, nodes.values(), strict=True):
        form = algebra.expression(node).simplify(matrix=True)
        assert {"P", "D"} & set(form.show())
        assert relative(ours, form.dense(q, **given)) < 1e-9
