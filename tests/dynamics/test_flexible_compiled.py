"""Bodies that bend, compiled: statements, exported functions, rollouts, free flight."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar.backends.wide_kernel import statement_trace
from tests.trees import relative

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def arm():
    """Two beams on a rigid body that floats, and a state of it."""
    b = ps.ModelBuilder("boom", gravity=(0, 0, 0))
    b.body("base", joint=ps.Free(), inertia=ps.Inertia(4.0, (0.1, 0, 0), np.diag([0.3, 0.4, 0.5])))
    beam = ps.beam(1.0, 20.0, 1.0, modes=2, axial_inertia=0.01)
    b.body("upper", "base", ps.Revolute(axis=(0, 0, 1), damping=0.1), ps.Pose(xyz=(0.2, 0, 0)), beam)
    b.body("lower", "upper.tip", ps.Revolute(axis=(0, 1, 0)), inertia=beam)
    model, rng = b.build(), np.random.default_rng(0)
    return model, model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)


def test_compiled_statements_are_what_functions_give(arm):
    model, q, v, tau = arm
    solve = ps.compile(ps.forward_dynamics.statement, model)
    assert solve.inputs == ("q", "v", "T") and solve.operations > 1000
    assert relative(solve(q, v, tau), ps.forward_dynamics(model, q, v, tau)) < 1e-13
    assert relative(solve(np.stack([q, q]), v, tau)[1], solve(q, v, tau)) < 1e-15
    inverse = ps.compile(ps.algebra(model).mass.inv, matrix=True)
    assert relative(inverse(q), ps.mass_matrix_inverse(model, q)) < 1e-13
    assert relative(ps.compile(ps.algebra(model).mass)(q, v), ps.mass_matrix(model, q) @ v) < 1e-13
    with pytest.raises(ps.StatementError, match="constants"):
        ps.compile(ps.forward_dynamics.statement, model, parameters=["inertia"])


def test_exported_functions_and_statements_agree(arm, tmp_path):
    model, q, v, tau = arm
    ours = ps.casadi_function(ps.forward_dynamics, model)
    assert relative(np.array(ours(q, v, tau)).ravel(), ps.forward_dynamics(model, q, v, tau)) < 1e-11
    stated = ps.casadi_function(ps.algebra(model).mass, model)
    assert relative(np.array(stated(q, v)).ravel(), ps.mass_matrix(model, q) @ v) < 1e-11
    written = ps.export_c(ps.inverse_dynamics, model, tmp_path)
    assert any(path.suffix == ".c" and "double" in path.read_text() for path in written)


def test_free_flight_is_that_of_the_mass_matrix(arm):
    """J_g = J_i − J_b M_bb⁻¹M_bi, and the momentum of the base's rows of ℳθ̇; what goes back over φ is refused."""
    model, q, v, _ = arm
    mass, full = ps.mass_matrix(model, q), ps.jacobian(model, q, "lower.tip")
    expected = full[:, 6:] - full[:, :6] @ np.linalg.solve(mass[:6, :6], mass[:6, 6:])
    assert relative(ps.freeflying.generalized_jacobian(model, q, "lower.tip"), expected) < 1e-11
    turn = np.asarray(ps.forward_kinematics(model, q, "base"))[:3, :3]
    linear = turn @ (mass @ v)[3:6]  # the base's rows are along its own axes
    assert relative(ps.momentum(model, q, v)[3:], linear) < 1e-11
    with pytest.raises(ps.StatementError, match="bend"):
        ps.freeflying.mass_matrix(model, q)


def test_rollouts_keep_momentum_and_follow_the_motion_to_a_tolerance(arm):
    model, q, v, _ = arm
    v = 0.2 * v
    run = ps.rollout(model, q, v, dt=1e-4, steps=500)
    exact = ps.simulate(model, q, v, 0.05, rtol=1e-11, atol=1e-13, t_eval=[0.05])
    assert relative(run.q[-1], exact.q[-1]) < 1e-7
    before, after = ps.momentum(model, run.q[0], run.v[0]), ps.momentum(model, run.q[-1], run.v[-1])
    assert np.abs(after - before).max() < 1e-8
    assert np.isfinite(ps.rollout(model, q, v, dt=1e-4, steps=2, method="midpoint").q).all()


@pytest.mark.slow
def test_twenty_beams_of_four_modes_cost_at_most_four_times_a_rigid_robot_of_as_many_rates():
    """Operations of forward dynamics, counted: 100 rates each."""
    b, parent = ps.ModelBuilder("long", gravity=(0, 0, -9.81)), "world"
    for i in range(20):
        axis = (0, 1, 0) if i % 2 else (0, 0, 1)
        b.body(f"l{i}", parent, ps.Revolute(axis=axis), inertia=ps.beam(1.0, 20.0, 1.0, modes=4))
        parent = f"l{i}.tip"
    model = b.build()
    trace, _, _ = statement_trace(ps.forward_dynamics.statements_for(model, ())[0])
    assert model.nv == 100
    assert trace.operations < 4 * ps.compile(ps.forward_dynamics.statement, ps.chain(100)).operations


@pytest.mark.slow
def test_energy_and_momentum_of_a_free_flying_flexible_robot_stay(arm):
    model, q, v, _ = arm
    model = model.replace(joints={"upper": ps.Revolute(axis=(0, 0, 1))})
    run = ps.simulate(model, q, 0.2 * v, 2.0, rtol=1e-12, atol=1e-14)
    momenta = ps.momentum(model, run.q, run.v)
    assert np.abs(run.energy / run.energy[0] - 1.0).max() < 1e-11
    assert np.abs(momenta - momenta[0]).max() < 1e-12


@pytest.mark.slow
def test_kanes_spin_up_is_that_of_exudyn_to_a_thousandth_of_the_length():
    """Exudyn 1.13.6, sixteen cable elements: `benchmarks/multibody/exudyn_spin_up.py` prints these."""
    made = runpy.run_path(str(EXAMPLES / "spin_up.py"))
    model = made["wing"](True)
    run = made["spun"](model, 10.0)
    bent = made["deflection"](model, run)
    for time, expected in {5.0: -0.468443, 7.5: -0.559041, 10.0: -0.362768}.items():
        assert abs(bent[run.index(time)] - expected) < 1e-3 * made["LENGTH"]
