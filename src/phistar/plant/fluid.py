"""A fluid around bodies, and a support against their weight, as MuJoCo models them.

Each rigid part feels the fluid as the box that has its mass and principal moments: Stokes drag of a ball of its mean
size by the viscosity, and pressure on its faces, quadratic in speed, by the density (MuJoCo's "inertia model").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from phistar.plant.body_motions import BodyMotions
from phistar.spatial import Pose


@dataclass(frozen=True)
class FluidBox:
    """A box that moves with body `body` of a model, its middle and axes at `placement`; `sides` (3,) in m."""

    body: int
    placement: Pose
    sides: tuple[float, float, float]

    @staticmethod
    def of_inertia(body: int, placement: Pose, mass: float, moments: np.ndarray) -> FluidBox:
        """The box of a mass and its principal moments: a² = 6(I_b + I_c − I_a)/m."""
        squares = np.maximum(moments.sum() - 2.0 * np.asarray(moments), 0.0) * 6.0 / mass
        return FluidBox(body, placement, tuple(np.sqrt(squares).tolist()))


@final
class Fluid:
    """A fluid that fills the world.

    Parameters
    ----------
    boxes : sequence of FluidBox
        What feels it.
    density, viscosity : float
        In kg/m³ and Pa s; air has 1.2 and 2e-5, water 1000 and 1e-3.
    wind : (3,)
        Its velocity, world axes, m/s.
    """

    def __init__(
        self, boxes: list[FluidBox], density: float, viscosity: float, wind: tuple[float, ...] = (0.0, 0.0, 0.0)
    ) -> None:
        self.density, self.viscosity, self.wind = density, viscosity, np.asarray(wind, dtype=float)
        self.bodies = np.array([box.body for box in boxes], dtype=int)
        self.axes = np.array([np.asarray(box.placement.rotation) for box in boxes]).reshape(-1, 3, 3)
        self.middles = np.array([np.asarray(box.placement.translation) for box in boxes]).reshape(-1, 3)
        self.sides = np.array([box.sides for box in boxes]).reshape(-1, 3)

    def wrenches(self, bodies: BodyMotions) -> np.ndarray:
        """(p, 6): drag on each body, at its origin and in its axes."""
        twists = bodies.twists[self.bodies]
        spin, at_origin = twists[:, :3], twists[:, 3:]
        turns = bodies.poses[self.bodies, :3, :3]
        moving = at_origin + np.cross(spin, self.middles) - np.einsum("kji,j->ki", turns, self.wind)
        own_spin, own_velocity = (np.einsum("kji,kj->ki", self.axes, x) for x in (spin, moving))
        moment, force = self._drag(own_spin, own_velocity)
        moment, force = (np.einsum("kij,kj->ki", self.axes, x) for x in (moment, force))
        total = np.zeros((len(bodies.poses), 6))
        np.add.at(total, self.bodies, np.hstack([moment + np.cross(self.middles, force), force]))
        return total

    def _drag(self, spin: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Moment and force at the middle of each box, in its axes."""
        size = self.sides.mean(axis=1, keepdims=True)
        viscous = np.pi * self.viscosity * size
        one, other = np.roll(self.sides, -1, axis=1), np.roll(self.sides, -2, axis=1)
        face, lever = one * other, self.sides * (one**4 + other**4) / 64.0
        moment = -viscous * size**2 * spin - self.density * lever * np.abs(spin) * spin
        force = -3.0 * viscous * velocity - 0.5 * self.density * face * np.abs(velocity) * velocity
        return moment, force


@final
class WeightSupport:
    """Forces that hold up a share of the weight of rigid parts, at their mass centres.

    Parameters
    ----------
    parts : sequence of (body, centre, mass)
        A body's number, a mass centre in its frame (m), and the mass that is held up (kg).
    gravity : (3,)
        In m/s².
    """

    def __init__(self, parts: list[tuple[int, np.ndarray, float]], gravity: tuple[float, ...]) -> None:
        self.bodies = np.array([body for body, _, _ in parts], dtype=int)
        self.centers = np.array([center for _, center, _ in parts]).reshape(-1, 3)
        self.weights = -np.array([mass for _, _, mass in parts])[:, None] * np.asarray(gravity)

    def wrenches(self, bodies: BodyMotions) -> np.ndarray:
        """(p, 6): the support of each body, at its origin and in its axes."""
        force = np.einsum("kji,kj->ki", bodies.poses[self.bodies, :3, :3], self.weights)
        total = np.zeros((len(bodies.poses), 6))
        np.add.at(total, self.bodies, np.hstack([np.cross(self.centers, force), force]))
        return total
