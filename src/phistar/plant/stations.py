"""The places that move in a plant's step: every body, and of bodies that bend the nodes that carry something.

A node of a bent body is placed and turned by the modes, and what it carries (a shape, a joint, the end of a tendon)
moves with it: to the step it is one more body, whose inertia its tree has. Rates move places by screws: a joint's rate
by one for all that is outboard, a mode's by one at each node.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from phistar.constraints import columns as c
from phistar.plant.tendon_rows import tendon_frames
from phistar.plant.tree_kernels import Place, places_of

if TYPE_CHECKING:
    from phistar.model import Model
    from phistar.plant.engine import System

WORLD: Place = (-1, -1)


def carrying_nodes(system: System) -> set[Place]:
    """Nodes of bodies that bend on which a body, a shape or the end of a tendon is."""
    model = system.model
    found = {(body.parent, body.node) for body in model.bodies}
    found |= {(shape.body, shape.node) for shape in system.shapes}
    found |= {(frame.body, frame.node) for frame in tendon_frames(model, system.tendons)}
    return {place for place in found if place[1] >= 0}


def numbers_on(system: System, bodies: Iterable[int]) -> set[int]:
    """The step's numbers of all places on some bodies; the world is −1."""
    chosen = set(bodies)
    return {number for (body, _), number in system.numbers.items() if body in chosen}


def above(model: Model, place: Place) -> Place:
    """The place that carries another."""
    body, node = place
    return (body, -1) if node >= 0 else (model.parents[body], model.bodies[body].node)


def node_rows(system: System) -> dict[Place, int]:
    """First rows of the modes' screws in the table, node by node, behind those of all rates."""
    rows, at = {}, system.model.nv
    for place in system.places:
        if place[1] >= 0:
            rows[place], at = at, at + system.model.bodies[place[0]].modes
    return rows


def screw_count(system: System) -> int:
    """Rows of the table of screws: of rates, of modes at nodes, and one that is zero."""
    modes = sum(system.model.bodies[body].modes for body, node in system.places if node >= 0)
    return system.model.nv + modes + 1


def fill_places(system: System, table: dict[str, np.ndarray]) -> None:
    """Places by number: their trees, what carries them, and the screws that move them."""
    model, numbers, rows = system.model, system.numbers, node_rows(system)
    nodes = carrying_nodes(system)
    for body in range(len(model.bodies)):
        table["body_number"][body] = numbers[body, -1]
    widest, still = int(table["counts"][c.WIDEST]), len(table["screws"]) - 1
    table["screw_of"][:] = still
    screw_of = table["screw_of"][: len(system.places) * widest].reshape(-1, widest)
    for node, tree in enumerate(system.trees, start=len(system.free)):
        own = int(table["nodes"][node, c.OWN_AT])
        starts, at = {}, 0
        for body in tree:
            starts[body], at = at, at + len(model.bodies[body].rates)
        for place in places_of(tree, nodes):
            body, on = place
            number, joint = numbers[place], model.joints[body].nv
            first, count = (starts[body], joint) if on < 0 else (starts[body] + joint, model.bodies[body].modes)
            screws = own + first if on < 0 else rows[place]
            up = numbers[above(model, place)]
            table["tree_of"][number], table["above"][number] = node, up
            table["first_rate"][number], table["last_rate"][number] = own + first, own + first + count
            table["first_screw"][number] = screws
            if up >= 0:
                screw_of[number] = screw_of[up]
            screw_of[number, first : first + count] = np.arange(screws, screws + count)
