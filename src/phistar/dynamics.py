"""Every quantity as one operator statement. Read this file beside the papers; everything else explains or computes it.

A function decorated with `states` is compiled from the statement above it: `ps.forward_dynamics.statement` shows it,
with `.derivation()`, `.algorithm()`, `.cost(n)` and `.sweeps`. Symbols: H φ M of RJK91, ℳ mass matrix (armature
included), 𝒞 Coriolis, 𝒢 gravity, T joint forces, f task forces (world axes at their frames).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.executor import compile_plan
from phistar.backends.kernel import LARGEST_TRACE, Kernel, compile_trace
from phistar.backends.machine.threads import spread
from phistar.backends.programs.conditioning import OperationalSpace, chosen_inverse, refuse_lost_directions
from phistar.backends.programs.program import AS_WRITTEN, frame_pose, way_to
from phistar.backends.rolled.plan import Plan
from phistar.backends.traces.arrays import is_traced, sign
from phistar.errors import UnknownNameError
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.recording import record
from phistar.spatial import mass_moment
from phistar.stated import batched, states
from phistar.sweeps.lower import lower_frame_poses

HALF = Fraction(1, 2)
Forces = Mapping[str, Any] | None  # {frame: (…, 6)} acting on the body, world axes at the frame


@states(lambda s: s.mass @ s.qdd + s.C + s.g - s.load)
def inverse_dynamics(model: Model, q: Any, v: Any, a: Any, f_ext: Forces = None) -> np.ndarray:
    """ℳθ̈ + 𝒞 + 𝒢 − J*f, (…, nv): the joint forces for joint accelerations a (RJK91 eq. 2)."""
    return inverse_dynamics.evaluate(model, q, {"v": v, "qdd": a}, f_ext)


@states(lambda s: s.mass.inv @ (s.T - s.C - s.g + s.load))
def forward_dynamics(model: Model, q: Any, v: Any, tau: Any, f_ext: Forces = None) -> np.ndarray:
    """ℳ⁻¹(T − 𝒞 − 𝒢 + J*f), (…, nv): the joint accelerations under joint forces tau (RJK91 eqs. 14, 15).

    Those of a model with loops keep every loop closed (RJK91 eqs. 21-26).
    """
    if model.loops:
        from phistar.loops.forward import closed_forward_dynamics  # made of this module's statements

        return closed_forward_dynamics(model, q, v, with_load(model, q, tau, f_ext))
    return forward_dynamics.evaluate(model, q, {"v": v, "T": tau}, f_ext)


@states(lambda s: s.J.T @ s.f)
def frame_load(model: Model, q: Any, f_ext: Forces) -> np.ndarray:
    """J*f, (…, nv): the joint forces of forces at frames (RJK91 eq. 2)."""
    return frame_load.evaluate(model, q, {}, f_ext)


def with_load(model: Model, q: Any, tau: Any, f_ext: Forces) -> Any:
    """T + J*f, (…, nv)."""
    none = f_ext is None or (isinstance(f_ext, Mapping) and not f_ext)
    return tau if none else np.asarray(tau) + frame_load(model, q, f_ext)


@states(
    lambda s: s.whitening.T @ s.D.inv @ s.whitening @ (s.T - s.H @ s.phi @ (s.M @ s.phi.T @ s.bias + s.b)),
    form=AS_WRITTEN,
)
def forward_dynamics_two_step(model: Model, q: Any, v: Any, tau: Any) -> np.ndarray:
    """(I − HψK)*D⁻¹(I − HψK)T′ with the biases removed first, as RJK91 prints Algorithm FD (eqs. 14, 15); (…, nv).

    `forward_dynamics` is what the laws make of it: one pass less, the biases inside.
    """
    return forward_dynamics_two_step.evaluate(model, q, {"v": v, "T": tau})


@states(lambda s: s.mass, matrix=True)
def mass_matrix(model: Model, q: Any) -> np.ndarray:
    """ℳ, (…, nv, nv), armature included (RJK91 eq. 3)."""
    return mass_matrix.evaluate(model, q)


@states(lambda s: s.mass.inv, matrix=True)
def mass_matrix_inverse(model: Model, q: Any) -> np.ndarray:
    """ℳ⁻¹, (…, nv, nv) (RJK91 lemma 3)."""
    return mass_matrix_inverse.evaluate(model, q)


@states(lambda s: s.C + s.g)
def bias(model: Model, q: Any, v: Any) -> np.ndarray:
    """𝒞 + 𝒢, (…, nv): Coriolis, centrifugal and gravity joint forces (KJR92 eq. 45)."""
    return bias.evaluate(model, q, {"v": v})


@states(lambda s: s.g)
def gravity_load(model: Model, q: Any) -> np.ndarray:
    """𝒢, (…, nv) (KJR92 eq. 44)."""
    return gravity_load.evaluate(model, q)


@states(lambda s: s.J, matrix=True)
def jacobian(model: Model, q: Any, frame: str) -> np.ndarray:
    """J with [ω; ẋ] = Jθ̇ at the frame's origin in world axes, (…, 6, nv) (RJK91 eq. 1)."""
    return jacobian.evaluate(model, q, frames=(frame,))


