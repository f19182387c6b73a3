"""Control of an object that several arms hold: its motion, the forces inside it, and who carries how much (RJK91 §6).

    Zᵢα_d + cᵢ + Rᵢ(λᵢ + μᵢ) = 0,   T = T₀ + Σ Jᵢ*Qᵢ*μᵢ,   Σ Zᵢ*λᵢ = Ω⁻¹(α_d − α_f)

The contact forces λ are chosen to carry the object, and to squeeze it as wanted; μ then makes the arms move with it.
Laws are `law(t, q, v, reference)`, pure, for floats (…, n) and traced numbers alike: they compile, roll out and export.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from phistar.backends.solve import solve
from phistar.dynamics import forward_kinematics, frame_load, gravity_load, kinetic_energy
from phistar.errors import ModelError, PhistarError, ShapeError
from phistar.loops.grasp import Estimate, Grasp, Hold, dot, flip, shifted
from phistar.model import Model

POSE = 12  # entries of a pose in a reference: the rotation's rows, then the position


class Split(NamedTuple):
    """How contact forces λ (…, m) make a wrench on the object: W⁻¹Z(Z*W⁻¹Z)⁻¹ is `carrying` (…, m, 6), Z* is `map`."""

    map: np.ndarray
    carrying: np.ndarray

    def forces(self, wrench: np.ndarray, internal: np.ndarray) -> np.ndarray:
        """λ that makes the wrench (…, 6), with the part of `internal` (…, m) that makes none."""
        return internal + dot(self.carrying, wrench - dot(self.map, internal))


def load_split(grasp: Grasp, holds: list[Hold], weights: Any = None) -> Split:
    """The forces nearest to none, W weighting those of each contact, (l,): a heavier weight carries less."""
    count = len(holds)
    given = np.ones(count) if weights is None else np.asarray(weights, dtype=float)
    if given.shape != (count,) or not np.all((given > 0.0) & np.isfinite(given)):
        raise ShapeError(f"The weights of a load split are {count} positive numbers, one per contact.")
    rows = np.concatenate([hold.on_object for hold in holds], axis=-2)
    soft = 1.0 / np.repeat(given, [loop.rows for loop in grasp.loops])
    back = soft[:, None] * rows
    return Split(flip(rows), flip(solve(np.matmul(flip(rows), back), flip(back))))


def internal_forces(grasp: Grasp, q: Any, forces: Any) -> np.ndarray:
    """f − X(X*X)⁻¹X*f, (…, l, 6): the part of contact forces on the object that squeezes it and moves nothing.

    Forces are [moment; force], world axes at the contact frames, as `grasp_dynamics` and `constraint_forces` give them.
    """
    given = np.asarray(forces, dtype=float)
    count = len(grasp.loops)
    if given.shape[-2:] != (count, 6):
        raise ShapeError(f"The contact forces have shape {given.shape}; this grasp needs (…, {count}, 6).")
    total = np.sum(carried(grasp, q, given), axis=-2)
    shifts = _seats(grasp, q)
    square = np.sum(np.matmul(flip(shifts), shifts), axis=-3)
    mean = dot(shifts, np.broadcast_to(solve(square, total[..., None])[..., 0][..., None, :], given.shape))
    return given - mean


def carried(grasp: Grasp, q: Any, forces: np.ndarray) -> np.ndarray:
    """X*f, (…, l, 6): each contact force as a wrench at the object's frame."""
    return dot(flip(_seats(grasp, q)), forces)


def _seats(grasp: Grasp, q: Any) -> np.ndarray:
    return shifted(grasp.offsets(grasp.model.checked(q, grasp.model.nq, "q")))


