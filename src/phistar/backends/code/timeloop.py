"""A whole rollout as one kernel: the loop over time in machine code, a block of states at once.

A step is made of recorded phases over packed memory (one vector of lanes per number): `control` makes the joint forces,
`stage` is run once per row of the method's weights (y, s ← y, s), `finish` turns s into the next state x and starts the
next step from it. So a Runge-Kutta method is compiled once, not once per stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from phistar.backends.code.memory_places import ARGUMENT, MemoryPlaces, Spot
from phistar.backends.code.sincos import turning_module
from phistar.backends.code.state_loop import entry
from phistar.backends.code.straight_line import Body
from phistar.backends.kernels import F64, Code, Func, Local, Module, Value, copy_function, llvm_text
from phistar.backends.machine.jit import size
from phistar.backends.traces.trace import Tape, Trace, finish


@dataclass(frozen=True)
class TimeArray:
    """An array of a rollout: its place, the bytes from state to state, from time to time, and between its entries."""

    base: Local
    state: Local
    step: Local
    entry: Local


@dataclass(frozen=True)
class TimeArrays:
    """Numbers of states and steps, and the arrays by name."""

    states: Local
    steps: Local
    arrays: dict[str, TimeArray]


def time_arrays(code: Code, signature: TimeSignature, rates: Local | int) -> TimeArrays:
    """Addresses and strides of the arrays as NumPy passes them; a step advances one entry of the times, and `rates`
    entries of the joint forces or other inputs of each step."""
    names, found = [*signature.names, "qs", "vs"], {}
    dimensions, steps = code["dimensions"], code["steps"]
    position = len(names)
    for number, name in enumerate(names):
        base, state = code["args"].at(number).load(kind=F64.to), steps.at(number).load()
        first = steps.at(position).load()
        position += 1
        if name in ("qs", "vs"):
            found[name] = TimeArray(base, state, first, steps.at(position).load())
            position += 1
        else:
            found[name] = TimeArray(base, state, first * rates if name == "c" else first, first)
    times = dimensions.at(1 + signature.dimensions.index("t")).load()
    return TimeArrays(dimensions.load(), times - 1, found)


def rooms_of(code: Code, memory: Memory, scratch: int, lanes: int) -> tuple[dict[str, Local], dict[str, Local]]:
    """Memory for a block of states, by name, and the places of the numbers of a step in it."""
    rooms = {"x": memory.n, "y": 2 * memory.n, "z": 2 * memory.n, "held": memory.held_size, "scratch": scratch}
    places = {name: code.room(max(n, 1) * lanes, 8 * lanes) for name, n in rooms.items()}
    return places, {name: places["held"].at(lanes * start) for name, start in memory.offsets.items()}


def loop_functions(
    signature: TimeSignature, step: Callable[[Code, dict[str, Local], Local], None], scratch: int, lanes: int
) -> list[Func]:
    """`loop` and what it calls; `step` writes the step of a number."""
    memory, code = signature.memory, entry()
    room, count = memory.input_part
    given = time_arrays(code, signature, count)
    places, held = rooms_of(code, memory, scratch, lanes)
    sizes = {"q": memory.nq, "v": memory.nv}
    last = given.states - 1

    with code.loop(0, given.states, lanes) as first:

        def copy(function: str, name: str, size: int, place: Local, at: Local | int = 0) -> None:
            x = given.arrays[name]
            base = x.base if isinstance(at, int) else x.base.bytes(at * x.step)
            code.call(function, base, x.state, x.entry * size, x.entry, size, size, place, first, last)

        for name, start in (("q", 0), ("v", memory.nq)):
            for place, more in (("x", 0), ("y", 0), ("y", memory.n)):
                copy("pack", name, sizes[name], places[place].at(lanes * (start + more)))
            copy("unpack", f"{name}s", sizes[name], places["x"].at(lanes * start))
        if memory.gains:
            copy("pack", "g", memory.gains, held["gains"])
        with code.loop(0, given.steps) as k:
            set_clock(code, given.arrays["t"], k, held["clock"], lanes, first, last)
            if signature.controls:
                copy("pack", "c", count, held[room], k)
            step(code, places, k)
            for name, start in (("q", 0), ("v", memory.nq)):
                copy("unpack", f"{name}s", sizes[name], places["x"].at(lanes * start), k + 1)
    return [*(copy_function(name, lanes, placed=False) for name in ("pack", "unpack")), code.function]


def set_clock(code: Code, t: TimeArray, k: Local, clock: Local, lanes: int, first: Local, last: Local) -> None:
    """The time at which step k begins and the step's length, which mostly are those of all states."""

    def store(times: Callable[[Local], Local]) -> None:
        now, then = times(t.base.bytes(k * t.step)), times(t.base.bytes((k + 1) * t.step))
        store_clock(clock, now, then, lanes)

    def each(place: Local) -> Local:
        states = [(first + lane < last).select(first + lane, last) for lane in range(lanes)]
        return code.gather([place.bytes(state * t.state).load() for state in states])

    code.branch(t.state.same(0), lambda: store(lambda place: place.load().every(lanes)), lambda: store(each))


