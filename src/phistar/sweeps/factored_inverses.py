"""Forms of the articulated step that take fewer operations where links are wide.

D⁻¹ by a factorization in place of an inverse, D = L*ΔL, the last rate first.

A link that bends has its joint's rates first and its modes' after them, so that the elimination has two stages: with
D_m = P_mm and g = P_6m D_m⁻¹ the modes leave P_r = P_66 − gP_m6, of which the joint's D_r = HP_rH* and G are made. Only
products with D⁻¹ are asked for, six columns and one: half an inverse and no more.

P⁺ = P − GU* moved part by part, φP⁺φ* = φPφ* − (φG)(φU)*: the P of a compound link has a block a member, P⁺ is full.
"""

from __future__ import annotations

from dataclasses import replace

from phistar.sweeps.ir import (
    INERTIA,
    Divide,
    Field,
    Invert,
    Move,
    Plus,
    Program,
    Statement,
    Sweep,
    Term,
    Times,
    Transpose,
    fields_anywhere,
    rebuild,
)


def factored_inverses(program: Program) -> Program:
    """The program with XD⁻¹ and D⁻¹y of a sweep that makes D solved for; the inverse stays where others read it."""
    sweeps = [_solve_factored(sweep) for sweep in program.sweeps]
    kept = {name for name, _ in program.outputs} | {x for table in program.tables for x in _read_by(table)}
    for number, sweep in enumerate(sweeps):
        read = set(kept)
        for other in sweeps:
            read |= {x for s in other.statements for x in fields_anywhere(s.term) if x != s.target}
        sweeps[number] = Sweep(
            sweep.direction, tuple(s for s in sweep.statements if s.target in read or not _inverts(s))
        )
    return replace(program, sweeps=tuple(sweeps))


def updates_apart(program: Program) -> Program:
    """The program with φP⁺φ* of the children as φPφ* − (φG)(φU)*, where nothing else reads P⁺."""
    updates = {s.target: found for s in program.statements if (found := _update(s))}
    sweeps = []
    for sweep in program.sweeps:
        changed = [replace(s, term=_move_apart(s.term, updates)) for s in sweep.statements]
        sweeps.append(Sweep(sweep.direction, tuple(changed)))
    read = {x for sweep in sweeps for s in sweep.statements for x in fields_anywhere(s.term)}
    read |= {name for name, _ in program.outputs} | {x for table in program.tables for x in _read_by(table)}
    if read & updates.keys():
        return program
    kept = (tuple(s for s in sweep.statements if s.target not in updates) for sweep in sweeps)
    return replace(program, sweeps=tuple(Sweep(x.direction, own) for x, own in zip(sweeps, kept, strict=True)))


def _update(statement: Statement) -> tuple[str, str, str] | None:
    """The names X, Y, Z of a symmetric X − YZ*."""
    match statement.term:
        case Plus(
            terms=((1, Field(name=whole)), (-1, Times(left=Field(name=left), right=Transpose(of=Field(name=right)))))
        ):
            return (whole, left, right) if statement.symmetric else None
    return None


def _move_apart(term: Term, updates: dict[str, tuple[str, str, str]]) -> Term:
    if isinstance(term, Move) and term.act == INERTIA and not term.update and term.name in updates:
        whole, *update = updates[term.name]
        return Move(term.source, INERTIA, whole, tuple(update))
    return rebuild(term, lambda part: _move_apart(part, updates))


def _read_by(table: object) -> set[str]:
    pairs = (*table.carries, *table.carried)  # type: ignore[attr-defined]
    return {table.own, *(name for pair in pairs for name in pair)}  # type: ignore[attr-defined]


def _inverts(statement: Statement) -> bool:
    return isinstance(statement.term, Invert) and isinstance(statement.term.of, Field)


def _solve_factored(sweep: Sweep) -> Sweep:
    inverted = {s.target: s.term.of for s in sweep.statements if isinstance(s.term, Invert) and _inverts(s)}

    def matrix(term: Term) -> Term | None:
        return inverted.get(term.name) if isinstance(term, Field) else None

    def change(term: Term) -> Term:
        term = rebuild(term, change)
        if isinstance(term, Times):
            if (right := matrix(term.right)) is not None:
                return Divide(term.left, right)
            if (left := matrix(term.left)) is not None:
                return Transpose(Divide(_transpose(term.right), left))
        return term

    return Sweep(sweep.direction, tuple(replace(s, term=change(s.term)) for s in sweep.statements))


def _transpose(term: Term) -> Term:
    return term.of if isinstance(term, Transpose) else Transpose(term)
