"""The memoryless functions that programs call, one row each: the block at link k of the blocks that it is given.

How each is printed and counted is the row of the same name in `phistar/sweeps/primitives.py`. Blocks are floats with
leading axes or traced scalars; None is what is zero by structure. `pose` and the functions of all links at once are
not among them: they belong to how a reader goes along the links.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.backends.links import brackets, two_velocities, values
from phistar.backends.links.values import Links

Block = Any  # an array, or None


def _subspace_rate(links: Links, k: int, v: np.ndarray) -> Block:
    return links.subspace_rate(k, v[..., 0])


def _joint_acceleration(links: Links, k: int, velocity: np.ndarray, v: np.ndarray) -> np.ndarray:
    return values.bias_acceleration(links, k, velocity, v, reaching=False)


def _own_bracket(links: Links, k: int, v: np.ndarray) -> Block:
    h = links.subspace[k]
    return brackets.own_bracket(np.matmul(h, v), h) if h.shape[-1] > 1 else None


def _coriolis_block(links: Links, k: int, velocity: np.ndarray) -> np.ndarray:
    return brackets.coriolis_block(*links.mass_parts(k)[:2], links.second_moment(k), velocity)


def _without(links: Links, k: int, whole: Block, part: np.ndarray) -> Block:
    return None if whole is None else whole - part


def _of_blocks(function: Callable[..., np.ndarray]) -> Callable[..., Block]:
    """A function of its blocks alone, zero by structure where one of them is."""
    return lambda links, k, *blocks: None if any(x is None for x in blocks) else function(*blocks)


FORMULAS: dict[str, Callable[..., Block]] = {
    "bias_acceleration": values.bias_acceleration,
    "joint_acceleration": _joint_acceleration,
    "bias_force": _of_blocks(values.bias_force),
    "rotor_moment": values.rotor_moment,
    "reference_acceleration": two_velocities.reference_acceleration,
    "reference_turning": two_velocities.reference_turning,
    "reference_rotor_moment": two_velocities.reference_rotor_moment,
    "reference_force": _of_blocks(two_velocities.reference_force),
    "turning": two_velocities.turning,
    "subspace_rate": _subspace_rate,
    "diagonal": _of_blocks(values.diagonal),
    "motion_bracket": _of_blocks(brackets.bracket),
    "force_bracket": _of_blocks(brackets.force_bracket),
    "own_bracket": _own_bracket,
    "coriolis_block": _coriolis_block,
    "frame_turn": _of_blocks(brackets.frame_turn),
    "frame_sweep": _of_blocks(brackets.frame_sweep),
    "axial": _of_blocks(brackets.axial),
    "axes_axial": brackets.axes_axial,
    "root": _of_blocks(brackets.root),
    "parameter_forces": _of_blocks(values.parameter_forces),
    "without": _without,
}
