"""Between rows of arrays and the memory of a block of states, in LLVM IR: entries go where a table says.

Where rows are contiguous, squares of entries and states are transposed in registers; else entry by entry.
"""

from __future__ import annotations

from phistar.backends.code.transpose import transposed

PARAMETERS = (
    "ptr %base, i64 %s, i64 %k0, i64 %k1, i64 %columns, i64 %count, ptr %table, ptr %work, i64 %first, i64 %last"
)


def copy_text(name: str, lanes: int) -> str:
    """`pack`: entry e of lane l from base + row(l)·s + (e div columns)·k0 + (e mod columns)·k1 to its place; `unpack`:
    back. Lanes beyond the end repeat the last row; of those that belong to one row, the first is written last."""
    width = min(lanes, 4)
    lines = [f"define internal void @{name}({PARAMETERS}) #0 {{", "entry:"]
    for lane in range(lanes):
        lines += [
            f"  %n{lane} = add i64 %first, {lane}",
            f"  %c{lane} = icmp slt i64 %n{lane}, %last",
            f"  %i{lane} = select i1 %c{lane}, i64 %n{lane}, i64 %last",
            f"  %m{lane} = mul i64 %i{lane}, %s",
            f"  %r{lane} = getelementptr i8, ptr %base, i64 %m{lane}",
        ]
    lines += ["  %row = mul i64 %columns, 8", "  %whole = icmp eq i64 %k0, %row", "  %dense = icmp eq i64 %k1, 8"]
    lines += ["  %both = and i1 %whole, %dense", f"  %enough = icmp sge i64 %count, {width}"]
    lines += ["  %fast = and i1 %both, %enough", f"  %end = sub i64 %count, {width}", "  %any = icmp sgt i64 %count, 0"]
    lines += ["  br i1 %any, label %choose, label %done", "choose:", "  br i1 %fast, label %square, label %one"]
    lines += [*_squares(name == "pack", lanes, width), *_single(name == "pack", lanes)]
    return "\n".join([*lines, "done:", "  ret void", "}"])


def _squares(packing: bool, lanes: int, width: int) -> list[str]:
    """`width` entries of all lanes at a time; the last square overlaps the one before it where they do not fit."""
    vector = f"<{width} x double>"
    lines = ["square:", "  %e = phi i64 [0, %choose], [%e2, %square]"]
    for i in range(width):
        lines += [f"  %g{i}e = add i64 %e, {i}", *_place(f"g{i}", f"%g{i}e")]
    for start in reversed(range(0, lanes, width)):
        rows, cells = [], []
        for i in range(width):
            lane = start + i
            lines += [f"  %f{lane} = getelementptr double, ptr %r{lane}, i64 %e"]
            lines += [f"  %h{start}x{i} = getelementptr double, ptr %g{i}, i64 {start}"]
            rows.append(f"%f{lane}")
            cells.append(f"%h{start}x{i}")
        source, target = (rows, cells) if packing else (cells, rows)
        lines += [f"  %v{start}x{i} = load {vector}, ptr {source[i]}, align 8" for i in range(width)]
        values, shuffles = transposed([f"%v{start}x{i}" for i in range(width)], vector, f"y{start}")
        lines += shuffles
        lines += [
            f"  store {vector} {value}, ptr {target[i]}, align 8" for i, value in reversed(list(enumerate(values)))
        ]
    lines += [f"  %next = add i64 %e, {width}", "  %more = icmp slt i64 %next, %count"]
    lines += ["  %fits = icmp slt i64 %next, %end", "  %e2 = select i1 %fits, i64 %next, i64 %end"]
    return [*lines, "  br i1 %more, label %square, label %done"]


def _single(packing: bool, lanes: int) -> list[str]:
    lines = ["one:", "  %k = phi i64 [0, %choose], [%k2, %one]", *_place("t", "%k")]
    lines += ["  %a = sdiv i64 %k, %columns", "  %b = srem i64 %k, %columns", "  %a0 = mul i64 %a, %k0"]
    lines += ["  %b0 = mul i64 %b, %k1", "  %o = add i64 %a0, %b0"]
    for lane in reversed(range(lanes)):
        lines += [f"  %p{lane} = getelementptr i8, ptr %r{lane}, i64 %o"]
        lines += [f"  %q{lane} = getelementptr double, ptr %t, i64 {lane}"]
        source, target = (f"%p{lane}", f"%q{lane}") if packing else (f"%q{lane}", f"%p{lane}")
        lines += [f"  %x{lane} = load double, ptr {source}, align 8", f"  store double %x{lane}, ptr {target}, align 8"]
    lines += ["  %k2 = add i64 %k, 1", "  %again = icmp slt i64 %k2, %count"]
    return [*lines, "  br i1 %again, label %one, label %done"]


def _place(name: str, entry: str) -> list[str]:
    """The place of an entry in memory."""
    return [
        f"  %{name}.p = getelementptr i32, ptr %table, i64 {entry}",
        f"  %{name}.i = load i32, ptr %{name}.p, align 4",
        f"  %{name}.w = zext i32 %{name}.i to i64",
        f"  %{name} = getelementptr i8, ptr %work, i64 %{name}.w",
    ]
