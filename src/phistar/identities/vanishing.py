"""Sums that vanish: their terms are two statements that the laws which define the symbols prove equal.

The rewriter's laws make statements cheaper and need not meet at zero; those of a proof do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from phistar.identities.derivation import Derivation
from phistar.identities.justify import Step
from phistar.identities.law import Setting
from phistar.identities.polynomial import letters
from phistar.identities.proof import prove
from phistar.identities.rewriter import Form
from phistar.operators.meanings import GIVEN
from phistar.operators.nodes import Node, Sum, Symbol, summation
from phistar.operators.own import OWN
from phistar.operators.symbols import Symbols

_FREE = GIVEN.keys() - {"v", "qdd", "a_g", "v_ref", "v_i", "qdd_i"}  # these stand in what others are made of


def vanishing(node: Sum, symbols: Symbols, setting: Setting) -> Form | None:
    """Zero and the steps that lead there, or None where no proof is found."""
    if len(node.terms) < 2 or any(n < 2 for n in Counter(_free_letters(node)).values()):
        return None  # what no law speaks of and one term alone has stays
    nothing = Sum((), node.domain, node.codomain)
    less = [(-c, x) for c, x in node.terms if c < 0]
    more = [(c, x) for c, x in node.terms if c > 0]
    sides = (summation(more), summation(less)) if less and more else (node, nothing)
    proof = prove(*sides, symbols, setting)
    return proof and Form(nothing, (), lambda: tuple(_less(proof, node, sides[1])))


def _free_letters(node: Sum) -> Iterator[Node]:
    """Letters that are given, so that no law makes them from others; each once for every term that has it."""
    for _, term in node.terms:
        yield from (x for x in letters(term) if isinstance(x, Symbol) and (x.name in _FREE or OWN in x.traits))


def _less(proof: Derivation, start: Node, other: Node) -> Iterator[Step]:
    """X − Z = Y − Z of each step X = Y, from the statement as it was written."""
    for step in proof.steps:
        after = summation([(Fraction(1), step.after), (Fraction(-1), other)])
        yield replace(step, before=start, after=after)
        start = after
