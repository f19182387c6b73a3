"""One link's work in one sweep, traced once per kind of link: what a long chain repeats.

A step reads the link's constants from a table, its own fields, what its parent passes on (outward) and what its
children have sent (inward); it writes its own fields and what neighbours read. Everything is a place in memory, named
here and addressed in `link_memory.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.links import moves
from phistar.backends.links import values as link
from phistar.backends.links.formulas import FORMULAS
from phistar.backends.links.link_frames import ROOT, SCREW
from phistar.backends.links.values import Links
from phistar.backends.programs.blocks import Block, BlockDomain, block_times, block_transposed
from phistar.backends.programs.body_axes import AXES, MOVED
from phistar.backends.rolled.plan import Plan, accumulator, gathered, total
from phistar.backends.traces.trace import CONST, COS, INPUT, SIN, Scalar, Tape, Trace, finish
from phistar.model import Helical, Model, Prismatic
from phistar.sweeps import ir
from phistar.sweeps.evaluate import evaluate_sweep
from phistar.sweeps.ir import Statement, Sweep, Term

# Where the constants of a link are in its row: a screw (with its pitch) and the inertia fill the first sixteen.
PLACING, PITCH, INERTIA, PLACING_MORE, PITCH_MORE, ARMATURE, SPIN, BODY, CONSTANTS = 0, 5, 6, 16, 22, 23, 29, 35, 47

Place = tuple[str, Any, int]
"""(memory, name, entry): "constant", "own", "parent", "passed", "passing", "children", "siblings", "kept", "task",
"flat", "total"."""

TURNS = "sin cos"


@dataclass(frozen=True, eq=False)
class Kind:
    """A joint (as a model of one body) and how its link is placed in its parent."""

    model: Model
    role: str
    key: bytes


@dataclass(frozen=True)
class Step:
    """A traced step: `loads[number]` and `stores[position]` are places."""

    trace: Trace
    loads: tuple[Place, ...]
    stores: tuple[Place, ...]


class StepTape(Tape):
    """Sines and cosines are computed in one sweep and kept: a later sweep that asks for the same finds them."""

    def __init__(self, recorder: Recorder, kept: dict[Any, int]) -> None:
        super().__init__()
        self.recorder, self.kept = recorder, kept
        self.known = len(kept)
        self.new: list[Scalar] = []

    def emit(self, op: int, left: Any, right: Any = None) -> Scalar:
        if op not in (SIN, COS):
            return super().emit(op, left, right)
        key = (op, self.spelling(left))
        if key not in self.kept:
            self.kept[key] = len(self.kept)
            self.new.append(super().emit(op, left, right))
        elif self.kept[key] < self.known:
            return self.recorder.load("own", TURNS, self.kept[key])
        return super().emit(op, left, right)

    def spelling(self, index: int) -> Any:
        """Expression of an instruction, the same on any tape."""
        op, left, right = self.code[index]
        if op == INPUT:
            return self.recorder.loads[left]
        return (op, left) if op == CONST else (op, *(self.spelling(x) for x in (left, right) if x is not None))


class Recorder:
    """Instructions and the places that they load from; of `zeros`, those that hold nothing but zero, none is loaded."""

    def __init__(self, kept: dict[Any, int], zeros: Callable[[Place], bool] | None = None) -> None:
        self.loads: list[Place] = []
        self.zeros = zeros
        self.seen: dict[Place, Any] = {}
        self.tape = StepTape(self, kept)

    def load(self, memory: str, name: Any, entry: int) -> Any:
        place = (memory, name, entry)
        if self.zeros is not None and self.zeros(place):
            return 0.0
        if place not in self.seen:
            self.seen[place] = self.tape.emit(INPUT, len(self.loads))
            self.loads.append(place)
        return self.seen[place]

    def array(self, memory: str, name: Any, shape: tuple[int, ...], start: int = 0) -> np.ndarray:
        result = np.empty(shape, dtype=object)
        for offset, index in enumerate(np.ndindex(*shape)):
            result[index] = self.load(memory, name, start + offset)
        return result

    def finished(self, stores: list[tuple[Place, Any]]) -> Step:
        stores = stores + [(("own", TURNS, self.tape.known + i), x) for i, x in enumerate(self.tape.new)]
        trace = finish(self.tape, [x for _, x in stores])
        return Step(trace, tuple(self.loads), tuple(place for place, _ in stores))


def symbolic_link(record: Recorder, kind: Kind) -> tuple[tuple[moves.Move, ...], Links]:
    """The moves from the parent's frame to that of a link of some kind, and the link as the memoryless functions want
    it."""
    model, joint = kind.model, _with_pitch(record, kind)
    q = record.array("own", "q", (model.nq,))
    inertia = record.array("constant", "", (1, 10), INERTIA)
    spins = record.array("constant", "", (model.nv,), SPIN)
    if kind.role == SCREW:
        cosine, sine, along, turn, shift = record.array("constant", "", (5,), PLACING)
        first, second = moves.screw(0, cosine, sine, along), _about_z(joint, q, turn, shift)
        path, rotation, offset = (first, second), second[0], first[1] + second[1]
    else:
        entries = np.concatenate(
            [record.array("constant", "", (6,), PLACING), record.array("constant", "", (6,), PLACING_MORE)]
        )
        placing = entries[:9].reshape(3, 3)
        turned, moved = joint.pose(q)
        rotation, offset = np.matmul(placing, turned), entries[9:] + np.matmul(placing, moved)
        path = ((rotation, offset),)
    return path, Links(model, q, (rotation,), (offset,), (joint.subspace(q),), spins=spins, inertias=inertia)


def _with_pitch(record: Recorder, kind: Kind) -> Any:
    """The joint, a helical one's pitch as data, so that all pitches are one kind."""
    joint = kind.model.joints[0].kind
    if not isinstance(joint, Helical):
        return joint
    made = copy(joint)
    place = PITCH if kind.role == SCREW else PITCH_MORE
    object.__setattr__(made, "pitch", record.array("constant", "", (1,), place))
    return made