@final
@dataclass(frozen=True, eq=False)
class ObjectControl:
    """α_d = α_r + k_d(β_r − β) + k_p e: the object follows a moving pose, and is squeezed as wanted, exactly.

    Feedback linearization of arms and object together (Kreutz and Lokshin 1988, cited in RJK91 §6). `weights` (l,)
    split the load. What the contacts leave free of the arms is held up against gravity and damped by `damping`.
    `reference(pose, twist, acceleration, internal)`.
    """

    grasp: Grasp
    kp: float = 100.0
    kd: float = 20.0
    weights: Any = None
    damping: float = 1.0

    @property
    def model(self) -> Model:
        return self.grasp.model

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": POSE + 12 + self.grasp.rows}

    def reference(self, pose: Any, twist: Any = None, acceleration: Any = None, internal: Any = None) -> np.ndarray:
        """(…, 24 + m): a pose (…, 4, 4) of the object, [ω; v] and its rate in world axes, row forces λ (…, m)."""
        nothing = np.zeros(6)
        squeeze = np.zeros(self.grasp.rows) if internal is None else internal
        return _row(
            pose, nothing if twist is None else twist, nothing if acceleration is None else acceleration, squeeze
        )

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> np.ndarray:
        reference = np.asanyarray(reference)
        estimate, holds, motion, idle = _at(self.grasp, q, v, self.damping)
        pose = forward_kinematics(self.model.tree, q, self.grasp.object)
        target, twist, change, internal = (reference[..., a:b] for a, b in ((0, 12), (12, 18), (18, 24), (24, None)))
        wanted = change + self.kd * (twist - motion) + self.kp * _gap(pose, target)
        wrench = solve(estimate.compliance, (wanted - estimate.acceleration)[..., None])[..., 0]
        forces = load_split(self.grasp, holds, self.weights).forces(wrench, internal)
        pulls, start = {}, 0
        for name, hold in zip(self.grasp.contacts or (), holds, strict=True):
            own = forces[..., start : start + hold.bias.shape[-1]]
            start += hold.bias.shape[-1]
            needed = dot(hold.on_object, wanted) + hold.bias
            rows = -own - solve(hold.compliance, needed[..., None])[..., 0]
            pulls[self.grasp.ends(name)[1]] = dot(flip(hold.tip), rows)
        return idle + frame_load(self.model.tree, q, pulls)


@final
@dataclass(frozen=True, eq=False)
class AttitudeControl:
    """F = −k ∂U − dβ + weight, T = 𝒢 − Σ Jᵢ*Qᵢ*λᵢ − damping θ̇: turns and shifts a rigid object to a pose; of the masses
    only their weight is in it.

    The energy V = ½θ̇*ℳθ̇ + k_r(3 − tr R_d*R)/2 + ½k_x|x − x_d|² of arms and object falls as −β*dβ − damping|θ̇|²,
    whatever the inertias are: a Lyapunov function of the closed chain (Wen and Kreutz 1988, cited in RJK91 §6).
    `reference(pose, internal)`; internal forces change nothing of it.
    """

    grasp: Grasp
    turning: float = 10.0
    shifting: float = 100.0
    turning_damping: float = 5.0
    shifting_damping: float = 50.0
    weights: Any = None
    damping: float = 0.5

    def __post_init__(self) -> None:
        index = self.model.body_index(self.grasp.object)
        if self.model.children[index]:
            carried_by = ", ".join(self.model.bodies[child].name for child in self.model.children[index])
            raise ModelError(
                f"AttitudeControl is for a rigid object; '{self.grasp.object}' of {self.model.name} carries "
                f"{carried_by}: its weight moves. ObjectControl takes objects with joints."
            )

    @property
    def model(self) -> Model:
        return self.grasp.model

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": POSE + self.grasp.rows}

    def reference(self, pose: Any, internal: Any = None) -> np.ndarray:
        """(…, 12 + m): a pose (…, 4, 4) of the object, and row forces λ (…, m)."""
        return _row(pose, np.zeros(self.grasp.rows) if internal is None else internal)

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> np.ndarray:
        reference, still = np.asanyarray(reference), np.zeros(self.model.nv)
        _, _, motion, idle = _at(self.grasp, q, v, self.damping)
        at_rest, holds, _, _ = _at(self.grasp, q, still, 0.0)
        pose = forward_kinematics(self.model.tree, q, self.grasp.object)
        weight = -solve(at_rest.compliance, at_rest.acceleration[..., None])[..., 0]
        stiff, soft = (
            np.repeat([self.turning, self.shifting], 3),
            np.repeat([self.turning_damping, self.shifting_damping], 3),
        )
        wrench = weight + stiff * _gap(pose, reference[..., :POSE]) - soft * motion
        forces = load_split(self.grasp, holds, self.weights).forces(wrench, reference[..., POSE:])
        pulls, start = {}, 0
        for name, hold in zip(self.grasp.contacts or (), holds, strict=True):
            rows = hold.bias.shape[-1]
            pulls[self.grasp.ends(name)[1]] = -dot(flip(hold.tip), forces[..., start : start + rows])
            start += rows
        return idle + frame_load(self.model.tree, q, pulls)

    def energy(self, q: Any, v: Any, reference: Any) -> np.ndarray:
        """V, (…)."""
        reference = np.asanyarray(reference)
        pose = forward_kinematics(self.model.tree, q, self.grasp.object)
        wanted = reference[..., :9].reshape(*reference.shape[:-1], 3, 3)
        trace = np.sum(wanted * pose[..., :3, :3], axis=(-1, -2))
        shift = pose[..., :3, 3] - reference[..., 9:POSE]
        stored = 0.5 * self.turning * (3.0 - trace) + 0.5 * self.shifting * np.sum(shift * shift, axis=-1)
        return kinetic_energy(self.model.tree, q, v) + stored


