"""Sweeps behave as though the matrix existed: every operator against its dense twin, and the dot test."""

import numpy as np
import pytest
from hypothesis import assume, given, settings

import phistar as ps
from phistar.operators.nodes import Node, Symbol
from phistar.operators.spaces import SCALARS
from phistar.operators.symbols import NAMES, Symbols
from phistar.sweeps.lower import lower
from tests.statements import magnitude, statements
from tests.trees import KINDS, mechanism

CASES = [mechanism(30, kind=kind, bodies=3, frames=2, serial=False) for kind in KINDS]
CASES += [
    mechanism(31, serial=True, tips=True, frames=1, armature=False, bodies=4),
    mechanism(32, serial=True, tips=False, frames=2, armature=True, bodies=4),
    mechanism(33, serial=False, tips=True, frames=3, armature=True, bodies=6),
    mechanism(35, serial=False, tips=False, frames=2, armature=True, rotors=True, bodies=4, kind="revolute"),
    mechanism(34, serial=False, tips=False, frames=1, armature=False, bodies=6, floating=True),
]
TOLERANCE = 1e-11
S = Symbols()
OPERATORS = [name for name in NAMES if name != "I" and getattr(S, name).domain != SCALARS]
VECTORS = [name for name in NAMES if name != "I" and getattr(S, name).domain == SCALARS]


def products(s: Symbols) -> dict[str, Node]:
    """Statements of every shape: scans both ways, Riccati, task, base, closures, inverses that no law resolves."""
    omega = s.J @ s.mass.inv @ s.J.T
    return {
        "mass": s.mass,
        "mass inverse": s.mass.inv,
        "innovations": s.I + s.H @ s.phi @ s.K,
        "whitening": (s.I - s.H @ s.psi @ s.K).T,
        "link space": s.psi @ s.M @ s.phi.T,
        "smoother": s.psi.T @ s.H.T @ s.D.inv @ s.H @ s.psi,
        "tip inertia": omega,
        "tip forces": -(s.mass.inv @ s.J.T),
        "closures": s.Q @ omega @ s.Q.T,
        "base": s.E @ s.phi @ s.M @ s.phi.T @ s.E.T,
        "base to tip": s.B.T @ (s.phi.T @ s.E.T - s.psi.T @ s.W.T),
        "scan of a shift": s.phi @ s.K,
        "filter of a shift": s.psi @ s.K,
        "two shifts": s.E_phi @ s.E_phi @ s.P @ s.E_psi.T,
        "gramian": s.J @ s.U @ s.J.T,
        "composite": s.H @ (s.r + s.phi_tilde @ s.r) @ s.H.T,
        "unresolved": (s.mass + s.H @ s.phi @ s.phi.T.inv.T @ s.M @ s.H.T).inv,
        "scaled": 3 * s.mass.inv - 2 * s.U @ s.mass @ s.U,
    }


def vector_statements(s: Symbols) -> dict[str, Node]:
    return {
        "inverse dynamics": s.mass @ s.qdd + s.C + s.g - s.J.T @ s.f,
        "forward dynamics": s.mass.inv @ (s.T - s.C - s.g + s.J.T @ s.f),
        "tip acceleration": s.J @ s.qdd + s.Jdot_v,
        "operational coriolis": s.J @ s.mass.inv @ s.C - s.Jdot_v,
        "operational gravity": s.J @ s.mass.inv @ s.g,
        "momentum": s.E @ s.phi @ s.M @ s.V,
        "energy": s.V.T @ s.M @ s.V + s.v.T @ s.A @ s.v,
        "power": s.v.T @ s.T + s.f.T @ s.J @ s.v,
    }


def applied(case, node: Node, x=None) -> np.ndarray:
    return case.algebra.expression(node).apply(case.q, x, **case.vectors)


def assert_same(case, node: Node, ours, theirs) -> None:
    """Relative to the largest entry, or to the terms where they cancel."""
    assert ours.shape == theirs.shape
    error = np.abs(ours - theirs).max(initial=0.0)
    if error > TOLERANCE * np.abs(theirs).max(initial=0.0):
        simple = case.algebra.expression(node).simplify().node
        assert error <= TOLERANCE * max(1.0, magnitude(case.dense, node, simple))


