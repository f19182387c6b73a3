"""Passes over programs, in the order they run. Each keeps the value of every output; `validate`, which checks the
invariants of programs, runs after each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from phistar.sweeps.ir import (
    CHILDREN,
    FORCE,
    INWARD,
    OUTWARD,
    PARENT,
    Call,
    Data,
    Field,
    Move,
    Plus,
    Program,
    Statement,
    Sweep,
    Term,
    Transpose,
    fields_anywhere,
    fields_at_link,
    is_sent,
    plus,
    rebuild,
    subterms,
)
from phistar.sweeps.primitives import PRIMITIVES


def validate(program: Program) -> Program:
    """Check that each field is made once, before it is read elsewhere, neighbours are read in the sweep's direction,
    and only primitives are called."""
    known = {name for name, _ in program.inputs}
    for number, sweep in enumerate(program.sweeps):
        made = [s.target for s in sweep.statements]
        assert len(made) == len(set(made)), f"sweep {number} makes a field twice: {made}"
        assert not known & set(made), f"sweep {number} makes {known & set(made)} again"
        for statement in sweep.statements:
            missing = fields_anywhere(statement.term) - known - set(made)
            assert not missing, f"{statement.target} reads {missing}, which nothing has made"
            _check_direction(statement.term, sweep, set(made))
        known |= set(made)
    assert {name for name, _ in program.outputs} <= known, program.outputs
    return program


def _check_direction(term: Term, sweep: Sweep, made: set[str]) -> None:
    """A field made in the same sweep may be read only where it is already known."""
    if is_sent(term) and term.name in made:
        known = {CHILDREN: INWARD, PARENT: OUTWARD}.get(term.source)
        assert sweep.direction == known, (
            f"{term.name} of the {term.source} is not known in an {sweep.direction} sweep that makes it"
        )
    if isinstance(term, Call):
        assert term.function in PRIMITIVES, f"{term.function} is not in the table of primitives"
    for part in subterms(term):
        _check_direction(part, sweep, made)


ONE = Fraction(1)
OPERAND = "x"  # the field of what a statement is applied to


def merge_transports(program: Program) -> Program:
    """Σφa + Σφb = Σφ(a + b): one transport per recursion, inward, and outward for forces of the two-way algebra. The
    sum is carried by a field of the sending link."""
    return _each_sweep(program, _merge_transports_in)


def _merge_transports_in(sweep: Sweep) -> Sweep:
    if sweep.direction == "flat":
        return sweep
    source = CHILDREN if sweep.direction == INWARD else PARENT
    statements = {s.target: s.term for s in sweep.statements}
    for target, term in list(statements.items()):
        carried = [(c, x) for c, x in _terms(term) if is_sent(x, source) and x.act == FORCE]
        if len(carried) < 2:
            continue
        rest = [(c, x) for c, x in _terms(term) if (c, x) not in carried]
        keeper = _keeper(target, carried, statements)
        parts = [(c, Field(target) if x.name == target else _inline(x.name, keeper, statements)) for c, x in carried]
        statements[keeper] = plus(parts)
        statements[target] = plus([(ONE, Move(source, FORCE, keeper)), *rest])
    symmetric = {s.target for s in sweep.statements if s.symmetric}
    new = tuple(Statement(name, term, name in symmetric) for name, term in statements.items())
    return Sweep(sweep.direction, new)


def _keeper(target: str, carried: list[tuple[Fraction, Any]], statements: dict[str, Term]) -> str:
    """The field z⁺ that already carries z, or a new one of that name."""
    name = f"{target}⁺"
    while name in statements and (ONE, name) not in [(c, x.name) for c, x in carried]:
        name += "⁺"
    return name


def _inline(name: str, keeper: str, statements: dict[str, Term]) -> Term:
    """The keeper's old right side, or a reference to another field (its term, if only this transport reads it)."""
    if name == keeper:
        return statements[name]
    readers = sum(name in fields_anywhere(term) for term in statements.values())
    return statements[name] if name in statements and readers == 1 else Field(name)


def _terms(term: Term) -> tuple[tuple[Fraction, Term], ...]:
    return term.terms if isinstance(term, Plus) else ((ONE, term),)


def share(program: Program) -> Program:
    """Compute terms common to several statements of a sweep once; equal right sides become one field."""
    names = {*program.terms} | {name for name, _ in program.inputs}
    return _each_sweep(program, lambda sweep: _share_in(sweep, names))


