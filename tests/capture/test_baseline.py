"""WD89's controller: settles as it says, follows one trajectory whatever the fingers feel, and holds nothing on ice."""

import numpy as np
import pytest

import phistar as ps
from phistar.capture.baseline import TrajectorySettings, from_scene
from phistar.capture.planner import Plan, Sighting
from phistar.capture.prediction import tumble
from phistar.errors import FileError, ModelError
from phistar.spatial.rotations import exp, to_quaternion
from tests.capture.grapple_layout import WHO
from tests.programs import program

pytest.importorskip("coal")
TIPS = {"left_tips": np.zeros(3), "right_tips": np.zeros(3)}


@pytest.fixture(scope="module")
def scene():
    setting = ps.Scene.load("grapple-flat-frictionless").setting(0)
    return setting.model, from_scene(setting.model, {**WHO, "ask": 1e9}), setting.start[0]


def sensed(controller, q, v, satellite, tips=TIPS):
    """Perfect readings of arms at q, v (nv,)."""
    rows = {f"{hand.name}_joints": np.append(q[hand.coordinates], v[hand.joints]) for hand in controller.arms.hands}
    return {**rows, **tips, "satellite": satellite}


def seen(spin=0.05):
    axis = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
    return np.concatenate([[0.46, 0.01, 0.0], to_quaternion(exp(0.1 * axis)), spin * axis, np.zeros(3)])


def test_an_error_of_the_joints_is_within_two_percent_after_the_settling_time(scene):
    _, controller, start = scene
    arms, far = controller.arms, np.zeros(13)
    far[[0, 6]] = 9.0, 1.0  # nothing within reach: the joints stay where they are first seen
    rest = arms.configuration(arms.angles(start))
    q, v, step = rest, np.zeros(arms.model.nv), controller.period
    memory, _ = controller.command(controller.start(), 0.0, sensed(controller, q, v, far))
    q = rest + 0.05 * np.cos(np.arange(12))
    for i in range(round(controller.settings.settling / step)):
        memory, command = controller.command(memory, i * step, sensed(controller, q, v, far))
        tau = np.zeros(arms.model.nv)
        tau[arms.driven_rates] = command.tau[arms.sites[1]]
        damping = np.concatenate([joint.kind.damping for joint in arms.model.joints])
        v = v + step * ps.forward_dynamics(arms.model, q, v, tau - damping * v)
        q = q + step * v
    left = (q - rest) / (0.05 * np.cos(np.arange(12)))
    np.testing.assert_allclose(left, 0.02, atol=0.003)


def test_the_trajectory_leaves_at_rest_meets_the_faces_and_comes_to_rest_inside_them(scene):
    _, controller, start = scene
    arms, row = controller.arms, seen()
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = exp(0.1 * row[7:10] / 0.05), row[:3]
    sighting = Sighting(pose, row[7:], arms.angles(start))
    made = controller.planner.plan(sighting, 5.0)
    assert isinstance(made, Plan)
    curve = controller.trajectory(made, sighting, 5.0)
    ends = np.array([0.0, curve.duration])
    place, rate, change = curve.motion(ends)
    np.testing.assert_allclose(place[0], made.begin, atol=1e-9)
    np.testing.assert_allclose([rate, change], 0.0, atol=1e-6)
    q = arms.configuration(curve.motion(np.array([made.arrival - made.start, curve.duration]))[0])
    gone = made.touch + 0.5 * controller.settings.slowing  # what the body turns while its motion fades
    body = tumble(sighting.pose, sighting.twist, np.array([made.arrival, gone]) - 5.0).pose
    for side, hand in enumerate(arms.hands):
        grips = np.broadcast_to(made.contact[side], (2, 4, 4)).copy()
        grips[:, :3, 3] += np.array([[-made.standoff], [controller.settings.depth]]) * grips[:, :3, 2]
        np.testing.assert_allclose(ps.forward_kinematics(arms.model, q, hand.grip), body @ grips, atol=1e-8)


def test_phases_are_told_by_the_fingers_and_change_no_force(scene):
    _, controller, start = scene
    q = controller.arms.configuration(controller.arms.angles(start))
    v, some, all_ = np.zeros(len(q)), np.array([5.0, 0.0, 0.0]), np.full(3, 5.0)
    memory, _ = controller.command(controller.start(), 0.0, sensed(controller, q, v, seen()))
    assert memory.curve is not None
    memory = memory._replace(phase="approach")
    late = memory.begins + 4.0
    forces, phases = [], []
    for left, right in ((np.zeros(3), np.zeros(3)), (some, np.zeros(3)), (all_, all_), (all_, some)):
        tips = {"left_tips": left, "right_tips": right}
        memory, command = controller.command(memory, late, sensed(controller, q, v, seen(), tips))
        forces.append(command.tau)
        phases.append(memory.phase)
    assert phases == ["approach", "contact", "coordination", "contact"]
    np.testing.assert_array_equal(forces, np.broadcast_to(forces[0], (4, len(forces[0]))))


def test_a_base_that_floats_and_gains_that_are_none_are_refused():
    with pytest.raises(ModelError, match="floats"):
        from_scene(ps.Scene.load("grapple-free").setting(0).model, WHO)
    with pytest.raises(FileError, match="settling"):
        TrajectorySettings.of({"settling": 0.0})
    with pytest.raises(FileError, match="settling"):
        TrajectorySettings.of({"setling": 1.0})


@pytest.mark.slow
def test_six_frictionless_fingers_on_flat_faces_do_not_hold():
    example = program("examples/wd89_failure.py")
    told = example.row("flat, no friction", "inverse dynamics", seed=1, duration=14.0)
    assert told["peak_force"] > 5.0 and not told["captured"]
