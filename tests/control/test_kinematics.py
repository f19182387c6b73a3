"""Inverse kinematics: success is true only where the pose is met within the limits; every other end says why."""

import numpy as np
import pytest

import phistar as ps
from phistar.control.pose_search import damped_rates, pose_gap, position_rates
from phistar.control.reach import greatest_reach
from phistar.errors import ModelError, ShapeError
from phistar.spatial import rotations
from tests.trees import mechanism, relative

PUMA = ps.load("puma560")


def arm(joints: int, limit: float = 2.5, offset: float = 0.05) -> ps.Model:
    """A serial arm whose axes alternate, 0.3 m from one to the next."""
    builder, parent = ps.ModelBuilder(f"arm{joints}"), "world"
    for k in range(joints):
        joint = ps.Revolute(axis=((0, 0, 1), (0, 1, 0))[k % 2], limits=(-limit, limit))
        place = ps.Pose(xyz=(0, 0, 0.3 if k else 0.0))
        builder.body(f"link{k}", parent, joint=joint, placement=place, inertia=ps.Inertia(1.0, tensor=np.eye(3)))
        parent = f"link{k}"
    builder.frame("tip", body=parent, placement=ps.Pose(xyz=(offset, 0, 0.2)))
    return builder.build()


SEVEN = arm(7)
ROBOTS = {"puma560": (PUMA, "tool"), "seven axes": (SEVEN, "tip"), "ten axes": (arm(10), "tip")}


# The step


@pytest.mark.parametrize("name", ["puma560", "seven axes"])
def test_the_step_to_a_place_is_that_of_its_three_rows(name):
    (model, frame), rng = ROBOTS[name], np.random.default_rng(5)
    J, weights, e = (
        ps.jacobian(model, model.random(rng), frame)[3:],
        rng.uniform(0.1, 2.0, model.nv),
        rng.normal(size=3),
    )
    expected = np.linalg.solve(J.T @ J + np.diag(weights), J.T @ e)
    assert relative(position_rates(J, e, weights), expected) < 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_step_is_damped_least_squares_on_any_tree(seed):
    """(J*J + R)⁻¹J*e, redundant or not, by the factorization of the mass matrix with BUB* for M."""
    case = mechanism(seed, frames=1, bodies=3 + seed % 3)
    jacobian, weights = ps.jacobian(case.model, case.q, case.frames[0]), case.vectors["R"]
    twist = case.vectors["u"][:6]
    expected = np.linalg.solve(jacobian.T @ jacobian + np.diag(weights), jacobian.T @ twist)
    assert relative(damped_rates(case.model, case.q, twist, weights, case.frames[0]), expected) < 1e-9


def test_the_step_takes_three_sweeps_whatever_the_arm():
    """Poses outward, the filter inward, the smoother outward; O(n), with no matrix solved."""
    statement = damped_rates.statement
    assert len(statement.sweeps) == 3
    assert "D′⁻¹" in statement.simplify().show()
    assert statement.cost(200).total < 2.1 * statement.cost(100).total


# What is found


@pytest.mark.parametrize("name", ROBOTS)
def test_reachable_poses_are_reached_within_the_limits(name):
    model, frame = ROBOTS[name]
    rng = np.random.default_rng(1)
    targets = ps.forward_kinematics(model, 0.8 * model.random(rng, (60,)), frame)
    found = ps.control.inverse_kinematics(model, targets, frame)
    assert found.success.mean() >= 0.95
    error = pose_gap(ps.forward_kinematics(model, found.q, frame), targets)
    assert np.allclose(found.residual, error, atol=1e-15)
    assert np.abs(error[found.success]).max() < 1e-9
    assert np.all(found.q >= model.lower_limits) and np.all(found.q <= model.upper_limits)
    assert np.all(found.reason[found.success] == "reached")
    missed = np.linalg.norm(error[~found.success], axis=-1)
    assert np.all(missed > 1e-9) and not np.any(found.reason[~found.success] == "reached")


@pytest.mark.parametrize("name", ROBOTS)
def test_reachable_places_are_reached_within_the_limits_in_any_attitude(name):
    model, frame = ROBOTS[name]
    places = ps.forward_kinematics(model, model.random(np.random.default_rng(2), (4, 25)), frame)[..., :3, 3]
    found = ps.control.inverse_kinematics(model, places, frame)
    assert found.success.all() and found.q.shape == (4, 25, model.nq)
    reached = ps.forward_kinematics(model, found.q, frame)[..., :3, 3]
    assert np.linalg.norm(reached - places, axis=-1).max() < 1e-8
    assert np.all((found.q >= model.lower_limits) & (found.q <= model.upper_limits))
    assert not found.residual[..., :3].any()


