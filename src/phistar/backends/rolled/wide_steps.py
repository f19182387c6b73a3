"""One link's work in one sweep, of a link of any width, traced once per kind of link.

As `steps.py` has it for rigid links, with these differences: the blocks that a link has, φ, H and M, are made in the
first sweep that asks for them and kept; what a link sends inward is added to its carrier's own numbers, since carriers
have more motions than six; and links with task frames are kinds of their own, which read and write the frames' rows
themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.links.brackets import root
from phistar.backends.links.mechanism import refused
from phistar.backends.links.single_out import SingledLink
from phistar.backends.links.values import diagonal, mirrored
from phistar.backends.programs.blocks import Block, BlockDomain, block_times, block_total, block_transposed
from phistar.backends.rolled.flat_steps import BIAS, read_off
from phistar.backends.rolled.link_memory import MAIL, TOTAL
from phistar.backends.rolled.plan import Plan, accumulator, gathered, total
from phistar.backends.rolled.steps import Place, Recorder, Step, remembered
from phistar.backends.traces.trace import Scalar
from phistar.sweeps import ir
from phistar.sweeps.evaluate import evaluate_sweep
from phistar.sweeps.ir import Statement, Sweep, Term

POSE = 12  # numbers of a body's place: its rotation by rows, then its origin
_MADE = {"H", "M", "A", "E_phi", "BUB*"}


@dataclass(frozen=True, eq=False)
class WideKind:
    """Links that are built alike: one of them, and which of its constants differ among them."""

    link: SingledLink
    varies: np.ndarray
    key: bytes

    def constants(self, record: Recorder) -> np.ndarray:
        """The link's constants; those its kind shares, as numbers."""
        known = self.link.constants.astype(object)
        for place, entry in enumerate(np.flatnonzero(self.varies)):
            known[entry] = record.load("constant", "", place)
        return known


Shapes = dict[tuple[bytes, str], tuple[int, int]]
"""Of each field at links of some build, as far as is known."""


