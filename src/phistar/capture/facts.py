"""The facts that a capture's rules go by: touch, force and slip, hand by hand and of all hands together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.backends.one_state import one_state
from phistar.capture.paths import CARRIER_ROWS
from phistar.capture.phase_law import PER_HAND, measured_names
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
TOLD = 10  # numbers of the memory that rules go by
HOLDING = ("coordinate", "hold", "held")


def fact_names(arms: Arms) -> tuple[str, ...]:
    """The names of all facts of a robot's rules."""
    tips = (f"{hand.name}_tip{number}" for hand in arms.hands for number in range(1, len(hand.fingers) + 1))
    fingers = (f"{hand.name}_touching" for hand in arms.hands)
    return (*measured_names(arms), *tips, *fingers, *OF_ALL)


def touching_now(
    before: tuple[tuple[bool, ...], ...], tips: Sequence[np.ndarray], settings: Settings
) -> tuple[tuple[bool, ...], ...]:
    """Fingers that touch: from `touch_on` N on, until `touch_off` N."""
    off, on = settings.touch_off, settings.touch_on
    return tuple(
        tuple([force >= off if was else force > on for was, force in zip(own, read.tolist(), strict=True)])
        for own, read in zip(before, tips, strict=True)
    )


class Facts:
    """The facts of a robot's rules, whose numbers one compiled call makes of what the law measured, what fingers feel
    and where hands and object are."""

    def __init__(self, arms: Arms) -> None:
        self.names = fact_names(arms)
        self._fingers = [len(hand.fingers) for hand in arms.hands]
        self._even = np.ones(len(arms.hands))
        self._numbers = _compile(tuple(self._fingers), tuple(bool(hand.jaw) for hand in arms.hands), len(self.names))

    def of(
        self, memory: Memory, t: float, measured: np.ndarray, tips: Sequence[np.ndarray], grips: np.ndarray
    ) -> dict[str, float]:
        """The facts of one sample."""
        plan, decision = memory.plan, memory.decision
        touching = np.array([float(on) for hand in memory.touching for on in hand])
        told = np.array(
            (
                0.0 if plan is None else 1.0,
                float(memory.attempts),
                0.0 if plan is None else plan.start - t,
                *memory.doubt.tolist(),
                memory.surprise,
                decision.since + memory.lasting - t,
                memory.squeeze,
                memory.pace.squeeze,
                float(decision.phase in HOLDING),
            )
        )
        shares = self._even if plan is None else plan.shares
        numbers = self._numbers(
            measured, np.concatenate(tips), touching, grips, memory.object, memory.held.reshape(-1), memory.twist,
            shares, told,
        )  # fmt: skip
        return dict(zip(self.names, numbers.tolist(), strict=True))


def fact_rows(fingers: Sequence[int]) -> dict[str, int]:
    """Lengths of the arguments of `fact_row`, for hands with so many fingers."""
    hands, tips = len(fingers), sum(fingers)
    of_hands = {"measured": len(PER_HAND) * hands + 2, "tips": tips, "touching": tips, "grips": 12 * hands}
    return {**of_hands, "body": CARRIER_ROWS, "held": 16 * hands, "twist": 6, "shares": hands, "told": TOLD}


def _compile(fingers: tuple[int, ...], jaws: tuple[bool, ...], count: int) -> Callable[..., np.ndarray]:
    def numbers(*given: Any) -> tuple[Any]:
        return (fact_row(fingers, jaws, *given),)

    sizes = tuple(fact_rows(fingers).values())
    return one_state("facts of a capture", repr((fingers, jaws)).encode(), sizes, [(count,)], numbers)


def fact_row(
    fingers: tuple[int, ...], jaws: tuple[bool, ...], measured: Any, tips: Any, touching: Any, grips: Any, body: Any,
    held: Any, twist: Any, shares: Any, told: Any,
) -> Any:  # fmt: skip
    """The numbers of `fact_names`, of floats or traced numbers: `body` is the object as a carrier, `held` the grips'
    poses in it when they took it, `told` what the memory knows."""
    hands, ends = len(fingers), np.cumsum(fingers).tolist()
    mine = [slice(end - count, end) for end, count in zip(ends, fingers, strict=True)]

    def of_hand(name: str) -> list[Any]:
        at = PER_HAND.index(name)
        return [measured[len(PER_HAND) * i + at : len(PER_HAND) * i + at + 1] for i in range(hands)]

    on = [_total(_each(touching[own])) for own in mine]
    felt, side = of_hand("push"), of_hand("side")
    pushes = [_least(_each(tips[own])) if jaw else push for own, jaw, push in zip(mine, jaws, felt, strict=True)]
    loads = [push + bent for push, bent in zip(felt, side, strict=True)]
    # A hand may lose one of several fingers for a moment, and still holds.
    lost = [1.0 - _flag(each - (max(count - 1, 1) - 1)) for each, count in zip(on, fingers, strict=True)]
    touched = _total(on)
    known = [told[i : i + 1] for i in range(TOLD)]
    turned, gone = (np.sqrt(np.sum(part * part, keepdims=True)) for part in (twist[:3], twist[3:]))
    of_all = {
        **{name: _greatest(of_hand(name)) for name in ("position_error", "angle_error", "speed")},
        "touching": touched,
        "not_touching": float(sum(fingers)) - touched,
        "hands_touching": _total([_flag(each) for each in on]),
        "hands_lost": _total(lost),
        "least_push": _least([push / share for push, share in zip(pushes, _each(shares), strict=True)]),
        "greatest_load": _greatest(loads),
        "greatest_tip": _greatest(_each(tips)),
        "slip": known[9] * _greatest([_slip(grips, held, body, i) for i in range(hands)]),
        **dict(zip(("planned", "attempts", "time_to_start", "turn_doubt", "place_doubt"), known[:5], strict=True)),
        **dict(zip(("surprise", "path_left"), known[5:7], strict=True)),
        "object_speed": gone,
        "object_spin": turned,
        **dict(zip(("squeeze", "squeeze_goal"), known[7:9], strict=True)),
    }
    return np.concatenate([measured, tips, *on, *(of_all[name] for name in OF_ALL)])


def _slip(grips: Any, held: Any, body: Any, hand: int) -> Any:
    """Slip of a hand along the object since it took hold, m, as it is seen."""
    back = np.swapaxes(body[:9].reshape(3, 3), 0, 1)
    now = np.matmul(back, grips[12 * hand + 9 : 12 * hand + 12] - body[9:12])
    then = np.concatenate([held[16 * hand + i : 16 * hand + i + 1] for i in (3, 7, 11)])
    return np.sqrt(np.sum((now - then) * (now - then), keepdims=True))


def _each(row: Any) -> list[Any]:
    return [row[i : i + 1] for i in range(len(row))]


def _flag(count: Any) -> Any:
    """Whether a whole number is above 0, as 1 or 0."""
    return np.minimum(np.maximum(count, np.zeros(1)), np.ones(1))


def _least(each: Sequence[Any]) -> Any:
    return reduce(np.minimum, each)


def _greatest(each: Sequence[Any]) -> Any:
    return reduce(np.maximum, each)


def _total(each: Sequence[Any]) -> Any:
    return sum(each[1:], each[0])
