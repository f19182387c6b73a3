"""Links of any width at a configuration: w(k) = 6 + m(k) for a body with m modes, V̄ = [η̇; V].

Node j of a body is at x = r + Γη + ½ηᵀQη, turned by R = exp(Λη), in the body's axes; g = Γ + Qη, and L = J_l(Λη)Λ turns
η̇ into the node's angular velocity. Its motion in its own axes is V_j = A_jV̄ with

    A_j = [ R*[L; g], φ*(x, R) ]
    a_j = R*[ ω×Lη̇ + J̇_lΛη̇ ; ω×(ω×x) + 2ω×gη̇ + η̇ᵀQη̇ ]                (what is left of V̇_j when V̄ does not change)

so that M = ΣA_j*M_jA_j and b = ΣA_j*(M_ja_j + b_j). A link k on node c of its parent has ℰφ(p,k) = A_c*φ(c,k)[0 I] and
a(k) = [0; φ*(c,k)a_c + a_joint]. Node rotations are exact, so that energy and momentum close.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np

from phistar.backends.links import values as link
from phistar.backends.links.link_sizes import parameter_count
from phistar.backends.links.mass_points import MassPoints, points_at
from phistar.backends.links.mechanism import Mechanism
from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.two_velocities import TwoMotions, reference_acceleration, reference_force
from phistar.backends.links.values import Links
from phistar.model import Body, FlexibleInertia, Model
from phistar.model.decoupled_modes import decoupled_modes
from phistar.spatial import cross, force_transform, skew, times, transposed

TERMS = 14  # of power series in |θ|²: exact to rounding up to half a turn, on traced scalars too


@dataclass(frozen=True, eq=False)
class Node:
    """A node at η: place x (…, 3), turn R (…, 3, 3), L and g (…, 3, m), θ = Λη (…, 3), and Λ and Q as they are."""

    place: np.ndarray
    turn: np.ndarray
    spin: np.ndarray
    slide: np.ndarray
    angle: np.ndarray
    rotation: np.ndarray
    bend: np.ndarray

    @cached_property
    def motion(self) -> np.ndarray:
        """A, (…, 6, m + 6)."""
        back, lever = transposed(self.turn), skew(self.place)
        modal = np.concatenate([np.matmul(back, self.spin), np.matmul(back, self.slide)], axis=-2)
        upper = np.concatenate([back, np.zeros(back.shape)], axis=-1)
        lower = np.concatenate([-np.matmul(back, lever), back], axis=-1)
        return np.concatenate([modal, np.concatenate([upper, lower], axis=-2)], axis=-1)

    def bias(self, velocity: np.ndarray) -> np.ndarray:
        """a, (…, 6, 1), at V̄ (…, m + 6, 1)."""
        m = self.spin.shape[-1]
        rates, omega = velocity[..., :m, :], velocity[..., m : m + 3, 0]
        turning, moving = np.matmul(self.spin, rates)[..., 0], np.matmul(self.slide, rates)[..., 0]
        angular = cross(omega, turning) + _bent_rate(self.angle, np.matmul(self.rotation, rates)[..., 0])
        bent = times(np.matmul(self.bend, rates[..., None, :, :])[..., 0], rates[..., 0])
        linear = cross(omega, cross(omega, self.place) + 2.0 * moving) + bent
        back = transposed(self.turn)
        return np.concatenate([np.matmul(back, angular[..., None]), np.matmul(back, linear[..., None])], axis=-2)

    def reference_bias(self, velocity: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """a_r, (…, 6, 1): what is left of the rate of A V̄_r at V̄ when V̄_r does not change.

        a is quadratic in V̄, of which this is the form in two: the symmetric one, and with α = ½ω_r × ω of the body and
        α_j of the node A[0; α; 0] − [α_j; 0]. It is the symmetric form alone for V̄_r = V̄.
        """
        seen, seen_r = (np.matmul(self.motion, x) for x in (velocity, reference))
        turned = np.matmul(self.motion, half_turn(velocity, reference))
        own = half_turn(seen, seen_r)
        return polarize(self.bias, velocity, reference) + turned - own


def polarize(form: Callable[[np.ndarray], np.ndarray], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The symmetric bilinear form B(x, y) of a quadratic one, B(x, x) = form(x)."""
    return 0.25 * (form(x + y) - form(x - y))


