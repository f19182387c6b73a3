"""The equations of motion of closures, S λ = γ, from statements about the spanning tree (RJK91 eqs. 22-26).

S = A ℳ⁻¹ A* and γ = A θ̈_f + Ȧθ̇ with A = QJ + C. By the innovations factorization of ℳ⁻¹ (RJK91 lemma 3),

    S = Y* D⁻¹ Y,   Y = (I − HψK)C* + HψBQ*,   ℳ⁻¹A*λ = (I − HψK)* D⁻¹ Yλ :

one inward sweep for each of the m closures, whatever frames or joints they are about, and one outward sweep for what
they do. O(n) a closure, and no mass matrix is formed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.recorded import Recorded
from phistar.backends.traces.trace import is_traced
from phistar.dynamics import force_response, forward_dynamics, frame_poses
from phistar.loops.closure import Closures, closures, linear_rows, loop_frames, loop_slices, row_count
from phistar.model import Model
from phistar.model.parts import CoupledJoints, Loop
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.spatial import times, transposed
from phistar.stated import states

ELSEWHERE = 1e-9  # of what other loops give: a loop that gives nothing beside it gives nothing


def free_acceleration(s: Symbols) -> Node:
    """θ̈_f = ℳ⁻¹(T − 𝒞 − 𝒢), of the tree without its closures."""
    return s.mass.inv @ (s.T - s.C - s.g)


def _innovation(s: Symbols) -> Node:
    return s.whitening @ s.T if s.frames == () else s.whitening @ s.T + s.H @ s.psi @ s.B @ s.f


@states(
    lambda s: {
        "acceleration": free_acceleration(s),
        "at_frames": s.J @ free_acceleration(s) + s.Jdot_v,
        "motion": s.J @ s.v,
    }
)
def free_motion(model: Model, q: Any, v: Any, tau: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """θ̈_f (…, nv), Jθ̈_f + J̇θ̇ and Jθ̇ (…, 6f): the tree without its closures (eqs. 24, 25)."""
    if not frames:
        nothing = np.zeros(0)
        return {"acceleration": forward_dynamics(model, q, v, tau), "at_frames": nothing, "motion": nothing}
    return free_motion.evaluate_all(model, q, {"v": v, "T": tau}, frames)


@states(lambda s: {"innovation": _innovation(s), "scaled": s.D.inv @ _innovation(s)})
def innovation(model: Model, q: Any, tau: Any, force: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """ε = (I − HψK)T + HψBf and D⁻¹ε, (…, nv): joint forces and forces at frames, filtered inward (RJK91 §6)."""
    vectors = {"T": tau, "f": force} if frames else {"T": tau}
    return innovation.evaluate_all(model, q, vectors, frames)


@states(lambda s: s.whitening.T @ s.D.inv @ s.T)
def joint_accelerations(model: Model, q: Any, innovations: Any) -> np.ndarray:
    """(I − HψK)*D⁻¹ε, (…, nv): the joint accelerations of innovations, outward."""
    return joint_accelerations.evaluate(model, q, {"T": innovations})


def response(model: Model, q: Any, tau: Any, force: Any, frames: tuple[str, ...]) -> np.ndarray:
    """ℳ⁻¹(T + J*f), (…, nv): what joint forces and forces at frames do to θ̈ (eq. 18, with its sign turned)."""
    return force_response(model, q, tau, {frame: force[..., 6 * i : 6 * i + 6] for i, frame in enumerate(frames)})


@states(lambda s: {"at_frames": s.J @ s.qdd + s.Jdot_v, "motion": s.J @ s.v})
def frame_acceleration(model: Model, q: Any, v: Any, a: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Jθ̈ + J̇θ̇ and Jθ̇, (…, 6f) (eq. 25); of no frames, nothing."""
    if not frames:
        return {"at_frames": np.zeros(0), "motion": np.zeros(0)}
    return frame_acceleration.evaluate_all(model, q, {"v": v, "qdd": a}, frames)


class Equations(NamedTuple):
    """S λ = γ at a state: S (…, m, m), γ (…, m), the scale of the rows (…, m), the rate ġ = Aθ̇ (…, m), the free
    acceleration (…, nv), the innovations Y* (…, m, nv), and the closures."""

    matrix: np.ndarray
    right: np.ndarray
    scale: np.ndarray
    rate: np.ndarray
    free: np.ndarray
    innovations: np.ndarray
    closures: Closures


def equations(model: Model, q: Any, v: Any, tau: Any) -> Equations:
    """The closures' equations of motion, on floats (…, n) or traced scalars (n,)."""
    if is_traced(q, v, tau) or not _compiled_equations.fits(model):
        return _equations(model, q, v, tau)
    with np.errstate(invalid="ignore"):  # a NaN spoils its own row
        made = _compiled_equations(model, q, v, tau)
    found = Closures(*made[6:])
    return Equations(
        *made[:6], closures=found if loop_frames(model) else found._replace(on_frames=found.on_frames[..., :0])
    )


