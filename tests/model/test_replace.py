"""Changed copies: what is named changes, nothing else does."""

import numpy as np
import pytest

import phistar as ps

LUMP = ps.Inertia(2.0, (0.0, 0.2, 0.0), np.diag([0.03, 0.02, 0.025]))
MODEL = ps.chain(4)


def test_name_and_gravity():
    changed = MODEL.replace(name="other", gravity=(0, 1, 0))
    assert changed.name == "other" and changed.bodies == MODEL.bodies and changed != MODEL
    np.testing.assert_array_equal(changed.gravity, [0, 1, 0])
    assert changed.replace(name=MODEL.name, gravity=MODEL.gravity) == MODEL


def test_inertias_by_body():
    changed = MODEL.replace(inertias={"link2": LUMP})
    assert changed.bodies[1].inertia == LUMP
    assert [a == b for a, b in zip(changed.bodies, MODEL.bodies, strict=True)] == [True, False, True, True]
    assert changed.replace(inertias={"link2": MODEL.bodies[1].inertia}) == MODEL


def test_placements_by_body():
    place = ps.Pose(xyz=(1, 2, 3))
    assert MODEL.replace(placements={"link3": place}).bodies[2].placement == place


def test_kinds_by_joint_renumber_q_and_v():
    changed = MODEL.replace(joints={"joint2": ps.Spherical()})
    assert (changed.nq, changed.nv) == (7, 6)
    assert changed.joint("joint3").q_slice == slice(5, 6)
    assert list(changed.frames) == list(MODEL.frames)


def test_a_joint_made_fixed_locks_at_neutral(frame_pose, world_inertia):
    locked = MODEL.replace(joints={"joint2": ps.Fixed()})
    q = np.array([0.3, -0.5, 0.8])
    held = np.insert(q, 1, 0.0)
    assert [body.name for body in locked.bodies] == ["link1", "link3", "link4"]
    assert list(locked.frames) == list(MODEL.frames)
    for name in MODEL.frames:
        np.testing.assert_allclose(
            frame_pose(locked, q, name).matrix, frame_pose(MODEL, held, name).matrix, rtol=0, atol=1e-14
        )
    np.testing.assert_allclose(world_inertia(locked, q), world_inertia(MODEL, held), rtol=0, atol=1e-13)


def test_rebuilding_keeps_every_other_part():
    b = ps.ModelBuilder("full", gravity=(0, 0, 0))
    b.frame("world", "world")
    b.body("plinth", inertia=LUMP, geometry=[ps.Geometry(ps.Box((1, 1, 1)))], placement=ps.Pose(rpy=(1, 0, 0)))
    b.body("a", "plinth", ps.Revolute(), inertia=LUMP, offset=ps.Pose(xyz=(0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1)))
    b.body("b", "a", ps.Prismatic(), ps.Pose(rpy=(0.2, 0.3, 0.1)), LUMP, joint_name="slide")
    b.body("c", "b", inertia=LUMP, placement=ps.Pose(xyz=(0.5, 0.1, 0.2)), joint_name="weld")
    b.loop("closure", "world", "c", joint=ps.Spherical())
    b.loop("gear", "a", "slide", joint=ps.Coupling())
    b.warn("Odd.")
    model = b.build()
    assert model.replace(inertias={"a": model.bodies[0].inertia}) == model


def test_unknown_names_are_refused():
    for change in ({"inertias": {"x": LUMP}}, {"placements": {"x": ps.Pose()}}, {"joints": {"x": ps.Fixed()}}):
        with pytest.raises(ps.UnknownNameError, match="'x'"):
            MODEL.replace(**change)
    with pytest.raises(ps.ModelError, match="empty"):
        MODEL.replace(name="")


def test_impossible_replacements_warn():
    bad = ps.Inertia.unchecked(1.0, (0, 0, 0), np.diag([1.0, 1.0, -1.0]))
    assert any("'link2'" in text for text in MODEL.replace(inertias={"link2": bad}).warnings)
    assert any("'joint4'" in text for text in MODEL.replace(inertias={"link4": ps.Inertia.zero()}).warnings)
