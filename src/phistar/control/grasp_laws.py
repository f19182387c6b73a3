"""Control of an object that several arms hold: its motion, the forces inside it, and who carries how much (RJK91 §6).

    Zᵢα_d + cᵢ + Rᵢ(λᵢ + μᵢ) = 0,   T = T₀ + Σ Jᵢ*Qᵢ*μᵢ,   Σ Zᵢ*λᵢ = Ω⁻¹(α_d − α_f)

The contact forces λ are chosen to carry the object, and to squeeze it as wanted; μ then makes the arms move with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.link_sizes import freedoms
from phistar.backends.traces.solve import solve
from phistar.control.control_law import (
    POSE_ROWS,
    Controller,
    check_arguments,
    entries,
    pose_error,
    pose_row,
    row,
    set_gains,
    turn_between,
)
from phistar.control.operational import TIP_ROWS, tip_row
from phistar.dynamics import forward_kinematics, frame_load, frame_velocity, gravity_load, kinetic_energy
from phistar.errors import ModelError
from phistar.loops.grasp.grasp_forces import checked_weights, load_split
from phistar.loops.grasp.holding import Estimate, Grasp, Hold
from phistar.model import Model
from phistar.spatial import times, transposed


class ObjectLaw(Controller):
    """A law of a held object, its reference ending in the row forces λ (…, m) that squeeze it. Abstract."""

    grasp: Grasp
    weights: Any
    damping: Any

    @property
    def model(self) -> Model:  # type: ignore[override]
        return self.grasp.model

    def squeeze(self, internal: Any) -> Array:
        """λ of a reference, none where None."""
        return np.zeros(self.grasp.rows) if internal is None else entries(internal, self.grasp.rows, "internal")

    def idle(self, q: np.ndarray, v: np.ndarray) -> Array:
        """T₀ = 𝒢 − damping θ̇ of the arms, (…, nv): holds them up and damps them; nothing drives the object itself, nor
        the joints of what hangs on it."""
        model, object_body = self.model, self.model.body_index(self.grasp.object)
        own, of_object = np.ones(model.nv), {object_body}
        for body, parent in enumerate(model.parents):  # parents come first
            if body == object_body or parent in of_object:
                of_object.add(body)
                own[model.joints[body].v_slice] = 0.0
        return own * (gravity_load(model.tree, q) - self.damping * v)

    def object_state(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[Estimate, list[Hold], Array]:
        """Object, contacts, and the object's motion, under joint forces tau."""
        estimate, motion = self.grasp.object_estimate(q, v, tau)
        return estimate, [self.grasp.hold(name, q, v, tau, motion) for name in self.grasp.contacts or ()], motion

    def joint_forces_of(self, q: np.ndarray, holds: list[Hold], forces: np.ndarray) -> Array:
        """Σ Jᵢ*Qᵢ*μᵢ of row forces μ (…, m), (…, nv)."""
        pulls, start = {}, 0
        for name, hold in zip(self.grasp.contacts or (), holds, strict=True):
            stop = start + hold.bias.shape[-1]
            pulls[self.grasp.ends(name)[1]] = times(transposed(hold.tip), forces[..., start:stop])
            start = stop
        return frame_load(self.model.tree, q, pulls)


def check_grasp(law: ObjectLaw, gains: Mapping[str, int]) -> None:
    """The gains and weights of a law made arrays; every contact on an arm that can give its forces."""
    set_gains(law, gains)
    object.__setattr__(law, "weights", checked_weights(law.grasp, law.weights))
    model = law.model
    for loop in law.grasp.loops:
        moving = freedoms(model, law.grasp.ends(loop.name)[1:])
        if moving < loop.rows:
            raise ModelError(
                f"The contact '{loop.name}' of {model.name} has {loop.rows} rows, and {moving} degrees of freedom move "
                f"its arm: the arm cannot give every force that {type(law).__name__} may ask for. Loosen the contact, "
                "or give the arm more joints."
            )


