"""A step x' = f(x, u) of the semi-implicit Euler method and its derivatives, at all knots at once.

    v' = v + h θ̈(q, v, u),   q' = q ⊕ h v'          δq' = X δq + h Y δv',   δv' = δv + h(∂θ̈/∂q δq + ∂θ̈/∂v δv + ∂θ̈/∂u δu)

X = exp(−h v'~) takes a deviation along, and Y = ∫₀¹ exp(−s h v'~) ds (`curved_steps.py`); both are the identity where
coordinates add.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.derivatives import RECORDED, forward_dynamics_derivatives
from phistar.dynamics import forward_dynamics
from phistar.model import Model
from phistar.optimize.curved_steps import step_slopes
from phistar.passive_forces import has_springs_or_damping, spring_and_damper_forces, with_passive
from phistar.steps.sweep import RiccatiSweep


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

    def linear(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, h: np.ndarray, sweep: RiccatiSweep) -> None:
        """∂θ̈ by q, v and joint forces at all knots, and how curved coordinates move, into a mechanism's sweep."""
        tau, tables = self.forces(q, v, u), tuple(sweep.table(name) for name in ("by_q", "by_v", "by_force"))
        if self._derivatives is not None:
            self._derivatives(q, v, tau, out=tables)
        else:
            for table, made in zip(tables, forward_dynamics_derivatives(self.model, q, v, tau), strict=True):
                table[:] = made
        if self._acts:
            both = with_passive(self.model, q, v, np.concatenate(tables[:2], axis=-1), tables[2])
            tables[0][:], tables[1][:] = both[..., : self.model.nv], both[..., self.model.nv :]
        sweep.vector("h")[:, 0, 0] = h
        if self.curved:
            rates = v + h[:, None] * forward_dynamics(self.model, q, v, tau)
            carried, spread = step_slopes(self.model, h[:, None] * rates[:, : self.curved])
            sweep.table("carried")[:], sweep.table("spread")[:] = carried, spread

    @cached_property
    def _derivatives(self) -> Any:
        """The kernel of all knots' derivatives, which writes where it is told; None where there is none such."""
        if self.model.loops:
            return None
        made = RECORDED["forward_dynamics_derivatives"].kernel(self.model).function
        return made if isinstance(made, np.ufunc) else None

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The joint rate that each control acts on."""
        return tuple(int(i) for i in np.argmax(self.actuation, axis=0))

    @cached_property
    def curved(self) -> int:
        """Number of rates up to the last whose coordinates do not add."""
        return max((joint.v_slice.stop for joint in self.model.joints if not joint.kind.flat), default=0)
