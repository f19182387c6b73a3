"""The inner loop of a rolled kernel in LLVM IR: pack a block of states, run the sweeps link by link, unpack."""

from __future__ import annotations

import re
from dataclasses import dataclass

from phistar.backends.steps import CONSTANTS


@dataclass(frozen=True)
class Memory:
    """What a block of states keeps: packed inputs and outputs, and per link its own fields and what children add."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    own: dict[str, int]
    children: dict[str, int]
    own_size: int
    children_size: int
    lanes: int

    def names(self) -> list[str]:
        """The pointers that every step is given."""
        inputs = [f"in{i}" for i in range(len(self.inputs))]
        outputs = [f"out{i}" for i in range(len(self.outputs))]
        return ["constant", "q", *inputs, "flat", "own", "parent", "children", "siblings", *outputs]

    def parameters(self) -> str:
        return ", ".join(f"ptr %{name}" for name in self.names())

    def arguments(self) -> str:
        return ", ".join([*(f"ptr %{name}" for name in self.names()), "ptr %slots"])


def loop_text(memory: Memory, directions: list[str], calls: list[list[list[str]]], slots: int) -> str:
    """`void loop(char **args, intp *dimensions, intp *steps, void *data)`; data points to the robot's tables."""
    lines = [
        "declare ptr @malloc(i64)",
        "declare void @free(ptr)",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        _sweeps_text(memory, directions, calls, slots),
        "define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) #0 {",
        "entry:",
        "  %count = load i64, ptr %dimensions, align 8",
        "  %last = sub i64 %count, 1",
        *_tables(),
        *_places(memory),
        "  %any = icmp sgt i64 %count, 0",
        "  br i1 %any, label %block, label %done",
        "block:",
        "  %first = phi i64 [0, %entry], [%next, %unpacked]",
        "  br label %pack",
        "pack:",
    ]
    arrays = [("q", "nq"), *((f"in{i}", "nv") for i in range(len(memory.inputs)))]
    outputs = [(f"out{i}", "nv") for i in range(len(memory.outputs))]
    label = "pack"
    for number, (name, count) in enumerate(arrays):
        lines += _copy(memory, name, count, number, len(arrays) + len(outputs), label, True)
        label = f"{name}.done"
    lines += [
        "  call void @llvm.memset.p0.i64(ptr %children0, i8 0, i64 %children.bytes, i1 false)",
        f"  call void @sweeps(ptr %data, {', '.join(f'ptr %{name}' for name in _base_names(memory))})",
    ]
    for number, (name, count) in enumerate(outputs):
        lines += _copy(memory, name, count, len(arrays) + number, len(arrays) + len(outputs), label, False)
        label = f"{name}.done"
    lines += [
        "  br label %unpacked",
        "unpacked:",
        f"  %next = add i64 %first, {memory.lanes}",
        "  %more = icmp slt i64 %next, %count",
        "  br i1 %more, label %block, label %done",
        "done:",
        "  call void @free(ptr %raw)",
        "  ret void",
        "}",
        "attributes #0 = { nounwind }",
    ]
    return "\n".join(lines)


def _base_names(memory: Memory) -> list[str]:
    inputs = [f"in{i}0" for i in range(len(memory.inputs))]
    outputs = [f"out{i}0" for i in range(len(memory.outputs))]
    return ["q0", *inputs, "flat0", "own0", "children0", *outputs]


def _tables() -> list[str]:
    names = ("counts", "kinds", "parents", "qs", "vs", "constants", "gravity")
    lines = []
    for position, name in enumerate(names):
        lines.append(f"  %{name}.p = getelementptr ptr, ptr %data, i64 {position}")
        lines.append(f"  %{name} = load ptr, ptr %{name}.p, align 8")
    for position, name in enumerate(("n", "nq", "nv")):
        lines.append(f"  %{name}.p = getelementptr i64, ptr %counts, i64 {position}")
        lines.append(f"  %{name} = load i64, ptr %{name}.p, align 8")
    return lines


