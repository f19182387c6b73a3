"""What drives a scene: joint forces of a continuous law or of a controller that lives in samples, within limits."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from phistar.control.sampled import Command, SampledController, Switch
from phistar.dynamics import jacobian
from phistar.errors import PhistarError
from phistar.sim.motion import Moment
from phistar.sim.passive import Passive
from phistar.sim.scenes.controllers import Control, effort_limits
from phistar.sim.scenes.readings import Line, Readings
from phistar.sim.scenes.scene import Setting


class Continuous:
    """A function (t, q, v) → joint forces, asked at every step; `tau` is what it gave last."""

    period: float | None = None
    phase = ""
    clipped: int | None = None  # steps are tried and made again: there are no samples to count

    def __init__(self, setting: Setting, law: Control) -> None:
        self.law, self.limits = law, Limits(setting)
        self.tau, self.switches = np.zeros(setting.model.nv), list[Switch]()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.tau, _ = self.limits.kept(_asked(t, self.law, t, q, v), t)
        return self.tau


class Sampled:
    """A controller at work: its memory, its last command, which is held, and what its sensors remember."""

    def __init__(self, setting: Setting, controller: SampledController[Any], seed: np.random.SeedSequence) -> None:
        self.controller, self.period, self.limits = controller, _period(controller), Limits(setting)
        self.readings = Readings(setting.sensing, self.period)
        self.line: Line = self.readings.start(seed)
        self.memory, self.clipped = _asked(0.0, controller.start), 0
        self.tau, self.command = np.zeros(setting.model.nv), Command(np.zeros(setting.model.nv))
        self.switches: list[Switch] = []

    @property
    def phase(self) -> str:
        return self.command.phase

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.tau

    def sample(self, moment: Moment) -> None:
        """Senses, and asks what to do until the next sample."""
        time = moment.time
        self.line, sensed = self.readings.next(self.line, moment)
        made = _asked(time, self.controller.command, self.memory, time, sensed)
        if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[1], Command):
            raise PhistarError(f"At t = {time:.6g} s the controller gives {made!r:.100}, not its memory and a Command.")
        _check_facts(made[1].facts, time)
        self.memory, self.command = made
        self.tau, clipped = self.limits.kept(self.command.tau, time)
        self.clipped += clipped
        if self.command.switches:
            self.switches += self.command.switches


class Limits:
    """Joint forces as a model can take them."""

    def __init__(self, setting: Setting) -> None:
        self.model, self.most = setting.model, effort_limits(setting)
        self.finite = bool(np.isfinite(self.most).any())

    def kept(self, given: Any, time: float) -> tuple[np.ndarray, bool]:
        """(nv,) numbers, checked and clipped, and whether they had to be."""
        try:
            tau = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise PhistarError(f"At t = {time:.6g} s the controller gives {given!r:.100} as joint forces.") from None
        if tau.shape != self.most.shape:
            raise PhistarError(
                f"At t = {time:.6g} s the controller gives joint forces of shape {tau.shape}; {self.model.name} takes "
                f"{self.most.shape}."
            )
        if not isfinite(tau @ tau):
            worst = int(np.argmax(np.where(np.isfinite(tau), np.abs(tau), np.inf)))
            joint = next(joint for joint in self.model.joints if joint.v_slice.stop > worst)
            value = tau[joint.v_slice].tolist()
            raise PhistarError(f"At t = {time:.6g} s the controller gives {value} on {joint.name}; it must be finite.")
        if not self.finite or not (np.abs(tau) > self.most).any():
            return tau, False
        return np.clip(tau, -self.most, self.most), True


class Drive:
    """All forces on the joints: the controller's, passive ones and disturbances; `applied` is what they were last."""

    def __init__(self, setting: Setting, law: Continuous | Sampled) -> None:
        self.model, self.law, self.disturbances = setting.model, law, setting.disturbances
        self.passive = Passive(self.model)
        self.sprung = bool(self.passive.stiffness.any())
        self.applied = np.zeros(self.model.nv)

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = self.law(t, q, v)
        for each in self.disturbances:
            if each.start <= t < each.start + each.duration:
                tau = tau + jacobian(self.model, q, each.frame).T @ each.force
        self.applied = tau + self.passive.smooth(q, v) if self.sprung else tau - self.passive.damping * v
        return self.applied


def _asked(time: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a user's function gives; what it raises becomes a sentence with the time."""
    try:
        return function(*arguments)
    except PhistarError as error:
        raise PhistarError(f"At t = {time:.6g} s the controller stops: {error}") from error
    except Exception as error:
        raise PhistarError(f"At t = {time:.6g} s the controller fails: {type(error).__name__}: {error}") from error


def _check_facts(facts: Any, time: float) -> None:
    """Refuses what cannot be kept as a number over time, at once and not when all is summed up."""
    name, given = "facts", facts
    try:
        for name, given in facts.items():  # noqa: B007 - the sentence says which it was
            float(given)
    except (TypeError, ValueError, AttributeError):
        raise PhistarError(
            f"At t = {time:.6g} s the controller tells {name} = {given!r:.100}; a fact is a number."
        ) from None


def _period(controller: SampledController[Any]) -> float:
    period = controller.period
    if isinstance(period, bool) or not isinstance(period, int | float) or not 1e-6 <= period < np.inf:
        raise PhistarError(f"A controller's period must be a number of seconds from 1e-6 on; it is {period!r:.50}.")
    return float(period)
