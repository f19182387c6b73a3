"""The inner loop of a rolled kernel in LLVM IR: pack a block of states, run its stages link by link, unpack."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from phistar.backends.rolled.copies import copy_text
from phistar.backends.rolled.memory import FRAME, LINK

COLUMNS = ("kind", "own", "parent", "passing", "passed", "children", "siblings", "frame", "more", "end", "constant")
"""Of a link's row in the table of links; places in memory are bytes from its start."""

TABLES = ("counts", "links", "constants", "extras", "points", "slots", "places", "numbers")
"""What a robot's data begin with; then follow the places of the entries of each array."""

COUNTS = ("n", "room", "cleared", "initial")
"""Numbers of the table of counts; then follow the entries of each array and the columns of each array."""


@dataclass(frozen=True)
class Calls:
    """What a stage calls: for each kind of link, once per frame, or once. `half` is for half a block of states,
    `whole`, where there is such, for both halves at once; `pointers` are what the calls are given."""

    direction: str
    half: tuple[tuple[str, ...], ...]
    whole: tuple[tuple[str, ...], ...]
    pointers: tuple[str, ...]

    def lines(self, kind: int, sizes: Sizes, after: str, tag: str) -> list[str]:
        """The calls of one kind; only where there are states in the second half is there work on it."""
        again = self.whole[kind] if self.whole else self.half[kind]
        if not self.whole:
            moved = [name for name in self.pointers if not name.startswith(("constant", "point"))]
            lines = [pointer(f"{name}.{tag}", name, str(4 * sizes.lanes)) for name in moved]
            again = (*self.half[kind], *lines, *_renamed(self.half[kind], moved, tag))
        return [
            f"  br i1 %both, label %whole{tag}, label %half{tag}",
            *(f"whole{tag}:", *again, f"  br label %{after}"),
            *(f"half{tag}:", *self.half[kind], f"  br label %{after}"),
        ]


def _renamed(lines: tuple[str, ...], names: Sequence[str], tag: str) -> tuple[str, ...]:
    """The lines with other pointers in the place of those named."""
    return tuple(re.sub(r"%([\w.]+),", lambda m: f"%{m[1]}.{tag}," if m[1] in names else m[0], line) for line in lines)


def called_text(stages: list[Calls], sizes: Sizes) -> list[str]:
    """What a loop over blocks of states calls: copies of rows, the links' constants, the stages."""
    return [
        "declare ptr @malloc(i64)",
        "declare void @free(ptr)",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        *(copy_text(name, sizes.lanes) for name in ("pack", "unpack")),
        _gather_text(sizes),
        _fill_text(sizes),
        *(_stage_text(number, stage, sizes) for number, stage in enumerate(stages)),
    ]


def loop_text(
    stages: list[Calls], axes: list[int], inputs: int, sizes: Sizes, finish: str = "", once: int | None = None
) -> str:
    """`void loop(char **args, intp *dimensions, intp *steps, void *data)`; `axes`: core axes of each array. `finish`
    writes the outputs of a block in place of `unpack`, and calls itself the stages after the first `once`."""
    lines = [
        *called_text(stages, sizes),
        "define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) #0 {",
        "entry:",
        "  %count = load i64, ptr %dimensions, align 8",
        "  %last = sub i64 %count, 1",
        *tables_text(),
        *memory_text(sizes),
        *_arrays(axes),
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %block, label %done",
        "block:",
        "  %first = phi i64 [0, %entry], [%next, %block]",
    ]
    lines += [_copied("pack", a) for a in range(inputs)]
    if sizes.totals:
        lines.append(f"  %totals = getelementptr i8, ptr %work, i64 {8 * sizes.lanes * sizes.totals[0]}")
        size = 8 * sizes.lanes * sizes.totals[1]
        lines.append(f"  call void @llvm.memset.p0.i64(ptr %totals, i8 0, i64 {size}, i1 false)")
    lines += [f"  %middle = add i64 %first, {sizes.lanes // 2}", "  %both = icmp slt i64 %middle, %count"]
    given = "ptr %data, ptr %work, ptr %scratch, i1 %both"
    lines += [f"  call void @stage{number}({given})" for number in range(len(stages) if once is None else once)]
    lines += [finish] if finish else [_copied("unpack", a) for a in range(inputs, len(axes))]
    lines += [f"  %next = add i64 %first, {sizes.lanes}", "  %more = icmp slt i64 %next, %count"]
    lines += ["  br i1 %more, label %block, label %done", "done:", "  call void @free(ptr %raw)", "  ret void", "}"]
    return "\n".join([*lines, "attributes #0 = { nounwind }"])


@dataclass(frozen=True)
class Sizes:
    """What the loop must know of the memory: lanes, scratch vectors of the steps, entries of a slot, task frames and
    the columns of wide fields, where the totals stand (first, how many)."""

    lanes: int
    scratch: int
    slot: int
    frames: int
    width: int
    totals: tuple[int, int] | None


def pointer(name: str, start: str, offset: str) -> str:
    return f"  %{name} = getelementptr i8, ptr %{start}, i64 {offset}"


