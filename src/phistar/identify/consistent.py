"""Physically consistent inertias: every body's pseudo-inertia is LL*, with the logarithms of L's diagonal as unknowns.

    Π = [[Σ, m c], [m c*, m]],  Σ = ½ tr(J) 1 − J                      (Wensing, Kim and Slotine 2018)

is positive exactly when a body of positive density has the parameters; Π = LL* makes it so (Rucker and Wensing 2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LOWER = np.tril_indices(4)
DIAGONAL = LOWER[0] == LOWER[1]
ITERATIONS = 200
ENOUGH = 1e-11  # of the cost: a step that gains less ends the search
FAR = 1e3  # SI units: how far joints' parameters may be from what the model says where a log does not show them
LIGHT = 1e-6  # of a robot's own scale: what stands for a body without mass where one is given

_PLACES = ((3, 3), (0, 3), (1, 3), (2, 3))


def pseudo_inertia(parameters: np.ndarray) -> np.ndarray:
    """Π (…, 4, 4) of ten parameters (…, 10): mass, mass·com, Ixx Ixy Iyy Ixz Iyz Izz about the origin."""
    m, moment, (xx, xy, yy, xz, yz, zz) = (
        parameters[..., 0],
        parameters[..., 1:4],
        np.moveaxis(parameters[..., 4:], -1, 0),
    )
    made = np.zeros((*parameters.shape[:-1], 4, 4))
    half = 0.5 * (xx + yy + zz)
    for i, value in enumerate((half - xx, half - yy, half - zz)):
        made[..., i, i] = value
    for i, j, value in ((0, 1, -xy), (0, 2, -xz), (1, 2, -yz)):
        made[..., i, j] = made[..., j, i] = value
    made[..., :3, 3] = made[..., 3, :3] = moment
    made[..., 3, 3] = m
    return made


def _from_pseudo(pseudo: np.ndarray) -> np.ndarray:
    """The ten parameters of Π, which they are linear in."""
    trace = pseudo[..., 0, 0] + pseudo[..., 1, 1] + pseudo[..., 2, 2]
    first = [pseudo[..., i, j] for i, j in _PLACES]
    xx, yy, zz = (trace - pseudo[..., i, i] for i in range(3))
    others = [xx, -pseudo[..., 0, 1], yy, -pseudo[..., 0, 2], -pseudo[..., 1, 2], zz]
    return np.stack([*first, *others], axis=-1)


def unknowns(parameters: np.ndarray) -> np.ndarray:
    """θ (b, 10) of physical parameters (b, 10): L's lower triangle row by row, its diagonal as logarithms."""
    pseudo = pseudo_inertia(parameters)
    values, vectors = np.linalg.eigh(pseudo)
    floor = LIGHT * max(float(values.max()), 1e-9)
    pseudo = np.matmul(vectors * np.maximum(values, floor)[..., None, :], np.swapaxes(vectors, -1, -2))
    found = np.linalg.cholesky(pseudo)[:, LOWER[0], LOWER[1]]
    found[:, DIAGONAL] = np.log(found[:, DIAGONAL])
    return found


def physical(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parameters (b, 10) of θ (b, 10), and how they change with it, (b, 10, 10)."""
    entries = np.where(DIAGONAL, np.exp(np.where(DIAGONAL, theta, 0.0)), theta)
    L = np.zeros((len(theta), 4, 4))
    L[:, LOWER[0], LOWER[1]] = entries
    change = np.zeros((len(theta), 10, 4, 4))
    for number, (i, j) in enumerate(zip(*LOWER, strict=True)):
        slope = entries[:, number] if i == j else np.ones(len(theta))
        change[:, number, i, :] = slope[:, None] * L[:, :, j]
    change = change + np.swapaxes(change, -1, -2)  # dL L* + L dL*
    return _from_pseudo(np.matmul(L, np.swapaxes(L, -1, -2))), np.swapaxes(_from_pseudo(change), -1, -2)


@dataclass(frozen=True, eq=False)
class Compressed:
    """π*Gπ − 2g*π, all that least squares need to know of a log, weighted; and a prior on θ."""

    gram: np.ndarray
    right: np.ndarray
    bodies: int
    bounded: np.ndarray  # parameters (p,) that cannot be negative
    prior: np.ndarray  # (p,)
    spread: float

    def fit(self) -> np.ndarray:
        """π (p,) with all bodies physical: Levenberg and Marquardt's method on θ, parameters of joints kept from 0."""
        count = 10 * self.bodies
        center = unknowns(self.prior[:count].reshape(-1, 10))
        scale = np.where(DIAGONAL, 1.0, np.exp(center[:, DIAGONAL].max(axis=-1))[:, None]).reshape(-1) * self.spread
        x = np.concatenate([center.reshape(-1), np.maximum(self.prior[count:], 0.0) * self.bounded[count:]])
        weight, damping = np.concatenate([1.0 / scale**2, np.full(len(x) - count, 1.0 / FAR**2)]), 1e-3
        first = x.copy()
        value, slope, curve = self._quadratic(x, first, weight)
        for _ in range(ITERATIONS):
            free = ~(self.bounded & (x <= 0.0) & (slope > 0.0))
            own = curve[np.ix_(free, free)]
            step = np.zeros(len(x))
            step[free] = -np.linalg.solve(own + damping * np.diag(np.diag(own)), slope[free])
            trial = np.where(self.bounded, np.maximum(x + step, 0.0), x + step)
            trial[:count] = x[:count] + np.clip(step[:count], -2.0 * scale, 2.0 * scale)  # e⁴ in mass at most
            made = self._quadratic(trial, first, weight)
            if made[0] < value:
                gain, x = value - made[0], trial
                value, slope, curve = made
                damping = max(0.2 * damping, 1e-12)
                if gain <= ENOUGH * (1.0 + abs(value)):
                    break
            else:
                damping *= 10.0
                if damping > 1e12:
                    break
        return self._parameters(x)[0]

    def _parameters(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count = 10 * self.bodies
        inertial, change = physical(x[:count].reshape(-1, 10))
        return np.concatenate([inertial.reshape(-1), x[count:]]), change

    def _quadratic(self, x: np.ndarray, first: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The cost, its gradient and Gauss-Newton's Hessian by x."""
        pi, change = self._parameters(x)
        rest = self.gram @ pi - self.right
        away = x - first
        jacobian = np.eye(len(x))
        for k, block in enumerate(change):
            own = slice(10 * k, 10 * k + 10)
            jacobian[own, own] = block
        slope, curve = jacobian.T @ rest, jacobian.T @ self.gram @ jacobian
        slope += weight * away
        curve[np.arange(len(x)), np.arange(len(x))] += weight
        return float(0.5 * pi @ (rest - self.right) + 0.5 * np.sum(weight * away**2)), slope, curve
