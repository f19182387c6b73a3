"""The tables of a plant's step, filled for one model, and the compiled step on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.machine.jit import host
from phistar.backends.native_door import bind_call
from phistar.constraints import columns as c
from phistar.contact.surface import Surface
from phistar.geometry import shape_columns as s
from phistar.geometry.shape_records import PlacedShape, record_of
from phistar.model import Free, Model
from phistar.plant.actuators import Actuator, drive_tables
from phistar.plant.batch_loop import DRIVE_ONLY, LANES, MODE, SERVES, STEP_ONLY
from phistar.plant.course_columns import ENDED, NO_ROOM
from phistar.plant.engine_tables import engine_tables, note_entries, sized_tables
from phistar.plant.loop_rows import looped_bodies
from phistar.plant.no_long_trees import without_long_trees
from phistar.plant.rate_order import RateOrder
from phistar.plant.scene_batch import no_scenes
from phistar.plant.scene_lanes import SceneLanes
from phistar.plant.single_rows import SingleRow
from phistar.plant.stations import WORLD, Place, carrying_nodes, places_of
from phistar.plant.tendon_rows import TendonRow, tendon_bodies
from phistar.plant.tendons import Tendon
from phistar.plant.tree_moves import TreeMoves


@dataclass(frozen=True)
class System:
    """A model with shapes that may touch, which groups of them meet (g, g), tendons, and rows on its rates and theirs.

    Where groups meet there is a 1: their materials make the law; 2 and more is the number of a law that is stated, in
    `laws`, plus 2.
    """

    model: Model
    shapes: tuple[PlacedShape, ...]
    meets: np.ndarray
    rows: tuple[SingleRow | TendonRow, ...] = ()
    laws: tuple[Surface, ...] = ()
    tendons: tuple[Tendon, ...] = ()

    @cached_property
    def free(self) -> tuple[int, ...]:
        """Bodies that are free and carry nothing."""
        model = self.model
        held = looped_bodies(model) | tendon_bodies(model, self.tendons)
        held |= {i for i, body in enumerate(model.bodies) if body.modes}
        alone = [i for i, up in enumerate(model.parents) if up < 0 and not model.children[i] and i not in held]
        return tuple(i for i in alone if isinstance(model.joints[i].kind, Free))

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Everything that moves as one: bodies, and nodes of bodies that bend, in the step's order."""
        return places_of([*self.free, *(body for tree in self.trees for body in tree)], carrying_nodes(self))

    @cached_property
    def numbers(self) -> dict[Place, int]:
        """The step's number of each place; the world is −1."""
        return {WORLD: -1} | {place: number for number, place in enumerate(self.places)}

    @cached_property
    def trees(self) -> tuple[tuple[int, ...], ...]:
        """The bodies of every other tree."""
        root: list[int] = []
        for body, parent in enumerate(self.model.parents):
            root.append(body if parent < 0 else root[parent])
        free = set(self.free)
        return tuple(
            tuple(i for i, top in enumerate(root) if top == body) for body in dict.fromkeys(root) if body not in free
        )


