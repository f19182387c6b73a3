"""Explicit matrices, straight from the definitions: the oracle of every test. No sweep, no law, no cleverness.

Physical quantities (mass matrix, Jacobian, Coriolis forces) are computed in world axes from each body's own motion, so
that they owe nothing to φ.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.dense.dense_derivatives import LINEARIZED
from phistar.backends.dense.dense_two_velocities import MIXED
from phistar.backends.dense.dense_two_way import TWO_WAY
from phistar.backends.dense.differences import RATES
from phistar.backends.links.link_sizes import space_sizes
from phistar.backends.links.values import Links, bias_acceleration, bias_force, rotor_moment
from phistar.errors import StatementError
from phistar.operators.meanings import DIAGONALS
from phistar.operators.nodes import Adjoint, Identity, Inverse, Node, Product, Sum, Symbol
from phistar.operators.spaces import RANKS, Space
from phistar.operators.symbols import rotors_and_axes
from phistar.spatial import cross, force_transform, skew


class Dense:
    """The matrices of one robot at one configuration. `vectors` gives θ̇, T, f, …; `operators` gives Q and the like."""

    def __init__(self, links: Links, vectors: dict[str, Any], operators: dict[str, Any] | None = None) -> None:
        self.links, self.model = links, links.model
        self.vectors, self.operators = vectors, operators or {}
        self.n = len(self.model.bodies)
        self.known: dict[Node, np.ndarray] = {}

    def __call__(self, node: Node) -> np.ndarray:
        """The matrix of a node; a vector statement gives one column."""
        match node:
            case Identity(space=space):
                return np.eye(self.size(space))
            case Adjoint(of=inner):
                return self(inner).T
            case Inverse(of=inner):
                return self.inverse(inner)
            case Product(factors=factors):
                result = self(factors[0])
                for factor in factors[1:]:
                    result = result @ self(factor)
                return result
            case Sum(terms=terms):
                result = np.zeros((self.size(node.codomain), self.size(node.domain)))
                for c, term in terms:
                    result = result + float(c) * self(term)
                return result
            case Symbol():
                if node not in self.known:
                    self.known[node] = self.symbol(node)
                return self.known[node]
        raise AssertionError(node)

    def inverse(self, node: Node) -> np.ndarray:
        try:
            return np.linalg.inv(self(node))
        except np.linalg.LinAlgError:
            raise StatementError(f"{node!r} is singular at this configuration, so it has no inverse there.") from None

    def size(self, space: Space | None) -> int:
        assert space is not None
        sizes = space_sizes(self.model, self.links.frames) | {"scalars": 1, **RANKS}
        return self.operators["Q"].shape[0] if space.over == "closures" else sizes[space.over]

    def symbol(self, node: Symbol) -> np.ndarray:
        if node.name in self.operators:
            return np.asarray(self.operators[node.name])
        if node.name in DIAGONALS:
            return np.diag(np.asarray(self.vectors[node.name], dtype=float).reshape(-1))
        if node.name in self.vectors:
            return np.asarray(self.vectors[node.name], dtype=float).reshape(-1, 1)
        if node.name in MIXED:
            return MIXED[node.name](self, *node.of)
        if node.name in TWO_WAY:
            return TWO_WAY[node.name](self, *node.of)
        if node.name in LINEARIZED:
            return LINEARIZED[node.name](self, *node.of)
        if node.name in RATES:
            return RATES[node.name](self, *node.of)
        if node.of and node.name not in ("r", "mass", "b"):
            return self.riccati(node.of)[node.name]
        return getattr(self, f"_{node.name}")(*node.of)

    # Fundamental operators

    def blocks(self, entries: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
        result = np.zeros((6 * self.n, 6 * self.n))
        for (i, j), block in entries.items():
            result[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = block
        return result

    def cross_link(self, k: int) -> np.ndarray:
        """φ(p,k), (6, 6)."""
        return force_transform(self.links.rotation[k], self.links.offset[k])

    def _E_phi(self) -> np.ndarray:
        parents = self.model.parents
        return self.blocks({(parents[k], k): self.cross_link(k) for k in range(self.n) if parents[k] >= 0})

    def _phi(self) -> np.ndarray:
        return np.linalg.inv(np.eye(6 * self.n) - self._E_phi())

    def _H(self) -> np.ndarray:
        result = np.zeros((self.model.nv, 6 * self.n))
        for k, joint in enumerate(self.model.joints):
            result[joint.v_slice, 6 * k : 6 * k + 6] = self.links.subspace[k].T
        return result

    def _M(self) -> np.ndarray:
        return self.blocks({(k, k): self.links.mass(k) for k in range(self.n)})

    def _A(self) -> np.ndarray:
        return np.diag(self.model.armature)

    def _S(self) -> np.ndarray:
        result = np.zeros((6 * self.n, self.model.nv))
        for k, joint in enumerate(self.model.joints):
            result[6 * k : 6 * k + 6, joint.v_slice] = self.links.rotor(k)
        return result

    def _U(self) -> np.ndarray:
        return np.eye(self.model.nv)

    def _U_task(self) -> np.ndarray:
        return np.eye(6 * len(self.links.frames))

    def _E(self) -> np.ndarray:
        result = np.zeros((6, 6 * self.n))
        for k in range(self.n):
            if self.model.parents[k] < 0:
                result[:, 6 * k : 6 * k + 6] = self.cross_link(k)
        return result

    def _B(self) -> np.ndarray:
        result = np.zeros((6 * self.n, 6 * len(self.links.frames)))
        for f, name in enumerate(self.links.frames):
            frame = self.model.frame(name)
            if frame.body >= 0:
                turn = self.poses[frame.body][0].T
                block = force_transform(turn, np.zeros(3))
                block[:3, 3:] = skew(frame.placement.translation) @ turn
                result[6 * frame.body : 6 * frame.body + 6, 6 * f : 6 * f + 6] = block
        return result

    # Symbols defined by recursions, as fixed points of their defining equations

    def riccati(self, pair: tuple[Node, ...]) -> dict[str, np.ndarray]:
        """KJR92 eqs. 24-29, 34 with armature; Ω by (58), block diagonal on trees too."""
        rotors, axes = rotors_and_axes(pair)
        mass, armature, h, shift = self(pair[0]), self(pair[1]), self(axes), self._E_phi()
        spin = np.zeros_like(h.T) if rotors is None else self(rotors)
        p = mass
        for _ in range(self.n):
            d = h @ p @ h.T + armature
            g = (p @ h.T + spin) @ np.linalg.pinv(d)
            p = mass + shift @ (p - g @ d @ g.T) @ shift.T
        d = h @ p @ h.T + armature
        g = (p @ h.T + spin) @ np.linalg.inv(d)
        e_psi = shift @ (np.eye(6 * self.n) - g @ h)
        source = h.T @ np.linalg.inv(d) @ h
        omega = self.outward_fixed_point(e_psi, source)
        delta = np.kron(np.eye(self.n), np.ones((6, 6))) * (shift.T @ omega @ shift)
        psi = np.linalg.inv(np.eye(6 * self.n) - e_psi)
        w = self._E() @ (np.eye(6 * self.n) - g @ h)
        gains = {
            "P": p,
            "D": d,
            "D_root": np.linalg.cholesky(d).T,
            "G": g,
            "K": shift @ g,
            "E_psi": e_psi,
            "psi": psi,
            "W": w,
        }
        return gains | {"Omega": omega, "Delta": delta}

    def outward_fixed_point(self, shift: np.ndarray, source: np.ndarray) -> np.ndarray:
        """X = blockdiag(shift* X shift) + source."""
        mask = np.kron(np.eye(self.n), np.ones((6, 6)))
        x = source
        for _ in range(self.n):
            x = mask * (shift.T @ x @ shift) + source
        return x

    def _Gamma(self) -> np.ndarray:
        return self.outward_fixed_point(self._E_phi(), self._H().T @ self._H())

    def _r(self, mass: Node) -> np.ndarray:
        shift, x = self._E_phi(), self(mass)
        for _ in range(self.n):
            x = shift @ x @ shift.T + self(mass)
        return x

    # Vectors made from velocities

    @cached_property
    def velocities(self) -> np.ndarray:
        return (self._phi().T @ self._H().T @ np.reshape(self.vectors["v"], -1)).reshape(self.n, 6, 1)

    def _a(self) -> np.ndarray:
        parts = [np.reshape(self.vectors["v"], (-1, 1))[joint.v_slice] for joint in self.model.joints]
        return np.vstack([bias_acceleration(self.links, k, self.velocities[k], parts[k]) for k in range(self.n)])

    def _b(self, mass: Node) -> np.ndarray:
        blocks = [self(mass)[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(self.n)]
        return np.vstack([bias_force(blocks[k], self.velocities[k]) for k in range(self.n)])

    def _b_r(self) -> np.ndarray:
        parts = [np.reshape(self.vectors["v"], (-1, 1))[joint.v_slice] for joint in self.model.joints]
        return np.vstack([rotor_moment(self.links, k, self.velocities[k], parts[k]) for k in range(self.n)])

    def _a0(self) -> np.ndarray:
        rows = []
        for name in self.links.frames:
            frame = self.model.frame(name)
            if frame.body < 0:
                rows.append(np.zeros(6))
                continue
            omega = self.velocities[frame.body][:3, 0]
            linear = self.poses[frame.body][0] @ cross(omega, cross(omega, frame.placement.translation))
            rows.append(np.concatenate([np.zeros(3), linear]))
        return np.concatenate(rows)[:, None]

    # Physical quantities, each body on its own, in world axes

    @cached_property
    def poses(self) -> list[tuple[np.ndarray, np.ndarray]]:
        result: list[tuple[np.ndarray, np.ndarray]] = []
        for k, parent in enumerate(self.model.parents):
            turn, place = result[parent] if parent >= 0 else (np.eye(3), np.zeros(3))
            result.append((turn @ self.links.rotation[k], place + turn @ self.links.offset[k]))
        return result

    @cached_property
    def screws(self) -> list[np.ndarray]:
        """Each joint's unit twists in world axes at the world's origin, (6, r)."""
        return [_in_world_axes(*self.poses[k], self.links.subspace[k]) for k in range(self.n)]

    def ancestors(self, k: int) -> list[int]:
        line = []
        while k >= 0:
            line.append(k)
            k = self.model.parents[k]
        return line

    def point_jacobian(self, body: int, point: np.ndarray) -> np.ndarray:
        """[ω; ẋ] of a point of a body (the point in world coordinates), (6, nv)."""
        result = np.zeros((6, self.model.nv))
        for k in self.ancestors(body):
            twist = self.screws[k]
            result[:3, self.model.joints[k].v_slice] = twist[:3]
            result[3:, self.model.joints[k].v_slice] = twist[3:] - skew(point) @ twist[:3]
        return result

    def world_mass(self, k: int) -> np.ndarray:
        """M(k) at the centre of mass, in world axes."""
        inertia, turn = self.model.bodies[k].inertia, self.poses[k][0]
        result = np.zeros((6, 6))
        result[:3, :3] = turn @ inertia.tensor @ turn.T
        result[3:, 3:] = inertia.mass * np.eye(3)
        return result

    def centre(self, k: int) -> np.ndarray:
        return self.poses[k][1] + self.poses[k][0] @ self.model.bodies[k].inertia.com

    def frame_point(self, name: str) -> tuple[int, np.ndarray]:
        frame = self.model.frame(name)
        if frame.body < 0:
            return -1, frame.placement.translation
        turn, place = self.poses[frame.body]
        return frame.body, place + turn @ frame.placement.translation

    def _J(self) -> np.ndarray:
        return np.vstack([self.point_jacobian(*self.frame_point(name)) for name in self.links.frames])

    def _mass(self, *pair: Node) -> np.ndarray:
        result = np.diag(self.model.armature) if not (isinstance(pair[1], Sum) and not pair[1].terms) else 0.0
        for k in range(self.n):
            jacobian = self.point_jacobian(k, self.centre(k))
            result = result + jacobian.T @ self.world_mass(k) @ jacobian
        for k, joint in enumerate(self.model.joints):
            if rotors_and_axes(pair)[0] is not None and self.model.parents[k] >= 0:
                carrier = self.point_jacobian(self.model.parents[k], np.zeros(3))[:3]
                coupling = np.zeros((self.model.nv, self.model.nv))
                coupling[joint.v_slice] = self.spin_axes(k).T @ carrier
                result = result + coupling + coupling.T
        return np.asarray(result)

    def spin_axes(self, k: int) -> np.ndarray:
        """G J_r h of each dof of a joint, world axes, (3, r)."""
        return self.poses[k][0] @ self.links.rotor(k)[:3]

    def _V(self) -> np.ndarray:
        """Velocities in body axes at body origins, from the world-axes Jacobians."""
        rows = []
        for k in range(self.n):
            turn, place = self.poses[k]
            twist = self.point_jacobian(k, place) @ np.reshape(self.vectors["v"], -1)
            rows.append(np.concatenate([turn.T @ twist[:3], turn.T @ twist[3:]]))
        return np.concatenate(rows)[:, None]

    @cached_property
    def accelerations(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Twist and its rate at zero θ̈, world axes at the world's origin (a moving-point convention unlike a and b)."""
        result: list[tuple[np.ndarray, np.ndarray]] = []
        for k, parent in enumerate(self.model.parents):
            v = np.reshape(self.vectors["v"], -1)[self.model.joints[k].v_slice]
            twist, rate = result[parent] if parent >= 0 else (np.zeros(6), np.zeros(6))
            own = self.screws[k] @ v
            twist = twist + own
            rate = rate + _bracket(twist, own)
            extra = self.links.subspace_rate(k, v)
            if extra is not None:
                rate = rate + _in_world_axes(*self.poses[k], extra @ v[:, None])[:, 0]
            result.append((twist, rate))
        return result

    def point_bias(self, body: int, point: np.ndarray) -> np.ndarray:
        """J̇θ̇ of a point of a body."""
        if body < 0:
            return np.zeros(6)
        twist, rate = self.accelerations[body]
        velocity = twist[3:] + cross(twist[:3], point)
        return np.concatenate([rate[:3], rate[3:] + cross(rate[:3], point) + cross(twist[:3], velocity)])

    def _Jdot_v(self) -> np.ndarray:
        return np.concatenate([self.point_bias(*self.frame_point(name)) for name in self.links.frames])[:, None]

    def _C(self) -> np.ndarray:
        result = np.zeros(self.model.nv)
        for k in range(self.n):
            mass, omega = self.world_mass(k), self.accelerations[k][0][:3]
            force = mass @ self.point_bias(k, self.centre(k))
            force[:3] += cross(omega, mass[:3, :3] @ omega)
            result += self.point_jacobian(k, self.centre(k)).T @ force
        return (result + self.rotor_coriolis())[:, None]

    def rotor_coriolis(self) -> np.ndarray:
        """Gyroscopic moments on the links that carry spinning rotors, and those links' angular accelerations felt at
        the rotors' joints."""
        result = np.zeros(self.model.nv)
        for k, joint in enumerate(self.model.joints):
            carrier = self.model.parents[k]
            if carrier >= 0:
                twist, rate = self.accelerations[carrier]
                momentum = self.spin_axes(k) @ np.reshape(self.vectors["v"], -1)[joint.v_slice]
                result += self.point_jacobian(carrier, np.zeros(3))[:3].T @ cross(twist[:3], momentum)
                result[joint.v_slice] += self.spin_axes(k).T @ rate[:3]
        return result

    def _g(self) -> np.ndarray:
        lift = np.reshape(self.vectors["a_g"], -1)[3:]
        result = np.zeros(self.model.nv)
        for k in range(self.n):
            force = self.model.bodies[k].inertia.mass * lift
            result += self.point_jacobian(k, self.centre(k))[3:].T @ force
        return result[:, None]


def _in_world_axes(turn: np.ndarray, place: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """A twist of a frame, in its axes at its origin, seen in world axes at the world's origin."""
    angular, linear = turn @ twist[:3], turn @ twist[3:]
    return np.vstack([angular, linear + skew(place) @ angular])


def _bracket(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The Lie bracket of two twists."""
    return np.concatenate([cross(x[:3], y[:3]), cross(x[:3], y[3:]) + cross(x[3:], y[:3])])
