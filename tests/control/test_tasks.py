"""Tasks and limits as one quadratic program: Jacobians against differences, several tasks at once, limits kept."""

import numpy as np
import pytest

import phistar as ps

pytest.importorskip("daqp")
c = ps.control
ARM = ps.load("puma560")
START = np.array([0.1, 0.5, -0.3, 0.2, 0.4, 0.1])


def tasks():
    pose = ps.forward_kinematics(ARM, START + 0.2, "tool")
    return [
        c.FrameTask("tool", pose),
        c.LookAtTask("tool", (1.0, 0.5, 0.2)),
        c.PostureTask(START + 0.1, weight=1.0),
        c.CenterOfMassTask((0.1, 0.1, 0.5)),
    ]


@pytest.mark.parametrize("task", tasks(), ids=lambda task: type(task).__name__)
def test_rates_change_an_error_as_its_rows_say(task):
    _, J = task.rows(ARM, START)
    eps = 1e-6
    for i, unit in enumerate(eps * np.eye(6)):
        slope = (task.rows(ARM, START + unit)[0] - task.rows(ARM, START - unit)[0]) / (2 * eps)
        if isinstance(task, c.FrameTask):  # its J is of the twist, which is the error's rate where it is small
            slope, J_i = slope[3:], J[3:, i]
        else:
            J_i = J[:, i]
        assert np.allclose(slope, -J_i, atol=1e-6)


def test_a_pose_a_position_and_a_look_are_met():
    target = ps.forward_kinematics(ARM, START + np.array([0.4, -0.3, 0.2, 0.3, 0.2, -0.5]), "tool")
    whole = c.solve_tasks(ARM, [c.FrameTask("tool", target)], START)
    assert whole.success and np.allclose(ps.forward_kinematics(ARM, whole.q, "tool"), target, atol=1e-5)
    point = target[:3, 3] + target[:3, :3] @ [0.1, -0.1, 0.5]
    both = [c.FrameTask("tool", target, weight=(0, 0, 0, 1, 1, 1)), c.LookAtTask("tool", point)]
    found = c.solve_tasks(ARM, both, START)
    pose = ps.forward_kinematics(ARM, found.q, "tool")
    line = (point - pose[:3, 3]) / np.linalg.norm(point - pose[:3, 3])
    assert np.allclose(pose[:3, 3], target[:3, 3], atol=1e-6) and pose[:3, 2] @ line > 1.0 - 1e-9


def test_limits_of_joints_and_rates_are_kept_on_the_way():
    quick = np.full(6, 0.5)
    kinds = {}
    for k, joint in enumerate(ARM.joints):
        kinds[joint.name] = ps.Revolute(axis=(0, 0, 1), limits=(START[k] - 0.1, START[k] + 0.1), velocity=quick[k])
    tight = ARM.replace(joints=kinds)
    target = ps.forward_kinematics(tight, START + 0.5, "tool")
    q = START
    for _ in range(60):
        rates = c.task_rates(tight, q, [c.FrameTask("tool", target)], 0.02)
        assert (np.abs(rates) <= 0.5 + 1e-7).all()
        q = tight.integrate(q, 0.02 * rates)
        assert (q >= START - 0.1 - 1e-7).all() and (q <= START + 0.1 + 1e-7).all()
    assert np.abs(q - START).max() > 0.09


def test_a_sphere_is_not_entered():
    here = ps.forward_kinematics(ARM, START, "tool")[:3, 3]
    target = ps.forward_kinematics(ARM, START + 0.6 * np.eye(6)[0], "tool")
    there = target[:3, 3]
    center, radius, q = 0.5 * (here + there) + np.array([0.0, 0.0, 0.02]), 0.1, START
    limits = [c.JointLimits(), c.SphereLimit("tool", center, radius)]
    nearest = np.inf
    for _ in range(300):
        q = ARM.integrate(q, 0.02 * c.task_rates(ARM, q, [c.FrameTask("tool", target, gain=0.1)], 0.02, limits=limits))
        nearest = min(nearest, float(np.linalg.norm(ps.forward_kinematics(ARM, q, "tool")[:3, 3] - center)))
    assert nearest > radius - 2e-3


def test_along_a_path_the_motion_is_continuous():
    goals = ps.forward_kinematics(ARM, np.linspace(START, START + 0.4, 25), "tool")
    q, path = START, []
    for pose in goals:
        found = c.solve_tasks(ARM, [c.FrameTask("tool", pose)], q)
        assert found.success
        q = found.q
        path.append(q)
    assert np.abs(np.diff(path, axis=0)).max() < 0.05


