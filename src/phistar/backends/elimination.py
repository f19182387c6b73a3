"""ℳ⁻¹X inside a kernel, as loops over tables.

ℳ = L*DL, where L(k,i) is zero unless joint i carries joint k (Featherstone's LTDL): branches stay apart. Written out,
the elimination of many columns would dwarf everything that makes them; as loops it is a few lines of code and data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.llvm import FLAGS

WIDEST = 12  # columns that are eliminated together: as many as registers hold


def factored(matrix: np.ndarray) -> tuple[dict[tuple[int, int], Any], list[Any]]:
    """L's entries by (carrying joint, carried joint), and 1/D: the last row is eliminated first."""
    size = matrix.shape[-1]
    x = [[matrix[i, j] for j in range(size)] for i in range(size)]
    factors: dict[tuple[int, int], Any] = {}
    scales: list[Any] = [0.0] * size
    for k in range(size - 1, -1, -1):
        scales[k] = 1.0 / x[k][k]
        for i in (i for i in range(k) if _is_nonzero(x[i][k])):
            factors[i, k] = x[i][k] * scales[k]
            for j in range(i + 1):
                x[j][i] = x[j][i] - factors[i, k] * x[j][k]
    return factors, scales


def supports(table: np.ndarray) -> tuple[frozenset[int], ...]:
    """The rows of each column that are not zero by structure."""
    return tuple(frozenset(i for i, x in enumerate(column) if _is_nonzero(x)) for column in table.T)


def _is_nonzero(value: Any) -> bool:
    return not (isinstance(value, float) and value == 0.0)


@dataclass(frozen=True)
class Job:
    """A block in memory: its first entry, entries from row to row, and the support of each of its columns."""

    start: int
    stride: int
    supports: tuple[frozenset[int], ...]


@dataclass(frozen=True)
class Elimination:
    """What the loops do to packed memory (places are counted in entries, a vector of lanes each): L, 1/D and a one
    stand from entry `first` on, in the order of `pairs` and of the joints."""

    size: int
    pairs: tuple[tuple[int, int], ...]
    first: int
    jobs: tuple[Job, ...]

    def text(self, lanes: int) -> tuple[list[str], list[str]]:
        """Definitions (functions and tables) and the calls on the memory %out."""
        tables: dict[tuple[int, ...], str] = {}
        calls: list[str] = []
        for number, (place, width, sweeps) in enumerate(self.groups()):
            calls.append(f"  %e{number} = getelementptr i8, ptr %out, i64 {8 * lanes * place}")
            for sweep in sweeps:
                entries = tuple(x if is_count else 8 * lanes * x for is_count, x in sweep.table)
                name = tables.setdefault(entries, f"@t{len(tables)}")
                calls.append(f"  call void @eliminate{width}(ptr %out, ptr %e{number}, ptr {name}, i64 {sweep.steps})")
        data = [
            f"{name} = internal constant [{len(table)} x i64] [{', '.join(f'i64 {x}' for x in table)}]"
            for table, name in tables.items()
        ]
        widths = sorted({width for _, width, _ in self.groups()})
        return [*(_eliminate(width, lanes) for width in widths), *data], calls

    @property
    def operations(self) -> int:
        """Multiplications and additions of all loops."""
        return sum(width * sweep.operations for _, width, sweeps in self.groups() for sweep in sweeps)

    def groups(self) -> list[tuple[int, int, list[Sweep]]]:
        """Columns that go together: the first one's entry, how many, and the two sweeps over the joints."""
        result = []
        for job in self.jobs:
            column = 0
            for width in _widths(len(job.supports)):
                support = frozenset[int]().union(*job.supports[column : column + width])
                sweeps = [self.inward(job.stride, support), self.outward(job.stride)] if support else []
                result.append((job.start + column, width, sweeps))
                column += width
        return result

    def inward(self, stride: int, support: frozenset[int]) -> Sweep:
        """y(i) = x(i) − Σ L(k,i) y(k) over the carried joints k, where there is anything to carry."""
        one, steps, reached = self.first + len(self.pairs) + self.size, [], set(support)
        for i in range(self.size - 1, -1, -1):
            sources = [
                (k, self.places[i, k]) for k in range(i + 1, self.size) if k in reached and (i, k) in self.places
            ]
            if sources:
                reached.add(i)
                steps.append((i, one, sources))
        return _sweep(steps, stride)

    def outward(self, stride: int) -> Sweep:
        """z(k) = y(k)/D(k) − Σ L(k,i) z(i) over the carrying joints i."""
        scales = self.first + len(self.pairs)
        steps = []
        for k in range(self.size):
            sources = [(i, self.places[i, k]) for i in range(k) if (i, k) in self.places]
            steps.append((k, scales + k, sources))
        return _sweep(steps, stride)

    @cached_property
    def places(self) -> dict[tuple[int, int], int]:
        """The entry of each L(k,i)."""
        return {pair: self.first + index for index, pair in enumerate(self.pairs)}


