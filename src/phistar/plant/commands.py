"""Controllers of a plant: functions and objects as sampled controllers, and what they give as commands.

    control(t, q, v) or control(t, q, v, sensed)     a function, asked once a step; it may remember
    reset(), step(t, sensed)                          an object that remembers; `period` s where it has one
    start(), command(memory, t, sensed), period       a `ps.control.SampledController`, whose memory is passed

`sensed` has the readings of the plant's sensors by name; of a plant without sensors, q and v; functions are given q
and v in any case. A command has one entry per actuator (three of an impedance), or is a mapping of actuators' names to
numbers; where all actuators take forces, it may be the joint forces (nv,), none of them on a joint that nothing drives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from math import isfinite
from typing import Any

import numpy as np

from phistar.control.sampled import Command, SampledController, is_sampled
from phistar.errors import PhistarError, ShapeError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.plant.actuators import Actuator, entries_of

ROUNDING = 1e-9  # of the largest force: less than that where no motor is was meant to be nothing


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
    """Number of positional arguments of a function; one that does not say takes three."""
    try:
        given = signature(function).parameters.values()
    except (TypeError, ValueError):
        return 3
    return sum(each.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for each in given)


class Commands:
    """Commands (nu,) of a plant's actuators out of what controllers give, and the joint forces (nv,) of its motors."""

    def __init__(self, actuators: Sequence[Actuator], model: Model, name: str) -> None:
        self.actuators, self.model, self.name = actuators, model, name
        self.count = entries_of(actuators)
        firsts = np.cumsum([0, *(each.entries for each in actuators)])[:-1]
        motors = [number for number, each in enumerate(actuators) if each.kind == "force" and each.rate >= 0]
        own = [actuators[number] for number in motors]
        self._entry = np.array([firsts[number] for number in motors], dtype=int)
        self._rate = np.array([each.rate for each in own], dtype=int)
        self._gear, self._offset = np.array([each.gear for each in own]), np.array([each.offset for each in own])
        bounds = np.array([each.bounds for each in own]).reshape(-1, 2)
        self._low, self._high = bounds[:, 0], bounds[:, 1]
        self.bounded = bool(np.isfinite(bounds).any())
        self.only_motors = len(own) == len(actuators)
        self.at_once = self.only_motors and all(each.is_plain for each in own)  # forces follow from commands alone
        _, first = np.unique(self._rate, return_index=True)
        first = np.sort(first)  # of several motors on one rate, the first is given its force
        self._given = self._entry[first], self._rate[first], self._gear[first]
        self._passive = np.setdiff1d(np.arange(model.nv), self._rate)

    def of(self, given: Any) -> np.ndarray:
        """The command (nu,) out of what a caller gave; what no actuator can do is refused."""
        if isinstance(given, Mapping):
            return self._by_name(given)
        try:
            made = np.zeros(self.count) if given is None else np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise ShapeError(
                f"A command is numbers, or a mapping of names to numbers; it was given {given!r:.80}."
            ) from None
        if made.shape == (self.count,):
            self._check_finite(made, given)
            return made
        if made.shape == (self.model.nv,) and self.only_motors:
            return self.of_forces(made)
        raise ShapeError(self._refusal(made.shape))

    def of_forces(self, given: Any) -> np.ndarray:
        """The command whose motors give joint forces (nv,); a mapping of actuators' names is one as it is."""
        if given is None or isinstance(given, Mapping):
            return self.of(given)
        try:
            forces = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise ShapeError(f"Joint forces are numbers; it was given {given!r:.80}.") from None
        if forces.shape != (self.model.nv,):
            return self.of(given)
        if not isfinite(forces @ forces):
            name, value = self._worst(forces, np.abs(np.nan_to_num(forces, nan=np.inf)))
            raise ShapeError(f"The force on the joint '{name}' is {value}; joint forces are finite numbers.")
        left = forces[self._passive]
        if left @ left > 0.0 and np.abs(left).max() > ROUNDING * np.abs(forces).max():
            size = np.zeros(self.model.nv)
            size[self._passive] = np.abs(left)
            name, value = self._worst(forces, size)
            raise _passive(name, value)
        made, (entries, rates, gears) = np.zeros(self.count), self._given
        made[entries] = forces[rates] / gears
        return made

    def forces(self, command: np.ndarray) -> np.ndarray:
        """Joint forces (nv,) of the motors at a command that acts at once, within their limits."""
        tau = np.zeros(self.model.nv)
        if len(self._rate):
            np.add.at(tau, self._rate, np.clip(self._apply_gears(command), self._low, self._high))
        return tau

    def is_clipped(self, command: np.ndarray) -> bool:
        """Whether a command asks a motor for more than its limit."""
        if not self.bounded:
            return False
        asked = self._apply_gears(command)
        return bool(np.minimum(asked - self._low, self._high - asked).min() < 0.0)

    def _apply_gears(self, command: np.ndarray) -> np.ndarray:
        return self._gear * command[self._entry] + self._offset

    def _check_finite(self, made: np.ndarray, given: Any) -> None:
        if not isfinite(made @ made):
            owners = [actuator.name for actuator in self.actuators for _ in range(actuator.entries)]
            wrong = owners[int(np.argmax(np.abs(np.nan_to_num(made, nan=np.inf))))]
            raise ShapeError(f"The command of the actuator '{wrong}' is no finite number; it was given {given!r:.80}.")

    def _by_name(self, given: Mapping[Any, Any]) -> np.ndarray:
        numbers: dict[str, slice] = {}
        for actuator in self.actuators:
            start = max((own.stop for own in numbers.values()), default=0)
            numbers[actuator.name] = slice(start, start + actuator.entries)
        made = np.zeros(self.count)
        for each, value in given.items():
            if each not in numbers:
                if each in self.model.joint_indices:
                    raise _passive(each)
                raise unknown("actuator", str(each), list(numbers), self.name)
            made[numbers[each]] = value
        self._check_finite(made, given)
        return made

    def _worst(self, forces: np.ndarray, sizes: np.ndarray) -> tuple[str, float]:
        """Joint with the largest size, and the force on it."""
        rate = int(np.argmax(sizes))
        return next(body for body in self.model.bodies if rate in body.rates).joint.name, float(forces[rate])

    def _refusal(self, shape: tuple[int, ...]) -> str:
        if not self.actuators:
            return f"The plant '{self.name}' has no actuators; give it some with plant.actuate(…) before a command."
        names = ", ".join(actuator.name for actuator in self.actuators[:8])
        also = f", or is joint forces ({self.model.nv},)" if self.only_motors else ""
        return f"A command of this plant has {self.count} entries ({names}…){also}; it was given shape {shape}."


def _passive(joint: str, force: float | None = None) -> PhistarError:
    what = "a command" if force is None else f"a force of {force:g}"
    return PhistarError(
        f"The joint '{joint}' has no actuator and was given {what}: free joints, modes of bodies that bend, joints "
        "that follow others, and joints of files without an actuator or with an effort limit of 0 have none. Give 0 "
        "there, or an actuator with plant.actuate(…); plant.step(…, force=…) and [[disturbances]] push what they like."
    )
