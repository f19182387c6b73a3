"""A free body's flow and errors as machine code, for filters that follow many bodies or displaced copies of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from phistar.backends.kernel import compile_trace
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import Tape, finish
from phistar.estimation.free_body import ERRORS, ROWS, FreeBody


def flow(body: FreeBody, h: float, steps: int, fall: Any) -> FreeBody:
    """The body h seconds later, in so many steps of `FreeBody.later`, its mass centre accelerated by `fall` (3,)."""
    row, kernel = body.row, _later()
    length, fall = np.array([h / steps]), np.asarray(fall, dtype=float)
    for _ in range(steps):
        row = kernel(row, length, fall)
    return FreeBody.of(row)


def errors_between(one: FreeBody, other: FreeBody) -> np.ndarray:
    """The errors (…, 27) that take one body to the other, `FreeBody.away`."""
    return _away()(one.row, other.row)


@cache
def _later() -> Callable[..., np.ndarray]:
    tape = Tape()
    row, h, fall = (traced(tape.inputs((n,))) for n in (ROWS, 1, 3))
    made = FreeBody.of(row).later(h[0], fall).row
    return compile_trace(finish(tape, list(made)), [ROWS, 1, 3], [(ROWS,)], "flow of a free body", ("row",)).function


@cache
def _away() -> Callable[..., np.ndarray]:
    tape = Tape()
    one, other = (traced(tape.inputs((ROWS,))) for _ in range(2))
    made = FreeBody.of(one).away(FreeBody.of(other))
    return compile_trace(finish(tape, list(made)), [ROWS, ROWS], [(ERRORS,)], "errors of a body", ("errors",)).function