def _about_z(joint: Any, q: np.ndarray, turn: Any, shift: Any) -> moves.Move:
    """The joint as a screw along z, after the constant turn θ₀ and shift d."""
    if isinstance(joint, Prismatic):
        return moves.screw(2, np.cos(turn), np.sin(turn), shift + q[0])
    angle = q[0] + turn
    advance = (q * getattr(joint, "pitch", 0.0))[0]
    return moves.screw(2, np.cos(angle), np.sin(angle), shift + advance)


class StepTracer(BlockDomain):
    """Runs the statements of the sweeps, in order, at a symbolic link of one kind."""

    def __init__(self, plan: Plan, kind: Kind, zeros: Callable[[Place], bool] | None = None) -> None:
        self.plan, self.kind, self.model, self.zeros = plan, kind, kind.model, zeros
        self.nv = kind.model.nv
        self.turns: dict[Any, int] = {}
        self.earlier: dict[str, np.ndarray | None] = {}

    def trace(self, sweep: Sweep) -> Step:
        self.record = Recorder(self.turns, self.zeros)
        self.made: dict[str, Block] = {}
        self.moves, self.links = symbolic_link(self.record, self.kind)
        evaluate_sweep(sweep, self)
        stores = [*self.fields(), *self.sent(sweep), *self.totals()]
        self.earlier |= {name: remembered(value) for name, value in self.made.items()}
        return self.record.finished(stores)

    def sites(self, sweep: Sweep) -> tuple[Kind]:
        return (self.kind,)

    def skips(self, statement: Statement) -> bool:
        return statement.target in self.plan.only_at_frames

    def put(self, statement: Statement, at: Kind, value: Block) -> None:
        if statement.symmetric and value is not None:
            value = link.mirrored(value)
        self.made[statement.target] = value

    # What is written

    def fields(self) -> list[tuple[Place, Any]]:
        stores: list[tuple[Place, Any]] = []
        for name, value in self.made.items():
            memories = [] if value is None else ["own"]
            memories += [m for m, names in (("passing", self.plan.passing), ("kept", self.plan.kept)) if name in names]
            if value is None and (name in self.plan.shared or name in self.plan.outputs):
                memories.append("own")
            if memories:
                shape = self.plan.part(name, self.nv) if name in self.plan.outputs else self.plan.shape(name)
                entries = np.zeros(shape) if value is None else value
                stores += [((memory, name, i), x) for memory in memories for i, x in enumerate(entries.reshape(-1))]
        return stores

    def sent(self, sweep: Sweep) -> list[tuple[Place, Any]]:
        """Terms this link sends its parent: φx, or the upper triangle of φXφ*. All kinds send the same entries."""
        result: list[tuple[Place, Any]] = []
        if self.kind.role == ROOT:
            return result
        for term in dict.fromkeys(t for s in sweep.statements for t in gathered(s.term)):
            value, shape = self.field(term.name), self.plan.shape(term.name)
            if isinstance(term, ir.FromChildren):
                moved = np.zeros(shape) if value is None else moves.inward(self.moves, value)
            else:
                moved = np.zeros((6, 6)) if value is None else moves.congruent_inward(self.moves, value)
                moved = moved[np.triu_indices(6)]
            result += [(("siblings", accumulator(term), i), x) for i, x in enumerate(moved.reshape(-1))]
        return result

    def totals(self) -> list[tuple[Place, Any]]:
        """Terms of this link in sums over the mechanism, and those of a base link in sums at the base."""
        result: list[tuple[Place, Any]] = []
        for term in self.plan.totals:
            names = (term.left, term.right) if isinstance(term, ir.ToScalar) else (term.name,)
            if not any(name in self.made for name in names) or any(self.unmade(name) for name in names):
                continue
            if not isinstance(term, ir.ToScalar):
                value = None if self.kind.role != ROOT else self.field(term.name)
                added = moves.inward(self.moves, value) if value is not None and isinstance(term, ir.ToBase) else value
            else:
                added = block_times(block_transposed(self.field(term.left)), self.field(term.right))
            entries = [] if added is None else enumerate(added.reshape(-1))
            result += [(("total", total(term), i), x) for i, x in entries if isinstance(x, Scalar)]
        return result

    def unmade(self, name: str) -> bool:
        return name not in self.made and name not in self.earlier and name not in self.plan.given

    # Terms

    def apply(self, function: str, arguments: list[Block], at: Kind) -> Block:
        if function == "pose":
            return self.pose()
        if function in AXES:
            return None if arguments[0] is None else AXES[function](self.in_body(), arguments[0])
        return FORMULAS[function](self.links, 0, *arguments)

    def move(self, term: Term, at: Kind) -> Block:
        record, path = self.record, self.moves
        match term:
            case ir.FromChildren(name=name):
                return record.array("children", accumulator(term), self.plan.shape(name))
            case ir.CongruentChildren():
                result = np.empty((6, 6), dtype=object)
                result[np.triu_indices(6)] = record.array("children", accumulator(term), (21,))
                return link.mirrored(result)
            case ir.FromParent(name=name):
                return None if self.kind.role == ROOT else moves.outward(path, self.parent(name))
            case ir.CongruentParent(name=name):
                above = None if self.kind.role == ROOT else link.mirrored(self.parent(name))
                return None if above is None else moves.congruent_outward(path, above)
            case ir.BackFromParent(name=name):
                return None if self.kind.role == ROOT else moves.back_outward(path, self.parent(name))
            case ir.BackCongruentParent(name=name):
                above = None if self.kind.role == ROOT else link.mirrored(self.parent(name))
                return None if above is None else moves.congruent_back_outward(path, above)
            case ir.FromBase(name=name):
                at_base = self.kind.role == ROOT
                return moves.outward(path, record.array("flat", name, self.plan.shape(name))) if at_base else None
            case ir.FromRoot(name=name):
                return record.array("flat", name, self.plan.shape(name)) if self.kind.role == ROOT else None
            case ir.FromTask(name=name):
                return record.array("task", name, (6, self.plan.columns(name)))
        raise NotImplementedError(term)

    def in_body(self) -> moves.Move:
        """The link's frame in the body's own."""
        rotation = self.record.array("constant", "", (3, 3), BODY)
        return rotation, np.zeros(3) if self.plan.keeps_origins else self.record.array("constant", "", (3,), BODY + 9)

    def parent(self, name: str) -> np.ndarray:
        return self.record.array("passed" if name in self.plan.passing else "parent", name, self.plan.shape(name))

    def pose(self) -> np.ndarray:
        """X as twelve numbers: the rotation by rows, then the origin."""
        above = np.concatenate([np.eye(3).reshape(-1), np.zeros(3)]) if self.kind.role == ROOT else self.parent("X")
        above = above.reshape(-1)
        rotation, origin = moves.placed(self.moves, above[:9].reshape(3, 3), above[9:])
        return np.concatenate([rotation.reshape(-1), origin])[:, None]

    def get(self, name: str, at: Kind) -> Block:
        return self.field(name)

    def field(self, name: str) -> Block:
        if name in self.made:
            return self.made[name]
        if name in self.plan.program.columns:
            return np.eye(*self.plan.part(name, self.nv))
        if name in self.plan.given:
            return self.record.array("own", name, self.plan.part(name, self.nv))
        if (known := self.earlier.get(name)) is None:
            return None
        if name in self.plan.repeated:
            return self.value(self.plan.repeated[name], self.kind)
        result = np.empty(known.shape, dtype=object)
        for index in np.ndindex(*known.shape):
            number: Any = known[index]
            result[index] = number if isinstance(number, float) else self.record.load("own", name, number)
        return result

    def data(self, name: str, at: Kind) -> Block:
        if name == "H":
            return block_transposed(self.links.subspace[0])
        if name == "M":
            given = self.field(MOVED)
            return (self.links if given is None else replace(self.links, inertias=given.reshape(1, 10))).mass(0)
        if name == "BUB*":
            return self.record.array("task", name, (6, 6))
        if name == "S":
            return self.links.rotor(0)
        if name == "N":
            return None if self.kind.role == ROOT else np.eye(self.nv)
        if name == "A":
            diagonal = np.zeros((self.nv, self.nv), dtype=object)
            for i in range(self.nv):
                diagonal[i, i] = self.record.load("constant", "", ARMATURE + i)
            return diagonal
        raise NotImplementedError(name)


def remembered(value: Block) -> np.ndarray | None:
    """Value of each constant entry, else the index of the first entry that holds the same scalar."""
    if value is None:
        return None
    result, first = np.empty(value.shape, dtype=object), {}
    for entry, index in enumerate(np.ndindex(*value.shape)):
        number = value[index]
        if isinstance(number, Scalar):
            result[index] = first.setdefault(number.index, entry)
        else:
            result[index] = float(number)
    return result
