"""An experiment: a plant with what drives, pushes and changes it, and how long it is watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any, NamedTuple

import numpy as np

from phistar.control.sampled import SampledController
from phistar.errors import PhistarError
from phistar.plant.plant import Plant
from phistar.plant.session import PlantState
from phistar.sim.topology import Latch, Release

MOST_SAMPLES = 100_000_000
PureLaw = Callable[[float, np.ndarray, np.ndarray], Any]  # (t, q, v) → joint forces; asked anywhere, also back in time


@dataclass(frozen=True)
class Disturbance:
    """A force [moment; force] on a frame, world axes at its origin, from `start` for `duration`."""

    frame: str
    start: float
    duration: float
    force: np.ndarray


@dataclass(frozen=True)
class Timing:
    """How long, how often states are kept, and either a fixed step or the tolerances of a free one; the controller's
    phases that end a run, and how long after."""

    duration: float
    sample: float
    step: float | None
    rtol: float
    atol: float
    stop: tuple[str, ...] = ()
    stop_after: float = 0.0


@dataclass(frozen=True)
class Experiment:
    """Definition of one run.

    Attributes
    ----------
    plant : Plant
    timing : Timing
    control : SampledController, PureLaw or None
        A controller that is asked once a period, or a law of a scene file, a pure function of time and state.
    gives_forces : bool
        Whether an answer of length nv is joint forces even where a command has as many entries.
    disturbances : Disturbances, which push frames from outside.
    changes : Latches and releases, which act at the first sample at which they are due.
    watches : Sets of numbers of pairs of shapes: whether one of each touches throughout is kept.
    start : PlantState or None
        None is the plant's own.
    start_is_known : bool
        Whether the start was checked to be a state of the plant.
    seed : int
        Noise of the sensors is drawn from it.
    audit : bool
        Whether energy and momentum are accounted for.
    """

    plant: Plant
    timing: Timing
    control: SampledController[Any] | PureLaw | None = None
    gives_forces: bool = False
    disturbances: tuple[Disturbance, ...] = ()
    changes: tuple[Latch | Release, ...] = ()
    watches: Sequence[frozenset[int]] = ()
    start: PlantState | None = None
    start_is_known: bool = False
    seed: int = 0
    audit: bool = True

    @property
    def needs_steps(self) -> bool:
        """Whether every step is told, not only samples."""
        return self.audit or bool(self.watches)

    @property
    def is_unattended(self) -> bool:
        """Whether nothing is told to the plant or read of it between samples, so that a compiled loop goes through all
        of them; it keeps no moments of soft patches, nor what surfaces pull."""
        plant = self.plant
        acting = plant.actuators or plant.sensors or plant.fields or self.disturbances or self.changes
        plain = not any(law.patch > 0.0 or law.pulls for law in plant.system.laws)
        return not (acting or self.control is not None or self.watches or self.timing.stop) and plain


class Schedule(NamedTuple):
    """Times that a run stops at, from 0 on; whether a controller is asked there, and whether a row is kept."""

    times: list[float]
    asked: list[bool]
    kept: list[bool]

    @staticmethod
    def of(timing: Timing, period: float | None) -> Schedule:
        """Stops at the samples of a run and, where it has a controller, once a period."""
        duration, count = timing.duration, max(1, round(timing.duration / timing.sample))
        digits = max(12, 6 - floor(log10(min(timing.sample, period or timing.sample))))  # two that mean one time agree
        kept = np.round(duration * np.arange(count + 1) / count, digits)
        if period is None:
            every = [True] * len(kept)
            return Schedule(kept.tolist(), every, every)
        if duration / period > MOST_SAMPLES:
            raise PhistarError(f"{duration:g} s have too many samples of {period:g} s: more than {MOST_SAMPLES}.")
        asked = np.round(period * np.arange(int(duration / period + 1e-9) + 1), digits)
        times = np.union1d(kept, asked)
        return Schedule(times.tolist(), np.isin(times, asked).tolist(), np.isin(times, kept).tolist())
