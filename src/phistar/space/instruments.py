"""Instruments of attitude with the errors they have: star trackers and rate gyroscopes."""

from __future__ import annotations

from typing import final

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.errors import ModelError
from phistar.spatial import exp_quaternion, multiply


@final
class StarTracker:
    """Orientations with white noise, small across its line of sight and larger about it.

    Parameters
    ----------
    across, about : float
        Standard deviations, rad.
    boresight : (3,)
        Its line of sight in the body's axes, of length one.
    seed : int

    Examples
    --------
    >>> tracker = ps.space.StarTracker(1e-5, 1e-4, seed=1)
    >>> bool(abs(tracker.read([0.0, 0, 0, 1])[:3]).max() < 1e-3)
    True
    """

    def __init__(
        self, across: float, about: float, boresight: tuple[float, float, float] = (0.0, 0.0, 1.0), seed: int = 0
    ) -> None:
        if not (0.0 <= across < np.inf and 0.0 <= about < np.inf):
            raise ModelError("A star tracker needs deviations of 0 rad or more.")
        sight = np.asarray(boresight, dtype=float)
        if not abs(np.linalg.norm(sight) - 1.0) <= 1e-6:
            raise ModelError(f"A star tracker needs a boresight of length one; it was given {boresight!r:.80}.")
        self.root = across * (np.eye(3) - np.outer(sight, sight)) + about * np.outer(sight, sight)
        self.random = np.random.default_rng(seed)

    @property
    def covariance(self) -> Array:
        """(3, 3): of the error as a rotation vector in body axes, rad²."""
        return self.root @ self.root.T

    def read(self, quaternion: ArrayLike) -> Array:
        """An orientation (x, y, z, w) as it is seen."""
        error = self.root @ self.random.standard_normal(3)
        return multiply(np.asarray(quaternion, dtype=float), exp_quaternion(error))


@final
class RateGyro:
    """Angular rates with white noise and a bias in random walk (Farrenkopf's model).

    Parameters
    ----------
    noise : float
        Angular random walk, rad/√s.
    walk : float
        Rate random walk of the bias, rad/s^{3/2}.
    period : float
        Time between readings, s.
    bias : (3,)
        At the start, rad/s.
    seed : int

    Examples
    --------
    >>> gyro = ps.space.RateGyro(noise=1e-5, walk=1e-7, period=0.1, seed=1)
    >>> bool(np.abs(gyro.read([0.01, 0.0, 0.0]) - [0.01, 0.0, 0.0]).max() < 2e-4)
    True
    """

    def __init__(
        self,
        noise: float,
        walk: float,
        period: float,
        bias: tuple[float, float, float] = (0.0, 0.0, 0.0),
        seed: int = 0,
    ) -> None:
        if not (0.0 <= noise < np.inf and 0.0 <= walk < np.inf and 0.0 < period < np.inf):
            raise ModelError("A gyroscope needs noise and walk of 0 or more and a period greater than 0 s.")
        self.noise, self.walk, self.period, self.bias = noise, walk, period, np.array(bias, dtype=float)
        self.random = np.random.default_rng(seed)

    def read(self, rates: ArrayLike) -> Array:
        """(3,): mean rates over a period, body axes, as they are seen; the bias goes on."""
        before = self.bias
        self.bias = before + self.walk * np.sqrt(self.period) * self.random.standard_normal(3)
        spread = np.sqrt(self.noise**2 / self.period + self.walk**2 * self.period / 12.0)
        return np.asarray(rates, dtype=float) + 0.5 * (before + self.bias) + spread * self.random.standard_normal(3)