def assert_twin(case, node: Node) -> None:
    """e.apply(x) = e.dense @ x, and ⟨Ax, y⟩ = ⟨x, A*y⟩ with sweeps on both sides."""
    rng = np.random.default_rng(7)
    matrix = case.dense(node)
    if node.domain == SCALARS:
        assert_same(case, node, applied(case, node), matrix[:, 0])
        return
    x, y = rng.normal(size=matrix.shape[1]), rng.normal(size=matrix.shape[0])
    ax = applied(case, node, x)
    assert_same(case, node, ax, matrix @ x)
    dots = y @ ax, x @ applied(case, node.T, y)
    assert_same(case, node, np.array([dots[0]]), np.array([dots[1]]))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_symbol_applied_is_its_matrix_and_passes_the_dot_test(name):
    for case in CASES:
        assert_twin(case, getattr(case.symbols, name))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_computed_by_sweeps_is_its_definition_and_its_adjoint_is_the_pairing_with_it(name):
    for case in CASES:
        node = getattr(case.symbols, name)
        assert_twin(case, node)
        x = np.random.default_rng(8).normal(size=case.dense.size(node.codomain))
        assert_same(case, node.T, applied(case, node.T, x), case.dense(node.T) @ x)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", products(S))
def test_a_product_applied_is_its_matrix_and_passes_the_dot_test(name):
    for case in CASES:
        assert_twin(case, products(case.symbols)[name])


@pytest.mark.parametrize("name", vector_statements(S))
def test_a_vector_statement_run_as_sweeps_is_its_dense_value(name):
    for case in CASES:
        assert_twin(case, vector_statements(case.symbols)[name])


SERIAL = mechanism(40, serial=True, tips=True, frames=1, armature=False, bodies=3, kind="revolute")
BRANCHING = mechanism(41, serial=False, tips=False, frames=2, armature=True, bodies=4, kind="universal")


@settings(max_examples=settings.default.max_examples // 2)
@given(statements(SERIAL.symbols, longest=5))
def test_any_statement_of_a_serial_chain_run_as_sweeps_is_its_matrix(node):
    assume(SERIAL.dense(node).any())
    assert_twin(SERIAL, node)


@settings(max_examples=settings.default.max_examples // 2)
@given(statements(BRANCHING.symbols, longest=5))
def test_any_statement_of_a_tree_run_as_sweeps_is_its_matrix(node):
    assume(BRANCHING.dense(node).any())
    assert_twin(BRANCHING, node)


@pytest.mark.parametrize("name", ["J", "mass", "E", "phi", "H"])
def test_nothing_has_the_shape_of_its_space(name):
    for case in CASES[:1]:
        assert_twin(case, 0 * getattr(case.symbols, name))


# Leading axes


@pytest.mark.parametrize(("lead_q", "lead_x"), [((4,), (4,)), ((3, 1), (2,)), ((), (5,)), ((2,), ())])
@pytest.mark.parametrize("case", CASES[-2:], ids=["tree", "floating"])
def test_leading_axes_broadcast(case, lead_q, lead_x):
    rng = np.random.default_rng(9)
    q, x = case.model.random(rng, lead_q), rng.normal(size=(*lead_x, case.model.nv))
    statement = case.algebra.mass.inv
    together = statement.apply(q, x)
    batch = np.broadcast_shapes(lead_q, lead_x)
    assert together.shape == (*batch, case.model.nv)
    q, x = np.broadcast_to(q, (*batch, case.model.nq)), np.broadcast_to(x, (*batch, case.model.nv))
    for index in np.ndindex(batch):
        assert np.allclose(together[index], statement.apply(q[index], x[index]), rtol=1e-12, atol=1e-12)


def test_a_nan_spoils_its_own_row_only():
    case = CASES[-1]
    q = case.model.random(np.random.default_rng(0), (3,))
    q[1] = np.nan
    s = case.symbols
    for node in (s.mass.inv @ s.T, (s.J @ s.mass.inv @ s.J.T).inv @ s.J @ s.v):
        result = case.algebra.expression(node).apply(q, **case.vectors)
        assert np.isnan(result[1]).any()
        assert np.isfinite(result[[0, 2]]).all()


def test_programs_are_the_same_for_every_robot():
    """A backend is handed what `lower` made; the robot enters only when the program runs."""
    programs = {
        lower(mechanism(seed, kind="revolute", serial=True, frames=1, tips=True, armature=False).algebra.mass.node)
        for seed in (1, 2)
    }
    assert len(programs) == 1


def test_symbols_are_all_tested():
    named = {name for name in NAMES if isinstance(getattr(S, name), Symbol)}
    assert named <= {*OPERATORS, *VECTORS}


def test_a_model_without_joints_has_empty_results_and_no_manipulability():
    builder = ps.ModelBuilder("block")
    builder.body("block", "world", ps.Fixed(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    builder.frame("top", "block")
    model, nothing = builder.build(), np.zeros((3, 0))
    np.testing.assert_array_equal(ps.control.manipulability(model, nothing, "top"), np.zeros(3))
    assert ps.control.diagonalized(model, nothing[0], nothing[0]).velocity.shape == (0,)
