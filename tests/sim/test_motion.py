"""Motion with contact over time, against what is known exactly: bounces, sliding to rest, rolling after sliding."""

import numpy as np
import pytest

import phistar as ps
from phistar.contact.surface import Surface, normal_energy
from phistar.sim.motion import Motion
from phistar.sim.world import World
from tests.worlds import world_of

pytest.importorskip("coal")
BALL = ps.Inertia(1.0, (0, 0, 0), np.eye(3) * 0.4 * 0.01)


def ball_on_a_floor(surface):
    builder = ps.ModelBuilder("ball")
    builder.body(
        "floor", parent="world", joint=ps.Fixed(), geometry=[ps.Geometry(ps.Plane(), name="floor", role="collision")]
    )
    builder.body(
        "ball", parent="world", joint=ps.Free(), inertia=BALL, geometry=[ps.Geometry(ps.Sphere(0.1), role="collision")]
    )
    return world_of(builder.build(), surface)


def watched(world, q, v, end, rtol=1e-6):
    motion = Motion(world, lambda t, q, v: np.zeros(world.model.nv), rtol=rtol, atol=1e-3 * rtol)
    return list(motion.moments(world.start(q, v), 0.0, [end]))


def energy(world, moment):
    surface = world.system.laws[0]
    kept = float(normal_energy(surface.margin, surface.strength, moment.state.q[2] - 0.1))
    moving = 0.5 * moment.state.v @ np.diag([0.004] * 3 + [1.0] * 3) @ moment.state.v
    return kept + moving + 9.81 * moment.state.q[2]


def test_a_ball_touches_when_it_has_fallen_and_leaves_with_its_restitution():
    world = ball_on_a_floor(Surface(restitution=0.5, strength=1e5, margin=1e-4))
    moments = watched(world, [0, 0, 0.6001, 0, 0, 0, 1], np.zeros(6), 0.4)
    events = [(event, moment) for moment in moments for event in moment.events]
    assert [event.what for event, _ in events] == ["touch", "release"]
    (touch, _), (_, release) = events
    assert touch.time == pytest.approx(np.sqrt(2 * 0.5 / 9.81), abs=1e-9)
    apex = release.state.q[2] + release.state.v[5] ** 2 / (2 * 9.81)
    assert apex - 0.1001 == pytest.approx(0.5 * 0.5**2, rel=3e-3)  # while it touches, gravity acts on
    assert min(moment.step.nearest for moment in moments) > 0.0
    assert max(np.diff([energy(world, moment) for moment in moments])) < 1e-9


def test_errors_fall_with_the_tolerance():
    world = ball_on_a_floor(Surface(damping=2.0, strength=500.0))
    start = [0, 0, 0.202, 0, 0, 0, 1], np.zeros(6)
    ends = [watched(world, *start, 0.3, rtol)[-1].state.q[2] for rtol in (1e-9, 1e-4, 1e-7)]
    assert abs(ends[2] - ends[0]) < 0.05 * abs(ends[1] - ends[0])


def test_a_sliding_ball_ends_rolling_with_the_angular_momentum_it_had():
    world = ball_on_a_floor(Surface(friction=0.3))
    height = 0.1 + 0.002 / (1 + 9.81 / 15.0)  # where its weight is carried
    moments = watched(world, [0, 0, height, 0, 0, 0, 1], [0, 0, 0, 2.0, 0, 0], 0.4)
    end = moments[-1].state
    pose = ps.forward_kinematics(world.model, end.q, "ball")
    forward = pose[:3, :3] @ end.v[3:]
    lever = 0.1 + (height - 0.1) / 2  # friction acts midway in the gap
    assert forward[0] == pytest.approx(2.0 / (1.0 + 0.004 / lever**2), rel=1e-4)
    sticks = [event.time for moment in moments for event in moment.events if event.what == "stick"]
    assert sticks and sticks[0] == pytest.approx(2 * 2.0 / (7 * 0.3 * 9.81), rel=2e-2)


def test_a_controller_that_gives_nan_stops_the_motion_with_the_time():
    world = ball_on_a_floor(Surface())
    motion = Motion(world, lambda t, q, v: np.full(6, np.nan if t > 0.05 else 0.0))
    with pytest.raises(ps.PhistarError, match=r"At t = 0\.05"):
        list(motion.moments(world.start([0, 0, 0.6, 0, 0, 0, 1], np.zeros(6)), 0.0, [0.2]))


def test_a_ball_that_closes_at_the_speed_below_which_nothing_bounces_goes_on():
    """Some bounces end within rounding of that speed, where no step is short enough to agree with its halves."""
    for height in np.linspace(0.3, 0.9, 25):
        plant = ps.Plant(name="ball")
        plant.add_body("ground", ps.Geometry(ps.Plane(), name="floor", role="collision"), free=False)
        plant.add_body("ball", ps.Sphere(0.1), inertia=1.0)
        plant.default_contact(ps.Surface(restitution=0.6, strength=1e4))
        world = World(plant.system)
        motion = Motion(world, lambda t, q, v: np.zeros(6), rtol=1e-6)
        start = world.start([0, 0, height, 0, 0, 0, 1], np.zeros(6))
        assert [moment.time for moment in motion.moments(start, 0.0, stops=np.linspace(0.02, 1.2, 60))][-1] == 1.2
