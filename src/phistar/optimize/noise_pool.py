"""Normal noise for sampled controls, made and added in compiled loops.

A pool of normal numbers, as many as a round of samples takes, is drawn once. For every round it is turned by orthogonal
maps, which leave it normal (Wallace 1996): four numbers, one of each quarter, become t − a, t − b, t − c and t − d with
t = ½(a + b + c + d), and change places; then again. What is turned with which others is drawn at random, by the number
of the round. That costs a dozen operations for four numbers, where drawing anew costs as much as the robot's dynamics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.backends.code.native import Arrays
from phistar.backends.native_door import bound

QUARTER, PAIRS, DIAGONAL, FIRST, SECOND, BEGIN = 0, 1, 2, 3, 4, 5
"""Entries of `whole`: numbers in a quarter of the pool; pairs of samples; whether the covariance is diagonal; where the
second quarter begins to be read in each of the two turns; and where the first sample begins in the pool."""
LENGTH, CONTROLS = 1, 1  # numbers in a sample, and in a step; given when the loops are compiled


def turn(source: np.ndarray, target: np.ndarray, size: int, start: int) -> None:
    """Every number with three others, and each into another quarter."""
    for part in range(2):
        first = 0 if part == 0 else size - start
        last = size - start if part == 0 else size
        shift = size + start if part == 0 else start
        for i in range(first, last):
            a, b, c, d = source[i], source[shift + i], source[2 * size + i], source[3 * size + i]
            t = 0.5 * (a + b + (c + d))
            target[i] = t - b
            target[size + i] = t - c
            target[2 * size + i] = t - d
            target[3 * size + i] = t - a


def correlate(m: Arrays, begin: int) -> None:
    """Noise of a pair of samples with a covariance, root · root*, step by step."""
    for step in range(LENGTH // CONTROLS):
        at = step * CONTROLS
        for i in range(CONTROLS):
            total = 0.0
            for j in range(i + 1):
                total += m.root[i, j] * m.pool[begin + at + j]
            m.noise[at + i] = total


def draw(m: Arrays) -> None:
    """u = mean ± noise between their bounds, for every pair of samples."""
    turn(m.drawn, m.turned, m.whole[QUARTER], m.whole[FIRST])
    turn(m.turned, m.pool, m.whole[QUARTER], m.whole[SECOND])
    pairs, size = m.whole[PAIRS], 4 * m.whole[QUARTER]
    for i in range(LENGTH):  # the pool is a ring
        m.pool[size + i] = m.pool[i]
    for pair in range(pairs):
        at = (m.whole[BEGIN] + pair * LENGTH) % size
        if m.whole[DIAGONAL] == 1:
            for i in range(LENGTH):
                m.noise[i] = m.deviation[i] * m.pool[at + i]
        else:
            correlate(m, at)
        for i in range(LENGTH):
            m.u[pair, i] = min(max(m.mean[i] + m.noise[i], m.low[i]), m.high[i])
            m.u[pairs + pair, i] = min(max(m.mean[i] - m.noise[i], m.low[i]), m.high[i])


@dataclass(frozen=True, eq=False)
class NoisePool:
    """Controls of `samples` rollouts over `steps` steps around a mean, with noise; half of them mirror the others."""

    samples: int
    steps: int
    low: np.ndarray  # (nu,)
    high: np.ndarray
    seed: int

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        pairs, nu = (self.samples + 1) // 2, len(self.low)
        length = self.steps * nu
        quarter = -(-pairs * length // 4)
        made = {"drawn": np.random.default_rng(self.seed).standard_normal(4 * quarter)}
        made |= {"turned": np.zeros(4 * quarter), "pool": np.zeros(4 * quarter + length)}
        made |= {"u": np.zeros((2 * pairs, length)), "root": np.zeros((nu, nu))}
        made |= {name: np.zeros(length) for name in ("mean", "noise", "deviation")}
        made |= {"low": np.tile(self.low, self.steps), "high": np.tile(self.high, self.steps)}
        return made | {"whole": np.array([quarter, pairs, 1, 0, 0, 0], np.int64)}

    def controls(self, mean: np.ndarray, root: np.ndarray, number: int) -> np.ndarray:
        """Controls (samples, N, nu) of a round about a mean (N, nu), with noise of covariance root · root*; memory that
        the next call writes to again."""
        arrays, diagonal = self.arrays, np.diag(root)
        arrays["mean"][:], arrays["root"][:] = mean.reshape(-1), root
        arrays["deviation"][:] = np.tile(diagonal, self.steps)
        arrays["whole"][DIAGONAL] = np.array_equal(root, np.diag(diagonal))
        chance, quarter = np.random.default_rng([self.seed, number]), arrays["whole"][QUARTER]
        arrays["whole"][[FIRST, SECOND, BEGIN]] = chance.integers([quarter, quarter, 4 * quarter])
        self._draw()
        return arrays["u"].reshape(-1, self.steps, len(self.low))

    @cached_property
    def _draw(self) -> Callable[[], None]:
        constants = {"LENGTH": self.steps * len(self.low), "CONTROLS": len(self.low)}
        return bound((turn, correlate, draw), self.arrays, constants)
