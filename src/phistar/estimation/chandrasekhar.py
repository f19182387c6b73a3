"""The gain without the Riccati equation: Chandrasekhar's recursion for chains of equal links at equal angles.

Where φ, H, M and A are the same at every link, P(k+1) − P(k) keeps the rank it has at the tip, and its factors carry
the gain inward without P ever being formed (R87's third open question; its reference 18, Friedlander et al. 1978;
Morf, Sidhu and Kailath, IEEE Trans. Automat. Contr. 19, 1974). Written beside the algebra, in which no two links need
be alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.values import congruent_inward, inward, mirror_upper
from phistar.backends.traces.trace import Tape, finish
from phistar.errors import ModelError
from phistar.estimation.state_space import StateSpace, state_space
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr

SAME = 1e-12  # relative: links that differ by less are equal
NEGLIGIBLE = 1e-13  # of the greatest eigenvalue of P(2) − P(1): below it, there is none


@short_repr
@dataclass(frozen=True, eq=False)
class PropagatedGains:
    """Filter gains of a chain of equal links, from propagated factors.

    Attributes
    ----------
    gains : (n, 6)
        G = PH*D⁻¹ of each link, base first.
    joint_inertias : (n,)
        D of each joint, base first.
    rank : int
        Of P(k+1) − P(k), which decides what a link costs.

    Examples
    --------
    >>> chain = ps.planar_chain(6)
    >>> ps.estimation.propagated_gains(chain, chain.neutral()).rank
    5
    """

    gains: Array
    joint_inertias: Array
    rank: int


def propagated_gains(model: Model, q: Any) -> PropagatedGains:
    """Filter gains of a chain of equal links by Chandrasekhar's recursion.

    From the factors of δP(k) = P(k+1) − P(k) = L N L*:

        D(k+1) = D(k) + HLNL*H*,    (PH*)(k+1) = (PH*)(k) + LNL*H*,    G(k+1) = (PH*)(k+1) D⁻¹(k+1)
        L(k+1) = φ(I − G(k+1)H) L,    N(k+1) = N + NL*H* D⁻¹(k) HLN

    The links must be equal, and the angles of all joints but the first; the tip's inertia may differ (a payload), which
    changes only where the recursion begins, and its rank.

    Parameters
    ----------
    model : Model
        A chain of equal links.
    q : (nq,)
        One configuration.

    Returns
    -------
    PropagatedGains

    Examples
    --------
    >>> chain = ps.planar_chain(6)
    >>> ps.estimation.propagated_gains(chain, chain.neutral()).joint_inertias.shape
    (6,)
    """
    check_robot("propagated_gains", (model,))
    if not model.is_serial or any(joint.nv != 1 for joint in model.joints):
        raise ModelError(f"{model.name} is not a serial chain of one-dof joints, whose gains could be propagated.")
    space = state_space(model, q, np.zeros(model.nv))
    _refuse_unequal(model, space)
    phi, H, tip = space.transition[-1], space.design[-1], space.state_covariance[0]
    L, N = _factors(space)
    across = tip @ H.T
    D = H @ across + space.noise[0]
    gains, variances = [across / D], [D]
    for _ in range(len(space.noise) - 1):
        across, D, gain, L, N = _step(across, D, L, N, H @ L)
        L = phi @ L
        gains.append(gain)
        variances.append(D)
    return PropagatedGains(np.stack(gains)[::-1, :, 0], np.stack(variances)[::-1, 0, 0], N.shape[0])


def _step(across: Any, D: Any, L: Any, N: Any, seen: Any) -> tuple[Any, Any, Any, Any, Any]:
    """One link inward, floats or traced numbers: PH*, D, G, (I − GH)L, yet to be moved, and N; `seen` is HL."""
    weighted = np.matmul(N, np.swapaxes(seen, -1, -2))
    wider = D + np.matmul(seen, weighted)
    across = across + np.matmul(L, weighted)
    gain = across / wider
    N = mirror_upper(N + np.matmul(weighted / D, np.swapaxes(weighted, -1, -2)))
    return across, wider, gain, L - np.matmul(gain, seen), N


def _factors(space: StateSpace) -> tuple[np.ndarray, np.ndarray]:
    """L (6, r) and N (r, r) of P(2) − P(1) = φP⁺(1)φ* + M − P(1), from its eigenvectors."""
    phi, H, tip = space.transition[-1], space.design[-1], space.state_covariance[0]
    across = tip @ H.T
    updated = tip - across @ across.T / (H @ across + space.noise[0])
    values, vectors = np.linalg.eigh(phi @ updated @ phi.T + space.state_covariance[-1] - tip)
    kept = np.abs(values) > NEGLIGIBLE * np.abs(values).max()
    return vectors[:, kept], np.diag(values[kept])


def _refuse_unequal(model: Model, space: StateSpace) -> None:
    """Name the link at which the chain stops repeating itself."""
    n = len(space.noise)
    if n < 2:
        raise ModelError(f"{model.name} has one link; there is nothing to propagate a gain along.")
    repeating = {
        "place on the link inboard of it, or the angle of its joint": space.transition[1:],
        "joint axis": space.design,
        "inertia": space.state_covariance[1:],
        "armature": space.noise,
    }
    for what, blocks in repeating.items():
        size = np.abs(blocks[-1]).max()
        differs = np.abs(blocks - blocks[-1]).reshape(len(blocks), -1).max(axis=1) > SAME * size
        if np.any(differs):
            # transitions lead from a link's outboard neighbour, so entry i there is of link i from the tip
            link = n - 1 - int(np.flatnonzero(differs)[0]) - (what == "inertia")
            raise ModelError(
                f"{model.bodies[link].name} of {model.name} differs in its {what}; gains are propagated along equal "
                "links at equal angles only. Use estimation.forward_dynamics(…, keep=['gains'])."
            )


# What a link costs


def operations_per_link(rank: int, armature: bool = False) -> dict[str, int]:
    """Counted on traced numbers, for a joint that turns about its link's z axis, φ a rotation and an offset: what P, D
    and G take by the Riccati equation (R87 eqs. 37-43), and by factors of a rank. Without armature HP⁺ = 0 and
    H(I − GH)L = 0 are known, and not counted."""
    tape = Tape()
    rotation, offset, noise = _fresh(tape, 3, 3), _fresh(tape, 3), _fresh(tape, 1)[0]
    P, M = mirror_upper(_fresh(tape, 6, 6)), mirror_upper(_fresh(tape, 6, 6))
    axis = 2
    gain = P[:, [axis]] / (P[axis, axis] + noise if armature else P[axis, axis])
    updated = mirror_upper(P - np.matmul(gain, P[[axis]]))
    L, N = _fresh(tape, 6, rank), mirror_upper(_fresh(tape, rank, rank))
    across, D, own, left, N = _step(_fresh(tape, 6, 1), _fresh(tape, 1, 1), L, N, L[[axis]])
    if not armature:
        updated[axis, :] = updated[:, axis] = left[axis] = 0.0
        gain, own, across = (np.delete(x, axis, axis=0) for x in (gain, own, across))  # G there is 1, PH* is D
    riccati = [gain, mirror_upper(congruent_inward(rotation, offset, updated) + M)]
    factors = [across, D, own, inward(rotation, offset, left), N]
    counted = {"riccati": riccati, "chandrasekhar": factors}
    return {name: finish(tape, [x for y in blocks for x in y.flat]).operations for name, blocks in counted.items()}


def _fresh(tape: Tape, *shape: int) -> Any:
    return tape.inputs((int(np.prod(shape)),)).reshape(shape)
