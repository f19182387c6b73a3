"""Normal noise for sampled controls, and weighted means of those, made in compiled loops.

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
from phistar.backends.native_door import bind_call
from phistar.optimize.noisy_loop import GROUP

ITEMS, STEPS, CONTROLS = 1, 1, 1  # groups of pairs, and steps and controls of each; given when loops are compiled
LANES = GROUP  # as the loops read it
QUARTER, FIRST, SECOND, BEGIN, DIAGONAL = 0, 1, 2, 3, 4
"""Entries of `whole`: numbers in a quarter of the pool, and where its second quarter begins to be read in each
turn; where the first sample begins in the pool; whether the covariance is diagonal."""


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


def draw(m: Arrays) -> None:
    """The numbers of a round. They are a ring, of which the first come again at the end."""
    turn(m.drawn, m.turned, m.whole[QUARTER], m.whole[FIRST])
    turn(m.turned, m.pool, m.whole[QUARTER], m.whole[SECOND])
    for i in range(STEPS * CONTROLS * LANES):
        m.pool[4 * m.whole[QUARTER] + i] = m.pool[i]


def correlate(m: Arrays, at: int) -> None:
    """root · z of a step, lane by lane."""
    for j in range(CONTROLS):
        for lane in range(LANES):
            total = 0.0
            for i in range(j + 1):
                total += m.root[j, i] * m.pool[at + i * LANES + lane]
            m.noise[j * LANES + lane] = total


def average(m: Arrays) -> None:
    """Σ w u over all samples u = mean ± root · z between their bounds, lane by lane."""
    for i in range(STEPS * CONTROLS * LANES):
        m.total[i] = 0.0
    for item in range(ITEMS):
        for i in range(CONTROLS * LANES):
            m.first[i], m.second[i] = m.weights[item, i % LANES], m.weights[item, LANES + i % LANES]
        for step in range(STEPS):
            at, row = (item * STEPS + step) * CONTROLS * LANES + m.whole[BEGIN], step * CONTROLS * LANES
            if m.whole[DIAGONAL] == 1:
                for i in range(CONTROLS * LANES):
                    m.noise[i] = m.deviation[i] * m.pool[at + i]
            else:
                correlate(m, at)
            for i in range(CONTROLS * LANES):
                more = min(max(m.mean[row + i] + m.noise[i], m.low[i]), m.high[i])
                less = min(max(m.mean[row + i] - m.noise[i], m.low[i]), m.high[i])
                m.total[row + i] += m.first[i] * more + m.second[i] * less


@dataclass(frozen=True, eq=False)
class NoisePool:
    """Noise of `samples` rollouts over `steps` steps; half of them mirror the others."""

    samples: int
    steps: int
    low: np.ndarray  # (nu,), the controls' bounds
    high: np.ndarray
    seed: int

    @property
    def items(self) -> int:
        """Groups of pairs of rollouts."""
        return -(-((self.samples + 1) // 2) // GROUP)

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        nu, row = len(self.low), self.steps * len(self.low)
        quarter = -(-self.items * row * GROUP // 4)
        made = {"drawn": np.random.default_rng(self.seed).standard_normal(4 * quarter)}
        made |= {"turned": np.zeros(4 * quarter), "pool": np.zeros(4 * quarter + row * GROUP)}
        made |= {"root": np.zeros((nu, nu)), "weights": np.zeros((self.items, 2 * GROUP))}
        made |= {name: np.zeros(nu * GROUP) for name in ("noise", "deviation", "first", "second")}
        made |= {"low": np.repeat(self.low, GROUP), "high": np.repeat(self.high, GROUP)}
        made |= {name: np.zeros(row * GROUP) for name in ("mean", "total")}
        return made | {"whole": np.array([quarter, 0, 0, 0, 1], np.int64)}

    def noise(self, number: int) -> np.ndarray:
        """Normal numbers of a round, (items, N · nu · GROUP); memory that the next call writes to again."""
        arrays, row = self.arrays, self.arrays["total"].size
        chance, quarter = np.random.default_rng([self.seed, number]), arrays["whole"][QUARTER]
        arrays["whole"][[FIRST, SECOND]] = chance.integers(quarter, size=2)
        begin = GROUP * chance.integers(row // GROUP)
        arrays["whole"][BEGIN] = begin
        self._draw()
        return arrays["pool"][begin : begin + self.items * row].reshape(self.items, row)

    def average(self, mean: np.ndarray, root: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The weighted mean (N, nu) of a round's controls, whose noise has the covariance root · root*; weights
        (items, 2 · GROUP)."""
        arrays = self.arrays
        deviations = np.diag(root)
        arrays["mean"][:], arrays["weights"][:] = np.repeat(mean.reshape(-1), GROUP), weights
        arrays["root"][:], arrays["deviation"][:] = root, np.repeat(deviations, GROUP)
        arrays["whole"][DIAGONAL] = np.array_equal(root, np.diag(deviations))
        self._average()
        return arrays["total"].reshape(*mean.shape, GROUP).sum(axis=-1)

    def controls(self, mean: np.ndarray, root: np.ndarray, number: int) -> np.ndarray:
        """All controls of a round about a mean (N, nu), (items, 2 · GROUP, N, nu)."""
        z = self.noise(number).reshape(self.items, *mean.shape, GROUP)
        noise = np.einsum("ij,gtjl->glti", root, z)
        return np.clip(mean + np.concatenate([noise, -noise], axis=1), self.low, self.high)

    def count(self, costs: np.ndarray) -> np.ndarray:
        """The costs of all motions (items, 2 · GROUP), infinite beyond the samples that were asked for."""
        pair = np.arange(self.items * GROUP).reshape(self.items, GROUP)
        return np.where(np.tile(pair < (self.samples + 1) // 2, 2), costs, np.inf)

    @cached_property
    def _constants(self) -> dict[str, int]:
        return {"ITEMS": self.items, "STEPS": self.steps, "CONTROLS": len(self.low), "LANES": GROUP}

    @cached_property
    def _draw(self) -> Callable[[], None]:
        return bind_call((turn, draw), self.arrays, self._constants)

    @cached_property
    def _average(self) -> Callable[[], None]:
        return bind_call((correlate, average), self.arrays, self._constants)
