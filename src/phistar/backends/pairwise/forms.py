"""Tables over pairs of joint rates of long mechanisms: which sweeps and loops make each, and the data of a robot.

After the sweeps (`steps.py`), a state's numbers are written to a record: rows of a rate's sixteen, then columns,
an array for each component. The loops (`loops.py`, `inverse.py`) work on the record and on scratch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.code.native import Arrays
from phistar.backends.pairwise import inverse
from phistar.backends.pairwise import loops as pairs
from phistar.backends.pairwise.loops import GROUP, ROW, STEP
from phistar.backends.rolled.link_memory import Rooms
from phistar.backends.rolled.tables import Areas
from phistar.model import Model

ROWS, LAYERS, TABLE = "rows", "layers", "table"  # how long an array of scratch is

Fields = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Form:
    """`inputs` after q, the `program` that has the sweeps; of a rate's row the fields and where they begin; by letter
    the fields whose components are columns, and how many; arrays of scratch; the loops, the last of which is called."""

    inputs: tuple[str, ...]
    program: str
    row: Fields
    columns: dict[str, tuple[str, int]]
    scratch: dict[str, str]
    loops: tuple[Callable[..., Any], ...]

    @property
    def fields(self) -> set[str]:
        """Fields of the record."""
        return {name for name, _ in self.row} | {name for name, _ in self.columns.values()}


def _six(letter: str, size: str) -> dict[str, str]:
    return {f"{letter}{i}": size for i in range(6)}


_COMPOSITE = (("h", 0), ("r_h", 6), ("against", 12))
_ELIMINATED = (("h", 0), ("G", 6), ("slope", 12), ("scale", 15))
_SOUGHT = pairs.first_of, pairs.last_of, pairs.end_of, pairs.filled, pairs.left_behind, pairs.put
_PRODUCTS = *_SOUGHT, pairs.groups, pairs.six, pairs.product, pairs.product_and_more, pairs.outer, pairs.mass_row
_UNITS = (
    *(*_SOUGHT, inverse.eliminated, inverse.accelerated, inverse.copied, inverse.begun),
    *(inverse.unit_inward, inverse.unit_outward, inverse.mirrored),
)
_TABLES = (
    *(*_UNITS, inverse.slope, inverse.carried, inverse.added),
    *(inverse.forward_inward, inverse.forward_outward, inverse.forward_tables),
)
_ALL_COLUMNS = {"q": ("start_q", 6), "v": ("start_v", 6), "z": ("turned", 6), "p": ("curve", 6), "s": ("psi_prime", 6)}
_ALL_COLUMNS |= {"w": ("psi_dot", 3), "h": ("h", 3)}
_UNIT_ROOM = _six("e", ROWS) | _six("c", LAYERS) | {"ue": TABLE}
_ROOM = (
    _UNIT_ROOM | _six("f", ROWS) | _six("g", ROWS) | _six("a", LAYERS) | _six("b", LAYERS) | {"uq": TABLE, "uv": TABLE}
)
_FORWARD = "forward_dynamics_derivatives"

FORMS = {
    "mass_matrix": Form(
        (),
        "mass_matrix",
        _COMPOSITE[:2],
        {"h": ("h", 6), "r": ("r_h", 6)},
        {"row": ROWS},
        (*_PRODUCTS, pairs.mass_matrix),
    ),
    "mass_matrix_inverse": Form(
        (),
        "mass_matrix_inverse",
        (_ELIMINATED[0], _ELIMINATED[1], _ELIMINATED[3]),
        {},
        _UNIT_ROOM,
        (*_UNITS, inverse.mass_matrix_inverse),
    ),
    "inverse_dynamics_derivatives": Form(
        ("v", "a"),
        "inverse_dynamics_derivatives",
        _COMPOSITE,
        {"q": ("by_q", 6), "v": ("by_v", 6), "r": ("r_h", 6), "p": ("psi_ddot", 6), "s": ("psi_prime", 6)}
        | {"w": ("psi_dot", 3), "h": ("h", 6)},
        {"row": ROWS},
        (*_PRODUCTS, pairs.inverse_row, pairs.inverse_dynamics_derivatives),
    ),
    "forward_dynamics_derivatives": Form(
        ("v", "tau"), _FORWARD, _ELIMINATED, _ALL_COLUMNS, _ROOM, (*_TABLES, inverse.forward_dynamics_derivatives)
    ),
    "linearize": Form(
        ("v", "tau"), _FORWARD, _ELIMINATED, _ALL_COLUMNS | {"rate": ("v", 1)}, _ROOM, (*_TABLES, inverse.linearize)
    ),
}
"""By the name of the public function."""


@dataclass(frozen=True, eq=False)
class Walk:
    """The rates in an order in which what a joint carries follows it: `steps` (places, STEP) as the loops read them,
    `place` the number of each rate in the robot's order, −1 where none stands, and how many layers of accelerations a
    walk needs."""

    steps: np.ndarray
    place: np.ndarray
    layers: int

    def runs(self) -> list[tuple[int, int, int]]:
        """Stretches where the walk follows the robot's order: from where, how far, and what is first."""
        found: list[tuple[int, int, int]] = []
        for position, rate in enumerate(self.place.tolist()):
            if found and rate >= 0 and position == sum(found[-1][:2]) and rate == found[-1][1] + found[-1][2]:
                found[-1] = found[-1][0], found[-1][1] + 1, found[-1][2]
            elif rate >= 0:
                found.append((position, 1, rate))
        return found


