"""Motion with loops: closed to the last digits for the whole run, energy accounted, through singular configurations."""

import numpy as np
import pytest

import phistar as ps
from tests.loops.mechanisms import four_bar, two_arms

CRANK_ROCKER = (0.5, 1.2, 1.0, 1.1)


def turning_crank(speed=3.0):
    model = four_bar(CRANK_ROCKER)
    q = ps.assemble(model, [0.4, 0.5, 1.0], locked=["crank"])
    return model, q, ps.loops.assemble_velocity(model, q, [speed, 0.0, 0.0], locked=["crank"])


def test_a_crank_rocker_stays_closed_and_keeps_its_energy():
    model, q, v = turning_crank()
    run = ps.simulate(model, q, v, 4.0)
    assert np.abs(run.loop_residual).max() < 1e-13 and np.abs(run.loop_rate).max() < 1e-11
    assert np.ptp(run.energy) < 1e-8 * np.abs(run.energy).max()
    np.testing.assert_array_equal(run.loop_rank, 2)
    assert run.loop_condition.max() < 1e4
    np.testing.assert_array_equal(run.work, 0.0)


def test_the_work_of_joint_forces_is_the_change_of_energy():
    model, q, v = turning_crank()
    model = model.replace(joints={"rocker": ps.Revolute(axis=(0, 0, 1), damping=0.4, stiffness=2.0, rest=1.0)})
    run = ps.simulate(model, q, v, 2.0, control=lambda t, q, v: [3.0 * np.sin(5.0 * t), 0.0, -0.2 * v[2]])
    assert np.ptp(run.energy) > 0.5
    assert np.ptp(run.energy - run.work) < 1e-7 * np.abs(run.energy).max()


def test_samples_asked_for_are_closed_too_and_lie_on_the_same_motion():
    model, q, v = turning_crank()
    times = np.linspace(0.0, 1.0, 37)
    run, own = ps.simulate(model, q, v, 1.0, t_eval=times), ps.simulate(model, q, v, 1.0)
    np.testing.assert_array_equal(run.t, times)
    assert np.abs(run.loop_residual).max() < 1e-13
    np.testing.assert_allclose(run.q[-1], own.q[-1], atol=1e-9)
    assert np.ptp(run.energy) < 1e-7 * np.abs(run.energy).max()


@pytest.mark.slow
def test_a_mechanism_of_free_and_spherical_joints_stays_closed():
    model = two_arms(ps.Distance(1.0), links=2, floating=True)
    q = ps.assemble(model, model.random(1))
    v = ps.loops.assemble_velocity(model, q, np.random.default_rng(1).standard_normal(model.nv))
    run = ps.simulate(model, q, v, 0.5)
    assert np.abs(run.loop_residual).max() < 1e-12 and np.abs(run.loop_rate).max() < 1e-10
    assert np.ptp(run.energy) < 1e-7 * np.abs(run.energy).max()


def test_a_parallelogram_passes_through_its_singular_configuration():
    model, speed = four_bar(), 6.0
    q, v = np.array([0.9, -0.9, 0.9]), speed * np.array([1.0, -1.0, 1.0])
    run = ps.simulate(model, q, -v, 3.0)
    assert np.abs(run.loop_residual).max() < 1e-10
    assert run.q[:, 0].min() < -2.0 * np.pi  # all bars came to lie in one line, several times
    np.testing.assert_allclose(run.q[:, 0] + run.q[:, 1], 0.0, atol=1e-6)  # and it stayed a parallelogram
    assert np.ptp(run.energy) < 1e-6 * np.abs(run.energy).max()
    assert run.loop_condition.max() > 1e3 * run.loop_condition.min()  # which the trajectory tells


def test_a_loop_that_starts_open_is_refused_by_name():
    model, q, v = turning_crank()
    aside = np.array([0.0, 0.1, 0.0])
    for start in ((q + aside, v), (q, v + aside)):
        with pytest.raises(ps.ModelError, match=r"does not start closed: the loop 'closure' is open by .*assemble"):
            ps.simulate(model, *start, 1.0)
        with pytest.raises(ps.ModelError, match="does not start closed: the loop 'closure'"):
            ps.rollout(model, *start, steps=3)


