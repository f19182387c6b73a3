"""Derivatives of the accelerations of a mechanism with loops: implicit differentiation of its equations of motion.

    ρ₁ = ID(q, v, θ̈) − A*λ − T = 0,   ρ₂ = Aθ̈ + Ȧθ̇ = 0

so that ℳ δθ̈ − A* δλ = δT − δρ₁ and A δθ̈ = −δρ₂, where δρ is at fixed θ̈ and λ. How ID changes is the spanning tree's,
for trees of any size. A closure compares two frames as the one sees the other, so that A*λ and Aθ̈ + Ȧθ̇ of it hang on
the joints between them alone: recorded for each loop by itself and differentiated instruction by instruction along q
(tangent), v and θ̈.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.backends.choice import TRACED, compilable
from phistar.backends.traces.differentiate import matrix, tangent_map, tangents, values_of
from phistar.compiled import CompiledFunction, compile
from phistar.dynamics import forward_kinematics, frame_load
from phistar.errors import StatementError
from phistar.loops.closure import closures, loop_frames, loop_slices, row_count
from phistar.loops.effective import generalized_inverse
from phistar.loops.equations import equations, frame_acceleration
from phistar.loops.forward import solved_motion
from phistar.model import Model, Revolute
from phistar.model.check import explain_division
from phistar.model.parts import Body, CoupledJoints, Frame, Joint, Loop
from phistar.recording import record
from phistar.spatial.inertia import MASSLESS
from phistar.spatial.pose import Pose

HINGE = Revolute(axis=(0.0, 0.0, 1.0))


def closed_derivatives(
    model: Model, q: Any, v: Any, tau: Any, free_slopes: Callable[..., tuple[np.ndarray, ...]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂θ̈/∂q (tangent), ∂θ̈/∂v and ∂θ̈/∂τ, each (…, nv, nv); `free_slopes(tree, q, v, θ̈)` are those of the tree's ID.

    Where closures are redundant, along q and v that keep them closed; elsewhere θ̈ is not defined by them.
    """
    slopes = [_loop_slopes(model, loop, _between(model, loop)) for loop in model.loops]
    made = equations(model, q, v, tau)
    motion = solved_motion(model, q, made)
    q, v = model.checked_q(q), model.checked(v, model.nv, "v")
    free = free_slopes(model.tree, q, v, motion.acceleration)
    upper, lower = _all_slopes(model, slopes, (q, v, motion.acceleration, motion.forces), free)
    nv = model.nv
    mass, rows = upper[..., 2 * nv :], lower[..., 2 * nv :]
    sides = np.concatenate([-upper[..., : 2 * nv], np.broadcast_to(np.eye(nv), mass.shape)], axis=-1)
    falling = np.concatenate([lower[..., : 2 * nv], np.zeros((*lower.shape[:-1], nv))], axis=-1)
    try:
        cut = np.linalg.solve(mass, sides)  # as though the loops were cut
    except np.linalg.LinAlgError as error:
        raise explain_division(model, error) from None
    across = np.linalg.solve(mass, np.swapaxes(rows, -1, -2))
    inverse = generalized_inverse(made.matrix, made.scale)
    found = cut - across @ (inverse @ (rows @ cut + falling))
    return found[..., :nv], found[..., nv : 2 * nv], found[..., 2 * nv :]


def _all_slopes(
    model: Model, slopes: list[CompiledFunction], at: tuple[np.ndarray, ...], free: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """∂ρ₁ and ∂ρ₂ by (q, v, θ̈), (…, nv, 3nv) and (…, m, 3nv), at q, v, θ̈ and λ."""
    q, v, a, forces = at
    upper = np.concatenate(free, axis=-1)
    lower = np.zeros((*upper.shape[:-2], row_count(model), upper.shape[-1]))
    for loop, rows, function in zip(model.loops, loop_slices(model).values(), slopes, strict=True):
        bodies = _between(model, loop)
        rates = np.concatenate([np.arange(model.nv)[model.joints[k].v_slice] for k in bodies])
        places = np.concatenate([np.arange(model.nq)[model.joints[k].q_slice] for k in bodies])
        made = function(q[..., places], v[..., rates], a[..., rates], forces[..., rows])
        columns = np.concatenate([i * model.nv + rates for i in range(3)])
        upper[..., rates[:, None], columns] += made[..., : len(rates), :]
        lower[..., rows, columns] = made[..., len(rates) :, :]
    return upper, lower


def _between(model: Model, loop: Loop | CoupledJoints) -> list[int]:
    """The bodies whose joints a closure hangs on: those of one way from the base to its frames and not of the other."""
    if isinstance(loop, CoupledJoints):
        names = (loop.joint_a, loop.joint_b)
        return sorted({joint.body for joint in model.joints if joint.name in names})
    ways = []
    for end in (loop.frame_a, loop.frame_b):
        body = model.frame(end).body
        ways.append(set[int]())
        while body >= 0:
            ways[-1].add(body)
            body = model.parents[body]
    return sorted(ways[0] ^ ways[1])


def _loop_slopes(model: Model, loop: Loop | CoupledJoints, bodies: list[int]) -> CompiledFunction:
    """∂(−A*λ, Aθ̈ + Ȧθ̇)/∂(q, v, θ̈) of one closure, as machine code that is kept on the model; loops alike share it."""
    alone = model.kept(("closed alone", loop.name), lambda: _alone(model, loop, bodies))
    if not compilable(alone):
        raise StatementError(
            f"Loop {loop.name} of {model.name} goes through {len(bodies)} joints; derivatives of closed motion are "
            f"compiled for loops through at most {TRACED}. The spanning tree's are had with model.tree."
        )
    rows = {"forces": loop.rows}
    return model.kept(("closed slopes", alone.key), lambda: compile(_recorded_slopes(alone), alone, rows=rows))


def _alone(model: Model, loop: Loop | CoupledJoints, bodies: list[int]) -> Model:
    """The mechanism of one closure's joints, on what carries them all as though it were the world. A coupling asks for
    coordinates alone: its joints are hinges side by side, so that couplings of all joints share their code."""
    number, made, nq, nv = {k: i for i, k in enumerate(bodies)}, list[Body](), 0, 0
    coupled = isinstance(loop, CoupledJoints)
    for i, k in enumerate(bodies):
        body, kind = model.bodies[k], HINGE if coupled else model.joints[k].kind
        joint = Joint(f"joint{i}", kind, i, slice(nq, nq + kind.nq), slice(nv, nv + kind.nv))
        parent, placement = (-1, Pose()) if coupled else (number.get(body.parent, -1), body.placement)
        made.append(Body(f"link{i}", parent, joint, placement, MASSLESS))
        nq, nv = nq + kind.nq, nv + kind.nv
    if coupled:
        ends = [f"joint{number[model.joint(x).body]}" if x is not None else None for x in (loop.joint_a, loop.joint_b)]
        return Model("loop", tuple(made), (), (CoupledJoints("loop", ends[0] or "", ends[1], loop.joint),))
    ends = [model.frame(end) for end in (loop.frame_a, loop.frame_b)]
    frames = tuple(Frame(name, number.get(x.body, -1), x.placement) for name, x in zip("ab", ends, strict=True))
    return Model("loop", tuple(made), frames, (Loop("loop", "a", "b", loop.joint),))


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
    """−A*λ and ρ₂ of a state, an acceleration and closing forces."""
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
        return np.concatenate([-pull, falling])

    return residuals
