"""A plant at work: its engine at a state, driven by commands, step by step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.constraints import columns as c
from phistar.errors import PhistarError, ShapeError
from phistar.model import Free, Model
from phistar.plant.actuators import Actuator
from phistar.plant.batch_loop import ENTRIES, LINE_AT, LINE_ROOM
from phistar.plant.body_motions import BodyMotions
from phistar.plant.commands import Commands
from phistar.plant.engine import Engine, System
from phistar.plant.fields import Field, generalized_forces
from phistar.plant.step_loop import DIVERGED, STUCK
from phistar.plant.tendon_rows import tendon_jacobian
from phistar.short_repr import short_repr


@short_repr
class PlantState(NamedTuple):
    """q (nq,), v (nv,), and what contacts and rows remember, which belongs to the plant."""

    q: Array
    v: Array
    memory: tuple[np.ndarray, ...] = ()


class Diverged(PhistarError):
    """A step whose result is no state."""


class Stuck(Diverged):
    """Shapes that no step keeps apart, however short."""


class Session:
    """An engine with the actuators that drive it."""

    def __init__(
        self, system: System, actuators: tuple[Actuator, ...], name: str, fields: tuple[Field, ...] = ()
    ) -> None:
        self.engine, self.actuators, self.name = Engine(system, actuators=actuators), actuators, name
        self.fields = fields
        self.drag = _free_damping(system.model)
        self.engine.tables["drag"][: len(self.drag)] = self.drag
        self.is_pushed = bool(fields) or bool(self.drag.any())  # from outside, by what Python evaluates
        self.model, self.commands = system.model, Commands(actuators, system.model, name)
        self._last: PlantState | None = None
        self._driven: Array | None = None  # forces without fields, which follow the state
        self._time, self.told_one_by_one = 0.0, False
        self.late = max((actuator.delay for actuator in actuators), default=0.0)

    def resume(self, state: PlantState) -> None:
        """Goes on from a state: at once where it is the last that was given out."""
        if state is not self._last:
            self.load(state)

    def load(self, state: PlantState, known: bool = False) -> None:
        """The engine at a state, with what contacts remembered there; one that is `known` was checked, or made here."""
        engine, self._last = self.engine, None
        state = state if known else self.check_state(state)
        engine.batch[LINE_AT] = -1
        engine.load(state.q, state.v)
        if not state.memory:
            return
        wholes, floats, rows, line, *exact = state.memory
        count = len(wholes)
        while count > engine.counts[c.ROOM]:
            engine.grow()
        engine.tables["contact_wholes"][:count, :2] = wholes
        engine.tables["contacts"][:count] = floats
        engine.tables["rows"][:, c.MEMORY] = rows
        engine.counts[c.CONTACTS], engine.numbers[c.SETTLED] = count, 1.0
        if len(line):
            self._make_line(len(line))
            room = int(engine.batch[LINE_ROOM])
            engine.tables["line"].reshape(room, -1)[:] = np.concatenate(
                [np.repeat(line[:1], room - len(line), 0), line]
            )
            engine.batch[LINE_AT] = room - 1
        if exact and np.array_equal(exact[2], state.q) and np.array_equal(exact[3], state.v):
            engine.set_exact(*exact[:2])

    def check_state(self, state: Any) -> PlantState:
        """A state that may have been made by hand: of this plant, its quaternions of length one; else a sentence."""
        if not isinstance(state, PlantState):
            raise ShapeError(
                f"A state of the plant '{self.name}' was expected, plant.state(…) or what a step returned; it is of "
                f"type {type(state).__name__}."
            )
        model = self.model
        q, v = model.checked_q(state.q, "the state's q"), model.checked(state.v, model.nv, "the state's v")
        if q.ndim != 1 or v.ndim != 1:
            raise ShapeError("A plant's state is one state: q (nq,) and v (nv,).")
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise ShapeError(f"A state of the plant '{self.name}' has entries that are no finite numbers.")
        if state.memory and not self._fits(state.memory):
            raise ShapeError(
                "The state's memory of contacts is not of this plant; plant.state(state.q, state.v) has none."
            )
        return PlantState(q, v, state.memory)

    def _fits(self, memory: Any) -> bool:
        """Whether contacts, rows and commands that are remembered are as many and as long as this plant's."""
        table, width = self.engine.tables, max(int(self.engine.batch[ENTRIES]), 1)
        lengths = 4, 4 + len(self._exact_shapes)
        if (
            not isinstance(memory, tuple)
            or len(memory) not in lengths
            or not all(isinstance(x, np.ndarray) for x in memory)
        ):
            return False
        wholes, line = memory[0], memory[3]
        count, shapes = len(wholes), len(self.engine.shape_names)
        known = wholes.dtype.kind == "i" and not ((wholes < 0) | (wholes >= shapes)).any()
        sizes = (count, 2), (count, c.CONTACT_FLOATS), table["rows"][:, c.MEMORY].shape, (len(line), width)
        return known and tuple(x.shape for x in memory) == (*sizes, *self._exact_shapes)[: len(memory)]

    @property
    def _exact_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the arrays that resume a state bit for bit: `Engine.exact`, q and v."""
        rows, swept = self.engine.exact()
        return rows.shape, swept.shape, (self.model.nq,), (self.model.nv,)

    def state(self) -> PlantState:
        """Current state, to resume from at any time."""
        engine = self.engine
        count, table = int(engine.counts[c.CONTACTS]), engine.tables
        memory = (
            table["contact_wholes"][:count, :2],
            table["contacts"][:count],
            table["rows"][:, c.MEMORY],
            self._line(),
        )
        q, v = engine.q[: self.model.nq].copy(), engine.v[: self.model.nv].copy()
        for array in (q, v):
            array.flags.writeable = False  # what is changed by hand is another state
        exact = (*engine.exact(), q, v) if engine.counts[c.READY] else ()  # before a first step there is but q and v
        self._last = PlantState(q, v, (*(x.copy() for x in memory), *exact))
        return self._last

    def forget(self) -> None:
        """The state that was given out last is no longer the present one."""
        self._last = None

    def advance(self, h: float) -> None:
        """Take one step; raise if it fails."""
        engine, self._last = self.engine, None
        self.act_fields(h)
        engine.step(h)
        failed = engine.counts[c.FAILED]
        if failed >= DIVERGED:
            raise Diverged(f"The plant '{self.name}' diverged: its rates are no numbers any more. Take a shorter step.")
        if failed >= STUCK:
            raise Stuck(f"The shapes of the plant '{self.name}' cannot be kept apart, however short the step.")

    def _line(self) -> Array:
        """Commands still in transit and the last one, the oldest first; none before the first."""
        batch = self.engine.batch
        ring = self.engine.tables["line"].reshape(int(batch[LINE_ROOM]), -1)
        return np.roll(ring, -1 - int(batch[LINE_AT]), axis=0) if batch[LINE_AT] >= 0 else ring[:0]

    def _make_line(self, room: int) -> None:
        engine, old = self.engine, self._line()
        if room > engine.batch[LINE_ROOM]:
            width = max(int(engine.batch[ENTRIES]), 1)
            made = np.zeros((room, width))
            if len(old):
                made[: room - len(old)], made[room - len(old) :] = old[:1], old
                engine.batch[LINE_AT] = room - 1
            engine.tables["line"] = made.reshape(-1)
            engine.batch[LINE_ROOM] = room
            engine.bind()

    def check_line(self, h: float) -> None:
        """Room for the commands that are on their way; delays must be whole numbers of steps."""
        if self.late > 0.0:
            for actuator in self.actuators:
                if abs(actuator.delay / h - round(actuator.delay / h)) > 1e-6:
                    raise PhistarError(
                        f"The actuator '{actuator.name}' acts {actuator.delay:g} s late; a whole number of steps of "
                        f"{h:g} s was expected."
                    )
            self._make_line(round(self.late / h) + 1)

    def drive(self, command: Any, force: Any = None, h: float = 0.002, time: float = 0.0) -> None:
        """The command and outer forces (nv,) of the steps that follow, until the next, after h seconds."""
        told = self.commands.of(command)
        self.push(told, None if force is None else self.model.checked(force, self.model.nv, "force"), h, time)

    def push(self, command: Array, force: Array | None, h: float, time: float) -> None:
        """`drive` by a command (nu,) and outer forces (nv,) that are known to be such."""
        engine, table = self.engine, self.engine.tables
        table["outer"][:] = 0.0
        if force is not None:
            table["outer"][: self.model.nv] = force
        if self.actuators:
            self.check_line(h)
            engine.numbers[c.LENGTH] = h
            table["command"][: len(command)] = command  # of locked joints alone there is nothing to tell
        engine.drive()
        self._driven, self._time = engine.force.copy(), time

    def act_fields(self, h: float, time: float | None = None) -> None:
        """Fields and the drag of free bodies as they are at the start of a step of h seconds; by default at the time of
        the last command."""
        if not self.is_pushed:
            return
        engine, model = self.engine, self.model
        if self._driven is None:
            self._driven = engine.force.copy()
        q, v = engine.q[: model.nq].copy(), engine.v[: model.nv].copy()
        engine.force[:] = self._driven
        engine.force[: model.nv] -= self.drag * v
        if self.fields:
            bodies = BodyMotions(model, self._time if time is None else time, q, v, h)
            engine.force[: model.nv] += generalized_forces(self.fields, bodies)

    def forces(self, step: float, tau: Array) -> None:
        """Write the actuators' forces in the last step, (nv,), to `tau`; `step` is the length of its last part."""
        tau[:] = 0.0
        if self._driven is not None:
            tau[:] = self._driven[: len(tau)] - self.engine.tables["outer"][: len(tau)]
        row = 0
        for actuator in self.actuators:
            if actuator.has_row:
                force = self.engine.tables["rows"][row, c.ROW_IMPULSE] / step
                if actuator.rate >= 0:
                    tau[actuator.rate] += force
                else:
                    tau += force * tendon_jacobian(self.engine.tables, actuator.coordinate, len(tau))
                row += 1


def _free_damping(model: Model) -> Array:
    """(nv,): damping of the joints of floating bodies and bases, which acts from outside; 0 at other rates."""
    made = np.zeros(model.nv)
    for joint, parent in zip(model.joints, model.parents, strict=True):
        if parent < 0 and isinstance(joint.kind, Free):
            made[joint.v_slice] = joint.kind.damping
    return made
