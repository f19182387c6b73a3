"""Gravity of a planet on the bodies of a spacecraft, each for itself."""

from __future__ import annotations

from typing import final

import numpy as np

from phistar.array_types import Array
from phistar.plant.body_motions import BodyMotions
from phistar.space.oblate_path import OblatePath
from phistar.space.orbits import Orbit


@final
class OrbitalGravity:
    """Residual gravity of a planet in a frame that falls along an orbit: a field for `plant.add_field`.

    The plant's world has inertial axes, and its origin goes along `orbit`; its own gravity must be zero. Body k (or
    node k of one that bends), its mass centre at x(k), feels m(g(r + x) − g(r)), which the small difference of two
    large numbers would lose: it is taken from Encke's series, and of J₂ from the gradient's own difference. About its
    mass centre it feels the moment 3μ/r⁵ r × Ir of the gravity gradient.

    Parameters
    ----------
    orbit : Orbit
        Where the world's origin is at time 0 and goes from there on, as two bodies do.
    oblate : bool
        Whether the planet's J₂ acts too, on the bodies as on the origin, whose way it bends.

    Examples
    --------
    >>> plant = ps.Plant(gravity=(0, 0, 0))
    >>> plant.add(ps.load("freeflyer"), "chaser")
    >>> plant.add_field(ps.space.OrbitalGravity(ps.space.Orbit.circular(altitude=400e3)))
    """

    def __init__(self, orbit: Orbit, oblate: bool = False) -> None:
        self.orbit, self.oblate = orbit, oblate
        self.path = OblatePath(orbit) if oblate else orbit

    def wrenches(self, bodies: BodyMotions) -> Array:
        """(p, 6): at each part's origin and in its axes; of a body that bends node by node."""
        _, _, masses, centers, tensors = bodies.parts
        turns, origins = bodies.poses[:, :3, :3], bodies.poses[:, :3, 3]
        origin, _ = self.path.at(bodies.time)
        offsets = origins + np.einsum("kij,kj->ki", turns, centers)
        force = masses[:, None] * self._relative_fall(origin, offsets)
        places = origin + offsets
        outward = np.einsum("kji,kj->ki", turns, places)
        distances = np.linalg.norm(places, axis=1)[:, None]
        pull = np.einsum("kij,kj->ki", tensors, outward)
        gradient = 3.0 * self.orbit.planet.mu / distances**5 * np.cross(outward, pull)
        own = np.einsum("kji,kj->ki", turns, force)
        return np.hstack([gradient + np.cross(centers, own), own])

    def _relative_fall(self, origin: Array, offsets: Array) -> Array:
        """g(r + x) − g(r), without the loss of digits (Battin 1987, §8.4): (1 + q)^{3/2} − 1 from q itself."""
        planet, square = self.orbit.planet, origin @ origin
        q = np.einsum("ki,ki->k", offsets, offsets + 2.0 * origin) / square
        grown = (1.0 + q) ** 1.5
        lost = q * (3.0 + 3.0 * q + q**2) / (1.0 + grown)  # (1 + q)^{3/2} − 1
        fall = -planet.mu / (square**1.5 * grown[:, None]) * (offsets - lost[:, None] * origin)
        return fall + self._bulge(origin + offsets) - self._bulge(origin) if self.oblate else fall

    def _bulge(self, places: Array) -> Array:
        """Acceleration by J₂ alone, (…, 3)."""
        planet = self.orbit.planet
        return planet.gravity(places) + planet.mu * places / np.linalg.norm(places, axis=-1, keepdims=True) ** 3