@states(lambda s: s.J @ s.v)
def frame_velocity(model: Model, q: Any, v: Any, frame: str | Sequence[str]) -> np.ndarray:
    """Jθ̇ = [ω; ẋ] of a frame, (…, 6), or of a list of m frames stacked to (…, 6m), world axes (RJK91 eq. 1)."""
    return frame_velocity.evaluate(model, q, {"v": v}, frames=_task_frames(frame))


@states(lambda s: s.Jdot_v)
def jacobian_dot_v(model: Model, q: Any, v: Any, frame: str) -> np.ndarray:
    """J̇θ̇, (…, 6): the frame's acceleration when θ̈ = 0 (KJR92 eq. 46)."""
    return jacobian_dot_v.evaluate(model, q, {"v": v}, frames=(frame,))


class Innovations(NamedTuple):
    """ℳ = factor · D · factor*, inverse = factor⁻¹; each (…, nv, nv)."""

    factor: np.ndarray
    inverse: np.ndarray
    D: np.ndarray


@states(lambda s: {"factor": s.factor, "inverse": s.whitening, "D": s.D}, matrix=True)
def innovations(model: Model, q: Any) -> Innovations:
    """I + HφK, I − HψK and D (RJK91 lemmas 1 and 2)."""
    return Innovations(**innovations.evaluate_all(model, q))


def _mobility(s: Symbols) -> Node:
    return s.J @ s.mass.inv @ s.J.T


@states(
    lambda s: {
        "inertia": _mobility(s).inv,
        "coriolis": _mobility(s).inv @ (s.J @ s.mass.inv @ s.C - s.Jdot_v),
        "gravity": _mobility(s).inv @ s.J @ s.mass.inv @ s.g,
    },
    matrix=True,
)
def operational_space(
    model: Model, q: Any, v: Any, frame: str | Sequence[str], *, damping: float = 0.0, truncation: float = 0.0
) -> OperationalSpace:
    """Λ(0), c(0), g(0) of one frame, or of a list of m frames stacked to 6m (KJR92 eqs. 61, 64, 71).

    Where a direction is lost Λ does not exist and the rows are NaN, with `rank` and `condition` to tell; frames whose
    joints are too few are refused. By choice, `damping` δ gives (Ω + δs)⁻¹ for Λ and `truncation` ε leaves out the
    directions in which Ω is below ε of its greatest (s: the mean of Ω's diagonal, angular and linear).
    """
    frames = _task_frames(frame)
    if damping or truncation:
        mobility, coriolis, gravity = task_mobility(model, q, v, frames)
        inverse = chosen_inverse(mobility, damping, truncation)
        forces = np.matmul(inverse, np.stack([coriolis, gravity], axis=-1))
        return OperationalSpace(inverse, forces[..., 0], forces[..., 1], lambda: mobility)
    found = operational_space.evaluate_all(model, q, {"v": v}, frames)
    refuse_lost_directions(model, frames, found)
    return OperationalSpace(**found, mobility=lambda: task_mobility(model, q, v, frames).mobility)


def _task_frames(frame: str | Sequence[str]) -> tuple[str, ...]:
    frames = (frame,) if isinstance(frame, str) else tuple(frame)
    if not frames:
        raise UnknownNameError("A task needs at least one frame; the list was empty.")
    return frames


@states(_mobility, matrix=True)
def mobility(model: Model, q: Any, frame: str | Sequence[str]) -> np.ndarray:
    """Ω(0) = Jℳ⁻¹J*, (…, 6m, 6m): the accelerations that forces at frames give them (RJK91 eq. 19, KJR92 eq. 11)."""
    return mobility.evaluate(model, q, frames=_task_frames(frame))


class TaskMobility(NamedTuple):
    """Ω(0) (…, 6m, 6m), Ω(0)c(0) and Ω(0)g(0) (…, 6m): what operational space is solved from; exists everywhere."""

    mobility: np.ndarray
    coriolis: np.ndarray
    gravity: np.ndarray


@states(
    lambda s: {
        "mobility": _mobility(s),
        "coriolis": s.J @ s.mass.inv @ s.C - s.Jdot_v,
        "gravity": s.J @ s.mass.inv @ s.g,
    },
    matrix=True,
)
def task_mobility(model: Model, q: Any, v: Any, frame: str | Sequence[str]) -> TaskMobility:
    """Jℳ⁻¹J*, Jℳ⁻¹𝒞 − J̇θ̇ and Jℳ⁻¹𝒢 (KJR92 eqs. 60, 65, 72)."""
    return TaskMobility(**task_mobility.evaluate_all(model, q, {"v": v}, _task_frames(frame)))


