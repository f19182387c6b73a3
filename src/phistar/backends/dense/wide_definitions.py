"""Explicit matrices over links of any width, straight from the definitions: the oracle for bodies that bend and for
compound links. φ, H, M, a and b are put together from the mechanism's blocks; Riccati's set is a fixed point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from phistar.errors import StatementError
from phistar.operators.meanings import DIAGONALS
from phistar.operators.nodes import Adjoint, Identity, Inverse, Node, Product, Sum, Symbol
from phistar.operators.spaces import Space
from phistar.operators.symbols import rotors_and_axes

RICCATI = ("P", "D", "D_root", "G", "K", "E_psi", "psi", "W", "Omega", "Delta")


class WideDense:
    """The matrices of one mechanism (`links/mechanism.py`) at one configuration."""

    def __init__(self, mechanism: Any, frames: tuple[str, ...], vectors: Mapping[str, Any]) -> None:
        self.mechanism, self.frames, self.vectors = mechanism, frames, vectors
        self.n = len(mechanism.parents)
        ends = np.cumsum([0, *(mechanism.width(k) for k in range(self.n))])
        self.at = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.rows, self.rates = int(ends[-1]), max((each.stop for each in mechanism.rates), default=0)

    def __call__(self, node: Node) -> np.ndarray:
        """The matrix of a node; a vector statement gives one column."""
        match node:
            case Identity(space=space):
                return np.eye(self.size(space))
            case Adjoint(of=inner):
                return self(inner).T
            case Inverse(of=inner):
                return np.linalg.inv(self(inner))
            case Product(factors=factors):
                return reduce(np.matmul, [self(x) for x in factors])
            case Sum(terms=terms):
                parts = [float(c) * self(term) for c, term in terms]
                return sum(parts, np.zeros((self.size(node.codomain), self.size(node.domain))))
            case Symbol():
                return self.symbol(node)
        raise AssertionError(node)

    def size(self, space: Space | None) -> int:
        assert space is not None
        sizes = {"links": self.rows, "joints": self.rates, "task": 6 * len(self.frames), "base": 6, "scalars": 1}
        if space.over not in sizes:
            raise StatementError(f"{space} has no size over links of any width.")
        return sizes[space.over]

    def symbol(self, node: Symbol) -> np.ndarray:
        if node.name in DIAGONALS:
            return np.diag(np.asarray(self.vectors[node.name], dtype=float))
        if node.name in self.vectors:
            return np.asarray(self.vectors[node.name], dtype=float).reshape(-1, 1)
        if node.name in RICCATI:
            return self.riccati(node.of)[node.name]
        made = getattr(self, f"_{node.name}", None)
        if made is None:
            raise StatementError(f"{node.name} has no definition over links of any width.")
        return made()

    # Fundamental operators

    def _diagonal(self, blocks: list[np.ndarray]) -> np.ndarray:
        result = np.zeros((self.rows, self.rows))
        for at, block in zip(self.at, blocks, strict=True):
            result[at, at] = block
        return result

    def _E_phi(self) -> np.ndarray:
        result = np.zeros((self.rows, self.rows))
        for k, parent in enumerate(self.mechanism.parents):
            if parent >= 0:
                result[self.at[parent], self.at[k]] = self.mechanism.crossing(k)
        return result

    def _phi(self) -> np.ndarray:
        return np.linalg.inv(np.eye(self.rows) - self._E_phi())

    def _E(self) -> np.ndarray:
        result = np.zeros((6, self.rows))
        for k, parent in enumerate(self.mechanism.parents):
            if parent < 0:
                result[:, self.at[k]] = self.mechanism.crossing(k)
        return result

    def _H(self) -> np.ndarray:
        result = np.zeros((self.rates, self.rows))
        for k, own in enumerate(self.mechanism.rates):
            result[own, self.at[k]] = self.mechanism.subspace(k).T
        return result

    def _M(self) -> np.ndarray:
        return self._diagonal([self.mechanism.mass(k) for k in range(self.n)])

    def _A(self) -> np.ndarray:
        result = np.zeros((self.rates, self.rates))
        for k, own in enumerate(self.mechanism.rates):
            result[own, own] = self.mechanism.armature(k)
        return result

    def _U(self) -> np.ndarray:
        return np.eye(self.rates)

    def _U_task(self) -> np.ndarray:
        return np.eye(6 * len(self.frames))

    @cached_property
    def poses(self) -> list[Any]:
        found: list[Any] = []
        for k, parent in enumerate(self.mechanism.parents):
            found.append(self.mechanism.pose(k, found[parent] if parent >= 0 else None))
        return found

    def _B(self) -> np.ndarray:
        result = np.zeros((self.rows, 6 * len(self.frames)))
        for i, frame in enumerate(self.frames):
            k = self.mechanism.link_of(frame)
            result[self.at[k], 6 * i : 6 * i + 6] = self.mechanism.frame_motion(frame, self.poses[k]).T
        return result

    # Recursions as fixed points

    def riccati(self, pair: tuple[Node, ...]) -> dict[str, np.ndarray]:
        """KJR92 eqs. 24-29, 34 with armature; Ω by (58)."""
        mass, armature, shift = self(pair[0]), self(pair[1]), self._E_phi()
        h = self(rotors_and_axes(pair)[1])
        p = mass
        for _ in range(self.n):
            d = h @ p @ h.T + armature
            g = p @ h.T @ np.linalg.inv(d)
            p = mass + shift @ (p - g @ d @ g.T) @ shift.T
        d = h @ p @ h.T + armature
        g = p @ h.T @ np.linalg.inv(d)
        e_psi = shift @ (np.eye(self.rows) - g @ h)
        omega = self.outward_fixed_point(e_psi, h.T @ np.linalg.inv(d) @ h)
        found = {
            "P": p,
            "D": d,
            "D_root": np.linalg.cholesky(d).T,
            "G": g,
            "K": shift @ g,
            "E_psi": e_psi,
            "psi": np.linalg.inv(np.eye(self.rows) - e_psi),
        }
        delta = self.mask * (shift.T @ omega @ shift)
        return found | {"W": self._E() @ (np.eye(self.rows) - g @ h), "Omega": omega, "Delta": delta}

    @cached_property
    def mask(self) -> np.ndarray:
        """Ones on the links' own blocks."""
        return self._diagonal([np.ones((at.stop - at.start,) * 2) for at in self.at])

    def outward_fixed_point(self, shift: np.ndarray, source: np.ndarray) -> np.ndarray:
        """X = blockdiag(shift* X shift) + source."""
        x = source
        for _ in range(self.n):
            x = self.mask * (shift.T @ x @ shift) + source
        return x

    def _Gamma(self) -> np.ndarray:
        return self.outward_fixed_point(self._E_phi(), self._H().T @ self._H())

    def _r(self) -> np.ndarray:
        shift, x = self._E_phi(), self._M()
        for _ in range(self.n):
            x = shift @ x @ shift.T + self._M()
        return x

    # Vectors made from velocities, and what statements are about

    def _V(self) -> np.ndarray:
        return self._phi().T @ self._H().T @ np.reshape(self.vectors["v"], (-1, 1))

    def _a(self) -> np.ndarray:
        velocity, v, parts = self._V(), np.reshape(self.vectors["v"], (-1, 1)), []
        for k, parent in enumerate(self.mechanism.parents):
            above = velocity[self.at[parent]] if parent >= 0 else None
            parts.append(self.mechanism.bias_acceleration(k, velocity[self.at[k]], above, v[self.mechanism.rates[k]]))
        return np.vstack(parts)

    def _b(self) -> np.ndarray:
        velocity = self._V()
        made = [self.mechanism.bias_force(k, self.mechanism.mass(k), velocity[self.at[k]]) for k in range(self.n)]
        return np.vstack(made)

    def _b_r(self) -> np.ndarray:
        return np.zeros((self.rows, 1))

    def _S(self) -> np.ndarray:
        return np.zeros((self.rows, self.rates))

    def _a0(self) -> np.ndarray:
        velocity, rows = self._V(), []
        for frame in self.frames:
            k = self.mechanism.link_of(frame)
            rows.append(self.mechanism.frame_bias(frame, self.poses[k], velocity[self.at[k]]))
        return np.vstack(rows)

    def _mass(self) -> np.ndarray:
        across = self._H() @ self._phi()
        return across @ self._M() @ across.T + self._A()

    def _J(self) -> np.ndarray:
        return self._B().T @ self._phi().T @ self._H().T

    def _Jdot_v(self) -> np.ndarray:
        return self._B().T @ self._phi().T @ self._a() + self._a0()

    def _C(self) -> np.ndarray:
        return self._H() @ self._phi() @ (self._M() @ self._phi().T @ self._a() + self._b())

    def _g(self) -> np.ndarray:
        lift = self._E().T @ np.reshape(self.vectors["a_g"], (-1, 1))
        return self._H() @ self._phi() @ self._M() @ self._phi().T @ lift
