"""The operational space of closed chains as statements is that of unit forces, and of the functions."""

import numpy as np
import pytest

import phistar as ps
from tests.loops.mechanisms import four_bar, two_arms
from tests.trees import relative

CASES = [(ps.Fixed(), False), (ps.Revolute(axis=(0, 1, 0)), True), (ps.Distance(0.4), False)]


def closed_state(model, seed=0):
    rng = np.random.default_rng(seed)
    q = ps.assemble(model, model.random(rng))
    return q, ps.loops.assemble_velocity(model, q, rng.standard_normal(model.nv))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("joint", "floating"), CASES, ids=[type(joint).__name__ for joint, _ in CASES])
def test_statements_are_the_responses_to_unit_forces(joint, floating):
    model = two_arms(joint, floating=floating)
    q, v = closed_state(model)
    frame = "left2"
    chain = ps.loops.closed_chain(model, q, v, frame)
    assert chain.frames[0] == frame and set(chain.frames[1:]) == {"left tip", "right tip"}
    mobility = chain.mobility.dense(q)[:6, :6]
    still, jacobian = np.zeros(model.nv), ps.jacobian(model, q, frame)
    rest = ps.forward_dynamics(model, q, v, still)
    unit = [ps.forward_dynamics(model, q, v, still, {frame: e}) - rest for e in np.eye(6)]
    assert relative(mobility, jacobian @ np.array(unit).T) < 1e-9
    # ẍ = Ω_c f − Ω_c c − Ω_c g
    acceleration = jacobian @ rest + ps.jacobian_dot_v(model, q, v, frame)
    coriolis = chain.coriolis.apply(q, v=v) + chain.closing.apply(q, chain.gamma)
    left = (-coriolis - chain.gravity.apply(q))[:6]
    assert np.abs(left - acceleration).max() < 1e-9 * max(1.0, np.abs(acceleration).max())


def test_redundant_closures_leave_an_inverse():
    """A plane four-bar closed in space: of five equations two are independent."""
    model = four_bar()
    q = ps.assemble(model, np.array([0.4, -0.2, 0.3]))
    chain = ps.loops.closed_chain(model, q, frames="coupler")
    assert chain.mobility.operators["Q"].shape[0] == 2
    assert relative(chain.mobility.dense(q)[:6, :6], ps.mobility(model, q, "coupler")) < 1e-9


def test_derivation_and_program_are_linear():
    model = two_arms(ps.Spherical())
    q, _ = closed_state(model)
    chain = ps.loops.closed_chain(model, q, frames="left tip")
    steps = str(chain.mobility.derivation())
    assert "lemma 1" in steps and "lemma 4" in steps and "[O(n) → O(n)]" in steps
    assert "SOLVE" in str(chain.mobility.algorithm())
    kernel = ps.compile(chain.mobility, model.tree, matrix=True)
    assert relative(kernel(q), chain.mobility.dense(q)) < 1e-12


def test_it_is_the_formula_of_explicit_matrices():
    model = two_arms(ps.Fixed())
    q, v = closed_state(model)
    chain = ps.loops.closed_chain(model, q, v, "left2")
    mass = np.linalg.inv(ps.mass_matrix(model.tree, q))
    rows = ps.loops.closure_jacobian(model, q)
    held = mass - mass @ rows.T @ np.linalg.pinv(rows @ mass @ rows.T) @ rows @ mass
    jacobian = ps.jacobian(model, q, "left2")
    assert relative(chain.mobility.dense(q)[:6, :6], jacobian @ held @ jacobian.T) < 1e-9


def test_what_has_no_such_statement_is_refused_by_name():
    with pytest.raises(ps.PhistarError, match="no loops"):
        ps.loops.closed_chain(ps.load("planar2"), np.zeros(2))
    coupled = two_arms(ps.Spherical(), couplings=True)
    with pytest.raises(ps.PhistarError, match=r"couples joints .*embedded"):
        ps.loops.closed_chain(coupled, coupled.neutral())
    with pytest.raises(ps.PhistarError, match="closed_chain"):
        ps.algebra(four_bar(), frames=["coupler"]).Lambda  # noqa: B018
