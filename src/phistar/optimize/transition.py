"""A step x' = f(x, u) of the semi-implicit Euler method and its derivatives, at all knots at once.

    v' = v + h θ̈(q, v, u),   q' = q ⊕ h v'          δq' = X δq + h Y δv',   δv' = δv + h(∂θ̈/∂q δq + ∂θ̈/∂v δv + ∂θ̈/∂u δu)

X = exp(−h v'~) takes a deviation along, and Y = ∫₀¹ exp(−s h v'~) ds; both are the identity where coordinates add.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.derivatives import linearize
from phistar.dynamics import forward_dynamics
from phistar.model import Model
from phistar.passive_forces import has_springs_or_damping, spring_and_damper_forces
from phistar.spatial import skew

TERMS = 24  # of the series in h v'~: exact to rounding for turns of up to three radians a step


@dataclass(frozen=True, eq=False)
class Transition:
    """The step of a robot whose controls become joint forces by `actuation` (nv, nu); springs and damping act where
    `passive`."""

    model: Model
    actuation: np.ndarray
    passive: bool

    def forces(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Joint forces (…, nv), those of springs and damping among them."""
        tau = u @ self.actuation.T
        return tau + spring_and_damper_forces(self.model, q, v) if self._acts else tau

    @cached_property
    def _acts(self) -> bool:
        return self.passive and has_springs_or_damping(self.model)

    def after(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state after a step, (…, nq) and (…, nv)."""
        rates = v + h[:, None] * forward_dynamics(self.model, q, v, self.forces(q, v, u))
        return self.model.integrate(q, h[:, None] * rates), rates

    def gaps(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, h: np.ndarray) -> np.ndarray:
        """f(x_k, u_k) ⊖ x_{k+1}, (N, 2nv), of knots q (N + 1, nq), v (N + 1, nv) and u (N, nu)."""
        after, rates = self.after(q[:-1], v[:-1], u, h)
        return np.concatenate([self.model.difference(q[1:], after), rates - v[1:]], axis=-1)

    def linear(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, h: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        """∂x'/∂x and ∂x'/∂u of all knots, written to A (N, 2nv, 2nv) and B (N, 2nv, nu)."""
        nv, step = self.model.nv, h[:, None, None]
        made = linearize(self.model, q, v, u @ self.actuation.T, passive=self._acts)
        np.multiply(made.A[:, nv:], step, out=A[:, nv:])
        np.multiply(made.B[:, nv:] @ self.actuation if self._chosen else made.B[:, nv:], step, out=B[:, nv:])
        flat = A.reshape(len(A), -1)
        flat[:, nv * (2 * nv + 1) :: 2 * nv + 1] += 1.0  # the diagonal's second half, then its first
        np.multiply(A[:, nv:], step, out=A[:, :nv])
        np.multiply(B[:, nv:], step, out=B[:, :nv])
        if self._flat:
            flat[:, : 2 * nv * nv : 2 * nv + 1] += 1.0
            return
        rates = v + h[:, None] * forward_dynamics(self.model, q, v, self.forces(q, v, u))
        carried, spread = self._curved(h[:, None] * rates)
        A[:, :nv], B[:, :nv] = spread @ A[:, :nv], spread @ B[:, :nv]
        A[:, :nv, :nv] += carried

    @cached_property
    def _chosen(self) -> bool:
        return not np.array_equal(self.actuation, np.eye(self.model.nv))

    @cached_property
    def _flat(self) -> bool:
        return all(joint.kind.flat for joint in self.model.joints)

    def _curved(self, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X and Y, (N, nv, nv), of a displacement h v' (N, nv)."""
        carried = np.broadcast_to(np.eye(self.model.nv), (*moved.shape, self.model.nv)).copy()
        spread = carried.copy()
        for joint in self.model.joints:
            if joint.kind.flat:
                continue
            own, cut = -_bracket(moved[:, joint.v_slice]), (slice(None), joint.v_slice, joint.v_slice)
            unit = np.eye(joint.nv)
            series = np.broadcast_to(unit, own.shape)
            for k in range(TERMS, 1, -1):
                series = unit + own @ series / k  # Σ (−x~)ⁿ/(n + 1)!
            spread[cut], carried[cut] = series, unit + own @ series
        return carried, spread


def _bracket(x: np.ndarray) -> np.ndarray:
    """x~ of rotations (…, 3) or twists (…, 6), angular part first: x~y = [x, y]."""
    if x.shape[-1] == 3:
        return skew(x)
    spin, slide, nothing = skew(x[..., :3]), skew(x[..., 3:]), np.zeros((*x.shape[:-1], 3, 3))
    upper, lower = np.concatenate([spin, nothing], axis=-1), np.concatenate([slide, spin], axis=-1)
    return np.concatenate([upper, lower], axis=-2)
