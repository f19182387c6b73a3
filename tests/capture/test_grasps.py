"""Grasps from shapes: every finger touches, nothing is entered, what holds has force closure, what cannot is told."""

import numpy as np
import pytest

import phistar as ps
from phistar.capture.force_closure import force_closure
from phistar.capture.grasps import found_grasps
from phistar.capture.hands import Hand
from phistar.capture.places import Pieces, _place_points
from phistar.control.coordinated import towards_each_other
from phistar.errors import ModelError
from phistar.spatial.rotations import from_axis_angle
from tests.capture.test_force_closure import margin_by_hull

pytest.importorskip("coal")
ANGLES = 2.0 * np.pi * np.arange(3) / 3
NONE = np.zeros(0, int)


def fingers(name="hand", radius=0.01, ring=0.07):
    tips = np.stack([ring * np.cos(ANGLES), ring * np.sin(ANGLES), np.zeros(3)], axis=-1)
    names = ("a", "b", "c")
    return Hand(name, "wrist", "grip", names, tips, np.full(3, radius), np.arange(3), np.eye(4), NONE, NONE)


def pad(size=0.06):
    tips = 0.5 * size * np.array([[-1, -1, 0], [-1, 1, 0], [1, -1, 0], [1, 1, 0]], float)
    return Hand("pad", "wrist", "grip", ("p",), tips, np.zeros(4), np.zeros(4, int), np.eye(4), NONE, NONE)


def shape(solid, xyz=(0, 0, 0), rpy=(0, 0, 0), name="body"):
    return ps.Geometry(solid, ps.Pose(xyz=xyz, rpy=rpy), name, None, "collision")


def hexagon(radius=0.22, height=0.4):
    ring = [(radius * np.cos(a), radius * np.sin(a)) for a in np.pi / 3 * np.arange(6)]
    return ps.Polytope([(x, y, z) for x, y in ring for z in (-height / 2, height / 2)])


BODIES = {
    "box": (shape(ps.Box((0.4, 0.4, 0.4))),),
    "cylinder": (shape(ps.Cylinder(0.2, 0.4)),),
    "prism": (shape(hexagon()),),
    "ball": (shape(ps.Sphere(0.2)),),
    "turned": (shape(ps.Cylinder(0.15, 0.5), (0.05, 0.02, -0.03), (0.4, 0.7, -0.2)),),
    "with panels": (
        shape(ps.Box((0.4, 0.4, 0.4)), name="bus"),
        shape(ps.Box((0.02, 0.8, 0.3)), (0.0, 0.6, 0.0), name="one"),
        shape(ps.Box((0.02, 0.8, 0.3)), (0.0, -0.6, 0.0), name="two"),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("body", BODIES)
def test_fingers_of_every_grasp_touch_together_and_enter_nothing(body):
    hands = (fingers(), fingers())
    pieces = Pieces(BODIES[body])
    for grasp in found_grasps(BODIES[body], hands, 0.3, 0.06, "it"):
        for place, grip, hand in zip(grasp.places, grasp.grips, hands, strict=True):
            for roll in (0.0, 0.5) if place.rolls is None else place.rolls:
                centers = hand.tips - np.array([0.0, 0.0, 0.01])
                gaps = [pieces.distance(point) - 0.01 for point in _place_points(grip, float(roll), 0.0, centers)]
                np.testing.assert_allclose(gaps, 0.0, atol=1e-6)
        assert grasp.margin > 0.0


def test_round_sides_are_taken_from_all_around_and_the_hull_agrees_that_they_hold():
    grasps = found_grasps(BODIES["cylinder"], (fingers(), fingers()), 0.3, 0.0, "it")
    sides = [grasp for grasp in grasps if "side" in grasp.names[0]]
    assert len({grasp.names for grasp in sides}) == 16 and len(grasps) > len(sides)
    for place in sides[0].places:  # the contact points of each finger lie on the cylinder
        turn = from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(place.rolls[0]))
        points = (place.points @ turn.T) @ place.contact[:3, :3].T + place.contact[:3, 3]
        np.testing.assert_allclose(np.linalg.norm(points[:, :2], axis=1), 0.2, atol=1e-9)
        out = (place.normals @ turn.T) @ place.contact[:3, :3].T
        np.testing.assert_allclose(out[:, :2] * 0.2, -points[:, :2], atol=1e-9)


def test_one_rigid_hand_on_a_face_is_refused_with_what_is_missing_and_a_hull_confirms_it():
    with pytest.raises(
        ModelError, match=r"cannot be held: of 6 ways .* nothing resists a .*One rigid hand only pushes"
    ):
        found_grasps(BODIES["box"], (fingers(),), 0.5, 0.06, "it")
    from phistar.capture.force_closure import contact_wrenches

    hand = fingers()
    assert margin_by_hull(contact_wrenches(hand.tips, np.tile([0.0, 0.0, 1.0], (3, 1)), 0.5, 0.1)) == 0.0


def test_without_friction_flat_faces_are_refused():
    with pytest.raises(ModelError, match="none has force closure with a friction of 0"):
        found_grasps(BODIES["box"], (fingers(), fingers()), 0.0, 0.06, "it")


def test_flat_pads_hold_faces_and_a_ball_turns_between_them():
    assert found_grasps(BODIES["box"], (pad(), pad()), 0.3, 0.06, "it")
    with pytest.raises(ModelError, match="has no 2 places"):
        found_grasps(BODIES["ball"], (pad(), pad()), 0.3, 0.06, "it")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("body", "kinds"), [("prism", 2), ("box", 12)])
def test_three_hands_push_on_each_other_within_friction(body, kinds):
    grasps = found_grasps(BODIES[body], (fingers(), fingers(), fingers()), 0.3, 0.0, "it")
    assert len({frozenset(grasp.names) for grasp in grasps}) >= kinds
    for grasp in grasps[::7]:
        points, inward = grasp.grips[:, :3, 3], np.stack([place.inward for place in grasp.places])
        forces = np.stack(towards_each_other(list(points), grasp.weights))  # as the law pushes
        np.testing.assert_allclose(forces.sum(axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose(np.cross(points, forces).sum(axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(forces, axis=-1), grasp.shares, rtol=1e-9)
        normal = np.sum(forces * inward, axis=-1)
        assert np.all(np.linalg.norm(forces - normal[:, None] * inward, axis=-1) <= 0.7 * 0.3 * normal + 1e-9)
        assert normal.min() > 0.15


def test_faces_behind_a_panel_are_left_out():
    names = {
        name
        for grasp in found_grasps(BODIES["with panels"], (fingers(), fingers()), 0.3, 0.0, "it")
        for name in grasp.names
    }
    assert {"+x", "-x", "+z", "-z"} <= names and "+y" not in names


def test_the_margin_of_a_grasp_is_that_of_its_contacts():
    grasp = found_grasps(BODIES["box"], (fingers(), fingers()), 0.4, 0.0, "it")[0]
    points = np.concatenate([p.points @ p.contact[:3, :3].T + p.contact[:3, 3] for p in grasp.places])
    normals = np.concatenate([p.normals @ p.contact[:3, :3].T for p in grasp.places])
    # Moments are about the middle; axes differ by a turn of the first grip, which has the body's own directions here.
    assert grasp.margin == pytest.approx(force_closure(points, normals, 0.4).margin, rel=1e-6)
