"""The arms apart from what they capture: the same mechanism, hands known by their fingers, states from readings."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.capture.robot import BASE, Arms, without
from phistar.errors import ModelError, UnknownNameError
from phistar.sim.scenes.source import BUNDLED
from phistar.spatial.rotations import to_quaternion

SCENES = ("grapple", "grapple-free")


@pytest.fixture(scope="module", params=SCENES)
def scene(request):
    return ps.Scene.load(request.param).setting(3).model


def test_the_dynamics_of_the_arms_are_those_of_the_scene_without_the_object(scene):
    arms, rng = Arms.of(scene), np.random.default_rng(0)
    joint = scene.joints[scene.body_index("satellite")]
    keep_q = np.delete(np.arange(scene.nq), np.arange(scene.nq)[joint.q_slice])
    keep_v = np.delete(np.arange(scene.nv), np.arange(scene.nv)[joint.v_slice])
    q, v, a = scene.random(rng), rng.standard_normal(scene.nv), rng.standard_normal(scene.nv)
    own = ps.inverse_dynamics(arms.model, q[keep_q], v[keep_v], a[keep_v])
    np.testing.assert_allclose(own, ps.inverse_dynamics(scene, q, v, a)[keep_v], atol=1e-9)


def test_bodies_after_the_one_left_out_keep_their_joints():
    builder = ps.ModelBuilder("three")
    for name in ("a", "b", "c"):
        builder.body(name, joint=ps.Revolute((0, 0, 1)), inertia=ps.Inertia(1.0, (0.1, 0, 0), np.eye(3)))
    left = without(builder.build(), "b")
    assert [body.name for body in left.bodies] == ["a", "c"]
    assert left.joint("c").q_slice == slice(1, 2) and left.frame("c").body == 1


def test_the_grip_is_amid_the_fingertips_and_looks_along_them(scene):
    arms = Arms.of(scene)
    shapes = {shape.name: shape for body in scene.bodies for shape in body.geometry}
    for hand in arms.hands:
        wrist = scene.frame(hand.wrist).placement.matrix
        for number, tip in enumerate(hand.tips, 1):
            place = shapes[f"{hand.side}_finger{number}"].placement
            end = place.translation + place.rotation @ np.array([0, 0, 0.06])  # half a capsule of 0.10 and its radius
            np.testing.assert_allclose((wrist @ hand.reach @ np.append(tip, 1.0))[:3], end, atol=1e-12)
        np.testing.assert_allclose(hand.tips.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(hand.tips[:, 2], 0.0, atol=1e-12)
        assert hand.reach[2, 2] == pytest.approx(1.0) and hand.tips[0, 0] == pytest.approx(0.07)


def test_readings_give_back_the_state(scene):
    arms, rng = Arms.of(scene), np.random.default_rng(1)
    q, v = arms.model.random(rng), rng.standard_normal(arms.model.nv)
    sensed = {f"{hand.side}_joints": np.concatenate([q[hand.coordinates], v[hand.joints]]) for hand in arms.hands}
    if arms.free:
        pose, twist = ps.forward_kinematics(arms.model, q, BASE), ps.frame_velocity(arms.model, q, v, BASE)
        sensed[BASE] = np.concatenate([pose[:3, 3], to_quaternion(pose[:3, :3]), twist])
    found = arms.state(sensed)
    np.testing.assert_allclose(arms.model.difference(q, found[0]), 0.0, atol=1e-12)
    np.testing.assert_allclose(found[1], v, atol=1e-12)


def test_arms_on_bases_of_any_mass_are_equal_but_for_it():
    one, two = (Arms.of(ps.Scene.load("grapple-free").setting(seed).model) for seed in (0, 1))
    assert one.model != two.model and one.without_mass().model == two.without_mass().model
    whole = one.inertias(one.mass).reshape(-1, 10)
    np.testing.assert_array_equal(whole, [body.inertia.parameters for body in one.model.bodies])


def test_what_is_missing_is_told():
    with pytest.raises(UnknownNameError, match="base"):
        Arms.of(ps.load("puma560"))
    with pytest.raises(ModelError, match="world"):
        without(ps.load("puma560"), "world")


def test_an_object_off_its_origin_and_hands_that_differ_are_refused_with_what_to_do(scene):
    own = scene.bodies[scene.body_index("satellite")].inertia
    heavy = scene.replace(inertias={"satellite": ps.Inertia(own.mass, (0.0, 0.02, 0.0), own.tensor)})
    with pytest.raises(ModelError, match=r"mass of 'satellite' is at \[0\.0, 0\.02, 0\.0\] m.*Move the origin there"):
        Arms.of(heavy)
    number = scene.frame("left/tool").body
    hand = scene.bodies[number]
    turned = [
        replace(each, placement=ps.Pose(xyz=each.placement.translation + np.array([0.01, 0.0, 0.0])))
        if each.name == "left_finger1"
        else each
        for each in hand.geometry
    ]
    bodies = list(scene.bodies)
    bodies[number] = replace(hand, geometry=tuple(turned))
    with pytest.raises(ModelError, match="fingertips of both hands must lie in the same way"):
        Arms.of(replace(scene, bodies=tuple(bodies)))


def grapple_with(folder, old, new):
    """The bundled scene, with something else in the place of a thing."""
    text = (BUNDLED / "grapple.toml").read_text("utf-8")
    assert old in text
    text = text.replace(old, new).replace("torque_limit", "# torque_limit")
    (folder / "other.toml").write_text(text, "utf-8")
    return ps.Scene.load(folder / "other.toml")


@pytest.mark.parametrize("shape", ["sphere = 0.2", "cylinder = [0.2, 0.4]", "capsule = [0.1, 0.4]", "plane = true"])
def test_a_body_without_flat_faces_is_found_unfit_when_the_scene_is_read(tmp_path, shape):
    with pytest.raises(ps.FileError, match="'satellite' has no two opposite flat faces with room for a hand"):
        grapple_with(tmp_path, "box = [0.4, 0.4, 0.4]", shape)


def six_joints(wrist, effort):
    """An arm whose fourth, fifth and sixth joint are `wrist` apart, as UR's are."""
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text, parent = '<link name="base"/><link name="tool"/>', "base"
    places = [(0, 0, 0.1), (0, 0, 0), (0, 0, 0.4), (0, 0, 0.4), (wrist, 0, 0), (0, wrist, 0)]
    axes = ["0 0 1", "0 1 0", "0 1 0", "0 1 0", "1 0 0", "0 0 1"]
    for number, (xyz, axis) in enumerate(zip(places, axes, strict=True), 1):
        text += f'<link name="link{number}">{inertia}</link><joint name="j{number}" type="continuous">'
        text += f'<origin xyz="{xyz[0]} {xyz[1]} {xyz[2]}"/><axis xyz="{axis}"/><parent link="{parent}"/>'
        text += f'<child link="link{number}"/><limit effort="{effort}" velocity="9"/></joint>'
        parent = f"link{number}"
    text += '<joint name="hand" type="fixed"><parent link="link6"/><child link="tool"/></joint>'
    return f'<robot name="six">{text}</robot>'


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        ((0.1, 99), "the last three axes that move .* do not meet in one point"),
        ((0.0, 0), "the joint left/j1 of an arm has no motor: its effort limit is 0"),
    ],
)
def test_arms_that_no_plan_can_be_for_are_found_unfit_when_the_scene_is_read(tmp_path, arm, sentence):
    (tmp_path / "six.urdf").write_text(six_joints(*arm))
    with pytest.raises(ps.FileError, match=sentence):
        grapple_with(tmp_path, 'robot = "puma560"', 'robot = "six.urdf"')
