"""Which shapes can touch which: places of shapes on bodies, and the pairs of them that contact looks at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from phistar.contact.shapes import corners, faces, reach
from phistar.contact.surface import Surface
from phistar.errors import ModelError
from phistar.model import Model
from phistar.model.geometry import Shape
from phistar.model.names import unknown
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


@dataclass(frozen=True)
class Pair:
    """Two sites that may touch, and how. The normal points from b to a; forces act on a, and back on b."""

    a: Site
    b: Site
    surface: Surface

    @property
    def name(self) -> str:
        return f"{self.a.name} / {self.b.name}"


@dataclass(frozen=True)
class Pairs:
    """The pairs of a model."""

    model: Model
    pairs: tuple[Pair, ...] = field(default_factory=tuple)


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


def all_pairs(model: Model, surface: Surface, ignored: Iterable[tuple[str, str]] = ()) -> Pairs:
    """Every two shapes on bodies that move against each other and are not neighbours, but for body pairs `ignored`."""
    names = {"world": -1, **model.body_indices}
    skipped = set()
    for pair in ignored:
        for name in pair:
            if name not in names:
                raise unknown("body", name, names, model.name)
        skipped.add(frozenset(names[name] for name in pair))
    found, every = [], sites(model)
    for i, a in enumerate(every):
        for b in every[:i]:
            together = frozenset((a.body, b.body))
            if len(together) == 2 and together not in skipped and not _neighbours(model, a.body, b.body):
                found.append(Pair(a, b, surface))
    return Pairs(model, tuple(found))


def chosen_pairs(model: Model, surface: Surface, named: Iterable[tuple[str, str]]) -> Pairs:
    """The pairs of shapes, or of all shapes of bodies, that are named."""
    every = sites(model)
    found = []
    for first, second in named:
        for a in _named(model, every, first):
            for b in _named(model, every, second):
                if a.body == b.body:
                    raise ModelError(
                        f"{first} and {second} are on the same body, {_body(model, a.body)}; they never touch."
                    )
                found.append(Pair(a, b, surface))
    return Pairs(model, tuple(found))


def _named(model: Model, every: tuple[Site, ...], name: str) -> list[Site]:
    found = [site for site in every if site.name == name] or [s for s in every if _body(model, s.body) == name]
    if not found:
        raise unknown("collision shape", name, [site.name for site in every], model.name)
    return found


def _body(model: Model, index: int) -> str:
    return "world" if index < 0 else model.bodies[index].name


def _neighbours(model: Model, a: int, b: int) -> bool:
    """Joined by one joint: their shapes may overlap at it. A free body is nobody's neighbour."""
    parents = model.parents
    child = a if a >= 0 and parents[a] == b else b if b >= 0 and parents[b] == a else None
    return child is not None and model.joints[child].nv < 6
