"""WD89's way with closed loops: everything as a function of the primary joints, q = U(Q), θ̇ = E(Q)Q̇, τ = E*ρ.

U is given, and then differentiated by Taylor numbers, or found by Newton's method on the closures, and then
differentiated by the implicit function theorem: A_s E_s = −A_p over the secondary and primary columns of A = QJ + C.
No constraint is left in the equations: H(Q)Q̈ + … = τ has as many rows as the mechanism has degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array, IntArray
from phistar.dynamics import Forces, inverse_dynamics, joint_friction
from phistar.errors import ModelError, PhistarError, ShapeError
from phistar.loops.primary.primary_closures import State, closed_state, find, found_series
from phistar.loops.primary.taylor import time_derivatives
from phistar.loops.primary.terminating_links import cut_coordinates, cut_influence, terminating_links
from phistar.model import Model
from phistar.short_repr import short_repr
from phistar.spatial import times, transposed
from phistar.spatial.vectors import leading_axes
from phistar.stated import states

SINGULAR = 1e-9  # of A's largest singular value: below it the primary joints leave a secondary one undetermined
CLOSED = 1e-8  # how well a U that is given must close the loops, in m and rad


@states(lambda s: s.mass @ s.qdd)
def inertia_forces(model: Model, q: Any, a: Any) -> Array:
    """ℳθ̈, (…, nv): inverse dynamics at rest and without gravity (RJK91 eq. 3), the tree's."""
    return inertia_forces.evaluate(model, q, {"qdd": a})


@short_repr
class JointMotion(NamedTuple):
    """q (…, nq), v and a (…, nv) of the tree's joints, E (…, m + r, n) and the cut joints' rates (…, r)."""

    q: Array
    v: Array
    a: Array
    influence: Array
    cut_rates: Array


