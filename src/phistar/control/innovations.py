"""The diagonalized equations of motion, ν̇ + μ = ε, and decoupled control in their coordinates (RJK91 §6).

ℳ = (I + HφK)D(I + HφK)* makes ½ ν*ν of the kinetic energy with the residuals ν = D^{1/2}(I + HφK)*θ̇; the innovations
ε = D^{-1/2}(I − HψK)T move one ν each. D^{1/2} is ℓ* with D = ℓℓ*, ℓ lower triangular with a block per joint: for a
single degree of freedom the square root.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.link_sizes import link_rows
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import is_traced
from phistar.control.control_law import JointLaw, joint_error, refuse_curved, refuse_loops, row, set_gains
from phistar.model import Model, require_tree
from phistar.short_repr import short_repr
from phistar.stated import states


@short_repr
class Diagonalized(NamedTuple):
    """ν̇ + μ = ε: velocity ν and bias μ, gravity included, (…, nv) each."""

    velocity: Array
    bias: Array


@states(
    lambda s: {
        "rate": s.factor.T @ s.v_ref,
        "drift": s.G.T @ (s.phi.T @ s.a_ref + s.n_ref) + s.G_dot.T @ s.E_phi.T @ s.V_ref,
        "bias": s.whitening @ (s.C + s.g),
        "D": s.D,
        "D_dot": s.D_dot,
    },
    matrix=True,
)
def innovation_terms(model: Model, q: Any, v: Any, v_ref: Any) -> dict[str, Array]:
    """(I + HφK)*θ̇_r and, along θ̇, d(I + HφK)*/dt θ̇_r (…, nv); (I − HψK)(𝒞 + 𝒢) (…, nv); D and dD/dt (…, nv, nv).

    (I + HφK)*θ̇ is θ̇ + G*V⁻ with V⁻ = ℰφ*V, a link's velocity without its own joint; its rate in link axes is what
    d(HφK)*/dt needs besides dG/dt, which Riccati's equation gives in the sweep that gives G.
    """
    return innovation_terms.evaluate_all(model, q, {"v": v, "v_ref": v_ref})


@states(lambda s: {"y": s.factor @ s.T, "D": s.D}, matrix=True)
def coloured(model: Model, q: Any, tau: Any) -> dict[str, Array]:
    """(I + HφK)x, (…, nv), and D (RJK91 lemma 1)."""
    return coloured.evaluate_all(model, q, {"T": tau})


@states(lambda s: {"y": s.whitening @ s.T, "D": s.D}, matrix=True)
def whitened(model: Model, q: Any, tau: Any) -> dict[str, Array]:
    """(I − HψK)T, (…, nv), and D (RJK91 lemma 2)."""
    return whitened.evaluate_all(model, q, {"T": tau})


@states(lambda s: {"y": s.factor.T @ s.qdd, "D": s.D}, matrix=True)
def decorrelated(model: Model, q: Any, a: Any) -> dict[str, Array]:
    """(I + HφK)*x, (…, nv), and D."""
    return decorrelated.evaluate_all(model, q, {"qdd": a})


@states(lambda s: {"y": s.whitening.T @ s.qdd, "D": s.D}, matrix=True)
def recovered(model: Model, q: Any, a: Any) -> dict[str, Array]:
    """(I − HψK)*x, (…, nv), and D."""
    return recovered.evaluate_all(model, q, {"qdd": a})


def diagonalized(model: Model, q: Any, v: Any) -> Diagonalized:
    """Residual velocities of RJK91 §6, in which the equations of motion are decoupled.

    ν = D^{1/2}(I + HφK)*θ̇ and μ = D^{-1/2}(I − HψK)(𝒞 + 𝒢) − d(D^{1/2}(I + HφK)*)/dt θ̇, so that ν̇ + μ = ε; without
    gravity μ does no work: ν*μ = 0.

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.

    Returns
    -------
    Diagonalized
        `velocity` ν and `bias` μ, each (…, nv).

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> found = ps.control.diagonalized(arm, q, np.ones(6))
    >>> bool(np.isclose(found[0] @ found[0] / 2, ps.kinetic_energy(arm, q, np.ones(6))))
    True
    """
    require_tree(model, "diagonalized")
    terms = innovation_terms(model, q, v, v)
    root = _Root.of(model, terms["D"])
    velocity = root.star(terms["rate"])
    drift = root.star(terms["drift"]) + root.rate_times(terms["D_dot"], velocity)
    return Diagonalized(velocity, root.inverse(terms["bias"]) - drift)


def innovations_of_forces(model: Model, q: Any, tau: Any) -> Array:
    """Innovations of joint forces: the part of each that the joint forces outboard do not predict.

    ε = D^{-1/2}(I − HψK)T (RJK91 §6).

    Parameters
    ----------
    model : Model
    q, tau : (…, nq), (…, nv)
        Joint coordinates and forces.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> innovations = ps.control.innovations_of_forces(arm, q, np.ones(6))
    >>> ps.control.forces_of_innovations(arm, q, innovations).round(9)
    array([1., 1., 1., 1., 1., 1.])
    """
    require_tree(model, "innovations_of_forces")
    found = whitened(model, q, tau)
    return _Root.of(model, found["D"]).inverse(found["y"])


def rates_of_residuals(model: Model, q: Any, velocity: Any) -> Array:
    """Joint rates of given residual velocities.

    θ̇ = (I − HψK)*D^{-1/2}ν (RJK91 §6).

    Parameters
    ----------
    model : Model
    q, velocity : (…, nq), (…, nv)
        Joint coordinates, and ν.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> nu = ps.control.diagonalized(arm, q, np.ones(6)).velocity
    >>> ps.control.rates_of_residuals(arm, q, nu).round(9)
    array([1., 1., 1., 1., 1., 1.])
    """
    require_tree(model, "rates_of_residuals")
    root = _Root.of(model, recovered(model, q, velocity)["D"])
    return recovered(model, q, root.star_inverse(np.asanyarray(velocity)))["y"]


def forces_of_innovations(model: Model, q: Any, innovations: Any) -> Array:
    """Joint forces that move each residual velocity by its own innovation.

    T = (I + HφK)D^{1/2}ε (RJK91 §6).

    Parameters
    ----------
    model : Model
    q, innovations : (…, nq), (…, nv)
        Joint coordinates, and ε.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> tau = ps.control.forces_of_innovations(arm, q, np.ones(6))
    >>> ps.control.innovations_of_forces(arm, q, tau).round(9)
    array([1., 1., 1., 1., 1., 1.])
    """
    require_tree(model, "forces_of_innovations")
    root = _Root.of(model, coloured(model, q, innovations)["D"])
    return coloured(model, q, root.times(np.asanyarray(innovations)))["y"]


@final
@dataclass(frozen=True, eq=False)
class DecoupledControl(JointLaw):
    """Tracking in which each residual velocity converges on its own.

    ε = μ + ν̇_r + c(ν_r − ν), T = (I + HφK)D^{1/2}ε (RJK91 §6). ν_r = D^{1/2}(I + HφK)*θ̇_r, θ̇_r = θ̇_d + λ(θ_d − θ);
    ½|ν − ν_r|² falls as −c|ν − ν_r|². For joints whose rates are those of their coordinates; `reference(q_d, v_d,
    a_d)`.

    Parameters
    ----------
    model : Model
    rate, slope : float or (nv,)
        c and λ [1/s].

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> law = ps.control.DecoupledControl(arm)
    >>> law(0.0, q, v, law.reference(q + 0.1)).shape
    (6,)
    """

    model: Model
    rate: Any = 20.0
    slope: Any = 10.0

    def __post_init__(self) -> None:
        refuse_loops(self.model, self)
        refuse_curved(self.model, self)
        set_gains(self, dict.fromkeys(("rate", "slope"), self.model.nv))

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        q, v, left, change = self._motion(q, v, reference)
        terms = innovation_terms(self.model, q, v, left)
        root = _Root.of(self.model, terms["D"])
        # μ + ν̇_r = D^{-1/2}(I − HψK)(𝒞 + 𝒢) + m θ̈_r + dm/dt(θ̇_r − θ̇) with m = D^{1/2}(I + HφK)*.
        gap = root.star(terms["rate"])
        epsilon = root.inverse(terms["bias"]) + root.star(terms["drift"]) + root.rate_times(terms["D_dot"], gap)
        ahead = root.star(decorrelated(self.model, q, change)["y"])
        return forces_of_innovations(self.model, q, epsilon + ahead + self.rate * gap)

    def residual(self, q: Any, v: Any, reference: Any) -> Array:
        """ν_r − ν, (…, nv)."""
        q, _, left, _ = self._motion(q, v, reference)
        found = decorrelated(self.model, q, left)
        return _Root.of(self.model, found["D"]).star(found["y"])

    def _motion(self, q: Any, v: Any, reference: Any) -> tuple[np.ndarray, ...]:
        """θ and θ̇ as given, θ̇_r − θ̇ and θ̈_r."""
        q, v, target, rate, change = self.read_arguments(q, v, reference)
        behind = rate - v
        return q, v, behind + self.slope * joint_error(self.model, q, target), change + self.slope * behind


@dataclass(frozen=True, eq=False)
class _Root:
    """D = ℓℓ*: a lower triangular block per joint, and its inverse; (…, r, r) each."""

    model: Model
    lower: tuple[np.ndarray, ...]
    inverses: tuple[np.ndarray, ...]

    @staticmethod
    def of(model: Model, d: np.ndarray) -> _Root:
        blocks = [_cholesky(d[..., own, own]) for own in link_rates(model)]
        return _Root(model, tuple(blocks), tuple(_invert_lower(block) for block in blocks))

    def times(self, x: np.ndarray) -> np.ndarray:
        return self._each(self.lower, x)

    def inverse(self, x: np.ndarray) -> np.ndarray:
        return self._each(self.inverses, x)

    def star(self, x: np.ndarray) -> np.ndarray:
        return self._each([np.swapaxes(block, -1, -2) for block in self.lower], x)

    def star_inverse(self, x: np.ndarray) -> np.ndarray:
        return self._each([np.swapaxes(block, -1, -2) for block in self.inverses], x)

    def rate_times(self, rate: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(dℓ*/dt)ℓ^{-*} x: dℓ/dt = ℓΦ with Φ the lower half of ℓ⁻¹(dD/dt)ℓ^{-*}, its diagonal halved."""
        halves = []
        for own, inverse in zip(link_rates(self.model), self.inverses, strict=True):
            r, whole = own.stop - own.start, np.matmul(inverse, rate[..., own, own])
            whole = np.matmul(whole, np.swapaxes(inverse, -1, -2))
            halves.append(np.swapaxes(whole * (np.tri(r) - 0.5 * np.eye(r)), -1, -2))
        return self._each(halves, x)

    def _each(self, blocks: Any, x: np.ndarray) -> np.ndarray:
        parts = [x[..., own, None] for own in link_rates(self.model)]
        return row(np.zeros((*x.shape[:-1], 0)), *(np.matmul(a, b)[..., 0] for a, b in zip(blocks, parts, strict=True)))


