"""Loops: cut joints between frames, couplings between joints."""

import numpy as np
import pytest

import phistar as ps

LUMP = ps.Inertia(1.0, (0.1, 0.0, 0.0), np.diag([0.01, 0.02, 0.02]))


def two_arms() -> ps.ModelBuilder:
    b = ps.ModelBuilder("pair")
    for side in ("left", "right"):
        b.body(side, joint=ps.Revolute(), inertia=LUMP, joint_name=f"{side}_joint")
        b.frame(f"{side}_tip", side, ps.Pose(xyz=(0.2, 0, 0)))
    b.body("ball", joint=ps.Spherical(), inertia=LUMP, joint_name="ball_joint")
    return b


@pytest.mark.parametrize(
    ("joint", "rows"),
    [
        (ps.Fixed(), 6),
        (ps.Revolute(), 5),
        (ps.Prismatic(), 5),
        (ps.Helical(pitch=0.1), 5),
        (ps.Universal(), 4),
        (ps.Cylindrical(), 4),
        (ps.Spherical(), 3),
        (ps.Planar(), 3),
        (ps.Distance(0.3), 1),
    ],
    ids=repr,
)
def test_a_cut_joint_takes_away_what_it_does_not_allow(joint, rows):
    b = two_arms()
    b.loop("closure", "left_tip", "right_tip", joint=joint)
    (loop,) = b.build().loops
    assert (loop.name, loop.frame_a, loop.frame_b, loop.joint) == ("closure", "left_tip", "right_tip", joint)
    assert loop.rows == rows


def test_loops_may_close_on_the_world_and_on_any_frame():
    b = two_arms()
    b.loop("ground", "world", "left", joint=ps.Spherical())
    b.loop("joint frame", "left_joint", "right_joint", joint=ps.Spherical())
    assert [loop.name for loop in b.build().loops] == ["ground", "joint frame"]


def test_couplings_name_their_driven_and_driving_joints():
    b = two_arms()
    b.loop("gear", "left_joint", "right_joint", joint=ps.Coupling((0.1, -2.0)))
    b.loop("closure", "left_tip", "right_tip", joint=ps.Spherical())
    b.loop("lock", "right_joint", None, joint=ps.Coupling((0.5,)))
    gear, closure, lock = b.build().loops
    assert (gear.joint_a, gear.joint_b, gear.rows) == ("left_joint", "right_joint", 1)
    np.testing.assert_array_equal(gear.joint.coefficients, [0.1, -2.0])
    assert closure.frame_a == "left_tip"
    assert (lock.joint_a, lock.joint_b) == ("right_joint", None)


def test_the_tree_is_the_model_without_its_loops():
    b = two_arms()
    plain = b.build()
    b.loop("closure", "left_tip", "right_tip", joint=ps.Spherical())
    model = b.build()
    assert model != plain and model.key != plain.key
    assert model.tree == plain and model.tree.loops == () and plain.tree is plain


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("c", "left_tip", "rigth_tip", ps.Spherical()), ps.UnknownNameError, "'c'.*'rigth_tip'.*'right_tip'"),
        (("c", "left_tip", None, ps.Spherical()), ps.UnknownNameError, "'c'.*'None'"),
        (("c", "left", "left_tip", ps.Spherical()), ps.ModelError, "'c'.*same body"),
        (("c", "left_tip", "right_tip", ps.Free()), ps.ModelError, "'c'.*constrains nothing"),
        (("c", "left_tip", "right_tip", "weld"), ps.ModelError, "'c' needs a joint"),
        (("", "left_tip", "right_tip", ps.Spherical()), ps.ModelError, "needs a name"),
        (("c", "left_tip", "right_joint", ps.Coupling()), ps.UnknownNameError, "'c'.*'left_tip'"),
        (("c", "left_joint", "ball_joint", ps.Coupling()), ps.ModelError, "'ball_joint' has 4"),
        (("c", "left_joint", "left_joint", ps.Coupling()), ps.ModelError, "to itself"),
        (("c", "left_joint", None, ps.Coupling((0, 1))), ps.ModelError, "no driving joint"),
    ],
)
def test_impossible_loops_are_refused_with_a_sentence(arguments, error, words):
    b = two_arms()
    with pytest.raises(error, match=words):
        b.loop(*arguments)
        b.build()


def test_duplicate_loop_names_are_refused():
    b = two_arms()
    b.loop("c", "left_tip", "right_tip", joint=ps.Spherical())
    with pytest.raises(ps.ModelError, match="two loops called 'c'"):
        b.loop("c", "left_tip", "ball", joint=ps.Spherical())


def test_passive_forces_of_a_cut_joint_that_simulations_leave_out_are_told():
    b = two_arms()
    b.loop("c", "left_tip", "right_tip", joint=ps.Revolute(damping=0.1, friction=0.2))
    (warning,) = b.build().warnings
    assert "'c' has damping and friction at its cut joint" in warning
