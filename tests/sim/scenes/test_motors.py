"""Motors: joints without one are driven by no law, and no controller pushes what it has no motor for."""

import numpy as np
import pytest

import phistar as ps
from phistar.plant.scene_reading import driven_rates
from phistar.sim.scenes.scene import Scene
from phistar.sim.trajectory import Stopped
from tests.scenes import ball, little_scene

BODY = """<inertial><mass value="1"/><origin xyz="0.2 0 0"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>"""
TIME = {"duration": 0.1, "sample": 0.01, "step": 0.002}
HOLD = {"law": "hold", "stiffness": 50.0, "damping": 5.0}


def arm(second, limit='<limit effort="100" velocity="9"/>', more=""):
    """Two links that turn about y; `second` is what the second joint's motor can do."""
    links = '<link name="base"/>' + "".join(f'<link name="l{k}">{BODY}</link>' for k in (1, 2))
    joint = '<joint name="j{}" type="continuous"><origin xyz="{} 0 0"/><axis xyz="0 1 0"/>'
    joint += '<parent link="{}"/><child link="{}"/>{}</joint>'
    first, other = joint.format(1, 0, "base", "l1", limit), joint.format(2, 0.4, "l1", "l2", second)
    return f'<robot name="arm">{links}{first}{other}{more}</robot>'


def scene(folder, text, name="arm.urdf", parts=(), **tables):
    (folder / name).write_text(text)
    robot = {"name": "robot", "robot": name}
    (folder / "scene.toml").write_text(little_scene(robot, *parts, time=TIME, **tables))
    return Scene.load(folder / "scene.toml")


def test_an_effort_limit_of_zero_is_no_force(tmp_path):
    made = scene(tmp_path, arm('<limit effort="0" velocity="9"/>'), controller=HOLD)
    run = made.run()
    assert np.all(run.arrays["tau"][:, 1] == 0.0) and np.abs(run.arrays["tau"][:, 0]).max() > 1.0
    with pytest.raises(Stopped, match=r"The joint 'robot/j2' has no actuator and was given a force of 3: "):
        made.run(control=lambda t, q, v: [1.0, 3.0])


def test_a_joint_of_mjcf_without_an_actuator_swings_freely_under_every_law(tmp_path):
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body name="door"><joint name="hinge" axis="0 1 0"/>
    <geom type="box" size="0.2 0.1 0.01" pos="0.2 0 0"/></body>
    <body name="arm" pos="0 1 0"><joint name="elbow" axis="0 1 0"/>
    <geom type="box" size="0.2 0.1 0.01" pos="0.2 0 0"/></body></worldbody>
    <actuator><motor joint="elbow"/></actuator></mujoco>"""
    run = scene(tmp_path, text, "door.xml", controller=HOLD).run()
    assert np.all(run.arrays["tau"][:, 0] == 0.0) and run.arrays["tau"][0, 1] < -1.0
    fallen = ps.rollout(run.model, run.arrays["q"][0], np.zeros(2), dt=1e-4, steps=1000).q[-1]
    assert run.arrays["q"][-1, 0] == pytest.approx(fallen[0], rel=0.03)  # as one that nothing holds
    assert abs(run.arrays["q"][-1, 1]) < 1e-3
    with pytest.raises(ps.FileError, match="hold drives joints with motors, and scene has none"):
        scene(tmp_path, text.replace('<actuator><motor joint="elbow"/></actuator>', ""), "door.xml", controller=HOLD)


def test_the_force_range_of_an_actuator_bounds_what_a_law_gives(tmp_path):
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body name="arm"><joint name="elbow" axis="0 1 0"/>
    <geom type="box" size="0.2 0.1 0.01" pos="0.2 0 0"/></body></worldbody>
    <actuator><position joint="elbow" gear="2" forcerange="-0.3 0.3"/></actuator></mujoco>"""
    run = scene(tmp_path, text, "arm.xml", controller=HOLD).run()
    assert np.abs(run.arrays["tau"]).max() == pytest.approx(0.6)


def test_a_law_does_not_push_a_free_body_by_its_own_joint(tmp_path):
    box = ball("box", xyz=[3.0, 0.0, 0.0])
    made = scene(tmp_path, arm('<limit effort="9" velocity="9"/>'), parts=(box,))
    model = made.setting(0).model
    with pytest.raises(Stopped, match=r"The joint 'box' has no actuator and was given a force of 9\.81: free joints"):
        made.run(control=lambda t, q, v: ps.gravity_load(model, q))
    driven = driven_rates(model)
    assert driven.tolist() == [True, True] + [False] * 6
    made.run(control=lambda t, q, v: driven * ps.gravity_load(model, q))


def test_a_joint_that_follows_another_has_no_motor_and_the_other_carries_its_weight(tmp_path):
    follow = '<limit effort="100" velocity="9"/><mimic joint="j1" multiplier="-1"/>'
    run = scene(tmp_path, arm(follow), controller=HOLD).run()
    assert driven_rates(run.model).tolist() == [True, False] and np.all(run.arrays["tau"][:, 1] == 0.0)
    np.testing.assert_allclose(run.arrays["q"], 0.0, atol=1e-9)  # held, by one motor
    carried = ps.gravity_load(run.model.tree, np.zeros(2)) @ [1.0, -1.0]
    np.testing.assert_allclose(run.arrays["tau"][:, 0], carried, rtol=1e-6)
