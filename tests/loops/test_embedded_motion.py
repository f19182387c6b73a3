"""Closed mechanisms in independent rates through time: motion, dead points, derivatives, springs and control laws."""

import numpy as np
import pytest

import phistar as ps
from benchmarks.multibody.iftomm import bricard, pendulum
from examples.four_bar_truss import mast
from phistar.backends.choice import COMPOUND
from phistar.sim import rollout
from phistar.sim.rollout_kernel import is_written
from tests.loops.mechanisms import four_bar, random_inertia
from tests.trees import relative


def crank_rocker(**parts) -> tuple[ps.Model, np.ndarray]:
    model = four_bar((0.5, 1.0, 0.9, 1.1))
    if parts:
        model = model.replace(joints={"rocker": ps.Revolute(axis=(0, 0, 1), **parts)})
    return model, ps.assemble(model, [0.7, 0.1, 1.0])


def ball_jointed() -> tuple[ps.Model, np.ndarray]:
    """Two arms with a ball joint between them and at their tips: curved coordinates inside a loop."""
    rng, b = np.random.default_rng(3), ps.ModelBuilder("curved", gravity=(0.3, -2.0, -9.0))
    b.body("upper", joint=ps.Spherical(), inertia=random_inertia(rng))
    b.body("lower", "upper", ps.Revolute(axis=(0, 1, 0)), ps.Pose(xyz=(0.4, 0.1, 0)), random_inertia(rng))
    b.body("other", joint=ps.Revolute(axis=(0, 1, 0)), placement=ps.Pose(xyz=(0.5, 0, 0)), inertia=random_inertia(rng))
    b.frame("tip", "lower", ps.Pose(xyz=(0.3, 0, 0.1)))
    b.frame("end", "other", ps.Pose(xyz=(0.1, 0.05, 0.3)))
    b.loop("closure", "tip", "end", joint=ps.Spherical())
    model = b.build()
    return model, ps.assemble(model, model.random(np.random.default_rng(5)))


def test_motion_is_that_of_the_multipliers_and_stays_closed():
    model, q = crank_rocker(stiffness=3.0, rest=0.4, damping=0.2)
    ours, times = model.embedded(independent=["crank"], q=q), np.linspace(0.0, 1.5, 16)
    law = lambda t, q, v: np.array([2.0 * np.sin(3.0 * t) - 0.3 * v[0]])  # noqa: E731
    closed = lambda t, q, v: np.array([2.0 * np.sin(3.0 * t) - 0.3 * v[0], 0.0, 0.0])  # noqa: E731
    rates = ours.embedding.full_rates(q, [1.5])
    one = ps.simulate(ours, q, [1.5], 1.5, law, rtol=1e-11, t_eval=times)
    other = ps.simulate(model, q, rates, 1.5, closed, rtol=1e-11, t_eval=times)
    assert relative(one.q, other.q) < 1e-9 and relative(one.signals["tree_rates"], other.v) < 1e-8
    assert np.abs(one.loop_residual).max() < 1e-13 and np.abs(one.loop_rate).max() < 1e-12
    assert np.abs(one.energy - one.work - one.energy[0]).max() < 1e-8


def test_rollouts_are_compiled_and_agree_with_the_motion():
    model, q = crank_rocker(damping=0.2, friction=0.1)
    ours = model.embedded(independent=["crank"], q=q)
    given = {"dt": 2e-3, "steps": 200, "limits": "ignore"}
    run = ps.rollout(ours, np.stack([q, q]), [[1.5], [-0.4]], controller=lambda t, q, v: -0.3 * v, **given)
    assert np.abs(ps.loop_residual(model, run.q)).max() < 1e-13
    full = ours.embedding.full_rates(q, [1.5])
    theirs = ps.rollout(model, q, full, controller=lambda t, q, v: np.array([-0.3 * v[0], 0.0, 0.0]), **given)
    assert relative(run.q[0], theirs.q) < 1e-9


