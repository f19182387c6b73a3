"""Delays: the sweeps that KJR92 §5 counts, printed by the programs; forces that are right when nothing has moved, and
off by the first order of the delay when it has. Slow quantities are those of the samples they were made at."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.control.multirate import (
    Multirate,
    VelocityTerms,
    control_sweeps,
    on_link,
    tip_control,
    tip_control_delayed,
    tip_control_delayed_velocities,
)
from phistar.errors import ShapeError
from phistar.sweeps.ir import INWARD, OUTWARD
from tests.trees import relative

PUMA = ps.load("puma560")
RNG = np.random.default_rng(2)
Q, V = np.array([0.3, -0.5, 0.9, 0.4, 0.8, 0.1]), RNG.normal(size=6)
U = RNG.normal(size=6)


def directions(program):
    return [sweep.direction for sweep in program.passes]


def test_sweeps_are_the_papers_four_three_and_two():
    """KJR92 §5: 4; 3 with delayed velocity terms; 2 when the tip force is delayed too."""
    programs = control_sweeps()
    assert directions(programs["nothing"]) == [OUTWARD, INWARD, OUTWARD, INWARD]
    assert directions(programs["velocity terms"]) == [INWARD, OUTWARD, INWARD]
    assert directions(programs["velocity terms and tip force"]) == [INWARD, OUTWARD]


def test_on_a_serial_chain_three_sweeps_need_no_delay():
    assert directions(control_sweeps(serial=True)["nothing"]) == [INWARD, OUTWARD, INWARD]
    assert len(control_sweeps(serial=True)["velocity terms and tip force"].passes) == 2


def test_control_gives_the_tip_the_acceleration_asked_for():
    """β̇ = u (KJR92 eq. 5)."""
    tau = tip_control(PUMA, Q, V, U, "tool").tau
    a = ps.forward_dynamics(PUMA, Q, V, tau)
    assert relative(ps.jacobian(PUMA, Q, "tool") @ a + ps.jacobian_dot_v(PUMA, Q, V, "tool"), U) < 1e-9


def test_the_commanded_force_is_that_of_operational_space():
    inertia, coriolis, gravity = ps.operational_space(PUMA, Q, V, "tool")
    assert relative(tip_control(PUMA, Q, V, U, "tool").force, inertia @ U + coriolis + gravity) < 1e-10


def test_delayed_values_of_the_same_sample_change_nothing():
    now = tip_control(PUMA, Q, V, U, "tool")
    delayed = tip_control_delayed_velocities(PUMA, Q, V, U, now.terms, "tool")
    both = tip_control_delayed(PUMA, Q, V, U, now.terms, on_link(PUMA, Q, now.force, "tool"), "tool")
    for other in (delayed, both):
        assert relative(other.tau, now.tau) < 1e-10
        assert relative(other.force, now.force) < 1e-10
        for ours, theirs in zip(other.terms, now.terms, strict=True):
            assert np.allclose(ours, theirs, rtol=0, atol=1e-12)


def test_a_tree_with_geared_rotors_has_delayed_terms_too():
    """The rotors' gyroscopic moments are part of the delayed b."""
    builder = ps.ModelBuilder("geared")
    body = ps.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    builder.body("base", joint=ps.Free(), inertia=body)
    axes = ((0, 0, 1), (0, 1, 0))
    for side, axis in zip(("left", "right"), axes, strict=True):
        gear = {"gear_ratio": 30.0, "rotor_inertia": 0.01, "gyroscopic": True}
        builder.body(side, "base", joint=ps.Revolute(axis=axis, **gear), placement=ps.Pose(xyz=axis), inertia=body)
    builder.frame("hand", body="left", placement=ps.Pose(xyz=(0.1, 0, 0.4)))
    model = builder.build()
    q, v = model.random(RNG), RNG.normal(size=model.nv)
    now = tip_control(model, q, v, U, "hand")
    delayed = tip_control_delayed_velocities(model, q, v, U, now.terms, "hand")
    assert relative(delayed.tau, now.tau) < 1e-9
    silent = VelocityTerms(*(0.0 * x for x in now.terms))
    assert relative(tip_control_delayed_velocities(model, q, v, U, silent, "hand").tau, now.tau) > 1e-3


