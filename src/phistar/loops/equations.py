"""The equations of motion of closures, S λ = γ, from statements about the spanning tree (RJK91 eqs. 22-26).

S = A ℳ⁻¹ A* and γ = A θ̈_f + Ȧθ̇ with A = QJ + C: QJℳ⁻¹J*Q* comes from the Ω blocks at the closures' frames, what the
couplings C add from ℳ⁻¹C*, one sweep a row. O(n) + O(m²), and no mass matrix is formed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.arrays import is_traced
from phistar.backends.kernel import compilable
from phistar.backends.recorded import Recorded
from phistar.dynamics import forward_dynamics
from phistar.loops.closure import Closures, closures, loop_frames, loop_slices, row_count
from phistar.loops.probes import frame_poses
from phistar.model import Model
from phistar.model.parts import CoupledJoints
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.stated import states


def _free(s: Symbols) -> Node:
    return s.mass.inv @ (s.T - s.C - s.g)


@states(
    lambda s: {
        "acceleration": _free(s),
        "at_frames": s.J @ _free(s) + s.Jdot_v,
        "motion": s.J @ s.v,
        "compliance": s.J @ s.mass.inv @ s.J.T,
    },
    matrix=True,
)
def free_motion(model: Model, q: Any, v: Any, tau: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """θ̈_f (…, nv), Jθ̈_f + J̇θ̇ and Jθ̇ (…, 6f), Jℳ⁻¹J* (…, 6f, 6f): the tree without its closures (eqs. 24-26)."""
    return free_motion.evaluate_all(model, q, {"v": v, "T": tau}, frames)


@states(lambda s: {"rates": s.mass.inv @ s.T, "at_frames": s.J @ s.mass.inv @ s.T})
def joint_response(model: Model, q: Any, tau: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """ℳ⁻¹T (…, nv) and Jℳ⁻¹T (…, 6f)."""
    return joint_response.evaluate_all(model, q, {"T": tau}, frames)


@states(lambda s: s.mass.inv @ (s.T + s.load))
def response(model: Model, q: Any, tau: Any, force: Any, frames: tuple[str, ...]) -> np.ndarray:
    """ℳ⁻¹(T + J*f), (…, nv): what joint forces and forces at frames do to θ̈ (eq. 18, with its sign turned)."""
    vectors = {"T": tau, "f": force} if frames else {"T": tau}
    return response.evaluate(model, q, vectors, frames=frames)


@states(lambda s: {"at_frames": s.J @ s.qdd + s.Jdot_v, "motion": s.J @ s.v})
def frame_acceleration(model: Model, q: Any, v: Any, a: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Jθ̈ + J̇θ̇ and Jθ̇, (…, 6f) (eq. 25); of no frames, nothing."""
    if not frames:
        return {"at_frames": np.zeros(0), "motion": np.zeros(0)}
    return frame_acceleration.evaluate_all(model, q, {"v": v, "qdd": a}, frames)


class Equations(NamedTuple):
    """S λ = γ at a state, with the scale of its rows, the rate ġ = Aθ̇, the free acceleration, and the closures."""

    matrix: np.ndarray
    right: np.ndarray
    scale: np.ndarray
    rate: np.ndarray
    free: np.ndarray
    closures: Closures


def equations(model: Model, q: Any, v: Any, tau: Any) -> Equations:
    """The closures' equations of motion, on floats (…, n) or traced scalars (n,)."""
    if is_traced(q, v, tau) or not compilable(model):
        return _equations(model, q, v, tau)
    with np.errstate(invalid="ignore"):  # a NaN spoils its own row
        made = _compiled_equations(model, q, v, tau)
    return Equations(*made[:5], Closures(*made[5:]))


