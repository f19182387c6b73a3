"""Steps of high order from the implicit one: 1, 2, 3 … short steps over the same time, extrapolated to infinitely many.

The step of `World.advance` is of first order and takes stiff contact; where motion is smooth its error is a series in
h, whose first terms cancel in Aitken-Neville's tableau (Hairer and Wanner, Solving ODEs II, §IV.9). The last two
columns say how far to trust the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from phistar.contact.gaps import Gaps, Penetration
from phistar.sim.world import State, Step, World

NO_TIME = np.zeros(1)
COUNTS = (1, 2, 3, 4, 5)  # short steps in each row of the tableau: fifth order

Control = Callable[[float, np.ndarray, np.ndarray], Any]  # (t, q, v) → joint forces (nv,)


class Tried(NamedTuple):
    """A long step: its last short step, with the state extrapolated, and the error of it in units of the tolerance."""

    step: Step
    error: float


def long_step(
    world: World, state: State, gaps: Gaps, control: Control, t: float, h: float, rtol: float, atol: float
) -> Tried | None:
    """A step of length h; None where short steps cannot be made or the extrapolated bodies would meet."""
    rows: list[list[np.ndarray]] = []
    last, nearest, unsettled = None, np.inf, 0.0
    for count in COUNTS:
        try:
            last = _short_steps(world, state, gaps, control, t, h, count)
        except Penetration:
            return None
        nearest, unsettled = min(nearest, last.nearest), max(unsettled, last.unsettled)
        column = [_changes(world, state, last.state)]
        for k, before in enumerate(rows[-1] if rows else ()):
            ratio = COUNTS[len(rows)] / COUNTS[len(rows) - 1 - k]
            column.append(column[k] + (column[k] - before) / (ratio - 1.0))
        rows.append(column)
    assert last is not None
    best, second = rows[-1][-1], rows[-1][-2]
    count = 2 * world.model.nv
    scale = atol + rtol * np.maximum(np.abs(_numbers(world, state)), np.abs(best[:count]))
    error = float(np.sqrt(np.mean(((best - second)[:count] / scale) ** 2)))
    after, room = _changed(world, state, best, last.state)
    if not room > 0.0:
        return None
    try:
        ahead = world.gaps(after, h)
    except Penetration:
        return None
    nearest = min(nearest, ahead.nearest)
    return Tried(last._replace(state=after, ahead=ahead, nearest=nearest, unsettled=unsettled), error)


def _short_steps(world: World, state: State, gaps: Gaps, control: Control, t: float, h: float, count: int) -> Step:
    step, at, nearest, unsettled = h / count, t, np.inf, 0.0
    made = None
    for _ in range(count):
        made = world.advance(state, control(at, state.q, state.v), step, gaps)
        state, gaps, at, nearest = made.state, made.ahead, at + step, min(nearest, made.nearest)
        unsettled = max(unsettled, made.unsettled)
    assert made is not None
    return made._replace(nearest=nearest, unsettled=unsettled)


# A state as numbers that can be added: the change of q in its tangent space, v, bristles and twists, and the momenta of
# free trees. What these have together is in every row the same, so that extrapolation keeps it.


def _changes(world: World, start: State, end: State) -> np.ndarray:
    moved = world.model.difference(start.q, end.q)
    momenta = world.dynamics.free(end.q, end.v, np.zeros(world.model.nv), NO_TIME).momenta
    return np.concatenate([moved, end.v, end.held[:, :4].reshape(-1), momenta])


def _numbers(world: World, state: State) -> np.ndarray:
    """Sizes to measure errors by: of changes of q, none."""
    count = world.model.nv
    return np.concatenate([np.zeros(count), state.v])


def _changed(world: World, start: State, numbers: np.ndarray, last: State) -> tuple[State, float]:
    """The state, and how far its joints are from their limits."""
    nv, slots = world.model.nv, world.pairs.slots
    moved, v, bristle, momenta = np.split(numbers, np.cumsum([nv, nv, 4 * slots]))
    touching = last.touch_speed > 0.0
    held = np.concatenate([bristle.reshape(slots, 4) * touching[:, None], last.held[:, 4:]], axis=-1)
    q = world.model.integrate(start.q, moved)
    q, v, room = world.dynamics.after(q, v, momenta, NO_TIME)
    return State(q, v, held), float(room[0])
