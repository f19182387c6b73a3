"""Pictures of learning environments, all of an environment by one camera."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.array_types import ImageArray
from phistar.errors import PhistarError
from phistar.model import Model
from phistar.view.offscreen import render
from phistar.view.report_picture import Camera, camera_around, solids

WIDER = 1.6  # than what is seen first: things move


class Pictures:
    """Draws what an environment shows; refuses modes that there are not."""

    def __init__(self, environment: Any, mode: str | None, size: tuple[int, int], period: float) -> None:
        if mode not in (None, "rgb_array"):
            raise PhistarError(
                f"render_mode is None or 'rgb_array'; it was given {mode!r:.40}. See ps.view.Viewer too."
            )
        environment.metadata = environment.metadata | {"render_fps": max(1, round(1.0 / period))}
        self.mode, self.size = mode, size
        self.camera: Camera | None = None

    def of(self, model: Model, q: np.ndarray) -> ImageArray | None:
        """(height, width, 3), or None without a mode, as Gymnasium has it."""
        if self.mode is None:
            return None
        if self.camera is None:
            seen = camera_around([solids(model, q)[0].corners], self.size)
            self.camera = Camera(seen.target, seen.direction, WIDER * seen.width, seen.up)
        return render(model, q, self.size, self.camera)
