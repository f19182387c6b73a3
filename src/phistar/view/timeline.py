"""Play, pause, scrub and speed."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

SPEEDS = {"⅒×": 0.1, "¼×": 0.25, "½×": 0.5, "1×": 1.0, "2×": 2.0, "5×": 5.0}


class Timeline:
    """Controls over [start, end] in seconds; `tick` advances, `moved` is called at every new time."""

    def __init__(self, gui: Any, start: float, end: float, moved: Callable[[float], None]) -> None:
        self.start, self.end, self.moved = start, max(end, start + 1e-9), moved
        self.time, self.playing = start, False
        self.button = gui.add_button("Play", icon="player-play", hint="Play or pause (from the start, at the end)")
        step = max((self.end - start) / 2000.0, 1e-9)
        self.slider = gui.add_slider("Time (s)", min=start, max=self.end, step=step, initial_value=start)
        self.speed = gui.add_dropdown("Speed", list(SPEEDS), initial_value="1×")
        self.loop = gui.add_checkbox("Loop", initial_value=False)
        self.button.on_click(lambda event: self.play(not self.playing))
        self.slider.on_update(self._follow_scrubber)

    def play(self, on: bool) -> None:
        """Play or pause; playing starts anew from the end."""
        if on and self.time >= self.end:
            self.go(self.start)
        self.playing = on
        self.button.label = "Pause" if on else "Play"
        self.button.icon = "player-pause" if on else "player-play"

    def go(self, time: float) -> None:
        """Go to a time, as scrubbing does."""
        self.time = min(max(time, self.start), self.end)
        self.slider.value = self.time
        self.moved(self.time)

    def tick(self, elapsed: float) -> None:
        """`elapsed` seconds of a person's time have passed."""
        if not self.playing:
            return
        time = self.time + elapsed * SPEEDS.get(self.speed.value, 1.0)
        if time >= self.end and self.loop.value:
            time = self.start + (time - self.start) % (self.end - self.start)
        self.go(time)
        if time >= self.end:
            self.play(False)

    def _follow_scrubber(self, event: Any) -> None:
        value = float(self.slider.value)
        if event.client is not None and isfinite(value):  # a person moved it; ours are told by `go`
            self.time = min(max(value, self.start), self.end)
            self.moved(self.time)
