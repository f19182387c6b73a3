"""Steps of high order from the implicit one: 1, 2, 3 … short steps over the same time, extrapolated to infinitely many.

A plant's step is of first order and takes stiff contact; where motion is smooth its error is a series in h, whose first
terms cancel in Aitken-Neville's tableau (Hairer and Wanner, Solving ODEs II, §IV.9). The last two columns say how far
to trust the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from phistar.constraints import columns as c
from phistar.plant.session import Diverged, PlantState, Session
from phistar.sim.step_records import Step, told
from phistar.sim.world import World

COUNTS = (1, 2, 3, 4, 5)  # short steps in each row of the tableau: fifth order
BENT = slice(c.BENT, c.TWIST + 1)  # what a contact remembers of bristle and twist

Drive = Callable[[Session, float, np.ndarray, np.ndarray], None]  # gives a session its forces at (t, q, v)


class Tried(NamedTuple):
    """A long step, the state at its end, and its error in units of the tolerance."""

    step: Step
    state: PlantState
    error: float


def long_step(
    world: World, session: Session, state: PlantState, drive: Drive, t: float, h: float, rtol: float, atol: float
) -> Tried | None:
    """A step of length h; None where short steps cannot be made or the extrapolated bodies would meet."""
    rows: list[list[np.ndarray]] = []
    made: list[tuple[Step, PlantState]] = []
    for count in COUNTS:
        try:
            made.append(_short_steps(world, session, state, drive, t, h, count))
        except Diverged:
            return None
        column = [_changes(world, state, *made[-1])]
        for k, before in enumerate(rows[-1] if rows else ()):
            ratio = COUNTS[len(rows)] / COUNTS[len(rows) - 1 - k]
            column.append(column[k] + (column[k] - before) / (ratio - 1.0))
        rows.append(column)
    best, second = rows[-1][-1], rows[-1][-2]
    count, step = 2 * world.model.nv, made[-1][0]
    sizes = np.concatenate([np.zeros(world.model.nv), state.v])  # of changes of q, none
    scale = atol + rtol * np.maximum(np.abs(sizes), np.abs(best[:count]))
    error = float(np.sqrt(np.mean(((best - second)[:count] / scale) ** 2)))
    after = _changed(world, state, best, [own for _, own in made])
    if not world.room(after.q) > 0.0:
        return None
    work, loss, *outside = best[-8:]
    unsettled = max(each.unsettled for each, _ in made)
    step = step._replace(work=work, loss=loss, outside=np.array(outside), unsettled=unsettled, error=error)
    return Tried(step, after, error)


def _short_steps(
    world: World, session: Session, state: PlantState, drive: Drive, t: float, h: float, count: int
) -> tuple[Step, PlantState]:
    """Short steps, joined into one, and the state at their end."""
    short, parts = h / count, []
    session.load(state, known=True)
    q, v = state.q, state.v
    for number in range(count):
        drive(session, t + number * short, q, v)
        session.advance(short)
        parts.append(told(world, session, short))
        q, v = session.engine.q[: len(q)].copy(), session.engine.v[: len(v)].copy()
    return joined(parts), session.state()


def joined(parts: list[Step]) -> Step:
    """Several steps as one: impulses and books are sums, peaks the largest, the rest as in the last."""
    if len(parts) == 1:
        return parts[0]
    rows: dict[int, np.ndarray] = {}
    elapsed = 0.0
    for part in parts:
        for each in rows.values():
            each[[c.MET_LAST, c.MET_SLIDES]] = 0.0
        for pair, met in zip(part.pair.tolist(), part.met, strict=True):
            own = rows.setdefault(pair, np.zeros(c.MET_FLOATS))
            first = own[c.MET_WHEN] if own.any() else np.inf
            peak = max(own[c.MET_PEAK], met[c.MET_PEAK])
            own += met
            own[c.MET_PEAK], own[c.MET_WHEN] = peak, min(first, elapsed + met[c.MET_WHEN])
        elapsed += part.length
    last = parts[-1]
    table = np.array(list(rows.values())).reshape(-1, c.MET_FLOATS)
    return last._replace(
        length=elapsed,
        pair=np.array(list(rows), dtype=int),
        met=table,
        nearest=min(part.nearest for part in parts),
        unsettled=max(part.unsettled for part in parts),
        work=sum(part.work for part in parts),
        loss=sum(part.loss for part in parts),
        outside=np.sum([part.outside for part in parts], axis=0),
    )


# A state as numbers that can be added: the change of q in its tangent space, v, the momenta of free trees, and the
# books. What momenta have together is in every row the same, so that extrapolation keeps it.


def _changes(world: World, start: PlantState, step: Step, end: PlantState) -> np.ndarray:
    moved, roots = world.model.difference(start.q, end.q), world.roots
    momenta = roots.momenta(end.q, end.v).reshape(-1) if roots.bodies else np.zeros(0)
    return np.concatenate([moved, end.v, momenta, [step.work, step.loss], step.outside])


def _changed(world: World, start: PlantState, numbers: np.ndarray, ends: list[PlantState]) -> PlantState:
    nv, roots = world.model.nv, world.roots
    moved, v, momenta, _ = np.split(numbers, np.cumsum([nv, nv, 6 * len(roots.bodies)]))
    q = world.model.integrate(start.q, moved)
    if roots.bodies:
        v = roots.moved(q, v, momenta.reshape(-1, 6))
    return PlantState(q, v, _remembered(ends))


def _remembered(ends: list[PlantState]) -> tuple[np.ndarray, ...]:
    """Contact memory at the end: extrapolated if all rows have the same contacts, else the finest row's."""
    wholes, floats, *rest = ends[-1].memory
    tables = [end.memory for end in ends]
    if not all(np.array_equal(own[0], wholes) for own in tables):
        return ends[-1].memory
    rows: list[list[np.ndarray]] = []
    for own in tables:
        column = [np.concatenate([own[1][:, BENT].reshape(-1), own[2]])]
        for k, before in enumerate(rows[-1] if rows else ()):
            ratio = COUNTS[len(rows)] / COUNTS[len(rows) - 1 - k]
            column.append(column[k] + (column[k] - before) / (ratio - 1.0))
        rows.append(column)
    floats = floats.copy()
    bent, dry = np.split(rows[-1][-1], [4 * len(floats)])
    pushes = floats[:, c.IMPULSE + 2] > 0.0
    floats[pushes, BENT] = bent.reshape(-1, 4)[pushes]
    return (wholes, floats, dry, *rest[1:])
