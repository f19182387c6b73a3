"""Several arms that hold one object (RJK91 §6): arms and object in one tree, each contact a loop between them.

    α = α_f + Ω Σ Zᵢ*λᵢ,   Zᵢα + cᵢ + Rᵢλᵢ = 0,   Rᵢ = Qᵢ Λᵢ⁻¹ Qᵢ*

α is the object's acceleration at its frame, α_f and Ω its free value and compliance; Rᵢ and cᵢ are the same of arm i,
as its contact sees them. An arm takes hold as a filter takes in a measurement: two estimates of one acceleration are
combined, each weighted by its inertia, and inverse variances add. A second pass, the smoother's, gives the contact
forces. O(n) + O(l) for n links and l arms; `ps.forward_dynamics` of the same model is the O(n) + O(l³) form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.backends.traces.solve import solve_above
from phistar.backends.traces.trace import is_traced
from phistar.dynamics import forward_dynamics, forward_kinematics
from phistar.errors import ModelError
from phistar.loops.closure import relative_rows
from phistar.loops.effective import pseudo_inverse
from phistar.loops.grasp.grasp_kernels import CompiledFunction, call_compiled
from phistar.model import Model
from phistar.model.parts import Loop
from phistar.short_repr import short_repr
from phistar.spatial import cross, skew, times, transposed
from phistar.stated import states

LOCKED = 1e-11  # of the mean compliance of an object: less is none


@states(
    lambda s: {
        "acceleration": s.J @ s.mass.inv @ (s.T - s.C - s.g) + s.Jdot_v,
        "motion": s.J @ s.v,
        "compliance": s.J @ s.mass.inv @ s.J.T,
    },
    matrix=True,
)
def free_frames(model: Model, q: Any, v: Any, tau: Any, frames: tuple[str, ...]) -> dict[str, Array]:
    """Jℳ⁻¹(T − 𝒞 − 𝒢) + J̇θ̇ and Jθ̇ (…, 6f), Jℳ⁻¹J* (…, 6f, 6f) of frames that nothing holds (RJK91 eqs. 24-26)."""
    return free_frames.evaluate_all(model, q, {"v": v, "T": tau}, frames)


class Hold(NamedTuple):
    """A contact of m rows: on_object Z (…, m, 6), bias c (…, m), compliance R (…, m, m), Q at the tip (…, m, 6), at the
    object's contact frame (…, m, 6)."""

    on_object: Array
    bias: Array
    compliance: Array
    tip: Array
    seat: Array


class Estimate(NamedTuple):
    """The object's acceleration (…, 6) and compliance Ω (…, 6, 6) at its frame, world axes."""

    acceleration: Array
    compliance: Array


class Taken(NamedTuple):
    """Update by one contact: gain K = ΩZ*S⁻¹ (…, 6, m), S⁻¹ (…, m, m), S⁻¹γ (…, m), rank and condition of S (…)."""

    gain: Array
    inverse: Array
    pushed: Array
    rank: Array
    condition: Array


@short_repr
class GraspMotion(NamedTuple):
    """θ̈ (…, nv); the object's acceleration (…, 6) and compliance, inverse to its effective inertia, (…, 6, 6); forces
    on it at each contact (…, l, 6), world axes at its frame there; rank (…) of all contacts, condition
    ‖S‖‖S⁺‖ of the worst."""

    acceleration: Array
    object: Array
    compliance: Array
    forces: Array
    rank: Array
    condition: Array


