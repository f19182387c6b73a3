"""R87's equations as printed (with the errata), in plain NumPy on a serial chain of one-dof joints, tip first.

A second way, on purpose: nothing here goes through the algebra. Gravity and n follow the inertial convention of KJR92.
"""

import numpy as np

import phistar as ps
from phistar.backends.dense.definitions import Dense
from phistar.backends.links.values import links_at
from phistar.operators.symbols import Symbols
from phistar.spatial import force_transform


class Chain:
    """k = 1 … n counts from the tip; lists have a place 0 so that indices are the paper's."""

    def __init__(self, model, q, v):
        links, n = links_at(model, np.asarray(q)), len(model.bodies)
        dense = Dense(links, {"v": v, "a_g": np.concatenate([np.zeros(3), -model.gravity])}, {})
        s = Symbols(armature=False)
        weight = dense(s.M @ s.phi.T @ s.E.T @ s.a_g)
        b, a = dense(s.b) + weight, dense(s.a)
        body = [None, *range(n - 1, -1, -1)]
        self.n = n
        self.H = [None] + [links.subspace[k].T for k in body[1:]]
        self.M = [None] + [links.mass(k) for k in body[1:]]
        self.b = [None] + [b[6 * k : 6 * k + 6] for k in body[1:]]
        self.bias = [None] + [a[6 * k : 6 * k + 6] for k in body[1:]]
        self.A = [None] + [model.armature[k] for k in body[1:]]
        moves = [force_transform(links.rotation[k], links.offset[k]) for k in body[1:]]
        self.phi = [None, np.eye(6), *moves[:-1]]  # phi[k] = φ(k, k−1)


def filter_and_smoother(chain, tau):
    """(35)-(47); tau and what is returned are tip first, with a place 0."""
    n, H = chain.n, chain.H
    z_plus, P_plus = [np.zeros((6, 1))], [np.zeros((6, 6))]  # (35)
    z, P, D, G, e_minus, e_plus = ([None] for _ in range(6))
    for k in range(1, n + 1):
        phi = chain.phi[k]
        z.append(phi @ z_plus[k - 1] + chain.b[k])  # (36)
        P.append(phi @ P_plus[k - 1] @ phi.T + chain.M[k])  # (37)
        D.append((H[k] @ P[k] @ H[k].T).item() + chain.A[k])  # (38)
        G.append(P[k] @ H[k].T / D[k])  # (39)
        e_minus.append(tau[k] - (H[k] @ z[k]).item())  # (40)
        P_plus.append(P[k] - P[k] @ H[k].T @ H[k] @ P[k] / D[k])  # (43)
        z_plus.append(z[k] + G[k] * e_minus[k] + P_plus[k] @ chain.bias[k])  # (41)
        e_plus.append(e_minus[k] / D[k])  # (42)
    a, costate = [None] * (n + 1), [None] * (n + 1)
    arriving = np.zeros((6, 1))  # (44)
    for k in range(n, 0, -1):
        a[k] = e_plus[k] - (G[k].T @ (arriving + chain.bias[k])).item()  # (46)
        costate[k] = arriving + chain.bias[k] + H[k].T * a[k]  # (47)
        arriving = chain.phi[k].T @ costate[k]  # (45)
    return {
        "accelerations": a,
        "innovations": e_minus,
        "residuals": e_plus,
        "predicted_states": z,
        "costates": costate,
        "gains": G,
        "inertias": P,
        "updated_inertias": P_plus,
        "joint_inertias": D,
    }


def costate_covariances(chain, G, D):
    """(81), (82): Δ⁺ and Δ⁻, base to tip."""
    plus, minus = [None] * (chain.n + 1), [None] * (chain.n + 1)
    plus[chain.n] = np.zeros((6, 6))
    for k in range(chain.n, 0, -1):
        kept = np.eye(6) - G[k] @ chain.H[k]
        minus[k] = kept.T @ plus[k] @ kept + chain.H[k].T @ chain.H[k] / D[k]
        plus[k - 1] = chain.phi[k].T @ minus[k] @ chain.phi[k]
    return plus, minus


def inverse_elements(chain, G, D, plus):
    """(83), with the transposes of docs/papers/errata.md: m⁻¹(k, i), k ≤ i, tip first."""
    result = np.zeros((chain.n, chain.n))
    for i in range(1, chain.n + 1):
        own = 1 / D[i] + (G[i].T @ plus[i] @ G[i]).item()
        result[i - 1, i - 1] = own
        costate = plus[i] @ G[i] - own * chain.H[i].T
        for k in range(i - 1, 0, -1):
            costate = chain.phi[k + 1].T @ costate
            result[k - 1, i - 1] = result[i - 1, k - 1] = (G[k].T @ costate).item()
            costate = (np.eye(6) - G[k] @ chain.H[k]).T @ costate
    return result


