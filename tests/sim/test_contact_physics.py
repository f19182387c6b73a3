"""Contact where the answer is known: a row of balls, unequal ones, and a stack."""

import numpy as np
import pytest

import phistar as ps
from phistar.contact.surface import Surface
from phistar.sim.motion import Motion
from tests.worlds import stepper, world_of

pytest.importorskip("coal")


def shape(kind, name=""):
    return [ps.Geometry(kind, name=name, role="collision")]


def row_of_balls(count, surface):
    builder = ps.ModelBuilder("cradle", gravity=(0, 0, 0))
    for i in range(count):
        inertia = ps.Inertia(0.5, (0, 0, 0), np.eye(3) * 1e-3)
        builder.body(
            f"ball{i}", "world", ps.Prismatic(axis=(1, 0, 0)), inertia=inertia, geometry=shape(ps.Sphere(0.05))
        )
    return world_of(builder.build(), surface)


def test_a_row_of_balls_hands_the_speed_of_the_first_to_the_last():
    world = row_of_balls(4, Surface(restitution=1.0, strength=500.0, margin=1e-3))
    places = np.array([0.0, 0.2, 0.302, 0.404])
    motion = Motion(world, lambda t, q, v: np.zeros(4), rtol=1e-8, atol=1e-11)
    end = list(motion.moments(world.start(places, [1.0, 0, 0, 0]), 0.0, [0.4]))[-1].state
    assert end.v == pytest.approx([0, 0, 0, 1.0], abs=1e-5)


def test_unequal_balls_keep_momentum_and_lose_the_energy_of_their_restitution():
    builder = ps.ModelBuilder("pair", gravity=(0, 0, 0))
    for name, mass in (("light", 1.0), ("heavy", 3.0)):
        inertia = ps.Inertia(mass, (0, 0, 0), np.eye(3) * 1e-3)
        builder.body(name, "world", ps.Prismatic(axis=(1, 0, 0)), inertia=inertia, geometry=shape(ps.Sphere(0.05)))
    world = world_of(builder.build(), Surface(restitution=0.4, strength=500.0, margin=1e-3))
    motion = Motion(world, lambda t, q, v: np.zeros(2), rtol=1e-8, atol=1e-11)
    end = list(motion.moments(world.start([0.0, 0.2], [1.0, -0.5]), 0.0, [0.3]))[-1].state
    mean = (1.0 * 1.0 + 3.0 * -0.5) / 4.0
    parting = 0.4 * 1.5
    assert end.v == pytest.approx([mean - 0.75 * parting, mean + 0.25 * parting], abs=1e-6)


def stack(count):
    builder = ps.ModelBuilder("stack")
    builder.body("ground", "world", geometry=shape(ps.Plane(), "floor"))
    for i in range(count):
        inertia = ps.Inertia(1.0, (0, 0, 0), np.eye(3) * 0.04 / 6)
        builder.body(f"box{i}", "world", ps.Free(), inertia=inertia, geometry=shape(ps.Box((0.2, 0.2, 0.2))))
    return world_of(builder.build(), Surface(strength=40.0))


def test_a_stack_stands_still_and_each_box_carries_what_is_above_it():
    world = stack(2)
    q = np.concatenate([[0, 0, 0.1015 + 0.2015 * i, 0, 0, 0, 1] for i in range(2)])
    state, step, settled, advance = world.start(q, np.zeros(12)), None, q, stepper(world)
    for k in range(300):
        state, step = advance(state, np.zeros(12), 2e-3)
        if k == 200:
            settled = state.q
    assert np.max(np.abs(state.q - settled)) < 1e-9
    names = [world.pair_name(number) for number in step.pair]
    force = dict(zip(names, step.normal, strict=True))
    assert force["box0 / floor"] == pytest.approx(2 * 9.81, rel=1e-6)
    assert force["box0 / box1"] == pytest.approx(9.81, rel=1e-6)
