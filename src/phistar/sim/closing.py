"""Loops in motion: whether a state starts closed, and closing it again after a step of fixed size."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.loops.closure import loop_slices
from phistar.loops.residual import corrections, loop_residual
from phistar.model import Model
from phistar.sim.coordinates import Coordinates

FAR = 1e-6  # rad, m and their rates: a loop that is open by less at the start is closed there
NEWTON_STEPS = 2  # a step of a method leaves loops open by 1e-6 or less: each Newton step squares that, and stiff
# mechanisms need the third that comes with the velocities at no cost


def close_again(coordinates: Coordinates, x: np.ndarray) -> np.ndarray:
    """The state (…, nq + nv) after a step, its loops closed in position and velocity; on floats and traced numbers."""
    model = coordinates.model
    if model.embedding is not None:
        q, v = coordinates.split(x)
        for _ in range(NEWTON_STEPS + 1):
            q = coordinates.unit(coordinates.moved_tree(q, np.asarray(model.embedding.closing_step(q)[0])))
        return np.concatenate([q, v], axis=-1)
    if not model.loops:
        return x
    q, v = coordinates.split(x)
    for _ in range(NEWTON_STEPS):
        q = coordinates.unit(coordinates.add(q, np.asarray(corrections(model, q, v).shift)))
    last = corrections(model, q, v)
    q = coordinates.unit(coordinates.add(q, np.asarray(last.shift)))
    return np.concatenate([q, v + np.asarray(last.change)], axis=-1)


def check_closed(model: Model, q: Any, v: Any) -> None:
    """Raises where a state (…, nq), (…, nv) does not have its loops closed, naming the worst."""
    if model.embedding is not None:
        model, v = model.embedding.closed, model.embedding.full_rates(q, v)
    if not model.loops:
        return
    gap, rate = (np.abs(x).reshape(-1, x.shape[-1]) for x in loop_residual(model, q, v))
    allowed = FAR * (1.0 + np.max(np.abs(v), initial=0.0))
    for name, where in loop_slices(model).items():
        opening, opens = np.max(gap[:, where], initial=0.0), np.max(rate[:, where], initial=0.0)
        if opening > FAR or opens > allowed:
            raise ModelError(
                f"{model.name} does not start closed: the loop '{name}' is open by {opening:.3g} and opens at "
                f"{opens:.3g} per second. ps.assemble and ps.loops.assemble_velocity find a state that is closed."
            )
