"""Motions that show a robot's parameters: Fourier series whose log det of the base regressor is greatest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.errors import ModelError, PhistarError
from phistar.identify.identifiable import base_of
from phistar.identify.parameter_columns import Columns
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr

WIDEST = np.pi / 2  # rad or m, the half-range of a coordinate without limits
FASTEST = 2.0  # rad/s or m/s, of a rate without one
COARSE = 60  # samples that a candidate is judged by
ROOM = 0.9  # of the limits that are used


@short_repr
@dataclass(frozen=True, eq=False)
class Excitation:
    """A sampled motion: `t` (T,), `q`, `v`, `a` (T, nv); it is periodic and starts at rest in `a` alone.
    `information` is log det of the scaled base regressor's Gram matrix: more is better."""

    t: Array
    q: Array
    v: Array
    a: Array
    information: float


def excitation(
    model: Model,
    duration: float = 10.0,
    *,
    samples: int = 500,
    harmonics: int = 5,
    candidates: int = 200,
    terms: Sequence[str] = ("armature", "damping", "friction"),
    seed: int = 0,
) -> Excitation:
    """A periodic motion within the joints' limits that excites the parameters as well as possible.

    Each joint's motion is a Fourier series (Swevers et al. 1997); of random ones the best is kept, and changed at
    random as long as log det Y_b*Y_b grows, Y_b being the base regressor with columns of length one.

    Parameters
    ----------
    model : Model
        A tree of joints whose coordinates are plain numbers.
    duration : float
        Of a period, s.
    samples, harmonics : int
        Of the motion, and how many multiples of its frequency a joint moves with.
    candidates : int
        How many motions are tried.
    terms : sequence of str
        As of `fit`.
    seed : int

    Returns
    -------
    Excitation

    Examples
    --------
    >>> path = ps.identify.excitation(ps.planar_chain(2), 5.0, samples=100, candidates=20)
    >>> path.q.shape
    (100, 2)
    """
    check_robot("excitation", (model,))
    curved = [joint.name for joint in model.joints if not joint.kind.flat]
    if curved:
        raise ModelError(f"{model.name} turns on quaternions ({', '.join(curved)}); an excitation is of plain joints.")
    if not duration > 0.0 or min(samples, harmonics, candidates) < 1:
        raise PhistarError("An excitation needs a positive duration, and at least one sample, harmonic and candidate.")
    columns = Columns(model, tuple(terms))
    base = base_of(columns).columns
    series, rng = _Series(model, float(duration), harmonics), np.random.default_rng(seed)
    coarse, best, found = np.linspace(0.0, duration, COARSE, endpoint=False), -np.inf, series.random(rng)
    for number in range(candidates):
        fresh = number < candidates // 4 or best == -np.inf
        tried = series.random(rng) if fresh else found + 0.3 * rng.normal(size=found.shape) * rng.random()
        value = _information(columns, base, *series.at(tried, coarse))
        if value > best:
            best, found = value, tried
    t = np.linspace(0.0, duration, samples, endpoint=False)
    return Excitation(t, *series.at(found, t), best)


def _information(columns: Columns, base: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    table = columns.table(q, v, a)[..., base].reshape(-1, len(base))
    lengths = np.linalg.norm(table, axis=0)
    if not (lengths > 0.0).all():
        return -np.inf
    sign, value = np.linalg.slogdet((table / lengths).T @ (table / lengths))
    return float(value) if sign > 0 else -np.inf


@dataclass(frozen=True, eq=False)
class _Series:
    """q = c + s Σ_l (A_l sin lωt − B_l cos lωt)/l, s as large as the limits of q and v allow."""

    model: Model
    duration: float
    harmonics: int

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Coefficients (2, harmonics, nv)."""
        return rng.normal(size=(2, self.harmonics, self.model.nv))

    def at(self, coefficients: np.ndarray, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and a, (T, nv)."""
        lower = np.where(np.isfinite(self.model.lower_limits), self.model.lower_limits, -WIDEST)
        upper = np.where(np.isfinite(self.model.upper_limits), self.model.upper_limits, WIDEST)
        rates = np.minimum(self.model.velocity_limits, FASTEST)
        fine = np.linspace(0.0, self.duration, 20 * self.harmonics, endpoint=False)
        q, v, _ = self._plain(coefficients, fine)
        low, high = q.min(axis=0), q.max(axis=0)
        scale = ROOM * np.minimum((upper - lower) / (high - low), rates / np.abs(v).max(axis=0))
        made = [scale * x for x in self._plain(coefficients, np.asarray(t))]
        made[0] = made[0] + 0.5 * (lower + upper) - 0.5 * scale * (low + high)
        return made[0], made[1], made[2]

    def _plain(self, coefficients: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        order = np.arange(1, self.harmonics + 1)
        omega = 2.0 * np.pi / self.duration
        angle = omega * t[:, None] * order
        sine, cosine = np.sin(angle), np.cos(angle)
        first, second = coefficients
        q = (sine / order) @ first - (cosine / order) @ second
        v = omega * (cosine @ first + sine @ second)
        return q, v, omega**2 * (-(sine * order) @ first + (cosine * order) @ second)
