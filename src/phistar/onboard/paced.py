"""A sampled controller against a robot, in real time: every period a reading, a command, and a look at the clock.

A robot that is silent, a computer that is late or a controller that fails end the run: the connection is told to stop,
with the reason, and the report has it too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from phistar.array_types import Array
from phistar.control.sampled import SampledController, Switch, next_command, period_of
from phistar.errors import PhistarError, ShapeError
from phistar.short_repr import short_repr

COARSE = 0.0005  # s before its time that a sleep ends: what is left is waited for by looking at the clock


class Connection(Protocol):
    """A robot as a paced loop sees it.

    Examples
    --------
    >>> class Still:
    ...     def read(self, timeout):
    ...         return {"q": np.zeros(2), "v": np.zeros(2)}
    ...     def write(self, tau): ...
    ...     def stop(self, reason): ...
    >>> controller = ps.control.SampledFunction(lambda t, q, v: -v, period=0.001)
    >>> ps.onboard.drive(controller, Still(), 0.01, patience=1000).samples > 0  # 10 where none is late
    True
    """

    def read(self, timeout: float) -> Mapping[str, Any] | None:
        """The newest readings by sensor, waited for so many seconds at most; None where there are no new ones."""
        ...

    def write(self, tau: Array) -> None:
        """Apply joint forces (nv,) until the next."""
        ...

    def stop(self, reason: str) -> None:
        """Bring the robot to a safe stop; called once, at the end of every run."""
        ...


@short_repr
@dataclass(frozen=True, eq=False)
class PacedRun:
    """Report of a paced run: `samples` commanded, how many samples were `late` or `silent`, and times in seconds.

    `starts` (n,) are the delays of the samples' starts after their times (the jitter), `lasting` (n,) how long each
    took from its reading's arrival to its command. `aborted` says whether it ended before its time; `reason` why it
    ended.
    """

    period: float
    samples: int
    late: int
    silent: int
    starts: Array
    lasting: Array
    switches: tuple[Switch, ...]
    aborted: bool
    reason: str

    @property
    def statistics(self) -> dict[str, float]:
        """Median, 99th percentile and greatest of jitter and of computing time, s."""
        rows = {"jitter": self.starts, "computing": self.lasting}
        marks = {"median": 50.0, "p99": 99.0, "greatest": 100.0}
        return {
            f"{name}_{mark}": float(np.percentile(row, at)) if len(row) else 0.0
            for name, row in rows.items()
            for mark, at in marks.items()
        }


def drive(
    controller: SampledController[Any],
    connection: Connection,
    duration: float,
    *,
    patience: int = 3,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], None] = time.sleep,
) -> PacedRun:
    """Run a controller against a robot at its own period, and report how well its deadlines were met.

    A sample begins at k·period; its deadline is the next one's beginning. Without a new reading by the deadline the
    sample is silent and nothing is written; with a command after it, late. `patience` such samples one after another,
    or a controller that fails, stop the robot.

    Parameters
    ----------
    controller : SampledController
        `ps.control.SampledFunction`, a capture's, one of your own.
    connection : Connection
        Such as `ps.onboard.JointStateLink`.
    duration : float
        s.
    patience : int
        Samples in a row that may be late or silent, and one fewer is endured.
    clock, sleep : callable
        Seconds now, and waiting; others than the computer's are for tests.

    Returns
    -------
    PacedRun

    Examples
    --------
    >>> class Silent:
    ...     def read(self, timeout): ...
    ...     def write(self, tau): ...
    ...     def stop(self, reason): ...
    >>> controller = ps.control.SampledFunction(lambda t, q, v: -v, period=0.001)
    >>> ps.onboard.drive(controller, Silent(), 1.0).reason
    'the robot was silent for 3 samples in a row, at t = 0.002 s'
    """
    period = period_of(controller)
    if isinstance(patience, bool) or not isinstance(patience, int) or patience < 1:
        raise ShapeError(f"`patience` is a number of samples, 1 or more; it was given {patience!r:.50}.")
    if not isinstance(duration, int | float) or not 0.0 < duration < np.inf:
        raise ShapeError(f"`duration` is a time in seconds above 0; it was given {duration!r:.50}.")
    reason = "ended by an interrupt"
    loop = _Loop(controller, connection, period, patience, clock, sleep)
    try:
        reason, aborted = loop.run(round(duration / period))
    finally:  # whatever happens, the robot does not go on with the last command
        connection.stop(reason)
    starts, lasting = np.array(loop.starts, dtype=float), np.array(loop.lasting, dtype=float)
    return PacedRun(
        period, len(lasting), loop.late, loop.silent, starts, lasting, tuple(loop.switches), aborted, reason
    )


class _Loop:
    """A paced run under way."""

    def __init__(
        self,
        controller: SampledController[Any],
        connection: Connection,
        period: float,
        patience: int,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self.controller, self.connection, self.period, self.patience = controller, connection, period, patience
        self.clock, self.sleep = clock, sleep
        self.starts: list[float] = []
        self.lasting: list[float] = []
        self.switches: list[Switch] = []
        self.late = self.silent = 0

    def run(self, samples: int) -> tuple[str, bool]:
        """Why it ended, and whether before its time."""
        memory, begin, late, silent = self.controller.start(), self.clock(), 0, 0
        for k in range(samples):
            t, deadline = k * self.period, begin + (k + 1) * self.period
            self.wait(begin + t)
            self.starts.append(self.clock() - begin - t)
            sensed = self.connection.read(max(deadline - self.clock(), 0.0))
            if sensed is None:
                self.silent, silent = self.silent + 1, silent + 1
                if silent == self.patience:
                    return f"the robot was silent for {silent} samples in a row, at t = {t:.6g} s", True
                continue
            silent, arrived = 0, self.clock()
            try:
                memory, command = next_command(self.controller, memory, t, sensed)
            except PhistarError as error:
                return str(error), True
            if not np.isfinite(command.tau).all():
                return f"at t = {t:.6g} s the controller gives forces that are no numbers", True
            self.connection.write(command.tau)
            self.switches += command.switches
            now = self.clock()
            self.lasting.append(now - arrived)
            late = late + 1 if now > deadline else 0
            self.late += now > deadline
            if late == self.patience:
                return f"commands were late for {late} samples in a row, at t = {t:.6g} s", True
        return "the time is up", False

    def wait(self, until: float) -> None:
        left = until - self.clock()
        if left > COARSE:
            self.sleep(left - COARSE)
        while self.clock() < until:
            pass
