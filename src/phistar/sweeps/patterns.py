"""Programs run on patterns: an entry is 0 (zero), 1 (one, up to sign) or 2 (any number). Only costs come out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from phistar.operators.spaces import RANKS
from phistar.sweeps import ir, regions
from phistar.sweeps.evaluate import Domain, Terms, evaluate
from phistar.sweeps.ir import Program, Statement, Sweep, Term
from phistar.sweeps.pattern_arithmetic import MASS, Block, Count, Pattern, Tally, identity, transpose_pattern, zeros
from phistar.sweeps.primitives import PRIMITIVES


def count(program: Program, n: int) -> Count:
    """The operations of a program on a serial chain of n revolute links with one task frame at the tip.

    Where a program speaks of the joints between links or of the base link, there are n of these joints.
    """
    spaces = {space for _, space in (*program.inputs, *program.outputs)}
    machine = _Chain(n + 1 if spaces & {"inner", "root"} else n)
    for name, space in program.inputs:
        machine.give(name, space, name in program.columns)
    evaluate(program, machine)
    return machine.tally.count


_DATA = {
    "H": [[0, 0, 1, 0, 0, 0]],
    "M": MASS,
    "A": [[2]],
    "S": [[0], [0], [2], [0], [0], [0]],
    "I": identity(6),
    "unit": identity(1),
    "X": [[2] * 6 for _ in range(6)],
}


def _rows(name: str, transposed: bool) -> Pattern:
    """The rows of a link or joint of an operator from a few coordinates, or of the adjoint of one to them."""
    _, *over, _ = name.replace("rank ", "rank_").split(" ")
    rows, columns = (int(x.removeprefix("rank_")) if "rank" in x else 1 if x == "joints" else 6 for x in over)
    return [[2] * (rows if transposed else columns) for _ in range(columns if transposed else rows)]


def _own(name: str) -> Pattern:
    """An operator that the caller gives, full at every link or joint."""
    _, rows, columns, _ = name.split(" ")
    return [[2] * (1 if columns == "joints" else 6) for _ in range(1 if rows == "joints" else 6)]


@dataclass
class _Chain(Domain):
    """Link 0 is the base link, link n − 1 the tip."""

    n: int
    tally: Tally = field(default_factory=Tally)
    fields: dict[str, Any] = field(default_factory=dict)  # a block per link, or one flat block

    def give(self, name: str, space: str, columns: bool) -> None:
        size = {"joints": 1, "inner": 1, "links": 6, "parameters": 10}.get(space)
        if size is None:
            rows = RANKS.get(space, 6)
            flat: Pattern = identity(rows) if columns else [[2]] * rows
            self.fields[name] = [[0], [0], [0], [2], [2], [2]] if name == "a_g" else flat
        elif space == "inner":
            unit = identity(self.n - 1)
            self.fields[name] = [None, *([row] if columns else [[2]] for row in unit)]
        elif columns:
            unit = identity(size * self.n)
            self.fields[name] = [unit[size * k : size * k + size] for k in range(self.n)]
        else:
            self.fields[name] = [[[2]] * size for _ in range(self.n)]

    def sites(self, sweep: Sweep) -> Iterable[int]:
        if sweep.direction == "flat":
            return (-1,)
        return range(self.n) if sweep.direction == ir.OUTWARD else range(self.n - 1, -1, -1)

    def begin(self, sweep: Sweep) -> None:
        if sweep.direction != "flat":
            self.fields |= {statement.target: [None] * self.n for statement in sweep.statements}

    def put(self, statement: Statement, at: int, value: Block) -> None:
        if at < 0:
            self.fields[statement.target] = value
        else:
            self.fields[statement.target][at] = value

    def get(self, name: str, at: int) -> Block:
        return self.fields[name][at] if at >= 0 else self.fields[name]

    def data(self, name: str, at: int) -> Block:
        if name == "BUB*":
            return [[2] * 6 for _ in range(6)] if at == self.n - 1 else None
        if name in ("N", "Pi_f", "Pi_b"):
            kept = {"N": at > 0, "Pi_f": at == 0, "Pi_b": at == self.n - 1}[name]
            return identity(1 if name == "N" else 6) if kept else None
        return _DATA[name] if name in _DATA else _own(name)

    def transpose(self, x: Block) -> Block:
        return None if x is None else transpose_pattern(x)

    def divide(self, x: Block, matrix: Block) -> Block:
        return None if x is None else transpose_pattern(self.tally.solve(matrix, transpose_pattern(x)))

    def apply(self, function: str, arguments: list[Block], at: int) -> Block:
        return PRIMITIVES[function].count(self.tally, at, *arguments)

    def invert(self, x: Block) -> Block:
        return self.tally.invert(x)

    def operator(self, name: str, transposed: bool, x: Block) -> Block:
        return x

    def solve(self, matrix: Block, right: Block, symmetric: bool) -> Pattern:
        return self.tally.solve(matrix, right)

    def product(self, left: Block, right: Block, term: Any, at: int, half: bool) -> Block:
        return self.tally.times(left, right, half)

    def total(self, terms: Terms, half: bool) -> Block:
        return self.tally.sum([(abs(c), x) for c, x in terms], half)

    def move(self, term: Term, k: int) -> Block:
        match term:
            case ir.Move():
                x = self.sent(term, k)
                return None if x is None else self.carried(term.act, x)
            case ir.Combined(left=left, right=right):
                return self.tally.times(self.fields[left][k], self.fields[right])
            case regions.Spread(operator=operator, transposed=is_adjoint, name=name):
                return self.tally.times(_rows(operator, is_adjoint), self.fields[name])
        return self.flat(term)

    def sent(self, term: ir.Move, k: int) -> Block:
        """What is carried to link k of a chain, whose first link hangs on the world and whose last one has the frames;
        None where there is none."""
        at = {ir.CHILDREN: k + 1, ir.PARENT: k - 1, ir.SIBLINGS: -1}.get(term.source)
        if at is not None:
            return self.get(term.name, at) if 0 <= at < self.n else None
        return self.fields[term.name] if k == (self.n - 1 if term.source == ir.FRAMES else 0) else None

    def carried(self, act: str, x: Pattern) -> Block:
        """A block in the axes of the next link."""
        match act:
            case ir.FORCE:
                return self.tally.inward(x)
            case ir.MOTION:
                return self.tally.outward(x)
            case ir.CARRIED:
                return transpose_pattern(self.tally.inward(transpose_pattern(self.tally.inward(x))))
            case ir.COPY:
                return x
        return self.tally.congruent(x)

    def flat(self, term: Term) -> Block:
        match term:
            case ir.ToTask(name=name):
                tip = self.get(name, self.n - 1)
                return zeros(6, 1) if tip is None else self.tally.outward(tip)
            case ir.ToBase(name=name):
                root = self.get(name, 0)
                return zeros(6, 1) if root is None else self.tally.inward(root)
            case ir.ToRoot(name=name):
                return zeros(6, 1) if self.get(name, 0) is None else self.get(name, 0)
            case ir.ToScalar(left=left, right=right):
                return self.dot(left, right)
            case regions.Gathered(operator=operator, transposed=is_adjoint, name=name):
                columns = _rows(operator, is_adjoint)
                return self.tally.sum([(1, self.tally.times(columns, x)) for x in self.fields[name]], False)
            case ir.Call(function=function, arguments=(ir.Field(name=name),)):
                return PRIMITIVES[function].count(self.tally, -1, self.fields[name])
            case ir.SolveStacked(matrix=matrix, right=right):
                whole = [[x for b in self.fields[name] for x in (b or [[2]])] for name in (matrix, right)]
                solved = self.tally.solve(*whole)
                size = len(solved) // self.n
                return [solved[size * k : size * k + size] for k in range(self.n)]
        raise AssertionError(term)

    def dot(self, left: str, right: str) -> Pattern:
        found: Pattern = [[2]]
        for a, b in zip(self.fields[left], self.fields[right], strict=True):
            found = self.tally.times(None if a is None else transpose_pattern(a), b) or found
        self.tally.adds += (self.n - 1) * len(found) * len(found[0])
        return [[2] * len(row) for row in found]
