"""A sampled controller inside an integrator with error control: its forces are held between samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.control.sampled import SampledController, call_user, next_command, period_of
from phistar.errors import PhistarError

MOST_SAMPLES = 10_000_000


class Held:
    """The forces (nv,) of the last sample, at any time; `sample` asks for the next, once each."""

    def __init__(self, controller: SampledController[Any]) -> None:
        self.controller, self.period = controller, period_of(controller)
        self.memory, self.tau = call_user(0.0, controller.start), np.zeros(0)
        self.history: list[tuple[float, np.ndarray]] = []

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.tau

    def sample(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Ask what to do from t on, in the state q (nq,), v (nv,)."""
        self.memory, command = next_command(self.controller, self.memory, t, {"q": q.copy(), "v": v.copy()})
        self.tau = command.tau
        self.history.append((t, np.asarray(command.tau, dtype=float)))

    def at(self, times: np.ndarray) -> np.ndarray:
        """The forces from each time on, (T, nv)."""
        begun = np.array([t for t, _ in self.history])
        which = np.searchsorted(begun, times + 1e-9 * self.period, side="right") - 1
        return np.array([tau for _, tau in self.history])[np.maximum(which, 0)]

    def times(self, length: float) -> list[float]:
        """Times at which the controller is asked, from 0 on, and the end."""
        if length / self.period > MOST_SAMPLES:
            raise PhistarError(f"{length:g} s have too many samples of {self.period:g} s: more than {MOST_SAMPLES}.")
        times = np.round(self.period * np.arange(int(length / self.period + 1e-9) + 1), 12)
        return [*times[times < length - 1e-9 * self.period].tolist(), length]