def _equations(model: Model, q: Any, v: Any, tau: Any) -> Equations:
    tree, frames = model.tree, loop_frames(model)
    if frames:
        made = free_motion(tree, q, v, tau, frames)
    else:
        free = forward_dynamics(tree, q, v, tau)
        made = {"acceleration": free, "at_frames": np.zeros(0), "motion": np.zeros(0), "compliance": np.zeros((0, 0))}
    poses = frame_poses(tree, q, frames)
    motions = {frame: made["motion"][..., 6 * i : 6 * i + 6] for i, frame in enumerate(frames)}
    found = closures(model, q, poses, v, motions)
    on_frames, on_rates = found.on_frames, found.on_rates
    right = _dot(on_frames, made["at_frames"]) + found.drift
    rate = _dot(on_frames, made["motion"])
    matrix = np.matmul(np.matmul(on_frames, made["compliance"]), _flip(on_frames))
    scale = row_scale(found, made["compliance"])
    coupled = coupled_rows(model)
    if len(coupled):
        right, rate = right + _dot(on_rates, made["acceleration"]), rate + _dot(on_rates, np.asarray(v))
        matrix, scale = _with_couplings(tree, q, frames, found, matrix, scale, coupled)
    return Equations(0.5 * (matrix + _flip(matrix)), right, scale, rate, made["acceleration"], found)


def _flat(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
    *first, found = _equations(model, q, v, tau)
    return *first, *found


def _shapes(model: Model) -> tuple[tuple[int, ...], ...]:
    m, width = row_count(model), 6 * len(loop_frames(model))
    return (m, m), (m,), (m,), (m,), (model.nv,), (m,), (m, width), (m, model.nv), (m,)


_compiled_equations = Recorded(
    "closure_equations", ("q", "v", "tau"), (*Equations._fields[:-1], *Closures._fields), _flat, _shapes
)


def coupled_rows(model: Model) -> np.ndarray:
    """The rows that couplings have among the closures."""
    rows = [np.arange(row_count(model))[where] for where in loop_slices(model).values()]
    chosen = [own for own, loop in zip(rows, model.loops, strict=True) if isinstance(loop, CoupledJoints)]
    return np.concatenate([np.zeros(0, int), *chosen])


def _with_couplings(
    tree: Model,
    q: Any,
    frames: tuple[str, ...],
    found: Closures,
    matrix: np.ndarray,
    scale: np.ndarray,
    coupled: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """S with QJℳ⁻¹C*, its adjoint and Cℳ⁻¹C*, a sweep a coupling."""
    for row in coupled:
        given = found.on_rates[..., row, :]
        if frames:
            made = joint_response(tree, q, given, frames)
            column = _dot(found.on_rates, made["rates"]) + _dot(found.on_frames, made["at_frames"])
        else:
            column = _dot(found.on_rates, response(tree, q, given, None, ()))
        unit = np.eye(column.shape[-1])[row]
        matrix = matrix + column[..., :, None] * unit
        others = 1.0 - np.isin(np.arange(len(unit)), coupled)
        matrix = matrix + unit[:, None] * (column * others)[..., None, :]
        scale = scale + unit * column[..., row, None]
    return matrix, scale


def row_scale(found: Closures, compliance: np.ndarray) -> np.ndarray:
    """What each row's compliance would be if its frames gave way equally to all turns and to all shifts, (…, m)."""
    diagonal = [compliance[..., i, i] for i in range(compliance.shape[-1])]
    means = [sum(diagonal[i : i + 3]) * (1.0 / 3.0) for i in range(0, len(diagonal), 3)]
    if not means:
        return np.zeros(found.residual.shape)
    isotropic = np.stack([mean for mean in means for _ in range(3)], axis=-1)
    return _dot(found.on_frames * found.on_frames, isotropic)


def pushed(model: Model, q: Any, found: Closures, forces: np.ndarray) -> np.ndarray:
    """ℳ⁻¹A*λ, (…, nv)."""
    on_frames = _dot(_flip(found.on_frames), forces)
    on_rates = _dot(_flip(found.on_rates), forces) if len(coupled_rows(model)) else np.zeros(model.nv)
    return response(model.tree, q, on_rates, on_frames, loop_frames(model))


def _flip(matrix: np.ndarray) -> np.ndarray:
    return np.swapaxes(matrix, -1, -2)


def _dot(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.matmul(matrix, vector[..., None])[..., 0]