@dataclass(frozen=True)
class Sweep:
    """Numbers as the loops read them, each with whether it is a count (else a place in memory)."""

    steps: int
    table: tuple[tuple[bool, int], ...]

    @property
    def operations(self) -> int:
        return self.steps + sum(2 * x for is_count, x in self.table if is_count)


def _sweep(steps: list[tuple[int, int, list[tuple[int, int]]]], stride: int) -> Sweep:
    """(target row, scale, [(source row, factor)]) one after the other."""
    table: list[tuple[bool, int]] = []
    for row, scale, sources in steps:
        table += [(False, stride * row), (False, scale), (True, len(sources))]
        table += [(False, x) for source, factor in sources for x in (stride * source, factor)]
    return Sweep(len(steps), tuple(table))


def _widths(columns: int) -> list[int]:
    """Columns of each group: as few groups as there can be, as equal as they can be."""
    groups = -(-columns // WIDEST)
    return [columns * (group + 1) // groups - columns * group // groups for group in range(groups)]


def _eliminate(width: int, lanes: int) -> str:
    """For each step of a table: x(target)·scale − Σ factor·x(source), for `width` columns at once in registers."""
    vector, align, columns = f"<{lanes} x double>", f"align {8 * lanes}", range(width)

    def at(name: str, start: str, index: str) -> str:
        return f"  %{name} = getelementptr i8, ptr %{start}, i64 {index}"

    lines = [f"define internal void @eliminate{width}(ptr %m, ptr %x, ptr %table, i64 %steps) #0 {{", "entry:"]
    lines += ["  %any = icmp sgt i64 %steps, 0", "  br i1 %any, label %step, label %done", "step:"]
    lines += ["  %s = phi i64 [0, %entry], [%s2, %stored]", "  %t = phi ptr [%table, %entry], [%after, %stored]"]
    for position, name in enumerate(("to", "scaleat", "count")):
        lines += [at(f"{name}p", "t", str(8 * position)), f"  %{name} = load i64, ptr %{name}p, align 8"]
    lines += [at("first", "t", "24"), at("target", "x", "%to"), at("scalep", "m", "%scaleat")]
    lines.append(f"  %scale = load {vector}, ptr %scalep, {align}")
    for c in columns:
        lines += [at(f"x{c}p", "target", str(8 * lanes * c)), f"  %x{c} = load {vector}, ptr %x{c}p, {align}"]
        lines.append(f"  %a{c} = fmul {FLAGS} {vector} %x{c}, %scale")
    lines += ["  %none = icmp eq i64 %count, 0", "  br i1 %none, label %stored, label %source", "source:"]
    lines += ["  %j = phi i64 [0, %step], [%j2, %source]", "  %r = phi ptr [%first, %step], [%r2, %source]"]
    lines += [f"  %b{c} = phi {vector} [%a{c}, %step], [%d{c}, %source]" for c in columns]
    lines += ["  %from = load i64, ptr %r, align 8", at("rl", "r", "8"), "  %lat = load i64, ptr %rl, align 8"]
    lines += [at("lp", "m", "%lat"), f"  %l = load {vector}, ptr %lp, {align}", at("sp", "x", "%from")]
    for c in columns:
        lines += [at(f"y{c}p", "sp", str(8 * lanes * c)), f"  %y{c} = load {vector}, ptr %y{c}p, {align}"]
        lines += [f"  %p{c} = fmul {FLAGS} {vector} %l, %y{c}", f"  %d{c} = fsub {FLAGS} {vector} %b{c}, %p{c}"]
    lines += [at("r2", "r", "16"), "  %j2 = add i64 %j, 1", "  %more = icmp slt i64 %j2, %count"]
    lines += ["  br i1 %more, label %source, label %stored", "stored:"]
    lines += [f"  %f{c} = phi {vector} [%a{c}, %step], [%d{c}, %source]" for c in columns]
    lines += ["  %after = phi ptr [%first, %step], [%r2, %source]"]
    lines += [f"  store {vector} %f{c}, ptr %x{c}p, {align}" for c in columns]
    lines += ["  %s2 = add i64 %s, 1", "  %again = icmp slt i64 %s2, %steps"]
    return "\n".join([*lines, "  br i1 %again, label %step, label %done", "done:", "  ret void", "}"])
