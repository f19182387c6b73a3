"""Drive of a scene: joint forces of a continuous law or of a sampled controller, within limits."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from phistar.control.sampled import (
    Command,
    SampledController,
    SampledFunction,
    Switch,
    asked,
    commanded,
    period_of,
)
from phistar.dynamics import jacobian
from phistar.errors import PhistarError
from phistar.model import Free
from phistar.plant.commands import Adapted, command_of
from phistar.plant.session import Session
from phistar.sim.motion import Moment
from phistar.sim.passive import Passive
from phistar.sim.scenes.controllers import Control, effort_limits
from phistar.sim.scenes.readings import Line, Readings
from phistar.sim.scenes.scene import Setting

ROUNDING = 1e-9  # of the largest force: less than that where no motor is was meant to be nothing


class Continuous:
    """A file's pure law (t, q, v) → joint forces, asked at every step, tried ones too; `tau` is what it gave last."""

    period: float | None = None
    values: np.ndarray | None = None  # of servos, which are given no command
    phase = ""
    clipped: int | None = None  # steps are tried and made again: there are no samples to count

    def __init__(self, setting: Setting, law: Control) -> None:
        self.law, self.limits = law, Limits(setting)
        self.tau, self.switches = np.zeros(setting.model.nv), list[Switch]()

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.tau, _ = self.limits.kept(asked(t, self.law, t, q, v), t)
        return self.tau


class Sampled:
    """A running sampled controller: its memory, its last command, which is held, and its sensors' memory. Where a scene
    has no sensors it is given the true q and v."""

    def __init__(self, setting: Setting, controller: SampledController[Any], seed: np.random.SeedSequence) -> None:
        self.controller, self.period, self.limits = controller, period_of(controller), Limits(setting)
        self.readings = Readings(setting.sensing, self.period)
        self.line: Line = self.readings.start(seed)
        self.sees_all, self.sees_more = isinstance(controller, SampledFunction), isinstance(controller, Adapted)
        self.sees_all = self.sees_all or not setting.plant.sensors
        self.values: np.ndarray | None = np.zeros(setting.plant.nu) if self.limits.served else None
        self.memory, self.clipped = asked(0.0, controller.start), 0
        self.tau, self.command = np.zeros(setting.model.nv), Command(np.zeros(setting.model.nv))
        self.switches: list[Switch] = []

    @property
    def phase(self) -> str:
        return self.command.phase

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.tau

    def sample(self, moment: Moment, session: Session) -> None:
        """Read the sensors and compute the command held until the next sample."""
        time = moment.time
        self.line, sensed = self.readings.next(self.line, moment, session, self.tau)
        if self.sees_all:
            sensed = {"q": moment.state.q, "v": moment.state.v}
        elif self.sees_more:
            sensed = {"q": moment.state.q, "v": moment.state.v, **sensed}
        made = commanded(self.controller, self.memory, time, sensed)
        _check_facts(made[1].facts, time)
        self.memory, self.command = made
        if self.values is not None:
            self.values = self.limits.command(self.command.tau, time)
        else:
            self.tau, clipped = self.limits.kept(self.command.tau, time)
            self.clipped += clipped
        if self.command.switches:
            self.switches += self.command.switches


