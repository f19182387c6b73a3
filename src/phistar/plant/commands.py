"""Controllers of a plant: functions and objects as sampled controllers, and what they give as commands.

    control(t, q, v) or control(t, q, v, sensed)     a function, asked once a step; it may remember
    reset(), step(t, sensed)                          an object that remembers; `period` s where it has one
    start(), command(memory, t, sensed), period       a `ps.control.SampledController`, whose memory is passed

`sensed` has the readings of the plant's sensors by name; of a plant without sensors, q and v. A command has one entry
per actuator (three of an impedance), or is a mapping of actuators' names to numbers; where all actuators take forces,
it may be the joint forces (nv,), none of them on a joint that nothing drives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np

from phistar.control.sampled import Command, SampledController, asked, commanded, is_sampled, period_of
from phistar.errors import PhistarError, ShapeError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.plant.actuators import Actuator, entries_of

LATE = 1e-6  # of a step: how far a period may be from a whole number of them


@dataclass(frozen=True)
class Adapted:
    """A function, or an object's `step`, as a sampled controller without a memory of its own."""

    ask: Callable[[float, Mapping[str, Any]], Any]
    period: float
    reset: Callable[[], Any] | None = None

    def start(self) -> None:
        if self.reset is not None:
            self.reset()

    def command(self, memory: None, t: float, sensed: Mapping[str, Any]) -> tuple[None, Command]:
        return None, Command(self.ask(t, sensed))


def controller_of(control: Any, step: float) -> SampledController[Any]:
    """Any controller in the one form that a run asks."""
    if is_sampled(control):
        return control
    if callable(getattr(control, "step", None)):
        reset = getattr(control, "reset", None)
        return Adapted(control.step, getattr(control, "period", step), reset if callable(reset) else None)
    if not callable(control):
        raise PhistarError(
            f"A plant's control is a function (t, q, v) or (t, q, v, sensed), an object with step(t, sensed), or a "
            f"ps.control.SampledController; it was given {type(control).__name__}."
        )
    if _places(control) >= 4:
        return Adapted(lambda t, sensed: control(t, sensed["q"], sensed["v"], sensed), step)
    return Adapted(lambda t, sensed: control(t, sensed["q"], sensed["v"]), step)


def _places(function: Callable[..., Any]) -> int:
    """How many positional arguments a function takes; one that does not say takes three."""
    try:
        given = signature(function).parameters.values()
    except (TypeError, ValueError):
        return 3
    return sum(each.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for each in given)


class Asking:
    """A controller in a run of steps: asked once a period, its command held in between."""

    def __init__(self, control: Any, step: float, checked: Callable[[Any], np.ndarray]) -> None:
        self.controller, self._checked = controller_of(control, step), checked
        period = period_of(self.controller)
        self.every = round(period / step)
        if self.every < 1 or abs(period / step - self.every) > LATE * max(self.every, 1):
            raise PhistarError(
                f"The controller's period is {period:g} s; a whole number of steps of {step:g} s was expected."
            )
        self.memory, self.held = asked(0.0, self.controller.start), np.zeros(0)
        self.switches: list[Any] = []

    def command(self, number: int, t: float, sensed: Mapping[str, Any]) -> np.ndarray:
        """The command (nu,) of step `number`, which begins at t."""
        if number % self.every == 0:
            self.memory, made = commanded(self.controller, self.memory, t, sensed)
            self.switches += made.switches
            try:
                self.held = self._checked(made.tau)
            except PhistarError as error:
                raise type(error)(f"At t = {t:.6g} s: {error}") from None
        return self.held


def command_of(given: Any, actuators: Sequence[Actuator], model: Model, name: str) -> np.ndarray:
    """The command (nu,) out of what a caller gave; what no actuator can do is refused."""
    if isinstance(given, Mapping):
        return _named(given, actuators, model, name)
    entries = entries_of(actuators)
    try:
        made = np.zeros(entries) if given is None else np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(
            f"A command is numbers, or a mapping of names to numbers; it was given {given!r:.80}."
        ) from None
    if made.shape == (entries,):
        _check_finite(made, actuators, given)
        return made
    if made.shape == (model.nv,) and actuators and all(each.kind == "force" for each in actuators):
        return _driven(made, actuators, model)
    raise ShapeError(_refusal(made.shape, actuators, name))


def _check_finite(made: np.ndarray, actuators: Sequence[Actuator], given: Any) -> None:
    if not np.isfinite(made).all():
        owners = [actuator.name for actuator in actuators for _ in range(actuator.entries)]
        wrong = owners[int(np.flatnonzero(~np.isfinite(made))[0])]
        raise ShapeError(f"The command of the actuator '{wrong}' is no finite number; it was given {given!r:.80}.")


def _named(given: Mapping[Any, Any], actuators: Sequence[Actuator], model: Model, name: str) -> np.ndarray:
    numbers: dict[str, slice] = {}
    for actuator in actuators:
        start = max((own.stop for own in numbers.values()), default=0)
        numbers[actuator.name] = slice(start, start + actuator.entries)
    made = np.zeros(entries_of(actuators))
    for each, value in given.items():
        if each not in numbers:
            if each in model.joint_indices:
                raise _passive(each)
            raise unknown("actuator", str(each), list(numbers), name)
        made[numbers[each]] = value
    _check_finite(made, actuators, given)
    return made


def _driven(forces: np.ndarray, actuators: Sequence[Actuator], model: Model) -> np.ndarray:
    """Joint forces (nv,) as commands of the motors that give them."""
    made, left = np.zeros(len(actuators)), forces.copy()
    for number, actuator in enumerate(actuators):
        made[number] = left[actuator.rate] / actuator.gear
        left[actuator.rate] = 0.0
    if left.any() or not np.isfinite(left).all():
        rate = int(np.flatnonzero((left != 0.0) | ~np.isfinite(left))[0])
        body = next(body for body in model.bodies if rate in body.rates)
        raise _passive(body.joint.name, float(left[rate]))
    _check_finite(made, actuators, forces)
    return made


def _passive(joint: str, force: float | None = None) -> PhistarError:
    what = "a command" if force is None else f"a force of {force:g}"
    return PhistarError(
        f"The joint '{joint}' has no actuator and was given {what}; give it one with plant.actuate(…), or push it from "
        "outside by plant.step(…, force=…)."
    )


def _refusal(shape: tuple[int, ...], actuators: Sequence[Actuator], name: str) -> str:
    if not actuators:
        return f"The plant '{name}' has no actuators; give it some with plant.actuate(…) before a command."
    names = ", ".join(actuator.name for actuator in actuators[:8])
    return f"A command of this plant has {entries_of(actuators)} entries ({names}…); it was given shape {shape}."