def _places(memory: Memory) -> list[str]:
    """One allocation, aligned, divided up."""
    width = 8 * memory.lanes
    lines = ["  %links = add i64 %n, 1"]  # the world comes last: its fields stay zero
    sizes: list[tuple[str, str]] = [("q0", "%nq")]
    sizes += [(f"in{i}0", "%nv") for i in range(len(memory.inputs))]
    sizes += [("flat0", "6")]
    lines.append(f"  %own.count = mul i64 %links, {memory.own_size}")
    lines.append(f"  %children.count = mul i64 %links, {memory.children_size}")
    sizes += [("own0", "%own.count"), ("children0", "%children.count")]
    sizes += [(f"out{i}0", "%nv") for i in range(len(memory.outputs))]
    total = "0"
    for name, count in sizes:
        lines += [f"  %{name}.o = add i64 {total}, 0", f"  %{name}.e = add i64 {total}, {count}"]
        total = f"%{name}.e"
    lines += [
        f"  %bytes = mul i64 {total}, {width}",
        "  %padded = add i64 %bytes, 128",
        "  %raw = call ptr @malloc(i64 %padded)",
        "  %raw.i = ptrtoint ptr %raw to i64",
        "  %up = add i64 %raw.i, 64",
        "  %even = and i64 %up, -64",
        "  %work = inttoptr i64 %even to ptr",
        "  call void @llvm.memset.p0.i64(ptr %work, i8 0, i64 %bytes, i1 false)",
        f"  %children.bytes = mul i64 %children.count, {width}",
    ]
    for name, _ in sizes:
        lines += [
            f"  %{name}.b = mul i64 %{name}.o, {width}",
            f"  %{name} = getelementptr i8, ptr %work, i64 %{name}.b",
        ]
    for i in range(6):
        lines += [f"  %g{i}.p = getelementptr double, ptr %gravity, i64 {i}", f"  %g{i} = load double, ptr %g{i}.p"]
        for lane in range(memory.lanes):
            lines.append(f"  %g{i}.{lane} = getelementptr double, ptr %flat0, i64 {i * memory.lanes + lane}")
            lines.append(f"  store double %g{i}, ptr %g{i}.{lane}, align 8")
    return lines


def _copy(memory: Memory, name: str, count: str, array: int, arrays: int, label: str, packing: bool) -> list[str]:
    """Between the rows of an array and lanes; rows beyond the end repeat the last, and are written alike."""
    lanes = memory.lanes
    core = arrays + array  # every array has one core axis
    lines = [
        f"  %{name}.a = getelementptr ptr, ptr %args, i64 {array}",
        f"  %{name}.base = load ptr, ptr %{name}.a, align 8",
        f"  %{name}.sp = getelementptr i64, ptr %steps, i64 {array}",
        f"  %{name}.s = load i64, ptr %{name}.sp, align 8",
        f"  %{name}.kp = getelementptr i64, ptr %steps, i64 {core}",
        f"  %{name}.k = load i64, ptr %{name}.kp, align 8",
    ]
    for lane in range(lanes):
        lines += [
            f"  %{name}.n{lane} = add i64 %first, {lane}",
            f"  %{name}.c{lane} = icmp slt i64 %{name}.n{lane}, %last",
            f"  %{name}.r{lane} = select i1 %{name}.c{lane}, i64 %{name}.n{lane}, i64 %last",
            f"  %{name}.m{lane} = mul i64 %{name}.r{lane}, %{name}.s",
            f"  %{name}.l{lane} = getelementptr i8, ptr %{name}.base, i64 %{name}.m{lane}",
        ]
    lines += [f"  br label %{name}.loop", f"{name}.loop:"]
    lines.append(f"  %{name}.e = phi i64 [0, %{label}], [%{name}.e2, %{name}.loop]")
    lines.append(f"  %{name}.eo = mul i64 %{name}.e, %{name}.k")
    lines.append(f"  %{name}.w = mul i64 %{name}.e, {lanes}")
    for lane in range(lanes):
        lines += [
            f"  %{name}.p{lane} = getelementptr i8, ptr %{name}.l{lane}, i64 %{name}.eo",
            f"  %{name}.w{lane} = add i64 %{name}.w, {lane}",
            f"  %{name}.t{lane} = getelementptr double, ptr %{name}0, i64 %{name}.w{lane}",
        ]
        source, target = (
            (f"%{name}.p{lane}", f"%{name}.t{lane}") if packing else (f"%{name}.t{lane}", f"%{name}.p{lane}")
        )
        lines.append(f"  %{name}.v{lane} = load double, ptr {source}, align 8")
        lines.append(f"  store double %{name}.v{lane}, ptr {target}, align 8")
    lines += [
        f"  %{name}.e2 = add i64 %{name}.e, 1",
        f"  %{name}.go = icmp slt i64 %{name}.e2, %{count}",
        f"  br i1 %{name}.go, label %{name}.loop, label %{name}.done",
        f"{name}.done:",
    ]
    return lines


