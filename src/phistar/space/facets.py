"""Flat faces of a spacecraft in thin air and in sunlight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from phistar.array_types import Array
from phistar.errors import ModelError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.plant.body_motions import BodyMotions, Parts
from phistar.space.orbits import Orbit

SUNLIGHT = 4.56e-6  # N/m²: pressure of sunlight on a black face at 1 au


@final
@dataclass(frozen=True)
class Facet:
    """A flat face of a body; of one that bends it moves with the node nearest to its middle.

    Parameters
    ----------
    body : str
        The body that carries it.
    area : float
        m².
    normal, center : (3,)
        Outward, of length one, and the middle, m; in the body's frame.
    drag : float
        Its drag coefficient.
    specular, diffuse : float
        Shares of sunlight that it mirrors and scatters; the rest it takes up.

    Examples
    --------
    >>> ps.space.Facet("hub", 2.0, (0, 0, 1), center=(0, 0, 0.5), specular=0.3).drag
    2.2
    """

    body: str
    area: float
    normal: tuple[float, float, float]
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    drag: float = 2.2
    specular: float = 0.0
    diffuse: float = 0.0

    def __post_init__(self) -> None:
        if not abs(float(np.linalg.norm(np.asarray(self.normal, dtype=float))) - 1.0) <= 1e-6:
            raise ModelError(f"A facet needs a normal of length one; it was given {self.normal!r:.80}.")
        if not (0.0 < self.area < np.inf and 0.0 <= self.drag < np.inf):
            raise ModelError("A facet needs an area greater than 0 m² and a drag coefficient of 0 or more.")
        if not (self.specular >= 0.0 and self.diffuse >= 0.0 and self.specular + self.diffuse <= 1.0):
            raise ModelError("A facet mirrors and scatters shares of sunlight, 0 or more and together at most 1.")


class Faces:
    """Facets as arrays: the parts that carry them, areas, normals, centres."""

    def __init__(self, model: Model, facets: Sequence[Facet]) -> None:
        for facet in facets:
            if facet.body not in model.body_indices:
                raise unknown("body", facet.body, list(model.body_indices), model.name)
        self.facets = tuple(facets)
        parts = Parts.of(model)
        found = [parts.nearest(model, model.body_indices[facet.body], facet.center) for facet in facets]
        self.parts = np.array([part for part, _ in found], dtype=int)
        self.areas = np.array([facet.area for facet in facets])
        self.normals = np.array([facet.normal for facet in facets], dtype=float).reshape(-1, 3)
        self.centers = np.array([center for _, center in found], dtype=float).reshape(-1, 3)

    def sums(self, forces: Array, count: int) -> Array:
        """(count, 6): forces at the middles of the facets, in the axes of their parts, as wrenches on these."""
        total = np.zeros((count, 6))
        np.add.at(total, self.parts, np.hstack([np.cross(self.centers, forces), forces]))
        return total


@final
class Drag:
    """Free molecular drag: −½ρ C A (n·u)₊ |v| v on every facet that meets the stream; a field for `plant.add_field`.

    Parameters
    ----------
    model : Model
        The plant's: `plant.model`, its world as of `OrbitalGravity`.
    facets : sequence of Facet
    orbit : Orbit
        Whose velocity the stream has, the air at rest in inertial axes.
    density : float
        kg/m³: that of the orbit's altitude.

    Examples
    --------
    >>> plant = ps.Plant(gravity=(0, 0, 0))
    >>> craft = ps.Inertia(100.0, (0, 0, 0), 10 * np.eye(3))
    >>> plant.add_body("craft", ps.Geometry(ps.Box((1, 1, 1)), role="collision"), craft)
    >>> orbit = ps.space.Orbit.circular(altitude=400e3)
    >>> front = ps.space.Facet("craft", 1.0, (0, 1, 0), center=(0, 0.5, 0))
    >>> plant.add_field(ps.space.Drag(plant.model, [front], orbit, density=3e-12))
    >>> bool(plant.acceleration(plant.state())[4] < 0.0)  # it is braked
    True
    """

    def __init__(self, model: Model, facets: Sequence[Facet], orbit: Orbit, density: float) -> None:
        if not 0.0 <= density < np.inf:
            raise ModelError(f"Air needs a density of 0 kg/m³ or more; it was given {density!r:.50}.")
        self.faces, self.orbit, self.density = Faces(model, facets), orbit, density
        self.coefficients = np.array([facet.drag for facet in facets])

    def wrenches(self, bodies: BodyMotions) -> Array:
        """(p, 6): at each part's origin and in its axes."""
        faces, (_, orbiting) = self.faces, self.orbit.at(bodies.time)
        turns, twists = bodies.poses[faces.parts, :3, :3], bodies.twists[faces.parts]
        stream = twists[:, 3:] + np.cross(twists[:, :3], faces.centers) + np.einsum("kji,j->ki", turns, orbiting)
        meets = np.maximum(np.einsum("ki,ki->k", faces.normals, stream), 0.0)
        forces = -0.5 * self.density * (self.coefficients * faces.areas * meets)[:, None] * stream
        return faces.sums(forces, len(bodies.poses))


@final
class SolarPressure:
    """Sunlight on the facets that face the sun; a field for `plant.add_field`.

    −P A cosθ [(1 − s) u + 2(s cosθ + d/3) n] with u towards the sun, s mirrored and d scattered.

    Parameters
    ----------
    model : Model
        The plant's: `plant.model`.
    facets : sequence of Facet
    sun : (3,)
        Direction towards the sun, world axes, of length one.
    pressure : float
        N/m².

    Examples
    --------
    >>> plant = ps.Plant(gravity=(0, 0, 0))
    >>> craft = ps.Inertia(100.0, (0, 0, 0), 10 * np.eye(3))
    >>> plant.add_body("craft", ps.Geometry(ps.Box((1, 1, 1)), role="collision"), craft)
    >>> panel = ps.space.Facet("craft", 2.0, (1, 0, 0), specular=1.0)
    >>> plant.add_field(ps.space.SolarPressure(plant.model, [panel], sun=(1.0, 0.0, 0.0)))
    >>> bool(plant.acceleration(plant.state())[3] < 0.0)  # a mirror is pushed away from the sun
    True
    """

    def __init__(
        self, model: Model, facets: Sequence[Facet], sun: tuple[float, float, float], pressure: float = SUNLIGHT
    ) -> None:
        if not abs(float(np.linalg.norm(np.asarray(sun, dtype=float))) - 1.0) <= 1e-6:
            raise ModelError(f"The sun needs a direction of length one; it was given {sun!r:.80}.")
        self.faces, self.sun, self.pressure = Faces(model, facets), np.asarray(sun, dtype=float), pressure
        self.specular = np.array([facet.specular for facet in facets])[:, None]
        self.diffuse = np.array([facet.diffuse for facet in facets])[:, None]

    def wrenches(self, bodies: BodyMotions) -> Array:
        """(p, 6): at each part's origin and in its axes."""
        faces = self.faces
        sun = np.einsum("kji,j->ki", bodies.poses[faces.parts, :3, :3], self.sun)
        lit = np.maximum(np.einsum("ki,ki->k", faces.normals, sun), 0.0)[:, None]
        back = (1.0 - self.specular) * sun + 2.0 * (self.specular * lit + self.diffuse / 3.0) * faces.normals
        return faces.sums(-self.pressure * faces.areas[:, None] * lit * back, len(bodies.poses))
