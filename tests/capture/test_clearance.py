"""What comes too near on a way is found, with its distance; fingers may touch where they are meant to."""

import numpy as np
import pytest

import phistar as ps
from phistar.capture.clearance import FAR, Clearance
from phistar.capture.robot import Arms
from phistar.control.spherical_wrist import SphericalWrist
from phistar.sim.scenes.toml import text_of
from tests.capture.grapple_layout import LAYOUT
from tests.capture.pairs import content

pytest.importorskip("coal")


@pytest.fixture(scope="module")
def arms():
    setting = ps.Scene.load("grapple").setting(0)
    made = Arms.of(setting.model, LAYOUT)
    return made, made.angles(setting.start[0])


def before_the_left_hand(arms, joints, gap):
    """The pose of a cube of 0.4 m whose face is a gap before the left fingers, square to them."""
    grip = ps.forward_kinematics(arms.model, arms.configuration(joints), "left/grip")
    grip[:3, 3] += (0.2 + gap) * grip[:3, 2]
    return np.linalg.inv(arms.base) @ grip


def test_the_distance_of_fingers_before_a_face_is_told(arms):
    arms, joints = arms
    clearance, way = Clearance(arms), np.stack([joints, joints])
    pose = np.stack([before_the_left_hand(arms, joints, gap) for gap in (0.015, 0.04)])
    never, always = np.zeros(2, bool), np.ones(2, bool)
    found = clearance.nearest(way, pose, never, 0.02)
    assert found.sample == 0 and "satellite" in found.names and any("left_finger" in name for name in found.names)
    assert found.distance == pytest.approx(0.015, abs=1e-9)
    assert clearance.nearest(way[1:], pose[1:], never[1:], 0.02).distance == pytest.approx(0.04, abs=1e-9)
    assert clearance.nearest(way, pose, always, 0.02).distance == pytest.approx(0.135, abs=1e-9)  # the palm


def test_links_palms_and_the_other_arm_are_looked_at_even_when_fingers_touch(arms):
    arms, joints = arms
    clearance, touching = Clearance(arms), np.ones(1, bool)
    inside = before_the_left_hand(arms, joints, -0.15)[None]
    assert clearance.nearest(joints[None], inside, touching, 0.02).distance < 0.0
    far = ps.Pose(xyz=[9.0, 0.0, 0.0]).matrix[None]
    assert clearance.nearest(joints[None], far, touching, 0.05).distance == FAR
    near = [clearance.nearest(way[None], far, touching, 0.05) for way in facing(arms, 0.01)]
    meeting = max(near, key=lambda each: each.distance)  # bent another way, links may meet as well
    assert meeting.distance == pytest.approx(0.01, abs=1e-9)
    assert {name.split("_")[0] for name in meeting.names} == {"left", "right"}
    assert any(clearance.nearest(way[None], far, touching, 0.05).distance == FAR for way in facing(arms, 0.06))


def facing(arms, gap):
    """Joints (n, 12) of hands that point at each other, finger to finger, a gap apart, bent every way."""
    found = []
    for hand, way in zip(arms.hands, (1.0, -1.0), strict=True):
        pose = np.eye(4)
        pose[:3, 0], pose[:3, 2] = [0.0, 0.0, 1.0], [0.0, way, 0.0]
        pose[:3, 1] = np.cross(pose[:3, 2], pose[:3, 0])
        pose[:3, 3] = [0.46, -way * gap / 2, 0.0]
        found.append(SphericalWrist.of(arms.model, hand.grip, "base").solutions(pose))
    lower, upper = (limit.reshape(2, 6) for limit in arms.limits)
    inside = [
        way[np.all((way > low) & (way < high), axis=-1)] for way, low, high in zip(found, lower, upper, strict=True)
    ]
    return [np.concatenate([left, right]) for left in inside[0] for right in inside[1]]


def test_the_second_link_of_an_arm_is_kept_from_its_base(tmp_path):
    """The hull of a UR5's upper arm meets that of its base where it leans back."""
    path = tmp_path / "ur5.toml"
    path.write_text(text_of(content("ur5", "box", tmp_path)), "utf-8")
    setting = ps.Scene.load(path).setting(0)
    arms, clearance = setting.law.arms, setting.law.planner.robot.clearance
    home, far = arms.angles(setting.start[0]), ps.Pose(xyz=[9.0, 0.0, 0.0]).matrix[None]
    distances = {}
    for angle in np.linspace(-np.pi, np.pi, 25):
        joints = home.copy()
        joints[1] = angle
        found = clearance.nearest(joints[None], far, np.zeros(1, bool), 0.035)
        distances[angle] = found.distance if "world:1" in found.names else FAR
    assert min(distances.values()) < 0.035 <= max(distances.values())
    assert clearance.nearest(home[None], far, np.zeros(1, bool), 0.035).distance >= 0.035
