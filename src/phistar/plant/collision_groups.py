"""Shapes of a plant that may touch: groups that meet the same others, and the table of groups that meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from phistar.contact.surface import Surface
from phistar.errors import ModelError
from phistar.geometry.shape_records import Material, PlacedShape
from phistar.model import Free, Model
from phistar.model.geometry import Mesh, Polytope, Shape
from phistar.model.names import unknown
from phistar.spatial import Pose
from phistar.spatial.pose import IDENTITY

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

WORLD = "world"
FREE = -2  # the body of a group of bodies that float by themselves
APART, BY_MATERIAL, STATED = 0, 1, 2  # entries of the table of groups; STATED + k is the k-th stated law


class Masks(NamedTuple):
    """Collision filter of a shape beside its body's rules: MuJoCo's contype and conaffinity, and a label by which
    single shapes of a file are paired or kept apart."""

    own: int
    others: int
    label: str = ""


EVERYTHING = Masks(1, 1)


class Candidate(NamedTuple):
    """A collision shape of a plant: its owner, and its name, which is its own or that of the body it is on."""

    owner: str
    body: int
    shape: Shape
    placement: Pose
    material: Material
    name: str
    masks: Masks = EVERYTHING
    named: bool = True
    node: int = -1  # of a body that bends: the shape moves with it, and is placed there


class Rule(NamedTuple):
    """Two sets of candidates, and whether they were named one by one, so that even neighbours at a joint may meet."""

    sides: tuple[frozenset[int], frozenset[int]]
    direct: bool


class Meeting(NamedTuple):
    """The shapes of a plant that may touch anything, the owner of each, and which groups of them meet."""

    shapes: tuple[PlacedShape, ...]
    owners: tuple[str, ...]
    meets: np.ndarray


def meeting_shapes(plant: Plant, mounted: Sequence[tuple[str, str]] = ()) -> Meeting:
    """Every collision shape of a plant that may touch another, and which groups of them meet; not those that are
    `mounted` in one another, by name."""
    found = candidates(plant)
    names = _distinct_names(plant, found)
    ignored = [rule_of(plant, found, a, b, "body") for a, b in plant.ignored]
    ignored += [Rule((_numbers_of(names, a), _numbers_of(names, b)), direct=True) for a, b in mounted]
    stated = [rule_of(plant, found, a, b) for a, b, _ in plant.contacts]
    keys = _keys(plant, found, [*ignored, *stated])
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    law = plant.contact_law
    usual = BY_MATERIAL if law == "materials" else APART if law is None else STATED + len(plant.contacts)
    table = _table(plant, list(numbers), len(ignored), stated, usual)
    reached = np.asarray(table.any(axis=1))
    shapes, owners = [], []
    for each, key, name in zip(found, keys, names, strict=True):
        group = numbers[key]
        if reached[group]:
            shapes.append(PlacedShape(each.body, each.shape, each.placement, each.material, group, name, each.node))
            owners.append(each.owner)
    return Meeting(tuple(shapes), tuple(owners), table)


def _numbers_of(names: Sequence[str], name: str) -> frozenset[int]:
    return frozenset(number for number, each in enumerate(names) if each == name)


def _distinct_names(plant: Plant, found: Sequence[Candidate]) -> list[str]:
    """Return the shapes' names, after that of their body where shapes of several bodies have one name: contacts are
    known by them."""
    bodies: dict[str, set[int]] = {}
    for each in found:
        bodies.setdefault(each.name, set()).add(each.body)
    owner = {-1: WORLD} | {number: name for name, number in plant.model.body_indices.items()}
    return [each.name if len(bodies[each.name]) == 1 else f"{owner[each.body]}:{each.name}" for each in found]


def stated_laws(plant: Plant) -> tuple[Surface, ...]:
    """The laws that entries of the table of groups number, from STATED on."""
    usual = (plant.contact_law,) if isinstance(plant.contact_law, Surface) else ()
    return (*(surface for _, _, surface in plant.contacts), *usual)


def candidates(plant: Plant) -> list[Candidate]:
    """The collision shapes of robots and bodies, as they were added, then those of `add_shape`. On a body that bends a
    shape moves with the node that is nearest to its place, or with that of the frame it was put on."""
    model, found = plant.model, []
    for robot in (robot for robot in plant.robots.values() if robot.collides):
        prefix, (base, place, node) = plant.prefix(robot.name), _carrier(plant, robot.on)
        bodies = [(robot.name, base, place @ robot.at, node, robot.model.base_geometry)]
        for body in robot.model.bodies:
            bodies.append((prefix + body.name, model.body_indices[prefix + body.name], IDENTITY, -1, body.geometry))
        for name, number, at, on_node, geometry in bodies:
            shapes = [shape for shape in geometry if shape.role == "collision"]
            for k, each in enumerate(shapes):
                own = each.name or (name if len(shapes) == 1 else f"{name}:{k}")
                known = (robot.material, own, EVERYTHING, bool(each.name))
                placed, carrier = _on_node(model, number, at @ each.placement, on_node, each.node)
                found.append(Candidate(robot.name, number, each.shape, placed, *known, carrier))
    for number, (on, shape, at, material, name) in enumerate(plant.shapes):
        body, place, node = _carrier(plant, on)
        placed, node = _on_node(model, body, place @ at, node)
        masks = plant.masks[number] if number < len(plant.masks) else EVERYTHING
        found.append(Candidate(on, body, shape, placed, material, name or on, masks, bool(name), node))
    return found


def _on_node(model: Model, body: int, place: Pose, node: int, fixed_to: int = -1) -> tuple[Pose, int]:
    """Pose of a shape at the node that carries it, and the node; on a rigid body as it is, and −1. `place` is in
    the axes of `node`, or with −1 in the body's own."""
    flexible = model.bodies[body].flexible if body >= 0 else None
    if flexible is None or node >= 0:
        return place, node
    nearest = int(np.argmin(np.linalg.norm(flexible.nodes - place.translation, axis=1)))
    chosen = nearest if fixed_to < 0 else fixed_to
    return Pose(place.translation - flexible.nodes[chosen], rotation=place.rotation), chosen