def test_the_error_of_a_delay_is_of_its_first_order():
    def error(delay):
        before = tip_control(PUMA, Q - delay * V, V, U, "tool")
        now, late = (
            tip_control(PUMA, Q, V, U, "tool"),
            tip_control_delayed_velocities(PUMA, Q, V, U, before.terms, "tool"),
        )
        return np.abs(late.tau - now.tau).max()

    errors = [error(delay) for delay in (4e-3, 2e-3, 1e-3)]
    assert 1.9 < errors[0] / errors[1] < 2.1 and 1.9 < errors[1] / errors[2] < 2.1


# Rates


def circle(t):
    """A point that moves about the tool's first place, with its velocity and acceleration."""
    start = ps.forward_kinematics(PUMA, Q, "tool")[:3, 3]
    r, w = 0.05, 3.0
    place = start + r * np.array([np.cos(w * t) - 1, np.sin(w * t), 0])
    return (
        place,
        r * w * np.array([-np.sin(w * t), np.cos(w * t), 0]),
        -r * w * w * np.array([np.cos(w * t), np.sin(w * t), 0]),
    )


def command(t, q, v):
    """u that makes the tool follow the circle, its turning damped."""
    beta = ps.jacobian(PUMA, q, "tool") @ v
    place, speed, push = circle(t)
    linear = push + 20 * (speed - beta[3:]) + 100 * (place - ps.forward_kinematics(PUMA, q, "tool")[:3, 3])
    return np.concatenate([-20 * beta[:3], linear])


def resolved(t, q, v, held):
    """Resolved acceleration: T = ℳJ⁻¹(u − J̇θ̇) + 𝒞 + 𝒢."""
    a = np.linalg.solve(ps.jacobian(PUMA, q, "tool"), command(t, q, v) - ps.jacobian_dot_v(PUMA, q, v, "tool"))
    return ps.inverse_dynamics(PUMA, q, v, a)


def held_operational(t, q, v, held):
    """T = J*(Λu + c + g) with Λ, c and g as they were when last computed (KJR92 eq. 4)."""
    inertia, coriolis, gravity = held
    return ps.jacobian(PUMA, q, "tool").T @ (inertia @ command(t, q, v) + coriolis + gravity)


def closed_loop(fast, every, dt=2e-3, steps=250):
    plant = PUMA.replace(joints={j.name: without_friction(j.kind) for j in PUMA.joints})

    def advance(q, v, tau):
        run = ps.rollout(plant, q, v, tau[None], dt, 1)
        return run.q[-1], run.v[-1]

    loop = Multirate(fast, lambda t, q, v: ps.operational_space(PUMA, q, v, "tool"), every)
    start = np.linalg.solve(ps.jacobian(PUMA, Q, "tool"), np.concatenate([np.zeros(3), circle(0.0)[1]]))
    return loop.run(advance, (Q, start), dt, steps)


def without_friction(kind):
    return replace(kind, friction=0.0, damping=0.0)


def tracking_error(run):
    wanted = np.array([circle(t)[0] for t in run.t])
    return np.abs(ps.forward_kinematics(PUMA, run.q, "tool")[:, :3, 3] - wanted).max()


def test_slow_quantities_are_those_of_their_samples_and_the_fast_law_does_not_wait_for_them():
    often, seldom = closed_loop(resolved, 1), closed_loop(resolved, 25)
    assert len(often.held) == 250 and len(seldom.held) == 10
    assert np.array_equal(often.q, seldom.q)
    expected = ps.operational_space(PUMA, seldom.q[:-1:25], seldom.v[:-1:25], "tool").inertia
    assert relative(np.stack([x.inertia for x in seldom.held]), expected) < 1e-12


def test_holding_the_operational_quantities_costs_tracking_and_at_full_rate_it_is_resolved_acceleration():
    full, held = closed_loop(held_operational, 1), closed_loop(held_operational, 20)
    assert np.abs(full.q - closed_loop(resolved, 1).q).max() < 1e-9
    assert tracking_error(held) > 3 * tracking_error(full)
    assert tracking_error(held) < 5e-3  # a tenth of the radius: it still follows the circle


def test_rates_must_be_whole_numbers_of_samples():
    with pytest.raises(ShapeError, match="number of samples"):
        Multirate(resolved, lambda t, q, v: None, 0)
