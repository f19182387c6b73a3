"""The inner loop of a rollout in LLVM IR: pack a block of states, step through time, write every state out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phistar.backends.code.timeloop import TimeSignature


def loop_text(signature: TimeSignature, calls: list[str], swapped: bool, scratch: int, lanes: int) -> str:
    """`void loop(char **args, intp *dimensions, intp *steps, void *data)`; `calls` make one step from %x and %y0, and
    leave the next one's start in %x and %y0, or %y1 where `swapped`."""
    memory, names = signature.memory, [*signature.names, "qs", "vs"]
    first, second = ("%y1", "%y0") if swapped else ("%y0", "%y1")
    lines = [
        *_copy("gather", lanes, True),
        *_copy("scatter", lanes, False),
        "define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) #0 {",
        "entry:",
        *sizes_text(signature, names),
        *_room(signature, names, scratch, lanes),
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %block, label %done",
        "block:",
        "  %first = phi i64 [0, %entry], [%next, %finished]",
        *_rows(names, lanes),
        *_start(signature, lanes),
        "  %moves = icmp sgt i64 %last.t, 0",
        "  br i1 %moves, label %step, label %finished",
        "step:",
        "  %k = phi i64 [0, %block], [%k2, %step]",
        f"  %y0 = phi ptr [%ya, %block], [{first}, %step]",
        f"  %y1 = phi ptr [%yb, %block], [{second}, %step]",
        "  %k2 = add i64 %k, 1",
        *_held(signature, lanes),
        *calls,
        "  %q.o = mul i64 %k2, %qs.k",
        "  %v.o = mul i64 %k2, %vs.k",
        f"  call void @scatter(ptr %qs.rows, i64 %q.o, i64 %qs.c, i64 {memory.nq}, ptr %x)",
        f"  call void @scatter(ptr %vs.rows, i64 %v.o, i64 %vs.c, i64 {memory.nv}, ptr %xv)",
        "  %more.t = icmp slt i64 %k2, %last.t",
        "  br i1 %more.t, label %step, label %finished",
        "finished:",
        f"  %next = add i64 %first, {lanes}",
        "  %more = icmp slt i64 %next, %count",
        "  br i1 %more, label %block, label %done",
        "done:",
        "  ret void",
        "}",
        "attributes #0 = { nounwind }",
    ]
    return "\n".join(lines)


def _copy(name: str, lanes: int, packing: bool) -> list[str]:
    """Between `n` entries of a row per lane, from `offset` on, and packed vectors."""
    vector = f"<{lanes} x double>"
    lines = [f"define internal void @{name}(ptr %rows, i64 %offset, i64 %stride, i64 %n, ptr %packed) #0 {{", "entry:"]
    for lane in range(lanes):
        lines += [
            f"  %t{lane} = getelementptr ptr, ptr %rows, i64 {lane}",
            f"  %r{lane} = load ptr, ptr %t{lane}, align 8",
            f"  %b{lane} = getelementptr i8, ptr %r{lane}, i64 %offset",
        ]
    lines += ["  br label %entry.loop", "entry.loop:", "  %e = phi i64 [0, %entry], [%e2, %entry.loop]"]
    lines += ["  %o = mul i64 %e, %stride", f"  %w = mul i64 %e, {8 * lanes}"]
    lines.append("  %p = getelementptr i8, ptr %packed, i64 %w")
    if not packing:
        lines.append(f"  %v = load {vector}, ptr %p, align {8 * lanes}")
    value = "poison"
    for lane in range(lanes):
        lines.append(f"  %a{lane} = getelementptr i8, ptr %b{lane}, i64 %o")
        if packing:
            lines.append(f"  %x{lane} = load double, ptr %a{lane}, align 8")
            lines.append(f"  %v{lane} = insertelement {vector} {value}, double %x{lane}, i32 {lane}")
            value = f"%v{lane}"
        else:
            lines.append(f"  %x{lane} = extractelement {vector} %v, i32 {lane}")
            lines.append(f"  store double %x{lane}, ptr %a{lane}, align 8")
    if packing:
        lines.append(f"  store {vector} {value}, ptr %p, align {8 * lanes}")
    lines += ["  %e2 = add i64 %e, 1", "  %more = icmp slt i64 %e2, %n"]
    return [*lines, "  br i1 %more, label %entry.loop, label %done", "done:", "  ret void", "}"]


