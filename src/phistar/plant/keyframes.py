"""Named states of a plant, as its file gives them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phistar.short_repr import short_repr


@short_repr
class Keyframe(NamedTuple):
    """A state to start from, and the command that goes with it.

    q (nq,) and v (nv,) of `plant.model`, command (nu,) of its actuators.
    """

    q: np.ndarray
    v: np.ndarray
    command: np.ndarray
