"""[task] of a scene: what a run is to reach, judged by true states.

kind = "hold": hands hold an object, which for the last `for` seconds moves against each of them slower than `speed` and
`spin`, ever slower, while every finger touches it at every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.contact.pairs import Pairs
from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.errors import FileError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.sim.scenes.table import Table

SETTLED = 0.1  # of the limits: slower than that, a motion need not fall any more


@dataclass(frozen=True)
class Hold:
    """An object's frame, the hands' frames, the fingers' shapes; s, m/s and rad/s."""

    object: str
    hands: tuple[str, ...]
    fingers: tuple[str, ...]
    lasting: float
    speed: float
    spin: float
    where: str

    def check(self, model: Model, pairs: Pairs) -> None:
        """Frames are known, and every finger can touch."""
        for frame in (self.object, *self.hands):
            model.frame(frame)
        known = sorted({site.name for pair in pairs.pairs for site in (pair.a, pair.b)})
        for finger in self.fingers:
            if finger not in known:
                raise unknown("shape that can touch", finger, known, model.name)

    def finger_pairs(self, pairs: Pairs) -> tuple[frozenset[int], ...]:
        """Of each finger: the numbers of the pairs that it touches the object with."""
        body = pairs.model.frame(self.object).body
        return tuple(
            frozenset(
                i
                for i, pair in enumerate(pairs.pairs)
                for own, other in ((pair.a, pair.b), (pair.b, pair.a))
                if own.name == finger and other.body == body
            )
            for finger in self.fingers
        )

    def relative_twists(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(…, hands, 6): [ω; v] of the object's origin as each hand sees it, in the hand's axes."""
        place, motion = forward_kinematics(model, q, self.object), frame_velocity(model, q, v, self.object)
        made = []
        for hand in self.hands:
            own, moving = forward_kinematics(model, q, hand), frame_velocity(model, q, v, hand)
            away = place[..., :3, 3] - own[..., :3, 3]
            drift = motion[..., 3:] - moving[..., 3:] - np.cross(moving[..., :3], away)
            turn = np.swapaxes(own[..., :3, :3], -1, -2)
            both = motion[..., :3] - moving[..., :3], drift
            made.append(np.concatenate([(turn @ each[..., None])[..., 0] for each in both], axis=-1))
        return np.stack(made, axis=-2)

    def judged(self, model: Model, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Entries of the summary: captured, why not, and the last relative twist of the hand that slips most."""
        t, twists = arrays["t"], self.relative_twists(model, arrays["q"], arrays["v"])
        ratio = np.maximum(
            np.linalg.norm(twists[..., :3], axis=-1) / self.spin, np.linalg.norm(twists[..., 3:], axis=-1) / self.speed
        )
        missing = self._missing(t, np.max(ratio, axis=-1), arrays["gripped"])
        last = twists[-1, int(np.argmax(ratio[-1]))]
        return {"captured": missing is None, "missing": missing, "final_relative_twist": last.tolist()}

    def _missing(self, t: np.ndarray, ratio: np.ndarray, gripped: np.ndarray) -> str | None:
        """What there is not of a hold over the last seconds; None where there is all."""
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
        if recent[half:].max() > max(recent[:half].max(initial=0.0), SETTLED):
            return f"{self.object} did not come to rest: its relative motion grew"
        return None


def read_task(table: Table) -> Hold | None:
    """The [task] table, if there is one."""
    if not len(table):
        return None
    table.text("kind", choices=("hold",))
    made = Hold(
        table.text("object"),
        _names(table, "hands"),
        _names(table, "fingers"),
        table.number("for", 5.0, 1e-3),
        table.number("speed", 0.005, 1e-9),
        table.number("spin", 0.3 * np.pi / 180, 1e-9),
        table.where,
    )
    table.done()
    return made


def _names(table: Table, key: str) -> tuple[str, ...]:
    names = table.take(key)
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise table.wrong(key, "a list of names")
    if len(set(names)) < len(names):
        raise FileError(f"{table.where}, {key}: a name is there twice.")
    return tuple(names)
