"""Progress of a simulation: a bar on a terminal, elsewhere a line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 5.0


class SimulationProgress:
    """A context that gives a function of the simulated time reached so far.

    On a terminal it moves a bar with the time left. Where the output goes to a file or a log, which a bar would fill
    with control characters, it writes a line every `SECONDS_BETWEEN_LINES`, so that nobody waits before silence.
    """

    def __init__(self, name: str, duration: float) -> None:
        columns = TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.completed:.2f} s")
        console = Console(stderr=True)
        self._bar = Progress(
            *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self._bar.add_task(name, total=duration)
        self._name, self._duration, self._last_line = name, duration, time.monotonic()

    def __enter__(self) -> Callable[[float], None]:
        self._bar.start()
        return self._advance

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def _advance(self, simulated: float) -> None:
        self._bar.update(self._task, completed=simulated)
        if self._bar.disable and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            typer.echo(f"{self._name}: {simulated:.2f} s of at most {self._duration:g} s", err=True)