def sizes_text(signature: TimeSignature, names: list[str]) -> list[str]:
    """%count states, %last.t steps, and per array its place, its stride from state to state and its core strides."""
    times = 1 + signature.dimensions.index("t")
    lines = [
        "  %count = load i64, ptr %dimensions, align 8",
        f"  %t.p = getelementptr i64, ptr %dimensions, i64 {times}",
        "  %t.n = load i64, ptr %t.p, align 8",
        "  %last.t = sub i64 %t.n, 1",
        "  %last = sub i64 %count, 1",
    ]
    position = len(names)
    for number, name in enumerate(names):
        lines += [f"  %{name}.ap = getelementptr ptr, ptr %args, i64 {number}"]
        lines += [f"  %{name}.base = load ptr, ptr %{name}.ap, align 8", *_stride(f"{name}.s", number)]
        for axis in ("k", "c") if name in ("qs", "vs") else ("c",):
            lines += _stride(f"{name}.{axis}", position)
            position += 1
    return lines


def _stride(name: str, position: int) -> list[str]:
    return [
        f"  %{name}.p = getelementptr i64, ptr %steps, i64 {position}",
        f"  %{name} = load i64, ptr %{name}.p, align 8",
    ]


def _room(signature: TimeSignature, names: list[str], scratch: int, lanes: int) -> list[str]:
    memory, align = signature.memory, 8 * lanes
    counts = {"x": memory.n, "ya": 2 * memory.n, "yb": 2 * memory.n, "held": memory.held_size, "scratch": scratch}
    lines = [f"  %{name} = alloca [{max(n, 1) * lanes} x double], align {align}" for name, n in counts.items()]
    lines += [f"  %{name}.rows = alloca [{lanes} x ptr], align 64" for name in names]
    places = {"xv": ("x", memory.nq), "yav": ("ya", memory.nq), "ys": ("ya", memory.n)}
    places |= {"ysv": ("ya", memory.n + memory.nq)}
    places |= {name: ("held", start) for name, start in memory.held.items()}
    places["h"] = "held", memory.held["clock"] + 1
    return lines + [f"  %{name} = getelementptr i8, ptr %{at}, i64 {align * n}" for name, (at, n) in places.items()]


def _rows(names: list[str], lanes: int) -> list[str]:
    """A pointer per array and lane; lanes beyond the end repeat the last state, so that no tail is special."""
    lines = []
    for lane in range(lanes):
        lines += [
            f"  %n{lane} = add i64 %first, {lane}",
            f"  %in{lane} = icmp slt i64 %n{lane}, %last",
            f"  %row{lane} = select i1 %in{lane}, i64 %n{lane}, i64 %last",
        ]
        for name in names:
            lines += [
                f"  %{name}.m{lane} = mul i64 %row{lane}, %{name}.s",
                f"  %{name}.r{lane} = getelementptr i8, ptr %{name}.base, i64 %{name}.m{lane}",
                f"  %{name}.t{lane} = getelementptr ptr, ptr %{name}.rows, i64 {lane}",
                f"  store ptr %{name}.r{lane}, ptr %{name}.t{lane}, align 8",
            ]
    return lines


def _start(signature: TimeSignature, lanes: int) -> list[str]:
    """The initial state into x, y and s and out again; the gains."""
    memory, lines = signature.memory, []
    for name, count, places in (("q", memory.nq, ("x", "ya", "ys")), ("v", memory.nv, ("xv", "yav", "ysv"))):
        for place in places:
            lines.append(f"  call void @gather(ptr %{name}.rows, i64 0, i64 %{name}.c, i64 {count}, ptr %{place})")
        lines.append(f"  call void @scatter(ptr %{name}s.rows, i64 0, i64 %{name}s.c, i64 {count}, ptr %{places[0]})")
    if memory.gains:
        lines.append(f"  call void @gather(ptr %g.rows, i64 0, i64 %g.c, i64 {memory.gains}, ptr %gains)")
    return lines


def _held(signature: TimeSignature, lanes: int) -> list[str]:
    """t, h and the joint forces of step %k."""
    nv, vector = signature.memory.nv, f"<{lanes} x double>"
    lines = [
        "  %t.o = mul i64 %k, %t.c",
        "  call void @gather(ptr %t.rows, i64 %t.o, i64 %t.c, i64 2, ptr %clock)",
        f"  %now = load {vector}, ptr %clock, align {8 * lanes}",
        f"  %then = load {vector}, ptr %h, align {8 * lanes}",
        f"  %gap = fsub {vector} %then, %now",
        f"  store {vector} %gap, ptr %h, align {8 * lanes}",
    ]
    if signature.controls:
        lines += ["  %c.k = mul i64 %k, %c.c", f"  %c.o = mul i64 %c.k, {nv}"]
        lines.append(f"  call void @gather(ptr %c.rows, i64 %c.o, i64 %c.c, i64 {nv}, ptr %u)")
    return lines
