"""Kernels for long chains and big trees: loops over the links, one traced step per sweep and kind of joint.

The code knows only the kinds of joints that occur; how many links there are, how they hang together and what they weigh
is data. So it compiles in the same time for ten links and for ten thousand, and its memory is linear in the links.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.links import spin_of
from phistar.backends.llvm import Body, declarations
from phistar.backends.rolled_loop import Memory, loop_text
from phistar.backends.steps import CALLS, CONSTANTS, Layout, Place, Step, StepTracer
from phistar.backends.trace import INPUT, restricted
from phistar.model import Model
from phistar.spatial import Pose
from phistar.spatial.value import digest
from phistar.sweeps import ir
from phistar.sweeps.ir import Program


def rollable(program: Program) -> bool:
    """Vectors over the joints in and out, nothing between the sweeps, no task frames."""
    given = all(space == "joints" or name == "a_g" for name, space in program.inputs)
    taken = all(space == "joints" for _, space in program.outputs)
    directed = all(sweep.direction in (ir.INWARD, ir.OUTWARD) for sweep in program.sweeps)
    plain = all(_plain(s.term) for sweep in program.sweeps for s in sweep.statements)
    return given and taken and directed and plain and not program.columns


def _plain(term: ir.Term) -> bool:
    if isinstance(term, ir.FromTask | ir.ToTask | ir.Data) and getattr(term, "name", "") not in ("H", "M", "A", "S"):
        return False
    if isinstance(term, ir.Call) and term.function not in CALLS:
        return False
    return all(_plain(part) for part in ir.subterms(term))


@dataclass(frozen=True, eq=False)
class Rolled:
    """The text of a rolled kernel, and how many operations a link costs in it."""

    text: str
    operations_per_link: int


def kinds_of(model: Model) -> list[Model]:
    """One-body models, one per kind of joint that occurs in an aligned model."""
    found: dict[bytes, Model] = {}
    for body in model.bodies:
        found.setdefault(kind_key(body.joint.kind), _one_body(body))
    return list(found.values())


def kind_key(kind: Any) -> bytes:
    """What the code depends on: the kind and its geometry, not its inertia, limits or friction."""
    shape = [
        (name, getattr(kind, name)) for name in ("axis", "pitch", "axis1", "axis2", "normal") if hasattr(kind, name)
    ]
    return digest(type(kind).__name__, shape)


def _one_body(body: Any) -> Model:
    joint = replace(body.joint, body=0, q_slice=slice(0, body.joint.nq), v_slice=slice(0, body.joint.nv))
    return Model("one", (replace(body, parent=-1, joint=joint, placement=Pose()),), ())


def rolled_text(program: Program, kinds: list[Model], lanes: int, fma: bool) -> Rolled:
    """The module for these kinds of joints; `loop` is the gufunc's inner loop."""
    layout = Layout()
    steps = _traced(program, kinds, layout)
    memory = Memory(
        inputs=tuple(name for name, space in program.inputs if space == "joints"),
        outputs=tuple(name for name, _ in program.outputs),
        own=_offsets(layout.own),
        children=_offsets(layout.children),
        own_size=sum(layout.own.values()),
        children_size=sum(layout.children.values()),
        lanes=lanes,
    )
    functions, calls, slots = [], [], 1
    for number, row in enumerate(steps):
        calls.append([])
        for kind, step in enumerate(row):
            body = Body(f"sweep{number}kind{kind}part", step.trace, LinkPlaces(step, memory), lanes, fma)
            functions += body.functions()
            calls[-1].append(body.calls(memory.arguments()))
            slots = max(slots, body.slot_count)
    directions = [sweep.direction for sweep in program.sweeps]
    loop = loop_text(memory, directions, calls, slots)
    per_link = sum(step.trace.operations for row in steps for step in row[:1])
    return Rolled("\n".join([declarations(lanes), *functions, loop]), per_link)


def _traced(program: Program, kinds: list[Model], layout: Layout) -> list[list[Step]]:
    """Steps by sweep and kind."""
    steps: list[list[Step]] = [[] for _ in program.sweeps]
    for model in kinds:
        tracer = StepTracer(program, model, layout, {})
        for number, sweep in enumerate(program.sweeps):
            later = {name for after in program.sweeps[number + 1 :] for s in after.statements for name in _read(s.term)}
            steps[number].append(tracer.trace(sweep, later))
    return _needed(steps)


_READ_AS = {"own": "own", "parent": "own", "children": "contribution"}


