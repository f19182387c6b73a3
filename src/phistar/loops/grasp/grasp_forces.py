"""Contact forces of a held object: who carries how much of it, and what squeezes it (RJK91 §6)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.backends.traces.solve import solve
from phistar.errors import ShapeError
from phistar.loops.grasp.grasp_kernels import FORCES, CompiledFunction, call_compiled
from phistar.loops.grasp.holding import Grasp, Hold, shift_motion
from phistar.short_repr import short_repr
from phistar.spatial import times, transposed


@short_repr
class Split(NamedTuple):
    """Map of contact forces λ (…, m) to a wrench on the object: W⁻¹Z(Z*W⁻¹Z)⁻¹ is `carrying` (…, m, 6), Z* is `map`."""

    map: Array
    carrying: Array

    def forces(self, wrench: np.ndarray, internal: np.ndarray) -> Array:
        """λ that makes the wrench (…, 6), with the part of `internal` (…, m) that makes none."""
        return internal + times(self.carrying, wrench - times(self.map, internal))


def checked_weights(grasp: Grasp, weights: Any) -> Array:
    """W, (l,): a positive number per contact, ones where None."""
    count = len(grasp.loops)
    try:
        given = np.ones(count) if weights is None else np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape != (count,) or not np.all((given > 0.0) & np.isfinite(given)):
        raise ShapeError(
            f"The weights of a load split are {count} positive numbers, one per contact; it was given {weights!r:.100}."
        )
    return given


def load_split(grasp: Grasp, holds: list[Hold], weights: Any = None) -> Split:
    """W⁻¹Z(Z*W⁻¹Z)⁻¹: the forces nearest to none, W weighting those of each contact, (l,): a heavier weight carries
    less."""
    rows = np.concatenate([hold.on_object for hold in holds], axis=-2)
    soft = 1.0 / np.repeat(checked_weights(grasp, weights), [loop.rows for loop in grasp.loops])
    back = soft[:, None] * rows
    return Split(transposed(rows), transposed(solve(np.matmul(transposed(rows), back), transposed(back))))


def internal_forces(grasp: Grasp, q: Any, forces: Any) -> Array:
    """The part of contact forces that squeezes the object and moves nothing: f − X(X*X)⁻¹X*f.

    Parameters
    ----------
    grasp : Grasp
    q : (…, nq)
        Joint angles, rad and m.
    forces : (…, l, 6)
        On the object, [moment; force] in world axes at the contact frames, as `grasp_dynamics` gives them, N m and N.

    Returns
    -------
    (…, l, 6) array
        N m and N.

    Examples
    --------
    >>> b = ps.ModelBuilder("two hands", gravity=(0, 0, 0))
    >>> for name, mass in (("bar", 2.0), ("left", 1.0), ("right", 1.0)):
    ...     body = b.body(name, joint=ps.Free(), inertia=ps.Inertia(mass, tensor=0.1 * np.eye(3)))
    >>> for side in ("left", "right"):
    ...     loop = b.loop(f"{side} grip", "bar", side, ps.Fixed())
    >>> pair = b.build()
    >>> forces = [[0, 0, 0, 7.0, 0, 0], [0, 0, 0, -3.0, 0, 0]]  # 4 N move the bar, 5 N squeeze it
    >>> squeeze = ps.loops.internal_forces(ps.loops.Grasp(pair, "bar"), pair.neutral(), forces)
    >>> squeeze[:, 3].round(9).tolist()
    [5.0, -5.0]
    """
    given, count = grasp.model.checked(forces, 6, "forces"), len(grasp.loops)
    if given.shape[-2:] != (count, 6):
        raise ShapeError(f"The contact forces have shape {given.shape}; this grasp needs (…, {count}, 6).")
    try:
        np.broadcast_shapes(given.shape[:-2], np.shape(q)[:-1])
    except ValueError:
        raise ShapeError(
            f"The leading axes of the forces {given.shape} and of q {np.shape(q)} do not broadcast."
        ) from None
    return call_compiled(grasp, SQUEEZE, q, given.reshape(*given.shape[:-2], 6 * count))[0]


def _squeezing(grasp: Grasp, q: np.ndarray, forces: np.ndarray) -> tuple[np.ndarray]:
    given, shifts = forces.reshape(*forces.shape[:-1], len(grasp.loops), 6), _seats(grasp, q)
    total = np.sum(times(transposed(shifts), given), axis=-2)
    square = np.sum(np.matmul(transposed(shifts), shifts), axis=-3)
    return (given - times(shifts, solve(square, total[..., None])[..., None, :, 0]),)


SQUEEZE = CompiledFunction("internal forces of a grasp", ("q", FORCES), (FORCES,), _squeezing)


def wrenches_at_object(grasp: Grasp, q: Any, forces: np.ndarray) -> Array:
    """X*f, (…, l, 6): each contact force as a wrench at the object's frame."""
    return times(transposed(_seats(grasp, q)), forces)


def _seats(grasp: Grasp, q: Any) -> np.ndarray:
    return shift_motion(grasp.offsets(grasp.model.checked_q(q)))