class Engine:
    """One plant's tables. It holds the state between steps, for one thread at a time."""

    def __init__(self, system: System, checked: bool = False, actuators: Sequence[Actuator] = ()) -> None:
        self.system, self.checked = system, checked
        self.tables = engine_tables(system) | drive_tables(actuators, system.model.nv) | no_scenes()
        places = len(self.tables["q"])
        self._state = np.zeros(places + len(self.tables["rates"]))  # q and v, kept in one copy
        self.tables["q"], self.tables["rates"] = self._state[:places], self._state[places:]
        self.moves = TreeMoves(
            system.model, system.trees, self.tables, len(system.free), len(system.rows), carrying_nodes(system)
        )
        flat = sorted(system.shapes, key=lambda shape: record_of(shape.shape).kind == s.HALFSPACE)
        self.shape_names = tuple(shape.name for shape in flat)
        self._kept = self._state.copy()
        self._kept_rows = self.tables["rows"][:, c.MEMORY].copy()
        self._remembers = bool(self.tables["counts"][c.ROWS])
        self._lanes: SceneLanes | None = None
        self.tangents: Any = None  # the derivative of its step, once it was asked for
        self.bind()

    @cached_property
    def rate_order(self) -> RateOrder:
        """Order of the rates in the model and among each other."""
        return RateOrder.of(self)

    def bind(self) -> None:
        t = self.tables
        self.serve, self.batch = bind_call(self._loops, t, {}, self.checked), t["batch"]
        self.q, self.v, self.force = t["q"], t["rates"], t["force"]
        self.counts, self.numbers = t["counts"], t["numbers"]

    def load(self, q: np.ndarray, v: np.ndarray) -> None:
        """A state without memory of contacts; of a plant that has none, tables keep their one entry."""
        self.q[: len(q)], self.v[: len(v)] = q, v
        self.counts[c.READY] = self.counts[c.CONTACTS] = 0
        self.numbers[c.SETTLED] = 0.0
        self.tables["rows"][:, c.MEMORY] = 0.0

    def step(self, h: float) -> None:
        """The state after h. Room for contacts grows ahead of need; where a step needs more than twice as much at once,
        it is repeated, without the bristles of the one before."""
        self.numbers[c.LENGTH], self.batch[MODE] = h, STEP_ONLY
        self._keep()
        self._run()
        if 2 * self.counts[c.CONTACTS] > self.counts[c.ROOM]:
            self.grow()

    def serve_step(self, h: float) -> None:
        """A step where there is room for all, from a state that the tables hold whole."""
        self.numbers[c.LENGTH], self.batch[MODE] = h, STEP_ONLY
        self.serve()
        self.check()

    def serve_course(self, mode: int) -> None:
        """A course, as `course` and `course_wholes` say, or one in samples. Room for contacts grows where need be."""
        wholes = self.tables["course_wholes"]
        wholes[ENDED] = NO_ROOM
        while wholes[ENDED] == NO_ROOM:
            self.batch[MODE] = mode
            self.serve()
            self.counts[c.JOINS] = 0
            self.check()
            if self.counts[c.FULL] or wholes[ENDED] == NO_ROOM or 2 * self.counts[c.CONTACTS] > self.counts[c.ROOM]:
                self.grow()

    def look(self, h: float) -> None:
        """The contacts that may act within h, with their gaps and rates, of the state as it stands."""
        self.numbers[c.LENGTH], self.counts[c.LOOKING], self.batch[MODE] = h, 1, STEP_ONLY
        self._keep()
        self.counts[c.READY] = 0
        try:
            self._run()
        finally:
            self.counts[c.LOOKING] = 0

    def _keep(self) -> None:
        """Save the state, in case the step is repeated."""
        self._kept[:] = self._state
        if self._remembers:
            self._kept_rows[:] = self.tables["rows"][:, c.MEMORY]

    def _run(self) -> None:
        self.serve()
        if self.moves.error is not None:
            self.check()
        while self.counts[c.FULL]:
            self.grow()
            self._state[:] = self._kept
            self.tables["rows"][:, c.MEMORY] = self._kept_rows
            self.counts[c.READY] = self.counts[c.CONTACTS] = 0
            self.serve()
            self.check()

    def through_scenes(self, count: int, scenes: Mapping[str, np.ndarray]) -> None:
        """So many scenes, whose tables these are, through their steps: in lanes, where there are enough of them, and
        where all that a step asks is there in lanes."""
        table = {**self.tables, **scenes}
        if count >= host().lanes and SceneLanes.possible(self.moves, self.tables):
            if self._lanes is None:
                self._lanes = SceneLanes(self.moves, table)
            self.batch[LANES] = self._lanes.lanes
            self._lanes.run(table)
        else:
            self.batch[LANES] = 1
            bind_call(self._loops, table, {}, self.checked)()
            self.check()

    @property
    def _loops(self) -> Sequence[Callable[..., Any]]:
        return SERVES if self.tables["counts"][c.LONG_TREES] else without_long_trees(SERVES)

    def drive(self) -> None:
        """The forces and servos of `command` and `outer`, for the next step."""
        self.batch[MODE] = DRIVE_ONLY
        self.serve()

    def check(self) -> None:
        """Raise the error of a function that is no kernel."""
        if self.moves.error is not None:
            error, self.moves.error, self.counts[c.FULL] = self.moves.error, None, 0
            raise error

    def exact(self) -> tuple[np.ndarray, np.ndarray]:
        """(f, 22): centres, orientations and rates of free bodies as the step holds them, which q and v only round; and
        the order of the shapes."""
        t, count = self.tables, len(self.system.free)
        rates = t["before"][: 6 * count].reshape(-1, 6)
        parts = [t["center"][:count], t["quaternion"][:count], t["rotation"][:count], rates]
        return np.concatenate(parts, axis=-1), t["swept"].copy()

    def set_exact(self, rows: np.ndarray, swept: np.ndarray) -> None:
        """Restore the result of `exact`, to continue bit for bit."""
        t, count = self.tables, len(self.system.free)
        t["center"][:count], t["quaternion"][:count] = rows[:, :3], rows[:, 3:7]
        t["rotation"][:count], t["before"][: 6 * count] = rows[:, 7:16], rows[:, 16:].reshape(-1)
        t["swept"][:], self.counts[c.READY] = swept, 2

    def grow(self) -> None:
        grown = sized_tables(self.system, 2 * int(self.counts[c.ROOM]))
        for name, array in grown.items():
            old = self.tables[name]
            array[: len(old)] = old
            self.tables[name] = array
        self.counts[c.ROOM] *= 2
        self.counts[c.ROOM_BLOCKS] *= 2
        self.counts[c.FULL] = 0
        note_entries(self.system, self.tables)
        self.bind()
