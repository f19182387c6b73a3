"""Motions that show a robot's parameters: Fourier series whose log det of the base regressor is greatest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from phistar.array_types import Array
from phistar.errors import ModelError, PhistarError
from phistar.identify.identifiable import base_of
from phistar.identify.parameter_columns import Columns
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr

WIDEST = np.pi / 2  # rad or m, the half-range of a coordinate without limits
FASTEST = 2.0  # rad/s or m/s, of a rate without one
COARSE = 60  # samples that a motion is judged by
STEPS = 40  # of the quasi-Newton method at most: what further ones add is little
APART = (
    1e-6  # rad or m and their rates, and of coefficients of about one, by which regressor and motion are differenced
)
NOTHING = 1e6  # stands for the −log det of a motion that does not show everything
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

    Each joint's motion is a Fourier series (Swevers et al. 1997). From the best of random ones, log det Y_b*Y_b, Y_b
    being the base regressor with columns of length one, is led to its greatest near there by a quasi-Newton method.

    Parameters
    ----------
    model : Model
        A tree of joints whose coordinates are plain numbers.
    duration : float
        Of a period, s.
    samples, harmonics : int
        Of the motion, and how many multiples of its frequency a joint moves with.
    candidates : int
        How many random motions are tried first.
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
    series, rng = FourierSeries(model, float(duration), harmonics), np.random.default_rng(seed)
    search = InformationSearch(columns, base_of(columns).columns, series)
    tried = [series.random(rng) for _ in range(candidates)]
    first = tried[int(np.argmin([search.lack(x) for x in tried]))]
    made = minimize(search.lack_and_slope, first.reshape(-1), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    t = np.linspace(0.0, duration, samples, endpoint=False)
    return Excitation(t, *series.at(made.x.reshape(first.shape), t), -float(made.fun))


@dataclass(frozen=True, eq=False)
class InformationSearch:
    """−log det Y_b*Y_b of a motion by its coefficients."""

    columns: Columns
    base: np.ndarray
    series: FourierSeries

    @cached_property
    def _times(self) -> np.ndarray:
        return np.linspace(0.0, self.series.duration, COARSE, endpoint=False)

    @cached_property
    def _steady(self) -> np.ndarray:
        """The base columns that do not change with the motion but where a rate turns: friction's."""
        return np.array([self.columns.names[i].endswith(".friction") for i in self.base])

    def _table(self, motion: Sequence[np.ndarray]) -> np.ndarray:
        return self.columns.table(*motion)[..., self.base].reshape(-1, len(self.base))

    def lack(self, coefficients: np.ndarray) -> float:
        """The value alone."""
        return self._unit_columns(self.series.at(coefficients, self._times))[0]

    def _unit_columns(self, motion: Sequence[np.ndarray]) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """−log det, Y_b with columns of length one, their lengths, and Y_b*Y_b."""
        table = self._table(motion)
        lengths = np.linalg.norm(table, axis=0)
        unit = table / np.where(lengths > 0.0, lengths, 1.0)
        gram = unit.T @ unit
        sign, value = np.linalg.slogdet(gram)
        return (-float(value) if sign > 0 and np.isfinite(value) else NOTHING), unit, lengths, gram

    def lack_and_slope(self, coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and its gradient: by Y_b exactly; of Y_b by q, v and a, and of these, by differences."""
        shape = (2, self.series.harmonics, -1)
        motion = self.series.at(coefficients.reshape(shape), self._times)
        value, unit, lengths, gram = self._unit_columns(motion)
        if value == NOTHING:
            return value, np.zeros(coefficients.shape)
        pull = -2.0 * (np.linalg.solve(gram, unit.T).T - unit) / lengths
        pull[:, self._steady] = 0.0
        plain, by_motion = self._table(motion), np.zeros((3, *motion[0].shape))
        for part in range(3):
            for rate in range(motion[0].shape[1]):
                moved = [x.copy() for x in motion]
                moved[part][:, rate] += APART
                change = np.sum(pull * (self._table(moved) - plain), axis=1)
                by_motion[part, :, rate] = change.reshape(COARSE, -1).sum(axis=1) / APART
        slope = np.empty(coefficients.shape)
        for i, step in enumerate(APART * np.eye(len(coefficients))):
            moved = self.series.at((coefficients + step).reshape(shape), self._times)
            slope[i] = np.sum(by_motion * (np.stack(moved) - np.stack(motion))) / APART
        return value, slope


@dataclass(frozen=True, eq=False)
class FourierSeries:
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