@final
@dataclass(frozen=True, eq=False)
class ObjectControl(ObjectLaw):
    """The object, held by arms, follows a moving pose under a prescribed squeeze: α_d = α_r + k_d(β_r − β) + k_p e.

    Feedback linearization of arms and object together (Kreutz and Lokshin 1988, cited in RJK91 §6). k_p and k_d are
    numbers or six, angular first. `weights` (l,) split the load. What the contacts leave free of the arms is held up
    against gravity and damped by `damping`. `reference(pose, twist, acceleration, internal)`.

    Examples
    --------
    >>> b = ps.ModelBuilder("two hands", gravity=(0, 0, 0))
    >>> for name, mass in (("bar", 2.0), ("left", 1.0), ("right", 1.0)):
    ...     body = b.body(name, joint=ps.Free(), inertia=ps.Inertia(mass, tensor=0.1 * np.eye(3)))
    >>> for side in ("left", "right"):
    ...     loop = b.loop(f"{side} grip", "bar", side, ps.Fixed())
    >>> pair = b.build()
    >>> law = ps.control.ObjectControl(ps.loops.Grasp(pair, "bar"), kp=100.0, kd=20.0)
    >>> goal = np.eye(4)
    >>> goal[0, 3] = 0.01
    >>> tau = law(0.0, pair.neutral(), np.zeros(pair.nv), law.reference(goal))
    >>> float(ps.forward_dynamics(pair, pair.neutral(), np.zeros(pair.nv), tau)[3].round(6))  # kp · 0.01 m
    1.0
    """

    grasp: Grasp
    kp: Any = 100.0
    kd: Any = None
    weights: Any = None
    damping: Any = 1.0

    def __post_init__(self) -> None:
        check_grasp(self, {"kp": 6, "kd": 6, "damping": self.model.nv})

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": TIP_ROWS + self.grasp.rows}

    def reference(self, pose: Any, twist: Any = None, acceleration: Any = None, internal: Any = None) -> Array:
        """(…, 24 + m): a pose (…, 4, 4) of the object, [ω; v] and its rate in world axes, row forces λ (…, m)."""
        return row(tip_row(pose, twist, acceleration), self.squeeze(internal))

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        sizes = POSE_ROWS, 6, 6, self.grasp.rows
        q, v, target, twist, change, internal = check_arguments(self.model, q, v, reference, *sizes)
        idle = self.idle(q, v)
        estimate, holds, motion = self.object_state(q, v, idle)
        error = pose_error(forward_kinematics(self.model.tree, q, self.grasp.object), target)
        wanted = change + self.kd * (twist - motion) + self.kp * error
        wrench = solve(estimate.compliance, (wanted - estimate.acceleration)[..., None])[..., 0]
        forces = load_split(self.grasp, holds, self.weights).forces(wrench, internal)
        needed = [solve(x.compliance, (times(x.on_object, wanted) + x.bias)[..., None])[..., 0] for x in holds]
        return idle + self.joint_forces_of(q, holds, -forces - np.concatenate(needed, axis=-1))


