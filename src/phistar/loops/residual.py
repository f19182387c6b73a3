"""How far loops are from closed, and the least change of q and v that closes them, in the metric of the mass matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.arrays import is_traced
from phistar.backends.kernel import compilable
from phistar.backends.recorded import Recorded
from phistar.loops.closure import row_count
from phistar.loops.effective import eliminated, solve_by_rank
from phistar.loops.equations import answered, equations
from phistar.model import Model
from phistar.stated import batched

ITERATIONS = 12
ROUNDING = 4e-15  # of what the rows act on: residuals below it are the last digits of positions


class Corrections(NamedTuple):
    """g and ġ (…, m); δq = −ℳ⁻¹A*S⁺g (tangent) and δv = −ℳ⁻¹A*S⁺ġ (…, nv); doubts about the rank (…)."""

    residual: np.ndarray
    rate: np.ndarray
    shift: np.ndarray
    change: np.ndarray
    doubt: np.ndarray


def _corrections(model: Model, q: np.ndarray, v: np.ndarray) -> Corrections:
    """Newton's step to g = 0 and the projection to ġ = 0 of least kinetic energy; traced, or floats (…, n)."""
    made = equations(model, q, v, np.zeros(model.nv))
    found = [eliminated(made.matrix, right, made.scale) for right in (made.closures.residual, made.rate)]
    shift, change = (-answered(model, q, made, each.forces) for each in found)
    return Corrections(made.closures.residual, made.rate, shift, change, np.asarray(found[0].doubt))


def _corrections_by_rank(model: Model, q: np.ndarray, v: np.ndarray) -> Corrections:
    made = equations(model, q, v, np.zeros(model.nv))
    sides = made.closures.residual, made.rate
    forces = [solve_by_rank(made.matrix, right, made.scale).forces for right in sides]
    shift, change = (-answered(model, q, made, each) for each in forces)
    return Corrections(*sides, shift, change, np.zeros(made.rate.shape[:-1]))


_compiled = Recorded(
    "closure_corrections",
    ("q", "v"),
    Corrections._fields,
    _corrections,
    lambda model: ((row_count(model),), (row_count(model),), (model.nv,), (model.nv,), ()),
)


def corrections(model: Model, q: Any, v: Any) -> Corrections:
    """g, ġ and the steps that remove them, at q (…, nq) and v (…, nv)."""
    if is_traced(q, v):
        return _corrections(model, q, v)
    with np.errstate(invalid="ignore"):  # a NaN spoils its own row
        made = Corrections(*(_compiled if compilable(model) else _corrections)(model, q, v))
    return _corrections_by_rank(model, q, v) if np.any(made.doubt != 0.0) else made


def loop_residual(model: Model, q: Any, v: Any = None) -> Any:
    """g(q), (…, m): how far each loop is from closed, in loop order, angular first (radians, metres; q's units for
    couplings). With v, a pair: g and its rate ġ = Aθ̇."""
    given = np.zeros(model.nv) if v is None else v
    if not is_traced(q, given):
        q, given = batched(model, q, given)
    if not model.loops:
        empty = np.zeros((*np.shape(q)[:-1], 0))
        return empty if v is None else (empty, empty)
    found = corrections(model, q, given)
    return found.residual if v is None else (found.residual, found.rate)


def projected(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The state nearest to (…, nq), (…, nv) that keeps every loop closed: Newton on positions, then velocities."""
    best, found = np.inf, corrections(model, q, v)
    for _ in range(ITERATIONS):
        size = np.max(np.abs(found.residual), initial=0.0)
        if not size < 0.5 * best or size < ROUNDING:
            break
        best, q = size, model.integrate(q, found.shift)
        found = corrections(model, q, v)
    v = v + found.change
    return q, v + corrections(model, q, v).change
