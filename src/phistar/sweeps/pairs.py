"""Operators between joints as loops over pairs of a link and a column: a pass over the program of any statement.

The operand is the identity of joint space, so that every field has a column c for each joint rate. Seen from link k, c
is inboard (of a link that carries k), the link's own, outboard (of one that it carries) or apart, on another branch. In
one common frame φ = 1. So φ of something that a column has at its own link alone is that same block at every link that
carries it: LφR is L(k)R(c) where c is outboard of k, Lφ*R where it is inboard, and the sweeps need to make memoryless
blocks only. What else is handed on from link to link, ψ's columns, is an array over the columns that a region updates
link by link.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from phistar.errors import StatementError
from phistar.sweeps import ir
from phistar.sweeps.ir import (
    INWARD,
    OUTWARD,
    ZERO,
    Data,
    Field,
    Move,
    Plus,
    Program,
    Statement,
    Sweep,
    Term,
    Times,
    plus,
)
from phistar.sweeps.pair_blocks import LinkBlocks
from phistar.sweeps.passes import validate
from phistar.sweeps.regions import Column, PairField, PairProgram, Pairs, validate_regions

INBOARD, OWN, OUTBOARD, APART = "inboard", "own", "outboard", "apart"
ONE = Fraction(1)
UNIT = Data("unit")
_FROM = {
    ir.CHILDREN: {OWN: {OUTBOARD}, OUTBOARD: {OUTBOARD}, INBOARD: {INBOARD, OWN}, APART: {OUTBOARD, APART}},
    ir.PARENT: {OWN: {INBOARD}, INBOARD: {INBOARD}, OUTBOARD: {OWN, OUTBOARD, APART}, APART: {APART}},
}
_SENT = {INWARD: ir.from_children, OUTWARD: ir.from_parent}
_HOME = {INWARD: OUTBOARD, OUTWARD: INBOARD}  # where a column is that has been handed on without change


def to_pair_program(program: Program, mirrored: Iterable[str] = ()) -> PairProgram:
    """The program of operators between joints as sweeps that make blocks, then regions over pairs. Refused where
    columns of several links meet on the way. Of results that are `mirrored` one triangle is enough, the lower one where
    that takes less."""
    spaces = dict(program.inputs)
    if {spaces[name] for name in program.columns} != {"joints"} or {space for _, space in program.outputs} != {
        "joints"
    }:
        raise StatementError("Only operators between joints are loops over pairs.")
    return _Split(program, {field for name, field in program.results if name in mirrored}).program()


class _Split:
    """Fields with columns (`wide`), those handed on unchanged (`constant`), and the regions that make the others."""

    def __init__(self, program: Program, mirrored: set[str]) -> None:
        self.given = program = _with_moves_together(program)
        self.operands = set(program.columns)
        self.terms = program.terms
        self.symmetric = {s.target for s in program.statements if s.symmetric}
        self.sweep_of = {s.target: i for i, sweep in enumerate(program.sweeps) for s in sweep.statements}
        self.wide = self._wide()
        self.supports = self._supports()
        self.constant = {name: way for name in self.wide if (way := self._transport(name))}
        self.mirrored = mirrored
        self.lower = {name for name in mirrored & self.wide if self._is_halved(name)}
        self.wide = self._wide()
        self.moved = {x.name for name in self.wide for x in _moves(self.terms[name])} - self.constant.keys()
        self.level = self._levels()
        self.tables: set[str] = set()
        self.blocks = LinkBlocks(self.terms, self.wide | self.operands)

    def program(self) -> PairProgram:
        public = {field: name for name, field in self.given.results}
        if not set(public) <= self.wide or len(public) < len(self.given.results):
            raise StatementError("A result does not depend on the operand, or is another's.")
        levels = {self.level[name] for name in (*self.moved, *public)} - {-1}
        last = max(levels | {1})
        at = {name: self.level[name] if self.level[name] >= 0 else last for name in public}
        regions: list[Pairs] = []
        for level in sorted(levels | set(at.values()), reverse=True):  # what is read later must be kept
            results = [name for name in public if at[name] == level]
            regions.insert(0, self._inward(level, results) if level % 2 == 0 else self._outward(level, results))
        kept = {x.name for region in regions for x in region.fields if x.handed_on} | self.tables | set(public)
        return self._finish([replace(x, fields=tuple(f for f in x.fields if f.name in kept)) for x in regions])

    # Where columns are

    def _wide(self) -> set[str]:
        """Fields with columns, of those that results need."""
        needed = {field for _, field in self.given.results}
        while more := {x for name in needed & self.terms.keys() for x in ir.fields_anywhere(self.terms[name])} - needed:
            needed |= more
        self.terms = {name: term for name, term in self.terms.items() if name in needed}
        found: set[str] = set()
        while more := {x for x, t in self.terms.items() if ir.fields_anywhere(t) & (found | self.operands)} - found:
            found |= more
        return found

    def has_columns(self, term: Term) -> bool:
        return bool(ir.fields_anywhere(term) & (self.wide | self.operands))

    def _supports(self) -> dict[str, frozenset[str]]:
        found = dict.fromkeys(self.wide, frozenset[str]())
        while True:
            after = {name: self._support(self.terms[name], found) for name in self.wide}
            if after == found:
                return found
            found = after

    def _support(self, term: Term, known: dict[str, frozenset[str]]) -> frozenset[str]:
        """Columns of a term that are not zero."""
        match term:
            case Field(name=name):
                return frozenset({OWN}) if name in self.operands else known[name]
            case Times(left=left, right=right) if not self.has_columns(left):
                return self._support(right, known)
            case Plus(terms=terms):
                return frozenset().union(*(self._support(x, known) for _, x in terms))
            case Move(source=source, name=name, is_plain=True) if name in self.wide:
                return frozenset().union(*(_FROM[source][x] for x in known[name]))
        raise StatementError(f"{term!r:.80} is no product over pairs of links and columns.")

    def _is_halved(self, name: str) -> bool:
        """Whether a result is made of less that is handed on without its outboard columns, which are then left out."""
        rest = self._without_outboard(self.terms[name])
        if rest is None or not self._support(rest, self.supports) <= {INBOARD, OWN}:
            return False
        before, after = (self._reachable(x) for x in (self.terms[name], rest))
        if not any(_moves(self.terms[x]) for x in before - after - self.constant.keys()):
            return False
        self.terms[name] = rest
        return True

    def _reachable(self, term: Term) -> set[str]:
        found = self._read(term)
        while more := {x for name in found for x in self._read(self.terms[name])} - found:
            found |= more
        return found

    def _without_outboard(self, term: Term) -> Term | None:
        """A term without what is outboard alone; None where that cannot be told apart."""
        support = self._support(term, self.supports)
        if OUTBOARD not in support:
            return term
        if support == {OUTBOARD}:
            return ZERO
        match term:
            case Field(name=name):
                return self._without_outboard(self.terms[name])
            case Times(left=left, right=right):
                rest = self._without_outboard(right)
                return None if rest is None else _times(left, rest)
            case Plus(terms=terms):
                parts = [(c, self._without_outboard(x)) for c, x in terms]
                return (
                    plus([(c, x) for c, x in parts if x is not None]) if all(x is not None for _, x in parts) else None
                )
        return None

    def _transport(self, name: str) -> str:
        """The way of a field that is φ or φ* of something its own link alone has; else none."""
        way = self.given.sweeps[self.sweep_of[name]].direction
        move = _SENT[way](name)
        terms = self.terms[name].terms if isinstance(self.terms[name], Plus) else ()  # type: ignore[attr-defined]
        others = [x for _, x in terms if x is not move]
        only = all(self._support(x, self.supports) <= {OWN} for x in others)
        return way if (ONE, move) in terms and only else ""

    def _levels(self) -> dict[str, int]:
        """Regions by number, inward ones even: what a field that is handed on needs is made before or with it. Fields
        that nothing handed on is part of are −1."""
        found = dict.fromkeys(self.wide, -1)
        for _ in range(len(self.wide) + 2):
            before = dict(found)
            for name in self.wide - self.constant.keys():
                used = {x for x in self._read(self.terms[name]) if x not in self.constant}
                level = max((found[x] for x in used), default=-1)
                if name in self.moved:
                    odd = self.given.sweeps[self.sweep_of[name]].direction == OUTWARD
                    level = max(level, int(odd))
                    level += level % 2 != odd
                found[name] = level
            if found == before:
                return found
        raise StatementError("Columns go in and out without end.")

    def _read(self, term: Term) -> set[str]:
        return {x for x in ir.fields_anywhere(term) if x in self.wide}

    # Values by where a column is

    def place(self, term: Term, where: str, level: int) -> Term:
        """A term with columns, in blocks of the link (`Field`), of the column's link (`Column`), and what is handed on;
        of fields made in an earlier region, as they are."""
        match term:
            case Field(name=name) if name in self.operands:
                return UNIT if where == OWN else ZERO
            case Field(name=name) if name in self.constant:
                if where == OWN:
                    return self.own(name)
                return self.column(name) if where == _HOME[self.constant[name]] else ZERO
            case Field(name=name) if self.supports[name] <= {OWN}:
                return self.place(self.terms[name], where, level) if where == OWN else ZERO
            case Field(name=name) if -1 < self.level[name] != level:
                self.tables.add(name)
                return term
            case Field(name=name):
                return self.place(self.terms[name], where, level)
            case Times(left=left, right=right):
                return _times(left, self.place(right, where, level))
            case Plus(terms=terms):
                return plus([(c, self.place(x, where, level)) for c, x in terms])
            case Move(source=source, name=name, is_plain=True) if name in self.constant:
                home = _HOME[self.constant[name]]
                if (self.constant[name] == INWARD) != (source == ir.CHILDREN):
                    raise StatementError(f"{name} goes in and out.")
                return self.column(name) if where == home else ZERO
            case Move(ir.CHILDREN, ir.FORCE, name) if self.level[name] == level:
                if self.supports[name] <= {OWN, OUTBOARD}:
                    return term if where == OUTBOARD else ZERO
            case Move(ir.PARENT, ir.MOTION, name) if self.level[name] == level:
                return term
        raise StatementError(f"{term!r:.80} has columns of several links.")

    def own(self, name: str) -> Term:
        """The block of a constant field at its own link."""
        others = [(c, x) for c, x in self.terms[name].terms if x not in (ir.from_children(name), ir.from_parent(name))]  # type: ignore[attr-defined]
        return self.place(plus(others), OWN, -1)

    def column(self, name: str) -> Term:
        return Column(self.blocks.name(self.own(name)))

    # Regions

    def _inward(self, level: int, results: Iterable[str]) -> Pairs:
        self.tables |= set(results)
        names = [
            x for x in self.terms if x in self.wide and self.level[x] == level and (x in self.moved or x in self.tables)
        ]
        fields = []
        for name in names:
            own = self.place(self.terms[name], OWN, level)
            if self.has_columns(own) or _moves(own):
                raise StatementError(f"{name} meets its own column again.")
            outboard = self.place(self.terms[name], OUTBOARD, level)
            fields.append(PairField(name, name in self.moved, ZERO, outboard, ZERO, self.blocks.name(own)))
        return Pairs(INWARD, tuple(fields))

    def _outward(self, level: int, results: Iterable[str]) -> Pairs:
        rows: dict[str, PairField] = {}
        names = [x for x in self.terms if x in self.wide and self.level[x] == level]
        for name in (x for x in self.terms if x in results and self.level[x] == -1):
            self._row(rows, name, level)
        moved = []
        for name in names:
            if name in self.moved or name in self.tables or name in results:
                everywhere = self.everywhere(self.terms[name], level, rows)
                own = self.alone(self.terms[name], level)
                moved.append(PairField(name, name in self.moved, ZERO, ZERO, everywhere, self.blocks.name(own)))
        return Pairs(OUTWARD, (*rows.values(), *moved))

    def _row(self, rows: dict[str, PairField], name: str, level: int) -> None:
        """A field that nothing handed on in this region is part of, at all columns of a link; what an inward region has
        made of it is there already."""
        if name in rows:
            return
        begun = self.level[name] >= 0
        if begun:
            self.tables.add(name)
        term, home = self.terms[name], self.level[name]
        inboard = self.place(term, INBOARD, home)
        outboard = ZERO if begun else self.place(term, OUTBOARD, home)
        own = "" if begun else self.blocks.name(self.place(term, OWN, home))
        if _moves(inboard):
            raise StatementError(f"{name} is handed on inboard and outboard.")
        rows[name] = PairField(name, False, inboard, outboard, ZERO, own, begun)

    def everywhere(self, term: Term, level: int, rows: dict[str, PairField]) -> Term:
        """A term with what this region hands on, the rest as rows; what only the own link has is left out."""
        match term:
            case Field(name=name) if name in self.wide and self.level[name] == level:
                return self.everywhere(self.terms[name], level, rows)
            case Field(name=name):
                if name in self.operands or self.supports[name] <= {OWN}:
                    return ZERO
                self._row(rows, name, level)
                return term
            case Times(left=left, right=right):
                return _times(left, self.everywhere(right, level, rows))
            case Plus(terms=terms):
                return plus([(c, self.everywhere(x, level, rows)) for c, x in terms])
            case Move(ir.PARENT, ir.MOTION, name) if name not in self.constant and self.level[name] == level:
                return term
        raise StatementError(f"{term!r:.80} has columns of several links.")

    def alone(self, term: Term, level: int) -> Term:
        """Part of a term that only the own link has."""
        match term:
            case Field(name=name) if name in self.wide and self.level[name] == level:
                return self.alone(self.terms[name], level)
            case Field(name=name):
                only = name in self.operands or self.supports[name] <= {OWN}
                return self.place(term, OWN, level) if only else ZERO
            case Times(left=left, right=right):
                return _times(left, self.alone(right, level))
            case Plus(terms=terms):
                return plus([(c, self.alone(x, level)) for c, x in terms])
        return ZERO

    # Blocks that the sweeps make

    def _finish(self, regions: list[Pairs]) -> PairProgram:
        """The regions with blocks of links as fields, and the sweeps that make these."""
        done = tuple(replace(x, fields=tuple(self.blocks.in_fields(x.fields))) for x in regions)
        blocks = {name for region in done for name in region.blocks}
        terms = {**{x: t for x, t in self.terms.items() if x not in self.wide}, **self.blocks.made}
        needed = set(blocks)
        while more := {x for name in needed if name in terms for x in ir.fields_anywhere(terms[name])} - needed:
            needed |= more
        stages: list[list[Statement]] = [
            [s for s in sweep.statements if s.target in needed] for sweep in self.given.sweeps
        ]
        home = {s.target: i for i, sweep in enumerate(stages) for s in sweep}
        for name, term in self.blocks.made.items():
            if name in needed:
                home[name] = max((home.get(x, 0) for x in ir.fields_anywhere(term)), default=0)
                stages[home[name]].append(Statement(name, term))
        kept = [Sweep(s.direction, tuple(x)) for s, x in zip(self.given.sweeps, stages, strict=True) if x]
        inputs = tuple(x for x in self.given.inputs if x[0] not in self.operands and (x[0] in needed or x[0] != "a_g"))
        sweeps = validate(Program(inputs, tuple(kept), ()))
        return validate_regions(
            PairProgram(sweeps, done, self.given.results, tuple(sorted(self.mirrored)), tuple(sorted(self.lower)))
        )


def _times(left: Term, right: Term) -> Term:
    return left if right is UNIT else ir.times(left, right)


def _moves(term: Term) -> list[Move]:
    return [x for x in ir.parts(term) if isinstance(x, Move) and x.is_plain]


def _with_moves_together(program: Program) -> Program:
    """The program with sums of what children send as the sum that they send, and so for parents."""
    return replace(program, sweeps=tuple(_move_together(sweep) for sweep in program.sweeps))


def _move_together(sweep: Sweep) -> Sweep:
    move = _SENT[sweep.direction]
    terms = {s.target: s.term for s in sweep.statements}
    sums: dict[str, Term] = {}
    for name, term in terms.items():
        parts = term.terms if isinstance(term, Plus) else ()
        sent = {x: x.name for c, x in parts if c == 1 and isinstance(x, Move) and x is move(x.name) and x.name in terms}
        if len(sent) > 1:
            both = " + ".join(sent.values())
            others = [(c, x) for c, x in parts if c != 1 or x not in sent]
            terms[name] = plus([(ONE, move(both)), *others])
            sums[both] = plus([(ONE, terms[x] if x == name else Field(x)) for x in sent.values()])
    made = [replace(s, term=terms[s.target]) for s in sweep.statements]
    return Sweep(sweep.direction, (*made, *(Statement(name, term) for name, term in sums.items())))