def _carrier(plant: Plant, frame: str) -> tuple[int, Pose, int]:
    """The body that a frame is on, −1 for the world, where it is there, and on which node."""
    model = plant.model
    if frame == WORLD:
        return -1, IDENTITY, -1
    if frame not in model.frames:
        raise unknown("body", frame, [WORLD, *model.body_indices], plant.name)
    found = model.frames[frame]
    return found.body, found.placement, found.node


def rule_of(plant: Plant, found: Sequence[Candidate], a: str, b: str, kind: str = "collision shape") -> Rule:
    """The shapes that two names stand for: shapes, robots, bodies, or the world."""
    sides = _side(plant, found, a, kind), _side(plant, found, b, kind)
    whole = [name in plant.robots and len(plant.robots[name].model.bodies) > 1 for name in (a, b)]
    return Rule(sides, not any(whole))


def _side(plant: Plant, found: Sequence[Candidate], name: str, kind: str) -> frozenset[int]:
    own = frozenset(i for i, each in enumerate(found) if each.named and each.name == name)
    if own and name not in plant.robots:
        return own
    if name in plant.robots and not plant.robots[name].model.bodies:  # what is fixed, by its own shapes
        return frozenset(i for i, each in enumerate(found) if each.owner == name)
    if name not in plant.robots and name != WORLD and name not in plant.model.body_indices:
        known = [WORLD, *plant.model.body_indices, *plant.robots]
        known = list(dict.fromkeys([*known, *(each.name for each in found)])) if kind != "body" else known
        raise unknown(kind, name, known, plant.name)
    bodies = plant.bodies_of(name)
    return frozenset(i for i, each in enumerate(found) if each.body in bodies)