def tables_text() -> list[str]:
    lines = []
    for position, name in enumerate(TABLES):
        lines += [pointer(f"{name}.p", "data", str(8 * position)), f"  %{name} = load ptr, ptr %{name}.p, align 8"]
    for position, name in enumerate(COUNTS):
        lines += [pointer(f"{name}.p", "counts", str(8 * position)), f"  %{name} = load i64, ptr %{name}.p, align 8"]
    return lines


def memory_text(sizes: Sizes) -> list[str]:
    """One allocation, aligned; what no step writes before it is read is cleared, constants are put in their places."""
    width = 8 * sizes.lanes
    return [
        f"  %bytes = mul i64 %room, {width}",
        "  %padded = add i64 %bytes, 128",
        "  %raw = call ptr @malloc(i64 %padded)",
        "  %raw.i = ptrtoint ptr %raw to i64",
        "  %up = add i64 %raw.i, 127",
        "  %even = and i64 %up, -128",
        "  %work = inttoptr i64 %even to ptr",
        f"  %zeros = mul i64 %cleared, {width}",
        "  call void @llvm.memset.p0.i64(ptr %work, i8 0, i64 %zeros, i1 false)",
        "  call void @fill(ptr %work, ptr %places, ptr %numbers, i64 %initial)",
        f"  %scratch = alloca [{max(sizes.scratch, 1) * sizes.lanes} x double], align {width}",
    ]


def _arrays(axes: list[int]) -> list[str]:
    """Base, strides, entries, columns and places of each array; a vector is one row, a scalar one entry."""
    lines, step = [], len(axes)
    for a, rank in enumerate(axes):
        lines += [pointer(f"arg{a}", "args", str(8 * a)), f"  %base{a} = load ptr, ptr %arg{a}, align 8"]
        lines += [pointer(f"s{a}.p", "steps", str(8 * a)), f"  %s{a} = load i64, ptr %s{a}.p, align 8"]
        for axis in range(rank):
            name = f"k{a}x{axis + 2 - rank}"
            lines += [pointer(f"{name}.p", "steps", str(8 * step)), f"  %{name} = load i64, ptr %{name}.p, align 8"]
            step += 1
        for name, position in (("entries", len(COUNTS) + a), ("columns", len(COUNTS) + len(axes) + a)):
            lines += [pointer(f"{name}{a}.p", "counts", str(8 * position))]
            lines += [f"  %{name}{a} = load i64, ptr %{name}{a}.p, align 8"]
        if rank < 2:
            lines.append(f"  %k{a}x0 = mul i64 %columns{a}, 8")
        if rank < 1:
            lines.append(f"  %k{a}x1 = add i64 8, 0")
        lines += [pointer(f"table{a}.p", "data", str(8 * (len(TABLES) + a)))]
        lines += [f"  %table{a} = load ptr, ptr %table{a}.p, align 8"]
    return lines


def _copied(function: str, a: int) -> str:
    given = f"ptr %base{a}, i64 %s{a}, i64 %k{a}x0, i64 %k{a}x1, i64 %columns{a}, i64 %entries{a}, ptr %table{a}"
    return f"  call void @{function}({given}, ptr %work, i64 %first, i64 %last)"


def _gather_text(sizes: Sizes) -> str:
    """What several children have sent, added up in the first one's slot."""
    lanes, vector = sizes.lanes, f"<{sizes.lanes} x double>"
    lines = ["define internal void @gather(ptr %to, ptr %work, ptr %extras, i64 %more, i64 %end) #0 {", "entry:"]
    lines += ["  br label %child", "child:", "  %c = phi i64 [%more, %entry], [%c2, %added]"]
    lines += ["  %c.p = getelementptr i32, ptr %extras, i64 %c", "  %c.i = load i32, ptr %c.p, align 4"]
    lines += ["  %c.w = zext i32 %c.i to i64", pointer("from", "work", "%c.w")]
    lines += ["  br label %entry1", "entry1:", "  %i = phi i64 [0, %child], [%i2, %entry1]"]
    for name, start in (("a", "to"), ("b", "from")):
        lines += [f"  %{name}.p = getelementptr {vector}, ptr %{start}, i64 %i"]
        lines += [f"  %{name} = load {vector}, ptr %{name}.p, align {8 * lanes}"]
    lines += [f"  %sum = fadd {vector} %a, %b", f"  store {vector} %sum, ptr %a.p, align {8 * lanes}"]
    lines += ["  %i2 = add i64 %i, 1", f"  %i.more = icmp slt i64 %i2, {sizes.slot}"]
    lines += ["  br i1 %i.more, label %entry1, label %added", "added:", "  %c2 = add i64 %c, 1"]
    lines += ["  %c.more = icmp slt i64 %c2, %end", "  br i1 %c.more, label %child, label %done"]
    return "\n".join([*lines, "done:", "  ret void", "}"])


