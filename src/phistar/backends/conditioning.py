"""How near a task's mobility Ω(0) = Jℳ⁻¹J* is to losing a direction, and what to do for an inverse there.

Angular and linear rows have different units, so each 3×3 diagonal block is scaled by the mean of its diagonal first:
S = s^{-½} Ω s^{-½}. Rank, condition, damping and truncation are those of S, free of units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.arrays import is_traced
from phistar.backends.solve import solve_symmetric
from phistar.errors import InfeasibleError, StatementError
from phistar.model import Model

LARGEST_INFLATION = 1e10
"""trace S⁻¹ beyond which an inverse is refused: about as many digits are lost in it, six are left."""


def refused(mobility: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """0 where Λ = Ω⁻¹ can be trusted, NaN where it cannot, (…): to be added to what is made with Λ.

    trace S⁻¹ = Σ s_k Λ_kk; it is at least 1/λ_min. No branch: the root of a negative number is NaN, in floats and in
    compiled code alike.
    """
    own = np.abs(np.diagonal(inertia, axis1=-2, axis2=-1))  # what rounding has made of a singular matrix may be negative
    inflation = np.sum(np.repeat(_block_means(mobility), 3, axis=-1) * own, axis=-1)
    with np.errstate(invalid="ignore"):
        return np.sqrt(np.minimum(LARGEST_INFLATION - inflation, 0.0))


def rank(mobility: np.ndarray) -> np.ndarray:
    """How many directions the task can be moved in, (…) of integers; 0 where Ω is not finite."""
    values = _eigenvalues(mobility)
    return np.sum(values > mobility.shape[-1] / LARGEST_INFLATION, axis=-1)


def condition(mobility: np.ndarray) -> np.ndarray:
    """λ_max/λ_min of S, (…); infinite where S is singular."""
    values = _eigenvalues(mobility)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = values[..., -1] / values[..., 0]
    return np.where(values[..., 0] > 0.0, ratio, np.inf)


def report(mobility: np.ndarray) -> str:
    """A sentence on rank and condition."""
    whole, ranks, conditions = mobility.shape[-1], np.atleast_1d(rank(mobility)), condition(mobility)
    if ranks.size == 0:
        return "There is no state."
    lost, worst = int(np.sum(ranks < whole)), float(np.max(conditions))
    if lost == 0:
        return f"The task has all its {whole} directions; the condition is {worst:.3g} at worst."
    return (
        f"At {lost} of {ranks.size} states the task has lost directions: rank {int(ranks.min())} of {whole}, condition "
        f"{worst:.3g} at worst. Λ does not exist there; `damping` or `truncation` gives an inverse by choice."
    )


def check_directions(model: Model, frames: tuple[str, ...]) -> None:
    """Refuse frames that fewer joints move than they have directions: their Ω is singular everywhere."""
    moved: set[int] = set()
    for name in frames:
        body = model.frame(name).body
        while body >= 0:
            moved.add(body)
            body = model.parents[body]
    dofs, wanted = sum(model.joints[k].nv for k in moved), 6 * len(frames)
    if dofs < wanted:
        raise InfeasibleError(
            f"{', '.join(map(repr, frames))} of {model.name}: {dofs} degrees of freedom move a task of {wanted} "
            "directions, so Λ does not exist anywhere. Give damping=… or truncation=… for an inverse by choice, or use "
            "task_mobility, which always exists."
        )


def chosen_inverse(mobility: np.ndarray, damping: float, truncation: float) -> np.ndarray:
    """The damped or the truncated inverse of Ω."""
    if damping and truncation:
        raise StatementError(f"damping = {damping:g} and truncation = {truncation:g}: choose one of them.")
    if not 0.0 <= damping < np.inf or not 0.0 <= truncation < 1.0:
        raise StatementError(
            f"damping = {damping:g} must not be negative, truncation = {truncation:g} must be between 0 and 1."
        )
    return damped(mobility, damping) if damping else truncated(mobility, truncation)


def damped(mobility: np.ndarray, damping: float) -> np.ndarray:
    """s^{-½}(S + δ)⁻¹s^{-½} = (Ω + δs)⁻¹, (…, 6m, 6m)."""
    scales = np.repeat(_block_means(mobility), 3, axis=-1)
    unit = np.eye(mobility.shape[-1])
    return solve_symmetric(mobility + damping * scales[..., None] * unit, np.broadcast_to(unit, mobility.shape))


def truncated(mobility: np.ndarray, truncation: float) -> np.ndarray:
    """The inverse on the directions whose eigenvalue of S is at least `truncation` times the greatest, zero on others."""
    if is_traced(mobility):
        raise StatementError("Truncation decides by values, so it cannot be compiled; use damping there.")
    roots, scaled = _scaled(mobility)
    values, vectors = np.linalg.eigh(np.where(np.isfinite(scaled), scaled, 0.0))
    kept = values > truncation * values[..., -1:]
    inverse = np.where(kept, 1.0, 0.0) / np.where(kept, values, 1.0)
    whole = np.matmul(vectors * inverse[..., None, :], np.swapaxes(vectors, -1, -2))
    whole = np.where(np.isfinite(scaled).all(axis=(-1, -2))[..., None, None], whole, np.nan)
    return whole * roots[..., :, None] * roots[..., None, :]


def _block_means(matrix: np.ndarray) -> np.ndarray:
    """The means of the diagonals of the 3×3 diagonal blocks, (…, 2m)."""
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    return sum(diagonal[..., i::3] for i in range(3)) * (1.0 / 3.0)  # type: ignore[return-value]


def _scaled(mobility: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s^{-½} (zero where a block is) and S."""
    scales = np.repeat(_block_means(mobility), 3, axis=-1)
    roots = np.where(scales > 0.0, 1.0 / np.sqrt(np.where(scales > 0.0, scales, 1.0)), 0.0)
    return roots, mobility * roots[..., :, None] * roots[..., None, :]


def _eigenvalues(mobility: Any) -> np.ndarray:
    """Of S, ascending, (…, 6m); zeros where Ω is not finite."""
    _, scaled = _scaled(np.asarray(mobility, dtype=float))
    finite = np.isfinite(scaled).all(axis=(-1, -2))
    values = np.linalg.eigvalsh(np.where(finite[..., None, None], scaled, 0.0))
    return np.where(finite[..., None], values, 0.0)
