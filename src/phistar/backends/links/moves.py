"""φ(p,k) as a product of small moves: turns about a coordinate axis and shifts along it.

Denavit and Hartenberg's way between two axes is a screw along x, then one along z. Each costs a third of what a general
rotation costs, because what lies along the axis stays as it is and the rest turns by one angle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.links import values as link
from phistar.sweeps.ir import CARRIED, COMPLIANCE, FORCE, INERTIA, MOTION

Move = tuple[np.ndarray, np.ndarray]  # rotation (3, 3) and offset (3,): a frame in the one before it


def screw(axis: int, cosine: Any, sine: Any, along: Any) -> Move:
    """A turn about a coordinate axis and a shift along it, of traced scalars."""
    rotation, offset = np.full((3, 3), 0.0, dtype=object), np.full(3, 0.0, dtype=object)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    rotation[axis, axis] = 1.0
    rotation[i, i] = rotation[j, j] = cosine
    rotation[i, j], rotation[j, i] = -sine, sine
    offset[axis] = along
    return rotation, offset


_ACTS = {FORCE: link.inward, MOTION: link.outward, INERTIA: link.congruent_inward, COMPLIANCE: link.congruent_outward}


def carry(act: str, moves: tuple[Move, ...], x: np.ndarray, outward: bool) -> np.ndarray:
    """What is at the child, seen at the parent that the moves start from; `outward`, the way back. Forces going outward
    and motions going inward take each move's inverse."""
    if act == CARRIED:
        half = np.swapaxes(carry(FORCE, moves, x, outward), -1, -2)
        return np.swapaxes(carry(FORCE, moves, half, outward), -1, -2)
    along = (act in (MOTION, COMPLIANCE)) == outward
    for step in moves if outward else reversed(moves):
        x = _ACTS[act](*(step if along else link.reversed_step(*step)), x)
    return link.mirror_upper(x) if act in (INERTIA, COMPLIANCE) else x


def end_frame(moves: tuple[Move, ...], rotation: np.ndarray, origin: np.ndarray) -> Move:
    """The frame at the end of the moves that start from a frame."""
    for turn, offset in moves:
        origin = origin + np.matmul(rotation, offset)
        rotation = np.matmul(rotation, turn)
    return rotation, origin
