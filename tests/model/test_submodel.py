"""A part of a mechanism as a model of its own moves as it did in the whole."""

import numpy as np
import pytest

import phistar as ps
from phistar.model.submodel import submodel


@pytest.fixture
def pair():
    builder = ps.ModelBuilder("pair")
    builder.frame("post", "world", ps.Pose(xyz=(0, 0, 1)))
    builder.attach(ps.load("puma560"), prefix="left_")
    builder.attach(ps.load("planar3"), placement=ps.Pose(xyz=(2, 0, 0)), prefix="right_")
    builder.loop("across", "left_tool", "right_tip", ps.Spherical())
    builder.loop("geared", "right_joint3", "right_joint2", ps.Coupling((0.0, 2.0)))
    return builder.build(strict=False)


def test_the_bodies_their_frames_and_their_own_loops_come_along(pair):
    part = submodel(pair, range(6, 9), "right")
    assert (part.name, part.nq) == ("right", 3)
    assert [body.name for body in part.bodies] == ["right_link1", "right_link2", "right_link3"]
    assert "post" in part.frames and "right_tip" in part.frames and "left_tool" not in part.frames
    assert [loop.name for loop in part.loops] == ["geared"]


def test_a_part_moves_as_it_does_in_the_whole(pair):
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=(3, pair.nv))
    whole, part = ps.forward_dynamics(pair.tree, q, v, tau), submodel(pair, range(6, 9)).tree
    np.testing.assert_allclose(ps.forward_dynamics(part, q[6:], v[6:], tau[6:]), whole[6:], rtol=1e-12)
    pose = ps.forward_kinematics(part, q[6:], "right_tip")
    np.testing.assert_array_equal(pose, ps.forward_kinematics(pair, q, "right_tip"))


def test_a_loop_is_found_by_its_name_or_the_nearest_are_told(pair):
    assert pair.loop("geared") is pair.loops[1]
    with pytest.raises(ps.UnknownNameError, match="no loop 'acros'; did you mean 'across'"):
        pair.loop("acros")


def test_parts_of_a_robot_that_bends_move_as_they_do_in_the_whole():
    builder, beam = ps.ModelBuilder("two"), ps.beam(1.0, 20.0, 1.0, modes=2)
    for side in ("left", "right"):
        builder.body(side, joint=ps.Revolute(axis=(0, 1, 0)), inertia=beam)
        builder.body(f"{side}_hand", f"{side}.tip", ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(1.0, (0.1, 0, 0)))
    whole = builder.build(strict=False)
    part, rng = submodel(whole, (2, 3)), np.random.default_rng(0)
    q, v, tau = 0.1 * rng.normal(size=(3, whole.nv))
    both = ps.forward_dynamics(whole, q, v, tau)
    np.testing.assert_allclose(ps.forward_dynamics(part, q[4:], v[4:], tau[4:]), both[4:], rtol=1e-11)
