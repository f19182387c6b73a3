"""Free bodies in contact: gaps stay open, momentum is passed on, restitution is what was asked for."""

import numpy as np
import pytest

import phistar as ps
from phistar.constraints import columns as c
from phistar.plant.engine import Engine
from tests.plants import body, heights, plant_of, run

BOX = ps.Box([0.2, 0.2, 0.2])


def test_a_ball_comes_to_rest_on_the_floor_without_touching_it():
    plant = plant_of([ps.Sphere(0.1)], [(0, 0, 0.2)])
    states = run(plant, 600)
    low = [heights(plant, state)[0] for state in states[::20]]
    assert np.abs(states[-1].v).max() < 1e-10 and 0.1 < low[-1] < 0.101 and min(low) > 0.1


@pytest.mark.parametrize("h", [1e-4, 1e-3, 2e-3, 1e-2])
@pytest.mark.parametrize("e", [0.8, 1.0])
def test_restitution_is_kept_at_any_step(e, h):
    """The energy after each bounce is e² of that before, to 0.002 %."""
    plant = plant_of([ps.Sphere(0.1)], [(0, 0, 0.6)], restitution=e)
    states, margin = run(plant, round(1.3 / h), h), 1e-3
    energy = [9.81 * (state.q[2] + 0.5 - margin) + 0.5 * state.v[5] ** 2 for state in states]
    found = np.array(energy) / energy[0]
    bounces = round(np.log(found[-1]) / np.log(e**2)) if e < 1.0 else 2
    assert bounces >= 2
    np.testing.assert_allclose(found[-1], e ** (2 * bounces), rtol=2e-5)


def test_bodies_that_collide_in_flight_keep_their_momentum():
    """Linear and angular, of balls and boxes that hit off their middles, with friction and restitution."""
    shapes = [ps.Sphere(0.1), BOX, ps.Capsule(0.05, 0.2), BOX]
    places = [(0, 0, 0), (0.35, 0.05, 0.02), (0.7, 0.06, 0.03), (1.1, 0.0, -0.03)]
    plant = plant_of(shapes, places, floor=False, gravity=(0, 0, 0), masses=[3.0, 1.0, 0.5, 2.0], restitution=0.5)
    v = np.zeros(24)
    v[3], v[6:9], v[21] = 4.0, (1.0, -2.0, 0.5), -3.0
    states = run(plant, 200, state=plant.state(v=v))
    before, after = (ps.momentum(plant.model, state.q, state.v) for state in (states[0], states[-1]))
    assert np.abs(states[-1].v - v).max() > 1.0, "nothing collided"
    np.testing.assert_allclose(after, before, atol=1e-12 * np.abs(before).max() * 10)


def test_a_stack_of_boxes_stands_with_every_gap_open():
    plant = plant_of([BOX] * 5, [(0, 0, 0.1015 + 0.2015 * i) for i in range(5)])
    states = run(plant, 500)
    gaps = np.diff([0.0, *(heights(plant, states[-1]) - 0.1 + 0.2 * 0)]) - np.array([0.0, *[0.2] * 4])
    assert (gaps > 0.0).all() and (gaps < 1.5e-3).all() and np.abs(states[-1].v).max() < 1e-8


def test_friction_holds_a_box_on_a_slope_without_creep_and_lets_go_beyond_coulombs_angle():
    for slope, holds in ((0.40, True), (0.55, False)):  # tan 0.4 = 0.42, tan 0.55 = 0.61
        gravity = (9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope))
        plant = plant_of([BOX], [(0, 0, 0.1008)], gravity=gravity, friction=0.5)
        states = run(plant, 1000)
        moved = states[-1].q[0] - states[500].q[0]
        if holds:
            assert abs(moved) < 1e-10
        else:
            rate = 9.81 * (np.sin(slope) - 0.5 * np.cos(slope))
            np.testing.assert_allclose(states[-1].v[3] - states[500].v[3], rate * 1.0, rtol=1e-3)


def test_a_mass_ratio_of_ten_thousand_stands():
    plant = plant_of([BOX, BOX], [(0, 0, 0.101), (0, 0, 0.302)], masses=[1.0, 1e4])
    states = run(plant, 500)
    assert heights(plant, states[-1])[1] > 0.3 and np.abs(states[-1].v).max() < 1e-4


