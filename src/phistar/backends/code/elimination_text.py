"""The two loops of ℳ⁻¹X = ND⁻¹N*X as vector IR: tiles of some rows and columns in registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phistar.backends.code.llvm import FLAGS
from phistar.backends.code.transpose import transposed

MOST_WRITTEN = 8  # sources of a tile that are written out: one tile begins while the one before is being stored

Sums = dict[tuple[int, int], str]  # the values of a tile, by row and column


@dataclass(frozen=True, order=True)
class Shape:
    """Of a tile: columns, rows, and the sources of each sum; whether the sums are begun with something."""

    width: int
    height: int
    sources: int
    begun: bool = True

    @property
    def name(self) -> str:
        return f"{self.width}x{self.height}s{self.sources}{'' if self.begun else 'new'}"

    @property
    def cells(self) -> list[tuple[int, int]]:
        return [(i, c) for i in range(self.height) for c in range(self.width)]


def inward_text(shape: Shape, lanes: int) -> str:
    """For each tile of a table: x(target) ← (x(target) + Σ factor·x(source))·scale, in several rows."""
    vector, align, rows = f"<{lanes} x double>", f"align {8 * lanes}", range(shape.height)
    lines = [f"define internal void @inward{shape.name}(ptr %m, ptr %x, ptr %table, i64 %tiles) #0 {{", "entry:"]
    lines += _opening(shape)
    sums = {}
    for i in rows:
        lines += [*_number(f"at{i}", "t", i), *_number(f"scale{i}at", "t", shape.height + i)]
        lines += [_at(f"x{i}", "x", f"%at{i}"), _at(f"scale{i}p", "m", f"%scale{i}at")]
        lines += [*_row(shape, lanes, i, sums), f"  %scale{i} = load {vector}, ptr %scale{i}p, {align}"]
    width, start = 1 + shape.height, 2 * shape.height
    given = [(f"lat{i}", 1 + i) for i in rows]

    def source(name: str, table: str, first: int, sums: Sums) -> list[str]:
        more = [*_number(f"{name}from", table, first), _at(f"{name}p", "x", f"%{name}from")]
        for i, (factor, position) in enumerate(given):
            more += [*_number(f"{name}{factor}", table, first + position), _at(f"{name}l{i}p", "m", f"%{name}{factor}")]
        return [*more, *_source(shape, lanes, name, sums)]

    if shape.sources <= MOST_WRITTEN:
        for number in range(shape.sources):
            lines += source(f"s{number}", "t", start + number * width, sums)
    else:
        lines += _looped(shape, lanes, sums, start, width, lambda inner: source("s", "r", 0, inner))
    for i, c in shape.cells:
        lines.append(f"  %z{i}x{c} = fmul {FLAGS} {vector} {sums[i, c]}, %scale{i}")
        lines.append(f"  store {vector} %z{i}x{c}, ptr %x{i}x{c}p, {align}")
    return "\n".join([*lines, *_closing(start + width * shape.sources)])


def outward_text(shape: Shape, lanes: int) -> str:
    """For each tile of a table: result ← x(start) + Σ factor·x(source), in several rows of each state, which lie %down
    bytes from each other; the factors of a row follow each other, those of the rows are %pitch bytes apart."""
    given = "ptr %m, ptr %n, ptr %table, i64 %tiles, ptr %states, i64 %down, i64 %pitch"
    rows, start = range(shape.height), 1 + shape.height * shape.begun
    lines = [f"define internal void @outward{shape.name}({given}) #0 {{", "entry:", _at("l0", "n", "0")]
    lines += [_at(f"l{i}", f"l{i - 1}", "%pitch") for i in rows if i]
    for lane in range(lanes):
        lines += [
            _at(f"state{lane}p", "states", str(8 * lane)),
            f"  %state{lane} = load ptr, ptr %state{lane}p, align 8",
        ]
    lines += [*_opening(shape), *_number("to0", "t", 0)]
    sums: Sums = dict.fromkeys(shape.cells, "zeroinitializer")
    for i in rows if shape.begun else ():
        lines += [*_number(f"at{i}", "t", 1 + i), _at(f"x{i}", "m", f"%at{i}"), *_row(shape, lanes, i, sums)]

    def source(name: str, table: str, first: int, factors: str, sums: Sums) -> list[str]:
        more = [*_number(f"{name}from", table, first), _at(f"{name}p", "m", f"%{name}from")]
        more += [_at(f"{name}l{i}p", f"l{i}", factors) for i in rows]
        return [*more, *_source(shape, lanes, name, sums)]

    if shape.sources <= MOST_WRITTEN:
        for number in range(shape.sources):
            lines += source(f"s{number}", "t", start + number, str(8 * lanes * number), sums)
    else:
        along = f"  %along = mul i64 %j, {8 * lanes}"
        lines += _looped(shape, lanes, sums, start, 1, lambda inner: [along, *source("s", "r", 0, "%along", inner)])
    for i in rows:
        lines += [f"  %to{i} = add i64 %to{i - 1}, %down"] if i else []
        lines += [_at(f"o{i}l{lane}", f"state{lane}", f"%to{i}") for lane in range(lanes)]
        lines += _stored(i, [sums[i, c] for c in range(shape.width)], lanes)
    return "\n".join([*lines, *_closing(start + shape.sources)])


def _opening(shape: Shape) -> list[str]:
    """The loop over tiles, the numbers of which are at %t."""
    back = "tile" if shape.sources <= MOST_WRITTEN else "summed"
    return [
        *("  br label %tile", "tile:", f"  %k = phi i64 [0, %entry], [%k2, %{back}]"),
        f"  %t = phi ptr [%table, %entry], [%t2, %{back}]",
    ]


def _closing(numbers: int) -> list[str]:
    lines = [_at("t2", "t", str(4 * numbers)), "  %k2 = add i64 %k, 1", "  %again = icmp slt i64 %k2, %tiles"]
    return [*lines, "  br i1 %again, label %tile, label %done", "done:", "  ret void", "}"]


def _row(shape: Shape, lanes: int, i: int, sums: Sums) -> list[str]:
    """What the sums of a row begin with; %x0x0p, … is where that is."""
    vector, lines = f"<{lanes} x double>", []
    for c in range(shape.width):
        lines.append(_at(f"x{i}x{c}p", f"x{i}", str(8 * lanes * c)))
        lines.append(f"  %a{i}x{c} = load {vector}, ptr %x{i}x{c}p, align {8 * lanes}")
        sums[i, c] = f"%a{i}x{c}"
    return lines


def _looped(
    shape: Shape, lanes: int, sums: Sums, start: int, numbers: int, source: Callable[[Sums], list[str]]
) -> list[str]:
    """The sources as a loop: their numbers in the table, so many each from `start` on, are at %r."""
    vector, inner = f"<{lanes} x double>", {(i, c): f"%b{i}x{c}" for i, c in shape.cells}
    begun, added = dict(sums), source(inner)
    lines = [_at("first", "t", str(4 * start)), "  br label %source", "source:"]
    lines += ["  %j = phi i64 [0, %tile], [%j2, %source]", "  %r = phi ptr [%first, %tile], [%r2, %source]"]
    for i, c in shape.cells:
        lines.append(f"  %b{i}x{c} = phi {vector} [{begun[i, c]}, %tile], [{inner[i, c]}, %source]")
    sums.update(inner)
    lines += [*added, _at("r2", "r", str(4 * numbers)), "  %j2 = add i64 %j, 1"]
    lines += [f"  %more = icmp slt i64 %j2, {shape.sources}", "  br i1 %more, label %source, label %summed"]
    return [*lines, "summed:"]


def _source(shape: Shape, lanes: int, name: str, sums: Sums) -> list[str]:
    """One source added to all sums."""
    vector, align, rows = f"<{lanes} x double>", f"align {8 * lanes}", range(shape.height)
    lines = [f"  %{name}l{i} = load {vector}, ptr %{name}l{i}p, {align}" for i in rows]
    for c in range(shape.width):
        lines += [_at(f"{name}y{c}p", f"{name}p", str(8 * lanes * c))]
        lines.append(f"  %{name}y{c} = load {vector}, ptr %{name}y{c}p, {align}")
        for i in rows:
            lines.append(f"  %{name}q{i}x{c} = fmul {FLAGS} {vector} %{name}l{i}, %{name}y{c}")
            lines.append(f"  %{name}d{i}x{c} = fadd {FLAGS} {vector} {sums[i, c]}, %{name}q{i}x{c}")
            sums[i, c] = f"%{name}d{i}x{c}"
    return lines


def _at(name: str, start: str, index: str) -> str:
    return f"  %{name} = getelementptr i8, ptr %{start}, i64 {index}"


def _number(name: str, table: str, position: int) -> list[str]:
    return [
        f"  %{name}p4 = getelementptr i32, ptr %{table}, i64 {position}",
        f"  %{name}4 = load i32, ptr %{name}p4, align 4",
        f"  %{name} = sext i32 %{name}4 to i64",
    ]


def _stored(row: int, columns: list[str], lanes: int) -> list[str]:
    """Columns with a state per lane as rows of the states: squares are turned; the last one overlaps the one before."""
    side, vector, width, lines = min(lanes, 4), f"<{lanes} x double>", len(columns), []
    if width < side:
        for c in range(width):
            for lane in range(lanes):
                name = f"q{row}x{c}x{lane}"
                lines.append(f"  %{name} = extractelement {vector} {columns[c]}, i32 {lane}")
                lines += [_at(f"{name}p", f"o{row}l{lane}", str(8 * c))]
                lines.append(f"  store double %{name}, ptr %{name}p, align 8")
        return lines
    half = f"<{side} x double>"
    for first in sorted({*range(0, width - side + 1, side), width - side}):
        for lane in range(0, lanes, side):
            name, values = f"q{row}x{first}x{lane}", columns[first : first + side]
            if side < lanes:
                chosen = ", ".join(f"i32 {lane + i}" for i in range(side))
                for i, value in enumerate(values):
                    cut = f"shufflevector {vector} {value}, {vector} poison, <{side} x i32> <{chosen}>"
                    lines.append(f"  %{name}h{i} = {cut}")
                values = [f"%{name}h{i}" for i in range(side)]
            made, shuffles = transposed(values, half, name)
            lines += shuffles
            for i, value in enumerate(made):
                lines += [_at(f"{name}p{i}", f"o{row}l{lane + i}", str(8 * first))]
                lines.append(f"  store {half} {value}, ptr %{name}p{i}, align 8")
    return lines
