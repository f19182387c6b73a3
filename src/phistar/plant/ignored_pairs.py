"""Pairs of bodies that are left out of contact: those whose shapes overlap at the start, and those of SRDF files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from phistar.constraints import columns as c
from phistar.errors import FileError
from phistar.io import xml
from phistar.model.names import unknown
from phistar.plant.batch_loop import MODE, PART_ONLY
from phistar.plant.engine import Engine

if TYPE_CHECKING:
    from phistar.plant.plant import Plant


def ignore_overlaps(plant: Plant, robot: str | None = None) -> list[tuple[str, str]]:
    """Lets bodies of one robot pass through each other whose shapes overlap where the plant starts.

    Collision shapes of real robots often overlap at joints; such pairs would be pushed apart for ever.

    Parameters
    ----------
    robot : str, optional
        Whose bodies; those of every robot by default. Overlaps between robots are never left out.

    Returns
    -------
    list of pairs
        "robot/body" names that are ignored from now on, as by `plant.ignore`.

    Examples
    --------
    >>> import phistar as ps
    >>> plant = ps.Plant()
    >>> plant.add(ps.load("planar2"), "arm")
    >>> plant.ignore_overlaps()
    []
    """
    names = list(plant.robots) if robot is None else [plant.robot(robot).name]
    owner = {body: name for name in names for body in plant.bodies_of(name)}
    engine = Engine(plant.system)
    q, v = plant.state()[:2]
    engine.load(*(x if x.size else engine.q * 0.0 for x in (q, v)))
    engine.numbers[c.LENGTH], engine.batch[MODE] = 1e-6, PART_ONLY
    engine.serve()
    while engine.counts[c.FULL]:
        engine.grow()
        engine.load(q, v)
        engine.serve()
    bodies = {number: body for (body, _), number in engine.system.numbers.items()}
    found: dict[tuple[str, str], None] = {}
    for contact in range(int(engine.counts[c.CONTACTS])):
        a, b = (
            bodies.get(int(engine.tables["contact_wholes"][contact, column]), -1) for column in (c.BODY_A, c.BODY_B)
        )
        if engine.tables["contacts"][contact, c.GAP] <= 0.0 and a in owner and owner.get(a) == owner.get(b):
            found[plant.model.bodies[min(a, b)].name, plant.model.bodies[max(a, b)].name] = None
    for pair in found:
        plant.ignore(*pair)
    return list(found)


def read_srdf(plant: Plant, robot: str, path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Lets the pairs of links of an SRDF file's `disable_collisions` pass through each other.

    Parameters
    ----------
    robot : str
        The robot that the file is about.
    path : path
        The SRDF file (MoveIt's semantic description).

    Returns
    -------
    list of pairs
        "robot/body" names that are ignored from now on; links that are fixed to each other are one body.
    """
    prefix, model = plant.prefix(plant.robot(robot).name), plant.model
    found: dict[tuple[str, str], None] = {}
    for entry in xml.read(path).all("disable_collisions"):
        numbers = []
        for key in ("link1", "link2"):
            if key not in entry.attributes:
                raise FileError(f"{path}, line {entry.line}: a disable_collisions needs link1 and link2.")
            name = prefix + entry.attributes[key]
            if name not in model.frames:
                raise unknown("link", entry.attributes[key], list(plant.robot(robot).model.frames), str(path))
            numbers.append(model.frames[name].body)
        if numbers[0] != numbers[1]:
            names = ("world" if number < 0 else model.bodies[number].name for number in sorted(numbers))
            found[next(names), next(names)] = None
    for pair in found:
        plant.ignore(*pair)
    return list(found)
