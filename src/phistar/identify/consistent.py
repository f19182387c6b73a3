"""Physically consistent inertias: every body's pseudo-inertia is positive, and as near to what is believed as can be.

    Π = [[Σ, m c], [m c*, m]],  Σ = ½ tr(J) 1 − J                      (Wensing, Kim and Slotine 2018)

is positive exactly when a body of positive density has the parameters. Least squares with the entropic divergence from
a believed inertia, tr(Π₀⁻¹Π) − log det(Π₀⁻¹Π) − 4, is convex (Lee, Wensing and Park 2020) and keeps Π positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.errors import InfeasibleError

ITERATIONS = 200
ENOUGH = 1e-10  # of the divergence's weight: Newton's decrement that ends the search
LOOSE = 0.1  # and one that ends it under a greater weight,
FASTER = 0.01  # which is lessened so much at a time
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


_PARTS = pseudo_inertia(np.eye(10)).reshape(10, 16)  # Π is linear: how it changes with each parameter


def _from_pseudo(pseudo: np.ndarray) -> np.ndarray:
    """The ten parameters of Π, which they are linear in."""
    trace = pseudo[..., 0, 0] + pseudo[..., 1, 1] + pseudo[..., 2, 2]
    first = [pseudo[..., i, j] for i, j in _PLACES]
    xx, yy, zz = (trace - pseudo[..., i, i] for i in range(3))
    others = [xx, -pseudo[..., 0, 1], yy, -pseudo[..., 0, 2], -pseudo[..., 1, 2], zz]
    return np.stack([*first, *others], axis=-1)


def nearest_physical(parameters: np.ndarray) -> np.ndarray:
    """Parameters (b, 10) with positive Π: eigenvalues that are not are raised to little."""
    values, vectors = np.linalg.eigh(pseudo_inertia(parameters))
    floor = LIGHT * max(float(values.max()), 1e-9)
    return _from_pseudo(np.matmul(vectors * np.maximum(values, floor)[..., None, :], np.swapaxes(vectors, -1, -2)))


@dataclass(frozen=True, eq=False)
class Compressed:
    """π*Gπ − 2g*π, all that least squares need to know of a log, weighted; and what is believed of π beforehand."""

    gram: np.ndarray
    right: np.ndarray
    bodies: int
    bounded: np.ndarray  # parameters (p,) that cannot be negative
    prior: np.ndarray  # (p,)
    spread: float  # of a body's size, as a standard deviation of logarithms

    @cached_property
    def _first(self) -> np.ndarray:
        """π (p,) to begin with."""
        count = 10 * self.bodies
        of_joints = np.where(self.bounded, np.maximum(self.prior, 0.0), self.prior)[count:]
        return np.concatenate([nearest_physical(self.prior[:count].reshape(-1, 10)).reshape(-1), of_joints])

    @cached_property
    def _pull(self) -> np.ndarray:
        """The slope of Σ tr(Π₀⁻¹Π) by the bodies' parameters, (10 b,)."""
        believed = pseudo_inertia(self._first[: 10 * self.bodies].reshape(-1, 10))
        return (np.linalg.inv(believed).reshape(-1, 16) @ _PARTS.T).reshape(-1)

    def fit(self) -> np.ndarray:
        """π (p,) with all bodies physical: Newton's method, while the divergence's weight λ falls to its own.

        A body alike but larger by a factor e^s has the divergence 4 (e^s − s − 1), near 0 2s²: λ = 1/(2 spread)².
        """
        x, least = self._first.copy(), 0.25 / self.spread**2
        weight = max(least, self._strength(x))
        for _ in range(ITERATIONS):
            try:
                step, decrement, roots = self._newton_step(x, weight)
            except np.linalg.LinAlgError:
                raise InfeasibleError(
                    "The log asks for bodies so far from those of the model that digits run out: check the units of "
                    "its forces, or start from a model whose masses are nearer."
                ) from None
            if decrement > (ENOUGH if weight == least else LOOSE) * weight:
                x = self._along(x, step, roots, weight)
            elif weight == least:
                break
            else:
                weight = max(least, FASTER * weight)
        return x

    def _strength(self, x: np.ndarray) -> float:
        """The weight under which the log moves bodies by about their own size."""
        count = 10 * self.bodies
        slope = (self.gram @ x - self.right)[:count].reshape(-1, 10)
        curve = self._curvature(np.linalg.inv(pseudo_inertia(x[:count].reshape(-1, 10))))
        return float(np.sqrt(np.sum(slope * np.linalg.solve(curve, slope[..., None])[..., 0])))

    @staticmethod
    def _curvature(inverse: np.ndarray) -> np.ndarray:
        """The second derivative of −log det Π by a body's parameters, tr(Π⁻¹ Eᵢ Π⁻¹ Eⱼ), (b, 10, 10)."""
        turned = np.matmul(inverse[:, None], _PARTS.reshape(10, 4, 4))
        flat, across = (m.reshape(*m.shape[:2], 16) for m in (turned, np.swapaxes(turned, -1, -2)))
        return np.matmul(flat, np.swapaxes(across, -1, -2))

    def _newton_step(self, x: np.ndarray, weight: float) -> tuple[np.ndarray, float, np.ndarray]:
        """Newton's step (p,), its decrement, and the eigenvalues of Π⁻¹ΔΠ of all bodies."""
        count = 10 * self.bodies
        pseudo = pseudo_inertia(x[:count].reshape(-1, 10))
        inverse = np.linalg.inv(pseudo)
        slope, curve = self.gram @ x - self.right, self.gram.copy()
        slope[:count] += weight * (self._pull - (inverse.reshape(-1, 16) @ _PARTS.T).reshape(-1))
        slope[count:] += (x - self._first)[count:] / FAR**2
        for k, block in enumerate(self._curvature(inverse)):
            own = slice(10 * k, 10 * k + 10)
            curve[own, own] += weight * block
        others = np.arange(count, len(x))
        curve[others, others] += 1.0 / FAR**2
        free = ~(self.bounded & (x <= 0.0) & (slope > 0.0))
        scale = 1.0 / np.sqrt(np.diag(curve)[free])
        step = np.zeros(len(x))
        step[free] = -scale * np.linalg.solve(curve[np.ix_(free, free)] * scale[:, None] * scale, scale * slope[free])
        lower = np.linalg.inv(np.linalg.cholesky(pseudo))
        change = pseudo_inertia(step[:count].reshape(-1, 10))
        roots = np.linalg.eigvalsh(np.matmul(np.matmul(lower, change), np.swapaxes(lower, -1, -2)))
        return step, float(-slope @ step), roots.reshape(-1)

    def _along(self, x: np.ndarray, step: np.ndarray, roots: np.ndarray, weight: float) -> np.ndarray:
        """Line search: the part of a step, at most all of it, along which the cost falls and no bound is passed."""
        count = 10 * self.bodies
        quadratic = self.gram @ step
        quadratic[count:] += step[count:] / FAR**2
        begun = float(step @ (self.gram @ x - self.right)) + float(step[count:] @ (x - self._first)[count:]) / FAR**2
        begun += weight * float(self._pull @ step[:count])

        def slope(alpha: float) -> float:
            return begun + alpha * float(step @ quadratic) - weight * float(np.sum(roots / (1.0 + alpha * roots)))

        meets = np.where(self.bounded & (step < 0.0) & (x > 0.0), x / np.where(step < 0.0, step, -1.0), -np.inf)
        first, alpha = slope(0.0), min(1.0, float(-meets.max()), 0.95 / max(float(-roots.min()), 1e-300))
        while (last := slope(alpha)) > -0.1 * first:
            alpha *= min(max(first / (first - last), 0.1), 0.9)
        ends = x + alpha * step
        return np.where(self.bounded & (meets == -alpha), 0.0, np.where(self.bounded, np.maximum(ends, 0.0), ends))
