"""A sampled controller in a scene: readings in, joint forces out, held until the next sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.control.sampled import Command, SampledController, Switch
from phistar.errors import PhistarError
from phistar.model import Model
from phistar.sim.motion import Moment
from phistar.sim.scenes.readings import Line, Readings


class Sampled:
    """A controller at work: its memory, its last command, and what its sensors remember."""

    def __init__(self, model: Model, controller: SampledController[Any], readings: Readings, line: Line) -> None:
        self.model, self.controller, self.readings, self.line = model, controller, readings, line
        self.memory = self._asked(0.0, controller.start)
        self.command = Command(np.zeros(model.nv))
        self.sensed = np.zeros(readings.sensing.size)
        self.switches: list[Switch] = []

    def sample(self, moment: Moment) -> None:
        """Senses, and asks what to do until the next sample."""
        self.line, sensed = self.readings.next(self.line, self.readings.sensing.read(moment))
        made = self._asked(moment.time, self.controller.command, self.memory, moment.time, sensed)
        self.memory, self.command = self._checked(made, moment.time)
        self.switches += self.command.switches

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The joint forces held."""
        return self.command.tau

    def _asked(self, time: float, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            where = "" if isinstance(error, PhistarError) else f"{type(error).__name__}: "
            raise PhistarError(f"At t = {time:.6g} s the controller failed: {where}{error}") from error

    def _checked(self, made: Any, time: float) -> tuple[Any, Command]:
        if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[1], Command):
            raise PhistarError(
                f"At t = {time:.6g} s the controller gives {made!r:.100}; it must give its memory and a Command."
            )
        return made