class WideTracer(BlockDomain):
    """Runs the statements of the sweeps, in order, at a link of one kind; `shapes` grows with what it makes."""

    def __init__(self, plan: Plan, kind: WideKind, shapes: Shapes, zeros: Callable[[WideKind, Place], bool]) -> None:
        self.plan, self.kind, self.shapes, self.zeros = plan, kind, shapes, zeros
        self.link = kind.link
        self.width, self.nv, self.bodies = kind.link.sizes
        self.turns: dict[Any, int] = {}
        self.earlier: dict[str, np.ndarray | None] = {}

    def trace(self, sweep: Sweep) -> Step:
        self.record = Recorder(self.turns, lambda place: self.zeros(self.kind, place))
        self.made: dict[str, Block] = {}
        own = self.record.array("own", "q", (len(self.link.coordinates),))
        above = self.record.array("parent", "q", (len(self.link.carried_by),))
        self.mechanism = self.link.make(np.concatenate([above, own]), self.kind.constants(self.record))
        evaluate_sweep(sweep, self)
        elsewhere = [*self.sent(sweep), *self.totals(), *self.at_frames()]  # which may make blocks of the link's own
        stores = [*self.fields(), *elsewhere]
        self.shapes |= {(self.link.build, name): x.shape for name, x in self.made.items() if x is not None}
        self.earlier |= {name: remembered(value) for name, value in self.made.items()}
        return self.record.finished(stores)

    def sites(self, sweep: Sweep) -> tuple[int]:
        return (self.link.own,)

    def put(self, statement: Statement, at: int, value: Block) -> None:
        if statement.target == "X":
            value = self.numbers(value)
        elif statement.symmetric and value is not None:
            value = mirrored(value)
        self.made[statement.target] = value

    # What is written

    def fields(self) -> list[tuple[Place, Any]]:
        stores: list[tuple[Place, Any]] = []
        for name, value in self.made.items():
            if value is None and name in self.plan.outputs:
                value = np.zeros((self.part(name), self.plan.columns(name)))
            entries = [] if value is None else enumerate(value.reshape(-1))
            stores += [(("own", name, i), x) for i, x in entries]
        return stores

    def part(self, name: str) -> int:
        """Rows of this link's part of an input or result."""
        space = self.plan.given.get(name) or self.plan.outputs[name]
        return self.width if space == "links" else 0 if space == "inner" and not self.link.own else self.nv

    def sent(self, sweep: Sweep) -> list[tuple[Place, Any]]:
        """Terms that its carrier receives: ℰφx, or the upper triangle of ℰφXℰφ*."""
        result: list[tuple[Place, Any]] = []
        for term in dict.fromkeys(t for s in sweep.statements for t in gathered(s.term)):
            value = self.field(term.name) if self.link.own else None
            if value is None:
                continue
            moved = np.matmul(self.data("E_phi", 1), value)
            square = not isinstance(term, ir.FromChildren)
            moved = np.matmul(moved, block_transposed(self.data("E_phi", 1))) if square else moved
            self.shapes[self.link.above or b"", accumulator(term)] = moved.shape
            for i, (row, column) in enumerate(np.ndindex(*moved.shape)):
                x = moved[row, column]
                if (isinstance(x, Scalar) or x != 0.0) and (column >= row or not square):
                    result.append(((MAIL, accumulator(term), i), x))
        return result

    def totals(self) -> list[tuple[Place, Any]]:
        """Terms of this link in sums over the mechanism, and those of a base link in sums at the base."""
        result: list[tuple[Place, Any]] = []
        for term in self.plan.totals:
            names = (term.left, term.right) if isinstance(term, ir.ToScalar) else (term.name,)
            if not any(name in self.made for name in names) or any(self.unmade(name) for name in names):
                continue
            if isinstance(term, ir.ToScalar):
                added = block_times(block_transposed(self.field(term.left)), self.field(term.right))
            elif self.link.own:
                added = None
            else:
                value = self.field(term.name)
                added = block_times(self.data("E_phi", 0), value) if isinstance(term, ir.ToBase) else value
            entries = [] if added is None else enumerate(added.reshape(-1))
            result += [((TOTAL, total(term), i), x) for i, x in entries if isinstance(x, Scalar) or x != 0.0]
        return result

    def at_frames(self) -> list[tuple[Place, Any]]:
        """Rows of its task frames in fields read off links, once the link is placed."""
        result: list[tuple[Place, Any]] = []
        if not self.link.frames or self.unmade("X"):
            return result
        asked = list(dict.fromkeys(x for x in self.plan.everything if isinstance(x, ir.ToTask | ir.Call)))
        for number, frame in self.link.frames:
            for term in asked:
                if isinstance(term, ir.ToTask):
                    if self.is_new(term.name) and (value := self.field(term.name)) is not None:
                        moved, name = np.matmul(self.motion(frame), value), read_off(term.name)
                        result += _rows("flat", name, number, moved)
                elif term.function == "bias_acceleration_at_frames" and self.is_new("V"):
                    velocity = self.field("V")
                    moved = None if velocity is None else self.mechanism.frame_bias(frame, self.pose(), velocity)
                    result += [] if moved is None else _rows("flat", BIAS, number, moved)
        return result

    def is_new(self, name: str) -> bool:
        """Whether a field and the link's place are both there, one of them since this sweep."""
        return not self.unmade(name) and (name in self.made or "X" in self.made)

    def unmade(self, name: str) -> bool:
        return name not in self.made and name not in self.earlier and name not in self.plan.given

    # Terms

    def apply(self, function: str, arguments: list[Block], at: int) -> Block:
        match function:
            case "pose":
                return self.mechanism.pose(at, self.pose(above=True) if at else None)
            case "bias_acceleration":
                velocity, v = arguments
                above = self.parent("V") if at else None
                return self.mechanism.bias_acceleration(at, velocity, above, v)
            case "bias_force":
                return self.mechanism.bias_force(at, *arguments)
            case "diagonal":
                return diagonal(arguments[0])
            case "root":
                return root(arguments[0])
        raise refused(function.replace("_", " "))

    def move(self, term: Term, at: int) -> Block:
        match term:
            case ir.FromChildren():
                shape = self.shapes.get((self.link.build, accumulator(term)))
                return None if shape is None else self.record.array("own", accumulator(term), shape)
            case ir.CongruentChildren() | ir.CarriedChildren():
                return mirrored(self.record.array("own", accumulator(term), (self.width, self.width)))
            case ir.FromParent(name=name):
                return block_times(block_transposed(self.data("E_phi", at)), self.parent(name)) if at else None
            case ir.CongruentParent(name=name):
                if not at:
                    return None
                across, above = self.data("E_phi", at), self.parent(name)
                return block_times(block_times(block_transposed(across), above), across)
            case ir.FromBase(name=name):
                given = self.record.array("flat", name, (6, self.plan.columns(name)))
                return None if at else np.matmul(block_transposed(self.data("E_phi", at)), given)
            case ir.FromRoot(name=name):
                return None if at else self.record.array("flat", name, (6, self.plan.columns(name)))
            case ir.FromTask(name=name):
                return block_total([(1.0, self._brought(name, i, frame)) for i, frame in self.link.frames])
        raise refused(type(term).__name__)

    def _brought(self, name: str, number: int, frame: str) -> np.ndarray:
        """Bx of one of its frames."""
        columns = self.plan.columns(name)
        if name in self.plan.program.columns:
            given = np.eye(columns)[6 * number : 6 * number + 6]
        else:
            given = self.record.array("flat", name, (6, columns), 6 * number * columns)
        return np.matmul(block_transposed(self.motion(frame)), given)

    def motion(self, frame: str) -> np.ndarray:
        return self.mechanism.frame_motion(frame, self.pose())

    def get(self, name: str, at: int) -> Block:
        return self.field(name)

    def field(self, name: str) -> Block:
        if name in self.made:
            return self.made[name]
        if name in self.plan.given and name not in self.earlier:
            return self.record.array("own", name, (self.part(name), self.plan.columns(name)))
        known = self.earlier.get(name)
        if known is None:
            return None
        result = np.empty(known.shape, dtype=object)
        for index in np.ndindex(*known.shape):
            number: Any = known[index]
            result[index] = number if isinstance(number, float) else self.record.load("own", name, number)
        return result

    def parent(self, name: str) -> Block:
        shape = self.shapes.get((self.link.above or b"", name))
        return None if shape is None else self.record.array("parent", name, shape)

    def data(self, name: str, at: int) -> Block:
        if name == "N":
            return np.eye(self.nv) if at else None
        if name not in _MADE:
            raise refused(name)
        kept = f"block {name}"
        if self.unmade(kept):
            self.made[kept] = self._block(name, at)
        return self.field(kept)

    def _block(self, name: str, at: int) -> Block:
        if name == "BUB*":
            own = [self.motion(frame) for _, frame in self.link.frames]
            return block_total([(1.0, np.matmul(block_transposed(x), x)) for x in own])
        made = {"M": self.mechanism.mass, "A": self.mechanism.armature, "E_phi": self.mechanism.crossing}
        block = block_transposed(self.mechanism.subspace(at)) if name == "H" else made[name](at)
        return np.asarray(block)

    # Places

    def numbers(self, pose: Any) -> np.ndarray:
        """A place as numbers: twelve for each body of the link."""
        places = [pose] if isinstance(pose, tuple) else list(pose.values())
        parts = [np.concatenate([np.reshape(turn, -1), shift]) for turn, shift in places]
        return np.concatenate(parts)[:, None]

    def pose(self, above: bool = False) -> Any:
        """Pose of the link, or of its carrier, in the mechanism's form."""
        value = self.parent("X") if above else self.field("X")
        count = self.link.carrier_sizes[2] if above else self.bodies
        rows = np.zeros((count, POSE)) if value is None else value.reshape(count, POSE)
        places = [(row[:9].reshape(3, 3), row[9:]) for row in rows]
        if not hasattr(self.mechanism, "members"):
            return places[0]
        first = 0 if above or not self.link.own else self.link.carrier_sizes[2]
        return {first + i: place for i, place in enumerate(places)}


def _rows(memory: str, name: str, frame: int, value: np.ndarray) -> list[tuple[Place, Any]]:
    columns = value.shape[-1]
    return [((memory, name, 6 * columns * frame + i), x) for i, x in enumerate(value.reshape(-1))]
