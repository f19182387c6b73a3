"""Parts of the derivatives of the dynamics, from the definitions: brackets of motions and forces link by link, the
recursions of 𝓑 as fixed points, and derivatives themselves as differences.

Dynamics are linear in θ̈ and quadratic in θ̇: there a central difference is exact, whatever the step. By θ it has seven
points; what it lacks is of the eighth order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from phistar.backends.links.values import bias_force, inertia_matrix, links_at
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.spatial import skew

if TYPE_CHECKING:
    from phistar.backends.dense.definitions import Dense

STEP, POINTS = 0.01, ((1, 45.0), (2, -9.0), (3, 1.0))  # of sixty


def _motion(x: np.ndarray) -> np.ndarray:
    """x~, (6, 6)."""
    return np.block([[skew(x[:3]), np.zeros((3, 3))], [skew(x[3:]), skew(x[:3])]])


def _force(x: np.ndarray) -> np.ndarray:
    """F^y = y ×* F = −y~*F, (6, 6)."""
    return np.column_stack([-_motion(y).T @ x for y in np.eye(6)])


def _each(dense: Dense, bracket: Callable[[np.ndarray], np.ndarray], vector: Node) -> np.ndarray:
    parts = dense(vector).reshape(dense.n, 6)
    return dense.blocks({(k, k): bracket(part) for k, part in enumerate(parts)})


def _motions(dense: Dense, vector: Node) -> np.ndarray:
    return _each(dense, _motion, vector)


def _forces(dense: Dense, vector: Node) -> np.ndarray:
    return _each(dense, _force, vector)


def _psi_dot(dense: Dense) -> np.ndarray:
    return dense(Symbols().V_p_tilde) @ dense._H().T


def _psi_prime(dense: Dense) -> np.ndarray:
    s = Symbols()
    return (dense(s.V_p_tilde) + dense(s.V_tilde)) @ dense._H().T


def _psi_ddot(dense: Dense, acceleration: Node) -> np.ndarray:
    s = Symbols().with_acceleration(acceleration)
    above = dense(s.V_p_tilde)
    return (dense(s.alpha_p_tilde) + above @ above) @ dense._H().T


def _alpha(dense: Dense, acceleration: Node) -> np.ndarray:
    """Link by link: α = α_p + H*θ̈ + V_p~H*θ̇, at the world's side of a base link gravity's."""
    theta_ddot, h, v = dense(acceleration), dense._H().T, np.reshape(dense.vectors["v"], (-1, 1))
    carried, lift = dense._E_phi().T, dense._E().T @ np.reshape(dense.vectors["a_g"], (-1, 1))
    own = h @ theta_ddot + _psi_dot(dense) @ v + lift
    result = own
    for _ in range(dense.n):
        result = carried @ result + own
    return result


def _coriolis(dense: Dense, mass: Node) -> np.ndarray:
    """𝓑 = ½(V ×* M + (MV)^ − MV~) (EW21)."""
    matrix, here = dense(mass), dense(Symbols().V_tilde)
    momentum = (matrix @ dense(Symbols().V)).reshape(dense.n, 6)
    turned = dense.blocks({(k, k): _force(part) for k, part in enumerate(momentum)})
    return 0.5 * (-here.T @ matrix + turned - matrix @ here)


def _composite(dense: Dense, mass: Node) -> np.ndarray:
    own, shift = _coriolis(dense, mass), dense._E_phi()
    result = own
    for _ in range(dense.n):
        result = shift @ result @ shift.T + own
    return result


def _articulated_rate(dense: Dense, *pair: Node) -> np.ndarray:
    own, shift, inward = _coriolis(dense, pair[0]), dense._E_phi(), dense.riccati(pair)["E_psi"]
    result = own
    for _ in range(dense.n):
        result = inward @ result @ shift.T + own
    return result


def _by_vector(name: str) -> Callable[[Dense, Node], np.ndarray]:
    """A derivative by θ̇ or θ̈: half the difference of two values, exact."""

    def result(dense: Dense, node: Node) -> np.ndarray:
        at = np.reshape(dense.vectors[name], -1)
        moved = [elsewhere(dense, node, dense.links.q, {name: at + e}) for e in (*np.eye(at.size), *-np.eye(at.size))]
        ahead, behind = np.split(np.hstack(moved), 2, axis=1)
        return (ahead - behind) / 2

    return result


def _by_place(dense: Dense, node: Node) -> np.ndarray:
    """A derivative by the tangent of q ⊕ δ."""
    model, total = dense.model, np.zeros((dense.size(node.codomain), dense.model.nv))
    for steps, weight in POINTS:
        for sign in (1, -1):
            moved = [model.integrate(dense.links.q, sign * steps * STEP * e) for e in np.eye(model.nv)]
            total = total + sign * weight * np.hstack([elsewhere(dense, node, q, {}) for q in moved])
    return total / (60 * STEP)


def elsewhere(dense: Dense, node: Node, q: np.ndarray, vectors: dict[str, np.ndarray]) -> np.ndarray:
    links = replace(links_at(dense.model, q, dense.links.frames), inertias=dense.links.inertias)
    return type(dense)(links, {**dense.vectors, **vectors}, dense.operators)(node)


def _parameter_forces(dense: Dense, accelerations: Node) -> np.ndarray:
    """Columns Mα + b of bodies with one inertial parameter one and all others zero."""
    alpha, result = dense(accelerations).reshape(dense.n, 6, 1), np.zeros((6 * dense.n, 10 * dense.n))
    for k in range(dense.n):
        for i, parameters in enumerate(np.eye(10)):
            mass = inertia_matrix(parameters)
            force = mass @ alpha[k] + bias_force(mass, dense.velocities[k])
            result[6 * k : 6 * k + 6, 10 * k + i] = force[:, 0]
    return result


LINEARIZED: dict[str, Callable[..., np.ndarray]] = {
    **dict.fromkeys(("V_tilde", "V_p_tilde", "V_J_tilde", "alpha_p_tilde", "tilde"), _motions),
    **dict.fromkeys(("F_hat", "hat"), _forces),
    "Psi_dot": _psi_dot,
    "Psi_prime": _psi_prime,
    "Psi_ddot": _psi_ddot,
    "B_v": _coriolis,
    "r_v": _composite,
    "Y": _articulated_rate,
    "alpha": _alpha,
    "Y_pi": _parameter_forces,
    "together": lambda dense, node: dense(node),
    "partial_q": _by_place,
    "partial_v": _by_vector("v"),
    "partial_qdd": _by_vector("qdd"),
}
"""Matrix of each symbol, computed from a `Dense`."""
