"""The forces of contact as wrenches in world axes: one compiled formula for every place of a step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from phistar.backends.kernel import compile_trace
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import Tape, finish
from phistar.sim.world import Step
from phistar.spatial import cross

NOTHING = np.zeros((0, 6))


def pushes(step: Step | None) -> np.ndarray:
    """(n, 6): [moment; force] that each near place of a step puts on its shape a, about the world's origin; b gets the
    opposite."""
    if step is None or step.forces is None:
        return NOTHING
    return _compiled()(step.gaps.table, step.forces.table, step.forces.axes)


def mean_pushes(step: Step, length: float, pattern: Callable[[tuple[int, ...]], np.ndarray]) -> np.ndarray:
    """(k, 6): the mean over a step of `pattern(slots)` (k, n) times the wrenches at its n near places."""
    if not step.parts:
        return pattern(step.gaps.slots) @ pushes(step)
    made = [(part_of / length) * (pattern(part.gaps.slots) @ pushes(part)) for part_of, part in step.parts]
    return np.sum(made, axis=0)


def wrench(place: Any, force: Any, axes: Any) -> Any:
    """[p × f + n τ; f], (6,), of a place (distance, point p, normal n) and its force along the contact's axes (9,)."""
    linear = axes[:3] * force[0] + axes[3:6] * force[1] + axes[6:] * force[2]
    return np.concatenate([cross(place[1:4], linear) + axes[6:] * force[3], linear])


@cache
def _compiled() -> Any:
    tape = Tape()
    made = wrench(traced(tape.inputs((7,))), traced(tape.inputs((6,))), traced(tape.inputs((9,))))
    values = [x.item() if isinstance(x, np.ndarray) else x for x in np.asarray(made).reshape(-1)]
    return compile_trace(finish(tape, values), [7, 6, 9], [(6,)], "wrench of a contact", ("wrench",)).function
