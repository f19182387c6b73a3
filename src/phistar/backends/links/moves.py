"""φ(p,k) as a product of small moves: turns about a coordinate axis and shifts along it.

Denavit and Hartenberg's way between two axes is a screw along x, then one along z. Each costs a third of what a general
rotation costs, because what lies along the axis stays as it is and the rest turns by one angle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.links import values as link

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


def inward(moves: tuple[Move, ...], x: np.ndarray) -> np.ndarray:
    """φx through the moves from the parent out to the child."""
    for rotation, offset in reversed(moves):
        x = link.inward(rotation, offset, x)
    return x


def outward(moves: tuple[Move, ...], x: np.ndarray) -> np.ndarray:
    """φ*x."""
    for rotation, offset in moves:
        x = link.outward(rotation, offset, x)
    return x


def back_outward(moves: tuple[Move, ...], x: np.ndarray) -> np.ndarray:
    """φ⁻¹x: a force at the parent, seen at the child."""
    for rotation, offset in moves:
        x = link.inward(*link.reversed_step(rotation, offset), x)
    return x


def congruent_back_outward(moves: tuple[Move, ...], x: np.ndarray) -> np.ndarray:
    """φ⁻¹Xφ⁻* for symmetric X."""
    for rotation, offset in moves:
        x = link.congruent_inward(*link.reversed_step(rotation, offset), x)
    return link.mirror_upper(x)


def congruent_inward(moves: tuple[Move, ...], x: np.ndarray) -> np.ndarray:
    """φXφ* for symmetric X."""
    for rotation, offset in reversed(moves):
        x = link.congruent_inward(rotation, offset, x)
    return link.mirror_upper(x)


def carried_inward(moves: tuple[Move, ...], x: np.ndarray) -> np.ndarray:
    """φXφ* for any X."""
    return np.swapaxes(inward(moves, np.swapaxes(inward(moves, x), -1, -2)), -1, -2)


def congruent_outward(moves: tuple[Move, ...], x: np.ndarray) -> np.ndarray:
    """φ*Xφ for symmetric X."""
    for rotation, offset in moves:
        x = link.congruent_outward(rotation, offset, x)
    return link.mirror_upper(x)


def end_frame(moves: tuple[Move, ...], rotation: np.ndarray, origin: np.ndarray) -> Move:
    """The frame at the end of the moves that start from a frame."""
    for turn, offset in moves:
        origin = origin + np.matmul(rotation, offset)
        rotation = np.matmul(rotation, turn)
    return rotation, origin