def walked(model: Model) -> Walk:
    """Walk the tree, children in order; the last child goes on with its parent's layer, others with copies. A limb
    begins at a whole group."""
    steps: list[list[int]] = []
    place: list[int] = []
    free: list[int] = []
    ends: dict[int, int] = {}
    last_rate, layer_of, layers = {-1: -1}, {-1: -1}, 0
    waiting = [(k, False) for k, parent in reversed(list(enumerate(model.parents))) if parent < 0]
    while waiting:
        k, is_over = waiting.pop()
        if is_over:
            ends[k] = -(-len(steps) // GROUP) * GROUP
            continue
        parent, joint = model.parents[k], model.joints[k]
        siblings = model.children[parent] if parent >= 0 else ()
        while len(siblings) != 1 and len(steps) % GROUP:
            steps.append([-1] * STEP)
            place.append(-1)
        target = layer_of[parent]
        if not siblings or siblings[-1] != k:
            target, layers = (free.pop(), layers) if free else (layers, layers + 1)
        first, last = len(steps), len(steps) + joint.nv - 1
        steps += [[first, last, k, last_rate[parent] + 1, layer_of[parent], target] for _ in range(joint.nv)]
        place += range(joint.v_slice.start, joint.v_slice.stop)
        last_rate[k], layer_of[k] = last, target
        if not model.children[k]:
            free.append(target)
        waiting += [(k, True), *((child, False) for child in reversed(model.children[k]))]
    whole = -len(steps) % GROUP
    rows = [[first, last, ends.get(k, -1), *others] for first, last, k, *others in [*steps, *[[-1] * STEP] * whole]]
    return Walk(np.array(rows, dtype=float).reshape(-1, STEP), np.array([*place, *[-1] * whole]), layers)


@dataclass(frozen=True, eq=False)
class Record:
    """Where the arrays of a state are, counted in numbers from the start of the record, of scratch and of what is fixed
    for a robot; the place in the links' memory of each number of the record; what is fixed."""

    record: dict[str, int]
    scratch: dict[str, int]
    fixed: dict[str, int]
    places: np.ndarray
    scratch_size: int
    numbers: np.ndarray


Factors = tuple[float, ...]


def record_of(
    form: Form, model: Model, kinds: list[int], areas: Areas, memory: Rooms, factors: Factors = (1.0,) * 3
) -> Record:
    walk = walked(model)
    width, zero = len(walk.place), areas.slot_start  # the slot of no child stays zero
    by_rate = {joint.v_slice.start + i: (k, i) for k, joint in enumerate(model.joints) for i in range(joint.nv)}

    def places(name: str, component: int) -> np.ndarray:
        found = np.full(width, zero, dtype=np.int64)
        for position in np.flatnonzero(walk.place >= 0):
            k, i = by_rate[int(walk.place[position])]
            number = memory.own[kinds[k]].get((name, component * model.joints[k].nv + i))
            found[position] = zero if number is None else int(areas.own[k]) + number
        return found

    rows = np.full((width, ROW), zero, dtype=np.int64)
    for (name, start), end in zip(form.row, [*(start for _, start in form.row[1:]), ROW], strict=True):
        for component in range(min(end - start, 6)):
            rows[:, start + component] = places(name, component)
    parts, record, at = [rows.reshape(-1)], {"rows": 0}, rows.size
    for letter, (name, components) in form.columns.items():
        for component in range(components):
            record[letter if components == 1 else f"{letter}{component}"] = at
            parts.append(places(name, component))
            at += width
    scratch, size = {}, 0
    for name, kind in form.scratch.items():
        scratch[name] = size
        size += width * {ROWS: 1, LAYERS: walk.layers, TABLE: width}[kind]
    fixed, numbers = _fixed(model, walk, factors)
    return Record(record, scratch, fixed, np.concatenate(parts), size, numbers)


def _fixed(model: Model, walk: Walk, factors: Factors = (1.0,) * 3) -> tuple[dict[str, int], np.ndarray]:
    """Sizes, steps, places, runs, armature, the entries of −v~ on quaternion joints, and what results are times."""
    runs, drift = walk.runs(), _drift(model, walk)
    armature = np.concatenate([*(joint.kind.armature_diagonal for joint in model.joints), [0.0]])
    parts = {
        "sizes": np.array([model.nv, len(walk.place), len(runs), len(drift)], dtype=float),
        "steps": walk.steps.reshape(-1),
        "place": walk.place.astype(float),
        "runs": np.array(runs, dtype=float).reshape(-1),
        "armature": armature[walk.place],
        "drift": np.array(drift, dtype=float).reshape(-1),
        "factors": np.array(factors, dtype=float),
    }
    starts = np.concatenate([[0], np.cumsum([len(x) for x in parts.values()])])
    return dict(zip(parts, starts.tolist(), strict=False)), np.concatenate(list(parts.values()))


def whole_numbers(model: Model) -> Arrays:
    """Arrays that decide how often loops compute something: those of `_fixed`, one by one."""
    starts, numbers = _fixed(model, walked(model))
    parts = np.split(numbers, list(starts.values())[1:])
    return Arrays(**dict(zip(starts, parts, strict=True)), strides=np.ones(6))


def _drift(model: Model, walk: Walk) -> list[tuple[int, int, float, int]]:
    """Row, column, sign and rate (where the walk has it) of each entry of −v~ (`derivatives._drift`)."""
    found = []
    at = {int(rate): position for position, rate in enumerate(walk.place)}
    for joint in model.joints:
        if joint.kind.flat:
            continue
        start = joint.v_slice.start
        blocks = [(0, 0, 0)] if joint.nv == 3 else [(0, 0, 0), (3, 3, 0), (3, 0, 3)]
        for down, along, source in blocks:
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
                rate = at[start + source + k]
                found += [
                    (start + down + i, start + along + j, 1.0, rate),
                    (start + down + j, start + along + i, -1.0, rate),
                ]
    return found