class Limits:
    """Limits on a controller's output: joint forces within those of the motors or, where an actuator is not a plain
    force-controlled motor or fields act (`served`), commands."""

    def __init__(self, setting: Setting) -> None:
        self.model, self.most, self.plant = setting.model, effort_limits(setting), setting.plant
        self.served = any(not actuator.is_plain for actuator in setting.plant.actuators) or bool(setting.plant.fields)
        self.finite, self.passive = bool(np.isfinite(self.most).any()), self.most == 0.0
        self.anywhere = not self.passive.any()

    def command(self, given: Any, time: float) -> np.ndarray:
        """A command (nu,), checked."""
        try:
            return command_of(given, self.plant.actuators, self.model, self.plant.name)
        except PhistarError as error:
            raise PhistarError(f"At t = {time:.6g} s: {error}") from None

    def kept(self, given: Any, time: float) -> tuple[np.ndarray, bool]:
        """(nv,) numbers, checked and clipped, and whether they had to be; a mapping is of motors' names to forces."""
        if isinstance(given, Mapping):
            tau = np.zeros(len(self.most))
            for actuator, value in zip(self.plant.actuators, self.command(given, time), strict=True):
                tau[actuator.rate] += value
            given = tau
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
            name, value = self._worst(tau, np.abs(np.nan_to_num(tau, nan=np.inf)))
            raise PhistarError(f"At t = {time:.6g} s the controller gives {value} on {name}; it must be finite.")
        if not self.finite or not (np.abs(tau) > self.most).any():
            return tau, False
        if not self.anywhere:
            self._refuse_phantoms(tau, time)
        within = np.clip(tau, -self.most, self.most)
        return within, bool((np.abs(tau - within)[~self.passive] > 0.0).any())

    def _refuse_phantoms(self, tau: np.ndarray, time: float) -> None:
        """Refuse forces on joints without a motor, unless they are rounding errors of the others."""
        pushed = np.abs(np.where(self.passive, tau, 0.0))
        if pushed.max() > ROUNDING * np.abs(tau).max():
            name, value = self._worst(tau, pushed)
            raise PhistarError(
                f"At t = {time:.6g} s the controller gives {value} on {name}, which has no motor: free joints, modes "
                "of bodies that bend, joints that no actuator of an MJCF file acts on, joints whose effort limit is 0 "
                "and joints that follow others have none. Give 0 there; a [[disturbances]] table pushes what it likes."
            )

    def _worst(self, tau: np.ndarray, sizes: np.ndarray) -> tuple[str, list[float]]:
        """Joint with the largest size, and the forces on it."""
        body = next(body for body in self.model.bodies if int(np.argmax(sizes)) in body.rates)
        return body.joint.name, tau[list(body.rates)].tolist()


class Drive:
    """Joint forces of a step: the controller's, disturbances, and what passive joints do that a step does not know:
    springs of free joints."""

    def __init__(self, setting: Setting, law: Continuous | Sampled) -> None:
        self.model, self.law, self.disturbances = setting.model, law, setting.disturbances
        self.served, self.step = law.limits.served, setting.timing.step
        late = [actuator.name for actuator in setting.plant.actuators if actuator.delay > 0.0]
        if late and self.step is None:
            raise PhistarError(f"The actuator '{late[0]}' acts late, which needs steps of one length: [time] step = ….")
        self.passive = Passive(self.model)
        self.stiffness = np.zeros(self.model.nv)
        for joint in self.model.joints:
            if isinstance(joint.kind, Free):
                self.stiffness[joint.v_slice] = self.passive.stiffness[joint.v_slice]
        self.sprung = bool(self.stiffness.any())

    def into(self, session: Session, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Give a session the forces and commands of its next step."""
        if self.served:
            outside = self._outside(np.zeros(self.model.nv), t, q, v)
            session.drive(self.law.values, outside, self.step or 1e-3, t)
        else:
            session.engine.force[: self.model.nv] = self._outside(self.law(t, q, v), t, q, v) - session.drag * v

    def _outside(self, tau: np.ndarray, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Joint forces with those that no motor gives."""
        for each in self.disturbances:
            if each.start <= t < each.start + each.duration:
                tau = tau + jacobian(self.model, q, each.frame).T @ each.force
        if self.sprung:
            tau = tau - self.stiffness * self.passive.deflection(q)
        return tau


def _check_facts(facts: Any, time: float) -> None:
    """Refuse facts that cannot be logged as numbers over time, at once rather than in the summary."""
    name, given = "facts", facts
    try:
        for name, given in facts.items():  # noqa: B007 - the sentence says which it was
            float(given)
    except (TypeError, ValueError, AttributeError):
        raise PhistarError(
            f"At t = {time:.6g} s the controller tells {name} = {given!r:.100}; a fact is a number."
        ) from None
