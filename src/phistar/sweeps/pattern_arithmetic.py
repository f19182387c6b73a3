"""Arithmetic on patterns, counted: an entry is 0 (zero), 1 (one, up to sign) or 2 (any number)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Pattern = list[list[int]]
Block = Any  # a Pattern, or None for what is zero by structure

ROTATION: Pattern = [[2] * 3 for _ in range(3)]
COLUMN: Pattern = [[2], [2], [2]]


def zeros(rows: int, columns: int) -> Pattern:
    return [[0] * columns for _ in range(rows)]


def identity(size: int) -> Pattern:
    return [[int(i == j) for j in range(size)] for i in range(size)]


def transpose_pattern(x: Pattern) -> Pattern:
    return [list(row) for row in zip(*x, strict=True)]


def rows(x: Pattern, start: int, stop: int) -> Pattern:
    return x[start:stop]


SKEW: Pattern = [[0, 2, 2], [2, 0, 2], [2, 2, 0]]
MASS: Pattern = [
    *[[2, 2, 2, *row] for row in SKEW],
    *[[*row, *[2 if i == j else 0 for j in range(3)]] for i, row in enumerate(SKEW)],
]


def skew(x: Pattern) -> Pattern:
    (a,), (b,), (c,) = x
    return [[0, c, b], [c, 0, a], [b, a, 0]]


@dataclass(frozen=True)
class Count:
    """Additions (and subtractions), multiplications, divisions of one evaluation; of a robot's kernel also `others`:
    sines, cosines, changes of sign, and what is not told apart in loops over the links."""

    adds: int
    multiplies: int
    divides: int
    others: int = 0

    @property
    def total(self) -> int:
        return self.adds + self.multiplies + self.divides + self.others

    def __str__(self) -> str:
        shown = f"{self.adds} additions, {self.multiplies} multiplications, {self.divides} divisions"
        return f"{shown}, {self.others} others" if self.others else shown


@dataclass
class Tally:
    """Additions, multiplications and divisions so far."""

    adds: int = 0
    multiplies: int = 0
    divides: int = 0

    @property
    def count(self) -> Count:
        return Count(self.adds, self.multiplies, self.divides)

    def times(self, a: Block, b: Block, symmetric: bool = False) -> Block:
        if a is None or b is None:
            return None
        result = zeros(len(a), len(b[0]))
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
        moment = self.times(ROTATION, rows(x, 0, 3))
        force = self.times(ROTATION, rows(x, 3, 6))
        lever = self.times(SKEW, force)
        return [*self.sum([(1, moment), (1, lever)], False), *force]

    def outward(self, x: Pattern) -> Pattern:
        lever = self.times(SKEW, rows(x, 0, 3))
        linear = self.sum([(1, rows(x, 3, 6)), (1, lever)], False)
        return [*self.times(ROTATION, rows(x, 0, 3)), *self.times(ROTATION, linear)]

    def congruent(self, x: Pattern) -> Pattern:
        """Rotate the three distinct 3×3 blocks, shift by the offset; symmetric blocks count their upper triangle."""
        a, b, c = ([row[j : j + 3] for row in x[i : i + 3]] for i, j in ((0, 0), (0, 3), (3, 3)))
        back = transpose_pattern(ROTATION)
        a2 = self.times(self.times(ROTATION, a), back, True)
        b2 = self.times(self.times(ROTATION, b), back)
        c2 = self.times(self.times(ROTATION, c), back, True)
        shifted = self.sum([(1, b2), (1, self.times(SKEW, c2))], False)
        levers = [self.times(shifted, SKEW, True), self.times(b2, SKEW, True)]
        top = self.sum([(1, a2), *((1, lever) for lever in levers)], True)
        upper = [[*p, *q] for p, q in zip(top, shifted, strict=True)]
        lower = [[*p, *q] for p, q in zip(transpose_pattern(shifted), c2, strict=True)]
        return upper + lower

    def cross(self, a: Pattern, b: Pattern) -> Pattern:
        matrix = zeros(3, 3)
        for i, j, source in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
            matrix[i][j] = a[source][0]
        result = self.times(matrix, b)
        assert result is not None
        return result

    def solve(self, matrix: Block, right: Block) -> Pattern:
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
        return self.solve(block, identity(len(block)))
