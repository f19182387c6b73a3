"""Runs a program on arrays, link by link: on floats with leading batch axes, or on traced scalars to record it.

Nothing is said of what a link is: φ, H, M, a and b come from the mechanism (`links/mechanism.py`), w(k) numbers high. A
field that is zero by structure is None: nothing is computed with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from phistar.backends.links import values as link
from phistar.backends.links.mechanism import Block, Mechanism
from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.values import Links
from phistar.backends.programs.biases import WAY
from phistar.backends.traces.solve import BlockDomain, block_times, block_total, solve, solve_symmetric, transpose_block
from phistar.backends.traces.trace import Scalar
from phistar.errors import StatementError
from phistar.sweeps import ir, regions
from phistar.sweeps.evaluate import evaluate
from phistar.sweeps.ir import Program, Statement, Sweep, Term

UNTURNED = ("motion_of_body", "force_of_body", "motion_in_body", "force_in_body")
"""The axes of links are those of their bodies here."""
OVER_LINKS = ("joints", "inner", "links", "parameters")  # spaces of which every link has a part


def run(
    program: Program, links: Mechanism, inputs: Mapping[str, Any], operators: Mapping[str, Any] | None = None
) -> dict[str, np.ndarray]:
    """The outputs of a program, each (…, rows, columns). `inputs` are flat or stacked arrays (…, rows, columns);
    `operators` gives constant task operators such as Q."""
    machine = _run(program, links, inputs, operators or {})
    return {name: machine.whole(name, space) for name, space in program.outputs}


def run_tables(
    program: Program, links: Links, inputs: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Run a program with tables: the operators wanted whole, and all fields link by link."""
    machine, made = _run(program, RigidLinks(links), inputs, {}), program.result_names
    return {name: machine.whole(made[name], "joints") for name in program.matrices}, machine.fields


def _run(program: Program, links: Mechanism, inputs: Mapping[str, Any], operators: Mapping[str, Any]) -> _Machine:
    machine = _Machine(links, operators)
    for name, space in program.inputs:
        machine.fields[name] = machine.cut(np.asarray(inputs[name]), space)
        if name in program.columns:
            machine.columns = np.asarray(inputs[name]).shape[-1]
    evaluate(program, machine)
    return machine


def poses(program: Program, links: Mechanism) -> list[Any]:
    """Pose of each link, from the program that places them."""
    machine = _Machine(links, {})
    evaluate(program, machine)
    return machine.fields["X"]


