"""Response of a closed mechanism to forces: ℳ_c⁻¹ = ℳ⁻¹ − ℳ⁻¹A*(Aℳ⁻¹A*)⁺Aℳ⁻¹, and the operational space of its frames.

With the innovations Y of the closures (`equations.py`), Z = ℳ⁻¹A* = (I − HψK)*D⁻¹Y and S = Y*D⁻¹Y,

    ℳ_c⁻¹  = ℳ⁻¹ − Z S⁺ Z*
    Ω_c    = Jℳ⁻¹J* − (JZ) S⁺ (JZ)*
    Ω_c c  = Jℳ⁻¹𝒞 − J̇θ̇ − (JZ) S⁺ (Z*𝒞 − Ȧθ̇)
    Ω_c g  = Jℳ⁻¹𝒢 − (JZ) S⁺ Z*𝒢                                      (RJK91 eq. 26 and §6)

one inward and one outward sweep a closure, O(n) each, and O(m³) for S⁺. Numbers are solved by the eigenvectors of S,
whatever its rank; traced scalars by elimination.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.recorded import Recorded
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import is_traced
from phistar.dynamics import Forces, TaskMobility, bias, force_response, frame_poses, gravity_load, with_load
from phistar.dynamics import mass_matrix_inverse as stated_inverse
from phistar.dynamics import mobility as stated_mobility
from phistar.dynamics import task_mobility as stated_task_mobility
from phistar.loops.closure import closures, loop_frames, row_count
from phistar.loops.effective import eliminate, generalized_inverse
from phistar.loops.equations import effective, frame_acceleration, row_scale
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.spatial import times, transposed
from phistar.stated import states


def _smoothed_innovations(s: Symbols) -> Node:
    return s.whitening.T @ s.D.inv @ s.T


@states(
    lambda s: (
        {"rates": _smoothed_innovations(s)} | ({} if s.frames == () else {"at_frames": s.J @ _smoothed_innovations(s)})
    )
)
def swept_outward(model: Model, q: Any, innovations: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """(I − HψK)*D⁻¹ε (…, nv), and J times that (…, 6f): the accelerations of innovations."""
    return swept_outward.evaluate_all(model, q, {"T": innovations}, frames)


class Held(NamedTuple):
    """Closures at a state: S (…, m, m) and the scale of its rows (…, m), Z* (…, m, nv), (JZ)* (…, m, 6f)
    at the frames asked for, and Ȧθ̇ (…, m)."""

    matrix: np.ndarray
    scale: np.ndarray
    rates: np.ndarray
    at_frames: np.ndarray
    drift: np.ndarray


def closures_at(model: Model, q: Any, v: Any, frames: tuple[str, ...]) -> Held:
    """The closures at a state, on floats (…, n) or traced scalars (n,); compiled where the robot is short."""
    if is_traced(q, v) or not model.nv:
        return _closures_at(model, q, v, frames)
    recorded = model.kept(("held", frames), lambda: _compile_closures(frames))
    if not recorded.fits(model):
        return _closures_at(model, q, v, frames)
    with np.errstate(invalid="ignore"):  # a NaN spoils its own row
        made = Held(*recorded(model, q, v))
    return made if frames else made._replace(at_frames=made.at_frames[..., :0])


def _compile_closures(frames: tuple[str, ...]) -> Recorded:
    def flat(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        made = _closures_at(model, q, v, frames)
        return made if frames else made._replace(at_frames=np.zeros((row_count(model), 1)))

    def shapes(model: Model) -> tuple[tuple[int, ...], ...]:
        m = row_count(model)
        return (m, m), (m,), (m, model.nv), (m, max(1, 6 * len(frames))), (m,)

    def fits(model: Model) -> bool:
        return recorded.is_written(model, 2 + 2 * row_count(model))

    recorded = Recorded(f"held at {frames}", ("q", "v"), Held._fields, flat, shapes, fits)
    return recorded


def _closures_at(model: Model, q: Any, v: Any, frames: tuple[str, ...]) -> Held:
    tree, ends = model.tree, loop_frames(model)
    moved = frame_acceleration(tree, q, v, np.zeros(model.nv), ends)
    motions = {frame: moved["motion"][..., 6 * i : 6 * i + 6] for i, frame in enumerate(ends)}
    found = closures(model, q, frame_poses(tree, q, ends), v, motions)
    innovations, matrix = effective(tree, q, found, ends)
    scale = row_scale(model, np.stack([matrix[..., i, i] for i in range(matrix.shape[-1])], axis=-1))
    drift = times(found.on_frames, moved["at_frames"]) + found.drift
    if not is_traced(q, innovations):
        swept = swept_outward(tree, np.asarray(q)[..., None, :], innovations, frames)
    else:
        each = [swept_outward(tree, q, row, frames) for row in innovations]
        swept = {name: np.stack([np.asarray(made[name]) for made in each]) for name in each[0]}
    at_frames = swept.get("at_frames", np.zeros((*swept["rates"].shape[:-1], 0)))
    return Held(matrix, scale, swept["rates"], at_frames, drift)


def _inverse(made: Held) -> np.ndarray:
    """X with S X S = S, (…, m, m)."""
    if not is_traced(made.matrix):
        return generalized_inverse(made.matrix, made.scale)
    columns = [eliminate(made.matrix, unit, made.scale).forces for unit in np.eye(made.matrix.shape[-1])]
    return np.stack([np.asarray(column) for column in columns], axis=-1)


def _to_array(array: Any) -> np.ndarray:
    """Traced numbers in an array that answers NumPy."""
    return traced(array) if is_traced(array) else array


def closed_mass_matrix_inverse(model: Model, q: Any) -> np.ndarray:
    """ℳ_c⁻¹, (…, nv, nv): the joint accelerations that joint forces add while every loop stays closed."""
    made = closures_at(model, q, np.zeros(model.nv), ())
    whole = stated_inverse(model.tree, q) - np.matmul(transposed(made.rates), np.matmul(_inverse(made), made.rates))
    return _to_array(0.5 * (whole + transposed(whole)))


def closed_response(model: Model, q: Any, tau: Any, f_ext: Forces) -> np.ndarray:
    """ℳ_c⁻¹(T + J*f), (…, nv)."""
    made, load = closures_at(model, q, np.zeros(model.nv), ()), with_load(model.tree, q, tau, f_ext)
    pulled = times(_inverse(made), times(made.rates, np.asarray(load)))
    return _to_array(force_response(model.tree, q, tau, f_ext) - times(transposed(made.rates), pulled))


def closed_mobility(model: Model, q: Any, frames: tuple[str, ...]) -> np.ndarray:
    """Ω_c, (…, 6m, 6m)."""
    made = closures_at(model, q, np.zeros(model.nv), frames)
    return _to_array(_symmetric_difference(stated_mobility(model.tree, q, frames), made))


def _symmetric_difference(whole: np.ndarray, made: Held) -> np.ndarray:
    found = whole - np.matmul(transposed(made.at_frames), np.matmul(_inverse(made), made.at_frames))
    return 0.5 * (found + transposed(found))


def closed_task_mobility(model: Model, q: Any, v: Any, frames: tuple[str, ...]) -> TaskMobility:
    """Ω_c, Ω_c c and Ω_c g."""
    tree, made = model.tree, closures_at(model, q, v, frames)
    whole, weight = stated_task_mobility(tree, q, v, frames), np.asarray(gravity_load(tree, q))
    coriolis = np.asarray(bias(tree, q, v)) - weight
    inverse, down = _inverse(made), transposed(made.at_frames)
    by_rates = times(down, times(inverse, times(made.rates, coriolis) - made.drift))
    by_weight = times(down, times(inverse, times(made.rates, weight)))
    parts = _symmetric_difference(whole.mobility, made), whole.coriolis - by_rates, whole.gravity - by_weight
    return TaskMobility(*(_to_array(part) for part in parts))