def test_a_place_beyond_reach_is_said_to_be_in_metres_alone():
    found = ps.control.inverse_kinematics(PUMA, [[2.0, 0.0, 0.0], [np.nan, 0.0, 0.0]], "tool")
    assert not found.success.any() and found.reason[1] == "the target is not finite"
    assert found.reason[0].startswith("out of reach") and " rad" not in found.reason[0]


def test_from_a_start_near_by_the_near_solution_is_found():
    rng = np.random.default_rng(2)
    q = 0.7 * SEVEN.random(rng, (50,))
    near = q + rng.uniform(-0.05, 0.05, q.shape)
    found = ps.control.inverse_kinematics(SEVEN, ps.forward_kinematics(SEVEN, q, "tip"), "tip", near, starts=1)
    assert found.success.all()
    assert np.abs(found.q - near).max() < 0.4
    assert np.all(found.starts == 1) and found.iterations.max() < 30


def test_any_leading_axes_and_any_joints():
    """A camera on a ball joint on a slide: coordinates that are no vector."""
    builder, body = ps.ModelBuilder("camera"), ps.Inertia(1.0, tensor=np.eye(3))
    for k, axis in enumerate(np.eye(3)):
        parent = f"slide{k - 1}" if k else "world"
        builder.body(f"slide{k}", parent, joint=ps.Prismatic(axis=axis, limits=(-1, 1)), inertia=body)
    builder.body("ball", "slide2", joint=ps.Spherical(), inertia=body)
    builder.frame("lens", body="ball", placement=ps.Pose(xyz=(0.1, 0.2, 0.3)))
    model = builder.build()
    q = model.random(np.random.default_rng(0), (2, 3))
    q[..., :3] *= 0.3
    found = ps.control.inverse_kinematics(model, ps.forward_kinematics(model, q, "lens"), "lens")
    assert found.success.shape == (2, 3) and found.success.all()
    assert np.allclose(np.linalg.norm(found.q[..., 3:], axis=-1), 1.0)


def test_a_single_pose_gives_single_answers():
    target = ps.forward_kinematics(PUMA, [0.1, -0.4, 0.6, 0.3, 0.5, 0.2], "tool")
    found = ps.control.inverse_kinematics(PUMA, target.tolist(), "tool")
    assert found.q.shape == (6,) and found.success.shape == () and bool(found.success)
    assert found.reason[()] == "reached"


# What is not found


def test_a_pose_beyond_reach_is_said_to_be_with_the_distance():
    target = np.eye(4)
    target[:3, 3] = [3.0, 0.0, 0.0]
    found = ps.control.inverse_kinematics(SEVEN, target, "tip", starts=3)
    assert not found.success
    assert "out of reach: the target is 3 m from (0, 0, 0)" in found.reason[()]
    assert np.linalg.norm(found.residual[3:]) >= 3.0 - greatest_reach(SEVEN, "tip")[1]


@pytest.mark.parametrize("name", ROBOTS)
def test_no_position_is_beyond_the_greatest_reach(name):
    model, frame = ROBOTS[name]
    centre, most = greatest_reach(model, frame)
    places = ps.forward_kinematics(model, model.random(np.random.default_rng(0), (5000,)), frame)[:, :3, 3]
    assert 0.7 * most < np.linalg.norm(places - centre, axis=-1).max() <= most


def test_limits_that_forbid_a_pose_are_named():
    """One turning joint that may not turn far enough: the only solution is outside."""
    builder = ps.ModelBuilder("gate")
    builder.body(
        "leaf", joint=ps.Revolute(axis=(0, 0, 1), limits=(-0.5, 0.5)), inertia=ps.Inertia(1.0, tensor=np.eye(3))
    )
    builder.frame("latch", body="leaf", placement=ps.Pose(xyz=(1, 0, 0)))
    model = builder.build()
    free = model.replace(joints={"leaf": ps.Revolute(axis=(0, 0, 1))})
    target = ps.forward_kinematics(free, [0.9], "latch")
    found = ps.control.inverse_kinematics(model, target, "latch")
    assert not found.success and np.isclose(found.q[0], 0.5)
    assert "held by the limits of leaf" in found.reason[()]
    assert np.isclose(np.linalg.norm(found.residual[:3]), 0.4, atol=1e-9)
    assert ps.control.inverse_kinematics(free, target, "latch").success


