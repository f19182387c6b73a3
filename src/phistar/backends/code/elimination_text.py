"""The two loops of ℳ⁻¹X = ND⁻¹N*X as vector IR: tiles of some rows and columns in registers."""

from __future__ import annotations

from phistar.backends.code.llvm import FLAGS
from phistar.backends.code.transpose import transposed

SUMS = 12  # of a tile: as many as registers hold beside what is added


def rows_of_tile(width: int) -> int:
    """The rows of a tile with so many columns."""
    return min(SUMS // width, 6)


def inward_text(width: int, lanes: int) -> str:
    """For each step of a table: x(target) ← (x(target) + Σ factor·x(source))·scale, in several rows."""
    vector, align, rows = f"<{lanes} x double>", f"align {8 * lanes}", range(rows_of_tile(width))
    lines = [f"define internal void @inward{width}(ptr %m, ptr %x, ptr %table, i64 %steps) #0 {{", "entry:"]
    lines += _steps(width, lanes)
    for i in rows:
        lines += [_at(f"scalep{i}", "m", f"%other{i}"), f"  %scale{i} = load {vector}, ptr %scalep{i}, {align}"]
    for i in rows:
        for c in range(width):
            lines.append(f"  %z{i}x{c} = fmul {FLAGS} {vector} %f{i}x{c}, %scale{i}")
            lines.append(f"  store {vector} %z{i}x{c}, ptr %x{i}x{c}p, {align}")
    return "\n".join([*lines, *_end()])


def outward_text(width: int, lanes: int) -> str:
    """For each step of a table: result(target) ← x(start) + Σ factor·x(source), in several rows of each state."""
    given = ", ".join(f"ptr %r{lane}" for lane in range(lanes))
    lines = [f"define internal void @outward{width}(ptr %m, ptr %x, ptr %table, i64 %steps, {given}) #0 {{", "entry:"]
    lines += _steps(width, lanes)
    for i in range(rows_of_tile(width)):
        lines += [_at(f"o{i}l{lane}", f"r{lane}", f"%other{i}") for lane in range(lanes)]
        lines += _stored(i, width, lanes)
    return "\n".join([*lines, *_end()])


def _at(name: str, start: str, index: str) -> str:
    return f"  %{name} = getelementptr i8, ptr %{start}, i64 {index}"


def _number(name: str, table: str, position: int) -> list[str]:
    return [
        f"  %{name}p4 = getelementptr i32, ptr %{table}, i64 {position}",
        f"  %{name}4 = load i32, ptr %{name}p4, align 4",
        f"  %{name} = sext i32 %{name}4 to i64",
    ]


def _steps(width: int, lanes: int) -> list[str]:
    """The loop over steps up to the sums %f0x0, %f0x1, … of a step, by row and column; %x0x0p, … is where x is."""
    vector, align, rows = f"<{lanes} x double>", f"align {8 * lanes}", range(rows_of_tile(width))
    cells = [(i, c) for i in rows for c in range(width)]
    lines = ["  %any = icmp sgt i64 %steps, 0", "  br i1 %any, label %step, label %done", "step:"]
    lines += ["  %s = phi i64 [0, %entry], [%s2, %summed]", "  %t = phi ptr [%table, %entry], [%after, %summed]"]
    for position, name in enumerate((*(f"at{i}" for i in rows), *(f"other{i}" for i in rows), "count")):
        lines += _number(name, "t", position)
    lines += [_at("first", "t", str(4 * (2 * len(rows) + 1))), *(_at(f"target{i}", "x", f"%at{i}") for i in rows)]
    for i, c in cells:
        lines.append(_at(f"x{i}x{c}p", f"target{i}", str(8 * lanes * c)))
        lines.append(f"  %a{i}x{c} = load {vector}, ptr %x{i}x{c}p, {align}")
    lines += ["  %none = icmp eq i64 %count, 0", "  br i1 %none, label %summed, label %source", "source:"]
    lines += ["  %j = phi i64 [0, %step], [%j2, %source]", "  %r = phi ptr [%first, %step], [%rnext, %source]"]
    lines += [f"  %b{i}x{c} = phi {vector} [%a{i}x{c}, %step], [%d{i}x{c}, %source]" for i, c in cells]
    lines += [*_number("from", "r", 0), _at("sp", "x", "%from")]
    for i in rows:
        lines += [*_number(f"lat{i}", "r", 1 + i), _at(f"l{i}p", "m", f"%lat{i}")]
        lines.append(f"  %l{i} = load {vector}, ptr %l{i}p, {align}")
    for c in range(width):
        lines += [_at(f"y{c}p", "sp", str(8 * lanes * c)), f"  %y{c} = load {vector}, ptr %y{c}p, {align}"]
        for i in rows:
            lines.append(f"  %p{i}x{c} = fmul {FLAGS} {vector} %l{i}, %y{c}")
            lines.append(f"  %d{i}x{c} = fadd {FLAGS} {vector} %b{i}x{c}, %p{i}x{c}")
    lines += [_at("rnext", "r", str(4 * (1 + len(rows)))), "  %j2 = add i64 %j, 1"]
    lines += ["  %more = icmp slt i64 %j2, %count", "  br i1 %more, label %source, label %summed", "summed:"]
    lines += [f"  %f{i}x{c} = phi {vector} [%a{i}x{c}, %step], [%d{i}x{c}, %source]" for i, c in cells]
    return [*lines, "  %after = phi ptr [%first, %step], [%rnext, %source]"]


def _end() -> list[str]:
    lines = ["  %s2 = add i64 %s, 1", "  %again = icmp slt i64 %s2, %steps"]
    return [*lines, "  br i1 %again, label %step, label %done", "done:", "  ret void", "}"]


def _stored(row: int, width: int, lanes: int) -> list[str]:
    """Columns with a state per lane as rows of the states: squares are turned; the last one overlaps the one before."""
    side, vector, lines = min(lanes, 4), f"<{lanes} x double>", []
    if width < side:
        for c in range(width):
            for lane in range(lanes):
                name = f"q{row}x{c}x{lane}"
                lines.append(f"  %{name} = extractelement {vector} %f{row}x{c}, i32 {lane}")
                lines += [_at(f"{name}p", f"o{row}l{lane}", str(8 * c))]
                lines.append(f"  store double %{name}, ptr %{name}p, align 8")
        return lines
    half = f"<{side} x double>"
    for first in sorted({*range(0, width - side + 1, side), width - side}):
        for lane in range(0, lanes, side):
            name, values = f"q{row}x{first}x{lane}", [f"%f{row}x{first + i}" for i in range(side)]
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
