"""The inner loop of a gufunc in LLVM IR: blocks of states where rows are contiguous, row copies where they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phistar.backends.machine.rows import Signature


def loop_text(signature: Signature, lanes: int) -> str:
    """`void loop(char **args, intp *dimensions, intp *steps, void *data)` over `block`."""
    shapes, arrays = signature.shapes, signature.arrays
    lines = ["define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) #0 {", "entry:"]
    lines.append("  %count = load i64, ptr %dimensions, align 8")
    for a in range(arrays):
        lines.append(f"  %argp{a} = getelementptr ptr, ptr %args, i64 {a}")
        lines.append(f"  %b{a} = load ptr, ptr %argp{a}, align 8")
        lines += _load("s", a, a)
    step, tests = arrays, []
    core: list[list[str]] = []
    for a, shape in enumerate(shapes):
        names = []
        for axis in range(len(shape)):
            name = f"k{a}x{axis}"
            lines += _load_named(name, step)
            step += 1
            names.append(f"%{name}")
            expected = 8
            for n in shape[axis + 1 :]:
                expected *= n
            if shape[axis] > 1:
                lines.append(f"  %t{name} = icmp eq i64 %{name}, {expected}")
                tests.append(f"%t{name}")
        core.append(names)
    lines += _all("contiguous", tests)
    lines += ["  %last = sub i64 %count, 1", "  %any = icmp sgt i64 %count, 0"]
    lines += ["  br i1 %any, label %choose, label %done", "choose:"]
    lines += ["  br i1 %contiguous, label %fast, label %slow", "fast:"]
    given = ", ".join(f"ptr %b{a}, i64 %s{a}" for a in range(arrays))
    lines += ["  %i = phi i64 [0, %choose], [%i2, %fast]"]
    lines += [f"  call void @block({given}, i64 %i, i64 %last)", f"  %i2 = add i64 %i, {lanes}"]
    lines += ["  %more = icmp slt i64 %i2, %count", "  br i1 %more, label %fast, label %done", "slow:"]
    lines += _slow(signature, shapes, core)
    return "\n".join([*lines, "done:", "  ret void", "}", 'attributes #0 = { nounwind "target-cpu"="" }']).replace(
        ' "target-cpu"=""', ""
    )


def _load(prefix: str, number: int, position: int) -> list[str]:
    return _load_named(f"{prefix}{number}", position)


def _load_named(name: str, position: int) -> list[str]:
    return [
        f"  %{name}p = getelementptr i64, ptr %steps, i64 {position}",
        f"  %{name} = load i64, ptr %{name}p, align 8",
    ]


def _all(name: str, tests: list[str]) -> list[str]:
    lines, current = [], "true"
    for number, test in enumerate(tests):
        lines.append(f"  %{name}{number} = and i1 {current}, {test}")
        current = f"%{name}{number}"
    return [*lines, f"  %{name} = and i1 {current}, true"]


def _slow(signature: Signature, shapes: list[tuple[int, ...]], core: list[list[str]]) -> list[str]:
    """One state at a time through contiguous copies of its rows."""
    inputs = len(signature.inputs)
    lines = []
    for a, shape in enumerate(shapes):
        total = 1
        for n in shape:
            total *= n
        lines.append(f"  %m{a} = alloca [{max(total, 1)} x double], align 64")
    lines += ["  br label %row", "row:", "  %j = phi i64 [0, %slow], [%j2, %rowend]"]
    lines += _copies(shapes, core, range(inputs), True)
    given = ", ".join(f"ptr %m{a}, i64 0" for a in range(len(shapes)))
    lines.append(f"  call void @block({given}, i64 0, i64 0)")
    lines += _copies(shapes, core, range(inputs, len(shapes)), False)
    lines += ["  br label %rowend", "rowend:", "  %j2 = add i64 %j, 1", "  %rows = icmp slt i64 %j2, %count"]
    return [*lines, "  br i1 %rows, label %row, label %done"]


def _copies(shapes: list[tuple[int, ...]], core: list[list[str]], arrays: range, loading: bool) -> list[str]:
    """A counted loop per array between its strided entries and its contiguous copy."""
    lines: list[str] = []
    for a in arrays:
        total = 1
        for n in shapes[a]:
            total *= n
        if total == 0:
            continue
        before, body, after = f"c{a}in", f"c{a}loop", f"c{a}out"
        lines += [f"  br label %{before}", f"{before}:", f"  br label %{body}", f"{body}:"]
        lines.append(f"  %e{a} = phi i64 [0, %{before}], [%e{a}n, %{body}]")
        lines += _offset(a, shapes[a], core[a])
        lines += [f"  %e{a}s = mul i64 %j, %s{a}", f"  %e{a}t = add i64 %e{a}s, %e{a}o"]
        lines.append(f"  %e{a}p = getelementptr i8, ptr %b{a}, i64 %e{a}t")
        lines.append(f"  %e{a}q = getelementptr double, ptr %m{a}, i64 %e{a}")
        source, target = (f"%e{a}p", f"%e{a}q") if loading else (f"%e{a}q", f"%e{a}p")
        lines += [f"  %e{a}v = load double, ptr {source}, align 8", f"  store double %e{a}v, ptr {target}, align 8"]
        lines += [f"  %e{a}n = add i64 %e{a}, 1", f"  %e{a}m = icmp slt i64 %e{a}n, {total}"]
        lines += [f"  br i1 %e{a}m, label %{body}, label %{after}", f"{after}:"]
    return lines


def _offset(a: int, shape: tuple[int, ...], strides: list[str]) -> list[str]:
    """`%e{a}o`: the bytes from an array's row to its entry `%e{a}`, counted with the last axis fastest."""
    lines, rest, offset = [], f"%e{a}", "0"
    for axis in range(len(shape) - 1, -1, -1):
        name, index = f"e{a}x{axis}", rest
        if axis:
            lines += [f"  %{name}i = srem i64 {rest}, {shape[axis]}", f"  %{name}r = sdiv i64 {rest}, {shape[axis]}"]
            rest, index = f"%{name}r", f"%{name}i"
        lines += [f"  %{name}m = mul i64 {index}, {strides[axis]}", f"  %{name}s = add i64 {offset}, %{name}m"]
        offset = f"%{name}s"
    return [*lines, f"  %e{a}o = add i64 {offset}, 0"]
