"""Λ, c and g of a task; how near its mobility Ω(0) = Jℳ⁻¹J* is to losing a direction, and inverses by choice there.

Angular and linear rows have different units, so each 3×3 diagonal block is scaled by the mean of its diagonal first:
S = s^{-½} Ω s^{-½}. Rank, condition, damping and truncation are those of S, free of units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from phistar.array_types import Array, IntArray
from phistar.backends.links.link_sizes import freedoms
from phistar.backends.traces.solve import SMALLEST_PIVOT, scales, solve, solve_symmetric
from phistar.backends.traces.trace import is_traced
from phistar.errors import InfeasibleError, StatementError
from phistar.model import Model


class OperationalSpace(tuple[np.ndarray, np.ndarray, np.ndarray]):
    """Λβ̇ + c + g = F: unpacks as inertia (…, 6m, 6m), coriolis and gravity (…, 6m).

    `rank` and `condition` (…) say how near the task is to losing a direction, whatever units it is measured in.
    """

    _made: Callable[[], np.ndarray] | None  # the mobility, made when it is asked for

    def __new__(
        cls,
        inertia: np.ndarray,
        coriolis: np.ndarray,
        gravity: np.ndarray,
        mobility: Callable[[], np.ndarray] | None = None,
    ) -> OperationalSpace:
        self = super().__new__(cls, (inertia, coriolis, gravity))
        self._made = mobility
        return self

    @property
    def inertia(self) -> Array:
        """Λ(0) (KJR92 eq. 61); NaN where it does not exist."""
        return self[0]

    @property
    def coriolis(self) -> Array:
        """c(0) (KJR92 eq. 64)."""
        return self[1]

    @property
    def gravity(self) -> Array:
        """g(0) (KJR92 eq. 71)."""
        return self[2]

    @property
    def mobility(self) -> Array:
        """Ω(0) = Jℳ⁻¹J*, (…, 6m, 6m), which exists everywhere (KJR92 eq. 11)."""
        return solve(self.inertia, np.eye(self.inertia.shape[-1])) if self._made is None else self._made()

    @property
    def rank(self) -> IntArray:
        return rank(self.mobility)

    @property
    def condition(self) -> Array:
        return condition(self.mobility)

    @property
    def report(self) -> str:
        """A sentence on rank and condition."""
        return report(self.mobility)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {value.shape}" for name, value in self._asdict().items())
        return f"OperationalSpace({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return OperationalSpace, tuple(self)

    def _asdict(self) -> dict[str, np.ndarray]:
        return {"inertia": self.inertia, "coriolis": self.coriolis, "gravity": self.gravity}


def rank(mobility: np.ndarray) -> np.ndarray:
    """Number of directions in which the task can move, (…) of integers; 0 where Ω is not finite."""
    values = _eigenvalues(mobility)
    return np.sum(values > SMALLEST_PIVOT, axis=-1)


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


def refuse_lost_directions(model: Model, frames: tuple[str, ...], found: Mapping[str, np.ndarray]) -> None:
    """Every row of Λ, c and g is NaN where one is; frames that too few joints move are refused altogether."""
    inertia = found["inertia"]
    if is_traced(inertia):
        return check_directions(model, frames)
    if np.isnan(inertia.sum()):  # one look at all of it: robots are controlled one state at a time
        check_directions(model, frames)
        lost = np.isnan(np.diagonal(inertia, axis1=-2, axis2=-1)).any(axis=-1)
        for part in found.values():
            part[lost] = np.nan
    return None


def check_directions(model: Model, frames: tuple[str, ...]) -> None:
    """Refuse frames that fewer rates move than they have directions: their Ω is singular everywhere."""
    dofs, wanted = freedoms(model, frames), 6 * len(frames)
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
    return damp(mobility, damping) if damping else truncate(mobility, truncation)


def damp(mobility: np.ndarray, damping: float) -> np.ndarray:
    """s^{-½}(S + δ)⁻¹s^{-½} = (Ω + δs)⁻¹, (…, 6m, 6m)."""
    unit = np.eye(mobility.shape[-1])
    heavier = mobility + damping * scales(mobility)[..., None] * unit
    return solve_symmetric(heavier, np.broadcast_to(unit, mobility.shape))


def truncate(mobility: np.ndarray, truncation: float) -> np.ndarray:
    """The inverse where an eigenvalue of S is above `truncation` times the greatest, zero in the other directions."""
    if is_traced(mobility):
        raise StatementError("Truncation decides by values, so it cannot be compiled; use damping there.")
    roots, scaled = _scale(mobility)
    finite = np.expand_dims(np.all(np.isfinite(scaled), axis=(-1, -2)), (-1, -2))
    values, vectors = np.linalg.eigh(np.where(finite, scaled, 0.0))
    kept = values > truncation * values[..., -1:]
    inverse = np.where(kept, 1.0, 0.0) / np.where(kept, values, 1.0)
    whole = np.matmul(vectors * inverse[..., None, :], np.swapaxes(vectors, -1, -2))
    return np.where(finite, whole, np.nan) * roots[..., :, None] * roots[..., None, :]


def _scale(mobility: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s^{-½} (zero where a block is) and S."""
    sizes = scales(mobility)
    roots = np.where(sizes > 0.0, 1.0 / np.sqrt(np.where(sizes > 0.0, sizes, 1.0)), 0.0)
    return roots, mobility * roots[..., :, None] * roots[..., None, :]


def _eigenvalues(mobility: Any) -> np.ndarray:
    """Eigenvalues of S, ascending, (…, 6m); 0 if Ω is not finite."""
    _, scaled = _scale(np.asarray(mobility, dtype=float))
    finite = np.all(np.isfinite(scaled), axis=(-1, -2))
    values = np.linalg.eigvalsh(np.where(np.expand_dims(finite, (-1, -2)), scaled, 0.0))
    return np.where(np.expand_dims(finite, -1), values, 0.0)
