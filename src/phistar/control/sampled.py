"""Sampled controllers: readings and a memory go in, joint forces and a new memory come out.

A memory is data alone (numbers, texts, arrays, tuples of them, frozen dataclasses and named tuples), never an object
that changes: a run stopped and taken up again from a file goes on as if it had not been stopped. A function that keeps
its memory to itself, an integral or a filter, becomes such a controller by `SampledFunction`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar, final

import numpy as np

from phistar.array_types import Array
from phistar.errors import PhistarError
from phistar.short_repr import short_repr
from phistar.spatial.vectors import real_numbers

Memory = TypeVar("Memory")
NOTHING: Mapping[str, float] = MappingProxyType({})


class Switch(NamedTuple):
    """A change of phase of a controller, with its reason in words.

    Attributes
    ----------
    time : float
    before, after : str
        The phases.
    reason : str

    Examples
    --------

    >>> ps.control.Switch(1.5, "approach", "contact", "both hands are within 10 mm").after
    'contact'
    """

    time: float
    before: str
    after: str
    reason: str


@short_repr
class Command(NamedTuple):
    """Output of a sampled controller: joint forces, its phase, and numbers to be recorded.

    Attributes
    ----------
    tau : (nv,)
        Joint forces of the controller's model.
    phase : str
        The phase they belong to.
    switches : tuple of Switch
        Made in this sample.
    facts : dict
        Numbers worth keeping, by name; the same names in every sample.

    Examples
    --------

    >>> ps.control.Command(np.zeros(6)).phase
    ''
    """

    tau: Array
    phase: str = ""
    switches: tuple[Switch, ...] = ()
    facts: Mapping[str, float] = NOTHING


class SampledController(Protocol[Memory]):
    """A controller in discrete time: a pure function of its memory, the time and the readings.

    The same memory, time and readings give the same command, so that runs can be repeated, resumed and batched.
    `ps.control.SampledFunction` makes one of a plain function.

    Examples
    --------

    >>> controller = ps.control.SampledFunction(lambda t, q, v: 0 * v, period=0.01)
    >>> controller.period
    0.01
    """

    @property
    def period(self) -> float:
        """The time between samples, s."""
        ...

    def start(self) -> Memory:
        """The memory before the first sample."""
        ...

    def command(self, memory: Memory, t: float, sensed: Mapping[str, Any]) -> tuple[Memory, Command]:
        """The memory after the sample at `t`, and what to do until the next; `sensed` has the readings by sensor."""
        ...


@short_repr
@final
@dataclass(frozen=True)
class SampledFunction:
    """A function (t, q, v) → joint forces that is called once a period, in the order of time; its forces are held.

    Integrators with error control try steps, reject some and look back: a plain function is called at times that fall
    as well as rise, several times at each, and must be pure. One that remembers (an integral, a filter, a delay line)
    goes into `ps.simulate` and `Scene.run` in this way, as it would run on a robot.

    Parameters
    ----------
    function : callable
        (t, q, v) → joint forces (nv,), given the true state q (nq,), v (nv,).
    period : float
        Time between calls, s.

    Examples
    --------
    >>> import phistar as ps
    >>> total = [0.0]
    >>> def integral(t, q, v):
    ...     total[0] += 0.01 * (1.0 - q[0])
    ...     return [20.0 * (1.0 - q[0]) - 5.0 * v[0] + 30.0 * total[0], 0.0]
    >>> model = ps.load("planar2").replace(gravity=(0, 0, 0))
    >>> run = ps.simulate(model, [0, 0], [0, 0], 0.1, control=ps.control.SampledFunction(integral, period=0.01))
    """

    function: Callable[[float, Array, Array], Any]
    period: float

    def start(self) -> None:
        """No memory: the function keeps its own."""

    def command(self, memory: None, t: float, sensed: Mapping[str, Any]) -> tuple[None, Command]:
        """The forces until the next sample; `sensed` has q and v."""
        return None, Command(real_numbers(np.asarray(self.function(t, sensed["q"], sensed["v"]))))


def is_sampled(control: Any) -> bool:
    """Whether a controller is sampled."""
    return all(hasattr(control, name) for name in ("start", "command", "period"))


def period_of(controller: SampledController[Any]) -> float:
    """Period of a controller, s, checked."""
    period = controller.period
    if isinstance(period, bool) or not isinstance(period, int | float) or not 1e-6 <= period < np.inf:
        raise PhistarError(f"A controller's period must be a number of seconds from 1e-6 on; it is {period!r:.50}.")
    return float(period)


def call_user(time: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a user's function; what it raises becomes a PhistarError with the time."""
    try:
        return function(*arguments)
    except PhistarError as error:
        raise PhistarError(f"At t = {time:.6g} s the controller stops: {error}") from error
    except Exception as error:
        raise PhistarError(f"At t = {time:.6g} s the controller fails: {type(error).__name__}: {error}") from error


def next_command(
    controller: SampledController[Memory], memory: Memory, time: float, sensed: Mapping[str, Any]
) -> tuple[Memory, Command]:
    """The memory after a sample and its command, checked."""
    made = call_user(time, controller.command, memory, time, sensed)
    if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[1], Command):
        raise PhistarError(f"At t = {time:.6g} s the controller gives {made!r:.100}, not its memory and a Command.")
    return made
