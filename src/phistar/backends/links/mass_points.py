"""The points of mass of a body that bends, at η: their part of M and b.

Places x = Φu are made of monomials u of η, so that Σ over the points is a matter of the shape integrals ΣmΦ and ΣmΦ⊗Φ,
however many points there are. Where second-order displacements make them quadratic in η, ΣmΦ⊗Φ is large and of low
rank: ΣmΦ⊗Φ = R*R, and the rows of R are as many points of unit mass that have the same integrals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from phistar.backends.traces.trace import Tape, finish
from phistar.model import FlexibleInertia
from phistar.spatial import skew, times, transposed


@dataclass(frozen=True, eq=False)
class MassPoints(ABC):
    """Abstract. `first` is ΣmΦ (3, p)."""

    eta: np.ndarray
    monomials: tuple[tuple[int, ...], ...]
    first: np.ndarray
    total: float

    @property
    def pairs(self) -> list[tuple[int, ...]]:
        return [monomial for monomial in self.monomials if len(monomial) == 2]

    @cached_property
    def u(self) -> np.ndarray:
        """(…, p)."""
        products = [self.eta[..., i : i + 1] * self.eta[..., k : k + 1] for i, k in self.pairs]
        return np.concatenate([np.ones((*self.eta.shape[:-1], 1)), self.eta, *products], axis=-1)

    @cached_property
    def slope(self) -> np.ndarray:
        """∂u/∂η, (…, p, m)."""
        m, batch = self.eta.shape[-1], self.eta.shape[:-1]
        result = np.zeros((*batch, len(self.monomials), m), dtype=self.eta.dtype)
        result[..., 1 : m + 1, :] = np.eye(m)
        for row, (i, k) in enumerate(self.pairs, m + 1):
            result[..., row, i] = result[..., row, i] + self.eta[..., k]
            result[..., row, k] = result[..., row, k] + self.eta[..., i]
        return result

    def growth(self, rates: np.ndarray) -> np.ndarray:
        """Σ ∂²u/∂η² η̇η̇, (…, p), at η̇ (…, m)."""
        products = [2.0 * rates[..., i : i + 1] * rates[..., k : k + 1] for i, k in self.pairs]
        return np.concatenate([np.zeros((*rates.shape[:-1], 1 + rates.shape[-1])), *products], axis=-1)

    def mass(self) -> np.ndarray:
        """[[Σm g*g, Σm g*x̃*, Σm g*], [·, −Σm x̃x̃, Σm x̃], [·, ·, Σm]], (…, m + 6, m + 6)."""
        modal, across, square = self.second_moments()
        lever, moved = skew(times(self.first, self.u)), np.matmul(self.first, self.slope)
        turned = np.stack([across[..., c, :, b] - across[..., b, :, c] for b, c in ((1, 2), (2, 0), (0, 1))], axis=-2)
        trace = square[..., :1, :1] + square[..., 1:2, 1:2] + square[..., 2:, 2:]
        spin = trace * np.eye(3) - square
        rows = [
            [modal, transposed(turned), transposed(moved)],
            [turned, spin, lever],
            [moved, -lever, np.broadcast_to(self.total * np.eye(3), spin.shape)],
        ]
        return np.concatenate([np.concatenate(row, axis=-1) for row in rows], axis=-2)

    def bias_force(self, velocity: np.ndarray) -> np.ndarray:
        """ΣA*m(ω×(ω×x) + 2ω×ẋ + η̇ᵀQη̇), (…, m + 6, 1)."""
        m = self.eta.shape[-1]
        rates, omega = velocity[..., :m, 0], skew(velocity[..., m : m + 3, 0])
        on_modes, pairs = self.acceleration_moments(rates, omega)
        moment = np.stack([pairs[..., b, c] - pairs[..., c, b] for b, c in ((1, 2), (2, 0), (0, 1))], axis=-1)
        moving, growing, twice = times(self.slope, rates), self.growth(rates), np.matmul(omega, omega)
        force = times(twice, times(self.first, self.u)) + 2.0 * times(omega, times(self.first, moving))
        force = force + times(self.first, growing)
        return np.concatenate([on_modes, moment, force], axis=-1)[..., None]

    @abstractmethod
    def second_moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Σm g*g (…, m, m), Σm g_a⊗x_b (…, 3, m, 3) and Σm x_a x_b (…, 3, 3)."""

    @abstractmethod
    def acceleration_moments(self, rates: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σm g*ẍ (…, m) and Σm x_a ẍ_b (…, 3, 3) of ẍ = ω×(ω×x) + 2ω×ẋ + η̇ᵀQη̇, with ω̃ (…, 3, 3)."""


@dataclass(frozen=True, eq=False)
class ByIntegrals(MassPoints):
    """By the integrals as they are: `second` is ΣmΦ⊗Φ (3, p, 3, p)."""

    second: np.ndarray

    def mode_moments(self, right: np.ndarray) -> np.ndarray:
        """ΣmΦ⊗(Φr), (…, 3, p, 3), for r (…, p)."""
        return np.matmul(self.second, right[..., None, None, :, None])[..., 0]

    def second_moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        own = self.mode_moments(self.u)
        square = np.sum(own * self.u[..., None, :, None], axis=-2)
        across = np.matmul(transposed(self.slope)[..., None, :, :], own)
        modal = sum(np.matmul(np.matmul(transposed(self.slope), self.second[a, :, a, :]), self.slope) for a in range(3))
        return np.asarray(modal), across, square

    def acceleration_moments(self, rates: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moving, growing = times(self.slope, rates), self.growth(rates)
        parts = np.matmul(self.mode_moments(self.u), transposed(np.matmul(omega, omega))[..., None, :, :])
        parts = (
            parts
            + 2.0 * np.matmul(self.mode_moments(moving), transposed(omega)[..., None, :, :])
            + self.mode_moments(growing)
        )
        on_modes = sum(times(transposed(self.slope), parts[..., a, :, a]) for a in range(3))
        return np.asarray(on_modes), np.sum(parts * self.u[..., None, :, None], axis=-2)


@dataclass(frozen=True, eq=False)
class ByFewPoints(MassPoints):
    """By points of unit mass that have the same integrals: `shapes` is R (3, points, p)."""

    shapes: np.ndarray

    @cached_property
    def slides(self) -> np.ndarray:
        """g, (…, 3, points, m)."""
        return np.matmul(self.shapes, self.slope[..., None, :, :])

    @cached_property
    def places(self) -> np.ndarray:
        """x, (…, 3, points): with the linear part Γη twice in (Γ + g)η, half of it."""
        m, half = self.eta.shape[-1], 0.5 * self.eta[..., None, :, None]
        linear = self.shapes[..., 1 : m + 1]
        return self.shapes[..., 0] + np.matmul(linear + self.slides, half)[..., 0]

    def second_moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        g, x = self.slides, self.places
        modal = sum(np.matmul(transposed(g[..., a, :, :]), g[..., a, :, :]) for a in range(3))
        across = np.matmul(transposed(g), transposed(x)[..., None, :, :])
        return np.asarray(modal), across, np.matmul(x, transposed(x))

    def acceleration_moments(self, rates: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moving = np.matmul(self.slides, rates[..., None, :, None])[..., 0]
        growing = np.matmul(self.shapes, self.growth(rates)[..., None, :, None])[..., 0]
        found = np.matmul(omega, np.matmul(omega, self.places) + 2.0 * moving) + growing
        on_modes = np.matmul(transposed(self.slides), found[..., None])[..., 0]
        return on_modes[..., 0, :] + on_modes[..., 1, :] + on_modes[..., 2, :], np.matmul(
            self.places, transposed(found)
        )


def points_at(body: FlexibleInertia, eta: np.ndarray) -> MassPoints:
    """The points of mass of a body at modal coordinates (…, m); traced, in the way that takes fewer operations."""
    return _mass_points(body, eta, eta.dtype == object and _takes_few(body))


def _mass_points(body: FlexibleInertia, eta: np.ndarray, few: bool) -> MassPoints:
    first, second = body.point_moments
    if few:
        return ByFewPoints(eta, body.monomials, first, body.point_mass, body.equivalent_points)
    return ByIntegrals(eta, body.monomials, first, body.point_mass, second)


@lru_cache(maxsize=64)
def _takes_few(body: FlexibleInertia) -> bool:
    """Whether M and b take fewer operations by equivalent points, both ways counted on their traces."""
    counts = [_operations(body, few) for few in (False, True)] if body.has_quadratic_places else [0, 0]
    return counts[1] < counts[0]


def _operations(body: FlexibleInertia, few: bool) -> int:
    tape, m = Tape(), body.count
    made = _mass_points(body, tape.inputs((m,)), few)
    entries = [made.mass()[np.triu_indices(m + 6)], made.bias_force(tape.inputs((m + 6, 1)))]
    return finish(tape, [x for part in entries for x in part.reshape(-1)]).operations