def transition(chain, G, k, i):
    """ψ(k⁻, i⁺), (72)."""
    result = np.eye(6)
    for j in range(i + 1, k):
        result = (np.eye(6) - G[j] @ chain.H[j]) @ chain.phi[j] @ result
    return chain.phi[k] @ result


def acceleration_parts(chain, found, tau):
    """a¹, a², a³ by (70)-(72)."""
    G, D, n = found["gains"], found["joint_inertias"], chain.n
    plus, minus = costate_covariances(chain, G, D)
    parts = [[None] * (n + 1) for _ in range(3)]
    kept = [None] + [np.eye(6) - G[k] @ chain.H[k] for k in range(1, n + 1)]
    P_plus = found["updated_inertias"]
    for k in range(1, n + 1):
        c = 1 / D[k] + G[k].T @ plus[k] @ G[k]  # (71)
        d = G[k].T @ plus[k] - c * chain.H[k]
        before = {i: transition(chain, G, k, i) for i in range(1, k)}
        after = {i: transition(chain, G, i, k) for i in range(k + 1, n + 1)}
        crossed = {i: kept[i] @ psi for i, psi in after.items()}
        rows = {i: 1 / D[i] + G[i].T @ plus[i] @ G[i] for i in after}
        ds = {i: G[i].T @ plus[i] - rows[i] * chain.H[i] for i in after}
        one = c * tau[k] + d @ sum((psi @ G[i] * tau[i] for i, psi in before.items()), np.zeros((6, 1)))
        one = one + G[k].T @ sum((psi.T @ ds[i].T * tau[i] for i, psi in after.items()), np.zeros((6, 1)))
        b, bias, still = chain.b, chain.bias, np.zeros((6, 1))
        two = d @ b[k] + d @ sum((psi @ kept[i] @ b[i] for i, psi in before.items()), still)
        two = two + G[k].T @ sum((psi.T @ minus[i] @ b[i] for i, psi in after.items()), still)
        three = G[k].T @ (plus[k] @ P_plus[k] - np.eye(6)) @ bias[k]
        three = three + d @ sum((psi @ P_plus[i] @ bias[i] for i, psi in before.items()), still)
        inner = [crossed[i].T @ (plus[i] @ P_plus[i] - np.eye(6)) @ bias[i] for i in after]
        three = three + G[k].T @ sum(inner, still)
        for part, value in zip(parts, (one, two, three), strict=True):
            part[k] = value.item()
    return parts


def articulated_by_parts(chain):
    """(84): P⁻ as ρ, C and J, each a 3×3 matrix, P = [[J, Cρ], [ρC*, ρ]]; rotary joints without armature, all in one
    frame's axes per link, so φ's rotation is applied to the parts first."""
    rho, first, J = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    result = [None]
    for k in range(1, chain.n + 1):
        turn = chain.phi[k][:3, :3]
        lever = chain.phi[k][:3, 3:] @ turn.T  # L̃(k)
        rho, first, J = (turn @ x @ turn.T for x in (rho, first, J))
        J = J + lever @ first.T + first @ lever.T + lever @ rho @ lever.T  # (C + L̃)ρ(C + L̃)* − CρC*
        first = first + lever @ rho
        rho, first, J = rho + chain.M[k][3:, 3:], first + chain.M[k][:3, 3:], J + chain.M[k][:3, :3]
        result.append(np.block([[J, first], [first.T, rho]]))
        h = chain.H[k][:, :3].T
        D = (h.T @ J @ h).item()
        rho = rho - first.T @ h @ h.T @ first / D
        first, J = (np.eye(3) - J @ h @ h.T / D) @ first, (np.eye(3) - J @ h @ h.T / D) @ J
    return result


def arm(n, seed=0):
    """A chain of n links at a random state: model, q, v, tau."""
    model, rng = ps.chain(n), np.random.default_rng(seed)
    return model, *rng.uniform(-1.5, 1.5, size=(3, n))


def tip_first(values):
    """Base-first rows of the library as the paper's lists."""
    return [None, *np.asarray(values)[::-1]]


def base_first(values):
    """The paper's lists as the library's rows; columns of one are dropped."""
    rows = [np.asarray(x, dtype=float) for x in values[1:]][::-1]
    return np.stack(rows)
