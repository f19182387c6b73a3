"""What a builder is told is what the model is: order, merging of fixed bodies, frames."""

import numpy as np
import pytest

import phistar as ps
from phistar.spatial import Inertia, Pose

LUMP = Inertia(1.5, (0.1, -0.2, 0.3), np.diag([0.02, 0.03, 0.04]))
BENT = Pose(xyz=(0.3, 0.1, -0.2), rpy=(0.4, -0.5, 0.6))


def arm_with_fixed_parts(fixed) -> ps.Model:
    """shoulder – bracket – elbow – hand; bracket and hand are on joints of the kind given."""
    b = ps.ModelBuilder("arm")
    b.body("shoulder", joint=ps.Revolute(axis=(0, 0, 1)), placement=BENT, inertia=LUMP, joint_name="j1")
    b.body("bracket", "shoulder", joint=fixed, placement=BENT, inertia=LUMP, joint_name="weld1")
    b.body("elbow", "bracket", joint=ps.Universal(), placement=BENT, inertia=LUMP, joint_name="j2")
    b.body("hand", "elbow", joint=fixed, placement=BENT, inertia=LUMP, joint_name="weld2")
    b.frame("tool", "hand", BENT)
    return b.build()


def test_bodies_keep_the_order_they_were_told_in():
    b = ps.ModelBuilder("tree")
    for name, parent in [("a", "world"), ("b", "world"), ("c", "a"), ("d", "b"), ("e", "a")]:
        b.body(name, parent, joint=ps.Revolute(), inertia=LUMP)
    model = b.build()
    assert [body.name for body in model.bodies] == ["a", "b", "c", "d", "e"]
    assert model.parents == (-1, -1, 0, 1, 0)
    assert model.children == ((2, 4), (3,), (), (), ())
    assert not model.is_serial


def test_a_body_may_be_told_before_its_parent():
    b = ps.ModelBuilder("backwards")
    b.body("c", "b", joint=ps.Prismatic(), inertia=LUMP)
    b.body("a", joint=ps.Free(), inertia=LUMP)
    b.body("b", "a", joint=ps.Revolute(), inertia=LUMP)
    model = b.build()
    assert [body.name for body in model.bodies] == ["a", "b", "c"]
    assert model.is_serial
    assert [(joint.q_slice, joint.v_slice) for joint in model.joints] == [
        (slice(0, 7), slice(0, 6)),
        (slice(7, 8), slice(6, 7)),
        (slice(8, 9), slice(7, 8)),
    ]
    assert (model.nq, model.nv) == (9, 8)


def test_fixed_bodies_merge_and_stay_as_frames(frame_pose):
    model = arm_with_fixed_parts(ps.Fixed())
    assert [body.name for body in model.bodies] == ["shoulder", "elbow"]
    assert [joint.name for joint in model.joints] == ["j1", "j2"]
    assert list(model.frames) == ["j1", "shoulder", "weld1", "bracket", "j2", "elbow", "weld2", "hand", "tool"]
    assert {name: frame.role for name, frame in model.frames.items() if frame.body == 1} == {
        "j2": "joint",
        "elbow": "link",
        "weld2": "joint",
        "hand": "link",
        "tool": "frame",
    }
    assert frame_pose(model, np.zeros(3), "bracket") == frame_pose(model, np.zeros(3), "weld1")


def test_merged_bodies_move_and_weigh_as_if_locked(frame_pose, world_inertia, twists):
    """The same mechanism with revolute joints held at zero in place of the fixed ones."""
    merged, locked = arm_with_fixed_parts(ps.Fixed()), arm_with_fixed_parts(ps.Revolute(axis=(1, 2, 3)))
    rng = np.random.default_rng(0)
    q, v = merged.random(rng), rng.normal(size=3)
    q_locked, v_locked = np.insert(q, [1, 3], 0.0), np.insert(v, [1, 3], 0.0)
    for name in merged.frames:
        np.testing.assert_allclose(
            frame_pose(merged, q, name).matrix, frame_pose(locked, q_locked, name).matrix, rtol=0, atol=1e-13
        )
    np.testing.assert_allclose(world_inertia(merged, q), world_inertia(locked, q_locked), rtol=0, atol=1e-12)
    energies = [
        sum(
            twist @ body.inertia.matrix @ twist for twist, body in zip(twists(model, *state), model.bodies, strict=True)
        )
        for model, state in [(merged, (q, v)), (locked, (q_locked, v_locked))]
    ]
    assert energies[0] == pytest.approx(energies[1], rel=1e-12)
    assert merged.total_mass == locked.total_mass == pytest.approx(6.0)


