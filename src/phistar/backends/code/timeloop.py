"""A whole rollout as one kernel: the loop over time in machine code, a block of states at once.

A step is made of recorded phases over packed memory (one vector of lanes per number): `control` makes the joint forces,
`stage` is run once per row of the method's weights (y, s ← y, s), `finish` turns s into the next state x and starts the
next step from it. So a Runge-Kutta method is compiled once, not once per stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.code.llvm import Body, declarations, splat
from phistar.backends.code.timeloop_text import loop_text
from phistar.backends.machine.rows import size
from phistar.backends.traces.trace import Tape, Trace, finish

_STATE = ("x", "y", "s")


@dataclass(frozen=True)
class Memory:
    """What a block of states keeps. x, y, s: q and v at the start of a step, in a stage, and summed up; u: the joint
    forces held over a step; clock: t and the step h; gains: the controller's parameters; weights: (α, β) of a stage."""

    nq: int
    nv: int
    gains: int = 0

    @property
    def n(self) -> int:
        return self.nq + self.nv

    @property
    def sizes(self) -> dict[str, int]:
        return {**dict.fromkeys(_STATE, self.n), "u": self.nv, "clock": 2, "gains": self.gains, "weights": 2}

    @property
    def held(self) -> dict[str, int]:
        """Where in %held the numbers of a step start."""
        return {"u": 0, "clock": self.nv, "gains": self.nv + 2}

    @property
    def held_size(self) -> int:
        return self.nv + 2 + self.gains


@dataclass(frozen=True)
class Phase:
    """Recorded instructions with the places, (name, entry), of their inputs and outputs."""

    trace: Trace
    loads: tuple[tuple[str, int], ...]
    stores: tuple[tuple[str, int], ...]


def recorded(memory: Memory, function: Callable[..., Mapping[str, Any]], reads: tuple[str, ...]) -> Phase:
    """function(*arrays named in `reads`) → {name: array}, run on traced numbers."""
    tape, sizes = Tape(), memory.sizes
    arrays = [tape.inputs((sizes[name],)) for name in reads]
    made = {name: np.asarray(value) for name, value in function(*arrays).items()}
    trace = finish(tape, [entry for value in made.values() for entry in value])
    stores = tuple((name, i) for name, value in made.items() for i in range(size(value.shape)))
    return Phase(trace, tuple((name, i) for name in reads for i in range(sizes[name])), stores)


@dataclass(frozen=True)
class PhasePlaces:
    """Places of a phase: %x, %held, what the phase before left in %from, and %to; weights are plain arguments."""

    phase: Phase
    memory: Memory
    lanes: int

    def parameters(self) -> str:
        pointers = ", ".join(f"ptr noalias %{name}" for name in ("x", "from", "to", "held"))
        return f"{pointers}, double %w0, double %w1"

    def lasts(self, number: int) -> bool:
        """Not what a phase replaces, nor weights, which are in no memory."""
        name, entry = self.phase.loads[number]
        if name == "weights":
            return False
        replaced = self.address(name, entry, "from")[0] != "from" and name in {
            stored for stored, _ in self.phase.stores
        }
        return not replaced

    def load(self, target: str, number: int) -> list[str]:
        name, entry = self.phase.loads[number]
        vector = f"<{self.lanes} x double>"
        if name == "weights":
            return [
                f"  %{target}.i = insertelement {vector} poison, double %w{entry}, i32 0",
                f"  %{target} = shufflevector {vector} %{target}.i, {vector} poison, <{self.lanes} x i32> "
                "zeroinitializer",
            ]
        place, offset = self.address(name, entry, "from")
        return [
            f"  %{target}.p = getelementptr i8, ptr %{place}, i64 {offset}",
            f"  %{target} = load {vector}, ptr %{target}.p, align {8 * self.lanes}",
        ]

    def store(self, position: int, value: str) -> list[str]:
        name, entry = self.phase.stores[position]
        place, offset = self.address(name, entry, "to")
        return [
            f"  %o{position}.p = getelementptr i8, ptr %{place}, i64 {offset}",
            f"  store <{self.lanes} x double> {value}, ptr %o{position}.p, align {8 * self.lanes}",
        ]

    def again(self, target: str, position: int) -> list[str]:
        place, offset = self.address(*self.phase.stores[position], "to")
        return [
            f"  %{target}.p = getelementptr i8, ptr %{place}, i64 {offset}",
            f"  %{target} = load <{self.lanes} x double>, ptr %{target}.p, align {8 * self.lanes}",
        ]

    def address(self, name: str, entry: int, stage: str) -> tuple[str, int]:
        """Pointer and offset."""
        width = 8 * self.lanes
        if name in self.memory.held:
            return "held", width * (self.memory.held[name] + entry)
        start = self.memory.n if name == "s" else 0
        return "x" if name == "x" else stage, width * (start + entry)


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
        bodies = {
            name: Body(f"{name}part", phase.trace, PhasePlaces(phase, self.memory, lanes), lanes, fma)
            for name, phase in (("control", self.control), ("stage", self.stage), ("finish", self.finish))
            if phase is not None
        }
        functions = [text for body in bodies.values() for text in body.functions()]
        scratch = max(body.slot_count for body in bodies.values())
        signature = TimeSignature(self.memory, self.control is None)
        swapped = len(self.weights) % 2 == 0  # stages and the finish hand over an odd number of times
        loop = loop_text(signature, self._calls(bodies), swapped, scratch, lanes)
        return "\n".join([declarations(lanes), *functions, loop])

    def _calls(self, bodies: Mapping[str, Body]) -> list[str]:
        """One step; stages and the finish hand over between %y0 and %y1."""
        lines: list[str] = []
        places, rows = ("%y0", "%y1"), [("stage", row) for row in self.weights]
        phases = [*([("control", (0.0, 0.0))] if "control" in bodies else []), *rows, ("finish", (0.0, 0.0))]
        for name, row in phases:
            numbers = ", ".join(splat(weight, 1).strip("<>") for weight in row)
            given = f"ptr %x, ptr {places[0]}, ptr {places[1]}, ptr %held, {numbers}, ptr %scratch"
            lines += bodies[name].calls(given)
            if name != "control":
                places = places[::-1]
        return lines


@dataclass(frozen=True)
class TimeSignature:
    """(nq),(nv),(t)[,(c)][,(g)]->(t,nq),(t,nv): t times, c = (t − 1)·nv joint forces, g gains."""

    memory: Memory
    controls: bool

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