@states(lambda s: s.mass.inv @ (s.T + s.load))
def force_response(model: Model, q: Any, tau: Any, f_ext: Forces = None) -> np.ndarray:
    """ℳ⁻¹(T + J*f), (…, nv): what joint forces and forces at frames add to θ̈ (RJK91 eqs. 14, 18)."""
    return force_response.evaluate(model, q, {"T": tau}, f_ext)


@states(lambda s: -(s.mass.inv @ s.J.T @ s.f))
def tip_acceleration_change(model: Model, q: Any, frame: str, force: Any) -> np.ndarray:
    """−ℳ⁻¹J*f(0), (…, nv): what a force f(0) exerted by the frame does to θ̈ (RJK91 eq. 18)."""
    return tip_acceleration_change.evaluate(model, q, {"f": force}, frames=(frame,))


@states(lambda s: s.E @ s.phi @ (s.M @ s.V + s.E_phi @ s.S @ s.v))
def momentum(model: Model, q: Any, v: Any) -> np.ndarray:
    """EφMV (and EφℰφSθ̇ of spinning rotors), (…, 6): angular and linear momentum about the world's origin."""
    return momentum.evaluate(model, q, {"v": v})


@states(lambda s: HALF * (s.V.T @ s.M @ s.V + s.v.T @ s.A @ s.v) + s.V.T @ s.E_phi @ s.S @ s.v)
def kinetic_energy(model: Model, q: Any, v: Any) -> np.ndarray:
    """½(V*MV + θ̇*Aθ̇), (…), and V*ℰφSθ̇ of spinning rotors."""
    return kinetic_energy.evaluate(model, q, {"v": v})


@states(lambda s: s.E @ s.phi @ s.M @ s.phi.T @ s.E.T, matrix=True)
def composite_inertia(model: Model, q: Any) -> np.ndarray:
    """EφMφ*E*, (…, 6, 6): the whole mechanism as one body about the world's origin (R87 eq. 28)."""
    return composite_inertia.evaluate(model, q)


def center_of_mass(model: Model, q: Any) -> np.ndarray:
    """(…, 3), in the world; read off the composite inertia's m·p̃ block (R87 eq. 33)."""
    whole = composite_inertia(model, q)
    return mass_moment(whole) / whole[..., 3:4, 3]


def potential_energy(model: Model, q: Any) -> np.ndarray:
    """−m g·p, (…): zero with the centre of mass at the world's origin."""
    return -model.total_mass * np.matmul(center_of_mass(model, q), model.gravity)


def forward_kinematics(model: Model, q: Any, frame: str) -> np.ndarray:
    """The pose of a frame in the world, (…, 4, 4): the product of the joints' transforms out to it."""
    return frame_poses(model, q, (frame,))[frame]


def frame_poses(model: Model, q: Any, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The pose of each of some frames, (…, 4, 4); of traced numbers, (4, 4)."""
    q = model.checked(q, model.nq, "q")
    moving = () if is_traced(q) else tuple(name for name in frames if model.frame(name).body >= 0)
    made = {name: frame_pose(model, q, name) for name in frames if name not in moving}
    if moving:
        kernel = model.kept(("poses", moving), lambda: _placing(model, moving))
        found = spread(kernel.function, (q,), list(kernel.shapes)).reshape(*q.shape[:-1], len(moving), 4, 4)
        made |= {name: found[..., i, :, :] for i, name in enumerate(moving)}
    return made


def _placing(model: Model, frames: tuple[str, ...]) -> Kernel:
    """Machine code for the poses of frames: written out, or where the ways to them are long, rolled."""
    if sum(len(way_to(model, model.frame(name).body).bodies) for name in frames) > LARGEST_TRACE:
        return compile_plan(Plan(lower_frame_poses(), len(frames)), model, frames, "forward_kinematics")
    found = record(lambda q: np.stack([frame_pose(model, q, name) for name in frames]), model)
    return compile_trace(found.trace, [model.nq], [(16 * len(frames),)], "forward_kinematics", ("pose",))


def joint_friction(model: Model, q: Any, v: Any) -> np.ndarray:
    """−(d θ̇ + friction·sign θ̇ + k (q ⊖ rest)), (…, nv): the passive force that acts on each joint."""
    q, v = batched(model, q, v)
    parts = []
    for joint in model.joints:
        rate, kind = v[..., joint.v_slice], joint.kind
        way, (ahead, back) = sign(rate), kind.friction
        coulomb = 0.5 * (ahead + back) * way + 0.5 * (ahead - back) * (way * way)
        spring = kind.stiffness * kind.difference(kind.rest, q[..., joint.q_slice]) if np.any(kind.stiffness) else 0.0
        parts.append(-(kind.damping * rate + coulomb + spring))
    return np.concatenate([np.zeros((*v.shape[:-1], 0)), *parts], axis=-1)
