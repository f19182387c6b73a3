"""Laws of the step that hold whatever stands beside: free bodies with damping, stated contacts, soft fingers, room."""

import numpy as np
import pytest

import phistar as ps
import phistar.plant.engine_tables as engine_tables
from phistar.constraints import columns as c
from phistar.plant.engine import Engine

FLOATING = """<mujoco><option gravity="0 0 0"/><worldbody><body name="base"><joint name="root" type="free" damping="2"/>
<geom type="box" size=".1 .1 .1" mass="1"/><body name="arm" pos=".2 0 0"><joint name="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass=".3"/></body></body></worldbody></mujoco>"""


def test_damping_of_a_floating_base_acts_in_plants_as_in_models(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "float.xml").write_text(FLOATING)
    model, plant = ps.load(tmp_path / "float.xml"), ps.Plant(gravity=(0, 0, 0))
    plant.add(model, "robot", collides=False)
    v = np.array([0.1, 0.3, -0.2, 1.0, 0.5, 0.0, 2.0])
    exact = ps.simulate(model, model.neutral(), v, 0.3).v[-1]
    errors = [np.abs(ps.simulate(plant, 0.3, v0=v, step=h).v[-1] - exact).max() for h in (2e-3, 5e-4)]
    assert errors[1] < 0.3 * errors[0] and errors[1] < 2e-3


def test_damping_of_a_lone_body_slows_it_alone_and_in_rollouts():
    builder = ps.ModelBuilder("ball", gravity=(0, 0, 0))
    builder.body("ball", "world", ps.Free(damping=2.0), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    plant = ps.Plant(gravity=(0, 0, 0))
    plant.add(builder.build(), "ball")
    run = ps.simulate(plant, 1.0, v0=[0, 0, 0, 1.0, 0, 0], step=1e-3)
    np.testing.assert_allclose(run.v[-1, 3], np.exp(-2.0), rtol=5e-3)
    start = plant.state(v=[0, 0, 0, 1.0, 0, 0])
    one, many = (plant.rollout((np.tile(start.q, (n, 1)), start.v), step=1e-3, steps=1000) for n in (1, 16))
    np.testing.assert_allclose(one.v[0], run.v, atol=1e-12)
    np.testing.assert_allclose(many.v, np.tile(run.v, (16, 1, 1)), atol=1e-12)


def ball_on_floor(surface=None):
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), name="floor")
    plant.add_body("ball", ps.Sphere(0.001), inertia=0.01, at=ps.Pose(xyz=(0, 0, 0.00101)))
    plant.add_body("tool", ps.Sphere(0.05), inertia=1.0, at=ps.Pose(xyz=(5, 0, 5.0)))
    if surface is not None:
        plant.contact("ball", "tool", surface)
    made, state = Engine(plant.system), plant.state()
    made.load(state.q, state.v)
    made.step(1e-4)
    assert made.counts[c.CONTACTS] == 1
    return made.tables["contacts"][0, [c.MARGIN, c.STRENGTH]]


def test_a_stated_contact_leaves_the_law_of_other_pairs_alone():
    np.testing.assert_array_equal(ball_on_floor(), ball_on_floor(ps.Surface(margin=5e-3)))


def test_a_soft_finger_that_touches_nothing_is_not_twisted():
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), name="floor")
    plant.add_body("ball", ps.Sphere(0.1), inertia=1.0, at=ps.Pose(xyz=(0, 0, 0.1005)))
    plant.contact("ball", "floor", ps.Surface(margin=1e-3, patch=0.02))
    made, state = Engine(plant.system), plant.state()
    made.load(state.q, state.v)
    for _ in range(100):
        made.step(1e-3)
    assert made.tables["contacts"][0, c.IMPULSE + 2] > 0.0
    made.v[:] = [0.0, 0.0, 3.0, 0.0, 0.0, 0.8]  # it turns about the normal and leaves
    made.counts[c.READY] = 0
    twists = []
    while made.counts[c.CONTACTS] and len(twists) < 5:
        made.step(1e-3)
        twists.append(made.tables["contacts"][0, [c.IMPULSE + 2, c.TWIST]].copy())
    assert [twist for push, twist in twists if push == 0.0] == [0.0] * sum(push == 0.0 for push, _ in twists)


def test_a_step_that_is_made_again_for_want_of_room_is_the_same_step(monkeypatch):
    """A sticking joint remembers where it sticks: once, however often the step is tried."""
    builder = ps.ModelBuilder("slide", gravity=(0, 0, 0))
    inertia = ps.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3))
    builder.body("cart", joint=ps.Prismatic(axis=(1, 0, 0), friction=1000.0), inertia=inertia)

    def rates(fewest):
        monkeypatch.setattr(engine_tables, "FEWEST", fewest)
        plant = ps.Plant(gravity=(0, 0, 0))
        plant.add(builder.build(), "robot")
        walls = []
        for row in range(6):
            plant.add_shape(ps.Sphere(0.01), "robot/cart", ps.Pose(xyz=(0, 0.05 * row, 0)))
            place = ps.Pose(xyz=(0.0235, 0.05 * row, 0))
            walls.append(ps.Geometry(ps.Sphere(0.01), place, f"wall{row}", None, "collision"))
        plant.add_body("wall", walls, ps.Inertia(1e6, (0, 0, 0), 1e6 * np.eye(3)))
        made, start = Engine(plant.system), plant.state()
        v = start.v.copy()
        v[0], v[4] = 0.05, -0.9
        made.load(start.q, v)
        made.numbers[c.SETTLED] = 1.0
        for _ in range(5):
            made.step(1e-3)
        return made.v[: len(v)].copy(), made.tables["rows"][0, c.MEMORY]

    (plenty, where), (few, there) = rates(16), rates(1)
    np.testing.assert_allclose(few, plenty, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(there, where, rtol=1e-9)


def test_a_bundled_scene_is_found_beside_a_folder_of_its_name(tmp_path, monkeypatch):
    (tmp_path / "bouncing").mkdir()
    monkeypatch.chdir(tmp_path)
    assert ps.Scene.load("bouncing").name == "bouncing"
