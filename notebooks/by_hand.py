"""The explicit matrices of a serial chain with revolute joints, in NumPy alone: what the notebooks compare with.

Nothing here calls the library; a model is read for its placements, axes and masses. As in the papers, links are counted
from the tip, and spatial vectors have the angular part first; all axes are the world's, each link's point is its joint.
"""

from types import SimpleNamespace

import numpy as np


def cross(x):
    """The matrix of x × (·), which the papers write with a tilde."""
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def turn(axis, angle):
    """The rotation by an angle about an axis, by Rodrigues' formula."""
    K = cross(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def shift(lever):
    """φ: a force at the end of a lever as it is felt at its beginning."""
    return np.block([[np.eye(3), cross(lever)], [np.zeros((3, 3)), np.eye(3)]])


def chain_matrices(model, q, v=None, tip="tip"):
    """H, φ, ℰφ, M, B and E of RJK91 and KJR92 with the biases a, b and a(0) of KJR92 (47), (48)."""
    n, v = len(q), np.zeros(len(q)) if v is None else v
    R, point, omega, links = np.eye(3), np.zeros(3), np.zeros(3), []
    for body, angle, rate in zip(model.bodies, q, v):  # base to tip, as the model lists its bodies
        lever = R @ body.placement.translation
        outer = np.cross(omega, np.cross(omega, lever))
        point, R = point + lever, R @ body.placement.rotation
        axis, carried = R @ body.joint.kind.axis, omega
        R, omega = R @ turn(body.joint.kind.axis, angle), omega + axis * rate
        m, p = body.inertia.mass, R @ body.inertia.com
        inertia = R @ body.inertia.tensor @ R.T - m * cross(p) @ cross(p)  # about the joint
        M = np.block([[inertia, m * cross(p)], [-m * cross(p), m * np.eye(3)]])
        a = np.concatenate([np.cross(carried, omega), outer])
        b = np.concatenate([np.cross(omega, inertia @ omega), m * np.cross(omega, np.cross(omega, p))])
        links.append(SimpleNamespace(point=point, axis=axis, M=M, a=a, b=b, R=R))
    links, at = links[::-1], [slice(6 * k, 6 * k + 6) for k in range(n)]  # from here on the paper's 1 … n
    H, M, E_phi, phi = np.zeros((n, 6 * n)), np.zeros((6 * n, 6 * n)), np.zeros((6 * n, 6 * n)), np.eye(6 * n)
    for k, link in enumerate(links):
        H[k, at[k]] = np.concatenate([link.axis, np.zeros(3)])
        M[at[k], at[k]] = link.M
        for j in range(k):
            phi[at[k], at[j]] = shift(links[j].point - link.point)
        if k > 0:
            E_phi[at[k], at[k - 1]] = phi[at[k], at[k - 1]]
    B, E, lever = np.zeros((6 * n, 6)), np.zeros((6, 6 * n)), R @ model.frames[tip].placement.translation
    B[at[0]], E[:, at[-1]] = shift(lever), shift(links[-1].point)
    a0 = np.concatenate([np.zeros(3), np.cross(omega, np.cross(omega, lever))])
    a, b = (np.concatenate([getattr(link, name) for link in links]) for name in "ab")
    axes = np.zeros((6 * n, 6 * n))
    for k, link in enumerate(links):
        axes[at[k], at[k]] = np.kron(np.eye(2), link.R)
    return SimpleNamespace(H=H, phi=phi, E_phi=E_phi, M=M, B=B, E=E, a=a, b=b, a0=a0, axes=axes, at=at, n=n)


def riccati(by):
    """P, D, G, K, ℰψ and ψ, link by link from the tip (KJR92 eq. 37)."""
    n6 = 6 * by.n
    P, D, G = np.zeros((n6, n6)), np.zeros(by.n), np.zeros((n6, by.n))
    E_psi = np.zeros((n6, n6))
    for k, here in enumerate(by.at):
        P[here, here] = by.M[here, here]
        if k > 0:
            step = E_psi[here, by.at[k - 1]]
            P[here, here] += step @ P[by.at[k - 1], by.at[k - 1]] @ step.T
        h = by.H[k, here]
        D[k] = h @ P[here, here] @ h
        G[here, k] = P[here, here] @ h / D[k]
        if k + 1 < by.n:
            out = by.at[k + 1]
            E_psi[out, here] = by.E_phi[out, here] @ (np.eye(6) - np.outer(G[here, k], h))
    return SimpleNamespace(P=P, D=np.diag(D), G=G, K=by.E_phi @ G, E_psi=E_psi, psi=np.linalg.inv(np.eye(n6) - E_psi))


def tip_first(x, rows=6, columns=6):
    """A matrix (or a vector) of the library, whose links stand base first, in the papers' order."""
    x = np.asarray(x)
    if x.ndim == 1:
        return x.reshape(-1, rows)[::-1].reshape(-1)
    blocks = x.reshape(x.shape[0] // rows, rows, x.shape[1] // columns, columns)
    return blocks[::-1, :, ::-1].reshape(x.shape)