def store_clock(clock: Local, now: Local, then: Local, lanes: int) -> None:
    """Store the start and the length of a step, for times in all lanes."""
    clock.store(now, 8 * lanes)
    clock.at(lanes).store(then - now, 8 * lanes)


_STATE = ("x", "y", "s")


@dataclass(frozen=True)
class Memory:
    """Memory of a block of states. x, y, s: q and v at the start of a step, in a stage, and summed up; u: the joint
    forces held over a step; clock: t and the step h; gains: the controller's parameters; row: its inputs at each step;
    noted: what it leaves for the finish, which must not read the x that it writes; weights: (α, β)."""

    nq: int
    nv: int
    gains: int = 0
    row: int = 0
    noted: int = 0

    @property
    def n(self) -> int:
        return self.nq + self.nv

    @property
    def sizes(self) -> dict[str, int]:
        held = {"u": self.nv, "clock": 2, "gains": self.gains, "row": self.row, "noted": self.noted}
        return {**dict.fromkeys(_STATE, self.n), **held, "weights": 2}

    @property
    def offsets(self) -> dict[str, int]:
        """Offsets in `held` of the numbers of a step."""
        sizes = {"u": self.nv, "clock": 2, "gains": self.gains, "row": self.row, "noted": self.noted}
        return {name: sum(list(sizes.values())[:k]) for k, name in enumerate(sizes)}

    @property
    def held_size(self) -> int:
        return self.nv + 2 + self.gains + self.row + self.noted

    @property
    def input_part(self) -> tuple[str, int]:
        """Name and size of the part filled from an array at each step."""
        return ("row", self.row) if self.row else ("u", self.nv)


@dataclass(frozen=True)
class Phase:
    """Recorded instructions with the places, (name, entry), of their inputs and outputs."""

    trace: Trace
    loads: tuple[tuple[str, int], ...]
    stores: tuple[tuple[str, int], ...]


def record(memory: Memory, function: Callable[..., Mapping[str, Any]], reads: tuple[str, ...]) -> Phase:
    """function(*arrays named in `reads`) → {name: array}, run on traced numbers."""
    tape, sizes = Tape(), memory.sizes
    arrays = [tape.inputs((sizes[name],)) for name in reads]
    made = {name: np.asarray(value) for name, value in function(*arrays).items()}
    trace = finish(tape, [entry for value in made.values() for entry in value])
    stores = tuple((name, i) for name, value in made.items() for i in range(size(value.shape)))
    return Phase(trace, tuple((name, i) for name in reads for i in range(sizes[name])), stores)


def phase_places(phase: Phase, memory: Memory, lanes: int) -> MemoryPlaces:
    """Places of a phase: x, held, what the phase before left in `from`, and `to`; weights are plain arguments. What a
    phase replaces does not last, nor do weights, which are in no memory."""
    replaced, width = {name for name, _ in phase.stores}, 8 * lanes

    def spot(name: str, entry: int, stage: str) -> Spot:
        if name == "weights":
            return Spot(f"w{entry}", 0, ARGUMENT, lasts=False)
        if name in memory.offsets:
            return Spot("held", width * (memory.offsets[name] + entry), lasts=stage == "to" or name not in replaced)
        start, place = memory.n if name == "s" else 0, "x" if name == "x" else stage
        return Spot(place, width * (start + entry), lasts=place != "x" or stage == "to" or name not in replaced)

    pointers = [Value(name, F64.to) for name in ("x", "from", "to", "held")]
    loads, stores = (
        [spot(*x, stage) for x in places] for places, stage in ((phase.loads, "from"), (phase.stores, "to"))
    )
    given = (*pointers, Value("w0", F64), Value("w1", F64))
    return MemoryPlaces(given, loads, stores, lanes, frozenset(str(x.name) for x in pointers))