@pytest.mark.slow
def test_rollouts_of_many_compound_links_are_compiled_within_the_budget(monkeypatch):
    closed = mast(7)
    q = np.tile([np.pi / 2 - 0.2, 0.2 - np.pi / 2, np.pi / 2 - 0.2], 7)
    model, v = closed.embedded(q=q), 0.2 * np.random.default_rng(0).standard_normal(7)
    assert len(model.bodies) > COMPOUND
    monkeypatch.setattr(rollout, "_step_in_numpy", lambda *given: pytest.fail("stepped in Python"))
    run = ps.rollout(model, np.stack([q, q]), v, dt=2e-3, steps=5)
    assert np.abs(ps.loop_residual(closed, run.q)).max() < 1e-13
    told = ps.simulate(model, q, v, 0.01, rtol=1e-10, t_eval=run.t)
    assert relative(run.q[1], told.q) < 1e-8
    monkeypatch.setenv("PHISTAR_COMPILE_SECONDS", "0.1")
    assert not is_written(closed.embedded(independent=[f"coupler{k}" for k in range(7)], q=q))


@pytest.mark.parametrize("make", (crank_rocker, ball_jointed))
def test_derivatives_are_those_of_differences_along_the_closed_mechanism(make):
    model, q = make()
    ours, rng, h = model.embedded(q=q), np.random.default_rng(2), 1e-6
    v, tau = rng.standard_normal(ours.nv), rng.standard_normal(ours.nv)
    found = ps.forward_dynamics_derivatives(ours, q, v, tau)
    for j, unit in enumerate(np.eye(ours.nv)):
        ahead, back = (ps.forward_dynamics(ours, ours.integrate(q, s * h * unit), v, tau) for s in (1, -1))
        assert np.abs(found.dq[:, j] - (ahead - back) / (2 * h)).max() < 1e-6 * max(1.0, np.abs(found.dq).max())
        ahead, back = (ps.forward_dynamics(ours, q, v + s * h * unit, tau) for s in (1, -1))
        assert np.abs(found.dv[:, j] - (ahead - back) / (2 * h)).max() < 1e-6 * max(1.0, np.abs(found.dv).max())
    assert relative(found.dtau, ps.mass_matrix_inverse(ours, q)) < 1e-9
    inverse = ps.inverse_dynamics_derivatives(ours, q, v, ps.forward_dynamics(ours, q, v, tau))
    assert relative(-found.dtau @ inverse.dq, found.dq) < 1e-9


def test_a_linearization_is_how_deviations_grow_springs_and_ball_joints_included():
    model, q = ball_jointed()
    model = model.replace(joints={"lower": ps.Revolute(axis=(0, 1, 0), stiffness=40.0, damping=0.5)})
    ours, rng = model.embedded(q=q), np.random.default_rng(4)
    v, tau, e, h = rng.standard_normal(ours.nv), np.zeros(ours.nv), 1e-5, 1e-3
    A, deviation = ps.linearize(ours, q, v, tau).A, rng.standard_normal(2 * ours.nv)
    ends = []
    for sign in (1.0, -1.0):
        start = ours.integrate(q, sign * e * deviation[: ours.nv]), v + sign * e * deviation[ours.nv :]
        ends.append(ps.simulate(ours, *start, h, rtol=1e-12, atol=1e-14))
    middle = ps.simulate(ours, q, v, h, rtol=1e-12, atol=1e-14).q[-1]
    grown = (ours.difference(middle, ends[0].q[-1]) - ours.difference(middle, ends[1].q[-1])) / (2 * e)
    faster = (ends[0].v[-1] - ends[1].v[-1]) / (2 * e)
    expected = deviation + h * A @ deviation
    error = np.abs(np.concatenate([grown, faster]) - expected).max()
    assert error < 2.0 * h**2 * np.abs(A @ A @ deviation).max()