@pytest.mark.parametrize("method", ["rk4", "midpoint", "euler"])
def test_rollouts_stay_closed(method):
    model, q, v = turning_crank()
    made = ps.rollout(model, np.stack([q, q]), np.stack([v, 0 * v]), dt=1e-3, steps=1000, method=method)
    gap, rate = ps.loop_residual(model, made.q, made.v)
    assert np.abs(gap).max() < 1e-13 and np.abs(rate).max() < 1e-11
    run = ps.simulate(model, q, v, 1.0)
    allowed = {"rk4": 1e-8, "midpoint": 1e-3, "euler": 3e-2}[method]
    np.testing.assert_allclose(made.q[0, -1], run.q[-1], atol=allowed)


def test_a_controlled_rollout_of_a_mechanism_with_loops_is_one_kernel():
    model, q, v = turning_crank(0.0)
    made = ps.rollout(model, q, v, dt=1e-3, steps=500, controller=lambda t, q, v: np.stack([4.0 - 0.5 * v[0], 0, 0]))
    held = ps.rollout(model, q, v, controls=np.stack([4.0 - 0.5 * made.v[:-1, 0], *np.zeros((2, 500))], -1), dt=1e-3)
    np.testing.assert_allclose(made.q, held.q, atol=1e-9)
    assert np.abs(ps.loop_residual(model, made.q)).max() < 1e-13


def test_dry_friction_holds_a_mechanism_with_loops_and_lets_it_go():
    model, q, _ = turning_crank(0.0)
    dry = {name: ps.Revolute(axis=(0, 0, 1), friction=40.0) for name in ("crank", "rocker")}
    held = model.replace(joints=dry)
    run = ps.simulate(held, q, np.zeros(3), 0.5)
    np.testing.assert_allclose(run.q[-1], q, atol=1e-9)
    pushed = ps.simulate(held, q, np.zeros(3), 0.5, control=lambda t, q, v: [200.0, 0, 0])
    assert pushed.q[-1, 0] > q[0] + 0.1
    assert np.abs(pushed.loop_residual).max() < 1e-12
    assert np.ptp(pushed.energy - pushed.work) < 1e-6 * np.abs(pushed.energy).max()


def test_a_rollout_passes_singular_configurations_too():
    model = four_bar()
    q, v = np.array([0.9, -0.9, 0.9]), 6.0 * np.array([-1.0, 1.0, -1.0])
    made, run = ps.rollout(model, q, v, dt=1e-3, steps=3000), ps.simulate(model, q, v, 3.0)
    assert np.abs(ps.loop_residual(model, made.q)).max() < 1e-10
    np.testing.assert_allclose(made.q[-1], run.q[-1], atol=1e-4)


def test_redundant_equations_that_disagree_are_told_with_their_loop_and_size(caplog):
    """A four-bar whose rocker leans by a millionth: its pin cannot stay closed along the axis."""
    z, b = ps.Revolute(axis=(0, 0, 1)), ps.ModelBuilder("leaning", gravity=(0, -9.81, 0))
    rod, end = ps.Inertia(1.0, (0.5, 0, 0), np.diag([1e-4, 1 / 12, 1 / 12])), ps.Pose(xyz=(1, 0, 0))
    b.body("crank", joint=z, inertia=rod)
    b.body("coupler", "crank", z, end, rod)
    b.body("rocker", joint=z, placement=ps.Pose(xyz=(1, 0, 0), rpy=(1e-7, 0, 0)), inertia=rod)
    b.frame("coupler end", "coupler", end)
    b.frame("rocker end", "rocker", end)
    b.loop("pin", "coupler end", "rocker end", joint=ps.Spherical())
    model = b.build()
    caplog.set_level("WARNING", "phistar")
    run = ps.simulate(model, [-1.2, 1.2, -1.2], [1.0, -1.0, 1.0], 0.2)
    assert 1e-9 < np.abs(run.loop_residual).max() < 1e-6 and (run.loop_rank == 2).all()
    (told,) = caplog.messages
    assert "'pin' is open by up to" in told and "equation 3 of 3" in told and "Of the 3 equations" in told
    caplog.clear()
    ps.simulate(four_bar(), [-1.2, 1.2, -1.2], [1.0, -1.0, 1.0], 0.1)
    assert not caplog.messages