def test_nothing_tunnels_at_a_hundred_metres_a_second():
    plant = plant_of([ps.Sphere(0.02)], [(0, 0, 1.0)])
    v = np.zeros(6)
    v[5] = -100.0
    assert min(heights(plant, state)[0] for state in run(plant, 100, state=plant.state(v=v))) > 0.02


def test_shapes_that_overlap_at_the_start_part_without_a_throw():
    plant = plant_of([BOX, BOX], [(0, 0, 0.098), (0.0, 0, 0.297)])
    states = run(plant, 1000)
    assert max(np.abs(state.v).max() for state in states) < 0.5
    settled = heights(plant, states[-1])
    assert settled[0] > 0.1 and settled[1] - settled[0] > 0.2


def test_a_state_that_was_given_out_can_be_gone_on_from_at_any_time():
    plant = plant_of([BOX, BOX], [(0, 0, 0.11), (0.05, 0, 0.33)])
    states = run(plant, 120)
    again = run(plant, 60, state=type(states[60])(*states[60]))
    np.testing.assert_allclose(again[-1].q, states[-1].q, atol=1e-9)


@pytest.mark.slow
def test_the_loops_of_the_step_stay_within_their_arrays():
    """Room for contacts included, which grows."""
    plant = plant_of([BOX] * 4 + [ps.Capsule(0.05, 0.2)], [(0.01 * i, 0, 0.11 + 0.21 * i) for i in range(5)])
    engine = Engine(plant.system, checked=True)
    engine.load(plant.state().q, plant.state().v)
    for _ in range(60):
        engine.step(0.002)
    assert engine.counts[c.ROOM] > 16 and np.isfinite(engine.q).all()


def test_bad_materials_and_commands_are_refused_with_sentences():
    with pytest.raises(ps.ModelError, match="restitution between 0 and 1"):
        ps.Material(restitution=1.5)
    with pytest.raises(ps.ModelError, match="friction 0 or more"):
        ps.Material(friction=-1.0)
    plant = plant_of([BOX], [(0, 0, 1.0)])
    with pytest.raises(ps.ShapeError, match="no actuators"):
        plant.step(plant.state(), [1.0], 0.01)
    with pytest.raises(ps.ModelError, match="already has"):
        plant.add(body(BOX), "b0")


@pytest.mark.slow
def bin_of(count, friction):
    """Boxes and balls in layers of nine above a floor between four walls."""
    random, plant = np.random.default_rng(0), ps.Plant()
    plant.add_shape(ps.Plane())
    for x, y in ((0.27, 0), (-0.27, 0), (0, 0.27), (0, -0.27)):
        wall = ps.Box([0.04, 0.6, 3.0] if x else [0.6, 0.04, 3.0])
        plant.add_shape(wall, at=ps.Pose(xyz=(x, y, 1.5)), material=ps.Material(friction=friction))
    for i in range(count):
        x, y = (0.13 * (k % 3 - 1) + random.uniform(-0.01, 0.01) for k in (i, i // 3))
        shape = ps.Box([0.09, 0.09, 0.09]) if i % 2 else ps.Sphere(0.05)
        at, material = ps.Pose(xyz=(x, y, 0.1 + 0.13 * (i // 9))), ps.Material(friction=friction)
        plant.add_body(f"b{i}", shape, inertia=1.0, at=at, material=material)
    return plant


def test_a_bin_of_a_hundred_mixed_bodies_fills():
    """Many parts of a step are halved while it fills; one that ends well leaves the next its own halvings."""
    session = (plant := bin_of(100, 0.5)).session
    session.load(plant.state())
    session.drive(None)
    for _ in range(310):
        session.advance(0.002)
        assert session.engine.numbers[c.NEAREST] > 0.0


def test_friction_of_a_bin_that_fills_settles_in_every_step():
    """Directions that know how friction's bounds follow normal impulses converge where the lag of these did not."""
    session = (plant := bin_of(27, 0.9)).session
    session.load(plant.state())
    session.drive(None)
    iterations = 0
    for _ in range(250):
        session.advance(0.002)
        assert session.engine.counts[c.FAILED] == 0 and session.engine.numbers[c.RESIDUAL] < 1e-8
        iterations += session.engine.counts[c.ITERATIONS]
    assert iterations < 25 * 250
