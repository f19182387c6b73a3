"""The tables of a plant's step, filled for one system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.constraints import columns as c
from phistar.constraints.slipping import KRYLOV
from phistar.contact.surface import law_numbers
from phistar.errors import ModelError, PhistarError
from phistar.geometry import shape_columns as s
from phistar.geometry.contact_report import OLD_FLOATS
from phistar.geometry.shape_records import margin_of, record_of
from phistar.loops.closure import row_count
from phistar.model.parts import Body
from phistar.plant.course_columns import ENTRIES_ROOM, MOST_LOGGED
from phistar.plant.course_tables import course_room, course_tables, step_events
from phistar.plant.free_bodies import INERTIA_FLOATS
from phistar.plant.single_rows import SingleRow
from phistar.plant.stations import fill_places, screw_count
from phistar.plant.tendon_rows import fill_tendons, row_room
from phistar.spatial import to_quaternion

if TYPE_CHECKING:
    from phistar.plant.engine import System

FEWEST = 16  # contacts there is room for at first
SLOWEST = 5e-3  # m/s: what closes more slowly does not bounce


def engine_tables(system: System) -> dict[str, np.ndarray]:
    """Every table of the step, by name."""
    model = system.model
    free, trees = system.free, system.trees
    nodes, bodies = len(free) + len(trees), len(system.places)
    sizes = [6] * len(free) + _tree_sizes(system)
    largest, shapes = max(sizes, default=6), len(system.shapes)
    rows = len(system.rows) + row_count(model)
    table: dict[str, np.ndarray] = {}

    def floats(**given: Any) -> None:
        table.update({name: np.zeros(shape) for name, shape in given.items()})

    def wholes(**given: Any) -> None:
        table.update({name: np.zeros(shape, dtype=np.int64) for name, shape in given.items()})

    rates, squares = sum(sizes), sum(n * n for n in sizes)
    floats(q=max(model.nq, 1), rates=max(model.nv, 1), force=max(model.nv, 1), numbers=c.NUMBERS)
    floats(v=rates, before=rates, free=rates, given=rates, side=rates, pushed=rates, generalized=rates, applied=rates)
    floats(slope=rates, krylov=KRYLOV * rates, roots=squares, stated_laws=(len(system.laws), c.LAW_FLOATS))
    floats(mass=squares, inertias=squares, viscous=rates, elastic=rates, wrench=(nodes, 6))
    floats(screws=(screw_count(system), 6), pose=(bodies, 12), speed=bodies, extent=bodies, body_twist=(bodies, 6))
    one = max(len(free), 1)
    floats(center=(one, 3), quaternion=(one, 4), rotation=(one, 9), placement=(one, 16), inertia=(one, INERTIA_FLOATS))
    floats(kept=(one, 13), moment=(one, 3), spin=24, twist=6)
    floats(shapes=(shapes, s.SHAPE_FLOATS), placed=(shapes, 12), moves=shapes, lowest=(shapes, 3), highest=(shapes, 3))
    floats(far=3, lone=3, edge=6, simplex=(4, 10), trial=4, normal=16, closest=6, touching=6, apart=3, middle=3)
    floats(segment=6, polygon=48, corners=48, frame=24, ray=16, nearest=8, law=c.LAW_FLOATS)
    floats(rows=(rows, c.ROW_FLOATS), row_jacobian=_whole_rows(system, largest), row_wrench=(rows, 6))
    wholes(nodes=(nodes, c.NODE_WHOLES), counts=c.COUNTS, free_wholes=(one, 2), shape_wholes=(shapes, s.SHAPE_WHOLES))
    wholes(parent=nodes, island=nodes, local=nodes, members=nodes, degree=nodes, position=nodes, order=nodes)
    wholes(pivot=nodes, home=nodes, below=nodes + 1, adjacent=nodes * nodes, sorted_nodes=nodes, node_start=nodes + 2)
    wholes(contact_start=nodes + 2, row_start=nodes + 2, fill=nodes + 2, swept=shapes, cursor=1)
    wholes(tree_of=bodies, body_number=len(model.bodies), above=bodies, first_rate=bodies, last_rate=bodies)
    wholes(first_screw=bodies, screw_of=bodies * largest)
    wholes(rate_of=rates, row_wholes=(rows, c.ROW_WHOLES), sorted_rows=rows)
    table["powers"], table["chosen"] = 2 ** np.arange(6, dtype=np.int64), np.zeros(4, dtype=np.int64)
    hulls = [record_of(shape.shape).points for shape in system.shapes]
    table["points"] = np.concatenate([np.zeros((1, 3)), *hulls])
    table["meets"] = np.ascontiguousarray(system.meets, dtype=np.int64).reshape(-1)
    table = {name: x if x.size else np.zeros((1, *x.shape[1:]), x.dtype) for name, x in table.items()}
    _count(system, table, sizes)
    table.update(sized_tables(system, FEWEST))
    table.update(course_tables(system))
    note_entries(system, table)
    _fill_bodies(system, table)
    _fill_shapes(system, table)
    _fill_rows(system, table)
    for number, law in enumerate(system.laws):
        table["stated_laws"][number] = law_numbers(law)
    return table


def _whole_rows(system: System, largest: int) -> int:
    """Entries of the Jacobians of rows that have whole ones: closures and tendons."""
    return 2 * row_count(system.model) * largest + row_room(system.rows, len(system.tendons), largest)


def _fill_rows(system: System, table: dict[str, np.ndarray]) -> None:
    for number, row in enumerate(system.rows):
        if isinstance(row, SingleRow):
            row.fill(number, table, *_place_of(system, row.rate))
    fill_tendons(system.model, system.tendons, system.rows, table, system.numbers)


def _count(system: System, table: dict[str, np.ndarray], sizes: Sequence[int]) -> None:
    """Counts of everything, and the first node."""
    counts = table["counts"]
    counts[c.NODES], counts[c.FIRST_TREE], counts[c.BODIES] = len(sizes), len(system.free), len(system.places)
    counts[c.SHAPES], counts[c.ROWS], counts[c.GROUPS] = (
        len(system.shapes),
        len(system.rows) + row_count(system.model),
        len(system.meets),
    )
    # A number and no row length of the code, which is compiled once for scenes of all sizes.
    counts[c.WIDEST] = max(sizes, default=6)
    counts[c.STRIDE] = 8 * counts[c.WIDEST]
    counts[c.ROOM] = FEWEST
    counts[c.ROOM_BLOCKS] = _blocks(system, FEWEST)
    table["numbers"][c.GRAVITY : c.GRAVITY + 3] = system.model.gravity
    table["numbers"][c.SLOWEST] = SLOWEST
    at = block = 0
    for i, n in enumerate(sizes):
        table["nodes"][i, [c.SIZE, c.AT, c.BLOCK, c.TREE]] = n, at, block, i >= len(system.free)
        table["nodes"][i, [c.OWN, c.OWN_AT]] = n, at
        at, block = at + n, block + n * n


def _tree_sizes(system: System) -> list[int]:
    """Rates of each tree."""
    return [sum(len(system.model.bodies[i].rates) for i in tree) for tree in system.trees]


def _blocks(system: System, room: int) -> int:
    """Blocks of 36 entries that there is room for."""
    largest = max([6, *_tree_sizes(system)])
    nodes = len(system.free) + len(system.trees)
    return (2 * nodes + 2 * room) * max(1, -(-largest * largest // 36))


def sized_tables(system: System, room: int) -> dict[str, np.ndarray]:
    """The tables whose length is the number of contacts there is room for."""
    largest = max([6, *_tree_sizes(system)])
    blocks = _blocks(system, room)
    floats = {"contacts": (room, c.CONTACT_FLOATS), "old": (room, OLD_FLOATS), "jacobian": room * 8 * largest}
    floats |= {"stiff": room, "excused": room, "blocks": 36 * blocks}
    floats |= {"places": (room, c.PLACE_FLOATS), "met": (room, c.MET_FLOATS)}
    wholes = {"contact_wholes": (room, c.CONTACT_WHOLES), "old_wholes": (room, 3), "sorted": room, "closing": room}
    wholes |= {"lower": blocks, "lower_at": blocks, "place_shapes": (room, 2), "met_shapes": (room, 2)}
    made = {name: np.zeros(shape) for name, shape in floats.items()}
    made |= {name: np.zeros(shape, dtype=np.int64) for name, shape in wholes.items()}
    return made | course_room(system, room)


def note_entries(system: System, table: dict[str, np.ndarray]) -> None:
    """Note for how much a course has room."""
    table["course_wholes"][ENTRIES_ROOM] = len(table["reached"])
    table["course_wholes"][MOST_LOGGED] = len(table["log_times"]) - step_events(system, len(table["contacts"]))


def _place_of(system: System, rate: int) -> tuple[int, int]:
    """The node of a model's rate, and its number there."""
    model, free = system.model, system.free
    for node, tree in enumerate([(body,) for body in free] + list(system.trees)):
        own = [k for i in tree for k in model.bodies[i].rates]
        if rate in own:
            return node, own.index(rate)
    raise PhistarError(f"The model has no rate {rate}.")


