"""Blocks of links that regions over pairs read: which are made, and what a column then costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from phistar.sweeps import ir
from phistar.sweeps.ir import ZERO, Data, Field, Plus, Term, Times, Transpose, plus
from phistar.sweeps.regions import Column, PairField

ONE = Fraction(1)
WAYS = ("inboard", "outboard", "everywhere")


class LinkBlocks:
    """Fields by what they are, those with columns (`wide`) and others; `made` are blocks that no statement had."""

    def __init__(self, terms: dict[str, Term], wide: set[str]) -> None:
        self.terms, self.wide = terms, wide
        self.names = {term: name for name, term in terms.items() if name not in wide}
        self.made: dict[str, Term] = {}

    def name(self, term: Term) -> str:
        """The field that holds a block; made if there is none."""
        if term is ZERO:
            return ""
        if isinstance(term, Field):
            return term.name
        if term not in self.names:
            self.names[term] = f"[{len(self.made) + 1}]"
            self.made[self.names[term]] = term
        return self.names[term]

    def in_fields(self, fields: tuple[PairField, ...]) -> list[PairField]:
        """Terms of fields, where they cost least: as they stand, or with the factors of the link put together."""
        chosen = [{way: getattr(f, way) for way in WAYS} for f in fields]
        for way in WAYS:
            for terms in chosen:
                before, cost = terms[way], self._cost(x[way] for x in chosen)
                if self.size(before) == 1:
                    terms[way] = self._together(before)
                    terms[way] = before if self._cost(x[way] for x in chosen) >= cost else terms[way]
        return [
            replace(
                f, **{way: self._field_terms(x if way == "everywhere" else self._fold(x)) for way, x in terms.items()}
            )
            for f, terms in zip(fields, chosen, strict=True)
        ]

    def _fold(self, term: Term) -> Term:
        """A sum with its coefficients in the blocks of the link, where these have a joint's rows."""
        if not isinstance(term, Plus):
            return term
        return Plus(tuple(self._with_coefficient(c, x) for c, x in term.terms))

    def _with_coefficient(self, c: Fraction, term: Term) -> tuple[Fraction, Term]:
        if c == 1 or not isinstance(term, Times) or not self._is_block(term.left) or self.size(term.left) > 1:
            return c, term
        return ONE, Times(plus([(c, term.left)]), term.right)

    def _field_terms(self, term: Term) -> Term:
        """Blocks of the link as fields, H as (H*)*."""
        if term is ZERO:
            return ZERO
        if self._is_block(term):
            if isinstance(term, Field) or (isinstance(term, Transpose) and isinstance(term.of, Field)):
                return term
            return Transpose(Field(self.name(Transpose(term)))) if term is Data("H") else Field(self.name(term))
        match term:
            case Times(left=left, right=right):
                return Times(self._field_terms(left), self._field_terms(right))
            case Plus(terms=terms):
                return Plus(tuple((c, self._field_terms(x)) for c, x in terms))
        return term

    def _is_block(self, term: Term) -> bool:
        return not ir.fields_anywhere(term) & self.wide and not any(isinstance(x, Column) for x in ir.parts(term))

    def _together(self, term: Term) -> Term:
        """A sum of products with what columns hold, each with one factor of the link."""
        return plus([(c, x if left is None else Times(left, x)) for c, left, x in self._distribute(term)])

    def _distribute(self, term: Term) -> list[tuple[Fraction, Term | None, Term]]:
        match term:
            case Plus(terms=terms):
                return [(c * d, left, x) for c, part in terms for d, left, x in self._distribute(part)]
            case Times(left=first, right=right):
                return [(c, first if left is None else Times(first, left), x) for c, left, x in self._distribute(right)]
        return [(ONE, None, term)]

    def _cost(self, terms: Iterable[Term]) -> int:
        """Multiplications of a column."""
        products = {x for term in terms for x in ir.parts(term) if isinstance(x, Times) and not self._is_block(x)}
        return sum(self.size(x.left) * self.size(Transpose(x.left)) for x in products)

    def size(self, term: Term) -> int:
        """Rows of a block, a joint's counted as one."""
        match term:
            case Transpose(of=inner):
                return self._columns(inner)
            case Field(name=name) | Column(name=name):
                made = self.terms.get(name) or self.made.get(name)
                return 1 if made is None else self.size(made)
            case Times(left=left):
                return self.size(left)
            case Plus(terms=terms):
                return self.size(terms[0][1]) if terms else 6
            case ir.Invert(of=inner):
                return self.size(inner)
            case Data(name=name):
                return 1 if name in ("H", "A", "N", "unit") else 6
        return 1 if isinstance(term, ir.Call) and term.function == "diagonal" else 6

    def _columns(self, term: Term) -> int:
        match term:
            case Transpose(of=inner):
                return self.size(inner)
            case Field(name=name):
                made = self.terms.get(name) or self.made.get(name)
                return 1 if made is None else self._columns(made)
            case Times(right=right):
                return self._columns(right)
            case Plus(terms=terms):
                return self._columns(terms[-1][1]) if terms else 6
            case ir.Invert(of=inner):
                return self.size(inner)
            case Data(name=name):
                return 1 if name in ("A", "S", "N", "unit") else 6
            case ir.Call(function="own_bracket" | "diagonal"):
                return 1
        return 6