@short_repr
@final
@dataclass(frozen=True, eq=False)
class PrimaryJoints:
    """A mechanism with loops as a function of its primary joints (WD89 §2.3).

    Parameters
    ----------
    model : Model
        With loops.
    joints : sequence of str
        The primary joints, as many freedoms as the loops leave.
    position : callable, optional
        U, a function of Q (n,) that gives q (nq,), written with NumPy so that Taylor numbers run through it.
        Without it U is found by Newton's method.
    guess : (nq,), optional
        Where Newton's method begins, which also says which of several assemblies is meant.

    Examples
    --------
    >>> arm = ps.load("planar2")
    >>> model = arm.with_loop("gear", "joint2", "joint1", ps.Coupling((0.0, 2.0)))
    >>> geared = ps.loops.PrimaryJoints(model, ["joint1"])
    >>> geared.configuration([0.25])
    array([0.25, 0.5 ])
    """

    model: Model
    joints: Sequence[str]
    position: Callable[[Array], Any] | None = None
    guess: Any = None

    def __post_init__(self) -> None:
        names = (self.joints,) if isinstance(self.joints, str) else tuple(self.joints)
        for name in names:
            self.model.joint(name)
        if not names or len(set(names)) < len(names):
            raise ModelError(f"The primary joints must be named, each once; {list(names)} were given.")
        curved = [joint.name for joint in self.model.joints if not joint.kind.flat]
        if self.position is not None and curved:
            raise ModelError(
                f"U(Q) cannot be given for {self.model.name}: its joint '{curved[0]}' has a quaternion, whose rates "
                "are not the derivatives of its coordinates. Leave `position` out, and U is found by Newton's method."
            )
        guess = self.model.neutral() if self.guess is None else self.model.checked(self.guess, self.model.nq, "guess")
        object.__setattr__(self, "joints", names)
        object.__setattr__(self, "guess", guess)

    # Indices

    @cached_property
    def coordinates(self) -> IntArray:
        """Indices of Q in q."""
        every = np.arange(self.model.nq)
        return np.concatenate([every[self.model.joint(name).q_slice] for name in self.joints])

    @cached_property
    def rates(self) -> IntArray:
        """Indices of Q̇ in v."""
        every = np.arange(self.model.nv)
        return np.concatenate([every[self.model.joint(name).v_slice] for name in self.joints])

    @cached_property
    def secondary(self) -> IntArray:
        """The other entries of v."""
        return np.setdiff1d(np.arange(self.model.nv), self.rates)

    @cached_property
    def terminating(self) -> Model:
        """The joints at which the loops were cut, r rates."""
        return terminating_links(self.model)

    # Kinematics (WD89 eqs. 4-7)

    def configuration(self, Q: Any, guess: Any = None) -> Array:
        """q = U(Q), (…, nq) (WD89 eq. 4)."""
        Q = self._check_array(Q, len(self.coordinates), "Q")
        if self.position is None:
            start = self.guess if guess is None else self.model.checked(guess, self.model.nq, "guess")
            return find(self.model, self.coordinates, self.secondary, Q, start)
        q = self._position_derivatives(Q)[0]
        worst = np.abs(closed_state(self.model, q).residual).max(initial=0.0)
        if worst > CLOSED:
            raise ModelError(f"The U(Q) given for {self.model.name} leaves its loops open by {worst:.3g}; check it.")
        return q

    def _position_derivatives(self, *path: Array) -> list[Array]:
        assert self.position is not None
        made = time_derivatives(self.position, *path)
        if made[0].shape[-1:] != (self.model.nq,):
            raise ShapeError(f"U(Q) gives shape {made[0].shape}; {self.model.name} needs (…, {self.model.nq}).")
        return made

    def influence(self, q: Any) -> Array:
        """E, (…, m + r, n): rates of the tree's joints and, after them, of the cut joints, for rates Q̇ (WD89 eq. 7)."""
        q = self.model.checked_q(q)
        return self._influence(q, closed_state(self.model, q))

    def _influence(self, q: Array, state: State) -> Array:
        own = self._tree_influence(q, state)
        return np.concatenate([own, np.matmul(cut_influence(self.model, state.poses, state.jacobians), own)], axis=-2)

    def _tree_influence(self, q: Array, state: State) -> Array:
        if self.position is not None:
            steps = np.eye(len(self.rates))
            return np.swapaxes(self._position_derivatives(q[..., None, self.coordinates], steps)[1], -1, -2)
        result = np.zeros((*q.shape[:-1], self.model.nv, len(self.rates)))
        result[..., self.rates, np.arange(len(self.rates))] = 1.0
        result[..., self.secondary, :] = -self._solve(state, state.jacobian[..., self.rates])
        return result

    def _solve(self, state: State, right: Array) -> Array:
        """A_s⁺Y, (…, s, c), where the secondary joints are determined and the primary ones free; a NaN spoils its own
        state."""
        spoiled = np.isnan(np.sum(state.jacobian, axis=(-1, -2)) + np.sum(right, axis=(-1, -2)))
        spoiled = np.expand_dims(spoiled, (-1, -2))
        own, right = np.where(spoiled, 0.0, state.jacobian[..., self.secondary]), np.where(spoiled, 0.0, right)
        sizes = np.linalg.svd(own, compute_uv=False)
        lost = np.count_nonzero(sizes < SINGULAR * sizes[..., :1], axis=-1) + len(self.secondary) - sizes.shape[-1]
        if np.any(lost > 0):
            raise PhistarError(
                f"The primary joints {', '.join(self.joints)} leave {int(lost.max())} of {self.model.name}'s "
                f"{len(self.secondary)} secondary rates undetermined: there are too few of them, or they are at a dead "
                "point. Name others here, or use ps.forward_dynamics, which needs no primary joints."
            )
        found = np.matmul(np.linalg.pinv(own, rcond=SINGULAR), right)
        left = np.abs(np.matmul(own, found) - right).max(initial=0.0)
        if left > CLOSED * (1.0 + np.abs(right).max(initial=0.0)):
            raise PhistarError(
                f"The primary joints {', '.join(self.joints)} of {self.model.name} cannot all move freely: the "
                f"closures are left with {left:.3g}. Name fewer."
            )
        return np.where(spoiled, np.nan, found)

    def motion(self, Q: Any, Q_rate: Any, Q_acceleration: Any, guess: Any = None) -> JointMotion:
        """q = U(Q), θ̇ = EQ̇, θ̈ = EQ̈ + ĖQ̇ (WD89 eqs. 4-6); Q̇ and Q̈ are (…, n)."""
        n = len(self.rates)
        rate, acceleration = (
            self._check_array(Q_rate, n, "Q_rate"),
            self._check_array(Q_acceleration, n, "Q_acceleration"),
        )
        leading_axes({"Q": Q, "Q_rate": rate, "Q_acceleration": acceleration})
        q = self.configuration(Q, guess)
        at_rest = closed_state(self.model, q)
        influence = self._influence(q, at_rest)
        whole = times(influence, rate)
        v, cut_rates = whole[..., : self.model.nv], whole[..., self.model.nv :]
        a = times(influence[..., : self.model.nv, :], acceleration) + self._drift(q, v)
        return JointMotion(q, v, a, influence, cut_rates)

    def _drift(self, q: Array, v: Array) -> Array:
        """ĖQ̇, (…, nv)."""
        if self.position is not None:
            return self._position_derivatives(q[..., self.coordinates], v[..., self.rates], np.zeros(len(self.rates)))[
                2
            ]
        state = closed_state(self.model, q, v)
        result = np.zeros(v.shape)
        result[..., self.secondary] = -self._solve(state, state.drift[..., None])[..., 0]
        return result

    def derivatives(self, Q: Any, *rates: Any) -> list[Array]:
        """[q, q̇, q̈, …], each (…, nq), along Q, Q̇, Q̈, …: as many as are given, by the epsilon algebra (WD89 §2.3)."""
        path = [self._check_array(x, len(self.coordinates), "a derivative of Q") for x in (Q, *rates)]
        curved = [joint.name for joint in self.model.joints if not joint.kind.flat]
        if curved:
            raise ModelError(
                f"The joint '{curved[0]}' of {self.model.name} has a quaternion: its derivatives of every order are "
                "not those of its coordinates. `motion` gives its rates and accelerations."
            )
        if self.position is not None:
            return self._position_derivatives(*path)
        return found_series(self.model, self.coordinates, self.secondary, path, self.configuration(Q))

    # Dynamics (WD89 §2.4)

    def inverse_dynamics(
        self, Q: Any, Q_rate: Any, Q_acceleration: Any, f_ext: Forces = None, guess: Any = None
    ) -> Array:
        """τ = E*ρ, (…, n): the forces along the primary joints; ρ has m + r entries, friction at the cuts counts."""
        motion = self.motion(Q, Q_rate, Q_acceleration, guess)
        return times(transposed(motion.influence), self.joint_forces(motion, f_ext))

    def joint_forces(self, motion: JointMotion, f_ext: Forces = None) -> Array:
        """ρ, (…, m + r): inertia and friction along every joint, as if the loops were open (WD89 eq. 12)."""
        tree = inverse_dynamics(self.model, motion.q, motion.v, motion.a, f_ext)
        tree = tree - joint_friction(self.model, motion.q, motion.v)
        cut = cut_coordinates(self.model, closed_state(self.model, motion.q).poses)
        held = -joint_friction(self.terminating, cut, motion.cut_rates)
        return np.concatenate([tree, np.broadcast_to(held, (*tree.shape[:-1], held.shape[-1]))], axis=-1)

    def mass_matrix(self, Q: Any, guess: Any = None) -> Array:
        """H(Q), (…, n, n): column j is the inverse dynamics of Q̈ = e_j at rest without gravity (WD89 §2.4)."""
        q = self.configuration(Q, guess)
        influence = self._tree_influence(q, closed_state(self.model, q))
        columns = inertia_forces(self.model, q[..., None, :], transposed(influence))
        return np.matmul(columns, influence)

    def forward_dynamics(self, Q: Any, Q_rate: Any, tau: Any, f_ext: Forces = None, guess: Any = None) -> Array:
        """Q̈ = H(Q)⁻¹(τ − E*ρ(Q, Q̇, 0)), (…, n)."""
        tau = self._check_array(tau, len(self.rates), "tau")
        leading_axes({"Q": Q, "Q_rate": Q_rate, "tau": tau})
        needed = self.inverse_dynamics(Q, Q_rate, np.zeros(len(self.rates)), f_ext, guess)
        return np.linalg.solve(self.mass_matrix(Q, guess), (tau - needed)[..., None])[..., 0]

    def actuated_inverse_dynamics(
        self,
        Q: Any,
        Q_rate: Any,
        Q_acceleration: Any,
        actuators: Sequence[str],
        weights: Any = None,
        preload: Any = None,
        f_ext: Forces = None,
        guess: Any = None,
    ) -> Array:
        """τ_a = τ₀ + W⁻¹E_a(E_a*W⁻¹E_a)⁻¹(E*ρ − E_a*τ₀), (…, actuated rates), in the actuators' order.

        The forces at the actuated joints (of the tree, or cut ones by their loop's name) that make the motion. Where
        they are more than the degrees of freedom, the split is the one nearest to `preload` τ₀ with `weights` W > 0.
        """
        motion = self.motion(Q, Q_rate, Q_acceleration, guess)
        chosen = motion.influence[..., self._actuator_rows(actuators), :]
        count = chosen.shape[-2]
        soft = 1.0 / self._check_array(np.ones(count) if weights is None else weights, count, "weights")
        base = self._check_array(np.zeros(count) if preload is None else preload, count, "preload")
        if not np.all((soft > 0.0) & np.isfinite(soft)):
            raise PhistarError("The weights of a load split must be positive and finite.")
        back = transposed(chosen)
        wanted = times(transposed(motion.influence), self.joint_forces(motion, f_ext)) - times(back, base)
        square = np.matmul(back * soft[..., None, :], chosen)
        there = np.isfinite(square).all(axis=(-1, -2))
        if np.any(there & (np.linalg.matrix_rank(np.nan_to_num(square), hermitian=True) < len(self.rates))):
            raise PhistarError(
                f"The actuators {actuators} cannot drive all {len(self.rates)} degrees of freedom of "
                f"{self.model.name} here; name more of them, or leave the singular configuration."
            )
        return base + soft * times(chosen, np.linalg.solve(square, wanted[..., None])[..., 0])

    def _actuator_rows(self, actuators: Sequence[str]) -> IntArray:
        """Rows of E that belong to joints, of the tree or cut."""
        rows = np.arange(self.model.nv + self.terminating.nv)
        own = {joint.name: rows[joint.v_slice] for joint in self.model.joints}
        cut = {joint.name: rows[self.model.nv :][joint.v_slice] for joint in self.terminating.joints}
        names = (actuators,) if isinstance(actuators, str) else tuple(actuators)
        if len(set(names)) < len(names):
            raise ModelError(f"The actuators must be named once each; {list(names)} were given.")
        for name in names:
            if name not in own and name not in cut:
                self.model.joint(name)
        return np.concatenate([np.zeros(0, int), *((own | cut)[name] for name in names)])

    def _check_array(self, array: Any, size: int, what: str) -> Array:
        return self.model.checked(array, size, what)