def _fill_bodies(system: System, table: dict[str, np.ndarray]) -> None:
    """Free bodies, which stand first, then the places of trees."""
    model = system.model
    for f, body in enumerate(system.free):
        joint, found = model.joints[body], model.bodies[body]
        tensor = np.asarray(found.inertia.tensor)
        check_free_body(found)
        table["free_wholes"][f] = joint.q_slice.start, joint.v_slice.start
        table["inertia"][f] = [
            found.inertia.mass, *found.inertia.com, *tensor.reshape(-1), *np.linalg.inv(tensor).reshape(-1)
        ]  # fmt: skip
        pose = found.placement
        turn = np.asarray(pose.rotation)
        table["placement"][f] = [*pose.translation, *to_quaternion(turn), *turn.reshape(-1)]
    fill_places(system, table)


def check_free_body(body: Body) -> None:
    """Refuse a free body that nothing keeps from turning infinitely fast."""
    if not np.linalg.eigvalsh(body.inertia.tensor)[0] > 0.0:
        raise ModelError(f"{body.name} is free to turn and has no inertia against it; make its moments positive.")


def _fill_shapes(system: System, table: dict[str, np.ndarray]) -> None:
    """Half-spaces stand last."""
    numbers, masses = system.numbers, _masses(system)
    records = [(shape, record_of(shape.shape)) for shape in system.shapes]
    records.sort(key=lambda pair: pair[1].kind == s.HALFSPACE)
    table["counts"][c.PLANES] = sum(record.kind == s.HALFSPACE for _, record in records)
    point = 1
    for i, (shape, record) in enumerate(records):
        node, count = masses[shape.body][0], len(record.points)
        table["shape_wholes"][i] = record.kind, numbers[shape.body, shape.node], node, point, count, shape.group
        table["points"][point : point + count] = record.points
        point += count
        row = table["shapes"][i]
        row[s.TURN : s.TURN + 9] = np.asarray(shape.placement.rotation).reshape(-1)
        row[s.PLACE : s.PLACE + 3] = shape.placement.translation
        row[s.SIZES : s.SIZES + 3], row[s.REACH] = record.sizes, record.reach
        m = shape.material
        row[s.SHAPE_FRICTION], row[s.SHAPE_RESTITUTION], row[s.SHAPE_TIME] = m.friction, m.restitution, m.time_constant
        stated = [system.laws[number - 2].margin for number in set(system.meets[shape.group].tolist()) if number > 1]
        row[s.SHAPE_MARGIN], row[s.SHAPE_DAMPING] = margin_of(m, record.reach), m.damping
        row[s.SHAPE_FARTHEST] = max([row[s.SHAPE_MARGIN], *stated])
        row[s.SHAPE_MASS], row[s.SHAPE_STRENGTH] = masses[shape.body][1], m.strength or 0.0
        if shape.body >= 0:
            out = float(np.linalg.norm(shape.placement.translation)) + record.reach
            body = numbers[shape.body, shape.node]
            table["extent"][body] = max(table["extent"][body], out)
        else:
            table["placed"][i] = [*row[s.TURN : s.TURN + 9], *row[s.PLACE : s.PLACE + 3]]
    table["swept"][:] = np.arange(len(table["swept"]))


def _masses(system: System) -> dict[int, tuple[int, float]]:
    """Node of each body, and that node's mass; the world's is 0."""
    found: dict[int, tuple[int, float]] = {-1: (-1, 0.0)}
    trees: Sequence[Sequence[int]] = [*((body,) for body in system.free), *system.trees]
    for node, tree in enumerate(trees):
        mass = sum(system.model.bodies[i].inertia.mass for i in tree)
        found.update(dict.fromkeys(tree, (node, mass)))
    return found
