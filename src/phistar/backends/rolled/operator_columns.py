"""Operators of a long mechanism, column by column inside a rolled kernel.

What does not depend on the operand is swept once for a block of states. Then the operand is each unit vector in turn:
the sweeps that depend on it are run, and the column they make is written to its place.
"""

from __future__ import annotations

from dataclasses import replace

from phistar.backends.kernels import U32
from phistar.backends.rolled.link_loops import TABLES, Block
from phistar.backends.rolled.plan import Plan, depending
from phistar.sweeps import ir
from phistar.sweeps.ir import Program, Sweep, parts


def column_by_column(plan: Plan, across: bool = False) -> Plan | None:
    """The program on one vector in place of the identities of a space, with what does not depend on it first. None
    where columns meet each other on the way."""
    program = plan.program
    inputs = dict(program.inputs)
    if len({inputs[name] for name in program.columns}) != 1:
        return None
    program = _with_one_operand(program)
    (operand,) = program.columns
    wide = depending(program, operand)
    made = [part for s in program.statements if s.target in wide for part in parts(s.term)]
    meet = any(isinstance(x, ir.SolveFlat) and ir.fields_anywhere(x.matrix) & wide for x in made)
    meet = meet or any(isinstance(x, ir.Transpose | ir.Invert) and ir.fields_anywhere(x) & wide for x in made)
    over = {space for name, space in program.outputs if name in wide}
    reached = all(program.result_names[public] in wide for public in program.matrices)  # what is zero has no columns
    if meet or not reached or "scalars" in over:
        return None
    once = [_only(sweep, wide, False) for sweep in program.sweeps]
    each = [_only(sweep, wide, True) for sweep in program.sweeps]
    once, each = ([sweep for sweep in part if sweep.statements] for part in (once, each))
    changed = replace(program, sweeps=(*once, *each), columns=(), matrices=())
    made_so = replace(plan, program=changed, operand=operand, once=len(once), across=across)
    return made_so if made_so.rollable else None


def _with_one_operand(program: Program) -> Program:
    """Several identities of one space are one."""
    first, *others = program.columns

    def rename(term: ir.Term) -> ir.Term:
        known = getattr(term, "name", None) in others and not isinstance(term, ir.Data | ir.TaskOperator)
        return type(term)(first) if known else ir.rebuild(term, rename)  # type: ignore[call-arg]

    sweeps = [Sweep(s.direction, tuple(replace(x, term=rename(x.term)) for x in s.statements)) for s in program.sweeps]
    inputs = tuple(x for x in program.inputs if x[0] not in others)
    return replace(program, sweeps=tuple(sweeps), inputs=inputs, columns=(first,))


def _only(sweep: Sweep, wide: frozenset[str], depends: bool) -> Sweep:
    return Sweep(sweep.direction, tuple(s for s in sweep.statements if (s.target in wide) == depends))


def finish(block: Block, outputs: range, wide: set[int], stages: range, across: bool, sums: tuple[int, int]) -> None:
    """The arrays that do not depend on the operand as they are; then for each column, whose number is the entry of the
    operand that is one, the stages and the arrays that do, along their second axis if `across`. `sums` are places (the
    first, how many) where what depends on it is added up."""
    code, sizes, arrays = block.code, block.sizes, block.arrays
    operand = code["data"].at(len(TABLES) + outputs.stop).load(kind=U32.read)
    for a in outputs:
        if a not in wide:
            block.copy("unpack", arrays[a])
    with code.loop(0, arrays[min(wide)].columns) as j:
        place = block.work.at(operand.at(j).load())
        place.store(code.number(1.0, sizes.lanes), sizes.align)
        block.clear(sums)
        block.run(stages)
        for x in (arrays[a] for a in sorted(wide)):
            step, along = (x.column, x.row) if across else (x.row, x.column)
            column = replace(x, base=x.base.bytes(j * step), row=x.entries * 8, column=along, columns=x.entries)
            block.copy("unpack", column)
        place.store(code.number(0.0, sizes.lanes), sizes.align)
