"""Collision shapes of a model, each placed on its body."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.contact.coal_shapes import corners, faces, reach
from phistar.model import Model
from phistar.model.geometry import Shape
from phistar.spatial import Pose


@dataclass(frozen=True)
class Site:
    """A shape on a body (−1: the world), placed in the body's frame."""

    name: str
    body: int
    shape: Shape
    placement: Pose

    @cached_property
    def corners(self) -> np.ndarray:
        """(n, 3), about the shape's own origin."""
        return corners(self.shape)

    @cached_property
    def faces(self) -> np.ndarray:
        """The normals of its faces, (k, 3), in the shape's axes."""
        return faces(self.shape)

    @cached_property
    def reach(self) -> float:
        return reach(self.shape)


def sites(model: Model) -> tuple[Site, ...]:
    """Every collision shape of a model, named after its geometry, or its body and number."""
    found = []
    for index, (body, geometry) in enumerate(
        [("world", model.base_geometry), *((b.name, b.geometry) for b in model.bodies)]
    ):
        shapes = [shape for shape in geometry if shape.role == "collision"]
        for number, shape in enumerate(shapes):
            name = shape.name or (body if len(shapes) == 1 else f"{body}:{number}")
            found.append(Site(name, index - 1, shape.shape, shape.placement))
    return tuple(found)