def test_a_pose_that_too_few_joints_cannot_meet_ends_at_the_nearest_and_says_so():
    model = ps.load("planar3")
    frame = list(model.frames)[-1]
    target = ps.forward_kinematics(model, [0.3, 0.4, 0.5], frame)
    target[2, 3] += 0.25  # out of the plane
    found = ps.control.inverse_kinematics(model, target, frame, starts=5)
    assert not found.success
    assert "no joint brings the frame nearer" in found.reason[()] and "0.25 m" in found.reason[()]
    assert np.allclose(found.residual, [0, 0, 0, 0, 0, 0.25], atol=1e-6)


def test_a_singular_start_without_a_slope_is_left_for_others():
    """Stretched out, with the target straight below the tip's place: no joint has a slope there."""
    straight = arm(7, offset=0.0)
    target = ps.forward_kinematics(straight, np.zeros(7), "tip")
    target[2, 3] -= 0.4
    alone = ps.control.inverse_kinematics(straight, target, "tip", np.zeros(7), starts=1)
    assert not alone.success and "singular position" in alone.reason[()] and alone.iterations == 0
    helped = ps.control.inverse_kinematics(straight, target, "tip", np.zeros(7))
    assert helped.success and helped.starts > 1


def test_a_target_that_is_not_finite_spoils_its_own_row_only():
    targets = ps.forward_kinematics(PUMA, [[0.1, -0.4, 0.6, 0.3, 0.5, 0.2]] * 2, "tool")
    targets[0, 0, 3] = np.nan
    found = ps.control.inverse_kinematics(PUMA, targets, "tool")
    assert found.success.tolist() == [False, True]
    assert found.reason[0] == "the target is not finite" and np.isnan(found.residual[0]).all()


def test_the_same_seed_gives_the_same_answer():
    targets = ps.forward_kinematics(SEVEN, SEVEN.random(np.random.default_rng(3), (20,)), "tip")
    first, second = (ps.control.inverse_kinematics(SEVEN, targets, "tip", seed=5) for _ in range(2))
    assert np.array_equal(first.q, second.q)


def test_what_is_no_pose_is_refused():
    with pytest.raises(ShapeError, match=r"\(…, 4, 4\)"):
        ps.control.inverse_kinematics(PUMA, np.eye(5), "tool")
    with pytest.raises(ShapeError, match="no rotation matrix"):
        ps.control.inverse_kinematics(PUMA, 2 * np.eye(4), "tool")
    builder = ps.ModelBuilder("ring")
    for name in ("a", "b"):
        builder.body(name, joint=ps.Revolute(), inertia=ps.Inertia(1.0, tensor=np.eye(3)))
        builder.frame(f"{name}_tip", body=name)
    builder.loop("closure", "a_tip", "b_tip", joint=ps.Revolute())
    with pytest.raises(ModelError, match="has loops"):
        ps.control.inverse_kinematics(builder.build(), np.eye(4), "a_tip")


def test_the_error_of_a_pose_is_the_motion_to_the_target():
    start, turn = np.eye(4), np.eye(4)
    turn[:3, :3], turn[:3, 3] = rotations.exp(np.array([0.1, -0.2, 0.3])), [1, 2, 3]
    assert np.allclose(pose_gap(start, turn), [0.1, -0.2, 0.3, 1, 2, 3])


def test_along_a_path_the_joints_do_not_jump():
    """From one start for all, some of these poses are reached with the wrist turned over, by π."""
    arm = ps.load("puma560")
    first = np.array([0.1, -0.8, 0.4, 0.2, 0.6, 0.1])
    way = first + np.linspace(0.0, 0.8, 41)[:, None]
    poses = np.stack([ps.forward_kinematics(arm, way, "tool"), ps.forward_kinematics(arm, way + 0.05, "tool")])
    found = ps.control.inverse_kinematics(arm, poses, "tool", np.stack([first, first + 0.05]), path=True)
    assert found.success.all() and found.q.shape == (2, 41, 6) and found.reason.shape == (2, 41)
    np.testing.assert_allclose(found.q[0], way, atol=1e-6)
    assert np.abs(np.diff(found.q, axis=1)).max() < 0.03


def test_along_a_path_of_places_the_joints_do_not_jump():
    first = np.array([0.1, -0.8, 0.4, 0.2, 0.6, 0.1])
    places = ps.forward_kinematics(PUMA, first + np.linspace(0.0, 0.8, 41)[:, None], "tool")[:, :3, 3]
    found = ps.control.inverse_kinematics(PUMA, places, "tool", first, path=True)
    assert found.success.all() and found.q.shape == (41, 6)
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.05


def test_a_path_needs_poses_one_after_the_other():
    for single in (np.eye(4), np.ones(3)):
        with pytest.raises(ShapeError, match="A path is poses"):
            ps.control.inverse_kinematics(PUMA, single, "tool", path=True)
