"""Hybrid dynamics: some joints move as told, the others as their forces make them.

L picks the rates that joint forces drive (1, or 0 where accelerations θ̈_p are prescribed), so that LH are their axes:

    θ̈ = θ̈_p + L*(LℳL* + R)⁻¹L(T − 𝒞 − 𝒢 + J*f − ℳθ̈_p)

where R is 1 on the prescribed rates, and so is D there. LℳL* + R = (LH)φMφ*(LH)* + (LAL* + R) is what RJK91's lemmas
factor for any mass, armature and axes: it is lemma 3 with the free joints' H, in the two sweeps of forward dynamics;
the gain G = PH*L*D⁻¹ vanishes at prescribed joints, and ψ = φ there. Which joints are prescribed is an input: one
kernel serves every choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import is_traced
from phistar.dynamics import Forces, frame_poses, inverse_dynamics
from phistar.errors import InfeasibleError, ModelError, ShapeError
from phistar.loops.closure import closures, loop_frames
from phistar.loops.effective import generalized_inverse
from phistar.loops.equations import frame_acceleration, row_scale
from phistar.loops.feasible_rates import closure_jacobian
from phistar.model import Joint, Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr
from phistar.spatial import times, transposed
from phistar.stated import states

OPENS = 1e-8  # of the accelerations that closures see: more, and a prescription contradicts them


@short_repr
class HybridDynamics(NamedTuple):
    """Accelerations of all joints and forces of all joints, where some were prescribed.

    Parameters
    ----------
    accelerations : (…, nv)
        Joint accelerations, the prescribed ones as told [rad/s², m/s²].
    forces : (…, nv)
        Joint forces, those of free rates as given [N m, N].

    Examples
    --------
    >>> float(ps.hybrid_dynamics(ps.planar_chain(2), [0, 0], [0, 0], [0, 0], {"joint1": 1.0}).accelerations[0])
    1.0
    """

    accelerations: Array
    forces: Array


@states(lambda s: s.L.T @ _free_inverse(s) @ s.L @ (s.T - s.C - s.g + s.load - s.mass @ s.qdd))
def driven_accelerations(model: Model, q: Any, v: Any, a: Any, tau: Any, driven: Any, f_ext: Forces = None) -> Array:
    """L*(LℳL* + R)⁻¹L(T − 𝒞 − 𝒢 + J*f − ℳθ̈_p), (…, nv): θ̈ of the driven rates, zero on the others."""
    given = {"v": v, "qdd": a, "T": tau, "L": driven, "R": 1.0 - np.asarray(driven)}
    return driven_accelerations.evaluate(model, q, given, f_ext)


@states(lambda s: s.L.T @ _free_inverse(s) @ s.L @ s.T)
def yielding(model: Model, q: Any, tau: Any, driven: Any) -> Array:
    """L*(LℳL* + R)⁻¹LT, (…, nv): what joint forces do where the other rates do not yield."""
    return yielding.evaluate(model, q, {"T": tau, "L": driven, "R": 1.0 - np.asarray(driven)})


def _free_inverse(s: Any) -> Any:
    """(LℳL* + R)⁻¹."""
    return (s.L @ s.mass @ s.L.T + s.R).inv


def hybrid_dynamics(
    model: Model, q: Any, v: Any, tau: Any, prescribed: Mapping[str, Any], f_ext: Forces = None
) -> HybridDynamics:
    """Accelerations of the joints that forces drive, and forces of the joints that move as prescribed.

    RJK91's lemma 3 with the free joints' H: θ̈ = θ̈_p + L*(LℳL* + R)⁻¹L(T − 𝒞 − 𝒢 + J*f − ℳθ̈_p), where L picks the
    joints that are not prescribed, then T = ℳθ̈ + 𝒞 + 𝒢 − J*f. With loops, accelerations that keep them closed; in
    independent rates (`model.embedded()`), of independent joints.

    Parameters
    ----------
    model : Model
    q, v, tau
        (…, nq), (…, nv), (…, nv); joint forces of prescribed rates are not used.
    prescribed
        {joint: acceleration}, one number for a joint of one rate, else (…, rates); None leaves one of several free.
    f_ext
        {frame: (…, 6)}, forces on frames in world axes.

    Returns
    -------
    HybridDynamics
        accelerations (…, nv) and forces (…, nv).

    Raises
    ------
    InfeasibleError
        Where what is prescribed would open a loop.

    Examples
    --------
    >>> import phistar as ps
    >>> arm = ps.load("planar2")
    >>> moved = ps.hybrid_dynamics(arm, [0.3, -0.7], [0.1, 0.2], [1.0, 0.0], prescribed={"joint2": 0.5})
    >>> float(moved.accelerations[1])
    0.5
    >>> bool(abs(ps.inverse_dynamics(arm, [0.3, -0.7], [0.1, 0.2], moved.accelerations)[0] - 1.0) < 1e-12)
    True
    """
    check_robot("hybrid_dynamics", (model,))
    told, is_told = _prescription(model, prescribed)
    tau = model.checked(tau, model.nv, "tau")
    driven = np.where(is_told, 0.0, 1.0)
    open_model = model.tree if model.loops else model
    found, pull = driven_accelerations(open_model, q, v, told, driven * tau, driven, f_ext), 0.0
    if model.loops:
        found, pull = _close_loops(model, q, v, _where(is_told, told, found), is_told)
    accelerations = _where(is_told, told, found)
    needed = inverse_dynamics(open_model, q, v, accelerations, f_ext) + pull
    return HybridDynamics(accelerations, _where(is_told, needed, tau))


def _where(mask: np.ndarray, those: Any, others: Any) -> np.ndarray:
    """Rate by rate, on floats and on traced numbers."""
    if not is_traced(np.asarray(those), np.asarray(others)):
        return np.where(mask, those, others)
    pairs = zip(mask, np.broadcast_to(those, mask.shape), np.broadcast_to(others, mask.shape), strict=True)
    return traced(np.array([this if chosen else other for chosen, this, other in pairs], dtype=object))


def _prescription(model: Model, prescribed: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """θ̈_p (…, nv), zero on free rates, and which rates are prescribed, (nv,)."""
    if not isinstance(prescribed, Mapping):
        raise ShapeError("prescribed must map joint names to accelerations, e.g. {'joint2': 0.5}.")
    entries: dict[int, np.ndarray] = {}
    for name, given in prescribed.items():
        value, chosen = _joint_prescription(model, model.joint(name), given)
        places = joint_rates(model, name)
        entries |= {place: value[..., i] for i, place in enumerate(places) if chosen[i]}
    batch, mask = np.broadcast_shapes(*(x.shape for x in entries.values())), np.zeros(model.nv, dtype=bool)
    mask[list(entries)] = True
    columns = [np.broadcast_to(entries.get(i, np.zeros(())), batch)[..., None] for i in range(model.nv)]
    whole = np.concatenate([np.zeros((*batch, 0)), *columns], axis=-1)
    return (traced(whole) if is_traced(whole) else whole), mask


def joint_rates(model: Model, name: str) -> list[int]:
    """Slice of v with the rates of a joint; refused where, in independent rates, it follows others."""
    joint = model.joint(name)
    own = range(joint.v_slice.start, joint.v_slice.stop)
    if model.embedding is None:
        return list(own)
    free = model.embedding.independent
    if not all(rate in free for rate in own):
        names = [
            repr(x.name) for x in model.joints if any(rate in free for rate in range(x.v_slice.start, x.v_slice.stop))
        ]
        raise ModelError(
            f"The joint {name!r} of {model.name} follows others: its independent rates are those of "
            f"{', '.join(names) or 'no joint by itself'}. Let it be one of them: "
            f"model.embedding.closed.embedded(independent=[{name!r}])."
        )
    return [free.index(rate) for rate in own]


def _joint_prescription(model: Model, joint: Joint, given: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(given, (list, tuple)) and any(x is None for x in given):
        if len(given) != joint.nv:
            raise ShapeError(f"prescribed[{joint.name!r}] has {len(given)} entries; the joint has {joint.nv} rates.")
        entries = [np.asarray(0.0 if x is None else x) for x in given]
        stacked = np.stack(np.broadcast_arrays(*entries), axis=-1)
        return model.checked(stacked, joint.nv, f"prescribed[{joint.name!r}]"), np.array([x is not None for x in given])
    array = np.asarray(given)
    if joint.nv == 1 and array.shape[-1:] != (1,):
        array = array[..., None]
    return model.checked(array, joint.nv, f"prescribed[{joint.name!r}]"), np.ones(joint.nv, dtype=bool)


def _close_loops(model: Model, q: Any, v: Any, free: np.ndarray, is_told: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """θ̈ that keeps every loop closed, and A*λ: (Aℳ_f⁻¹A*)λ = Aθ̈ + Ȧθ̇, where prescribed rates yield to nothing."""
    if is_traced(np.asarray(q), np.asarray(free)):
        raise ModelError(
            f"{model.name} has loops, whose rank under a prescription depends on values: no kernel. Take independent "
            "rates, model.embedded(), any of which may be prescribed."
        )
    tree, ends = model.tree, loop_frames(model)
    q, v = model.checked_q(q), model.checked(v, model.nv, "v")
    rows = closure_jacobian(model, q)
    moved = frame_acceleration(tree, q, v, np.zeros(model.nv), ends)
    motions = {frame: moved["motion"][..., 6 * i : 6 * i + 6] for i, frame in enumerate(ends)}
    found = closures(model, q, frame_poses(tree, q, ends), v, motions)
    drift = times(found.on_frames, moved["at_frames"]) + found.drift
    across = yielding(tree, q[..., None, :], rows, np.where(is_told, 0.0, 1.0))
    matrix = np.matmul(rows, transposed(across))
    scale = row_scale(model, np.diagonal(matrix, axis1=-2, axis2=-1))
    opening = times(rows, free) + drift
    forces = times(generalized_inverse(matrix, scale), opening)
    accelerations = free - times(transposed(across), forces)
    _refuse_contradictions(model, times(rows, accelerations) + drift, np.abs(rows), accelerations, drift)
    return accelerations, times(transposed(rows), forces)


def _refuse_contradictions(
    model: Model, left: np.ndarray, rows: np.ndarray, accelerations: np.ndarray, drift: np.ndarray
) -> None:
    largest = times(rows, np.abs(accelerations)) + np.abs(drift)
    bound = OPENS * np.maximum(np.max(largest, axis=-1, keepdims=True, initial=0.0), 1e-12)
    if np.any(np.abs(left) > bound):
        start, worst = 0, int(np.argmax(np.max(np.abs(left).reshape(-1, left.shape[-1]), axis=0)))
        for loop in model.loops:
            if start <= worst < start + loop.rows:
                raise InfeasibleError(
                    f"What is prescribed would open the loop {loop.name!r} of {model.name}: it is left with a relative "
                    f"acceleration of {np.abs(left)[..., worst].max():.3g}. Leave a joint of the loop free."
                )
            start += loop.rows
