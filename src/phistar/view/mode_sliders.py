"""Bodies that bend in the viewer's panel: how large deflections are drawn, and the modes by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.model import Model

LARGEST = 50.0  # times
FAR = 0.2  # of a body's length: where the slider of a mode ends
MOST = 30  # modes


class ModeSliders:
    """A slider that exaggerates, told to `scaled(factor)`; with q, one for each mode too, told to `bent(entry, η)`."""

    def __init__(
        self,
        gui: Any,
        model: Model,
        q: np.ndarray | None,
        scaled: Callable[[float], None],
        bent: Callable[[int, float], None],
    ) -> None:
        self.modes: dict[int, Any] = {}
        with gui.add_folder("Bending"):
            hint = "Deflections are drawn so many times as large"
            self.factor = gui.add_slider("Exaggeration", min=1.0, max=LARGEST, step=0.5, initial_value=1.0, hint=hint)
            self.factor.on_update(lambda event: scaled(float(self.factor.value)))
            for body in model.bodies if q is not None else ():
                self._by_hand(gui, body, q, bent)

    def _by_hand(self, gui: Any, body: Any, q: Any, bent: Callable[[int, float], None]) -> None:
        if body.flexible is None:
            return
        size = FAR * float(np.ptp(body.flexible.nodes, axis=0).max())
        for i, at in enumerate(range(body.mode_q_slice.start, body.mode_q_slice.stop)):
            if len(self.modes) == MOST:
                return
            most = size / max(float(np.abs(body.flexible.modes[..., i]).max()), 1e-12)
            value = float(np.clip(q[at], -most, most))
            slider = gui.add_slider(f"{body.name} mode {i + 1}", -most, most, most / 100.0, value)
            slider.on_update(lambda event, at=at, slider=slider: bent(at, float(slider.value)))
            self.modes[at] = slider
