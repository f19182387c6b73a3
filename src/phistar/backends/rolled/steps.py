"""One link's work in one sweep, traced once per kind of link: what a long chain repeats.

A step reads the link's constants from a table, its own fields, what its parent passes on (outward) and what its
children have sent (inward); it writes its own fields and what neighbours read. Blocks have w(k) rows, as the kind of
link says: six, or as many as a body that bends or a compound link has motions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.links import moves
from phistar.backends.links import values as link
from phistar.backends.links.link_frames import ROOT, SCREW
from phistar.backends.links.link_sizes import PARAMETERS
from phistar.backends.links.mechanism import Mechanism
from phistar.backends.links.rigid import SixWide
from phistar.backends.links.values import Links, inertia_matrix
from phistar.backends.programs.body_axes import AXES, MOVED
from phistar.backends.rolled.plan import BIAS, Plan, accumulator, gathered_parts, read_off, total
from phistar.backends.rolled.recorder import Place, Recorder, Step, constant_pattern
from phistar.backends.traces.solve import Block, BlockDomain, block_times, block_total, transpose_block
from phistar.backends.traces.trace import Scalar
from phistar.model import Helical, Model, Prismatic
from phistar.sweeps import ir
from phistar.sweeps.evaluate import evaluate_sweep
from phistar.sweeps.ir import Statement, Sweep, Term

# Where the constants of a link are in its row: a screw (with its pitch) and the inertia fill the first sixteen.
PLACING, PITCH, INERTIA, PLACING_MORE, PITCH_MORE, ARMATURE, SPIN, BODY, CONSTANTS = 0, 5, 6, 16, 22, 23, 29, 35, 47
POSE = 12  # numbers of a body's place: its rotation by rows, then its origin


class LinkKind(ABC):
    """Abstract. Links that are traced once: width, rates and bodies of one, and of the link that carries it; `build`
    tells links apart as those on them see them, `above` is that of the carrier."""

    key: bytes
    is_root: bool
    sizes: tuple[int, int, int]
    carrier_sizes: tuple[int, int, int]
    parameters: int = PARAMETERS
    build: bytes = b""
    above: bytes = b""
    keeps: bool = False  # whether blocks are kept from sweep to sweep: they cost more to make than to load
    has_body_axes: bool = False  # whether its axes are those of its bodies
    frames: tuple[tuple[int, str], ...] | None = None  # task frames on it; None: a stage of their own reads them

    @abstractmethod
    def mechanism(self, record: Recorder) -> tuple[Mechanism, int]:
        """The link at the numbers of a record, in a mechanism, and its number there."""

    @abstractmethod
    def pose_of(self, rows: np.ndarray, above: bool) -> Any:
        """Pose of the link, or of its carrier, from the numbers of its bodies, (bodies, 12)."""


@dataclass(frozen=True, eq=False)
class Kind(LinkKind):
    """A joint (as a model of one body) and how its link is placed in its parent."""

    model: Model
    role: str
    key: bytes
    carrier_sizes = (6, 0, 1)

    @property
    def is_root(self) -> bool:
        return self.role == ROOT

    @property
    def sizes(self) -> tuple[int, int, int]:
        return 6, self.model.nv, 1

    def mechanism(self, record: Recorder) -> tuple[Mechanism, int]:
        path, links = symbolic_link(record, self)
        return StepLink(replace(links, paths=(path,)), record), 0

    def pose_of(self, rows: np.ndarray, above: bool) -> moves.Move:
        return rows[0, :9].reshape(3, 3), rows[0, 9:]


@dataclass(frozen=True, eq=False)
class StepLink(SixWide):
    """A rigid link of one kind, its constants in memory."""

    plain: Links
    record: Recorder

    def armature(self, k: int) -> np.ndarray:
        nv = self.plain.model.nv
        diagonal = np.zeros((nv, nv), dtype=object)
        for i in range(nv):
            diagonal[i, i] = self.record.load("constant", "", ARMATURE + i)
        return diagonal

    def pose(self, k: int, above: Any) -> moves.Move:
        return moves.end_frame(self.plain.path(k), *(above or (np.eye(3), np.zeros(3))))


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

    def __init__(
        self, plan: Plan, kind: LinkKind, zeros: Callable[[LinkKind, Place], bool] = lambda kind, place: False
    ) -> None:
        self.plan, self.kind, self.zeros = plan, kind, zeros
        self.width, self.nv, self.bodies = kind.sizes
        self.turns: dict[Any, int] = {}
        self.earlier: dict[str, np.ndarray | None] = {}

    def trace(self, sweep: Sweep) -> Step:
        self.record = Recorder(self.turns, lambda place: self.zeros(self.kind, place))
        self.made: dict[str, Block] = {}
        self.link, self.at = self.kind.mechanism(self.record)
        if self.kind.keeps:
            self.link.keep_crossing(self.at, self.keep("E_phi", lambda: self.link.crossing(self.at)))
        evaluate_sweep(sweep, self)
        # these may make blocks that are kept
        elsewhere = [*self.terms_for_parent(sweep), *self.totals(), *self.at_frames()]
        stores = [*self.fields(), *elsewhere]
        self.earlier |= {name: constant_pattern(value) for name, value in self.made.items()}
        return self.record.finish(stores)

    def sites(self, sweep: Sweep) -> tuple[int]:
        return (self.at,)

    def skips(self, statement: Statement) -> bool:
        return self.kind.frames is None and statement.target in self.plan.only_at_frames

    def put(self, statement: Statement, at: int, value: Block) -> None:
        if statement.target == "X":
            value = _numbers(value)
        elif statement.symmetric and value is not None:
            value = link.mirror_upper(value)
        self.made[statement.target] = value

    # What is written

    def fields(self) -> list[tuple[Place, Any]]:
        stores: list[tuple[Place, Any]] = []
        kept = self.plan.frame_fields if self.kind.frames is None else ()
        for name, value in self.made.items():
            memories = [] if value is None else ["own"]
            memories += [m for m, names in (("passing", self.plan.passing), ("kept", kept)) if name in names]
            if value is None and (name in self.plan.shared_fields or name in self.plan.outputs):
                memories.append("own")
            if memories:
                shape = self.part(name) if name in self.plan.outputs else self.plan.shape(name, self.width, self.bodies)
                entries = np.zeros(shape) if value is None else value
                stores += [((memory, name, i), x) for memory in memories for i, x in enumerate(entries.reshape(-1))]
        return stores

    def part(self, name: str) -> tuple[int, int]:
        """Shape of this link's part of an input or result."""
        return self.plan.part(name, self.nv, self.width, self.kind.parameters)

    def terms_for_parent(self, sweep: Sweep) -> list[tuple[Place, Any]]:
        """Terms for the parent, φx or the upper triangle of φXφ*: the same entries from all kinds on one build."""
        result: list[tuple[Place, Any]] = []
        above, _, _ = self.kind.carrier_sizes
        statements = () if self.kind.is_root else sweep.statements
        for term in dict.fromkeys(t for s in statements for t in gathered_parts(s.term)):
            value = self.field(term.name)
            shape = above, self.plan.columns(term.name) if term.is_plain else above
            moved = np.zeros(shape) if value is None else self.link.carry(term.act, self.at, value)
            if term.update:
                left, right = (self.link.carry(ir.FORCE, self.at, self.field(name)) for name in term.update)
                moved = moved - np.matmul(left, transpose_block(right))
            moved = moved if term.is_plain else moved[np.triu_indices(above)]
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
                added = self.field(term.name) if self.kind.is_root else None
                if added is not None and isinstance(term, ir.ToBase):
                    added = self.link.to_base(self.at, added)
            else:
                added = block_times(transpose_block(self.field(term.left)), self.field(term.right))
            entries = [] if added is None else enumerate(added.reshape(-1))
            result += [(("total", total(term), i), x) for i, x in entries if isinstance(x, Scalar) or x != 0.0]
        return result

    def at_frames(self) -> list[tuple[Place, Any]]:
        """Rows of its task frames in fields read off links, once the link is placed."""
        result: list[tuple[Place, Any]] = []
        if not self.kind.frames or self.unmade("X"):
            return result
        asked = list(dict.fromkeys(x for x in self.plan.everything if isinstance(x, ir.ToTask | ir.Call)))
        for number, frame in self.kind.frames:
            for term in asked:
                if isinstance(term, ir.ToTask) and self.is_new(term.name):
                    value, name = self.field(term.name), read_off(term.name)
                    moved = None if value is None else self.link.to_frame(frame, self.place(), value)
                elif isinstance(term, ir.Call) and term.function == "bias_acceleration_at_frames" and self.is_new("V"):
                    velocity, name = self.field("V"), BIAS
                    moved = None if velocity is None else self.link.frame_bias(frame, self.place(), velocity)
                else:
                    continue
                entries = [] if moved is None else enumerate(moved.reshape(-1), 6 * number * moved.shape[-1])
                result += [(("flat", name, i), x) for i, x in entries]
        return result

    def is_new(self, name: str) -> bool:
        """Whether a field and the link's place are both there, one of them since this sweep."""
        return not self.unmade(name) and (name in self.made or "X" in self.made)

    def unmade(self, name: str) -> bool:
        return name not in self.made and name not in self.earlier and name not in self.plan.inputs_by_link

    # Terms

    def apply(self, function: str, arguments: list[Block], at: int) -> Block:
        if function == "pose":
            return self.link.pose(at, None if self.kind.is_root else self.place(above=True))
        if function in AXES:
            plain = arguments[0] is None or self.kind.has_body_axes
            return arguments[0] if plain else AXES[function](self.in_body(), arguments[0])
        return self.link.apply(function, at, arguments, lambda x: None if self.kind.is_root else self.parent(x))

    def move(self, term: Term, at: int) -> Block:
        record, root, name = self.record, self.kind.is_root, getattr(term, "name", "")
        match term:
            case ir.Move(ir.CHILDREN, ir.FORCE):
                return record.array("children", accumulator(term), (self.width, self.plan.columns(name)))
            case ir.Move(ir.CHILDREN, ir.INERTIA):
                result = np.empty((self.width, self.width), dtype=object)
                upper = np.triu_indices(self.width)
                result[upper] = record.array("children", accumulator(term), (len(upper[0]),))
                return link.mirror_upper(result)
            case ir.Move(ir.PARENT, act) as term:
                if root:
                    return None
                x = link.mirror_upper(self.parent(name)) if term.is_congruent else self.parent(name)
                return self.link.carry(act, at, x, True)
            case ir.Move(ir.BASE):
                return self.link.from_base(at, self.flat(name)) if root else None
            case ir.Move(ir.ROOT):
                return self.flat(name) if root else None
            case ir.Move(ir.FRAMES):
                if self.kind.frames is None:
                    return record.array("task", name, (6, self.plan.columns(name)))
                return block_total([(1.0, self.bring(name, i, frame)) for i, frame in self.kind.frames])
        raise NotImplementedError(term)

    def flat(self, name: str) -> np.ndarray:
        return self.record.array("flat", name, self.plan.shape(name))

    def bring(self, name: str, number: int, frame: str) -> np.ndarray:
        """Bx of one of its frames."""
        columns = self.plan.columns(name)
        if name in self.plan.program.columns:
            given = np.eye(columns)[6 * number : 6 * number + 6]
        else:
            given = self.record.array("flat", name, (6, columns), 6 * number * columns)
        return self.link.from_frame(frame, self.place(), given)

    def in_body(self) -> moves.Move:
        """The link's frame in the body's own."""
        rotation = self.record.array("constant", "", (3, 3), BODY)
        return rotation, np.zeros(3) if self.plan.keeps_origins else self.record.array("constant", "", (3,), BODY + 9)

    def parent(self, name: str) -> np.ndarray:
        width, _, bodies = self.kind.carrier_sizes
        memory = "passed" if name in self.plan.passing else "parent"
        return self.record.array(memory, name, self.plan.shape(name, width, bodies))

    def place(self, above: bool = False) -> Any:
        """Pose of the link, or of its carrier, in the mechanism's form."""
        value = self.parent("X") if above else self.field("X")
        return self.kind.pose_of(np.reshape(value, (-1, POSE)), above)

    def get(self, name: str, at: int) -> Block:
        return self.field(name)

    def field(self, name: str) -> Block:
        if name in self.made:
            return self.made[name]
        if name in self.plan.program.columns:
            return np.eye(*self.part(name))
        if name in self.plan.inputs_by_link:
            return self.record.array("own", name, self.part(name))
        if (known := self.earlier.get(name)) is None:
            return None
        if name in self.plan.repeated_fields and not self.kind.keeps:
            return self.value(self.plan.repeated_fields[name], self.at)
        result = np.empty(known.shape, dtype=object)
        for index in np.ndindex(*known.shape):
            number: Any = known[index]
            result[index] = number if isinstance(number, float) else self.record.load("own", name, number)
        return result

    def data(self, name: str, at: int) -> Block:
        match name:
            case "N":
                return None if self.kind.is_root else np.eye(self.nv)
            case "I" | "unit":
                return np.eye(self.width if name == "I" else self.nv)
            case "Ψ" | "Ψ⁻¹":
                return self.link.basis(self.at, inverse=name != "Ψ")
            case "BUB*" if self.kind.frames is None:
                return self.record.array("task", name, (6, 6))
            case "M" if (given := self.field(MOVED)) is not None:
                return inertia_matrix(given.reshape(10))
        return self.keep(name, lambda: self._block(name)) if self.kind.keeps else self._block(name)

    def _block(self, name: str) -> Block:
        if name == "H":
            return transpose_block(self.link.subspace(self.at))
        if name == "BUB*":
            own = [self.link.from_frame(frame, self.place(), np.eye(6)) for _, frame in self.kind.frames or ()]
            return block_total([(1.0, np.matmul(x, transpose_block(x))) for x in own])
        return {"M": self.link.mass, "A": self.link.armature, "S": self.link.rotor}[name](self.at)

    def keep(self, name: str, make: Callable[[], Block]) -> Block:
        """A block that is made in the first sweep that asks for it."""
        known = f"block {name}"
        if self.unmade(known):
            made = make()
            self.made[known] = None if made is None else np.asarray(made)
        return self.field(known)


def _numbers(pose: Any) -> np.ndarray:
    """A place as numbers: twelve for each body of the link."""
    places = [pose] if isinstance(pose, tuple) else list(pose.values())
    return np.concatenate([np.concatenate([np.reshape(turn, -1), shift]) for turn, shift in places])[:, None]