def _fill_text(sizes: Sizes) -> str:
    """Numbers that are the same for every state."""
    lanes, vector = sizes.lanes, f"<{sizes.lanes} x double>"
    lines = ["define internal void @fill(ptr %work, ptr %places, ptr %numbers, i64 %count) #0 {", "entry:"]
    lines += ["  %any = icmp sgt i64 %count, 0", "  br i1 %any, label %one, label %done", "one:"]
    lines += ["  %i = phi i64 [0, %entry], [%i2, %one]", "  %p.p = getelementptr i32, ptr %places, i64 %i"]
    lines += ["  %p.i = load i32, ptr %p.p, align 4", "  %p.w = zext i32 %p.i to i64", pointer("p", "work", "%p.w")]
    lines += ["  %x.p = getelementptr double, ptr %numbers, i64 %i", "  %x = load double, ptr %x.p, align 8"]
    lines += [f"  %a = insertelement {vector} poison, double %x, i32 0"]
    lines += [f"  %b = shufflevector {vector} %a, {vector} poison, <{lanes} x i32> zeroinitializer"]
    lines += [f"  store {vector} %b, ptr %p, align {8 * lanes}", "  %i2 = add i64 %i, 1"]
    lines += ["  %more = icmp slt i64 %i2, %count", "  br i1 %more, label %one, label %done"]
    return "\n".join([*lines, "done:", "  ret void", "}"])


def _stage_text(number: int, stage: Calls, sizes: Sizes) -> str:
    lines = [f"define internal void @stage{number}(ptr %data, ptr %work, ptr %scratch, i1 %both) #0 {{", "entry:"]
    if stage.direction == "flat":
        lines += [pointer("flat", "work", "0"), *stage.lines(0, sizes, "done", "0"), "done:"]
    elif stage.direction == "frames":
        lines += [*tables_text(), *_frames(stage, sizes)]
    else:
        return "\n".join([*lines, *tables_text(), *_links(stage, sizes)])
    return "\n".join([*lines, "  ret void", "}"])


def _frames(stage: Calls, sizes: Sizes) -> list[str]:
    """The same for each task frame."""
    width, lines = 8 * sizes.lanes, []
    for f in range(sizes.frames):
        lines += [pointer(f"point.{f}", "points", str(96 * f)), pointer(f"slot.{f}.p", "slots", str(4 * f))]
        lines += [f"  %slot.{f}.i = load i32, ptr %slot.{f}.p, align 4", f"  %slot.{f} = zext i32 %slot.{f}.i to i64"]
        lines += [pointer(f"frame.{f}", "work", f"%slot.{f}")]
        lines += [pointer(f"row1.{f}", "work", str(6 * f * width))]
        lines += [pointer(f"rows.{f}", "work", str(6 * f * sizes.width * width))]
        calls = [_renamed(x[0], FRAME, str(f)) if x else () for x in (stage.half, stage.whole)]
        pointers = tuple(f"{name}.{f}" for name in stage.pointers)
        own = Calls(stage.direction, (calls[0],), (calls[1],) if calls[1] else (), pointers)
        lines += [*own.lines(0, sizes, f"done{f}", f"second{f}"), f"done{f}:"]
    return lines


def _links(stage: Calls, sizes: Sizes) -> list[str]:
    """All links in order: children before parents, or parents first."""
    outward = stage.direction == "outward"
    start, move, end = ("0", "1", "%n") if outward else ("%top", "-1", "-1")
    lines = ["  %top = sub i64 %n, 1", pointer("flat", "work", "0"), "  br label %link", "link:"]
    lines += [f"  %k = phi i64 [{start}, %entry], [%k2, %next]", f"  %row.o = mul i64 %k, {4 * len(COLUMNS)}"]
    lines += [pointer("row", "links", "%row.o")]
    used = {"kind", *stage.pointers, *(() if outward else ("children", "more", "end"))}
    for position, name in enumerate(COLUMNS):
        if name not in used:
            continue
        lines += [pointer(f"{name}.p", "row", str(4 * position)), f"  %{name}.i = load i32, ptr %{name}.p, align 4"]
        lines += [f"  %{name}.w = zext i32 %{name}.i to i64"]
        if name in LINK:
            lines.append(pointer(name, "constants" if name == "constant" else "work", f"%{name}.w"))
    if not outward:
        lines += ["  %several = icmp slt i64 %more.w, %end.w", "  br i1 %several, label %sum, label %step", "sum:"]
        lines += ["  call void @gather(ptr %children, ptr %work, ptr %extras, i64 %more.w, i64 %end.w)"]
    cases = " ".join(f"i64 {c}, label %kind{c}" for c in range(len(stage.half)))
    lines += ["  br label %step", "step:", f"  switch i64 %kind.w, label %next [{cases}]"]
    for c in range(len(stage.half)):
        lines += [f"kind{c}:", *stage.lines(c, sizes, "next", str(c))]
    lines += ["next:", f"  %k2 = add i64 %k, {move}", f"  %going = icmp ne i64 %k2, {end}"]
    return [*lines, "  br i1 %going, label %link, label %done", "done:", "  ret void", "}"]
