"""Plans are met by the arms, in time, within limits and clear of everything; without a plan, the reason is told."""

import numpy as np
import pytest

import phistar as ps
from phistar.capture.candidates import Preferences
from phistar.capture.grasps import found_grasps
from phistar.capture.planner import Plan, Planner, Refusal, Sighting
from phistar.capture.prediction import tumble
from phistar.capture.robot import Arms
from phistar.errors import ShapeError
from phistar.spatial.rotations import exp
from tests.capture.grapple_layout import LAYOUT

pytest.importorskip("coal")
SCENES = ("grapple", "grapple-free", "grapple-grooved")


@pytest.fixture(scope="module")
def planners():
    made = {}
    for name in SCENES:
        setting = ps.Scene.load(name).setting(0)
        arms = Arms.of(setting.model, LAYOUT)
        made[name] = Planner(arms), arms.angles(setting.start[0])
    return made


def sighting(joints, seed, spin=0.06):
    rng = np.random.default_rng(seed)
    axis, way = (x / np.linalg.norm(x) for x in rng.normal(size=(2, 3)))
    pose = ps.Pose(xyz=np.array([0.462, 0, 0]) + rng.uniform(-0.04, 0.04, 3), rotation=exp(rng.uniform(0, 0.3) * axis))
    return Sighting(pose.matrix, np.concatenate([spin * way, rng.uniform(-1e-3, 1e-3, 3)]), joints)


def hands(arms, joints):
    """The grips seen from the base, (…, 2, 4, 4)."""
    q = arms.configuration(joints)
    back = np.linalg.inv(ps.forward_kinematics(arms.model, q, "base"))
    return np.stack([back @ ps.forward_kinematics(arms.model, q, hand.grip) for hand in arms.hands], axis=-3)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SCENES)
def test_the_planned_joints_put_the_hands_on_the_faces_of_the_moving_body(planners, name):
    planner, joints = planners[name]
    arms, found = planner.robot.arms, 0
    for seed in range(4):
        seen = sighting(joints, seed)
        made = planner.plan(seen, 100.0)
        if isinstance(made, Refusal):
            continue
        found += 1
        times = made.arrival + planner.stages - 100.0
        body = tumble(seen.pose, seen.twist, times).pose
        grips = np.broadcast_to(made.contact, (5, 2, 4, 4)).copy()
        for stage, part in ((0, 1.0), (1, 0.5)):
            grips[stage, :, :3, 3] -= part * made.standoff * grips[stage, :, :3, 2]
        np.testing.assert_allclose(hands(arms, made.joints), body[:, None] @ grips, atol=1e-9)
        lower, upper = arms.limits
        way = made.approach(np.linspace(made.start, made.arrival, 30))[0]
        assert np.all(way > lower) and np.all(way < upper)
        assert made.start >= 100.0 - 1e-9 and made.clearance >= planner.settings.clearance
    assert found >= 2


def test_the_approach_leaves_at_rest_and_arrives_with_the_speed_of_the_face(planners):
    planner, joints = planners["grapple"]
    seen = sighting(joints, 1)
    made = planner.plan(seen, 0.0)
    assert isinstance(made, Plan)
    place, rate, change = made.approach(made.start)
    np.testing.assert_allclose(place, joints, atol=1e-12)
    np.testing.assert_allclose([rate, change], 0.0, atol=1e-12)
    step = 1e-4
    place, rate, _ = made.approach(made.arrival)
    before, after = hands(planner.robot.arms, np.stack([place - step * rate, place + step * rate]))
    body = tumble(seen.pose, seen.twist, made.arrival + np.array([-step, step])).pose
    grips = made.contact.copy()
    grips[:, :3, 3] -= made.standoff * grips[:, :3, 2]
    np.testing.assert_allclose((after - before) / (2 * step), (body[1] - body[0]) @ grips / (2 * step), atol=1e-8)
    middle = np.linspace(made.start, made.arrival, 20)
    slope = (made.approach(middle + step)[0] - made.approach(middle - step)[0]) / (2 * step)
    np.testing.assert_allclose(slope[1:-1], made.approach(middle)[1][1:-1], atol=1e-6)


def test_the_same_sighting_gives_the_same_plan_and_faces_tried_in_vain_give_way(planners):
    joints = planners["grapple"][1]
    planner = Planner(planners["grapple"][0].robot.arms, Preferences(trusted=10.0))
    seen = sighting(joints, 2)
    first, again = planner.plan(seen, 0.0), planner.plan(seen, 0.0)
    assert isinstance(first, Plan) and isinstance(again, Plan)
    np.testing.assert_array_equal(first.joints, again.joints)
    other = planner.plan(seen, 0.0, tried=(first.faces, first.faces, first.faces))
    assert isinstance(other, Plan) and other.faces != first.faces


def test_fingers_go_into_grooves_where_there_are_any(planners):
    planner, joints = planners["grapple-grooved"]
    arms = planner.robot.arms
    shapes = arms.scene.bodies[arms.scene.body_index("satellite")].geometry
    grasps = found_grasps(shapes, arms.hands, 0.0, 0.06, "it")
    assert {grasp.names for grasp in grasps} == {("+y", "-y"), ("-y", "+y")}
    assert all(grasp.margin > 0.01 for grasp in grasps)  # held without friction
    for face in grasps[0].places:
        assert face.rolls is not None and len(face.rolls) == 3
        np.testing.assert_allclose(np.diff(face.rolls), 2 * np.pi / 3, atol=1e-5)
        # A ball of 10 mm between walls of 45°, whose foot is 20 mm deep: its centre is 14.1 mm above the foot.
        assert abs(face.contact[1, 3]) == pytest.approx(0.18 + 0.01 * np.sqrt(2) - 0.01, abs=1e-6)
    made = next(x for x in (planner.plan(sighting(joints, seed), 0.0) for seed in range(8)) if isinstance(x, Plan))
    for grip, hand in zip(made.contact, arms.hands, strict=True):
        tips = hand.tips @ grip[:3, :3].T + grip[:3, 3]
        angles = np.degrees(np.arctan2(tips[:, 0], tips[:, 2])) % 120.0  # a groove goes up from the middle of the face
        np.testing.assert_allclose(np.minimum(angles, 120.0 - angles), 0.0, atol=1e-3)


def test_what_is_out_of_reach_is_refused_with_its_reason(planners):
    planner, joints = planners["grapple"]
    far = Sighting(ps.Pose(xyz=[5, 0, 0]).matrix, np.zeros(6), joints)
    made = planner.plan(far, 0.0)
    assert isinstance(made, Refusal) and "reach" in made.reason
    near = sighting(joints, 1)
    narrow = Planner(planner.robot.arms, Preferences(clearance=0.5)).plan(near, 0.0)
    assert isinstance(narrow, Refusal) and "clear" in narrow.reason
    with pytest.raises(ShapeError, match="12 finite joint angles"):
        planner.plan(near._replace(joints=np.zeros(5)), 0.0)