def link_rates(model: Model) -> list[slice]:
    """The rates of each link in v: its joint's, then its modes'."""
    ends = np.cumsum([0, *link_rows(model, "joints")]).tolist()
    return [slice(first, last) for first, last in pairwise(ends) if last > first]


def _cholesky(block: np.ndarray) -> np.ndarray:
    """ℓ of a small block, (…, r, r), on floats and traced numbers."""
    size = block.shape[-1]
    zero = 0.0 * block[..., 0, 0]
    found = [[zero] * size for _ in range(size)]
    for j in range(size):
        for i in range(j, size):
            left = block[..., i, j] - sum((found[i][k] * found[j][k] for k in range(j)), zero)
            found[i][j] = np.sqrt(left) if i == j else left / found[j][j]
    return _stack_rows(found, block)


def _invert_lower(lower: np.ndarray) -> np.ndarray:
    """ℓ⁻¹, by forward substitution."""
    size = lower.shape[-1]
    zero = 0.0 * lower[..., 0, 0]
    found = [[zero] * size for _ in range(size)]
    for j in range(size):
        found[j][j] = 1.0 / lower[..., j, j]
        for i in range(j + 1, size):
            total = sum((lower[..., i, k] * found[k][j] for k in range(j, i)), zero)
            found[i][j] = -total / lower[..., i, i]
    return _stack_rows(found, lower)


def _stack_rows(rows: list[list[Any]], like: np.ndarray) -> np.ndarray:
    array = np.stack([np.stack(entries, axis=-1) for entries in rows], axis=-2)
    return traced(array) if is_traced(like) else array
