"""Plants in files: MJCF as MuJoCo means it, TOML both ways."""

import os

import numpy as np
import pytest

import phistar as ps
from tests.plants import run

BALL = """<mujoco><worldbody><geom type="plane" size="5 5 1" friction="0.7"/>
<body name="ball" pos="0 0 0.11"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""
ARM = """<mujoco><worldbody><body name="arm"><joint name="hinge" type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02" mass="1" contype="2" conaffinity="0"/></body>
<body name="panel" pos="0 0 1"><joint name="swing" axis="0 1 0"/><geom type="box" size="0.1 0.1 0.01" pos="0.1 0 0"
 mass="1" contype="1" conaffinity="1"/></body></worldbody>
<actuator><position name="servo" joint="hinge" kp="200" kv="20" forcerange="-50 50"/></actuator></mujoco>"""


def test_a_ball_of_an_mjcf_file_starts_where_the_file_says_and_comes_to_rest(tmp_path):
    (tmp_path / "ball.xml").write_text(BALL)
    plant = ps.Plant.load(tmp_path / "ball.xml")
    assert plant.state().q[2] == 0.11 and plant.nu == 0
    end = run(plant, 500)[-1]
    assert np.abs(end.v).max() < 1e-9 and 0.1 < end.q[2] < 0.101


def test_actuators_come_from_the_file_and_what_has_none_is_passive(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    plant = ps.Plant.load(tmp_path / "arm.xml")
    assert [a.name for a in plant.actuators] == ["servo"] and plant.actuators[0].limit == 50.0
    states = run(plant, 1000, command=[0.3])
    hinge, swing = (plant.model.joints[plant.model.joint_indices[name]].q_slice.start for name in ("hinge", "swing"))
    weight = 9.81 * 0.25 * np.cos(states[-1].q[hinge])
    np.testing.assert_allclose(200 * (0.3 - states[-1].q[hinge]), -weight, rtol=1e-3)
    assert max(abs(state.q[swing]) for state in states) > 1.0, "the panel does not swing freely"


def test_a_file_may_be_called_world(tmp_path):
    (tmp_path / "ball.xml").write_text(BALL.replace("<mujoco>", '<mujoco model="world">'))
    assert list(ps.Plant.load(tmp_path / "ball.xml").robots) == ["scene"]


def test_masks_of_the_file_keep_shapes_apart(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    plant = ps.Plant.load(tmp_path / "arm.xml")
    assert not plant.system.meets.any() and not plant.system.shapes  # what meets nothing is left out


def test_a_plant_that_was_saved_moves_as_before(tmp_path):
    plant = ps.Plant(gravity=(0, 0, -9.0), name="two")
    plant.add("planar2", "arm", at=ps.Pose(xyz=(0, 0, 2)))
    plant.add_shape(ps.Plane(), material=ps.Material(friction=0.3))
    plant.add_shape(ps.Sphere(0.05), "arm/" + plant["arm"].model.bodies[1].name)
    plant.actuate("arm", "position", stiffness=50.0, damping=5.0, limits=30.0)
    plant.save(tmp_path / "two.toml")
    again = ps.Plant.load(tmp_path / "two.toml")
    ends = [run(each, 50, command=[0.4, -0.2])[-1].q for each in (plant, again)]
    np.testing.assert_array_equal(*ends)


def test_files_that_are_no_plants_are_refused_with_sentences(tmp_path):
    (tmp_path / "bad.toml").write_text("format_version = 1\nname = 3\n[[shapes]]\nbody = 'world'\n")
    for name, told in (
        ("bad.toml", "name: a text without control characters was expected; it is 3"),
        ("none.toml", "a scene in TOML was expected"),
        ("scene.usd", "not from"),
    ):
        with pytest.raises(ps.PhistarError, match=told):
            ps.Plant.load(tmp_path / name)


HEAD = "format_version = 1\nname = 'p'\ngravity = [0, 0, -9.81]\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("mjcf = 'p.toml'\n", "not well-formed XML"),  # itself
        ("[[parts]]\nname = 'a'\nrobot = 'pipe.urdf'\n", "not a regular file"),
        (f"[[parts]]\nname = 'a'\nrobot = '{'x' * 5000}'\n", "There is no robot"),
        ("[[parts]]\nname = 'a'\nrobot = '../arm.urdf'\n", "outside the allowed folders"),
        ("[[parts]]\nname = 'a'\nrobot = '/etc/passwd'\n", "outside the allowed folders"),
        ("mjcf = '../arm.xml'\n", "outside the allowed folders"),
        ("[[parts]]\nname = 'a'\nrobot = 'arm.urdf'\n", "does not exist"),
        ("start = [1.0, 2.0]\n[[parts]]\nname = 'a'\n", "start has shape"),
        ("[[parts]]\nname = 's'\nquaternion = [0, 0, 0, 0]\n", "of length one"),
        ("x = " + "[" * 3000 + "]" * 3000 + "\n", "nested too deeply"),
    ],
)
def test_files_of_plants_are_a_strangers(text, told, tmp_path):
    os.mkfifo(tmp_path / "pipe.urdf")
    (tmp_path / "p.toml").write_text(HEAD + text)
    with pytest.raises(ps.PhistarError, match=told) as refused:
        ps.Plant.load(tmp_path / "p.toml")
    assert len(str(refused.value)) < 500


def test_a_pipe_is_no_plant(tmp_path):
    os.mkfifo(tmp_path / "p.toml")
    with pytest.raises(ps.FileError, match="not a regular file"):
        ps.Plant.load(tmp_path / "p.toml")


def test_what_a_file_has_and_a_plant_leaves_out_is_told(tmp_path, caplog):
    muscle = '<actuator><muscle name="biceps" joint="hinge"/></actuator></mujoco>'
    (tmp_path / "arm.xml").write_text(ARM.split("<actuator>")[0] + muscle)
    plant = ps.Plant.load(tmp_path / "arm.xml")
    assert plant.nu == 0
    assert any("biceps" in warning for warning in plant.warnings)
    assert "biceps" in caplog.text


def test_options_of_a_model_are_refused_for_a_plant(tmp_path):
    (tmp_path / "ball.xml").write_text(BALL)
    with pytest.raises(ps.PhistarError, match="t_eval is a model's"):
        ps.simulate(ps.Plant.load(tmp_path / "ball.xml"), 0.1, t_eval=[0.0, 0.1])


URDF = """<robot name="r"><link name="base"/><link name="l"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="continuous">
<parent link="base"/><child link="l"/></joint></robot>"""


def test_a_plants_file_names_robots_from_its_own_folder_and_says_where_others_are(tmp_path, caplog, monkeypatch):
    for place in ("here/robots", "there"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "arm.urdf").write_text(URDF)
    monkeypatch.chdir(tmp_path)
    near, far = ps.Plant(), ps.Plant()
    near.add("here/robots/arm.urdf", "arm")
    far.add("there/arm.urdf", "arm")
    near.save("here/near.toml")
    assert not caplog.records and 'robot = "robots/arm.urdf"' in (tmp_path / "here/near.toml").read_text()
    far.save("here/far.toml")
    assert "load it with packages=" in caplog.text
    assert (
        ps.Plant.load("here/near.toml")["arm"].model
        == ps.Plant.load("here/far.toml", packages=[tmp_path / "there"])["arm"].model
    )
    with pytest.raises(ps.FileError, match=r"outside the allowed folders.*packages="):
        ps.Plant.load("here/far.toml")
    (tmp_path / "here/robots/arm.urdf").unlink()
    (tmp_path / "here/robots/arm.urdf").symlink_to(tmp_path / "there/arm.urdf")
    with pytest.raises(ps.FileError, match="outside the allowed folders"):
        ps.Plant.load("here/near.toml")


def test_everything_that_a_plant_has_is_in_its_file_and_comes_back(tmp_path):
    plant = ps.Plant(name="all")
    plant.add("planar2", "arm")
    plant.add("planar2", "other", at=ps.Pose(xyz=(3, 0, 0)), collides=False)
    body = "arm/" + plant["arm"].model.bodies[1].name
    shapes = [ps.Sphere(0.1), ps.Capsule(0.1, 0.2), ps.Cylinder(0.1, 0.3), ps.Box([0.1, 0.2, 0.3]), ps.Plane()]
    shapes.append(ps.Polytope(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])))
    for number, shape in enumerate(shapes):
        plant.add_shape(shape, "world", ps.Pose(xyz=(0, 9, number)), ps.Material(friction=0.1 * number), f"s{number}")
    plant.actuate("arm", "velocity", damping=2.0, delay=0.01, command_range=(-1.0, 2.0))
    plant.sense("imu", body, name="imu", noise=[0.1] * 6, rate=100.0)
    plant.weld("other/" + plant["other"].model.bodies[1].name, "world")
    plant.ignore("arm", "other")
    plant.save(tmp_path / "all.toml")
    again = ps.Plant.load(tmp_path / "all.toml")
    for name in ("shapes", "drives", "welds", "ignored", "sensors", "gravity", "name"):
        mine, theirs = getattr(plant, name), getattr(again, name)
        assert repr(mine) == repr(theirs), name
    again.save(tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text() == (tmp_path / "all.toml").read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[shapes]]\nsphere = 1.0\nbox = [1, 1, 1]\n", "give one shape.*it has 2"),
        ("[[shapes]]\nball = 1.0\n", r"\[\[shapes\]\] 1: ball is not known here"),
        ("[[sensors]]\nkind = 'smell'\nof = 'world'\n", r"\[\[sensors\]\] 1, kind: one of joint_position, .*'smell'"),
        (
            "[[actuators]]\npart = 'a'\nkind = 'force'\nstiffness = 'soft'\n",
            r"\[actuators\]\] 1, stiffness: a number",
        ),
        ("ignored = [['a']]\n", "ignored: a list of pairs of names was expected"),
    ],
)
def test_a_wrong_entry_is_told_with_its_place(text, told, tmp_path):
    (tmp_path / "p.toml").write_text(HEAD + text)
    with pytest.raises(ps.FileError, match=told):
        ps.Plant.load(tmp_path / "p.toml")


def test_the_json_schema_knows_every_table():
    schema = ps.Plant.json_schema()
    tables = {"parts", "shapes", "actuators", "sensors", "welds", "ignored", "contacts", "time", "controller", "task"}
    assert tables <= set(schema["properties"]) and schema["additionalProperties"] is False
