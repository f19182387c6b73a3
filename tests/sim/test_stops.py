"""Joint limits: barriers that joints do not pass, whoever pushes."""

import numpy as np
import pytest

import phistar as ps
from phistar.contact.surface import Surface
from phistar.sim.motion import Motion
from tests.worlds import world_of

pytest.importorskip("coal")


def pendulum(limits=(-0.5, 0.8)):
    builder = ps.ModelBuilder("pendulum")
    inertia = ps.Inertia(1.0, (0, 0, -0.5), np.eye(3) * 0.01)
    builder.body("rod", "world", ps.Revolute(axis=(0, 1, 0), limits=limits), inertia=inertia)
    return world_of(builder.build())


@pytest.mark.parametrize("step", (None, 4e-3))
def test_a_pushed_joint_rests_before_its_limit_and_the_stop_carries_the_push(step):
    world = pendulum()
    motion = Motion(world, lambda t, q, v: np.array([30.0]), rtol=1e-6, atol=1e-8)
    start = world.start([0.0], [0.0])
    made = motion.moments(start, 0.0, [2.0]) if step is None else motion.fixed(start, 0.0, [2.0], step)
    moments = list(made)
    turns = [moment.state.q[0] for moment in moments]
    assert max(turns) < 0.8
    last = moments[-1]
    assert abs(last.state.v[0]) < 1e-4
    load = 30.0 - 9.81 * 0.5 * np.sin(last.state.q[0])
    assert last.step.stops == pytest.approx({1: load}, rel=1e-3)
    events = [event for moment in moments for event in moment.events]
    assert events[0].what == "limit" and events[0].where == "rod"
    arrival = next(moment.time for moment in moments if moment.state.q[0] > 0.8 - 0.001)
    assert abs(events[0].time - arrival) < 5e-3


def test_a_fast_joint_does_not_jump_over_its_limit_and_gains_no_energy():
    world = pendulum()
    motion = Motion(world, lambda t, q, v: np.zeros(1))
    moments = list(motion.fixed(world.start([0.0], [-40.0]), 0.0, [0.1], 4e-3))
    assert min(moment.state.q[0] for moment in moments) > -0.5
    speeds = [abs(moment.state.v[0]) for moment in moments]
    assert max(speeds) <= 40.0 and speeds[-1] < 40.0


def test_a_stop_holds_an_arm_that_a_falling_ball_strikes():
    """Contact and stop in one solve: the tray stays above its limit though the ball's weight turns it down."""
    builder = ps.ModelBuilder("tray")
    tray = [ps.Geometry(ps.Box((0.4, 0.2, 0.02)), placement=ps.Pose(xyz=(0.2, 0, 0)), role="collision")]
    light = ps.Inertia(0.2, (0.2, 0, 0), np.eye(3) * 1e-3)
    builder.body("tray", "world", ps.Revolute(axis=(0, 1, 0), limits=(-1.0, 0.02)), inertia=light, geometry=tray)
    ball = [ps.Geometry(ps.Sphere(0.05), role="collision")]
    builder.body("ball", "world", ps.Free(), inertia=ps.Inertia(2.0, (0, 0, 0), np.eye(3) * 2e-3), geometry=ball)
    world = world_of(builder.build(), Surface(patch=5e-3))
    motion = Motion(world, lambda t, q, v: np.zeros(7))
    moments = list(motion.fixed(world.start([0.0, 0.3, 0, 0.1, 0, 0, 0, 1], np.zeros(7)), 0.0, [0.2], 2e-3))
    assert max(moment.state.q[0] for moment in moments) < 0.02
    assert min(moment.step.nearest for moment in moments) > 0.0
    assert any(moment.step.stops.get(1, 0.0) > 2.0 * 9.81 * 0.3 for moment in moments)


@pytest.mark.parametrize("q", (-0.6, 0.81, np.nan))
def test_a_start_outside_the_limits_is_refused_by_joint_and_limits(q):
    with pytest.raises(ps.PhistarError, match=r"rod starts at .* not inside its limits -0\.5 and 0\.8|finite"):
        pendulum().start([q], [0.0])
