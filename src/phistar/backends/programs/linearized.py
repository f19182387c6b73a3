"""The derivative of the Newton-Euler statement, again as operator statements, evaluated in one common frame.

With Δ = φ*H*δθ, the displacement of each link, and ~ the bracket of motions, every link-to-link operator changes by
δφ* = φ*δE_φ*φ* = φ*Δ~ − Δ~φ*. From τ = Hφ(Mα + 𝓑V) + Aθ̈, V = φ*H*θ̇, α = φ*(H*θ̈ + Ψ̇θ̇ + E*a_g) this gives

    ∂τ/∂θ̈ = HφMφ*H* + A
    ∂τ/∂θ̇ = Hφ(Mφ*Ψ′ + 2𝓑φ*H*)
    ∂τ/∂θ = Hφ(Mφ*Ψ̈ + 2𝓑φ*Ψ̇) + Hφ̃F^H*

with memoryless Ψ̇ = V_p~H*, Ψ′ = (V_p + V)~H*, Ψ̈ = (α_p~ + V_p~V_p~)H* and F^x = x ×* F, where F = φ(Mα + 𝓑V) and
_p is the parent's (Singh, Russell, Wensing, Robotics and Automation Letters 2022; 𝓑: Echeandia, Wensing, J. Comput.
Nonlinear Dynamics 2021). Every φXφ* is then r + φ̃r + rφ̃* with the composites r of X (R87 eqs. 27, 28), which in one
frame is the sum r = φX.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from phistar.backends.code.pairs import Pairs
from phistar.backends.code.unsolved import Block, Unsolved
from phistar.backends.links.brackets import bracket, coriolis_block, force_bracket, own_bracket
from phistar.backends.links.common_frame import CommonFrame
from phistar.backends.links.values import mirrored
from phistar.backends.programs.interpret import run
from phistar.backends.traces.solve import solve_symmetric
from phistar.backends.traces.trace import Scalar
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import lower

Blocks = list[np.ndarray]  # one per link


def inverse_dynamics_derivatives(frame: CommonFrame, v: Any, a: Any) -> Unsolved:
    """∂τ/∂θ, ∂τ/∂θ̇, ∂τ/∂θ̈ at v and a, (…, nv)."""
    at = Linearization(frame, v)
    by_q, by_v, pairs = at.derivatives(a, 1.0)
    return Unsolved(at.mass_matrix, (by_q, by_v, at.mass_matrix), (), pairs)


def forward_dynamics_derivatives(frame: CommonFrame, v: Any, tau: Any) -> Unsolved:
    """−ℳ⁻¹∂τ/∂θ, −ℳ⁻¹∂τ/∂θ̇, ℳ⁻¹ at the acceleration that tau, (…, nv), gives."""
    at = Linearization(frame, v)
    mass = at.mass_matrix
    excess = np.asarray(tau)[..., None] - at.bias()
    by_q, by_v, pairs = at.derivatives(solve_symmetric(mass, excess)[..., 0], -1.0)
    known = at.falling() if by_q.dtype == object else {}
    for column, values in known.items():
        by_q[:, column] = values
    return replace(unsolved(mass, by_q, by_v, pairs), known=frozenset((0, column) for column in known))


def unsolved(mass: np.ndarray, by_q: np.ndarray, by_v: np.ndarray, pairs: Pairs | None = None) -> Unsolved:
    """−ℳ⁻¹∂τ/∂θ, −ℳ⁻¹∂τ/∂θ̇ and ℳ⁻¹ from ℳ and −∂τ."""
    return Unsolved(mass, (by_q, by_v, np.eye(mass.shape[-1])), (Block(0), Block(1), Block(2, symmetric=True)), pairs)


class Linearization:
    """What derivatives at (θ, θ̇) have in common, whatever θ̈: velocities, composites, the mass matrix."""

    def __init__(self, frame: CommonFrame, v: Any) -> None:
        self.frame, self.links = frame, frame.links
        self.model, self.size = self.links.model, self.links.model.nv
        s = Symbols()
        self.h = list(self.links.subspace)
        self.v = [np.asarray(v)[..., joint.v_slice, None] for joint in self.model.joints]
        own = [np.matmul(h, rate) for h, rate in zip(self.h, self.v, strict=True)]
        self.velocity = self.apply(s.phi.T, own)
        self.parent_velocity = [bracket(x) for x in self.apply(s.E_phi.T, self.velocity)]
        self.psi_dot = _products(self.parent_velocity, self.h)
        self.psi_prime = [psi + psi + own_bracket(x, h) for psi, x, h in zip(self.psi_dot, own, self.h, strict=True)]
        self.masses = [self.links.mass(k) for k in range(len(self.h))]
        self.coriolis = [
            coriolis_block(*self.links.mass_parts(k)[:2], frame.second_moments[k], x)
            for k, x in enumerate(self.velocity)
        ]
        self.r, self.r_coriolis = self.apply(s.phi, self.masses), self.apply(s.phi, self.coriolis)
        self.r_h = _products(self.r, self.h)
        twice_h = [h + h for h in self.h]
        self.against = _products([_transposed(x) for x in self.r_coriolis], twice_h)
        self.by_v = _sums(_products(self.r, self.psi_prime), _products(self.r_coriolis, twice_h))
        self.outboard_r_h = self.outboard(self.r_h)

    def apply(self, operator: Node, blocks: Blocks) -> Blocks:
        """An operator between link spaces applied to a stack of blocks, (…, 6, c) each."""
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks))
        stack = np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in blocks], axis=-2)
        program = _program(operator)
        result = run(program, self.links, {"x": stack})[program.result_names["y"]]
        return [result[..., 6 * k : 6 * k + 6, :] for k in range(len(blocks))]

    def outboard(self, columns: Blocks) -> Blocks:
        """φ̃X for memoryless X from the joints, (…, 6, r): at each link the columns of all joints further out."""
        s = Symbols()
        return self.apply(s.E_phi @ s.phi, [self.placed(x, k) for k, x in enumerate(columns)])

    def placed(self, block: np.ndarray, k: int) -> np.ndarray:
        """A block (…, m, r) in the columns of joint k, (…, m, nv)."""
        result = np.full((*block.shape[:-1], self.size), 0.0, dtype=block.dtype)
        result[..., self.model.joints[k].v_slice] = block
        return result

    @property
    def mass_matrix(self) -> np.ndarray:
        """ℳ = HrH* + Hφ̃rH* + (Hφ̃rH*)* + A (R87 eq. 31)."""
        own = _products([_transposed(h) for h in self.h], self.r_h)
        own = [mirrored(x) + self.links.armature(k) for k, x in enumerate(own)]
        outer = self.rows(self.h, self.outboard_r_h)
        return self.rows(None, [self.placed(x, k) for k, x in enumerate(own)]) + outer + _transposed(outer)

    def rows(self, left: Blocks | None, right: Blocks) -> np.ndarray:
        """Stack of X*(k)Y(k), (…, nv, c)."""
        blocks = right if left is None else _products([_transposed(x) for x in left], right)
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks))
        return np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in blocks], axis=-2)

    def accelerations(self, a: Any) -> tuple[Blocks, Blocks]:
        """α = φ*(H*θ̈ + Ψ̇θ̇ + E*a_g) and the parents', at θ̈ = a, (…, nv)."""
        s, joints = Symbols(), self.model.joints
        a = [np.asarray(a)[..., joint.v_slice, None] for joint in joints]
        own = _sums(_products(self.h, a), _products(self.psi_dot, self.v))
        lift = self.frame.base_acceleration[..., None]
        roots = [parent < 0 for parent in self.model.parents]
        alpha = self.apply(s.phi.T, [x + lift if root else x for x, root in zip(own, roots, strict=True)])
        return alpha, [lift if root else x for x, root in zip(self.apply(s.E_phi.T, alpha), roots, strict=True)]

    def bias(self) -> np.ndarray:
        """𝒞 + 𝒢 = ½(Hφ̃Xθ̇ + (2rᶜ*H*)*V) + (rH*)*α, (…, nv, 1), of α at rest and X = rΨ′ + 2rᶜH*, the columns of ∂τ/∂θ̇:
        what is of second degree in θ̇ is half its derivative times θ̇ (Euler)."""
        s = Symbols()
        outer = self.apply(s.E_phi @ s.phi, _products(self.by_v, self.v))
        squares = self.rows(self.h, outer) + self.rows(self.against, self.velocity)
        return 0.5 * squares + self.rows(self.r_h, self.accelerations(np.zeros(self.size))[0])

    def derivatives(self, a: Any, sign: float) -> tuple[np.ndarray, np.ndarray, Pairs | None]:
        """±∂τ/∂θ and ±∂τ/∂θ̇ at θ̈ = a, (…, nv); of traced scalars with the products over pairs of joints left open."""
        alpha, above = self.accelerations(a)
        acting = _sums(_products(self.masses, alpha), _products(self.coriolis, self.velocity))
        forces = self.apply(Symbols().phi, acting)
        h, twice_psi = self.h, [psi + psi for psi in self.psi_dot]
        psi_ddot = _sums(_products([bracket(x) for x in above], h), _products(self.parent_velocity, self.psi_dot))
        by_q = _sums(_products(self.r, psi_ddot), _products(self.r_coriolis, twice_psi))
        turned = _products([force_bracket(f) for f in forces], h)
        left = (h, self.psi_dot, self.psi_prime, psi_ddot)
        right = (self.r_h, self.against, _sums(by_q, turned), self.by_v)
        own_q, own_v = sign * self.own(by_q), sign * self.own(self.by_v)
        pairs = Pairs(self.by_rates(left), self.by_rates(right), self.carried(), sign)
        if own_q.dtype == object:
            return pairs.table(own_q, 0, 1), pairs.table(own_v, 2, 3), pairs
        return pairs.dense(own_q, 0, 1), pairs.dense(own_v, 2, 3), None

    def falling(self) -> dict[int, np.ndarray]:
        """Columns of −ℳ⁻¹∂τ/∂θ, (nv,), for joints on the world that hold nothing: all six motions, in the common
        frame constant, and no armature. There V_p = 0 and Ψ̈ = H*Y, so that ∂τ/∂θ = HφMφ*H*Y and only their own
        acceleration changes, by −Y: what carries a mechanism may be turned as one likes, it falls as before."""
        result: dict[int, np.ndarray] = {}
        for k, (joint, parent) in enumerate(zip(self.model.joints, self.model.parents, strict=True)):
            moving = any(isinstance(x, Scalar) for x in self.h[k].reshape(-1))
            if parent >= 0 or joint.nv < 6 or moving or np.any(self.links.armature(k)):
                continue
            motions = np.linalg.inv(np.asarray(self.h[k], dtype=float))
            own = -np.matmul(motions, np.matmul(bracket(self.frame.base_acceleration[..., None]), self.h[k]))
            placed = self.rows(None, [own if i == k else np.zeros((x.shape[-1], 6)) for i, x in enumerate(self.h)])
            result |= {joint.v_slice.start + i: placed[:, i] for i in range(6)}
        return result

    def by_rates(self, blocks: tuple[Blocks, ...]) -> np.ndarray:
        """Blocks (…, 6, r) of the links as rows of joint rates, (…, nv, 6·blocks)."""
        stacks = [self.rows(None, [_transposed(x) for x in block]) for block in blocks]
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in stacks))
        return np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in stacks], axis=-1)

    def carried(self) -> tuple[tuple[int, int], ...]:
        """Pairs of joint rates, the first of a joint that carries the second's."""
        result, joints = [], self.model.joints
        for body, joint in enumerate(joints):
            k = self.model.parents[body]
            while k >= 0:
                slices = joints[k].v_slice, joint.v_slice
                result += [
                    (i, j) for i in range(*slices[0].indices(self.size)) for j in range(*slices[1].indices(self.size))
                ]
                k = self.model.parents[k]
        return tuple(result)

    def own(self, columns: Blocks) -> np.ndarray:
        """HX for memoryless X from the joints, (…, nv, nv): each joint with itself."""
        return self.rows(self.h, [self.placed(x, k) for k, x in enumerate(columns)])


@cache
def _program(operator: Node) -> Program:
    return lower(operator, matrix=True)


def _products(left: Blocks, right: Blocks) -> Blocks:
    return [np.matmul(x, y) for x, y in zip(left, right, strict=True)]


def _sums(left: Blocks, right: Blocks) -> Blocks:
    return [x + y for x, y in zip(left, right, strict=True)]


def _transposed(x: np.ndarray) -> np.ndarray:
    return np.swapaxes(x, -1, -2)