def _needed(steps: list[list[Step]]) -> list[list[Step]]:
    """Steps without what no output needs: of the velocities, for one, only the angular part is ever used."""
    read: set[Place] = set()
    while True:
        kept = [[_only(step, read) for step in row] for row in steps]
        found = {
            (_READ_AS.get(kind, ""), name, entry)
            for row in kept
            for step in row
            for kind, name, entry in (step.loads[number] for op, number, _ in step.trace.code if op == INPUT)
        }
        if found <= read:
            return kept
        read |= found


def _only(step: Step, read: set[Place]) -> Step:
    kept = [i for i, place in enumerate(step.stores) if place[0] == "output" or place in read]
    return Step(restricted(step.trace, kept), step.loads, tuple(step.stores[i] for i in kept))


def _read(term: ir.Term) -> set[str]:
    return ir.fields_anywhere(term)


def _offsets(sizes: dict[str, int]) -> dict[str, int]:
    offsets, total = {}, 0
    for name, count in sizes.items():
        offsets[name] = total
        total += count
    return offsets


@dataclass(frozen=True)
class LinkPlaces:
    """Places of a step in the memory of a block of states."""

    step: Step
    memory: Memory

    def parameters(self) -> str:
        return self.memory.parameters()

    def load(self, target: str, number: int) -> list[str]:
        kind, name, entry = self.step.loads[number]
        lanes = self.memory.lanes
        if kind == "constant":
            return [
                f"  %{target}.p = getelementptr double, ptr %constant, i64 {entry}",
                f"  %{target}.s = load double, ptr %{target}.p, align 8",
                f"  %{target}.i = insertelement <{lanes} x double> poison, double %{target}.s, i32 0",
                f"  %{target} = shufflevector <{lanes} x double> %{target}.i, <{lanes} x double> poison, "
                f"<{lanes} x i32> zeroinitializer",
            ]
        pointer, place = self.address((kind, name, entry))
        return [
            f"  %{target}.p = getelementptr i8, ptr {pointer}, i64 {place}",
            f"  %{target} = load <{lanes} x double>, ptr %{target}.p, align {8 * lanes}",
        ]

    def store(self, position: int, value: str) -> list[str]:
        place = self.step.stores[position]
        pointer, offset = self.address(place)
        lanes = self.memory.lanes
        vector, align = f"<{lanes} x double>", 8 * lanes
        lines = [f"  %o{position}.p = getelementptr i8, ptr {pointer}, i64 {offset}"]
        if place[0] == "contribution":
            lines += [
                f"  %o{position}.o = load {vector}, ptr %o{position}.p, align {align}",
                f"  %o{position}.n = fadd {vector} %o{position}.o, {value}",
            ]
            value = f"%o{position}.n"
        return [*lines, f"  store {vector} {value}, ptr %o{position}.p, align {align}"]

    def address(self, place: Place) -> tuple[str, int]:
        kind, name, entry = place
        memory = self.memory
        start = {
            "own": lambda: ("%own", memory.own[name]),
            "parent": lambda: ("%parent", memory.own[name]),
            "children": lambda: ("%children", memory.children[name]),
            "contribution": lambda: ("%siblings", memory.children[name]),
            "q": lambda: ("%q", 0),
            "flat": lambda: ("%flat", 0),
            "input": lambda: (f"%in{memory.inputs.index(name)}", 0),
            "output": lambda: (f"%out{memory.outputs.index(name)}", 0),
        }[kind]()
        return start[0], 8 * memory.lanes * (start[1] + entry)


def tables(model: Model, kinds: list[Model]) -> list[np.ndarray]:
    """The data of a robot (aligned): counts, then per link its kind, parent, place in q and v, constants; gravity."""
    n = len(model.bodies)
    order = {kind_key(kind.joints[0].kind): number for number, kind in enumerate(kinds)}
    kind_of = np.array([order[kind_key(body.joint.kind)] for body in model.bodies], dtype=np.int64)
    parents = np.array([p if p >= 0 else n for p in model.parents], dtype=np.int64)
    q_start = np.array([joint.q_slice.start for joint in model.joints], dtype=np.int64)
    v_start = np.array([joint.v_slice.start for joint in model.joints], dtype=np.int64)
    constants = np.zeros((n, CONSTANTS))
    for k, body in enumerate(model.bodies):
        armature = body.joint.kind.armature_diagonal
        constants[k, :9] = body.placement.rotation.reshape(-1)
        constants[k, 9:12] = body.placement.translation
        constants[k, 12:22] = body.inertia.parameters
        constants[k, 22 : 22 + len(armature)] = armature
        constants[k, 28 : 28 + len(armature)] = spin_of(body.joint.kind)
        constants[k, -1] = body.parent < 0
    counts = np.array([n, model.nq, model.nv], dtype=np.int64)
    gravity = np.concatenate([np.zeros(3), -model.gravity])
    return [counts, kind_of, parents, q_start, v_start, constants, gravity]