def test_geometry_moves_over_with_its_fixed_body():
    b = ps.ModelBuilder("robot")
    b.body("base", joint=ps.Fixed(), placement=BENT, geometry=[ps.Geometry(ps.Sphere(0.1), BENT)])
    b.body("arm", "base", joint=ps.Revolute(), inertia=LUMP, geometry=[ps.Geometry(ps.Box((1, 2, 3)))])
    b.body("hand", "arm", joint=ps.Fixed(), placement=BENT, geometry=[ps.Geometry(ps.Sphere(0.2), BENT)])
    b.geometry("hand", ps.Geometry(ps.Sphere(0.3), role="collision"))
    model = b.build()
    assert model.base_geometry == (ps.Geometry(ps.Sphere(0.1), BENT @ BENT),)
    assert model.bodies[0].geometry == (
        ps.Geometry(ps.Box((1, 2, 3))),
        ps.Geometry(ps.Sphere(0.2), BENT @ BENT),
        ps.Geometry(ps.Sphere(0.3), BENT, role="collision"),
    )


def test_what_is_fixed_to_the_world_is_kept_apart_from_the_moving_mass():
    b = ps.ModelBuilder("robot")
    b.body("base", inertia=LUMP)
    b.body("arm", "base", joint=ps.Revolute(), inertia=LUMP)
    model = b.build()
    assert model.total_mass == 1.5 and model.base_inertia == LUMP
    assert model.frame("base").body == -1


def test_a_joint_named_like_a_link_gives_way_to_it():
    b = ps.ModelBuilder("robot")
    b.body("arm", joint=ps.Revolute(), inertia=LUMP)
    b.body("hand", "arm", joint=ps.Revolute(), inertia=LUMP, joint_name="tool")
    b.frame("tool", "hand", BENT)
    model = b.build()
    assert [(frame.name, frame.role) for frame in model.frames.values()] == [
        ("arm", "link"),
        ("hand", "link"),
        ("tool", "frame"),
    ]
    assert model.joint("arm").body == 0 and model.joint("tool").body == 1


def test_joint_frames_move_with_the_child(frame_pose):
    model = arm_with_fixed_parts(ps.Fixed())
    q = np.array([0.7, 0.2, -0.4])
    assert frame_pose(model, q, "j2") == frame_pose(model, q, "elbow")


def test_an_offset_body_frame_carries_everything_told_in_it(frame_pose, world_inertia):
    """A body whose frame stands off its joint is the same mechanism as a massless one with the body fixed to it."""
    models = []
    for offset in (True, False):
        b = ps.ModelBuilder("offset")
        if offset:
            b.body("link", joint=ps.Revolute(), placement=BENT, inertia=LUMP, joint_name="turn", offset=BENT)
        else:
            b.body("carrier", joint=ps.Revolute(), placement=BENT, joint_name="turn")
            b.body("link", "carrier", placement=BENT, inertia=LUMP)
        b.body("next", "link", joint=ps.Prismatic(), placement=BENT, inertia=LUMP)
        b.frame("tool", "link", BENT)
        models.append(b.build())
    q = np.array([0.4, 0.3])
    for name in ("turn", "link", "next", "tool"):
        poses = [frame_pose(model, q, name) for model in models]
        np.testing.assert_allclose(poses[0].matrix, poses[1].matrix, rtol=0, atol=1e-14)
    np.testing.assert_allclose(*(world_inertia(model, q) for model in models), rtol=0, atol=1e-13)


def test_bodies_and_frames_may_stand_on_frames(frame_pose):
    b = ps.ModelBuilder("robot")
    b.frame("second", "first", BENT)
    b.frame("first", "arm", BENT)
    b.body("arm", joint=ps.Revolute(), inertia=LUMP)
    b.body("gripper", "second", joint=ps.Prismatic(), inertia=LUMP)
    b.geometry("first", ps.Geometry(ps.Sphere(0.1)))
    model = b.build()
    q = np.array([0.3, 0.0])
    np.testing.assert_allclose(
        frame_pose(model, q, "gripper").matrix, (frame_pose(model, q, "first") @ BENT).matrix, rtol=0, atol=1e-15
    )
    assert model.bodies[0].geometry[0].placement == BENT


def test_the_world_is_a_frame_and_is_listed_when_asked_for():
    b = ps.ModelBuilder("robot")
    assert b.build().frame("world").body == -1 and "world" not in b.build().frames
    b.frame("world", "world")
    assert list(b.build().frames) == ["world"]


def test_an_empty_model_is_legal():
    model = ps.ModelBuilder("nothing").build()
    assert (model.nq, model.nv, model.bodies, model.total_mass) == (0, 0, (), 0)
    assert model.neutral().shape == model.integrate([], []).shape == model.lower_limits.shape == (0,)


def test_a_builder_goes_on_after_a_build():
    b = ps.ModelBuilder("growing")
    b.body("a", joint=ps.Revolute(), inertia=LUMP)
    first = b.build()
    b.body("b", "a", joint=ps.Revolute(), inertia=LUMP)
    assert (first.nv, b.build().nv) == (1, 2)


def test_warnings_told_are_kept():
    b = ps.ModelBuilder("robot")
    b.warn("The paint is wet.")
    assert b.build().warnings == ("The paint is wet.",)
