"""Moves of the hands in the phase "contact": rigid ones move into their places, jaws move over them and close."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.capture.hands import Hand
from phistar.capture.memory import Memory
from phistar.capture.robot import Arms
from phistar.capture.settings import Settings

SOON = 0.2  # s until a hand that closes in has its speed
SLACK = 0.003  # m that a finger is to be closed beyond where it is, at most
SERVO = 20.0  # N that opens a jaw, and keeps it open


def gaps_closed(hand: Hand, sensed: Mapping[str, Any]) -> np.ndarray:
    """Closing of each finger of a jaw, (2,) m, as it is read."""
    assert hand.jaw is not None
    return hand.jaw.ways * (np.asarray(sensed[f"{hand.name}_jaw"])[:2] - hand.jaw.open)


def press_on(arms: Arms, memory: Memory, sensed: Mapping[str, Any], step: float) -> Memory:
    """Memory one sample later in the phase "contact": hands that do not touch yet close in; once all do, they squeeze.
    A rigid hand touches with its first finger; a jaw goes as deep as planned, and touches with both."""
    pace = memory.pace
    ready = [all(on) if hand.jaw else any(on) for hand, on in zip(arms.hands, memory.touching, strict=True)]
    if memory.squeeze > 0.0 or all(ready):
        if memory.squeeze == 0.0:  # what is between the pads stays where it was when they met it
            memory = memory._replace(closed=_read_jaws(arms, sensed))
        grown = min(memory.squeeze + pace.squeeze * step / pace.squeeze_time, pace.squeeze)
        return memory._replace(squeeze=grown, closing=(0.0,) * len(ready))
    deep = np.array([pace.standoff + hand.ahead if hand.jaw else np.inf for hand in arms.hands])
    there = np.array(memory.travel) >= deep - 1e-9
    still = there | np.array([any(on) for on in memory.touching])
    most, fastest = pace.closing_speed * step / SOON, pace.closing_speed
    closing = [0.0 if stop else min(v + most, fastest) for stop, v in zip(still, memory.closing, strict=True)]
    travel = np.minimum(np.array(memory.travel) + step * np.array(closing), deep)
    memory = memory._replace(closing=tuple(closing), travel=tuple(travel.tolist()))
    if not arms.jaws:
        return memory
    over = np.repeat([stop for stop, hand in zip(still, arms.hands, strict=True) if hand.jaw], 2)
    closed = np.minimum(memory.closed + over * step * fastest, _read_jaws(arms, sensed) + SLACK)
    return memory._replace(closed=np.where(over, closed, memory.closed))


def open_jaws(memory: Memory, step: float) -> Memory:
    """Memory one sample later in a phase in which jaws open, or stay open."""
    return memory._replace(closed=np.maximum(memory.closed - step * memory.pace.closing_speed, 0.0))


def finger_rows(memory: Memory, settings: Settings, phase: str, holding: bool) -> list[float]:
    """Position, speed, force limit and push of every closing finger; see `LawRows`."""
    squeeze = memory.pace.squeeze if holding else memory.squeeze if phase == "contact" else 0.0
    if squeeze > 0.0:
        rate, most = 0.0, memory.pace.squeeze
    elif phase == "contact":
        rate, most = memory.pace.closing_speed, settings.light
    else:
        rate, most = -memory.pace.closing_speed, SERVO
    return [part for closed in memory.closed.tolist() for part in (closed, rate * (closed > 0.0), most, squeeze)]


def touching_poses(arms: Arms, poses: np.ndarray, sensed: Mapping[str, Any] | None = None) -> np.ndarray:
    """The poses (h, 4, 4) of grips with z along the normal of what they touch, where they touch it: a jaw lies against
    the sides of what is amid its pads, which is where it is read to be closed, or as planned in its middle."""
    made = np.array(poses)
    for i, hand in enumerate(arms.hands):
        if hand.jaw:
            one, two = (0.0, 0.0) if sensed is None else gaps_closed(hand, sensed)
            made[i, :3, :3] = poses[i][:3, [1, 2, 0]]
            made[i, :3, 3] += 0.5 * (one - two) * poses[i][:3, 0]
    return made


def _read_jaws(arms: Arms, sensed: Mapping[str, Any]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *(gaps_closed(hand, sensed) for hand in arms.jaws)])