def test_bad_input_gets_a_sentence():
    with pytest.raises(ps.ShapeError, match="at least one task"):
        c.task_rates(ARM, START, [], 0.1)
    with pytest.raises(ps.ShapeError, match=r"pose \(4, 4\) or place"):
        c.task_rates(ARM, START, [c.FrameTask("tool", np.eye(3))], 0.1)
    with pytest.raises(ps.InfeasibleError, match="stands where"):
        here = ps.forward_kinematics(ARM, START, "tool")[:3, 3]
        c.task_rates(ARM, START, [c.LookAtTask("tool", here)], 0.1)
    pose = ps.forward_kinematics(ARM, START, "tool")
    with pytest.raises(ps.ShapeError, match="finite pose"):
        c.solve_tasks(ARM, [c.FrameTask("tool", np.nan * pose)], START)
    with pytest.raises(ps.ShapeError, match="no rotation matrix"):
        c.solve_tasks(ARM, [c.FrameTask("tool", 2.0 * pose)], START)
    with pytest.raises(ps.ShapeError, match="looks at must be a place"):
        c.solve_tasks(ARM, [c.LookAtTask("tool", [np.nan, 0.0, 0.0])], START)
    with pytest.raises(ps.ShapeError, match="one number or 6 of them"):
        c.solve_tasks(ARM, [c.FrameTask("tool", pose, weight=(1.0, 1.0))], START)
    with pytest.raises(ps.ShapeError, match="none negative"):
        c.solve_tasks(ARM, [c.FrameTask("tool", pose, weight=-1.0)], START)
    with pytest.raises(ps.ShapeError, match="nothing is asked for"):
        c.solve_tasks(ARM, [c.FrameTask("tool", pose, weight=0.0)], START)
    with pytest.raises(ps.ShapeError, match="at least one task"):
        c.solve_tasks(ARM, [], START)


def test_limits_that_are_passed_are_named_with_how_far():
    place = ps.forward_kinematics(ARM, START, "tool")[:3, 3]
    limits = [c.SphereLimit("tool", place, 0.1), c.SphereLimit("tool", place + np.array([0.01, 0, 0]), 0.3)]
    with pytest.raises(ps.InfeasibleError, match=r"radius=0.1\) is passed by 0.1.*radius=0.3\) is passed by 0.29"):
        c.task_rates(ARM, START, [c.FrameTask("tool", place)], 0.1, limits=limits)


def test_a_place_is_a_pose_whose_attitude_is_free():
    pose = ps.forward_kinematics(ARM, START + 0.2, "tool")
    place, weighted = c.FrameTask("tool", pose[:3, 3]), c.FrameTask("tool", pose, weight=(0, 0, 0, 1, 1, 1))
    one, other = (c.task_rates(ARM, START, [task], 0.1) for task in (place, weighted))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("weight", [0.05, 1.0, 20.0])
def test_what_is_asked_for_is_met_beside_a_posture(weight):
    """However tasks are weighed; the default posture is a wish."""
    place = ps.forward_kinematics(ARM, START, "tool")[:3, 3] + [0.0, 0.1, 0.0]
    found = c.solve_tasks(ARM, [c.FrameTask("tool", place, weight), c.PostureTask(START)], START)
    assert found.success and found.iterations > 0
    assert np.abs(ps.forward_kinematics(ARM, found.q, "tool")[:3, 3] - place).max() < 1e-5


def test_what_cannot_be_met_is_named_with_how_far():
    place = ps.forward_kinematics(ARM, START, "tool")[:3, 3]
    far = c.solve_tasks(ARM, [c.PostureTask(START), c.FrameTask("tool", [5.0, 0.0, 0.0])], START)
    assert not far.success and far.reason.startswith("task 1 (FrameTask of tool) is missed by 4.")
    met = c.solve_tasks(ARM, [c.FrameTask("tool", place)], START)
    assert met.success and met.reason == "reached"


def test_a_task_that_is_met_beyond_a_limit_is_not_met():
    place = ps.forward_kinematics(ARM, START, "tool")[:3, 3]
    around = c.SphereLimit("tool", place + np.array([0.05, 0.0, 0.0]), 0.1)
    found = c.solve_tasks(ARM, [c.FrameTask("tool", place)], START, limits=[c.JointLimits(), around])
    away = np.linalg.norm(ps.forward_kinematics(ARM, found.q, "tool")[:3, 3] - around.center)
    assert not found.success and away > 0.1 - 1e-5
    assert "FrameTask of tool" in found.reason and "missed by 0.05" in found.reason


def test_rates_need_a_state_and_a_weight_of_their_own():
    pose = ps.forward_kinematics(ARM, START, "tool")
    with pytest.raises(ps.ShapeError, match="not finite"):
        c.task_rates(ARM, np.nan * START, [c.FrameTask("tool", pose)], 0.1)
    with pytest.raises(ps.ShapeError, match="damping is the weight"):
        c.task_rates(ARM, START, [c.FrameTask("tool", pose)], 0.1, damping=-1.0)
