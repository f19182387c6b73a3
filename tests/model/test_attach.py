"""Composition: a model attached is the same mechanism in another place."""

import numpy as np
import pytest

import phistar as ps

LUMP = ps.Inertia(1.0, (0.1, 0.2, -0.1), np.diag([0.03, 0.02, 0.025]))
HERE = ps.Pose(xyz=(0.4, -0.3, 0.2), rpy=(0.5, 0.4, -0.3))


def gripper() -> ps.Model:
    """A palm fixed to the world, two fingers coupled, and a closure on the world."""
    b = ps.ModelBuilder("gripper", gravity=(9, 9, 9))
    b.body("palm", inertia=LUMP, placement=ps.Pose(xyz=(0, 0, 0.1)), geometry=[ps.Geometry(ps.Box((1, 1, 1)))])
    b.body("left", "palm", ps.Prismatic((1, 0, 0)), inertia=LUMP, joint_name="left_joint")
    b.body("right", "palm", ps.Prismatic((-1, 0, 0)), inertia=LUMP, joint_name="right_joint")
    b.frame("grip", "palm", ps.Pose(xyz=(0, 0, 0.2)))
    b.loop("mimic", "right_joint", "left_joint", joint=ps.Coupling())
    b.loop("ground", "world", "left", joint=ps.Planar())
    b.warn("Sharp.")
    return b.build()


def test_attaching_to_the_world_with_no_prefix_is_the_same_model():
    model = ps.chain(5)
    b = ps.ModelBuilder(model.name, model.gravity)
    b.attach(model)
    assert b.build() == model


def test_bodies_frames_loops_and_warnings_come_with_the_prefix():
    b = ps.ModelBuilder("robot")
    b.attach(ps.chain(2))
    b.attach(gripper(), parent="tip", placement=HERE, prefix="hand/")
    model = b.build()
    assert [body.name for body in model.bodies] == ["link1", "link2", "hand/left", "hand/right"]
    assert [joint.name for joint in model.joints][2:] == ["hand/left_joint", "hand/right_joint"]
    expected = ["palm", "left_joint", "left", "right_joint", "right", "grip", "world"]
    assert list(model.frames)[5:] == [f"hand/{name}" for name in expected]
    mimic, ground = model.loops
    assert (mimic.name, mimic.joint_a, mimic.joint_b) == ("hand/mimic", "hand/right_joint", "hand/left_joint")
    assert (ground.name, ground.frame_a, ground.frame_b) == ("hand/ground", "hand/world", "hand/left")
    assert model.warnings == ("hand/: Sharp.",)
    np.testing.assert_array_equal(model.gravity, [0, 0, -9.81])


def test_every_frame_moves_as_it_did_in_its_own_model(frame_pose):
    arm, hand = ps.chain(2), gripper()
    b = ps.ModelBuilder("robot")
    b.attach(arm)
    b.attach(hand, parent="tip", placement=HERE, prefix="hand/")
    model = b.build()
    rng = np.random.default_rng(0)
    q = model.random(rng)
    wrist = frame_pose(arm, q[:2], "tip") @ HERE
    for name in hand.frames:
        expected = wrist @ frame_pose(hand, q[2:], name)
        np.testing.assert_allclose(frame_pose(model, q, f"hand/{name}").matrix, expected.matrix, rtol=0, atol=1e-14)


def test_what_was_fixed_to_the_attached_world_rides_along():
    b = ps.ModelBuilder("robot")
    b.attach(ps.chain(2))
    b.attach(gripper(), parent="link2", placement=HERE, prefix="hand/")
    model, arm = b.build(), ps.chain(2)
    assert model.total_mass == arm.total_mass + 3.0
    expected = arm.bodies[1].inertia + LUMP.transformed(HERE @ ps.Pose(xyz=(0, 0, 0.1)))
    np.testing.assert_allclose(model.bodies[1].inertia.matrix, expected.matrix, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        model.bodies[1].geometry[-1].placement.matrix, (HERE @ ps.Pose(xyz=(0, 0, 0.1))).matrix, rtol=0, atol=1e-15
    )


def test_a_model_may_be_attached_many_times():
    b = ps.ModelBuilder("hand")
    b.body("palm", joint=ps.Free(), inertia=LUMP)
    for k in range(4):
        b.attach(ps.chain(3), parent="palm", placement=ps.Pose(xyz=(0.1 * k, 0, 0)), prefix=f"finger{k}/")
    model = b.build()
    assert model.nv == 6 + 12 and model.children[0] == (1, 4, 7, 10)
    assert model.body_index("finger3/link3") == 12


def test_a_model_may_be_attached_to_a_body_told_later():
    b = ps.ModelBuilder("robot")
    b.attach(ps.chain(2), parent="base")
    b.body("base", joint=ps.Free(), inertia=LUMP)
    assert [body.name for body in b.build().bodies] == ["base", "link1", "link2"]


def test_offset_bodies_attach_as_they_were(frame_pose, world_inertia):
    inner = ps.ModelBuilder("inner")
    inner.body("a", joint=ps.Revolute(), inertia=LUMP, offset=HERE)
    inner.body("b", "a", ps.Revolute((1, 0, 0)), HERE, LUMP)
    part = inner.build()
    b = ps.ModelBuilder("outer")
    b.attach(part, prefix="x/")
    b.body("c", "x/a", ps.Prismatic(), HERE, LUMP)
    model = b.build()
    q = np.array([0.3, 0.5, 0.0])
    np.testing.assert_allclose(
        frame_pose(model, q, "x/b").matrix, frame_pose(part, q[:2], "b").matrix, rtol=0, atol=1e-15
    )
    expected = frame_pose(part, q[:2], "a") @ HERE
    np.testing.assert_allclose(frame_pose(model, q, "c").matrix, expected.matrix, rtol=0, atol=1e-15)
    assert model.bodies[0].inertia == part.bodies[0].inertia


def test_clashing_names_ask_for_a_prefix():
    b = ps.ModelBuilder("robot")
    b.attach(ps.chain(2))
    with pytest.raises(ps.ModelError, match=r"'link1'.*prefix"):
        b.attach(ps.chain(2))


def test_an_attached_world_that_is_named_needs_a_prefix():
    b = ps.ModelBuilder("robot")
    with pytest.raises(ps.ModelError, match=r"'world'.*prefix"):
        b.attach(gripper(), placement=HERE)


def test_fixed_joints_of_an_attached_model_keep_their_names_to_themselves():
    inner = ps.ModelBuilder("inner")
    inner.body("a", joint=ps.Revolute(), inertia=LUMP)
    inner.body("b", "a", joint_name="weld")
    b = ps.ModelBuilder("outer")
    b.attach(inner.build())
    with pytest.raises(ps.ModelError, match="two joints called 'weld'"):
        b.body("c", "a", ps.Revolute(), inertia=LUMP, joint_name="weld")


def test_unphysical_parts_of_attached_models_were_accepted_before():
    inner = ps.ModelBuilder("inner")
    bad = ps.Inertia.unchecked(1.0, (0.5, 0, 0), np.diag([0.1, 0.1, -0.05]))
    inner.body("a", joint=ps.Revolute(), inertia=bad)
    b = ps.ModelBuilder("outer")
    b.attach(inner.build(strict=False))
    assert len(b.build().warnings) == 1


@pytest.mark.parametrize("arguments", [("robot.urdf",), (ps.chain(2), "world", (0, 0, 1))])
def test_only_models_are_attached_at_poses(arguments):
    with pytest.raises(ps.ModelError, match="attach needs"):
        ps.ModelBuilder("robot").attach(*arguments)
