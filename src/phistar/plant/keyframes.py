"""Named states of a plant, as its file gives them."""

from __future__ import annotations

from typing import NamedTuple

from phistar.array_types import Array
from phistar.short_repr import short_repr


@short_repr
class Keyframe(NamedTuple):
    """A state to start from, and the command that goes with it.

    q (nq,) and v (nv,) of `plant.model`, command (nu,) of its actuators.
    """

    q: Array
    v: Array
    command: Array
