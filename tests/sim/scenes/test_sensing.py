"""Sensors of scenes, against what can be computed by hand."""

import numpy as np
import pytest

import phistar as ps
from phistar.control.sampled import Command
from phistar.sim.scenes.scene import Scene
from tests.scenes import FLOOR, little_scene

pytest.importorskip("coal")
HELD = {"mass": 0.8, "com": [0.01, 0.02, 0.1], "inertia": [0.003, 0.004, 0.002]}
ARM = little_scene(
    {"name": "arm", "robot": "puma560", "xyz": [0.0, 0.0, 1.0]}
    | {"q": [-2.4, 0.9, 0.4, -1.8, -0.9, 0.3], "v": [0.3, -0.2, 0.4, 0.1, -0.5, 0.6]},
    {"name": "hand", "parent": "arm/tool", "xyz": [0.0, 0.0, 0.02], **HELD}
    | {"shapes": [{"name": "finger", "sphere": 0.02, "xyz": [0.0, 0.0, 0.2]}]},
    time={"duration": 0.02, "sample": 0.01, "step": 0.001},
    sensors=[
        {"name": "joints", "kind": "joints", "part": "arm"},
        {"name": "wrist", "kind": "wrist", "frame": "arm/tool"},
    ],
)
PRESSED = little_scene(
    FLOOR,
    {"name": "cart", "joint": "free", "mass": 1.0, "inertia": [0.1, 0.1, 0.1], "xyz": [0.0, 0.0, 0.1015]},
    {"name": "foot", "parent": "cart", "mass": 2.0, "com": [0.0, 0.0, -0.05], "inertia": [0.01, 0.01, 0.01]}
    | {"shapes": [{"name": "sole", "box": [0.2, 0.2, 0.2]}]},
    time={"duration": 1.0, "sample": 0.1, "step": 0.002},
    sensors=[
        {"name": "ankle", "kind": "wrist", "frame": "cart"},
        {"name": "sole", "kind": "tactile", "shapes": ["sole", "floor"]},
    ],
)


def seen(tmp_path, text, seed=0, period=0.001):
    """What a controller is shown in a run, and its setting."""
    (tmp_path / "scene.toml").write_text(text)
    scene = Scene.load(tmp_path / "scene.toml")
    shown = []

    class Watching:
        def start(self):
            return ()

        def command(self, memory, t, sensed):
            shown.append((t, {name: np.array(row) for name, row in sensed.items()}))
            return memory, Command(np.zeros(scene.setting(seed).model.nv))

    watching = Watching()
    watching.period = period
    result = scene.run(seed, control=watching)
    return shown, scene.setting(seed), result


def test_a_wrist_in_free_motion_feels_weight_and_inertia_of_what_it_carries(tmp_path):
    shown, setting, result = seen(tmp_path, ARM)
    model, (t, last) = setting.model, shown[-1]
    q, v = result.arrays["q"][-1], result.arrays["v"][-1]
    before = shown[-2][1]["joints"]
    acceleration = (v - before[6:]) / 1e-3
    np.testing.assert_array_equal(last["joints"], np.concatenate([q, v]))
    assert t == pytest.approx(0.02)
    bare = ps.ModelBuilder("bare", gravity=(0, 0, -9.81))  # the same arm without a hand
    bare.attach(ps.load("puma560"), "world", ps.Pose(xyz=(0, 0, 1.0)), "")
    without = bare.build(strict=False)
    loads = ps.inverse_dynamics(model, q, v, acceleration) - ps.inverse_dynamics(without, q, v, acceleration)
    pose = ps.forward_kinematics(model, q, "arm/tool")
    world = np.concatenate([pose[:3, :3] @ last["wrist"][:3], pose[:3, :3] @ last["wrist"][3:]])
    # loads = −J* of the reading, up to what a step of 1 ms changes
    assert -ps.jacobian(model, q, "arm/tool").T @ world == pytest.approx(loads, abs=0.02 * np.abs(loads).max())


def test_a_foot_that_stands_reads_floor_and_weight_and_the_floor_what_the_sole_does(tmp_path):
    shown, _, result = seen(tmp_path, PRESSED, period=0.002)
    last = shown[-1][1]
    # 3 kg stand on the floor, of them 2 kg below the ankle: it carries the 1 kg above.
    assert last["ankle"][3:] == pytest.approx([0, 0, 9.81], abs=1e-6)
    assert last["ankle"][:3] == pytest.approx(np.zeros(3), abs=1e-6)
    assert last["sole"] == pytest.approx([3 * 9.81, 3 * 9.81], rel=1e-6)  # action and reaction
    assert last["sole"][0] == pytest.approx(result.arrays["contact_force"][-1].sum())


def test_the_pose_of_what_slides_and_never_turns_is_read_too(tmp_path):
    rail = """<robot name="rail"><link name="base"/><link name="cart"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="slide" type="prismatic">
    <parent link="base"/><child link="cart"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/>
    </joint></robot>"""
    (tmp_path / "rail.urdf").write_text(rail)
    part = {"name": "robot", "robot": "rail.urdf", "q": [0.1], "v": [0.5], "rpy": [0.0, 0.0, 1.5707963267948966]}
    eye = {"name": "eye", "kind": "pose", "of": "robot/cart"}
    shown, _, _ = seen(tmp_path, little_scene(part, sensors=[eye]), period=0.005)
    half = np.sqrt(0.5)
    assert shown[0][1]["eye"] == pytest.approx([0, 0.1, 0, 0, 0, half, half, 0, 0, 0, 0, 0.5, 0], abs=1e-12)


def test_a_free_body_in_a_scene_takes_sensors_of_every_kind(tmp_path):
    plant = ps.Plant()
    plant.add_body("ball", ps.Sphere(0.1), inertia=2.0)
    plant.sense("imu", "ball")
    plant.save(tmp_path / "ball.toml")
    scene = Scene.load(tmp_path / "ball.toml")
    assert scene.setting(0).sensing.size == 6
