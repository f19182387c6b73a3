"""Programs run on patterns: an entry is 0 (zero), 1 (one, up to sign) or 2 (any number). Only costs come out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from phistar.sweeps import ir
from phistar.sweeps.evaluate import Domain, Terms, evaluate
from phistar.sweeps.ir import Program, Statement, Sweep, Term

if TYPE_CHECKING:
    from phistar.sweeps.cost import Count

Pattern = list[list[int]]
Block = Any  # a Pattern, or None for what is zero by structure

_ROTATION: Pattern = [[2] * 3 for _ in range(3)]
_COLUMN: Pattern = [[2], [2], [2]]


def count(program: Program, n: int) -> Count:
    """The operations of a program on a serial chain of n revolute links with one task frame at the tip.

    Where a program speaks of the joints between links or of the base link, there are n of these joints.
    """
    from phistar.sweeps.cost import Count

    spaces = {space for _, space in (*program.inputs, *program.outputs)}
    machine = _Tally(n + 1 if spaces & {"inner", "root"} else n)
    for name, space in program.inputs:
        machine.give(name, space, name in program.columns)
    evaluate(program, machine)
    return Count(machine.adds, machine.multiplies, machine.divides)


def _zeros(rows: int, columns: int) -> Pattern:
    return [[0] * columns for _ in range(rows)]


def _identity(size: int) -> Pattern:
    return [[int(i == j) for j in range(size)] for i in range(size)]


def _transposed(x: Pattern) -> Pattern:
    return [list(row) for row in zip(*x, strict=True)]


def _rows(x: Pattern, start: int, stop: int) -> Pattern:
    return x[start:stop]


_SKEW: Pattern = [[0, 2, 2], [2, 0, 2], [2, 2, 0]]
_MASS: Pattern = [
    *[[2, 2, 2, *row] for row in _SKEW],
    *[[*row, *[2 if i == j else 0 for j in range(3)]] for i, row in enumerate(_SKEW)],
]
_DATA = {
    "H": [[0, 0, 1, 0, 0, 0]],
    "M": _MASS,
    "A": [[2]],
    "S": [[0], [0], [2], [0], [0], [0]],
    "I": _identity(6),
    "X": [[2] * 6 for _ in range(6)],
}


def _own(name: str) -> Pattern:
    """An operator that the caller gives, full at every link or joint."""
    _, rows, columns, _ = name.split(" ")
    return [[2] * (1 if columns == "joints" else 6) for _ in range(1 if rows == "joints" else 6)]


def _skew(x: Pattern) -> Pattern:
    (a,), (b,), (c,) = x
    return [[0, c, b], [c, 0, a], [b, a, 0]]


@dataclass
class _Tally(Domain):
    """Link 0 is the base link, link n − 1 the tip."""

    n: int
    adds: int = 0
    multiplies: int = 0
    divides: int = 0
    fields: dict[str, Any] = field(default_factory=dict)  # a block per link, or one flat block

    def give(self, name: str, space: str, columns: bool) -> None:
        size = {"joints": 1, "inner": 1, "links": 6}.get(space)
        if size is None:
            flat: Pattern = _identity(6) if columns else [[2]] * 6
            self.fields[name] = [[0], [0], [0], [2], [2], [2]] if name == "a_g" else flat
        elif space == "inner":
            unit = _identity(self.n - 1)
            self.fields[name] = [None, *([row] if columns else [[2]] for row in unit)]
        elif columns:
            unit = _identity(size * self.n)
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
            return _identity(1 if name == "N" else 6) if kept else None
        return _DATA[name] if name in _DATA else _own(name)

    def transpose(self, x: Block) -> Block:
        return None if x is None else _transposed(x)

    def divide(self, x: Block, matrix: Block) -> Block:
        return None if x is None else _transposed(self.solved(matrix, _transposed(x)))

    def apply(self, function: str, arguments: list[Block], at: int) -> Block:
        return getattr(self, function)(at, *arguments)

    def operator(self, name: str, transposed: bool, x: Block) -> Block:
        return x

    def solve(self, matrix: Block, right: Block, symmetric: bool) -> Pattern:
        return self.solved(matrix, right)

    def product(self, left: Block, right: Block, term: Any, at: int, half: bool) -> Block:
        return self.times(left, right, half)

    def total(self, terms: Terms, half: bool) -> Block:
        return self.sum([(abs(c), x) for c, x in terms], half)

    def move(self, term: Term, k: int) -> Block:
        match term:
            case ir.FromChildren(name=name):
                below = self.get(name, k + 1) if k + 1 < self.n else None
                return None if below is None else self.inward(below)
            case ir.CongruentChildren(name=name):
                below = self.get(name, k + 1) if k + 1 < self.n else None
                return None if below is None else self.congruent(below)
            case ir.CarriedChildren(name=name):
                below = self.get(name, k + 1) if k + 1 < self.n else None
                return None if below is None else _transposed(self.inward(_transposed(self.inward(below))))
            case ir.FromParent(name=name):
                above = self.get(name, k - 1) if k > 0 else None
                return None if above is None else self.outward(above)
            case ir.CongruentParent(name=name):
                above = self.get(name, k - 1) if k > 0 else None
                return None if above is None else self.congruent(above)
            case ir.FromBase(name=name):
                return self.outward(self.fields[name]) if k == 0 else None
            case ir.FromTask(name=name):
                return self.inward(self.fields[name]) if k == self.n - 1 else None
            case ir.FromRoot(name=name):
                return self.fields[name] if k == 0 else None
            case ir.BackFromParent(name=name) | ir.BackCongruentParent(name=name):
                above = self.get(name, k - 1) if k > 0 else None
                move = self.inward if isinstance(term, ir.BackFromParent) else self.congruent
                return None if above is None else move(above)
            case ir.BackFromChildren(name=name):
                below = self.get(name, k + 1) if k + 1 < self.n else None
                return None if below is None else self.outward(below)
            case ir.FromSiblings() | ir.BackFromSiblings() | ir.CongruentSiblings():
                return None  # a chain has none
        return self.flat(term)

    def flat(self, term: Term) -> Block:
        match term:
            case ir.ToTask(name=name):
                tip = self.get(name, self.n - 1)
                return _zeros(6, 1) if tip is None else self.outward(tip)
            case ir.ToBase(name=name):
                root = self.get(name, 0)
                return _zeros(6, 1) if root is None else self.inward(root)
            case ir.ToRoot(name=name):
                return _zeros(6, 1) if self.get(name, 0) is None else self.get(name, 0)
            case ir.ToScalar(left=left, right=right):
                return self.dot(left, right)
            case ir.Call(arguments=(ir.Field(name=name),)):
                return self.bias_acceleration_at_frames(-1, self.fields[name])
            case ir.SolveStacked(matrix=matrix, right=right):
                whole = [[x for b in self.fields[name] for x in (b or [[2]])] for name in (matrix, right)]
                solved = self.solved(*whole)
                size = len(solved) // self.n
                return [solved[size * k : size * k + size] for k in range(self.n)]
        raise AssertionError(term)

    # Arithmetic on patterns

    def times(self, a: Block, b: Block, symmetric: bool = False) -> Block:
        if a is None or b is None:
            return None
        result = _zeros(len(a), len(b[0]))
        for i, row in enumerate(a):
            for j in range(len(b[0])):
                pairs = [(x, b[m][j]) for m, x in enumerate(row) if x and b[m][j]]
                result[i][j] = 0 if not pairs else 1 if pairs == [(1, 1)] else 2
                if pairs and not (symmetric and j < i):
                    self.adds += len(pairs) - 1
                    self.multiplies += sum(pair == (2, 2) for pair in pairs)
        return result

    def sum(self, terms: list, symmetric: bool) -> Block:
        blocks = [(c, x) for c, x in terms if x is not None]
        if not blocks:
            return None
        result = [list(row) for row in blocks[0][1]]
        for i in range(len(result)):
            for j in range(len(result[0])):
                entries = [(c, x[i][j]) for c, x in blocks if x[i][j]]
                result[i][j] = 0 if not entries else entries[0][1] if len(entries) == 1 and entries[0][0] == 1 else 2
                if entries and not (symmetric and j < i):
                    self.adds += len(entries) - 1
                    self.multiplies += sum(c != 1 for c, _ in entries)
        return result

    def inward(self, x: Pattern) -> Pattern:
        moment = self.times(_ROTATION, _rows(x, 0, 3))
        force = self.times(_ROTATION, _rows(x, 3, 6))
        lever = self.times(_SKEW, force)
        return [*self.sum([(1, moment), (1, lever)], False), *force]

    def outward(self, x: Pattern) -> Pattern:
        lever = self.times(_SKEW, _rows(x, 0, 3))
        linear = self.sum([(1, _rows(x, 3, 6)), (1, lever)], False)
        return [*self.times(_ROTATION, _rows(x, 0, 3)), *self.times(_ROTATION, linear)]

    def congruent(self, x: Pattern) -> Pattern:
        """Rotate the three distinct 3×3 blocks, shift by the offset; symmetric blocks count their upper triangle."""
        a, b, c = ([row[j : j + 3] for row in x[i : i + 3]] for i, j in ((0, 0), (0, 3), (3, 3)))
        back = _transposed(_ROTATION)
        a2 = self.times(self.times(_ROTATION, a), back, True)
        b2 = self.times(self.times(_ROTATION, b), back)
        c2 = self.times(self.times(_ROTATION, c), back, True)
        shifted = self.sum([(1, b2), (1, self.times(_SKEW, c2))], False)
        levers = [self.times(shifted, _SKEW, True), self.times(b2, _SKEW, True)]
        top = self.sum([(1, a2), *((1, lever) for lever in levers)], True)
        upper = [[*p, *q] for p, q in zip(top, shifted, strict=True)]
        lower = [[*p, *q] for p, q in zip(_transposed(shifted), c2, strict=True)]
        return upper + lower

    def cross(self, a: Pattern, b: Pattern) -> Pattern:
        matrix = _zeros(3, 3)
        for i, j, source in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
            matrix[i][j] = a[source][0]
        result = self.times(matrix, b)
        assert result is not None
        return result

    def solved(self, matrix: Block, right: Block) -> Pattern:
        """Cholesky-like LDL*: the flat cost of a symmetric solve."""
        assert matrix is not None and right is not None
        m, c = len(matrix), len(right[0])
        self.divides += m
        self.multiplies += m * (m * m - 1) // 6 + m * (m - 1) // 2 + c * (m * m - m) + c * m
        self.adds += m * (m * m - 1) // 6 + c * (m * m - m)
        return [[2] * c for _ in range(m)]

    def invert(self, block: Block) -> Pattern:
        if len(block) == 1:
            self.divides += 1
            return [[2]]
        return self.solved(block, _identity(len(block)))

    def dot(self, left: str, right: str) -> Pattern:
        for a, b in zip(self.fields[left], self.fields[right], strict=True):
            self.times(None if a is None else _transposed(a), b)
        self.adds += self.n - 1
        return [[2]]

    # Functions a program may call

    def pose(self, k: int) -> Pattern:
        if k > 0:
            self.times(_ROTATION, _ROTATION)
            self.sum([(1, _COLUMN), (1, self.times(_ROTATION, _COLUMN))], False)
        return _ROTATION

    def bias_acceleration(self, k: int, velocity: Pattern, v: Pattern) -> Block:
        if k == 0:
            return None
        spin: Pattern = [[0], [0], [2]]
        parent = _rows(velocity, 0, 3)
        self.adds += 1
        reach = self.times(_ROTATION, _COLUMN)
        assert reach is not None
        return [*self.cross(parent, spin), *self.cross(parent, self.cross(parent, reach))]

    def rotor_moment(self, k: int, velocity: Pattern, v: Pattern) -> Block:
        spin: Pattern = [[0], [0], [2]]
        self.multiplies += 1
        return [*self.cross(_rows(velocity, 0, 3), spin), [0], [0], [0]]

    def reference_acceleration(self, k: int, velocity: Pattern, v: Pattern, reference: Pattern, v_r: Pattern) -> Block:
        if k == 0:
            return None
        spin: Pattern = [[0], [0], [2]]
        parent, parent_r = _rows(velocity, 0, 3), _rows(reference, 0, 3)
        self.adds += 2
        reach = self.times(_ROTATION, _COLUMN)
        assert reach is not None
        return [*self.cross(parent, spin), *self.cross(parent_r, self.cross(parent, reach))]

    def reference_turning(self, k: int, velocity: Pattern, v: Pattern, reference: Pattern, v_r: Pattern) -> Block:
        omega = _rows(velocity, 0, 3)
        return [*self.cross(omega, _rows(reference, 0, 3)), *self.cross(omega, _rows(reference, 3, 6))]

    def reference_rotor_moment(self, k: int, velocity: Pattern, v: Pattern, v_r: Pattern) -> Block:
        return self.rotor_moment(k, velocity, v_r)

    def reference_force(self, k: int, mass: Pattern, velocity: Pattern, reference: Pattern) -> Pattern:
        omega, omega_r = _rows(velocity, 0, 3), _rows(reference, 0, 3)
        moment = self.times([row[:3] for row in mass[:3]], omega_r)
        moment = self.sum([(1, moment), (2, omega_r)], False)
        force = self.times([row[:3] for row in mass[3:]], omega)
        assert moment is not None and force is not None
        return [*self.cross(omega, moment), *self.cross(omega_r, force)]

    def motion_bracket(self, k: int, motion: Block) -> Block:
        if motion is None:
            return None
        spin, slide = (_skew(_rows(motion, i, i + 3)) for i in (0, 3))
        return [*[[*row, 0, 0, 0] for row in spin], *[[*a, *b] for a, b in zip(slide, spin, strict=True)]]

    def force_bracket(self, k: int, force: Block) -> Block:
        if force is None:
            return None
        moment, push = (_skew(_rows(force, i, i + 3)) for i in (0, 3))
        return [*[[*a, *b] for a, b in zip(moment, push, strict=True)], *[[*row, 0, 0, 0] for row in push]]

    def frame_turn(self, k: int, motion: Pattern) -> Block:
        spin = _skew(_rows(motion, 0, 3))
        return [*[[*row, 0, 0, 0] for row in spin], *[[0, 0, 0, *row] for row in spin]]

    def frame_sweep(self, k: int, vector: Pattern) -> Block:
        return [[*row, 0, 0, 0] for i in (0, 3) for row in _skew(_rows(vector, i, i + 3))]

    def axes_axial(self, k: int, block: Block) -> Block:
        return None  # of constant axes

    def axial(self, k: int, block: Block) -> Block:
        self.adds += 0 if block is None else 9
        return None if block is None else [[2] for _ in range(6)]

    def own_bracket(self, k: int, v: Pattern) -> Block:
        return None  # of one axis

    def coriolis_block(self, k: int, velocity: Pattern) -> Pattern:
        spin, linear = _skew(_rows(velocity, 0, 3)), _rows(velocity, 3, 6)
        turned = self.times(spin, [[2] * 3 for _ in range(3)])
        whole = self.sum([(1, turned), (1, self.times(linear, [[2, 2, 2]]))], False)
        momentum = self.sum([(2, linear), (1, self.times(spin, _COLUMN))], False)
        self.adds += 3
        left = [*(whole or _zeros(3, 3)), *_skew(momentum or _zeros(3, 1))]
        return [[*row, 0, 0, 0] for row in left]

    def diagonal(self, k: int, weights: Pattern) -> Block:
        return [[2]]

    root = diagonal  # square roots are none of the operations that the papers count

    def subspace_rate(self, k: int, v: Pattern) -> Block:
        return None

    def turning(self, k: int, block: Pattern, v: Pattern) -> Block:
        spin: Pattern = [[0, 2, 0], [2, 0, 0], [0, 0, 0]]
        cross = [*[[*row, 0, 0, 0] for row in spin], *[[0, 0, 0, *row] for row in spin]]
        half = self.times(cross, block)
        assert half is not None
        return self.sum([(1, half), (1, _transposed(half))], True)

    def bias_force(self, k: int, mass: Pattern, velocity: Pattern) -> Pattern:
        omega = _rows(velocity, 0, 3)
        momentum = self.times([row[:3] for row in mass], omega)
        assert momentum is not None
        return [*self.cross(omega, momentum[:3]), *self.cross(omega, momentum[3:])]

    def bias_acceleration_at_frames(self, k: int, velocities: list[Pattern]) -> Pattern:
        omega = _rows(velocities[-1], 0, 3)
        linear = self.times(_ROTATION, self.cross(omega, self.cross(omega, _COLUMN)))
        assert linear is not None
        return [[0], [0], [0], *linear]