@final
@dataclass(frozen=True, eq=False)
class Grasp:
    """The contacts (loops) of a model in which an object, a body on a Free joint, is held by arms.

    `contacts` are names of loops, in the order in which the arms take hold; all loops by default.

    Examples
    --------
    >>> b = ps.ModelBuilder("two hands", gravity=(0, 0, 0))
    >>> for name, mass in (("bar", 2.0), ("left", 1.0), ("right", 1.0)):
    ...     body = b.body(name, joint=ps.Free(), inertia=ps.Inertia(mass, tensor=0.1 * np.eye(3)))
    >>> for side in ("left", "right"):
    ...     loop = b.loop(f"{side} grip", "bar", side, ps.Fixed())
    >>> pair = b.build()
    >>> ps.loops.Grasp(pair, "bar").contacts
    ('left grip', 'right grip')
    """

    model: Model
    object: str
    contacts: Sequence[str] | None = None

    def __post_init__(self) -> None:
        index = self.model.body_index(self.object)
        if index < 0 or self.model.parents[index] >= 0 or self.model.joints[index].nv != 6:
            raise ModelError(
                f"The object of a grasp is a body on a Free joint on the world; '{self.object}' of {self.model.name} "
                "is not. Give it such a joint, or use ps.forward_dynamics, which takes any mechanism with loops."
            )
        given = [self.contacts] if isinstance(self.contacts, str) else self.contacts
        names = [loop.name for loop in self.model.loops] if given is None else list(given)
        if not names:
            raise ModelError(f"Nothing holds '{self.object}': {self.model.name} has no loops. Add ModelBuilder.loop.")
        object.__setattr__(self, "contacts", tuple(names))
        held = self._root(index)
        for name in names:
            loop = self._loop(name)
            sides = [self._root(self.model.frame(end).body) for end in (loop.frame_a, loop.frame_b)]
            if held in sides and sides[0] == sides[1]:
                raise ModelError(
                    f"The contact '{name}' joins {loop.frame_a} and {loop.frame_b}; one of them has to be on "
                    f"'{self.object}' and the other on an arm. Other closures are for ps.forward_dynamics."
                )
        if not any(self._touches(name, held) for name in names):
            raise ModelError(f"None of the contacts {', '.join(names)} is on '{self.object}' of {self.model.name}.")

    def _touches(self, contact: str, root: int) -> bool:
        loop = self._loop(contact)
        return root in [self._root(self.model.frame(end).body) for end in (loop.frame_a, loop.frame_b)]

    @cached_property
    def shared(self) -> str:
        """Coupling of the contacts beside the object, in words: a common moving base, several contacts on an arm, other
        bodies; empty where each arm holds the object's own body by itself."""
        index, roots = self.model.body_index(self.object), dict[int, str]()
        for name in self.contacts or ():
            loop = self._loop(name)
            bodies = [self.model.frame(end).body for end in (loop.frame_a, loop.frame_b)]
            if bodies.count(index) != 1:
                return f"the contact '{name}' is not on '{self.object}' itself"
            root = self._root(next(body for body in bodies if body != index))
            if root in roots:
                return f"the contacts '{roots[root]}' and '{name}' are on one arm, or on arms that share a moving base"
            if root >= 0:
                roots[root] = name
        return ""

    def ends(self, contact: str) -> tuple[str, str]:
        """The contact's frames on the object and on the arm."""
        loop = self._loop(contact)
        index = self.model.body_index(self.object)
        on = [end for end in (loop.frame_a, loop.frame_b) if self.model.frame(end).body == index]
        other = [end for end in (loop.frame_a, loop.frame_b) if self.model.frame(end).body != index]
        if len(on) != 1 or self._root(self.model.frame(other[0]).body) == index:
            raise ModelError(
                f"The contact '{contact}' joins {loop.frame_a} and {loop.frame_b}; one of them has to be on "
                f"'{self.object}' and the other on an arm. Other closures are for ps.forward_dynamics."
            )
        return on[0], other[0]

    def _loop(self, contact: str) -> Loop:
        loop = self.model.loop(contact)
        if not isinstance(loop, Loop):
            raise ModelError(f"'{contact}' of {self.model.name} is a coupling of joints; a contact joins two frames.")
        return loop

    def _root(self, body: int) -> int:
        while body >= 0 and self.model.parents[body] >= 0:
            body = self.model.parents[body]
        return body

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The contacts themselves."""
        return tuple(self._loop(name) for name in self.contacts or ())

    @property
    def rows(self) -> int:
        """Equations of all contacts."""
        return sum(loop.rows for loop in self.loops)

    def offsets(self, q: Any) -> Array:
        """(…, l, 3): from the object's frame to its contact frames, world axes."""
        tree, names = self.model.tree, [self.ends(name)[0] for name in self.contacts or ()]
        origin = forward_kinematics(tree, q, self.object)[..., :3, 3]
        seats = [forward_kinematics(tree, q, name)[..., :3, 3] - origin for name in names]
        return np.stack(seats, axis=-2)

    def object_estimate(self, q: Any, v: Any, tau: Any) -> tuple[Estimate, Array]:
        """The object before anything holds it, and its motion (…, 6)."""
        free = free_frames(self.model.tree, q, v, tau, (self.object,))
        return Estimate(free["acceleration"], free["compliance"]), free["motion"]

    def hold(self, contact: str, q: Any, v: Any, tau: Any, motion: Array) -> Hold:
        """Rows, bias and compliance of a contact, the object moving with `motion` (…, 6)."""
        if self.shared:
            raise ModelError(
                f"In this grasp of {self.model.name} {self.shared}: their forces do not add up one by one. "
                "ps.loops.grasp_dynamics has its motion, ps.forward_dynamics too."
            )
        tree, loop = self.model.tree, self._loop(contact)
        seat, tip = self.ends(contact)
        place, at = (forward_kinematics(tree, q, name) for name in (self.object, seat))
        reach = at[..., :3, 3] - place[..., :3, 3]
        shift = shift_motion(reach)
        spin = motion[..., :3]
        on_seat = np.concatenate([np.zeros(spin.shape), cross(spin, cross(spin, reach))], axis=-1)
        if self.model.frame(tip).body < 0:
            free = {"acceleration": np.zeros(6), "motion": np.zeros(6), "compliance": np.zeros((6, 6))}
            pose = self.model.frame(tip).placement.matrix
        else:
            free, pose = free_frames(tree, q, v, tau, (tip,)), forward_kinematics(tree, q, tip)
        poses, motions = {seat: at, tip: pose}, {seat: times(shift, motion), tip: free["motion"]}
        a, b = loop.frame_a, loop.frame_b
        _, on_a, on_b, drift = relative_rows(loop.joint, poses[a], poses[b], motions[a], motions[b])
        on_object, on_tip = (on_a, on_b) if a == seat else (on_b, on_a)
        bias = times(on_object, on_seat) + times(on_tip, free["acceleration"]) + drift
        compliance = np.matmul(np.matmul(on_tip, free["compliance"]), transposed(on_tip))
        return Hold(np.matmul(on_object, shift), bias, compliance, on_tip, on_object)