@final
@dataclass(frozen=True, eq=False)
class AttitudeControl(ObjectLaw):
    """Turns and shifts a rigid object, held by arms, to a pose; needs the weight of the masses but no inertias.

    F = −k ∂U − dβ + weight, T = 𝒢 − Σ Jᵢ*Qᵢ*λᵢ − damping θ̇.

    The energy V = ½θ̇*ℳθ̇ + k_r(3 − tr R_d*R)/2 + ½k_x|x − x_d|² of arms and object falls as −β*dβ − damping|θ̇|²,
    whatever the inertias are: a Lyapunov function of the closed chain (Wen and Kreutz 1988, cited in RJK91 §6).
    `reference(pose, internal)`; internal forces change nothing of it.

    Examples
    --------
    >>> b = ps.ModelBuilder("two hands", gravity=(0, 0, 0))
    >>> for name, mass in (("bar", 2.0), ("left", 1.0), ("right", 1.0)):
    ...     body = b.body(name, joint=ps.Free(), inertia=ps.Inertia(mass, tensor=0.1 * np.eye(3)))
    >>> for side in ("left", "right"):
    ...     loop = b.loop(f"{side} grip", "bar", side, ps.Fixed())
    >>> pair = b.build()
    >>> law = ps.control.AttitudeControl(ps.loops.Grasp(pair, "bar"), shifting=100.0)
    >>> goal = np.eye(4)
    >>> goal[0, 3] = 0.01
    >>> tau = law(0.0, pair.neutral(), np.zeros(pair.nv), law.reference(goal))
    >>> float(ps.forward_dynamics(pair, pair.neutral(), np.zeros(pair.nv), tau)[3].round(6))  # 1 N on 4 kg
    0.25
    """

    grasp: Grasp
    turning: Any = 10.0
    shifting: Any = 100.0
    turning_damping: Any = 5.0
    shifting_damping: Any = 50.0
    weights: Any = None
    damping: Any = 0.5

    def __post_init__(self) -> None:
        index = self.model.body_index(self.grasp.object)
        if self.model.children[index]:
            carried_by = ", ".join(self.model.bodies[child].name for child in self.model.children[index])
            raise ModelError(
                f"AttitudeControl is for a rigid object; '{self.grasp.object}' of {self.model.name} carries "
                f"{carried_by}: its weight moves. ObjectControl takes objects with joints."
            )
        gains = ("turning", "shifting", "turning_damping", "shifting_damping")
        check_grasp(self, {**dict.fromkeys(gains, 1), "damping": self.model.nv})

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": POSE_ROWS + self.grasp.rows}

    def reference(self, pose: Any, internal: Any = None) -> Array:
        """(…, 12 + m): a pose (…, 4, 4) of the object, and row forces λ (…, m)."""
        return row(pose_row(pose), self.squeeze(internal))

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        q, v, target, internal = check_arguments(self.model, q, v, reference, POSE_ROWS, self.grasp.rows)
        still = np.zeros(self.model.nv)
        at_rest, holds, _ = self.object_state(q, still, self.idle(q, still))
        weight = -solve(at_rest.compliance, at_rest.acceleration[..., None])[..., 0]
        stiff = np.repeat(np.concatenate([self.turning, self.shifting]), 3)
        soft = np.repeat(np.concatenate([self.turning_damping, self.shifting_damping]), 3)
        pose = forward_kinematics(self.model.tree, q, self.grasp.object)
        motion = frame_velocity(self.model.tree, q, v, self.grasp.object)
        wrench = weight + stiff * _downhill(pose, target) - soft * motion
        forces = load_split(self.grasp, holds, self.weights).forces(wrench, internal)
        return self.idle(q, v) - self.joint_forces_of(q, holds, forces)

    def energy(self, q: Any, v: Any, reference: Any) -> Array:
        """V, (…)."""
        q, v, target, _ = check_arguments(self.model, q, v, reference, POSE_ROWS, self.grasp.rows)
        pose = forward_kinematics(self.model.tree, q, self.grasp.object)
        apart = pose_row(pose) - target
        # 3 − tr R_d*R is half the square of R − R_d.
        stored = 0.25 * self.turning[0] * np.sum(apart[..., :9] ** 2, axis=-1)
        stored = stored + 0.5 * self.shifting[0] * np.sum(apart[..., 9:] ** 2, axis=-1)
        return kinetic_energy(self.model.tree, q, v) + stored


def _downhill(pose: np.ndarray, target: np.ndarray) -> np.ndarray:
    """[sin θ n; x_d − x], (…, 6), world axes: minus the gradient of (3 − tr R_d*R)/2 and of ½|x − x_d|²."""
    sine, _ = turn_between(pose, target)
    return np.concatenate([0.5 * sine, target[..., 9:] - pose[..., :3, 3]], axis=-1)
