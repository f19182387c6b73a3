"""How the accelerations of a mechanism with loops change: implicit differentiation of its equations of motion.

    ρ₁ = ID(q, v, θ̈) − A*λ − T = 0,   ρ₂ = Aθ̈ + Ȧθ̇ = 0

so that ℳ δθ̈ − A* δλ = δT − δρ₁ and A δθ̈ = −δρ₂, where δρ is at fixed θ̈ and λ: the recorded statements of ρ,
differentiated instruction by instruction along q (tangent), v and θ̈.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.choice import TRACED, compilable
from phistar.backends.traces.differentiate import matrix, tangent_map, tangents, values_of
from phistar.compiled import CompiledFunction, compile
from phistar.dynamics import forward_kinematics, frame_load, inverse_dynamics
from phistar.errors import StatementError
from phistar.loops.closure import closures, loop_frames, row_count
from phistar.loops.effective import generalized_inverse
from phistar.loops.equations import equations, frame_acceleration
from phistar.loops.forward import solved_motion
from phistar.model import Model
from phistar.recording import record


def closed_derivatives(model: Model, q: Any, v: Any, tau: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂θ̈/∂q (tangent), ∂θ̈/∂v and ∂θ̈/∂τ, each (…, nv, nv).

    Where closures are redundant, along q and v that keep them closed; elsewhere θ̈ is not defined by them.
    """
    made = equations(model, q, v, tau)
    motion = solved_motion(model, q, made)
    slopes = _slopes(model)(q, v, motion.acceleration, motion.forces)
    nv = model.nv
    upper, lower = slopes[..., :nv, :], slopes[..., nv:, :]
    mass, rows = upper[..., 2 * nv :], lower[..., 2 * nv :]
    sides = np.concatenate([-upper[..., : 2 * nv], np.broadcast_to(np.eye(nv), mass.shape)], axis=-1)
    falling = np.concatenate([lower[..., : 2 * nv], np.zeros((*lower.shape[:-1], nv))], axis=-1)
    free = np.linalg.solve(mass, sides)  # as though the loops were cut
    across = np.linalg.solve(mass, np.swapaxes(rows, -1, -2))
    inverse = generalized_inverse(made.matrix, made.scale)
    found = free - across @ (inverse @ (rows @ free + falling))
    return found[..., :nv], found[..., nv : 2 * nv], found[..., 2 * nv :]


def _slopes(model: Model) -> CompiledFunction:
    """∂ρ/∂(q, v, θ̈), (…, nv + m, 3nv), as machine code that is kept on the model."""
    if not compilable(model):
        raise StatementError(
            f"{model.name} is too long for the derivatives of its closed motion: they are compiled for at most "
            f"{TRACED} bodies. The spanning tree's are had with model.tree."
        )
    rows = {"forces": row_count(model)}
    return model.kept("closed_slopes", lambda: compile(_recorded_slopes(model), model, rows=rows))


def _recorded_slopes(model: Model) -> Any:
    inner = record(_residuals(model), model, rows={"forces": row_count(model)}).trace
    nq, nv = model.nq, model.nv

    def slopes(q: Any, v: Any, a: Any, forces: Any) -> np.ndarray:
        inputs = [entry for array in (q, v, a, forces) for entry in np.asarray(array)]
        seeds = dict(enumerate(tangent_map(model, np.asarray(q))))
        seeds |= {nq + i: {nv + i: 1.0} for i in range(2 * nv)}
        return matrix(tangents(inner, values_of(inner, inputs), seeds), 3 * nv)

    return slopes


def _residuals(model: Model) -> Any:
    """ρ₁ but for T, and ρ₂, of a state, an acceleration and closing forces."""
    tree, frames = model.tree, loop_frames(model)

    def residuals(q: Any, v: Any, a: Any, forces: Any) -> np.ndarray:
        poses = {frame: forward_kinematics(tree, q, frame) for frame in frames}
        moved = frame_acceleration(tree, q, v, a, frames)
        motions = {frame: moved["motion"][6 * i : 6 * i + 6] for i, frame in enumerate(frames)}
        found = closures(model, q, poses, v, motions)
        on_frames, on_rates = found.on_frames, found.on_rates
        pull = np.matmul(np.swapaxes(on_rates, -1, -2), forces)
        if frames:
            held = np.matmul(np.swapaxes(on_frames, -1, -2), forces)
            pull = pull + frame_load(tree, q, {frame: held[6 * i : 6 * i + 6] for i, frame in enumerate(frames)})
        falling = np.matmul(on_frames, moved["at_frames"]) + np.matmul(on_rates, a) + found.drift
        return np.concatenate([inverse_dynamics(tree, q, v, a) - pull, falling])

    return residuals
