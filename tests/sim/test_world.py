"""Bodies on a floor: what sticks stays, what slides obeys Coulomb, what is fast does not get through."""

import numpy as np
import pytest

import phistar as ps
from phistar.contact.surface import Surface
from phistar.sim.world import Penetration
from tests.worlds import stepper, world_of

pytest.importorskip("coal")
CUBE = ps.Inertia(2.0, (0, 0, 0), np.eye(3) * 2.0 * 2 * 0.2**2 / 12)
START = np.array([0.0, 0.0, 0.1015, 0.0, 0.0, 0.0, 1.0])


def on_a_slope(tangent, surface=None, shape=None):
    """A cube on a plane: gravity is tilted in place of the plane."""
    angle = np.arctan(tangent)
    builder = ps.ModelBuilder("slope", gravity=(9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle)))
    floor = ps.Geometry(ps.Plane(), name="floor", role="collision")
    builder.body("floor", parent="world", joint=ps.Fixed(), geometry=[floor])
    own = ps.Geometry(shape or ps.Box((0.2, 0.2, 0.2)), role="collision")
    builder.body("cube", parent="world", joint=ps.Free(), inertia=CUBE, geometry=[own])
    return world_of(builder.build(), surface or Surface()), angle


def moved(world, state, time, step=1e-3):
    result, advance = None, stepper(world)
    for _ in range(round(time / step)):
        state, result = advance(state, np.zeros(world.model.nv), step)
    return state, result


def test_a_cube_sticks_on_a_slope_below_its_friction_and_does_not_creep():
    world, angle = on_a_slope(0.4)
    settled, _ = moved(world, world.start(START, np.zeros(6)), 0.4)
    later, step = moved(world, settled, 0.4)
    assert np.max(np.abs(later.q - settled.q)) < 1e-12
    places = step.places_in(world)
    pressing, holding = places.normal.sum(), np.linalg.norm(places.force[:, :2].sum(axis=0))
    assert pressing == pytest.approx(2 * 9.81 * np.cos(angle), rel=1e-9)
    assert holding == pytest.approx(2 * 9.81 * np.sin(angle), rel=1e-9)


def test_a_cube_slides_with_coulombs_acceleration():
    world, angle = on_a_slope(0.7)
    early, _ = moved(world, world.start(START, np.zeros(6)), 0.2)
    late, _ = moved(world, early, 0.3)
    acceleration = (late.v[3] - early.v[3]) / 0.3
    assert acceleration == pytest.approx(9.81 * (np.sin(angle) - 0.5 * np.cos(angle)), rel=1e-4)


def test_a_thin_barrier_holds_a_fast_body_that_would_tunnel():
    world, _ = on_a_slope(0.0, Surface(margin=3e-4), ps.Sphere(0.1))
    start = world.start([0, 0, 0.4, 0, 0, 0, 1], [0, 0, 0, 0, 0, -10.0])
    nearest, state, advance = np.inf, start, stepper(world)
    for _ in range(100):
        state, step = advance(state, np.zeros(6), 2e-3)
        nearest = min(nearest, step.nearest)
    assert 0.0 < nearest < 3e-4 and state.q[2] > 0.1


def test_a_soft_finger_resists_turning_up_to_its_patch():
    surface = Surface(patch=0.02)
    world, _ = on_a_slope(0.0, surface, ps.Sphere(0.1))
    settled, _ = moved(world, world.start([0, 0, 0.1015, 0, 0, 0, 1], np.zeros(6)), 0.3)
    limit = 0.5 * 2 * 9.81 * 0.02
    for share, turns in ((0.5, False), (1.1, True)):
        state, torque = settled, np.array([0.0, 0.0, share * limit, 0.0, 0.0, 0.0])
        advance = stepper(world)
        for _ in range(400):
            state, _ = advance(state, torque, 1e-3)
        assert (2.0 * state.q[5] > 2.0 * limit / (2e4 * 0.02**2)) == turns


def test_intersecting_bodies_are_named_with_how_deep():
    world, _ = on_a_slope(0.0)
    with pytest.raises(Penetration, match=r"cube / floor|floor / cube"):
        stepper(world)(world.start([0, 0, 0.05, 0, 0, 0, 1], np.zeros(6)), np.zeros(6), 1e-3)


def test_pairs_are_named_by_shape_or_body_and_misnamed_ones_are_refused():
    world, _ = on_a_slope(0.0)
    model = world.model
    assert len(world_of(model, Surface(), [("cube", "floor")]).pairs) == 1
    with pytest.raises(ps.UnknownNameError, match="cub"):
        world_of(model, Surface(), [("cub", "floor")])
