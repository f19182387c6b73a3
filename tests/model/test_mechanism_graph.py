"""Mechanisms told as graphs: the spanning tree that is found, and the same motion whatever is cut."""

import numpy as np
import pytest

import phistar as ps

ROD = ps.Inertia(1.0, (0.5, 0, 0), np.diag([1e-4, 1 / 12, 1 / 12]))
END = ps.Pose(xyz=(1, 0, 0))
Z = ps.Revolute(axis=(0, 0, 1))
LINKS = {"crank": ROD, "coupler": ROD, "rocker": ROD}
FOUR_BAR = [
    ps.Connection("A", Z, "world", "crank"),
    ps.Connection("B", Z, "crank", "coupler", on_a=END),
    ps.Connection("C", Z, "coupler", "rocker", on_a=END, on_b=END),
    ps.Connection("D", Z, "world", "rocker", on_a=ps.Pose(xyz=(1, 0, 0))),
]


def test_the_joint_told_last_is_cut_of_equal_ones():
    model = ps.from_graph("four_bar", LINKS, FOUR_BAR, gravity=(0, -9.81, 0))
    assert [joint.name for joint in model.joints] == ["A", "B", "C"]
    assert [loop.name for loop in model.loops] == ["D"]
    assert {"crank", "coupler", "rocker", "D_a", "D_b"} <= set(model.frames)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cut", ["A", "B", "C", "D"])
def test_a_four_bar_falls_alike_wherever_it_is_cut(cut):
    model = ps.from_graph("four_bar", LINKS, FOUR_BAR, cut=[cut], gravity=(0, -9.81, 0))
    assert [loop.name for loop in model.loops] == [cut]
    start = {"A": -1.2, "B": 1.2, "C": -1.2, "D": -1.2}
    q = ps.assemble(model, [start[joint.name] for joint in model.joints])
    poses = ps.forward_kinematics(model, q, "crank")
    angle = np.arctan2(poses[1, 0], poses[0, 0])
    acceleration = ps.forward_dynamics(model, q, np.zeros(3), np.zeros(3))
    spin = (ps.jacobian(model, q, "crank") @ acceleration)[2]
    assert abs(spin + 2.0 * 9.81 * np.cos(angle) / (5 / 3)) < 1e-9


def test_joints_that_allow_more_are_cut_first_and_those_no_tree_has_always():
    ball = ps.Connection("ball", ps.Spherical(), "world", "a")
    hinge = ps.Connection("hinge", Z, "world", "b")
    pin = ps.Connection("pin", Z, "b", "a")
    rope = ps.Connection("rope", ps.Distance(1.0), "world", "a", on_a=END)
    model = ps.from_graph("pair", {"a": ROD, "b": ROD}, [ball, hinge, pin, rope])
    assert [joint.name for joint in model.joints] == ["hinge", "pin"]
    assert [loop.name for loop in model.loops] == ["ball", "rope"]


@pytest.mark.parametrize(
    "kind", [ps.Revolute(axis=(1, 2, 2)), ps.Prismatic(axis=(0, 1, 0)), ps.Helical(axis=(0, 0, 1), pitch=0.2)], ids=repr
)
def test_a_joint_taken_from_its_child_keeps_its_coordinate(kind):
    on_a, on_b = ps.Pose(xyz=(0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3)), ps.Pose(xyz=(-0.3, 0.1, 0), rpy=(0.5, 0, 0.2))
    forth = ps.from_graph("forth", {"a": ROD}, [ps.Connection("j", kind, "world", "a", on_a, on_b)])
    back = ps.from_graph("back", {"a": ROD}, [ps.Connection("j", kind, "a", "world", on_b, on_a)])
    joint_pose = kind.pose(np.array([0.7]))
    want = on_a.matrix @ np.block([[joint_pose[0], joint_pose[1][:, None]], [np.zeros((1, 3)), 1.0]])
    np.testing.assert_allclose(ps.forward_kinematics(forth, [0.7], "a") @ on_b.matrix, want, atol=1e-14)
    turned = np.linalg.inv(ps.forward_kinematics(back, [0.7], "a") @ on_b.matrix) @ on_a.matrix
    np.testing.assert_allclose(np.linalg.inv(on_a.matrix) @ want, turned, atol=1e-14)


def test_a_universal_joint_taken_from_its_child_swaps_its_axes_and_all_that_is_said_of_them():
    said = {"armature": (1.0, 2.0), "damping": (0.3, 0.4), "limits": ([-1.0, -2.0], [1.0, 2.0])}
    kind = ps.Universal(axis1=(1, 0, 0), axis2=(0, 1, 0), **said)
    forth = ps.from_graph("forth", {"a": ROD}, [ps.Connection("j", kind, "world", "a")])
    back = ps.from_graph("back", {"a": ROD}, [ps.Connection("j", kind, "a", "world")])
    q = np.array([0.3, -0.7])
    pose = ps.forward_kinematics(forth, q, "a")
    np.testing.assert_allclose(ps.forward_kinematics(back, q[::-1], "a"), np.linalg.inv(pose), atol=1e-14)
    np.testing.assert_array_equal(back.armature, [2.0, 1.0])
    np.testing.assert_array_equal(back.joints[0].damping, [0.4, 0.3])
    np.testing.assert_array_equal(back.upper_limits, [2.0, 1.0])


def test_a_spring_at_a_ball_joint_taken_from_its_child_pulls_back_to_the_same_pose():
    rest = np.array([0.0, 0.0, np.sin(0.2), np.cos(0.2)])
    kind = ps.Spherical(stiffness=3.0, rest=rest)
    back = ps.from_graph("back", {"a": ROD}, [ps.Connection("j", kind, "a", "world")])
    turned = ps.forward_kinematics(back, back.joints[0].rest, "a")[:3, :3]
    np.testing.assert_allclose(turned.T, kind.pose(rest)[0], atol=1e-15)


@pytest.mark.parametrize(
    "kind",
    [ps.Planar(damping=(1.0, 2.0, 3.0)), ps.Revolute(gyroscopic=True, rotor_inertia=1e-3)],
    ids=["planar", "rotor"],
)
def test_a_joint_whose_parameters_mean_nothing_the_other_way_round_is_refused(kind):
    with pytest.raises(ps.ModelError, match=r"'j' of back cannot turn round: .* Name 'world' as its link_a"):
        ps.from_graph("back", {"a": ROD}, [ps.Connection("j", kind, "a", "world")])


@pytest.mark.parametrize(
    ("links", "connections", "cut", "words"),
    [
        (LINKS, FOUR_BAR, ["E"], "no connection to cut, 'E'"),
        (LINKS, FOUR_BAR[1:3], [], "'crank' hangs on nothing"),
        (LINKS, FOUR_BAR, ["A", "D"], "'crank' hangs on nothing"),
        (LINKS, [*FOUR_BAR, FOUR_BAR[0]], [], "two joints called 'A'"),
        ({"crank": ROD}, [FOUR_BAR[0], ps.Connection("X", Z, "crank", "crank")], [], "'X' joins 'crank' to itself"),
        ({"crank": ROD}, FOUR_BAR[:2], [], "no link for the joint 'B', 'coupler'"),
        ({"crank": ROD}, [ps.Connection("G", ps.Coupling(), "world", "crank")], [], "'G' is a Coupling"),
    ],
)
def test_impossible_graphs_are_refused_with_a_sentence(links, connections, cut, words):
    with pytest.raises(ps.PhistarError, match=words):
        ps.from_graph("bad", links, connections, cut)