def check_rule(plant: Plant, a: str, b: str) -> None:
    """Refuse names that stand for nothing, and shapes that are on one body."""
    found = candidates(plant)
    first, second = rule_of(plant, found, a, b).sides
    bodies = {found[i].body for i in first}, {found[i].body for i in second}
    if len(bodies[0] | bodies[1]) == 1 and bodies[0] == bodies[1]:
        (body,) = bodies[0]
        name = WORLD if body < 0 else plant.model.bodies[body].name
        raise ModelError(f"{a} and {b} are on the same body, {name}; they never touch.")


Key = tuple[int, Masks, frozenset[tuple[int, int]], str]


def _keys(plant: Plant, found: Sequence[Candidate], rules: Sequence[Rule]) -> list[Key]:
    """Collision key of each shape: its body (all lone floating ones share one), its masks, its rules, and of what is
    fixed to the world the robot whose base it is."""
    model = plant.model
    alone = {
        body
        for body, up in enumerate(model.parents)
        if up < 0
        and isinstance(model.joints[body].kind, Free)
        and not model.children[body]
        and not model.bodies[body].modes
    }
    inside: list[set[tuple[int, int]]] = [set() for _ in found]
    for number, rule in enumerate(rules):
        for side, members in enumerate(rule.sides):
            for i in members:
                inside[i].add((number, side))
    return [
        (
            FREE if each.body in alone else each.body,
            each.masks,
            frozenset(own),
            each.owner if each.body < 0 and each.owner in plant.robots else "",
        )
        for each, own in zip(found, inside, strict=True)
    ]


def _table(plant: Plant, keys: Sequence[Key], ignored: int, stated: Sequence[Rule], usual: int) -> np.ndarray:
    """(g, g): APART for the same body, neighbours at a joint, what masks keep apart and the first rules, which are
    ignored; the last of the stated rules where one names both; `usual` elsewhere. A file may bring shapes together
    whatever their masks."""
    table = np.zeros((max(len(keys), 1),) * 2, dtype=np.int64)
    robots = {body: name for name in plant.robots for body in plant.bodies_of(name)}
    for (i, a), (j, b) in combinations_with_replacement(enumerate(keys), 2):
        rules, labels = list(_rules_of(a, b)), frozenset((a[1].label, b[1].label))
        together = labels in plant.brought_together
        masked = not (a[1].own & b[1].others or b[1].own & a[1].others) or labels in plant.kept_apart
        same = a[0] == b[0] and a[0] != FREE
        if not together and (masked or same or any(rule < ignored for rule in rules)):
            continue
        joined = not together and _neighbours(plant.model, robots, a, b)
        laws = [rule - ignored for rule in rules if stated[rule - ignored].direct or not joined]
        table[i, j] = table[j, i] = STATED + max(laws) if laws else APART if joined else usual
    return table


def _rules_of(a: Key, b: Key) -> Iterator[int]:
    """Numbers of the rules that have one of two groups on either side."""
    return (number for number, side in a[2] if (number, 1 - side) in b[2])


def _neighbours(model: Model, robots: Mapping[int, str], a: Key, b: Key) -> bool:
    """Joined by one joint: their shapes may overlap at it. Of all that is fixed to the world, a robot's first moving
    body is joined to the robot's own base alone; it meets the floor that the base stands on."""
    (child, *_), (other, _, _, base) = (a, b) if a[0] > b[0] else (b, a)
    joined = child >= 0 and model.parents[child] == other and model.joints[child].nv < 6
    return joined and (other >= 0 or robots.get(child) == base)


@lru_cache(maxsize=256)
def _hull(mesh: Mesh) -> Polytope:
    return Polytope.hull(mesh)


def convex(shape: Shape) -> Shape:
    """A mesh collides as its convex hull; other shapes as they are."""
    return _hull(shape) if isinstance(shape, Mesh) else shape
