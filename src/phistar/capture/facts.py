"""The facts that a capture's rules go by: touch, force and slip, hand by hand and of all hands together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from phistar.capture.paths import seen_from
from phistar.capture.phase_law import measured_names
from phistar.capture.robot import Arms
from phistar.capture.settings import Settings

if TYPE_CHECKING:
    from phistar.capture.memory import Memory

OF_ALL = (
    "position_error",
    "angle_error",
    "speed",
    "touching",
    "not_touching",
    "hands_touching",
    "hands_lost",
    "least_push",
    "greatest_load",
    "greatest_tip",
    "slip",
    "planned",
    "attempts",
    "time_to_start",
    "turn_doubt",
    "place_doubt",
    "surprise",
    "path_left",
    "object_speed",
    "object_spin",
    "squeeze",
    "squeeze_goal",
)
HOLDING = ("coordinate", "hold", "held")


def fact_names(arms: Arms) -> tuple[str, ...]:
    """The names of all facts of a robot's rules."""
    tips = (f"{hand.name}_tip{number}" for hand in arms.hands for number in range(1, len(hand.fingers) + 1))
    fingers = (f"{hand.name}_touching" for hand in arms.hands)
    return (*measured_names(arms), *tips, *fingers, *OF_ALL)


def touching_now(
    before: tuple[tuple[bool, ...], ...], tips: Sequence[np.ndarray], settings: Settings
) -> tuple[tuple[bool, ...], ...]:
    """Which fingers touch: from `touch_on` N on, until `touch_off` N."""
    marks = settings.touch_off, settings.touch_on
    return tuple(
        tuple(force >= marks[0] if was else force > marks[1] for was, force in zip(own, read.tolist(), strict=True))
        for own, read in zip(before, tips, strict=True)
    )


def facts_of(
    arms: Arms, memory: Memory, t: float, measured: np.ndarray, tips: Sequence[np.ndarray], grips: np.ndarray
) -> dict[str, float]:
    """The facts of one sample: what the law measured, what fingers feel, and what comes of them."""
    facts = dict(zip(measured_names(arms), measured.tolist(), strict=True))
    forces, loads, pushes, touching = [], [], [], []
    for hand, read, on in zip(arms.hands, tips, memory.touching, strict=True):
        own = read.tolist()
        facts.update((f"{hand.name}_tip{number}", force) for number, force in enumerate(own, 1))
        facts[f"{hand.name}_touching"] = float(sum(on))
        forces += own
        touching.append(sum(on))
        pushes.append(min(own) if hand.jaw else facts[f"{hand.name}_push"])
        loads.append(facts[f"{hand.name}_push"] + facts[f"{hand.name}_side"])
    wanted = [len(hand.fingers) for hand in arms.hands]
    for name in ("position_error", "angle_error", "speed"):
        facts[name] = max(facts[f"{hand.name}_{name}"] for hand in arms.hands)
    facts["touching"] = float(sum(touching))
    facts["not_touching"] = float(sum(wanted) - sum(touching))
    facts["hands_touching"] = float(sum(on > 0 for on in touching))
    # A hand may lose one of several fingers for a moment, and still holds.
    facts["hands_lost"] = float(sum(on < max(all_ - 1, 1) for on, all_ in zip(touching, wanted, strict=True)))
    shares = [1.0] * len(pushes) if memory.plan is None else memory.plan.shares.tolist()
    facts["least_push"] = min(push / share for push, share in zip(pushes, shares, strict=True))
    facts["greatest_load"], facts["greatest_tip"] = max(loads), max(forces)
    facts["slip"] = _slip(memory, grips)
    plan, spin = memory.plan, memory.twist.tolist()
    facts["planned"] = 1.0 if plan is not None else 0.0
    facts["attempts"] = float(memory.attempts)
    facts["time_to_start"] = plan.start - t if plan is not None else 0.0
    facts["turn_doubt"], facts["place_doubt"] = memory.doubt.tolist()
    facts["surprise"] = memory.surprise
    facts["path_left"] = memory.decision.since + memory.lasting - t
    facts["object_spin"] = (spin[0] ** 2 + spin[1] ** 2 + spin[2] ** 2) ** 0.5
    facts["object_speed"] = (spin[3] ** 2 + spin[4] ** 2 + spin[5] ** 2) ** 0.5
    facts["squeeze"], facts["squeeze_goal"] = memory.squeeze, memory.pace.squeeze
    return facts


def _slip(memory: Memory, grips: np.ndarray) -> float:
    """How far the hands have moved along the object since they took it, m, as it is seen; 0 while they do not hold."""
    if memory.decision.phase not in HOLDING:
        return 0.0
    moved = seen_from(memory.object, grips)[:, :3, 3] - memory.held[:, :3, 3]
    return float(np.max(np.linalg.norm(moved, axis=-1)))
