"""The task "hold": hands hold an object, judged by true states.

For the last `for` seconds the object moves against each hand slower than `speed` and `spin`, on average no faster in
their second half than in the first, while every finger touches it at every step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.errors import FileError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.plant.scene_schema import Entry, Field, Text
from phistar.plant.scene_sentences import validate_entry
from phistar.sim.scenes.registry import Verdict
from phistar.sim.scenes.scene import Setting
from phistar.sim.state_kernels import moving
from phistar.sim.trajectory import Contacts, Trajectory
from phistar.sim.world import World

SETTLED = 0.1  # of the limits: slower than that, a motion need not fall any more


class HoldEntry(Entry):
    """[task] with kind = "hold"."""

    kind: Text
    object: Text
    hands: Annotated[list[Text], Field(min_length=1)]
    fingers: Annotated[list[Text], Field(min_length=1)]
    lasting: Annotated[float, Field(ge=1e-3, alias="for")] = 5.0
    speed: Annotated[float, Field(ge=1e-9)] = 0.005
    spin: Annotated[float, Field(ge=1e-9)] = 0.3 * np.pi / 180


def read_hold(settings: Mapping[str, Any], setting: Setting, where: str) -> Hold:
    """The task of a scene's table; its frames are known, and every finger can touch."""
    entry, world = validate_entry(HoldEntry, settings, where), setting.world
    for key in ("hands", "fingers"):
        names = getattr(entry, key)
        if len(set(names)) < len(names):
            raise FileError(f"{where}, {key}: a name is there twice.")
    for frame in (entry.object, *entry.hands):
        world.model.frame(frame)
    known = sorted({shape.name for shape in world.system.shapes})
    for finger in entry.fingers:
        if finger not in known:
            raise unknown("shape that can touch", finger, known, setting.name)
    pairs = _finger_pairs(world, entry.object, entry.fingers)
    fingers, hands = tuple(entry.fingers), tuple(entry.hands)
    return Hold(entry.object, hands, fingers, entry.lasting, entry.speed, entry.spin, pairs)


def _finger_pairs(world: World, held: str, fingers: Sequence[str]) -> tuple[frozenset[int], ...]:
    """The numbers of the pairs that each finger touches the object with."""
    body = world.model.frame(held).body
    shapes = [world.shapes_of(number) for number in range(len(world.pairs))]
    return tuple(
        frozenset(
            number
            for number, (a, b) in enumerate(shapes)
            if (a.name == finger and b.body == body) or (b.name == finger and a.body == body)
        )
        for finger in fingers
    )


def _ways(model: Model, contacts: Contacts, hands: Sequence[str]) -> np.ndarray:
    """(hands, pairs + 1): 1 where a pair's force acts on a hand's body, −1 where it acts back on it; 0 for no pair."""
    sides = np.zeros((0, 2), int) if contacts.bodies is None else contacts.bodies
    on = [(sides == model.frame(hand).body).astype(float) for hand in hands]
    return np.array([[*(own[:, 0] - own[:, 1]), 0.0] for own in on])


@dataclass(frozen=True)
class Hold:
    """An object's frame, the hands' frames, the fingers' shapes with the pairs that they touch the object with; s, m/s
    and rad/s."""

    object: str
    hands: tuple[str, ...]
    fingers: tuple[str, ...]
    lasting: float
    speed: float
    spin: float
    watches: tuple[frozenset[int], ...]

    def judge(self, trajectory: Trajectory) -> Verdict:
        """Whether the object was captured, why not, the last relative twist of the hand that slips most, and with how
        much force two hands squeeze."""
        model, t = moving(trajectory.model), trajectory.t
        twists = self.relative_twists(model, trajectory.q, trajectory.v)
        ratio = np.maximum(
            np.linalg.norm(twists[..., :3], axis=-1) / self.spin, np.linalg.norm(twists[..., 3:], axis=-1) / self.speed
        )
        missing = self._missing(t, np.max(ratio, axis=-1), trajectory.signals["held_contacts"])
        last = twists[-1, int(np.argmax(ratio[-1]))]
        entries = {"captured": missing is None, "final_relative_twist": last.tolist(), "internal_force": None}
        if trajectory.contacts is not None and len(self.hands) == 2:
            entries |= self._squeeze(model, trajectory, trajectory.contacts)
        return Verdict(missing is None, "captured" if missing is None else "not captured", missing, entries)

    def relative_twists(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(…, hands, 6): [ω; v] of the object's origin as each hand sees it, in the hand's axes."""
        place, motion = forward_kinematics(model, q, self.object), frame_velocity(model, q, v, self.object)
        made = []
        for hand in self.hands:
            own, moving_hand = forward_kinematics(model, q, hand), frame_velocity(model, q, v, hand)
            away = place[..., :3, 3] - own[..., :3, 3]
            drift = motion[..., 3:] - moving_hand[..., 3:] - np.cross(moving_hand[..., :3], away)
            turn = np.swapaxes(own[..., :3, :3], -1, -2)
            both = motion[..., :3] - moving_hand[..., :3], drift
            made.append(np.concatenate([(turn @ each[..., None])[..., 0] for each in both], axis=-1))
        return np.stack(made, axis=-2)

    def _missing(self, t: np.ndarray, ratio: np.ndarray, gripped: np.ndarray) -> str | None:
        """Return the reason the grasp does not yet count as held, or None."""
        begin = t[-1] - self.lasting
        if begin < t[0] - 1e-9:
            return f"the run lasted {t[-1] - t[0]:.3g} s, less than {self.lasting:g} s"
        inside = t > begin + 1e-9
        lost = np.nonzero(~gripped[inside].all(axis=0))[0]
        if len(lost):
            return f"{self.fingers[lost[0]]} did not touch {self.object} throughout the last {self.lasting:g} s"
        recent = ratio[t >= begin - 1e-9]
        if not recent.max() < 1.0:
            return f"{self.object} moved at {recent.max():.3g} times what a hold allows"
        half = len(recent) // 2
        # Mean squares: one sample in which noise makes a joint slip by micrometres is no motion that grows.
        early, late = (
            float(np.sqrt(np.mean(part**2))) if len(part) else 0.0 for part in (recent[:half], recent[half:])
        )
        if late > max(early, SETTLED):
            return f"{self.object} did not come to rest: its relative motion grew"
        return None

    def _squeeze(self, model: Model, trajectory: Trajectory, contacts: Contacts) -> dict[str, float]:
        """The smaller of what presses on each of two hands along the line between them: its mean over the time of the
        hold, and its largest value."""
        along = [forward_kinematics(model, trajectory.q, hand)[..., :3, 3] for hand in self.hands]
        line = along[1] - along[0]
        line = line / np.maximum(np.linalg.norm(line, axis=-1, keepdims=True), 1e-12)
        forces = np.einsum("hnk,nkx->hnx", _ways(model, contacts, self.hands)[:, contacts.pair], contacts.force)
        pressed = np.einsum("hnx,nx->hn", forces, line) * np.array([[-1.0], [1.0]])
        squeeze = np.maximum(pressed.min(axis=0), 0.0)
        recent = trajectory.t > trajectory.t[-1] - self.lasting
        return {"internal_force": float(squeeze[recent].mean()), "peak_internal_force": float(squeeze.max())}