def test_the_null_space_form_holds_at_a_dead_point_where_no_joint_is_independent_enough():
    """A slider-crank at its dead centre: the slider does not say how the crank turns."""
    b, z = ps.ModelBuilder("slider crank", gravity=(0, -9.81, 0)), ps.Revolute(axis=(0, 0, 1))
    b.body("crank", joint=z, inertia=ps.Inertia(1.0, (0.2, 0, 0), 0.01 * np.eye(3)))
    b.body("rod", "crank", z, ps.Pose(xyz=(0.4, 0, 0)), ps.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)))
    b.body("slider", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(2.0, (0, 0, 0), 0.01 * np.eye(3)))
    b.frame("pin", "rod", ps.Pose(xyz=(1.0, 0, 0)))
    b.loop("closure", "pin", "slider", joint=z)
    model = b.build()
    dead, rates = np.array([0.0, 0.0, 1.4]), np.array([2.0, -2.0 * 1.4, 0.0])
    tau = np.array([0.5, 0.1, -0.3])
    with pytest.raises(ps.InfeasibleError, match=r"dead point.*null_space"):
        by_slider = model.embedded(independent=["slider"], q=[0.5, -0.7, 1.3])
        ps.forward_dynamics(by_slider, dead, [0.0], [0.0])
    ours = model.embedded(null_space=True, q=dead)
    maps = ours.embedding
    v = maps.independent_rates(rates)
    assert maps.independent == (-1,) and np.isinf(ours.effort_limits).all()
    a = ps.forward_dynamics(ours, dead, v, maps.independent_forces(dead, tau))
    assert relative(maps.full_rates(dead, v), rates) < 1e-14
    assert relative(maps.full_accelerations(dead, v, a), ps.forward_dynamics(model, dead, rates, tau)) < 1e-12


def test_simulations_pass_dead_points_by_other_rates_and_tell_their_own():
    """A01: the pendulum closed by its bar, x alone independent: it is lost where the bar lies flat."""
    problem = pendulum()
    start = ps.assemble(problem.model, [-0.8, -0.6])
    ours = problem.model.embedded(independent=["x"], q=start)
    run = ps.simulate(ours, start, [0.0], 3.0, rtol=1e-11, atol=1e-13)
    other = ps.simulate(problem.model, start, np.zeros(2), 3.0, rtol=1e-11, atol=1e-13, t_eval=run.t)
    assert run.q[:, 0].max() > 0.79 and relative(run.q, other.q) < 1e-8
    assert relative(run.v[:, 0], other.v[:, 0]) < 1e-7
    assert np.abs(run.energy - run.energy[0]).max() < 1e-9


@pytest.mark.slow
def test_the_published_pendulum_and_bricards_mechanism_in_independent_rates():
    """IFToMM A01 after its exact period, and A04, whose closure has 5 equations of rank 4, along its reference."""
    figures = ("error after four periods [m]", 1e-8), ("error of P3 [m]", 1e-7)
    for problem, (figure, bound) in zip((pendulum(), bricard()), figures, strict=True):
        _, found = problem.in_independent_rates().run()
        assert found[figure] < bound
        assert found["energy drift [J]"] < 1e-7 and found["loop residual"] < 1e-10


def test_control_laws_drive_independent_joints():
    model, q = crank_rocker()
    ours = model.embedded(independent=["crank"], q=q)
    target = ours.integrate(q, [0.4])
    law = ps.control.InverseDynamicsControl(ours, kp=100.0)
    goal = law.reference(target, [0.0])
    run = ps.simulate(ours, q, [0.0], 2.5, lambda t, q, v: law(t, q, v, goal))
    assert np.abs(run.q[-1] - target).max() < 1e-6
    held = ps.simulate(ours, q, [0.0], 1.0, ps.control.GravityCompensation(ours))
    assert np.abs(held.q[-1] - q).max() < 1e-9


def test_modes_of_a_closed_mechanism_are_those_of_its_independent_rates():
    model, q = crank_rocker(stiffness=3.0)
    ours = model.replace(gravity=(0, 0, 0)).embedded(q=q)
    closed = ours.embedding.closed
    rest = closed.replace(joints={"rocker": ps.Revolute(axis=(0, 0, 1), stiffness=3.0, rest=q[2])})
    one, other = ps.modes(rest.embedded(q=q), q), ps.modes(rest, q)
    assert relative(one.frequencies, other.frequencies) < 1e-9
