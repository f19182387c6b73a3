"""Operators over the joints of a long mechanism, column by column inside a rolled kernel.

What does not depend on the operand is swept once for a block of states. Then the operand is each unit vector in turn:
the sweeps that depend on it are run, and the column they make is written to its place.
"""

from __future__ import annotations

from dataclasses import replace

from phistar.backends.rolled.loop import TABLES, Sizes, pointer
from phistar.backends.rolled.plan import Plan, depending, parts
from phistar.sweeps import ir
from phistar.sweeps.ir import Program, Sweep


def column_by_column(program: Program, frames: int) -> Plan | None:
    """The program on one vector in place of the identities over the joints, with what does not depend on it first.
    None where columns meet each other on the way."""
    inputs = dict(program.inputs)
    if not program.columns or any(inputs[name] != "joints" for name in program.columns):
        return None
    program = _with_one_operand(program)
    (operand,) = program.columns
    wide = depending(program, operand)
    made = [part for sweep in program.sweeps for s in sweep.statements if s.target in wide for part in parts(s.term)]
    flat = any(isinstance(part, ir.ToBase | ir.ToScalar | ir.SolveFlat | ir.ToTask) for part in made)
    over = {space for name, space in program.outputs if name in wide}
    reached = all(program.result_names[public] in wide for public in program.matrices)  # what is zero has no columns
    if flat or not reached or not over <= {"joints", "links", "parameters"}:
        return None
    once = [_only(sweep, wide, False) for sweep in program.sweeps]
    each = [_only(sweep, wide, True) for sweep in program.sweeps]
    once, each = ([sweep for sweep in part if sweep.statements] for part in (once, each))
    return Plan(replace(program, sweeps=(*once, *each), columns=(), matrices=()), frames, operand, len(once))


def _with_one_operand(program: Program) -> Program:
    """Identities of several spaces over the joints are one."""
    first, *others = program.columns

    def renamed(term: ir.Term) -> ir.Term:
        known = isinstance(term, ir.Field | ir.FromChildren | ir.FromParent) and term.name in others
        return type(term)(first) if known else ir.rebuild(term, renamed)  # type: ignore[call-arg]

    sweeps = [Sweep(s.direction, tuple(replace(x, term=renamed(x.term)) for x in s.statements)) for s in program.sweeps]
    inputs = tuple(x for x in program.inputs if x[0] not in others)
    return replace(program, sweeps=tuple(sweeps), inputs=inputs, columns=(first,))


def _only(sweep: Sweep, wide: frozenset[str], depends: bool) -> Sweep:
    return Sweep(sweep.direction, tuple(s for s in sweep.statements if (s.target in wide) == depends))


def finish_call(outputs: range) -> str:
    """In place of `unpack`: all columns of a block."""
    return f"  call void @finish({', '.join(_arguments(outputs))})"


def _arguments(outputs: range) -> list[str]:
    given = ["ptr %data", "ptr %work", "ptr %scratch", "i1 %both", "i64 %first", "i64 %last"]
    for a in outputs:
        given += [f"ptr %base{a}", f"ptr %table{a}"]
        given += [f"i64 %{name}{a}" for name in ("s", "columns", "entries")] + [f"i64 %k{a}x0", f"i64 %k{a}x1"]
    return given


def finish_text(outputs: range, wide: set[int], stages: list[int], sizes: Sizes) -> str:
    """`finish`: the arrays that do not depend on the operand as they are; then for each column, whose number is the
    entry of the operand that is one, the stages and the arrays that do."""
    given, first = ", ".join(_arguments(outputs)), min(wide)
    lines = [f"define internal void @finish({given}) #0 {{", "entry:"]
    lines += [pointer("operand.p", "data", str(8 * (len(TABLES) + outputs.stop)))]
    lines += ["  %operand = load ptr, ptr %operand.p, align 8"]
    for a in outputs:
        if a not in wide:
            strides = f"i64 %s{a}, i64 %k{a}x0, i64 %k{a}x1, i64 %columns{a}, i64 %entries{a}, ptr %table{a}"
            lines += [f"  call void @unpack(ptr %base{a}, {strides}, ptr %work, i64 %first, i64 %last)"]
        else:
            lines += [f"  %row{a} = mul i64 %entries{a}, 8"]
    lines += [f"  %any = icmp sgt i64 %columns{first}, 0", "  br i1 %any, label %column, label %done", "column:"]
    lines += ["  %j = phi i64 [0, %entry], [%j2, %column]", "  %x.p = getelementptr i32, ptr %operand, i64 %j"]
    lines += ["  %x.i = load i32, ptr %x.p, align 4", "  %x.w = zext i32 %x.i to i64", pointer("x", "work", "%x.w")]
    lines += [_set(sizes, "1.0")]
    lines += [f"  call void @stage{n}(ptr %data, ptr %work, ptr %scratch, i1 %both)" for n in stages]
    for a in sorted(wide):
        lines += [f"  %to{a}.o = mul i64 %j, %k{a}x0", pointer(f"to{a}", f"base{a}", f"%to{a}.o")]
        strides = f"i64 %s{a}, i64 %row{a}, i64 %k{a}x1, i64 %entries{a}, i64 %entries{a}, ptr %table{a}"
        lines += [f"  call void @unpack(ptr %to{a}, {strides}, ptr %work, i64 %first, i64 %last)"]
    lines += [_set(sizes, "0.0"), "  %j2 = add i64 %j, 1", f"  %more = icmp slt i64 %j2, %columns{first}"]
    return "\n".join([*lines, "  br i1 %more, label %column, label %done", "done:", "  ret void", "}"])


def _set(sizes: Sizes, number: str) -> str:
    values = ", ".join(f"double {number}" for _ in range(sizes.lanes))
    return f"  store <{sizes.lanes} x double> <{values}>, ptr %x, align {8 * sizes.lanes}"
