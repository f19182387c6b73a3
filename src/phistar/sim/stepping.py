"""An adaptive integration that can be corrected after every step: DOP853, with closures and events.

What the equations of motion keep only in exact arithmetic (closed loops) is restored by `settle` after each accepted
step, before the next one starts from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from phistar.errors import PhistarError, ShapeError

LOOK_EVERY, MOST_STEPS = 1000, 5_000_000  # a step takes a tenth of a millisecond and more

Rate = Callable[[float, np.ndarray], np.ndarray]
Margin = Callable[[float, np.ndarray], float]  # positive until the event


class Segment(NamedTuple):
    """Samples after the start, t (T,) and x (T, n); where it ended, and the events that ended it, if any did; or why it
    failed."""

    t: np.ndarray
    x: np.ndarray
    end: tuple[float, np.ndarray]
    events: tuple[int, ...] = ()
    failure: PhistarError | None = None


def integrate_span(
    rate: Rate,
    span: tuple[float, float],
    x: np.ndarray,
    wanted: np.ndarray | None,
    settle: Callable[[np.ndarray], np.ndarray],
    margins: Sequence[Margin],
    options: dict[str, Any],
) -> Segment:
    """Integrate from span[0] to span[1] or the first event; samples at `wanted` and at the event, or at every step."""
    from scipy.integrate import DOP853

    solver = DOP853(rate, span[0], x, span[1], **options)
    before = [margin(span[0], x) for margin in margins]
    times, states, events = [np.zeros(0)], [np.zeros((0, len(x)))], ()
    t, looked = span[0], span[0]
    while solver.status == "running" and not events:
        start, failure = solver.t, _step(solver)
        if len(times) % LOOK_EVERY == 0:
            failure, looked = failure or _stiff(solver, (solver.t - looked) / LOOK_EVERY), solver.t
        if failure is not None:
            return Segment(np.concatenate(times), np.concatenate(states), (solver.t, solver.y), (), failure)
        between: Any = solver.dense_output() if wanted is not None or margins else None
        solver.y = settle(solver.y)
        after = [margin(solver.t, solver.y) for margin in margins]
        t, events = _first_event(margins, before, after, between, start, solver.t)
        x = between(t) if t < solver.t else solver.y
        inside = np.array([t]) if wanted is None else wanted[(wanted > start) & (wanted <= t)]
        times.append(inside)
        states.append(np.reshape([x if each == t else between(each) for each in inside], (-1, len(x))))
        solver.f, before = rate(solver.t, solver.y), after
    return Segment(np.concatenate(times), np.concatenate(states), (t, x), events)


def _step(solver: Any) -> PhistarError | None:
    """Why a step could not be made, if it could not."""
    try:
        message = solver.step()
    except ShapeError:
        raise
    except PhistarError as error:
        return error
    if solver.status != "failed":
        return None
    return PhistarError(
        f"stopped after t = {solver.t:.6g} s: {message or 'the step is too small'} The motion may be unstable or the "
        "control discontinuous; try a larger rtol, or ps.rollout."
    )


def _stiff(solver: Any, step: float) -> PhistarError | None:
    """Why there is no end to wait for, where steps of this length will not reach it."""
    left = abs(solver.t_bound - solver.t)
    if left <= MOST_STEPS * abs(step):
        return None
    return PhistarError(
        f"stopped after t = {solver.t:.6g} s: it takes steps of {abs(step):.2g} s, {left / abs(step):.2g} of them to "
        "the end. A spring or damping is too stiff for the inertia that it moves; a plant (ps.Plant) or a "
        "scene takes it."
    )


def _first_event(
    margins: Sequence[Margin], before: list[float], after: list[float], between: Any, start: float, end: float
) -> tuple[float, tuple[int, ...]]:
    """Time at which the first margin is used up, and which ones are then; the end of the step and none, if none is."""
    from scipy.optimize import brentq

    crossed = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old >= 0.0 >= new]
    if not crossed:
        return end, ()
    roots = {}
    for i in crossed:
        ends = margins[i](start, between(start)), margins[i](end, between(end))
        bracketed = ends[0] * ends[1] < 0.0
        eps: Any = 4.0 * np.finfo(float).eps
        root = None
        if bracketed:
            found: Any = brentq(lambda t, i=i: margins[i](t, between(t)), start, end, xtol=eps, rtol=eps)
            root = _beyond(lambda t, i=i: margins[i](t, between(t)), float(found), end)
        roots[i] = root if root is not None else (start if ends[0] <= 0.0 else end)
    first = min(roots.values())
    return first, tuple(i for i, root in roots.items() if root == first)


def _beyond(margin: Callable[[float], float], root: float, end: float) -> float:
    """A root from which on the margin is used up: where it jumps, as the control may, the far side of the jump."""
    step = np.spacing(max(abs(root), np.finfo(float).tiny))
    while root < end and margin(root) > 0.0 and step < 1e-9 * max(end, 1.0):
        root, step = min(root + step, end), 2.0 * step
    return root
