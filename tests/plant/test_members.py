"""Robots and bodies of a plant: mounted on each other, with starts of their own, saved and read again."""

import numpy as np
import pytest

import phistar as ps
from tests.loops.mechanisms import four_bar
from tests.plants import run
from tests.scenes import FLOOR, ball, little_scene


def test_a_body_fixed_to_a_tool_weighs_on_the_arm_and_is_a_frame():
    plain, loaded = ps.Plant(name="plain"), ps.Plant(name="loaded")
    for plant in (plain, loaded):
        plant.add("planar2", "arm", q=[0.3, 0.2], v=[0.1, 0.0])
    tip = next(reversed(plain["arm"].model.frames))
    loaded.add_body("hand", ps.Sphere(0.05), inertia=2.0, on=f"arm/{tip}", at=ps.Pose(xyz=(0.1, 0, 0)), free=False)
    assert "hand" in loaded.model.frames and loaded.model.nv == plain.model.nv == 2
    masses = [sum(body.inertia.mass for body in plant.model.bodies) for plant in (plain, loaded)]
    assert masses[1] - masses[0] == pytest.approx(2.0)
    np.testing.assert_array_equal(loaded.state().q, [0.3, 0.2])
    np.testing.assert_array_equal(loaded.state().v, [0.1, 0.0])


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda plant: plant.add_body("lid", ps.Box([1, 1, 1]), on="moon", free=False), "moon"),
        (lambda plant: plant.add_body("ball", ps.Capsule(0.1, 0.2), inertia=1.0), "one box or ball"),
        (lambda plant: plant.add("planar2", "arm", q=[0.0]), "q of arm"),
        (lambda plant: plant.contact("world", "wall", ps.Surface()), "wall"),
    ],
)
def test_members_that_cannot_be_are_refused_and_leave_the_plant_as_it_was(make, sentence):
    plant = ps.Plant()
    with pytest.raises(ps.PhistarError, match=sentence):
        make(plant)
    assert not plant.robots and not plant.contacts


def test_everything_touches_by_the_law_that_is_stated_and_nothing_without_one():
    plant = ps.Plant()
    plant.add_body("ground", ps.Plane(), free=False)
    plant.add_body("ball", ps.Sphere(0.1), inertia=1.0, at=ps.Pose(xyz=(0, 0, 0.1015)))
    plant.default_contact(ps.Surface(margin=2e-3, strength=15.0, damping=200.0))
    assert run(plant, 800)[-1].q[2] - 0.1 == pytest.approx(2e-3 / (1 + 9.81 / 15.0), rel=1e-6)
    plant.default_contact(None)
    assert run(plant, 100)[-1].q[2] < 0.0
    plant.contact("ball", "ground", ps.Surface())
    assert run(plant, 100)[-1].q[2] > 0.1


def test_the_plant_of_a_scene_is_saved_and_moves_as_the_scene_does(tmp_path):
    parts = FLOOR, ball(xyz=[0.0, 0.0, 0.15], velocity=[0.5, 0.0, 0.0], spin=[0.0, 1.0, 0.0])
    time = {"duration": 0.2, "sample": 0.01, "step": 0.002}
    (tmp_path / "fall.toml").write_text(little_scene(*parts, time=time, surface={"friction": 0.4}))
    scene = ps.Scene.load(tmp_path / "fall.toml")
    scene.plant.save(tmp_path / "again.toml")
    again = ps.Plant.load(tmp_path / "again.toml")
    whole = scene.run()
    for plant in (scene.plant, again):
        made = ps.simulate(plant, 0.2, step=0.002)
        np.testing.assert_allclose(made.q[-1], whole.q[-1], atol=1e-12)
        assert [event.where for event in made.events if event.what == "touch"][:1] == ["ball / floor"]


def test_a_scene_may_have_servos_and_its_controller_then_gives_commands(tmp_path):
    servo = {"part": "arm", "kind": "position", "stiffness": 200.0, "damping": 20.0}
    time = {"duration": 1.0, "sample": 0.1, "step": 0.002}
    text = little_scene({"name": "arm", "robot": "planar2"}, time=time, gravity=[0.0, 0.0, 0.0])
    lines = "\n".join(f"{key} = {value!r}" for key, value in servo.items())
    (tmp_path / "servo.toml").write_text(f"{text}\n[[actuators]]\n{lines}\n")
    scene = ps.Scene.load(tmp_path / "servo.toml")
    made = scene.run(control=lambda t, q, v: [0.4, -0.2])
    same = ps.simulate(scene.plant, 1.0, control=lambda t, q, v: [0.4, -0.2], step=0.002)
    np.testing.assert_allclose(made.q[-1], [0.4, -0.2], atol=1e-2)
    np.testing.assert_allclose(made.q[-1], same.q[-1], atol=1e-12)


def test_a_free_point_mass_is_refused_by_name():
    plant = ps.Plant()
    plant.add_body("grain", ps.Geometry(ps.Sphere(0.1), role="collision"), ps.Inertia(1.0))
    with pytest.raises(ps.ModelError, match="grain is free to turn and has no inertia against it"):
        plant.step(plant.state(), h=1e-3)


def test_a_mechanism_in_independent_rates_is_refused_by_name():
    """Its loops would be lost: a plant has them as rows."""
    plant, model = ps.Plant(), four_bar((0.5, 1.0, 0.9, 1.1))
    with pytest.raises(ps.ModelError, match=r"independent rates.*model.embedding.closed"):
        plant.add(model.embedded())
    plant.add(model)
    assert len(plant.model.loops) == 1
