"""Residuals of loops, and the least change of q and v that closes them, in the metric of the mass matrix."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.backends.recorded import Recorded
from phistar.backends.traces.trace import is_traced
from phistar.loops.closure import loop_slices, row_count
from phistar.loops.effective import eliminate, solve_by_rank
from phistar.loops.equations import equations, response_from_innovations
from phistar.loops.tree_closing import corrections_along_tree, fits_along_tree
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.stated_arguments import broadcast_state

ITERATIONS = 12
HELD = 1e-10  # rad, m: loops that stay open by more are reported
ROUNDING = 4e-15  # of what the rows act on: residuals below it are the last digits of positions


class Corrections(NamedTuple):
    """g and ġ (…, m); δq = −ℳ⁻¹A*S⁺g (tangent) and δv = −ℳ⁻¹A*S⁺ġ (…, nv); doubts about the rank (…)."""

    residual: Array
    rate: Array
    shift: Array
    change: Array
    doubt: Array


def _corrections(model: Model, q: np.ndarray, v: np.ndarray) -> Corrections:
    """Newton's step to g = 0 and the projection to ġ = 0 of least kinetic energy; traced, or floats (…, n)."""
    made = equations(model, q, v, np.zeros(model.nv))
    found = [eliminate(made.matrix, right, made.scale) for right in (made.closures.residual, made.rate)]
    shift, change = (-response_from_innovations(model, q, made, each.forces) for each in found)
    return Corrections(made.closures.residual, made.rate, shift, change, np.asarray(found[0].doubt))


def _corrections_by_rank(model: Model, q: np.ndarray, v: np.ndarray) -> Corrections:
    made = equations(model, q, v, np.zeros(model.nv))
    sides = made.closures.residual, made.rate
    forces = [solve_by_rank(made.matrix, right, made.scale).forces for right in sides]
    shift, change = (-response_from_innovations(model, q, made, each) for each in forces)
    return Corrections(*sides, shift, change, np.zeros(made.rate.shape[:-1]))


_compiled = Recorded(
    "closure_corrections",
    ("q", "v"),
    Corrections._fields,
    _corrections,
    lambda model: ((row_count(model),), (row_count(model),), (model.nv,), (model.nv,), ()),
    lambda model: _compiled.is_written(model, 6 + row_count(model)),
)


def corrections(model: Model, q: Any, v: Any) -> Corrections:
    """g, ġ and the steps that remove them, at q (…, nq) and v (…, nv)."""
    if is_traced(q, v):
        return _corrections(model, q, v)
    with np.errstate(invalid="ignore"):  # a NaN spoils its own row
        if _compiled.fits(model):
            made = Corrections(*_compiled(model, q, v))
        elif fits_along_tree(model):
            residual, rate, shift, change, doubt = corrections_along_tree(model, q, v)
            made = Corrections(residual, rate, -shift, -change, doubt)
        else:
            made = _corrections(model, q, v)
    return _corrections_by_rank(model, q, v) if np.any(made.doubt != 0.0) else made


@overload
def loop_residual(model: Model, q: ArrayLike, v: None = None) -> Array: ...
@overload
def loop_residual(model: Model, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]: ...
def loop_residual(model: Model, q: Any, v: Any = None) -> Any:
    """Residual of each loop's closure, and with rates the speed at which it opens.

    g(q), and ġ = Aθ̇.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    v : (…, nv), optional
        Joint rates.

    Returns
    -------
    (…, m) or a pair of them
        In loop order, angular first [rad, m]; q's units for couplings. With v, the pair (g, ġ).

    Examples
    --------
    >>> ps.loop_residual(ps.chain(2), [0, 0]).shape
    (0,)
    """
    check_robot("loop_residual", (model,))
    given = np.zeros(model.nv) if v is None else v
    if not is_traced(q, given):
        q, given = broadcast_state(model, q, given)
    if not model.loops:
        empty = np.zeros((*np.shape(q)[:-1], 0))
        return empty if v is None else (empty, empty)
    found = corrections(model, q, given)
    return found.residual if v is None else (found.residual, found.rate)


def left_open(model: Model, residual: np.ndarray, rank: np.ndarray) -> str | None:
    """A sentence about the loop that is open most along a motion, residuals (T, m) and ranks (T,); None where none is.

    A redundant equation cannot be met by moving: where it does not follow from the others, it stays open.
    """
    sizes, m = np.max(np.abs(residual), axis=0, initial=0.0), row_count(model)
    if not np.any(sizes > HELD):
        return None
    worst, least = int(np.argmax(sizes)), int(np.min(rank))
    name, where = next((x, own) for x, own in loop_slices(model).items() if own.start <= worst < own.stop)
    why = "The mechanism could not be moved so as to close it."
    if least < m:
        why = (
            f"Of the {m} equations of its loops {least} are independent. The others should follow from these and do "
            "so to no more digits than this: look at the frames and axes of the loop, which may have been rounded."
        )
    return (
        f"{model.name}: the loop '{name}' is open by up to {sizes[worst]:.2g} in its equation "
        f"{worst - where.start + 1} of {where.stop - where.start}. {why}"
    )


def project(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[Array, Array]:
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