def half_turn(velocity: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """[0; ½ω_r × ω; 0], (…, w, 1), of two velocities (…, w, 1)."""
    m = velocity.shape[-2] - 6
    spin = 0.5 * cross(reference[..., m : m + 3, 0], velocity[..., m : m + 3, 0])[..., None]
    above, below = np.zeros((*spin.shape[:-2], m, 1)), np.zeros(spin.shape)
    return np.concatenate([above, spin, below], axis=-2)


def node_at(body: FlexibleInertia, j: int | slice, eta: np.ndarray) -> Node:
    """Node j at modal coordinates (…, m), floats or traced scalars; of one state also several nodes at once."""
    gamma, rotation, bend = body.modes[j], body.rotations[j], body.second_order[j]
    bent = np.matmul(bend, eta[..., None, :, None])[..., 0]
    slide = gamma + bent
    place = body.nodes[j] + times(gamma, eta) + 0.5 * times(bent, eta)
    angle = times(rotation, eta)
    if not rotation.any():
        unit = np.broadcast_to(np.eye(3), (*eta.shape[:-1], 3, 3))
        return Node(place, unit, np.zeros((*eta.shape[:-1], *rotation.shape)), slide, angle, rotation, bend)
    tilde = skew(angle)
    square, size = np.matmul(tilde, tilde), np.sum(angle * angle, axis=-1, keepdims=True)[..., None]
    sine, cosine, third = (_series(size, first) for first in (1, 2, 3))
    turn = np.eye(3) + sine * tilde + cosine * square
    spin = np.matmul(np.eye(3) + cosine * tilde + third * square, rotation)
    return Node(place, turn, spin, slide, angle, rotation, bend)


def _series(size: Any, first: int) -> Any:
    """Σ (−s)ⁿ/(2n + first)!: sin t/t, (1 − cos t)/t² and (t − sin t)/t³ for s = t²."""
    total: Any = (-1.0) ** TERMS / factorial(2 * TERMS + first)
    for n in range(TERMS - 1, -1, -1):
        total = (-1.0) ** n / factorial(2 * n + first) + size * total
    return total


def _slope(size: Any, first: int) -> Any:
    """d/ds of the series."""
    total: Any = (-1.0) ** TERMS * TERMS / factorial(2 * TERMS + first)
    for n in range(TERMS - 1, 0, -1):
        total = (-1.0) ** n * n / factorial(2 * n + first) + size * total
    return total


def _bent_rate(angle: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """J̇_l(θ)θ̇: with J_l = 1 + c θ̃ + d θ̃², ċ θ×θ̇ + ḋ θ×(θ×θ̇) + d θ̇×(θ×θ̇)."""
    size = np.sum(angle * angle, axis=-1, keepdims=True)
    growth = 2.0 * np.sum(angle * rate, axis=-1, keepdims=True)
    once = cross(angle, rate)
    result = growth * (_slope(size, 2) * once + _slope(size, 3) * cross(angle, once))
    return result + _series(size, 3) * cross(rate, once)


@dataclass(frozen=True, eq=False)
class WideLinks(Mechanism):
    """A mechanism at q with links of width w(k): what a program over any widths asks for."""

    plain: Links
    eta: tuple[np.ndarray | None, ...]
    decoupled: bool = False  # whether rates are those of η′ = Ψ⁻¹η where a body has such modes

    @property
    def model(self) -> Model:
        return self.plain.model

    @property
    def parents(self) -> tuple[int, ...]:
        return self.model.parents

    @property
    def frames(self) -> tuple[str, ...]:
        return self.plain.frames

    @property
    def rates(self) -> tuple[slice, ...]:
        """Slice of v with the rates of each link: its joint's, then its modes'."""
        return self._rates

    @cached_property
    def _rates(self) -> tuple[slice, ...]:
        return tuple(slice(body.joint.v_slice.start, body.mode_slice.stop) for body in self.model.bodies)

    def width(self, k: int) -> int:
        """w(k)."""
        return 6 + self.model.bodies[k].modes

    def parameters(self, k: int) -> int:
        """Ten of a rigid body; of one that bends the scale of its mass, one as it is modelled."""
        return parameter_count((self.model.bodies[k],))

    def bent(self, k: int) -> FlexibleInertia:
        """Body k, which bends, in the coordinates of its modes."""
        own = self.model.bodies[k].flexible
        assert own is not None
        found = decoupled_modes(own) if self.decoupled else None
        return own if found is None else found.body

    def basis(self, k: int, inverse: bool) -> np.ndarray:
        """Ψ or Ψ⁻¹ of a link's rates, (r, r): one on its joint's."""
        body, nv = self.model.bodies[k], self.model.joints[k].nv
        found, made = decoupled_modes(body.flexible) if body.flexible else None, np.eye(nv + body.modes)
        if found is not None:
            made[nv:, nv:] = found.inverse if inverse else found.basis
        return made

    @cached_property
    def _cache(self) -> dict[tuple[int, int], Any]:
        return {}

    def node(self, k: int, j: int) -> Node:
        """Node j of body k."""
        if (k, j) not in self._cache:
            eta = self.eta[k]
            assert eta is not None
            self._cache[k, j] = node_at(self.bent(k), j, eta)
        return self._cache[k, j]

    def motion_map(self, k: int, node: int) -> np.ndarray:
        """A_c (…, 6, w) of what is fixed to a node of body k, or with −1 to its own frame."""
        if node >= 0:
            return self.node(k, node).motion
        return np.concatenate([np.zeros((6, self.width(k) - 6)), np.eye(6)], axis=-1)

    def crossing(self, k: int) -> np.ndarray:
        """ℰφ(p,k), (…, w(p), w(k)); of a link on the world, E(k), (…, 6, w(k))."""
        parent, node = self.model.parents[k], self.model.bodies[k].node
        across = force_transform(self.plain.rotation[k], self.plain.offset[k])
        if parent >= 0:
            across = np.matmul(transposed(self.motion_map(parent, node)), across)
        return np.concatenate([np.zeros((*across.shape[:-1], self.width(k) - 6)), across], axis=-1)

    def subspace(self, k: int) -> np.ndarray:
        """H*(k), (…, w, r): the joint's rates, then the modes'."""
        own, m = self.plain.subspace[k], self.model.bodies[k].modes
        if not m:
            return own
        blank = np.zeros((*own.shape[:-2], m, own.shape[-1]))
        unit = np.broadcast_to(np.eye(m + 6)[:, :m], (*own.shape[:-2], m + 6, m))
        return np.concatenate([np.concatenate([blank, own], axis=-2), unit], axis=-1)

    def armature(self, k: int) -> np.ndarray:
        """A(k), (r, r)."""
        diagonal = self.model.joints[k].kind.armature_diagonal
        return np.diag(np.concatenate([diagonal, np.zeros(self.model.bodies[k].modes)]))

    def heavy(self, k: int) -> list[tuple[Node, np.ndarray]]:
        """The nodes of body k whose inertia is more than a point's, with it."""
        body = self.bent(k)
        return [(self.node(k, int(j)), body.masses[j]) for j in np.flatnonzero(~body.is_point)]

    def points(self, k: int) -> MassPoints:
        """The points of mass of body k."""
        if (k, -1) not in self._cache:
            eta = self.eta[k]
            assert eta is not None
            self._cache[k, -1] = points_at(self.bent(k), eta)
        return self._cache[k, -1]

    def mass(self, k: int) -> np.ndarray:
        """M(k), (…, w, w)."""
        if not self.model.bodies[k].modes:
            return self.plain.mass(k)
        parts = [np.matmul(transposed(node.motion), np.matmul(mass, node.motion)) for node, mass in self.heavy(k)]
        return sum(parts, self.points(k).mass())

    def bias_force(self, k: int, mass: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """b(k), (…, w, 1)."""
        if not self.model.bodies[k].modes:
            return link.bias_force(mass, velocity)
        parts = [self.points(k).bias_force(velocity)]
        for node, own in self.heavy(k):
            moving = np.matmul(node.motion, velocity)
            force = np.matmul(own, node.bias(velocity)) + link.bias_force(own, moving)
            parts.append(np.matmul(transposed(node.motion), force))
        return sum(parts[1:], parts[0])

    def parameter_forces(self, k: int, velocity: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Y*(k), (…, parameters, w): of a body that bends the one row (Mα + b)*."""
        if not self.model.bodies[k].modes:
            return link.parameter_forces(velocity, alpha)
        mass = self.mass(k)
        return transposed(np.matmul(mass, alpha) + self.bias_force(k, mass, velocity))

    def bias_acceleration(self, k: int, velocity: np.ndarray, above: np.ndarray | None, v: np.ndarray) -> np.ndarray:
        """a(k), (…, w, 1); `above` is the parent's V̄, which a node that carries the link needs."""
        m, joint = self.model.bodies[k].modes, self.model.joints[k]
        own = link.bias_acceleration(self.plain, k, velocity[..., m:, :], v[..., : joint.nv, :])
        parent, node = self.model.parents[k], self.model.bodies[k].node
        if parent >= 0 and node >= 0 and above is not None:
            carried = self.node(parent, node).bias(above)
            own = own + link.outward(self.plain.rotation[k], self.plain.offset[k], carried)
        return np.concatenate([np.zeros((*own.shape[:-2], m, 1)), own], axis=-2)

    def reference_acceleration(self, k: int, motion: TwoMotions) -> np.ndarray:
        """a_r(k), (…, w, 1)."""
        m, joint = self.model.bodies[k].modes, self.model.joints[k]
        velocity, v, reference, v_r = motion.own
        both = velocity[..., m:, :], v[..., : joint.nv, :], reference[..., m:, :], v_r[..., : joint.nv, :]
        own = reference_acceleration(self.plain, k, *both)
        parent, node = self.model.parents[k], self.model.bodies[k].node
        if parent >= 0 and node >= 0 and motion.above is not None and motion.reference_above is not None:
            carried = self.node(parent, node).reference_bias(motion.above, motion.reference_above)
            own = own + link.outward(self.plain.rotation[k], self.plain.offset[k], carried)
        return np.concatenate([np.zeros((*own.shape[:-2], m, 1)), own], axis=-2)

    def reference_force(self, k: int, mass: np.ndarray, velocity: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """b_r(k), (…, w, 1): the symmetric form of b, and M[0; ½ω_r × ω; 0], which makes dℳ/dt − 2C skew."""
        if not self.model.bodies[k].modes:
            return reference_force(mass, velocity, reference)
        own = polarize(lambda x: self.bias_force(k, mass, x), velocity, reference)
        return own + np.matmul(mass, half_turn(velocity, reference))

    def pose(self, k: int, above: Any) -> tuple[np.ndarray, np.ndarray]:
        """Pose of link k in the world, (R, p), given its parent's."""
        body = self.model.bodies[k]
        return self._in_world(body.parent, body.node, above, self.plain.rotation[k], self.plain.offset[k])

    def _in_world(self, body: int, node: int, pose: Any, turn: np.ndarray, shift: np.ndarray) -> Any:
        """A place in the axes of a node (or with −1 of its body), in the world."""
        if body < 0:
            return turn, shift
        if node >= 0:
            found = self.node(body, node)
            turn, shift = np.matmul(found.turn, turn), found.place + times(found.turn, shift)
        return np.matmul(pose[0], turn), pose[1] + times(pose[0], shift)

    def link_of(self, frame: str) -> int:
        """The link that a frame is on; −1 for the world."""
        return self.model.frame(frame).body

    def frame_pose(self, frame: str, pose: Any) -> tuple[np.ndarray, np.ndarray]:
        """A frame in the world, given its link's pose."""
        found = self.model.frame(frame)
        return self._in_world(found.body, found.node, pose, found.placement.rotation, found.placement.translation)

    def frame_motion(self, frame: str, pose: Any) -> np.ndarray:
        """B*, (…, 6, w): [ω; ẋ] of a frame in world axes from its link's V̄."""
        found = self.model.frame(frame)
        turn = self._in_world(found.body, found.node, pose, np.eye(3), np.zeros(3))[0]
        return link.to_world_axes(turn, found.placement.translation, self.motion_map(found.body, found.node))

    def frame_bias(self, frame: str, pose: Any, velocity: np.ndarray) -> np.ndarray:
        """a(0), (…, 6, 1): what is left of a frame's acceleration when V̄ does not change."""
        found = self.model.frame(frame)
        point, m = found.placement.translation, self.model.bodies[found.body].modes
        omega, left = velocity[..., m : m + 3, 0], np.zeros((6, 1))
        if found.node >= 0:
            node = self.node(found.body, found.node)
            omega, left = np.matmul(node.motion, velocity)[..., :3, 0], node.bias(velocity)
        swing = cross(omega, cross(omega, point))[..., None]
        own = left + np.concatenate([np.zeros(swing.shape), swing], axis=-2)
        turn = self._in_world(found.body, found.node, pose, np.eye(3), np.zeros(3))[0]
        return link.to_world_axes(turn, point, own)


def mechanism_at(model: Model, q: Any, frames: tuple[str, ...] = (), decoupled: bool = False) -> Mechanism:
    """The links of a model at q (…, nq), floats or traced scalars: rigid ones, bodies that bend, or compound ones;
    `decoupled`: bodies that bend in coordinates in which few modes move their ends."""
    if decoupled:
        return bent_links(link.joint_links(model, q, frames), decoupled)
    if model.embedding is not None:
        return model.embedding.mechanism(q, frames)
    return tree_links(model, q, frames)


def tree_links(model: Model, q: Any, frames: tuple[str, ...] = ()) -> RigidLinks | WideLinks:
    """The links of a tree at q (…, nq), floats or traced scalars, each a body on its joint."""
    return wide_links(model, q, frames) if model.is_flexible else RigidLinks(link.joint_links(model, q, frames))


def wide_links(model: Model, q: Any, frames: tuple[str, ...] = ()) -> WideLinks:
    """The links of a model with bodies that bend at q (…, nq), floats or traced scalars."""
    return bent_links(link.joint_links(model, q, frames))


def bent_links(plain: Links, decoupled: bool = False) -> WideLinks:
    """The links that joints and placements give, with bodies that bend."""
    q = np.asarray(plain.q)

    def coordinates(body: Body) -> np.ndarray | None:
        found = decoupled_modes(body.flexible) if decoupled and body.flexible else None
        own = q[..., body.mode_q_slice] if body.modes else None
        return own if own is None or found is None else times(found.inverse, own)

    return WideLinks(plain, tuple(map(coordinates, plain.model.bodies)), decoupled)