def take_hold(estimate: Estimate, hold: Hold) -> tuple[Estimate, Taken]:
    """α − Kγ and Ω − KZΩ, with γ = Zα + c, S = ZΩZ* + R and K = ΩZ*S⁻¹: one more arm holds the object (RJK91 §6).

    Where Ω and R can be inverted, that is Ω⁻¹ + Z*R⁻¹Z: inverse variances add.
    """
    reached = np.matmul(hold.on_object, estimate.compliance)
    inverse, rank, condition = pseudo_inverse(np.matmul(reached, transposed(hold.on_object)) + hold.compliance)
    gain = np.matmul(transposed(reached), inverse)
    gap = times(hold.on_object, estimate.acceleration) + hold.bias
    compliance = estimate.compliance - np.matmul(gain, reached)
    compliance = 0.5 * (compliance + transposed(compliance))
    better = Estimate(estimate.acceleration - times(gain, gap), compliance)
    return better, Taken(gain, inverse, times(inverse, gap), rank, condition)


def grasp_dynamics(grasp: Grasp, q: Any, v: Any, tau: Any) -> GraspMotion:
    """Accelerations and contact forces of arms and the object they hold, in O(n) + O(l) (RJK91 §6).

    Arms may stand on a common moving base, hold with several contacts each, and hold several bodies, whose joints of
    their own (passive ones too) move; `object` of the grasp names the one reported. Compiled, unless the arms are too
    long to be written out; traced numbers, one state, are taken too.

    Parameters
    ----------
    grasp : Grasp
    q : (…, nq)
        Joint angles of arms and object, rad and m; the grasp's loops closed.
    v, tau : (…, nv)
        Rates, rad/s and m/s, and joint forces, N m and N.

    Returns
    -------
    GraspMotion
        Joint accelerations (…, nv); the object's acceleration (…, 6) and compliance (…, 6, 6); forces (…, l, 6) on it
        at the contacts; rank and condition of the closures.

    Examples
    --------
    >>> b = ps.ModelBuilder("two hands", gravity=(0, 0, 0))
    >>> for name, mass in (("bar", 2.0), ("left", 1.0), ("right", 1.0)):
    ...     body = b.body(name, joint=ps.Free(), inertia=ps.Inertia(mass, tensor=0.1 * np.eye(3)))
    >>> for side in ("left", "right"):
    ...     loop = b.loop(f"{side} grip", "bar", side, ps.Fixed())
    >>> pair = b.build()
    >>> push = np.zeros(pair.nv)
    >>> push[pair.joint("left").v_slice] = [0, 0, 0, 8.0, 0, 0]  # 8 N on 4 kg
    >>> motion = ps.loops.grasp_dynamics(ps.loops.Grasp(pair, "bar"), pair.neutral(), np.zeros(pair.nv), push)
    >>> motion.object.round(9).tolist()
    [0.0, 0.0, 0.0, 2.0, 0.0, 0.0]
    """
    made = GraspMotion(*call_compiled(grasp, MOTION, q, v, tau))
    return made if is_traced(made.acceleration) else made._replace(rank=np.nan_to_num(made.rank).astype(int))


