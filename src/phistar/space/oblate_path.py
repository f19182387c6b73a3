"""The way of a point in free fall about an oblate planet, integrated as far as it is asked for."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from phistar.array_types import Array
from phistar.errors import ModelError, PhistarError
from phistar.space.orbits import Orbit

SPAN = 600.0  # s that are integrated at once
TOLERANCE = 1e-13


class OblatePath:
    """Position and velocity on an orbit that the planet's J₂ bends, from the same start as `orbit`."""

    def __init__(self, orbit: Orbit) -> None:
        if orbit.planet.j2 == 0.0:
            raise ModelError("OrbitalGravity was asked for an oblate planet; this one has J₂ = 0.")
        self.orbit = orbit
        start = np.array([*orbit.position, *orbit.velocity])
        self._ends, self._parts = {1: [0.0], -1: [0.0]}, {1: list[Any](), -1: list[Any]()}
        self._states = {1: start, -1: start}

    def at(self, time: float) -> tuple[Array, Array]:
        """Position and velocity (3,) at a time, m and m/s."""
        way, length = (1 if time >= 0.0 else -1), abs(time)
        ends, parts = self._ends[way], self._parts[way]
        while ends[-1] < length or not parts:
            parts.append(self._extend(way, ends[-1]))
            ends.append(ends[-1] + SPAN)
        state = parts[min(bisect_right(ends, length), len(parts)) - 1](time)
        return state[:3], state[3:]

    def _extend(self, way: int, begin: float) -> Any:
        """The next seconds, as a function of time."""
        scale = np.repeat([np.linalg.norm(self.orbit.position), np.linalg.norm(self.orbit.velocity)], 3)
        span = (way * begin, way * (begin + SPAN))
        options = {"method": "DOP853", "rtol": TOLERANCE, "atol": TOLERANCE * scale, "dense_output": True}
        made = solve_ivp(self._fall, span, self._states[way], **options)
        if not made.success:
            raise PhistarError(f"The orbit about an oblate planet was not found: {made.message}")
        self._states[way] = made.y[:, -1]
        return made.sol

    def _fall(self, _: float, state: Array) -> Array:
        return np.concatenate([state[3:], self.orbit.planet.gravity(state[:3])])