def _equations(model: Model, q: Any, v: Any, tau: Any) -> Equations:
    tree, frames = model.tree, loop_frames(model)
    made = free_motion(tree, q, v, tau, frames)
    motions = {frame: made["motion"][..., 6 * i : 6 * i + 6] for i, frame in enumerate(frames)}
    found = closures(model, q, frame_poses(tree, q, frames), v, motions)
    right, rate = times(found.on_frames, made["at_frames"]) + found.drift, times(found.on_frames, made["motion"])
    if any(isinstance(loop, CoupledJoints) for loop in model.loops):
        right, rate = right + times(found.on_rates, made["acceleration"]), rate + times(found.on_rates, np.asarray(v))
    innovations, matrix = effective(tree, q, found, frames)
    scale = row_scale(model, np.stack([matrix[..., i, i] for i in range(matrix.shape[-1])], axis=-1))
    return Equations(matrix, right, scale, rate, made["acceleration"], innovations, found)


def effective(tree: Model, q: Any, found: Closures, frames: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Y* (…, m, nv) and S = Y*D⁻¹Y (…, m, m)."""
    if not is_traced(q, found.on_frames, found.on_rates):
        made = innovation(tree, np.asarray(q)[..., None, :], found.on_rates, found.on_frames, frames)
        return made["innovation"], np.matmul(made["innovation"], transposed(made["scaled"]))
    rows = range(found.on_frames.shape[-2])
    each = [innovation(tree, q, found.on_rates[i], found.on_frames[i], frames) for i in rows]
    left, right = (np.stack([np.asarray(made[name]) for made in each]) for name in ("innovation", "scaled"))
    lower = {(i, j): np.sum(left[i] * right[j]) for i in rows for j in range(i + 1)}
    matrix = np.empty((len(rows), len(rows)), dtype=object)
    for i, j in np.ndindex(*matrix.shape):
        matrix[i, j] = lower[max(i, j), min(i, j)]
    return left, matrix


def _flat(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
    *first, found = _equations(model, q, v, tau)
    if not loop_frames(model):  # a compiled function has no results without entries
        found = found._replace(on_frames=np.zeros((row_count(model), 1)))
    return *first, *found


def _shapes(model: Model) -> tuple[tuple[int, ...], ...]:
    m, nv, width = row_count(model), model.nv, max(1, 6 * len(loop_frames(model)))
    return (m, m), (m,), (m,), (m,), (nv,), (m, nv), (m,), (m, width), (m, nv), (m,)


_compiled_equations = Recorded(
    "closure_equations",
    ("q", "v", "tau"),
    (*Equations._fields[:-1], *Closures._fields),
    _flat,
    _shapes,
    lambda model: _compiled_equations.is_written(model, 6 + row_count(model)),
)


def row_scale(model: Model, diagonal: np.ndarray) -> np.ndarray:
    """Reference for each row's compliance, (…, m): those of its loop together, lengths made angles by the reach
    of the mechanism; a coupling's is its own."""
    return np.matmul(diagonal, model.kept("row_scale", lambda: _scaling(model)))


def _scaling(model: Model) -> np.ndarray:
    """W with scale = W* diag S, (m, m)."""
    where, m = loop_slices(model), row_count(model)
    lengths, joined = np.zeros(m, dtype=bool), np.zeros((m, m))
    at_frames = np.array([isinstance(loop, Loop) for loop in model.loops for _ in range(loop.rows)], dtype=float)
    for loop in model.loops:
        own = where[loop.name]
        if isinstance(loop, CoupledJoints):
            joined[own, own] = 1.0
            continue
        lengths[own.stop - linear_rows(loop) : own.stop] = True
        joined[:, own] = ELSEWHERE * at_frames[:, None]
        joined[own, own] = 1.0
    unit = np.where(lengths, reach(model), 1.0) ** 2
    return joined / unit[:, None] * unit


def reach(model: Model) -> float:
    """Longest path from the world to a frame of a loop, along placements."""
    ways: list[float] = []
    for body in model.bodies:
        above = ways[body.parent] if body.parent >= 0 else 0.0
        ways.append(above + float(np.linalg.norm(body.placement.translation)))
    places = [model.frame(name) for name in loop_frames(model)]
    ends = [ways[place.body] + float(np.linalg.norm(place.placement.translation)) for place in places]
    return max(ends, default=0.0) or 1.0


def response_to_forces(model: Model, q: Any, found: Closures, forces: np.ndarray) -> np.ndarray:
    """ℳ⁻¹A*λ, (…, nv)."""
    on_frames, on_rates = times(transposed(found.on_frames), forces), times(transposed(found.on_rates), forces)
    return response(model.tree, q, on_rates, on_frames, loop_frames(model))


def response_from_innovations(model: Model, q: Any, made: Equations, forces: np.ndarray) -> np.ndarray:
    """ℳ⁻¹A*λ, (…, nv), from the innovations that are there already."""
    return joint_accelerations(model.tree, q, times(transposed(made.innovations), forces))
