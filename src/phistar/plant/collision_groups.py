"""Which shapes of a plant may touch: groups of shapes that meet the same others, and the table of groups that meet."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from phistar.geometry.shape_records import PlacedShape
from phistar.model import Free, Model
from phistar.model.geometry import Mesh, Polytope, Shape
from phistar.model.names import unknown
from phistar.spatial.pose import IDENTITY

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

WORLD = "world"

Sides = tuple[set[int], set[int]]  # of pairs: the numbers of bodies on either side
LabelPairs = Set[frozenset[str]]
FREE = -2  # the body of a group of bodies that float by themselves


class Masks(NamedTuple):
    """What a shape meets beside its body's rules: MuJoCo's contype and conaffinity, and a label by which single shapes
    of a file are brought together or kept apart."""

    own: int
    others: int
    label: str = ""


EVERYTHING = Masks(1, 1)


class Groups:
    """Numbers for sets of shapes: those of the world, of all free bodies, of each body of a tree; by their masks."""

    def __init__(
        self,
        model: Model,
        ignored: Sequence[Sides],
        stated: Sequence[Sides] = (),
        together: LabelPairs = frozenset(),
        apart: LabelPairs = frozenset(),
    ) -> None:
        self.model, self.ignored, self.stated, self.together, self.apart = model, ignored, stated, together, apart
        named = set().union(*(side for pair in (*ignored, *stated) for side in pair))
        self.alone = {
            body
            for body, up in enumerate(model.parents)
            if up < 0 and isinstance(model.joints[body].kind, Free) and not model.children[body] and body not in named
        }
        self.numbers: dict[tuple[int, Masks], int] = {}

    def of(self, body: int, masks: Masks = EVERYTHING) -> int:
        key = (FREE if body in self.alone else body, masks)
        return self.numbers.setdefault(key, len(self.numbers))

    def meets(self) -> np.ndarray:
        """(g, g): 0 for the same body, neighbours at a joint, what masks keep apart and what is ignored; 1 where
        materials make the law, and the last number of `stated` plus 2 where one is stated."""
        table = np.zeros((max(len(self.numbers), 1),) * 2, dtype=np.int64)
        for ((a, of_a), i), ((b, of_b), j) in combinations_with_replacement(self.numbers.items(), 2):
            if self._meet(a, of_a, b, of_b):
                found = [k for k, pair in enumerate(self.stated) if _among([pair], a, b)]
                table[i, j] = table[j, i] = found[-1] + 2 if found else 1
        return table

    def _meet(self, a: int, of_a: Masks, b: int, of_b: Masks) -> bool:
        labels = frozenset((of_a.label, of_b.label))
        if labels in self.together:
            return True
        masked = not (of_a.own & of_b.others or of_b.own & of_a.others)
        same = a == b and a != FREE
        return not (masked or same or labels in self.apart or self._neighbours(a, b) or _among(self.ignored, a, b))

    def _neighbours(self, a: int, b: int) -> bool:
        """Joined by one joint: their shapes may overlap at it."""
        child, other = max(a, b), min(a, b)
        joined = child >= 0 and self.model.parents[child] == other
        return joined and self.model.joints[child].nv < 6


def _among(pairs: Sequence[Sides], a: int, b: int) -> bool:
    return any((a in x and b in y) or (b in x and a in y) for x, y in pairs)


@lru_cache(maxsize=256)
def _hull(mesh: Mesh) -> Polytope:
    return Polytope.hull(mesh)


def convex(shape: Shape) -> Shape:
    """A mesh collides as its convex hull; other shapes as they are."""
    return _hull(shape) if isinstance(shape, Mesh) else shape


def placed_shapes(plant: Plant) -> tuple[list[PlacedShape], np.ndarray]:
    """Every collision shape of a plant, and which groups of them meet."""
    model, found = plant.model, []
    ignored = [(plant.bodies_of(a), plant.bodies_of(b)) for a, b in plant.ignored]
    stated = [(plant.bodies_of(a), plant.bodies_of(b)) for a, b, _ in plant.contacts]
    groups = Groups(model, ignored, stated, plant.brought_together, plant.kept_apart)
    for robot in (robot for robot in plant.robots.values() if robot.collides):
        prefix = plant.prefix(robot.name)
        bodies = [(WORLD, -1, robot.at, robot.model.base_geometry)]
        bodies += [(b.name, model.body_indices[prefix + b.name], IDENTITY, b.geometry) for b in robot.model.bodies]
        for name, number, base, geometry in bodies:
            for shape in (shape for shape in geometry if shape.role == "collision"):
                place, group = base @ shape.placement, groups.of(number)
                found.append(PlacedShape(number, convex(shape.shape), place, robot.material, group, shape.name or name))
    for number, (body, shape, at, material, name) in enumerate(plant.shapes):
        if body != WORLD and body not in model.frames:
            raise unknown("body", body, [WORLD, *model.body_indices], plant.name)
        frame = None if body == WORLD else model.frames[body]
        own, place = (-1, at) if frame is None else (frame.body, frame.placement @ at)
        masks = plant.masks[number] if number < len(plant.masks) else EVERYTHING
        found.append(PlacedShape(own, convex(shape), place, material, groups.of(own, masks), name or body))
    return found, groups.meets()