def _sweeps_text(memory: Memory, directions: list[str], calls: list[list[list[str]]], slots: int) -> str:
    """All sweeps over one block of states."""
    given = ", ".join(f"ptr %{name}" for name in _base_names(memory))
    lines = [f"define internal void @sweeps(ptr %data, {given}) #0 {{", "entry:", *_tables()]
    lines.append(f"  %slots = alloca [{slots * memory.lanes} x double], align {8 * memory.lanes}")
    lines += ["  %top = sub i64 %n, 1", "  br label %sweep0"]
    for number, direction in enumerate(directions):
        after = f"sweep{number + 1}" if number + 1 < len(directions) else "finished"
        lines += _sweep(memory, number, direction, calls[number], after)
    return "\n".join([*lines, "finished:", "  ret void", "}"])


def _sweep(memory: Memory, number: int, direction: str, calls: list[list[str]], after: str) -> list[str]:
    tag = f"x{number}"
    outward = direction == "outward"
    start, move, end = ("0", "1", "%n") if outward else ("%top", "-1", "-1")
    lines = [
        f"sweep{number}:",
        f"  br label %{tag}.link",
        f"{tag}.link:",
        f"  %{tag}.k = phi i64 [{start}, %sweep{number}], [%{tag}.k2, %{tag}.next]",
    ]
    body = [*_pointers(memory), "  %kind.p = getelementptr i64, ptr %kinds, i64 %k", "  %kind = load i64, ptr %kind.p"]
    cases = " ".join(f"i64 {c}, label %kind{c}" for c in range(len(calls)))
    body.append(f"  switch i64 %kind, label %next [{cases}]")
    for c, call in enumerate(calls):
        body += [f"kind{c}:", *call, "  br label %next"]
    lines += _renamed(body, tag)
    return [
        *lines,
        f"{tag}.next:",
        f"  %{tag}.k2 = add i64 %{tag}.k, {move}",
        f"  %{tag}.more = icmp ne i64 %{tag}.k2, {end}",
        f"  br i1 %{tag}.more, label %{tag}.link, label %{after}",
    ]


def _pointers(memory: Memory) -> list[str]:
    """Where link k, its parent and its joint are."""
    width = 8 * memory.lanes
    lines = []
    for name, table in (("up", "parents"), ("qa", "qs"), ("va", "vs")):
        lines += [f"  %{name}.p = getelementptr i64, ptr %{table}, i64 %k", f"  %{name} = load i64, ptr %{name}.p"]
    lines += [f"  %constant.o = mul i64 %k, {8 * CONSTANTS}"]
    lines += ["  %constant = getelementptr i8, ptr %constants, i64 %constant.o"]
    places = [("q", "q0", "qa", 1), ("own", "own0", "k", memory.own_size), ("parent", "own0", "up", memory.own_size)]
    places += [
        ("children", "children0", "k", memory.children_size),
        ("siblings", "children0", "up", memory.children_size),
    ]
    places += [(f"in{i}", f"in{i}0", "va", 1) for i in range(len(memory.inputs))]
    places += [(f"out{i}", f"out{i}0", "va", 1) for i in range(len(memory.outputs))]
    for name, base, index, count in places:
        lines += [
            f"  %{name}.o = mul i64 %{index}, {count * width}",
            f"  %{name} = getelementptr i8, ptr %{base}, i64 %{name}.o",
        ]
    return [*lines, "  %flat = getelementptr i8, ptr %flat0, i64 0"]


def _renamed(lines: list[str], tag: str) -> list[str]:
    """Names made in a sweep's body, kept apart from other sweeps'."""
    made = {m.group(1) for line in lines if (m := re.match(r"\s*%([\w.]+) =", line))} | {"k"}
    labels = {m.group(1) for line in lines if (m := re.match(r"(\w+):$", line))} | {"next"}

    def change(match: re.Match[str]) -> str:
        name = match.group(1)
        return f"%{tag}.{name}" if name in made or name in labels else match.group(0)

    result = []
    for line in lines:
        label = re.match(r"(\w+):$", line)
        result.append(f"{tag}.{label.group(1)}:" if label else re.sub(r"%([\w.]+)", change, line))
    return result
