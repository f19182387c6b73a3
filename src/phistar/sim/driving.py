"""Drivers of a run: its controller, asked in samples or at every step, and forces from outside the plant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from phistar.control.sampled import (
    Command,
    SampledController,
    SampledFunction,
    Switch,
    call_user,
    is_sampled,
    next_command,
    period_of,
)
from phistar.dynamics import jacobian
from phistar.errors import PhistarError
from phistar.model import Model
from phistar.plant.commands import Adapted, Commands
from phistar.plant.session import Session
from phistar.sim.experiment import Disturbance, Experiment, PureLaw
from phistar.sim.motion import Moment

NUMBERS = {float, int, bool}


class Driving:
    """The controller of an experiment with its memory and the command that it gave last, which is held."""

    def __init__(self, experiment: Experiment, commands: Commands) -> None:
        plant, timing = experiment.plant, experiment.timing
        self.commands, self.outside = commands, Outside(plant.model, experiment.disturbances)
        self.step, self.sample_time = timing.step, timing.sample
        self._read = self.commands.of_forces if experiment.gives_forces else self.commands.of
        control = experiment.control
        self.controller: SampledController[Any] | None = None
        self.law: PureLaw | None = None
        if control is not None and is_sampled(control):
            self.controller = cast("SampledController[Any]", control)
        elif control is not None:
            self.law = cast("PureLaw", control)
        self.period = None if self.controller is None else period_of(self.controller)
        self.sees_state = isinstance(control, SampledFunction | Adapted) or not plant.sensors
        self.sees_readings = not isinstance(control, SampledFunction)
        late = [actuator.name for actuator in plant.actuators if actuator.delay > 0.0]
        self.is_late = bool(late)
        uneven = self.period is not None and abs(self.period - timing.sample) > 1e-9 * timing.sample
        if late and timing.step is None and (uneven or self.law is not None or self.outside.acts):
            raise PhistarError(f"The actuator '{late[0]}' acts late, which needs steps of one length: step = ….")
        self.memory = None if self.controller is None else call_user(0.0, self.controller.start)
        self.values, self.command = np.zeros(self.commands.count), Command(np.zeros(0))
        self.clipped: int | None = None if self.controller is None else 0  # of a law there are no samples to count
        self.switches: list[Switch] = []

    @property
    def phase(self) -> str:
        return self.command.phase

    def sample(self, moment: Moment, readings: Mapping[str, Any]) -> None:
        """Ask the controller for the command that is held until the next sample."""
        if self.controller is None:
            return
        time, sensed = moment.time, dict(readings) if self.sees_readings else {}
        if self.sees_state:
            sensed = {"q": moment.state.q, "v": moment.state.v} | sensed
        made = next_command(self.controller, self.memory, time, sensed)
        _check_facts(made[1].facts, time)
        self.memory, self.command = made
        self.hold(self.command.tau, time)
        self.clipped = (self.clipped or 0) + self.commands.is_clipped(self.values)
        self.switches += self.command.switches

    def hold(self, given: Any, time: float) -> None:
        """Hold a command until the next."""
        self.values = self._command(given, time)

    def _command(self, given: Any, time: float) -> np.ndarray:
        try:
            return self._read(given)
        except PhistarError as error:
            raise type(error)(f"At t = {time:.6g} s: {error}") from None

    def into(self, session: Session, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Give a session the command and the outer forces of its next step."""
        values = self.values if self.law is None else self._command(call_user(t, self.law, t, q, v), t)
        session.push(values, self.outside.forces(t, q), self.step or self.sample_time, t)

    @property
    def each_step(self) -> Callable[[Session, float, np.ndarray, np.ndarray], None] | None:
        """`into`, for a motion to call at each of its steps; None where they have no one length and nothing but samples
        changes what drives them: it is called at those, which delays count."""
        return None if self.step is None and self.law is None and not self.outside.acts else self.into

    def forces_from(self, moment: Moment) -> np.ndarray | None:
        """Joint forces (nv,) of motors from a moment on; None where only the step that follows can tell: of servos, and
        of motors that act late."""
        if not self.commands.at_once:
            return None
        values = self.values
        if self.law is not None:
            t, (q, v, *_) = moment.time, moment.state
            values = self._command(call_user(t, self.law, t, q, v), t)
        return self.commands.forces(values)


class Outside:
    """Joint forces that no actuator gives and a step does not know: disturbances."""

    def __init__(self, model: Model, disturbances: Sequence[Disturbance]) -> None:
        self.model, self.disturbances, self.acts = model, disturbances, bool(disturbances)

    def forces(self, t: float, q: np.ndarray) -> np.ndarray | None:
        """(nv,) at a time and place; None where nothing acts."""
        tau = None
        for each in self.disturbances:
            if each.start <= t < each.start + each.duration:
                push = jacobian(self.model, q, each.frame).T @ each.force
                tau = push if tau is None else tau + push
        return tau


def _check_facts(facts: Any, time: float) -> None:
    """Refuse facts that cannot be logged as numbers over time, at once rather than in the summary."""
    if type(facts) is dict and set(map(type, facts.values())) <= NUMBERS:
        return
    name, given = "facts", facts
    try:
        for name, given in facts.items():  # noqa: B007 - the sentence says which it was
            float(given)
    except (TypeError, ValueError, AttributeError):
        raise PhistarError(
            f"At t = {time:.6g} s the controller tells {name} = {given!r:.100}; a fact is a number."
        ) from None