def _motion(grasp: Grasp, q: Array, v: Array, tau: Array) -> GraspMotion:
    if grasp.shared:
        return _shared_dynamics(grasp, q, v, tau)
    estimate, motion = grasp.object_estimate(q, v, tau)
    holds = [grasp.hold(name, q, v, tau, motion) for name in grasp.contacts or ()]
    taken = []
    for hold in holds:
        estimate, own = take_hold(estimate, hold)
        taken.append(own)
    forces, later = [], np.zeros(6)
    for hold, own in zip(reversed(holds), reversed(taken), strict=True):  # λ = −S⁻¹(γ + ZΩ Σ of later Z*λ)
        rows = -own.pushed - times(transposed(own.gain), later)
        later = later + times(transposed(hold.on_object), rows)
        forces.insert(0, rows)
    f_ext = {}
    for name, hold, rows in zip(grasp.contacts or (), holds, forces, strict=True):
        seat, tip = grasp.ends(name)
        f_ext[seat] = times(transposed(hold.seat), rows)
        if grasp.model.frame(tip).body >= 0:
            f_ext[tip] = times(transposed(hold.tip), rows)
    acceleration = forward_dynamics(grasp.model.tree, q, v, tau, f_ext)
    on_object = np.stack([f_ext[grasp.ends(name)[0]] for name in grasp.contacts or ()], axis=-2)
    rank = reduce(np.add, (own.rank for own in taken))
    condition = reduce(np.maximum, (own.condition for own in taken))
    return GraspMotion(acceleration, estimate.acceleration, estimate.compliance, on_object, rank, condition)


def _shared_dynamics(grasp: Grasp, q: Array, v: Array, tau: Array) -> GraspMotion:
    from phistar.loops.grasp.shared_base import shared_dynamics  # made of what is above

    return shared_dynamics(grasp, q, v, tau)


def effective_inertia(grasp: Grasp, q: Any) -> Array:
    """Inertia of the object while the arms hold it, at its frame in world axes: M_object + Σ Z*R⁻¹Z (RJK91 §6).

    Parameters
    ----------
    grasp : Grasp
    q : (…, nq)
        Joint angles of arms and object, rad and m.

    Returns
    -------
    (…, 6, 6) array
        kg m², kg m and kg; NaN where the arms lock the object, whose inertia is infinite there.

    Examples
    --------
    >>> b = ps.ModelBuilder("two hands", gravity=(0, 0, 0))
    >>> for name, mass in (("bar", 2.0), ("left", 1.0), ("right", 1.0)):
    ...     body = b.body(name, joint=ps.Free(), inertia=ps.Inertia(mass, tensor=0.1 * np.eye(3)))
    >>> for side in ("left", "right"):
    ...     loop = b.loop(f"{side} grip", "bar", side, ps.Fixed())
    >>> pair = b.build()
    >>> inertia = ps.loops.effective_inertia(ps.loops.Grasp(pair, "bar"), pair.neutral())
    >>> inertia.diagonal().round(3).tolist()
    [0.3, 0.3, 0.3, 4.0, 4.0, 4.0]
    """
    return call_compiled(grasp, INERTIA, q)[0]


def _inertia(grasp: Grasp, q: Array) -> tuple[Array]:
    still = np.zeros(grasp.model.nv)
    if grasp.shared:
        compliance = _shared_dynamics(grasp, q, still, still).compliance
    else:
        estimate, motion = grasp.object_estimate(q, still, still)
        for name in grasp.contacts or ():
            estimate, _ = take_hold(estimate, grasp.hold(name, q, still, still, motion))
        compliance = estimate.compliance
    size = np.sum(compliance * np.eye(6), axis=-1, keepdims=True).sum(axis=-2) * (LOCKED / 6.0)
    return (solve_above(compliance, np.eye(6), size * np.ones(6)),)


MOTION = CompiledFunction("grasp dynamics", ("q", "v", "tau"), GraspMotion._fields, _motion)
INERTIA = CompiledFunction("inertia of a held object", ("q",), ("inertia",), _inertia)


def shift_motion(reach: Array) -> Array:
    """[[1, 0], [−r̃, 1]], (…, 6, 6): the motion of a body at r from where it is given; its transpose brings forces."""
    one = np.broadcast_to(np.eye(3), (*reach.shape[:-1], 3, 3))
    upper = np.concatenate([one, np.zeros(one.shape)], axis=-1)
    return np.concatenate([upper, np.concatenate([-skew(reach), one], axis=-1)], axis=-2)
