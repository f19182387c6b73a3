"""The robot that captures: arms with hands on one base, known to its controller apart from what it captures.

arms = Arms.of(scene_model, layout)     # the scene's mechanism without the target
q, v = arms.state(readings)             # from readings, one after another as `arms.readings` lists them
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from phistar.capture.capture_roles import CaptureLayout
from phistar.capture.hands import Hand, arm_joints, hand_of
from phistar.capture.jaws import jaw_of
from phistar.capture.rigid_appendages import with_rigid
from phistar.control.control_law import row
from phistar.dynamics import forward_kinematics, jacobian, mass_matrix
from phistar.errors import ModelError
from phistar.model import Free, Model
from phistar.model.equal import first_equal
from phistar.model.joints import JointKind
from phistar.model.parts import Frame, Joint
from phistar.model.submodel import submodel
from phistar.spatial import Inertia, Pose, from_quaternion

SIGHT_ROWS = 13  # of a pose as sensors give it: xyz, quaternion, ω, v


@dataclass(frozen=True, eq=False)
class Arms:
    """Arms on one base.

    Parameters
    ----------
    model : Model
        The scene's without the target and with what swings on the base held still, jaws open; it has a frame
        `NAME/grip` for every hand.
    scene : Model
        The whole.
    layout : CaptureLayout
        The names of base, target and hands.
    hands : tuple of Hand
        In the order of the layout; n joints move them, those of the first hand's arm first.
    """

    model: Model
    scene: Model
    layout: CaptureLayout
    hands: tuple[Hand, ...]

    @staticmethod
    def of(scene: Model, layout: CaptureLayout) -> Arms:
        """The arms of a scene; incomplete ones are refused."""
        scene.frame(layout.base)
        scene.frame(layout.target)
        model = without(scene, layout.target)
        base = model.frame(layout.base).body
        chains = [arm_joints(model, each, base) for each in layout.hands]
        moving = {joint.v_slice.start for chain in chains for joint in chain}
        if len(moving) < sum(map(len, chains)):
            raise ModelError(f"{model.name}: two hands hang on one arm; each needs an arm of its own.")
        jaws, rest = [jaw_of(model, each) for each in layout.hands], model.neutral()
        slides = {name: place for jaw in jaws if jaw for name, place in zip(jaw.joints, jaw.open, strict=True)}
        for name, place in slides.items():
            rest[model.joint(name).q_slice] = place
        _check_motors(model, moving | {model.joint(name).v_slice.start for name in slides})
        model = with_rigid(model, _appendages(model, moving, base), rest)
        base = model.frame(layout.base).body
        hands = [hand_of(model, each, base, jaw) for each, jaw in zip(layout.hands, jaws, strict=True)]
        frames = tuple(
            Frame(hand.grip, wrist.body, Pose(rotation=place[:3, :3], xyz=place[:3, 3]))
            for hand in hands
            for wrist in [model.frame(hand.wrist)]
            for place in [wrist.placement.matrix @ hand.reach]
        )
        model = first_equal(replace(model, frame_list=(*model.frame_list, *frames)))
        return Arms(model, scene, layout, tuple(hands))

    @cached_property
    def free(self) -> bool:
        """Whether the base floats."""
        body = self.model.frame(self.layout.base).body
        return body >= 0 and isinstance(self.model.joints[body].kind, Free)

    @cached_property
    def base(self) -> np.ndarray:
        """The pose (4, 4) of a base that is fixed."""
        return self.model.frame(self.layout.base).placement.matrix

    @cached_property
    def driven_rates(self) -> np.ndarray:
        """Indices in v of the joints of all arms, the first arm's first, (n,)."""
        return np.concatenate([hand.joints for hand in self.hands])

    @cached_property
    def coordinates(self) -> np.ndarray:
        """Indices in q of the joints of all arms, the first arm's first, (n,)."""
        return np.concatenate([hand.coordinates for hand in self.hands])

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Slice of each arm's joints among those of all."""
        ends = np.cumsum([0, *(len(hand.joints) for hand in self.hands)]).tolist()
        return tuple(slice(start, stop) for start, stop in pairwise(ends))

    @cached_property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits of the joints of all arms, (n,) each."""
        return self.model.lower_limits[self.coordinates], self.model.upper_limits[self.coordinates]

    @cached_property
    def readings(self) -> Mapping[str, int]:
        """The readings that tell the arms' state and load, with their sizes."""
        rows = {f"{hand.name}_joints": 2 * len(hand.joints) for hand in self.hands}
        rows |= {f"{hand.name}_wrist": 6 for hand in self.hands}
        rows |= {f"{hand.name}_jaw": 4 for hand in self.hands if hand.jaw}
        return rows | ({self.layout.base_reading: SIGHT_ROWS} if self.free else {})

    @property
    def sights(self) -> Mapping[str, int]:
        """The readings that tell of the target: what the fingers feel, and where it is seen."""
        return {
            **{f"{hand.name}_tips": len(hand.fingers) for hand in self.hands},
            self.layout.target_reading: SIGHT_ROWS,
        }

    def angles_sensed(self, sensed: Mapping[str, Any]) -> np.ndarray:
        """The joints (n,) of all arms as they are read."""
        parts = (np.asarray(sensed[f"{hand.name}_joints"])[: len(hand.joints)] for hand in self.hands)
        return np.concatenate(list(parts))

    @cached_property
    def sites(self) -> np.ndarray:
        """Indices of the driven joints in the scene's q and v, (2, n)."""
        twins = [self.scene.joint(self._joint_at[start].name) for start in self.driven_rates.tolist()]
        return np.array([[twin.q_slice.start for twin in twins], [twin.v_slice.start for twin in twins]])

    @cached_property
    def jaws(self) -> tuple[Hand, ...]:
        """The hands that close."""
        return tuple(hand for hand in self.hands if hand.jaw is not None)

    @cached_property
    def slides(self) -> tuple[Joint, ...]:
        """The joints of the scene that close jaws, two of each."""
        return tuple(self.scene.joint(name) for hand in self.jaws if hand.jaw for name in hand.jaw.joints)

    @cached_property
    def rest(self) -> np.ndarray:
        """q (nq,) of the scene at its neutral coordinates, jaws open."""
        q = self.scene.neutral()
        places = [place for hand in self.jaws if hand.jaw for place in hand.jaw.open]
        for joint, place in zip(self.slides, places, strict=True):
            q[joint.q_slice] = place
        return q

    @cached_property
    def _joint_at(self) -> Mapping[int, Joint]:
        return {joint.v_slice.start: joint for joint in self.model.joints}

    @cached_property
    def kinds(self) -> tuple[JointKind, ...]:
        """Joint kinds of all arms, the first arm's first."""
        return tuple(self._joint_at[start].kind for start in self.driven_rates.tolist())

    def angles(self, q: Any) -> np.ndarray:
        """The joints of all arms, (…, n), in a configuration of the scene."""
        return np.asarray(q)[..., self.sites[0]]

    def configuration(self, joints: Any, base: Any = None) -> np.ndarray:
        """q (…, nq) of `model`: joints (…, n), and where it floats the base as a sensor has it, (…, 7 or more)."""
        joints = np.asarray(joints, dtype=float)
        q = np.broadcast_to(self.model.neutral(), (*joints.shape[:-1], self.model.nq)).copy()
        q[..., self.coordinates] = joints
        if self.free and base is not None:
            q[..., self._base_joint.q_slice] = np.asarray(base, dtype=float)[..., :7]
        return q

    def state(self, sensed: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """q (nq,), v (nv,) of `model` from the readings `NAME_joints` and, where it floats, the base's; floats or
        traced numbers."""
        places: dict[int, Any] = {}
        rates: dict[int, Any] = {}
        for hand in self.hands:
            read, count = sensed[f"{hand.name}_joints"], len(hand.joints)
            for number, start in enumerate(hand.joints.tolist()):
                places[start], rates[start] = read[number : number + 1], read[count + number : count + number + 1]
        if self.free:
            read, start = sensed[self.layout.base_reading], self._base_joint.v_slice.start
            back = np.swapaxes(from_quaternion(read[3:7]), 0, 1)  # a free joint's rates are in its body's axes
            places[start] = read[:7]
            rates[start] = np.concatenate([np.matmul(back, read[7:10]), np.matmul(back, read[10:13])])
        order = [joint.v_slice.start for joint in self.model.joints]
        return row(*(places[start] for start in order)), row(*(rates[start] for start in order))

    @cached_property
    def steady(self) -> bool:
        """Whether every joint has dry friction."""
        return all(float(np.min(kind.friction)) > 0.0 for kind in self.kinds)

    @cached_property
    def hand_inertia(self) -> np.ndarray:
        """1/(Jℳ⁻¹J*)ᵢᵢ along the axes of the grips, (6,), the least of all hands, in the middle of the joints' ranges:
        what a hand weighs against pushes and turns."""
        lower, upper = (np.clip(limit, -np.pi, np.pi) for limit in self.limits)
        q, found = self.configuration(0.5 * (lower + upper)), []
        mass = mass_matrix(self.model, q)[np.ix_(self.driven_rates, self.driven_rates)]
        for hand, part in zip(self.hands, self.slices, strict=True):
            turn = forward_kinematics(self.model, q, hand.grip)[:3, :3].T
            own = jacobian(self.model, q, hand.grip)[:, hand.joints]
            own = np.concatenate([turn @ own[:3], turn @ own[3:]])
            mobility = own @ np.linalg.solve(mass[part, part], own.T)
            found.append(1.0 / np.maximum(np.diag(mobility), 1e-9))
        return np.min(found, axis=0)

    # What differs between runs of one scene

    @cached_property
    def mass(self) -> np.ndarray | None:
        """The inertia of a base that floats, (10,), as `Inertia.parameters` has it."""
        return self.model.bodies[self._base_body].inertia.parameters if self.free else None

    def without_mass(self) -> Arms:
        """The same with a base of a ton, so that arms on bases of any inertia are equal."""
        if not self.free:
            return self
        name = self.model.bodies[self._base_body].name
        model = self.model.replace(inertias={name: Inertia(1000.0, np.zeros(3), 500.0 * np.eye(3))})
        return replace(self, model=first_equal(model))

    def inertias(self, mass: Any) -> Any:
        """(10 bodies,) of all bodies, that of the base given: floats or traced numbers."""
        own = self._base_body
        return row(*(mass if i == own else body.inertia.parameters for i, body in enumerate(self.model.bodies)))

    @property
    def _base_body(self) -> int:
        return self.model.frame(self.layout.base).body

    @cached_property
    def _base_joint(self) -> Any:
        return self.model.joints[self._base_body]


def _check_motors(model: Model, moving: set[int]) -> None:
    """Refuses arms whose joints have no motor: nothing may drive them."""
    for joint in model.joints:
        if joint.v_slice.start in moving and not np.all(joint.kind.effort > 0.0):
            raise ModelError(f"{model.name}: the joint {joint.name} of an arm has no motor: its effort limit is 0.")


def _appendages(model: Model, moving: set[int], base: int) -> set[int]:
    """The bodies that no arm moves and no reading tells of: panels and the like on the base or the arms, or bodies
    that have nothing to do with the capture."""
    found = set()
    for body, joint in enumerate(model.joints):
        floating = body == base and isinstance(joint.kind, Free)
        if not floating and joint.v_slice.start not in moving:
            if isinstance(joint.kind, Free):
                raise ModelError(
                    f"{model.name}: the body {model.bodies[body].name} floats, is neither base nor target, and no "
                    "reading tells where it is; a capture cannot keep clear of it."
                )
            found.add(body)
    return found


def without(model: Model, name: str) -> Model:
    """The model without one body and what hangs on it, and their frames."""
    gone = subtree(model, model.body_index(name))
    if -1 in gone:
        raise ModelError("The world cannot be left out of a model.")
    return submodel(model, set(range(len(model.bodies))) - gone)


def subtree(model: Model, body: int) -> set[int]:
    """A body and all that hangs on it, by their numbers."""
    found = {body}
    for i, parent in enumerate(model.parents):  # parents come first
        found |= {i} if parent in found else set()
    return found
