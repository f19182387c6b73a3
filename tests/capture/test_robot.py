"""The arms apart from what they capture: the same mechanism, hands known by their fingers, states from readings."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.capture import CaptureLayout
from phistar.capture.robot import Arms, without
from phistar.errors import ModelError, UnknownNameError
from phistar.sim.scenes.registry import scene_folders
from phistar.spatial.rotations import to_quaternion
from tests.capture.grapple_layout import LAYOUT, WHO

SCENES = ("grapple", "grapple-free")


@pytest.fixture(scope="module", params=SCENES)
def scene(request):
    return ps.Scene.load(request.param).setting(3).model


def test_the_dynamics_of_the_arms_are_those_of_the_scene_without_the_object(scene):
    arms, rng = Arms.of(scene, LAYOUT), np.random.default_rng(0)
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
    arms = Arms.of(scene, LAYOUT)
    shapes = {shape.name: shape for body in scene.bodies for shape in body.geometry}
    for hand in arms.hands:
        wrist = scene.frame(hand.wrist).placement.matrix
        for number, tip in enumerate(hand.tips, 1):
            place = shapes[f"{hand.name}_finger{number}"].placement
            end = place.translation + place.rotation @ np.array([0, 0, 0.06])  # half a capsule of 0.10 and its radius
            np.testing.assert_allclose((wrist @ hand.reach @ np.append(tip, 1.0))[:3], end, atol=1e-12)
        np.testing.assert_allclose(hand.tips.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(hand.tips[:, 2], 0.0, atol=1e-12)
        assert hand.reach[2, 2] == pytest.approx(1.0) and hand.tips[0, 0] == pytest.approx(0.07)


def test_readings_give_back_the_state(scene):
    arms, rng = Arms.of(scene, LAYOUT), np.random.default_rng(1)
    q, v = arms.model.random(rng), rng.standard_normal(arms.model.nv)
    sensed = {f"{hand.name}_joints": np.concatenate([q[hand.coordinates], v[hand.joints]]) for hand in arms.hands}
    if arms.free:
        pose, twist = ps.forward_kinematics(arms.model, q, "base"), ps.frame_velocity(arms.model, q, v, "base")
        sensed["base"] = np.concatenate([pose[:3, 3], to_quaternion(pose[:3, :3]), twist])
    found = arms.state(sensed)
    np.testing.assert_allclose(arms.model.difference(q, found[0]), 0.0, atol=1e-12)
    np.testing.assert_allclose(found[1], v, atol=1e-12)


def test_arms_on_bases_of_any_mass_are_equal_but_for_it():
    one, two = (Arms.of(ps.Scene.load("grapple-free").setting(seed).model, LAYOUT) for seed in (0, 1))
    assert one.model != two.model and one.without_mass().model == two.without_mass().model
    whole = one.inertias(one.mass).reshape(-1, 10)
    np.testing.assert_array_equal(whole, [body.inertia.parameters for body in one.model.bodies])


def test_what_is_missing_is_told():
    with pytest.raises(UnknownNameError, match="base"):
        Arms.of(ps.load("puma560"), LAYOUT)
    with pytest.raises(ModelError, match="world"):
        without(ps.load("puma560"), "world")


def with_fingers(scene, side, change):
    """The scene with the fingers of one hand placed elsewhere."""
    number = scene.frame(f"{side}/tool").body
    hand = scene.bodies[number]
    shapes = [replace(each, placement=change(each)) if "finger" in each.name else each for each in hand.geometry]
    bodies = list(scene.bodies)
    bodies[number] = replace(hand, geometry=tuple(shapes))
    return replace(scene, bodies=tuple(bodies))


def test_hands_may_differ_and_tips_in_a_line_are_refused(scene):
    wide = with_fingers(scene, "left", lambda each: ps.Pose(xyz=each.placement.translation * np.array([0.9, 0.9, 1])))
    one, two = (hand.ring for hand in Arms.of(wide, LAYOUT).hands)
    assert one == pytest.approx(0.073, rel=1e-5) and two == pytest.approx(0.08, rel=1e-5)
    flat = with_fingers(scene, "left", lambda each: ps.Pose(xyz=each.placement.translation * np.array([1, 0, 1])))
    with pytest.raises(ModelError, match="'left' touches in 3 points that span no plane"):
        Arms.of(flat, LAYOUT)


def with_panel(scene):
    """A panel that swings on the base by a hinge without a motor."""
    builder = ps.ModelBuilder("with a panel", gravity=scene.gravity)
    builder.attach(scene, "world", ps.Pose(), "")
    hinge = ps.Revolute((0, 0, 1), effort=0.0)
    shape = ps.Geometry(ps.Box((0.02, 1.0, 0.5)), ps.Pose(), "panel", None, "collision")
    inertia = ps.Inertia(8.0, (0.0, 0.4, 0.0), np.diag([0.7, 0.2, 0.8]))
    builder.body("panel", "base", hinge, ps.Pose(xyz=(-1.2, 1.3, 0.0)), inertia, [shape])
    return builder.build(strict=False)


def test_a_panel_on_the_base_is_known_as_it_hangs_at_rest_and_driven_by_nobody(scene):
    whole = with_panel(scene)
    arms = Arms.of(whole, LAYOUT)
    assert arms.model.nv == Arms.of(scene, LAYOUT).model.nv and "panel" in arms.model.frames
    assert whole.joint("panel").v_slice.start not in arms.sites[1]
    if arms.free:
        assert arms.mass[0] == pytest.approx(Arms.of(scene, LAYOUT).mass[0] + 8.0)


def grapple_with(folder, old, new):
    """The bundled scene, with something else in the place of a thing."""
    text = (scene_folders()[-1] / "grapple.toml").read_text("utf-8")
    assert old in text
    text = text.replace(old, new).replace("torque_limit", "# torque_limit")
    (folder / "other.toml").write_text(text, "utf-8")
    return ps.Scene.load(folder / "other.toml")


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ("capsule = [0.02, 0.4]", "'satellite' has no 2 places that oppose each other with room for a hand"),
        ("plane = true", "'satellite' has no 2 places that oppose each other with room for a hand"),
        ("box = [0.1, 0.1, 0.1]", "'satellite' has no 2 places that oppose each other with room for a hand"),
    ],
)
def test_a_body_that_no_hand_fits_is_found_unfit_when_the_scene_is_read(tmp_path, shape, sentence):
    with pytest.raises(ps.FileError, match=sentence):
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


def test_arms_without_motors_are_found_unfit_when_the_scene_is_read(tmp_path):
    (tmp_path / "six.urdf").write_text(six_joints(0.0, 0))
    with pytest.raises(ps.FileError, match="the joint left/j1 of an arm has no motor: its effort limit is 0"):
        grapple_with(tmp_path, 'robot = "puma560"', 'robot = "six.urdf"')


@pytest.mark.parametrize(
    ("who", "sentence"),
    [
        ({"hands": []}, r"listed in \[\[controller.hands\]\]"),
        ({"hands": [{"name": "left", "frame": "left/tool"}]}, "a hand has name, frame and fingers"),
        ({"target": 3}, "target: a name was expected"),
        ({"hands": [{"name": "a b", "frame": "left/tool", "fingers": ["f"]}]}, "stands in rules"),
        ({"hands": [{"name": "a", "frame": "left/tool", "fingers": ["f", "f"]}]}, "each once"),
    ],
)
def test_a_layout_that_names_nobody_is_told(who, sentence):
    with pytest.raises(ps.PhistarError, match=sentence):
        CaptureLayout.of({**WHO, **who})
