"""Robots mounted in what stands around: shapes of first moving bodies that overlap the world's where a plant starts."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from phistar.constraints import columns as c
from phistar.plant.collision_groups import STATED, Meeting, convex, meeting_shapes
from phistar.plant.engine import Engine, System

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

_log = logging.getLogger("phistar")
IN_TOUCH = 1e-9  # m: what stands on the very surface is mounted there


def meeting_of(plant: Plant) -> Meeting:
    """The shapes of a plant that may touch. A robot's first moving body meets what is fixed to the world, but for
    shapes that it overlaps at the start: it was put there on purpose, as a turret in its table. Those are reported."""
    made = meeting_shapes(plant)
    mounted = _overlapping(plant, made)
    if not mounted:
        return made
    told = "; ".join(f"{a} and {b}" for a, b in mounted[:4]) + (" …" if len(mounted) > 4 else "")
    _log.warning(
        "The plant '%s': %s overlap at the start, a robot's first moving body and what is fixed to the world; they "
        "pass through each other. plant.contact(…) has them meet.", plant.name, told,
    )  # fmt: skip
    return meeting_shapes(plant, mounted)


def _overlapping(plant: Plant, made: Meeting) -> list[tuple[str, str]]:
    """Names of shapes of bodies on a joint to the world and of shapes of the world that overlap where the plant starts,
    unless their contact is stated one by one."""
    model = plant.model
    first = {body for body, up in enumerate(model.parents) if up < 0 and model.joints[body].nv < 6}
    chosen = [shape for shape in made.shapes if shape.body < 0 or shape.body in first]
    groups = [{shape.group for shape in chosen if (shape.body < 0) is fixed} for fixed in (True, False)]
    if not all(groups) or not made.meets[np.ix_(*map(sorted, groups))].any():
        return []
    shapes = tuple(replace(shape, shape=convex(shape.shape)) for shape in chosen)
    stated = len(plant.contacts)
    plain = np.where((made.meets >= STATED) & (made.meets < STATED + stated), 0, np.minimum(made.meets, 1))
    engine = Engine(System(model, shapes, plain))
    engine.load(*(np.resize(x, y.shape) for x, y in zip(plant.state()[:2], (engine.q, engine.v), strict=True)))
    engine.look(1e-6)
    count, table = int(engine.counts[c.CONTACTS]), engine.tables
    near = table["contacts"][:count, c.GAP] <= IN_TOUCH
    on, names = table["shape_wholes"][:, 1], engine.shape_names  # the body of each shape, −1 the world
    pairs = table["contact_wholes"][:count][near][:, [c.SHAPE_A, c.SHAPE_B]].tolist()
    return list(dict.fromkeys((names[a], names[b]) for a, b in pairs if min(on[a], on[b]) < 0))
