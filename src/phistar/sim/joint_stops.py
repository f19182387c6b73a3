"""Joint limits in `ps.simulate`: stops that joints arrive at without rebound, and that push one way while they rest.

A joint arrives where its room is used up. Its rate and those of joints that rest already jump by the least impulses

    v⁺ = v + ℳ⁻¹E*λ,   λ ≥ 0,   Ev⁺ ≥ 0,   λ*Ev⁺ = 0,

E the rates of those joints, inward, after which the stop's force is that of dry friction whose bound on one side is
infinite (`sticking.py`): the joint stays until something pulls it away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.errors import PhistarError
from phistar.model import Model

NEAR = 1e-10  # rad or m: where a joint rests before its limit, so that one that leaves has room to begin with
STILL = 1e-12  # rad/s or m/s: a joint at its limit that leaves so slowly, by the last digits of an impulse, rests there


@dataclass(frozen=True)
class Stops:
    """The limits of a model's joints; of joints that `told` moves there are none."""

    model: Model
    told: tuple[bool, ...] = ()

    @cached_property
    def _limit_indices(self) -> tuple[np.ndarray, np.ndarray]:
        """Rates with limits and their coordinates."""
        rates, places = [], []
        for joint in self.model.joints:
            if joint.kind.flat and self.model.embedding is None:
                for k in range(joint.nv):
                    rate = joint.v_slice.start + k
                    if np.isfinite(joint.kind.limits[:, k]).any() and not (self.told and self.told[rate]):
                        rates.append(rate)
                        places.append(joint.q_slice.start + k)
        return np.array(rates, dtype=int), np.array(places, dtype=int)

    @property
    def any(self) -> bool:
        return bool(len(self._limit_indices[0]))

    def name(self, rate: int) -> str:
        """The joint of a rate."""
        return next(joint.name for joint in self.model.joints if joint.v_slice.start <= rate < joint.v_slice.stop)

    def rooms(self, q: np.ndarray) -> np.ndarray:
        """Room below and above each limited rate, (2, n)."""
        places = self._limit_indices[1]
        return np.stack([q[places] - self.model.lower_limits[places], self.model.upper_limits[places] - q[places]])

    def margin(self, q: np.ndarray, ways: np.ndarray) -> float:
        """Least room of joints that do not rest at a stop; negative where one has arrived."""
        rooms = self.rooms(q)
        resting = ways[self._limit_indices[0]]
        rooms[0, resting < 0.0], rooms[1, resting > 0.0] = np.inf, np.inf
        return float(np.min(rooms, initial=np.inf))

    def at(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Stops that joints are at and do not leave, (nv,): −1 the lower, 1 the upper, 0 none."""
        ways, (rates, _) = np.zeros(self.model.nv), self._limit_indices
        below, above = self.rooms(q) <= 2.0 * NEAR
        ways[rates[below & (v[rates] <= STILL)]] = -1.0
        ways[rates[above & (v[rates] >= -STILL)]] = 1.0
        return ways

    def seat(self, q: np.ndarray, ways: np.ndarray) -> np.ndarray:
        """q with joints at stops NEAR before their limits."""
        q, (rates, places) = q.copy(), self._limit_indices
        lower, upper = places[ways[rates] < 0.0], places[ways[rates] > 0.0]
        q[lower], q[upper] = self.model.lower_limits[lower] + NEAR, self.model.upper_limits[upper] - NEAR
        return q

    def check(self, q: np.ndarray) -> None:
        """Refuse a start beyond a limit."""
        rooms = self.rooms(q)
        if len(rooms[0]) and np.min(rooms) < -NEAR:
            side, at = np.unravel_index(np.argmin(rooms), rooms.shape)
            place = self._limit_indices[1][at]
            joint = next(j for j in self.model.joints if j.q_slice.start <= place < j.q_slice.stop)
            low, high = self.model.lower_limits[place], self.model.upper_limits[place]
            raise PhistarError(
                f"The joint '{joint.name}' starts at {q[place]:.6g}, {'below' if side == 0 else 'above'} its limits "
                f"{low:g} to {high:g}. Start within them, or leave the limits out with limits='ignore'."
            )


def stopped_rates(inverse: np.ndarray, v: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """v⁺ of joints at stops that move outward; `inverse` answers impulses, ℳ⁻¹ without loops."""
    from scipy.optimize import lsq_linear

    from phistar.sim.sticking import square_root

    at = np.flatnonzero(ways)
    inward = -ways[at]
    block = inward[:, None] * inverse[np.ix_(at, at)] * inward
    root, side = square_root(block, inward * v[at], np.abs(inverse).max())
    impulse = lsq_linear(root, -side, (0.0, np.inf), method="bvls").x
    after = v + inverse[:, at] @ (inward * impulse)
    after[at[(impulse > 0.0) | (np.abs(after[at]) <= STILL)]] = 0.0
    return after
