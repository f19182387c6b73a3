"""The robot that captures: two arms with hands on one base, known to its controller apart from what it captures.

arms = Arms.of(scene_model)             # the scene's mechanism without the satellite
q, v = arms.state(sensed)               # from readings
tau = arms.joint_forces(own)            # to the scene's joints, zero where nothing drives
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from phistar.control.law import row
from phistar.errors import ModelError
from phistar.model import Capsule, Free, Geometry, Model
from phistar.model.equal import first_equal
from phistar.model.joints import JointKind
from phistar.model.parts import Frame, Joint
from phistar.model.submodel import submodel
from phistar.spatial import Inertia, Pose, cross, from_quaternion

SIDES = ("left", "right")
FINGERS = 3
BASE, OBJECT = "base", "satellite"
CENTRED = 1e-3  # m: farther off its centre of mass, an origin sways as the body turns
SIGHT_ROWS = 13  # of a pose as sensors give it: xyz, quaternion, ω, v


@dataclass(frozen=True)
class Hand:
    """A hand on the frame `wrist` of an arm. `grip` is a frame amid its fingertips, z outward along the fingers and x
    towards the first; `tips` (3, 3) are the ends of the fingers in it, `reach` (4, 4) is the grip in the wrist."""

    side: str
    wrist: str
    grip: str
    tips: np.ndarray
    reach: np.ndarray
    joints: np.ndarray  # where the arm's joints stand in v of `Arms.model`
    coordinates: np.ndarray  # and in q


@dataclass(frozen=True, eq=False)
class Arms:
    """`model` is the scene's without the object, with the frames `left/grip` and `right/grip`; `scene` the whole."""

    model: Model
    scene: Model
    hands: tuple[Hand, Hand]

    @staticmethod
    def of(scene: Model) -> Arms:
        """The arms of a scene; what they lack is said."""
        for frame in (BASE, *(f"{side}/tool" for side in SIDES)):
            scene.frame(frame)
        model = without(scene, OBJECT)
        hands = tuple(_hand(model, side) for side in SIDES)
        _check_joints(model, hands)
        _check_object(scene, hands)
        frames = tuple(
            Frame(hand.grip, wrist.body, Pose(rotation=place[:3, :3], xyz=place[:3, 3]))
            for hand in hands
            for wrist in [model.frame(hand.wrist)]
            for place in [wrist.placement.matrix @ hand.reach]
        )
        model = first_equal(replace(model, frame_list=(*model.frame_list, *frames)))
        return Arms(model, scene, (hands[0], hands[1]))

    @cached_property
    def free(self) -> bool:
        """Whether the base floats."""
        body = self.model.frame(BASE).body
        return body >= 0 and isinstance(self.model.joints[body].kind, Free)

    @cached_property
    def base(self) -> np.ndarray:
        """The pose (4, 4) of a base that is fixed."""
        return self.model.frame(BASE).placement.matrix

    @cached_property
    def driven(self) -> np.ndarray:
        """Where the joints of both arms stand in v, left first, (12,)."""
        return np.concatenate([hand.joints for hand in self.hands])

    @cached_property
    def coordinates(self) -> np.ndarray:
        """Where the joints of both arms stand in q, left first, (12,)."""
        return np.concatenate([hand.coordinates for hand in self.hands])

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper, of the joints of both arms, (12,) each."""
        return self.model.lower_limits[self.coordinates], self.model.upper_limits[self.coordinates]

    @cached_property
    def readings(self) -> Mapping[str, int]:
        """The readings that tell the arms' state and load, with their sizes."""
        rows = {f"{hand.side}_joints": 2 * len(hand.joints) for hand in self.hands}
        rows |= {f"{hand.side}_wrist": 6 for hand in self.hands}
        return rows | ({BASE: SIGHT_ROWS} if self.free else {})

    @property
    def sights(self) -> Mapping[str, int]:
        """The readings that tell of the object: what the fingertips feel, and where it is seen."""
        return {**{f"{hand.side}_tips": FINGERS for hand in self.hands}, OBJECT: SIGHT_ROWS}

    @cached_property
    def sites(self) -> np.ndarray:
        """Where the driven joints stand in the scene's q and v, (2, 12)."""
        twins = [self.scene.joint(self._joint_at[start].name) for start in self.driven.tolist()]
        return np.array([[twin.q_slice.start for twin in twins], [twin.v_slice.start for twin in twins]])

    @cached_property
    def _joint_at(self) -> Mapping[int, Joint]:
        return {joint.v_slice.start: joint for joint in self.model.joints}

    @cached_property
    def kinds(self) -> tuple[JointKind, ...]:
        """Of the joints of both arms, left first."""
        return tuple(self._joint_at[start].kind for start in self.driven.tolist())

    def angles(self, q: Any) -> np.ndarray:
        """The joints of both arms, (…, 12), in a configuration of the scene."""
        return np.asarray(q)[..., self.sites[0]]

    def configuration(self, joints: Any, base: Any = None) -> np.ndarray:
        """q (…, nq) of `model`: joints (…, 12), and where it floats the base as a sensor has it, (…, 7 or more)."""
        joints = np.asarray(joints, dtype=float)
        q = np.broadcast_to(self.model.neutral(), (*joints.shape[:-1], self.model.nq)).copy()
        q[..., self.coordinates] = joints
        if self.free and base is not None:
            q[..., self._base_joint.q_slice] = np.asarray(base, dtype=float)[..., :7]
        return q

    def state(self, sensed: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """q (nq,), v (nv,) of `model` from the readings `left_joints`, `right_joints` and, where it floats, `base`;
        floats or traced numbers."""
        places: dict[int, Any] = {}
        rates: dict[int, Any] = {}
        for hand in self.hands:
            read, count = sensed[f"{hand.side}_joints"], len(hand.joints)
            for number, start in enumerate(hand.joints.tolist()):
                places[start], rates[start] = read[number : number + 1], read[count + number : count + number + 1]
        if self.free:
            read, start = sensed[BASE], self._base_joint.v_slice.start
            back = np.swapaxes(from_quaternion(read[3:7]), 0, 1)  # a free joint's rates are in its body's axes
            places[start] = read[:7]
            rates[start] = np.concatenate([np.matmul(back, read[7:10]), np.matmul(back, read[10:13])])
        order = [joint.v_slice.start for joint in self.model.joints]
        return row(*(places[start] for start in order)), row(*(rates[start] for start in order))

    # What differs between runs of one scene

    @cached_property
    def mass(self) -> np.ndarray | None:
        """The inertia of a base that floats, (10,), as `Inertia.parameters` has it."""
        return self.model.bodies[self.model.frame(BASE).body].inertia.parameters if self.free else None

    def without_mass(self) -> Arms:
        """The same with a base of a ton, so that arms on bases of any inertia are equal."""
        if not self.free:
            return self
        name = self.model.bodies[self.model.frame(BASE).body].name
        model = self.model.replace(inertias={name: Inertia(1000.0, np.zeros(3), 500.0 * np.eye(3))})
        return replace(self, model=first_equal(model))

    def inertias(self, mass: Any) -> Any:
        """(10 bodies,) of all bodies, that of the base given: floats or traced numbers."""
        own = self.model.frame(BASE).body
        return row(*(mass if i == own else body.inertia.parameters for i, body in enumerate(self.model.bodies)))

    @cached_property
    def _base_joint(self) -> Any:
        return self.model.joints[self.model.frame(BASE).body]


def _check_joints(model: Model, hands: tuple[Hand, ...]) -> None:
    """Refuses what moves besides both arms, their base and the object: no reading tells its state; and arms whose
    joints have no motor."""
    known = {start for hand in hands for start in hand.joints.tolist()}
    for body, joint in enumerate(model.joints):
        base = body == model.frame(BASE).body and isinstance(joint.kind, Free)
        if not base and joint.v_slice.start not in known:
            raise ModelError(
                f"{model.name}: the joint {joint.name} belongs to no arm; a capture knows two arms, '{BASE}' and "
                f"'{OBJECT}', and nothing else that moves."
            )
        if not base and not np.all(joint.kind.effort > 0.0):
            raise ModelError(f"{model.name}: the joint {joint.name} of an arm has no motor: its effort limit is 0.")


def _check_object(scene: Model, hands: tuple[Hand, ...]) -> None:
    """Refuses an object that does not turn about the origin of its frame, whose sightings are taken to go straight on,
    and hands that differ: faces are looked for with one of them."""
    off = scene.bodies[scene.body_index(OBJECT)].inertia.com
    if np.linalg.norm(off) > CENTRED:
        raise ModelError(
            f"{scene.name}: the centre of mass of '{OBJECT}' is at {np.round(off, 6).tolist()} m in its frame; a "
            "capture needs it at the frame's origin. Move the origin there: take this from the xyz of all its shapes, "
            "add it to where the body starts, and leave com away."
        )
    if np.abs(hands[0].tips - hands[1].tips).max() > CENTRED:
        raise ModelError(
            f"{scene.name}: the fingertips of both hands must lie in the same way; give them alike fingers."
        )


def without(model: Model, name: str) -> Model:
    """The model without one body and what hangs on it, and their frames."""
    gone = {model.body_index(name)}
    if gone == {-1}:
        raise ModelError("The world cannot be left out of a model.")
    for i, parent in enumerate(model.parents):  # parents come first
        gone |= {i} if parent in gone else set()
    return submodel(model, set(range(len(model.bodies))) - gone)


def _hand(model: Model, side: str) -> Hand:
    wrist = model.frame(f"{side}/tool")
    shapes = {geometry.name: geometry for geometry in model.bodies[wrist.body].geometry}
    back = np.linalg.inv(wrist.placement.matrix)
    tips = []
    for number in range(1, FINGERS + 1):
        name = f"{side}_finger{number}"
        if name not in shapes or not isinstance(shapes[name].shape, Capsule):
            raise ModelError(f"{model.name} has no capsule '{name}' on '{wrist.name}'; a hand has {FINGERS} fingers.")
        tips.append((back @ np.append(_far_end(shapes[name], wrist), 1.0))[:3])
    centre, first = np.mean(tips, axis=0), tips[0] - np.mean(tips, axis=0)
    outward = cross(tips[1] - tips[0], tips[2] - tips[0])
    outward = outward / np.linalg.norm(outward) * np.sign(outward @ centre)
    x = first / np.linalg.norm(first)
    reach = np.eye(4)
    reach[:3, :3], reach[:3, 3] = np.stack([x, cross(outward, x), outward], axis=-1), centre
    chain, body = [], wrist.body
    while body >= 0 and not isinstance(model.joints[body].kind, Free):
        chain, body = [model.joints[body], *chain], model.parents[body]
    joints = np.array([joint.v_slice.start for joint in chain])
    coordinates = np.array([joint.q_slice.start for joint in chain])
    own = (np.array(tips) - centre) @ reach[:3, :3]
    return Hand(side, wrist.name, f"{side}/grip", own, reach, joints, coordinates)


def _far_end(finger: Geometry, wrist: Frame) -> np.ndarray:
    """The end of a capsule that is farther from the wrist, (3,), in the body's frame."""
    shape = finger.shape
    assert isinstance(shape, Capsule)
    half = np.array([0.0, 0.0, 0.5 * shape.length + shape.radius])
    ends = [finger.placement.rotation @ end + finger.placement.translation for end in (half, -half)]
    return max(ends, key=lambda end: float(np.linalg.norm(end - wrist.placement.translation)))