class _Machine(BlockDomain):
    """The fields of one run: a list with a block per link, or one flat array."""

    def __init__(self, links: Mechanism, operators: Mapping[str, Any]) -> None:
        self.links, self.operators = links, operators
        self.parents = links.parents
        self.count = len(self.parents)
        self.fields: dict[str, Any] = {}
        self.inverted: dict[str, str] = {}  # X⁻¹ by name, and X
        self.blocks: dict[tuple[str, int], Block] = {}  # that the mechanism gave
        self.columns = 1  # of what is zero by structure

    @cached_property
    def children(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.parents]
        for k, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(k)
        return found

    # What goes in and out

    def sizes(self, space: str) -> list[int]:
        """Rows of each link's part of a space."""
        if space == "parameters":
            return [self.links.parameters(k) for k in range(self.count)]
        if space == "links":
            return [self.links.width(k) for k in range(self.count)]
        rates = [each.stop - each.start for each in self.links.rates]
        return [n for n, parent in zip(rates, self.parents, strict=True) if space == "joints" or parent >= 0]

    def cut(self, array: np.ndarray, space: str) -> Any:
        """An input as one block per link, or as it is."""
        if space == "joints":
            return [array[..., each, :] for each in self.links.rates]
        if space not in OVER_LINKS:
            return array
        ends = np.cumsum([0, *self.sizes(space)])
        parts = iter([array[..., start:end, :] for start, end in pairwise(ends)])
        return [None if space == "inner" and parent < 0 else next(parts) for parent in self.parents]

    def whole(self, name: str, space: str) -> np.ndarray:
        """A field as one array (…, rows, columns)."""
        blocks: Any = self.fields[name]
        if space not in OVER_LINKS:
            rows = {"task": 6 * len(self.links.frames), "base": 6}.get(space, 1)
            rows = 6 * len(self.roots) if space == "root" else rows
            return np.zeros((rows, 1 if space == "scalars" else self.columns)) if blocks is None else blocks
        if space == "inner":
            blocks = [x for x, parent in zip(blocks, self.parents, strict=True) if parent >= 0]
        columns = self.columns_of(blocks)
        filled = [np.zeros((n, columns)) if x is None else x for n, x in zip(self.sizes(space), blocks, strict=True)]
        stacked = _concatenate([np.zeros((0, columns)), *filled])
        places = [i for each in self.links.rates for i in range(each.start, each.stop)] if space == "joints" else []
        return stacked if places == sorted(places) else stacked[..., np.argsort(places), :]

    def columns_of(self, blocks: Iterable[Block]) -> int:
        return next((x.shape[-1] for x in blocks if x is not None), self.columns)

    @cached_property
    def bases(self) -> list[int]:
        """The links that hang on the world."""
        return [k for k, parent in enumerate(self.parents) if parent < 0]

    @cached_property
    def roots(self) -> list[int]:
        """The same where something is stated over their six motions: they must be rigid."""
        if any(self.links.width(k) != 6 for k in self.bases):
            raise StatementError(
                "A base that bends has more than six motions, for which what is stated about a free base is not there; "
                "let the robot stand on a rigid body: put one under the body that bends, with a Fixed joint between."
            )
        return self.bases

    # The language

    def sites(self, sweep: Sweep) -> Iterable[int]:
        if sweep.direction == "flat":
            return (-1,)
        return range(self.count) if sweep.direction == ir.OUTWARD else range(self.count - 1, -1, -1)

    def begin(self, sweep: Sweep) -> None:
        if sweep.direction == "flat":
            return
        for statement in sweep.statements:
            self.fields[statement.target] = [None] * self.count
            if isinstance(statement.term, ir.Invert) and isinstance(statement.term.of, ir.Field):
                self.inverted[statement.target] = statement.term.of.name

    def put(self, statement: Statement, at: int, value: Block) -> None:
        if at < 0:
            self.fields[statement.target] = value
        else:
            if statement.symmetric and value is not None:
                value = link.mirror_upper(value)
            self.fields[statement.target][at] = value

    def get(self, name: str, at: int) -> Block:
        return self.fields[name] if at < 0 else self.fields[name][at]

    def above(self, name: str, k: int) -> Block:
        """A field at the parent; None on the world."""
        parent = self.parents[k] if k >= 0 else -1  # a flat term is about no link, and there may be none
        return self.fields[name][parent] if parent >= 0 else None

    def apply(self, function: str, arguments: list[Block], at: int) -> Block:
        if function == "pose":
            return self.links.pose(at, self.above("X", at))
        if function in UNTURNED:
            return arguments[0]
        return self.links.apply(function, at, arguments, lambda name: self.above(name, at))

    def operator(self, name: str, transposed: bool, x: Block) -> Block:
        if name == "U_task":
            return x
        operator = np.asarray(self.operators[name])
        return np.matmul(operator.T if transposed else operator, x)

    def product(self, left: Block, right: Block, term: ir.Times, at: int, half: bool) -> Block:
        """XY. Where D is large and G*φ*λ is none, on the world, D⁻¹y is solved for; there U is D and G = I if the joint
        is free."""
        inverse = [self.inverted.get(getattr(x, "name", ""), "") for x in (term.left, term.right)]
        if at >= 0 and self.parents[at] < 0 and any(inverse) and self.sizes("joints")[at] > 1:
            matrix = self.fields[inverse[0] or inverse[1]][at]
            if inverse[0] and right is not None:
                return solve_symmetric(matrix, right)
            if left is not None and left.shape == matrix.shape and all(map(_is_same, left.flat, matrix.flat)):
                return np.eye(len(left))
        return block_times(left, right)

    def pair_terms(self, terms: Any, at: int) -> list[tuple[Any, tuple[ir.Call, Any]]]:
        if not self.links.is_fused or not any(isinstance(x, ir.Call) for _, x in terms):
            return []
        return [(c, p) for c in (1, -1) for p in self.pairs([x for d, x in terms if d == c], at)]

    def pairs(self, terms: list[Term], k: int) -> list[tuple[ir.Call, Any]]:
        """b with Mα, a(k) with φ*α: what is cheaper together than apart."""
        found: dict[ir.Call, Any] = {}
        for first in (term for term in terms if isinstance(term, ir.Call)):
            for second in (term for term in terms if term not in found.values()):
                match first, second:
                    case (
                        ir.Call(function="bias_force", arguments=(ir.Data(name="M"), _)),
                        ir.Times(left=ir.Data(name="M"), right=ir.Field()),
                    ):
                        found.setdefault(first, second)
                    case ir.Call(function=function, arguments=(ir.Field(), _)), ir.Move(ir.PARENT, ir.MOTION, name):
                        carried = function == "bias_acceleration" and self.above(name, k) is not None
                        if carried or function == WAY:
                            found.setdefault(first, second)
        return list(found.items())

    def together(self, call: ir.Call, other: Any, k: int) -> Block:
        """Mα + b, φ*α + a(k), or φ*α and the way's part of a(k)."""
        if call.function == "bias_force":
            mass, velocity = (self.value(x, k) for x in call.arguments)
            return self.links.inertial_force(mass, velocity, self.value(other.right, k))
        rate: Any = call.arguments[0]
        if self.parents[k] < 0:
            return None  # the world does not turn
        carried = self.links.carry_acceleration(k, self.above(rate.name, k), self.above(other.name, k))
        if call.function == WAY:
            return carried
        own = self.links.apply("joint_acceleration", k, [self.value(x, k) for x in call.arguments], lambda _: None)
        return own + carried

    def move(self, term: Term, k: int) -> Block:
        name = getattr(term, "name", "")
        match term:
            case ir.Move(source=ir.BASE):
                return self.links.from_base(k, self.fields[name]) if self.parents[k] < 0 else None
            case ir.Move(source=ir.ROOT):
                at = 6 * self.roots.index(k) if self.parents[k] < 0 else 0
                return self.fields[name][..., at : at + 6, :] if self.parents[k] < 0 else None
            case ir.Move(source=ir.FRAMES):
                given = [(f, self.fields[name][..., 6 * i : 6 * i + 6, :]) for i, f in self.frames_on(k)]
                return block_total([(1.0, self.links.from_frame(f, self.fields["X"][k], x)) for f, x in given])
            case ir.Move():
                return self.sent(term, k)
            case ir.Combined(left=left, right=right):
                return block_times(self.fields[left][k], self.fields[right])
            case regions.Spread(operator=operator, transposed=transposed):
                return np.matmul(self.rows_of(operator, transposed, k), self.fields[name])
        return self.flat(term, name)

    def sent(self, term: ir.Move, k: int) -> Block:
        """What neighbours send; siblings to the parent first, which hands it on."""
        if term.source == ir.PARENT:
            return self.carry(term.act, k, self.above(term.name, k), True)
        if term.source == ir.SIBLINGS:
            others = [c for c in self.children[self.parents[k]] if c != k] if self.parents[k] >= 0 else []
            return self.carry(term.act, k, self.gather(term.act, term.name, others), True)
        moved = self.gather(term.act, term.name, self.children[k])
        return block_total([(1.0, moved), (-1.0, self.updates(term.update, k))]) if term.update else moved

    def carry(self, act: str, k: int, x: Block, outward: bool = False) -> Block:
        return None if x is None else self.links.carry(act, k, x, outward)

    def gather(self, act: str, name: str, links: Iterable[int]) -> Block:
        """Σ of what links send to their parent."""
        return block_total([(1.0, self.carry(act, c, self.fields[name][c])) for c in links])

    def updates(self, names: tuple[str, ...], k: int) -> Block:
        """Σ (φY)(φZ)* over the children."""
        found = []
        for c in self.children[k]:
            left, right = (self.carry(ir.FORCE, c, self.fields[name][c]) for name in names)
            found.append((1.0, block_times(left, transpose_block(right))))
        return block_total(found)

    def flat(self, term: Term, name: str) -> Block:
        match term:
            case ir.ToTask():
                links = [self.links.link_of(f) for f in self.links.frames]
                known = [self.fields[name][k] if k >= 0 else None for k in links]
                pairs = zip(self.links.frames, links, known, strict=True)
                rows = [None if x is None else self.links.to_frame(f, self.fields["X"][k], x) for f, k, x in pairs]
                return self.stack_blocks(rows)
            case ir.ToBase():
                sent = [(k, self.fields[name][k]) for k in self.bases]
                return block_total([(1.0, None if x is None else self.links.to_base(k, x)) for k, x in sent])
            case ir.ToRoot():
                return self.stack_blocks([self.fields[name][k] for k in self.roots])
            case regions.Gathered(operator=operator, transposed=transposed):
                columns = (transpose_block(self.rows_of(operator, not transposed, k)) for k in range(self.count))
                return block_total([(1.0, block_times(x, y)) for x, y in zip(columns, self.fields[name], strict=True)])
            case ir.ToScalar(left=left, right=right):
                pairs = zip(self.fields[left], self.fields[right], strict=True)
                return block_total([(1.0, block_times(transpose_block(x), y)) for x, y in pairs])
            case ir.Call(function="bias_acceleration_at_frames", arguments=(ir.Field(name=name),)):
                links = [(f, self.links.link_of(f)) for f in self.links.frames]
                places, velocities = self.fields["X"], self.fields[name]
                known = [self.links.frame_bias(f, places[k], velocities[k]) if k >= 0 else None for f, k in links]
                return _concatenate([np.zeros((6, 1)) if x is None else x for x in known])
            case ir.SolveStacked(matrix=matrix, right=right, symmetric=symmetric, over=over):
                chosen = solve_symmetric if symmetric else solve
                return self.cut(chosen(self.whole(matrix, over), self.whole(right, over)), over)
        raise AssertionError(term)

    def stack_blocks(self, rows: list[Block]) -> np.ndarray:
        """Blocks of six rows, one under the other."""
        columns = self.columns_of(rows)
        return _concatenate([np.zeros((6, columns)) if x is None else x for x in rows])

    def frames_on(self, k: int) -> list[tuple[int, str]]:
        """The task frames on a link, with their numbers."""
        return [(i, f) for i, f in enumerate(self.links.frames) if self.links.link_of(f) == k]

    # The robot's blocks

    def data(self, name: str, k: int) -> Block:
        if (name, k) not in self.blocks:
            self.blocks[name, k] = self._block(name, k)
        return self.blocks[name, k]

    def _block(self, name: str, k: int) -> Block:
        match name:
            case "H":
                return transpose_block(self.links.subspace(k))
            case "M":
                return self.links.mass(k)
            case "A":
                return self.links.armature(k)
            case "S":
                return self.links.rotor(k)
            case "N":
                return None if self.parents[k] < 0 else np.eye(self.sizes("joints")[k])
            case "I" | "unit":  # of the links, of the joints
                return np.eye(self.links.width(k) if name == "I" else self.sizes("joints")[k])
            case "Ψ" | "Ψ⁻¹":
                return self.links.basis(k, inverse=name != "Ψ")
            case "Pi_f" | "Pi_b":
                kept = self.parents[k] < 0 if name == "Pi_f" else not self.children[k]
                return np.eye(self.links.width(k)) if kept else None
            case "BUB*":
                pose, unit = self.fields["X"][k], np.eye(6)
                own = [self.links.from_frame(f, pose, unit) for _, f in self.frames_on(k)]
                return block_total([(1.0, np.matmul(x, transpose_block(x))) for x in own])
        operator = np.asarray(self.operators[name])
        return operator[..., self.rows_at(k, operator.shape[-2]), self.rows_at(k, operator.shape[-1])]

    def rows_of(self, operator: str, transposed: bool, k: int) -> np.ndarray:
        """The rows of an operator, or of its adjoint, at one link."""
        matrix = np.asarray(self.operators[operator])
        whole = transpose_block(matrix) if transposed else matrix
        return whole[..., self.rows_at(k, whole.shape[-2]), :]

    def rows_at(self, k: int, size: int) -> slice:
        """Rows of link k, or of its joint, in a stack; where both are as long, every joint has its link's rates."""
        widths = self.sizes("links")
        return slice(sum(widths[:k]), sum(widths[: k + 1])) if size == sum(widths) else self.links.rates[k]


def _is_same(x: Any, y: Any) -> bool:
    """Whether two numbers of a trace are one by structure."""
    return type(x) is type(y) is Scalar and x.index == y.index


def _concatenate(rows: list[np.ndarray]) -> np.ndarray:
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in rows))
    return np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in rows], axis=-2)
