"""The closures of a model along q and v, and Newton's method on them with the primary joints held."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.dynamics import forward_kinematics, jacobian
from phistar.errors import PhistarError
from phistar.loops.closure import closures, loop_frames, loop_slices
from phistar.loops.equations import frame_acceleration
from phistar.loops.primary.taylor import derivatives_of, taylor_array
from phistar.model import Model
from phistar.model.parts import Loop
from phistar.spatial import times
from phistar.spatial.vectors import leading_axes

ENOUGH = 1e-13  # of the residual, in m and rad
ACCEPTED = 1e-9  # where Newton's method no longer gains
MOST_STEPS = 50
GAIN = 0.98  # Newton's method stops where no state's residual falls below this part of it
LONGEST = 1.0  # of a step, in rad and m
STRIDE = 0.3  # of a primary rate, in rad and m, from one assembled configuration to the next


class State(NamedTuple):
    """g (…, m), A = QJ + C (…, m, nv), drift with g̈ = Aθ̈ + drift (…, m); poses and Jacobians of the loops' frames."""

    residual: np.ndarray
    jacobian: np.ndarray
    drift: np.ndarray
    poses: dict[str, np.ndarray]
    jacobians: dict[str, np.ndarray]


def closed_state(model: Model, q: np.ndarray, v: np.ndarray | None = None) -> State:
    """The closures at q (…, nq), and at v (…, nv) or at rest; a composition of the frames' J and J̇θ̇."""
    tree, frames = model.tree, loop_frames(model)
    poses = {name: forward_kinematics(tree, q, name) for name in frames}
    jacobians = {name: jacobian(tree, q, name) for name in frames}
    bias, motions = np.zeros(6 * len(frames)), {}
    if v is not None:
        moved = frame_acceleration(tree, q, v, np.zeros(model.nv), frames)
        bias = moved["at_frames"]
        motions = {name: moved["motion"][..., 6 * i : 6 * i + 6] for i, name in enumerate(frames)}
    found = closures(model, q, poses, v, motions)
    stacked = [np.zeros((*q.shape[:-1], 0, model.nv)), *(jacobians[name] for name in frames)]
    whole = np.matmul(found.on_frames, np.concatenate(stacked, axis=-2)) + found.on_rates
    drift = found.drift + times(found.on_frames, bias)
    for end in {end for loop in model.loops if isinstance(loop, Loop) for end in (loop.frame_a, loop.frame_b)}:
        poses.setdefault(end, model.frame(end).placement.matrix)
        jacobians.setdefault(end, np.zeros((6, model.nv)))
    return State(found.residual, whole, drift, poses, jacobians)


def find(model: Model, held: np.ndarray, free: np.ndarray, Q: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """U(Q), (…, nq): q with q[held] = Q and all loops closed, all states together.

    The guess is assembled where it is, and led from there to Q in short steps, so that Q far away is still met in the
    assembly that the guess is nearest to.
    """
    batch = leading_axes({"Q": Q, "guess": guess})
    q = _newton(model, np.array(np.broadcast_to(guess, (*batch, model.nq))), free)[0]
    target = q.copy()
    target[..., held] = Q
    way = model.difference(q, target)
    way[..., free] = 0.0
    longest = np.nan_to_num(np.abs(way)).max(initial=0.0)
    count = max(1, int(np.ceil(longest / STRIDE)))
    for left in range(count, 0, -1):
        q = model.integrate(q, way / count)
        if left == 1:
            q[..., held] = Q
        q, residual = _newton(model, q, free)
    _check(model, residual)
    return q


def _newton(model: Model, q: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q with its rates `free` moved to close the loops, as far as that goes, and the residual that is left."""
    state = closed_state(model, q)
    error = _size(state.residual)
    for _ in range(MOST_STEPS):
        if not np.any(error > ENOUGH):
            break
        step = np.zeros((*q.shape[:-1], model.nv))
        inverse = np.linalg.pinv(np.nan_to_num(state.jacobian[..., free]), rcond=1e-9)
        step[..., free] = -times(inverse, state.residual)
        step = step / np.maximum(1.0, np.abs(step).max(axis=-1, keepdims=True, initial=0.0) / LONGEST)
        before = error
        q, state, error = _line_search(model, q, step, before)
        if not np.any(error < GAIN * before):
            break
    return q, state.residual


def found_series(
    model: Model, held: np.ndarray, free: np.ndarray, path: list[np.ndarray], q: np.ndarray
) -> list[np.ndarray]:
    """[q, q̇, q̈, …] along U(Q(t)), coefficient by coefficient: in g(q(t)) = 0 the k-th one of q enters as A q_k.

    Joints with q̇ = θ̇ only.
    """
    batch = np.broadcast_shapes(q.shape[:-1], *(x.shape[:-1] for x in path))
    inverse = np.linalg.pinv(closed_state(model, q).jacobian[..., free], rcond=1e-9)
    known = [np.broadcast_to(q, (*batch, model.nq))]
    for k, given in enumerate(path[1:], start=1):
        known.append(np.zeros((*batch, model.nq)))
        known[k][..., held] = given
        series = taylor_array(*known)
        poses = {name: np.asarray(forward_kinematics(model, series, name)) for name in loop_frames(model)}
        left = derivatives_of(closures(model, series, poses).residual, k, batch)[k]
        known[k][..., free] = -times(inverse, left)
    return known


def _line_search(
    model: Model, q: np.ndarray, step: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, State, np.ndarray]:
    """q ⊕ step, ½ step, ¼ step, … until the residual falls; each state of the batch by itself."""
    scale = np.ones(error.shape)
    for _ in range(12):
        moved = model.integrate(q, scale[..., None] * step)
        state = closed_state(model, moved)
        size = _size(state.residual)
        worse = (size > error) & (error > ENOUGH)
        if not np.any(worse):
            break
        scale = np.where(worse, 0.5 * scale, scale)
    return moved, state, size


def _size(residual: np.ndarray) -> np.ndarray:
    return np.abs(residual).max(axis=-1, initial=0.0)


def _check(model: Model, residual: np.ndarray) -> None:
    """Names the state and the closure that is farthest from closed; a NaN given spoils its own state only."""
    size = np.nan_to_num(_size(residual))
    if size.max(initial=0.0) <= ACCEPTED:
        return
    worst: Any = np.unravel_index(np.argmax(size), size.shape)
    errors = {name: np.abs(residual[worst][rows]).max(initial=0.0) for name, rows in loop_slices(model).items()}
    name = max(errors, key=lambda key: errors[key])
    where = f" at state {tuple(int(i) for i in worst)}" if worst else ""
    raise PhistarError(
        f"The loop '{name}' of {model.name} cannot be closed with these primary coordinates{where}: it stays open by "
        f"{errors[name]:.3g}. Give coordinates within reach, or a guess nearer to the assembly that is meant."
    )