def _at(grasp: Grasp, q: Any, v: Any, damping: float) -> tuple[Estimate, list[Hold], np.ndarray, np.ndarray]:
    """Object, contacts, the object's motion, and the joint forces T₀ that hold the arms up and damp them."""
    own = np.ones(grasp.model.nv)
    own[grasp.model.joint(_object_joint(grasp)).v_slice] = 0.0
    idle = own * (gravity_load(grasp.model.tree, q) - damping * np.asanyarray(v))
    estimate, motion = grasp.object_estimate(q, v, idle)
    return estimate, [grasp.hold(name, q, v, idle, motion) for name in grasp.contacts or ()], motion, idle


def _object_joint(grasp: Grasp) -> str:
    return grasp.model.joints[grasp.model.body_index(grasp.object)].name


def _gap(pose: np.ndarray, target: np.ndarray) -> np.ndarray:
    """[sin θ n; x_d − x], (…, 6), world axes: minus the gradient of (3 − tr R_d*R)/2 and of ½|x − x_d|²."""
    wanted = target[..., :9].reshape(*target.shape[:-1], 3, 3)
    turn = np.matmul(wanted, flip(pose[..., :3, :3]))
    x, y, z = (turn[..., 2, 1] - turn[..., 1, 2], turn[..., 0, 2] - turn[..., 2, 0], turn[..., 1, 0] - turn[..., 0, 1])
    return np.concatenate([0.5 * np.stack([x, y, z], axis=-1), target[..., 9:] - pose[..., :3, 3]], axis=-1)


def _row(pose: Any, *parts: Any) -> np.ndarray:
    pose = np.asarray(pose, dtype=float)
    if pose.shape[-2:] != (4, 4):
        raise ShapeError(f"A pose has shape (…, 4, 4); this one has {pose.shape}.")
    arrays = [pose[..., :3, :3].reshape(*pose.shape[:-2], 9), pose[..., :3, 3], *(np.asarray(x, float) for x in parts)]
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    except ValueError:
        raise PhistarError(
            "The leading axes of the reference's parts do not broadcast; make them equal, or 1."
        ) from None
    return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays], axis=-1)
