"""Looking on while a scene runs."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.model import Model
from phistar.view.viewer import UPDATES, Viewer


class Live:
    """A viewer that is told of states as they come, and sends `rate` of them a second at most.

    Between two that are sent a state costs one look at the clock, so that the simulation is not held up.
    """

    def __init__(
        self, model: Model, q: Any, *, rate: float = UPDATES, now: Callable[[], float] = clock.monotonic, **place: Any
    ) -> None:
        self.viewer = Viewer(model, q, **place)
        self.viewer.server.gui.reset()  # nobody else moves what a simulation moves
        self.viewer.marks.show("Contacts", True)
        self.words = self.viewer.server.gui.add_markdown("")
        self.period, self.now, self.due, self.sent = 1.0 / rate, now, -np.inf, 0

    def __call__(self, time: float, q: np.ndarray, contacts: tuple[np.ndarray, np.ndarray] | None = None) -> None:
        """A configuration at a simulated time, with points and forces of contacts, (n, 3) each, world axes."""
        now = self.now()
        if now < self.due:
            return
        self.due = max(self.due + self.period, now) if np.isfinite(self.due) else now + self.period
        viewer = self.viewer
        with viewer.server.atomic():
            poses = viewer.stage.poses(q)
            viewer.stage.place(poses)
            viewer.marks.place(q, viewer.v, poses, contacts)
            self.words.content = f"**{time:.2f} s**"
        self.sent += 1

    def stop(self) -> None:
        self.viewer.stop()
