"""Wheels, gyros, panels and propellant as parts of a scene's file move as those that are built in Python."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import FileError

pytest.importorskip("pydantic")
FILE = """
format_version = 1
name = "craft"
gravity = [0.0, 0.0, 0.0]
law = "none"

[time]
duration = 0.1
step = 0.01

[[parts]]
name = "hub"
joint = "free"
mass = 100.0
inertia = [10.0, 20.0, 15.0]
spin = [0.02, 0.01, -0.03]

[[parts]]
name = "wheel"
parent = "hub"
xyz = [0.1, 0.0, 0.0]
joint = "revolute"
mass = 5.0
inertia = [0.05, 0.05, 0.1]
motion = {axis = [0.0, 0.0, 1.0], friction = 0.001, damping = 1e-4, effort = 0.2, velocity = 600.0}
v = [100.0]

[[parts]]
name = "propellant"
parent = "hub"
xyz = [0.0, 0.0, -0.5]
joint = "prismatic"
mass = 20.0
inertia = [0.1, 0.1, 0.1]
motion = {axis = [0.0, 1.0, 0.0], stiffness = 30.0, rest = 0.01, damping = 2.0, limits = [-0.2, 0.2]}
q = [0.05]

[[parts]]
name = "gimbal"
parent = "hub"
rpy = [0.0, 0.2, 0.0]
joint = "revolute"
motion = {armature = 0.01, effort = 3.0}
v = [0.1]

[[parts]]
name = "rotor"
parent = "gimbal"
joint = "revolute"
mass = 4.0
inertia = [0.04, 0.04, 0.08]
motion = {axis = [1.0, 0.0, 0.0]}
v = [200.0]
"""


@pytest.fixture
def plant(tmp_path):
    (tmp_path / "craft.toml").write_text(FILE)
    return ps.Scene.load(tmp_path / "craft.toml").plant


def in_python():
    b = ps.ModelBuilder("craft", gravity=(0, 0, 0))
    b.body("hub", "world", ps.Free(), inertia=ps.Inertia(100.0, (0, 0, 0), np.diag([10.0, 20.0, 15.0])))
    spin = ps.Revolute((0, 0, 1), friction=0.001, damping=1e-4, effort=0.2, velocity=600.0)
    rotor = ps.Inertia(5.0, (0, 0, 0), np.diag([0.05, 0.05, 0.1]))
    b.body("wheel", "hub", spin, ps.Pose(xyz=(0.1, 0, 0)), rotor, joint_name="wheel")
    slide = ps.Prismatic((0, 1, 0), stiffness=30.0, rest=0.01, damping=2.0, limits=(-0.2, 0.2), effort=0.0)
    b.body("propellant", "hub", slide, ps.Pose(xyz=(0, 0, -0.5)), ps.Inertia(20.0, (0, 0, 0), 0.1 * np.eye(3)))
    b.body("gimbal", "hub", ps.Revolute(armature=0.01, effort=3.0), ps.Pose(rpy=(0, 0.2, 0)))
    disc = ps.Inertia(4.0, (0, 0, 0), np.diag([0.04, 0.04, 0.08]))
    b.body("rotor", "gimbal", ps.Revolute((1, 0, 0), effort=0.0), inertia=disc)
    plant = ps.Plant(gravity=(0, 0, 0), name="craft")
    v = [0.02, 0.01, -0.03, 0, 0, 0, 100.0, 0.0, 0.1, 200.0]
    plant.add(b.build(strict=False), "craft", q=[0, 0, 0, 0, 0, 0, 1, 0, 0.05, 0, 0], v=v)
    return plant


def test_parts_on_joints_move_as_the_same_model_in_python(plant):
    found, meant = (ps.simulate(each, 3.0, step=0.002) for each in (plant, in_python()))
    np.testing.assert_allclose(found.v, meant.v, rtol=0, atol=1e-12 * 200.0)
    assert abs(found.v[-1, 7]) > 1e-3 and abs(found.v[-1, 0] - 0.02) > 1e-3  # propellant and hub do move


def test_only_parts_with_an_effort_have_motors(plant):
    assert [actuator.name for actuator in plant.actuators] == ["wheel", "gimbal"]


def test_they_are_written_and_read_again(plant, tmp_path):
    plant.save(tmp_path / "again.toml")
    again = ps.Plant.load(tmp_path / "again.toml")
    assert [each.limit for each in again.actuators] == [each.limit for each in plant.actuators] == [0.2, 3.0]
    found, meant = (ps.simulate(each, 1.0, step=0.002) for each in (again, plant))
    np.testing.assert_allclose(found.v, meant.v, rtol=0, atol=1e-12 * 200.0)  # a turn is a quaternion there


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("v = [100.0]", "v = [100.0, 1.0]", "wheel has 1 entries; 2 were given"),
        ("damping = 1e-4", "dampin = 1e-4", "did you mean damping"),
        ("axis = [1.0, 0.0, 0.0]", "axis = [0.0, 0.0, 0.0]", "rotor"),
        ('joint = "prismatic"', 'joint = "fixed"', "motion is not known here|q is not known here"),
        ('joint = "revolute"\nmotion = {arm', 'joint = "hinge"\nmotion = {arm', "one of fixed, free, revolute"),
        ("limits = [-0.2, 0.2]", "limits = [0.2, -0.2]", "propellant"),
    ],
)
def test_what_is_wrong_is_said_with_the_part(tmp_path, old, new, sentence):
    assert old in FILE
    (tmp_path / "craft.toml").write_text(FILE.replace(old, new, 1))
    with pytest.raises(FileError, match=sentence):
        ps.Scene.load(tmp_path / "craft.toml")