def _share_in(sweep: Sweep, names: set[str]) -> Sweep:
    statements = list(sweep.statements)
    while True:
        home = {s.term: s.target for s in statements if not isinstance(s.term, Field | Data)}
        new = [replace(s, term=_replace(s.term, home, s.target)) for s in statements]
        counts = Counter(x for s in new for x in _proper(s.term))
        repeated = [x for x, count in counts.items() if count > 1 and x not in home]
        if not repeated:
            if new == statements:
                return Sweep(sweep.direction, tuple(new))
            statements = new
            continue
        name = _shared_name(repeated[0], names)
        names.add(name)
        statements = [*new, Statement(name, repeated[0])]


def _shared_name(term: Term, names: set[str]) -> str:
    neighbour = getattr(term, "name", None)
    wanted = f"{neighbour}⁻" if neighbour else "ε" if isinstance(term, Plus) else "u"
    return next(name for name in (wanted + "′" * count for count in range(len(names) + 1)) if name not in names)


def _replace(term: Term, home: dict[Term, str], own: str) -> Term:
    def change(part: Term) -> Term:
        if part in home and home[part] != own:
            return Field(home[part])
        return _substitute(rebuild(part, change), home, own)

    if isinstance(term, Plus):
        return _substitute(rebuild(term, change), home, own)
    return rebuild(term, change) if home.get(term, own) == own else Field(home[term])


def _substitute(term: Term, home: dict[Term, str], own: str) -> Term:
    """A sum that contains another statement's whole sum refers to it: u + H*(ν − G*u) with θ̈ = ν − G*u."""
    return Field(home[term]) if term in home and home[term] != own else term


def _proper(term: Term) -> list[Term]:
    """Parts worth a field of their own: everything but names, data and their transposes."""
    found: list[Term] = []
    stack = [term]
    while stack:
        part = stack.pop()
        plain = isinstance(part, Field | Data) or (isinstance(part, Transpose) and isinstance(part.of, Field | Data))
        if not plain and part is not term:
            found.append(part)
        stack.extend(subterms(part))
    if not subterms(term):
        found.append(term)
    return [x for x in found if not isinstance(x, Field | Data)]


def drop_unused(program: Program) -> Program:
    """Drop statements that no output needs. The operand x is taken even by what is zero."""
    needed = {name for name, _ in program.outputs}
    kept: list[Sweep] = []
    for sweep in reversed(program.sweeps):
        needed = _closure(sweep, needed)
        kept.append(Sweep(sweep.direction, tuple(s for s in sweep.statements if s.target in needed)))
    sweeps = tuple(sweep for sweep in reversed(kept) if sweep.statements)
    inputs = tuple((name, space) for name, space in program.inputs if name in needed or name == OPERAND)
    return replace(program, inputs=inputs, sweeps=sweeps)


def _closure(sweep: Sweep, needed: set[str]) -> set[str]:
    terms = {s.target: s.term for s in sweep.statements}
    result, stack = set(needed), [name for name in needed if name in terms]
    while stack:
        for name in fields_anywhere(terms[stack.pop()]) - result:
            result.add(name)
            if name in terms:
                stack.append(name)
    return result


def order(program: Program) -> Program:
    """Order the statements of a link so that each follows those it needs."""
    return _each_sweep(program, _order)


def _order(sweep: Sweep) -> Sweep:
    waiting = {s.target: s for s in sweep.statements}
    done: list[Statement] = []
    while waiting:
        ready = [s for s in waiting.values() if not (_before(s.term, sweep) & waiting.keys())]
        assert ready, f"statements wait for each other: {sorted(waiting)}"
        for statement in ready[:1]:
            done.append(waiting.pop(statement.target))
    return Sweep(sweep.direction, tuple(done))


def _before(term: Term, sweep: Sweep) -> frozenset[str]:
    return fields_anywhere(term) if sweep.direction == "flat" else fields_at_link(term)


def _each_sweep(program: Program, change: Callable[[Sweep], Sweep]) -> Program:
    return replace(program, sweeps=tuple(change(s) for s in program.sweeps))


def _validating(improve: Callable[[Program], Program]) -> Callable[[Program], Program]:
    def run(program: Program) -> Program:
        return validate(improve(program))

    run.__name__ = improve.__name__
    return run


PASSES = tuple(_validating(p) for p in (merge_transports, drop_unused, share, drop_unused, order))