def phase_body(name: str, phase: Phase, memory: Memory, lanes: int, fma: bool) -> Body:
    """The functions of a phase."""
    return Body(f"{name}part", phase.trace, phase_places(phase, memory, lanes), lanes, fma)


def most_slots(bodies: Mapping[str, Body]) -> int:
    """Number of vectors that the functions lay aside."""
    return max(body.slot_count for body in bodies.values())


def write_phase(
    code: Code, body: Body, places: Mapping[str, Local], passed: tuple[Local, Local], weights: tuple[float, float]
) -> None:
    """Calls of a phase's functions: what the phase before left is in the first of `passed`, what it leaves goes to the
    second."""
    for part in body.names:
        code.call(part, places["x"], *passed, places["held"], *map(code.number, weights), places["scratch"])


@dataclass(frozen=True)
class TimeLoop:
    """All of a rollout: `control` is None where the joint forces come from an array."""

    memory: Memory
    stage: Phase
    finish: Phase
    control: Phase | None
    weights: tuple[tuple[float, float], ...]

    @property
    def operations(self) -> int:
        """Arithmetic instructions per step."""
        own = 0 if self.control is None else self.control.trace.operations
        return own + len(self.weights) * self.stage.trace.operations + self.finish.trace.operations

    def text(self, lanes: int, fma: bool) -> str:
        """The whole module; `loop` is the gufunc's inner loop."""
        bodies = self.bodies(lanes, fma)
        signature = TimeSignature(self.memory, self.control is None or self.memory.row > 0)
        step = partial(self.write_step, bodies=bodies)
        loop = Module(tuple(loop_functions(signature, step, most_slots(bodies), lanes)))
        return llvm_text(turning_module(lanes).with_(*(body.module() for body in bodies.values()), loop))

    def bodies(self, lanes: int, fma: bool) -> dict[str, Body]:
        """The functions of its phases."""
        phases = {"control": self.control, "stage": self.stage, "finish": self.finish}
        return {
            name: phase_body(name, phase, self.memory, lanes, fma)
            for name, phase in phases.items()
            if phase is not None
        }

    def write_step(self, code: Code, places: Mapping[str, Local], k: Local, bodies: Mapping[str, Body]) -> None:
        """One step; stages and the finish hand over between y and z, an odd number of times where the next step begins
        with the other one."""
        y, z = places["y"], places["z"]
        if len(self.weights) % 2 == 0:
            even = (k & 1).same(0)
            y, z = even.select(y, z), even.select(z, y)
        rows = [("stage", row) for row in self.weights]
        for name, row in [*([("control", (0.0, 0.0))] if "control" in bodies else []), *rows, ("finish", (0.0, 0.0))]:
            write_phase(code, bodies[name], places, (y, z), row)
            if name != "control":
                y, z = z, y


@dataclass(frozen=True)
class TimeSignature:
    """(nq),(nv),(t)[,(c)][,(g)]->(t,nq),(t,nv): t times, c = (t − 1)·nv joint forces or (t − 1)·row, g gains."""

    memory: Memory
    controls: bool
    kind: str = "f64"

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs."""
        return ("q", "v", "t", *(["c"] if self.controls else []), *(["g"] if self.memory.gains else []))

    @property
    def inputs(self) -> tuple[str, ...]:
        size = {"q": str(self.memory.nq), "v": str(self.memory.nv), "g": str(self.memory.gains)}
        return tuple(size.get(name, name) for name in self.names)

    @property
    def outputs(self) -> tuple[tuple[str, str], ...]:
        return ("t", str(self.memory.nq)), ("t", str(self.memory.nv))

    @property
    def text(self) -> str:
        left = ",".join(f"({n})" for n in self.inputs)
        return f"{left}->{','.join(f'({a},{b})' for a, b in self.outputs)}"

    @property
    def dimensions(self) -> list[str]:
        """The distinct core dimensions in the order in which NumPy hands their sizes to the inner loop."""
        return list(dict.fromkeys([*self.inputs, *(n for shape in self.outputs for n in shape)]))
