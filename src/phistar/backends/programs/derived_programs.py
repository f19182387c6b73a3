"""Programs of statements, derived by the laws: the forms that these offer, and the sweeps of each."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache

from phistar.backends.choice import MOST_COMBINED
from phistar.backends.programs.derivations import (
    APART,
    ARTICULATED,
    AS_WRITTEN,
    COMPOSITE,
    DECOUPLED,
    FACTORED,
    JOSEPH,
    Nodes,
    Taken,
)
from phistar.identities.inverses import inverses
from phistar.identities.law import Setting
from phistar.operators.meanings import DIAGONALS, GIVEN
from phistar.operators.nodes import Inverse
from phistar.operators.symbols import Symbols
from phistar.sweeps.factored_inverses import factored_inverses, updates_apart
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import lower_all
from phistar.sweeps.rate_coordinates import in_rate_coordinates
from phistar.sweeps.search import cheapest, forms_worth_counting


@cache
def derived_program(
    nodes: Nodes, symbols: Symbols, setting: Setting, matrix: bool, form: str, taken: Taken = ()
) -> Program:
    """The program of some statements in one of their forms: what is shown to people does not depend on what is kept."""
    if form in (FACTORED, APART):
        solved = factored_inverses(derived_program(nodes, symbols, setting, matrix, ARTICULATED))
        return solved if form == FACTORED else updates_apart(solved)
    if form == DECOUPLED:
        solved = derived_program(nodes, symbols, setting, matrix, FACTORED)
        return in_rate_coordinates(solved, _vector_spaces(solved, nodes, symbols))
    if form in (AS_WRITTEN, JOSEPH):
        return lower_all(dict(nodes), matrix, form == JOSEPH)
    if any(taken):
        forms = [
            forms_worth_counting(node, symbols, setting, matrix)[i] for (_, node), i in zip(nodes, taken, strict=True)
        ]
        program = lower_all({name: each.node for (name, _), each in zip(nodes, forms, strict=True)}, matrix)
        return replace(program, inputs=derived_program(nodes, symbols, setting, matrix, form).inputs)
    innovations = form == ARTICULATED
    return lower_all({name: cheapest(n, symbols, setting, matrix, innovations).result for name, n in nodes}, matrix)


def _vector_spaces(program: Program, nodes: Nodes, symbols: Symbols) -> dict[str, str]:
    """The spaces of the vectors that a program takes and makes, by their fields; none of diagonals of operators."""
    named = {field: getattr(symbols, name).codomain for name, field in GIVEN.items() if name not in DIAGONALS}
    named |= {name: dict(nodes)[public].codomain for public, name in program.results}
    return {name: space.name for name, space in named.items() if space is not None} | dict(program.operands)


def forms_offered(nodes: Nodes, symbols: Symbols, setting: Setting, matrix: bool) -> tuple[tuple[str, Taken], ...]:
    """The forms of statements that have other sweeps and the same arguments: of several statements all combinations
    where these are few, else those in which one statement has another form; last by composite bodies, where something
    is inverted (R87, Fig. 4)."""
    offers = [len(forms_worth_counting(node, symbols, setting, matrix)) for _, node in nodes]
    if math.prod(offers) <= MOST_COMBINED:
        combined = list(itertools.product(*(range(n) for n in offers)))
    else:
        combined = [tuple(j * (i == k) for i in range(len(offers))) for k, n in enumerate(offers) for j in range(n)]
    first = derived_program(nodes, symbols, setting, matrix, ARTICULATED)
    known: dict[Program, Taken] = {first: ()}
    for taken in filter(any, combined):
        program = derived_program(nodes, symbols, setting, matrix, ARTICULATED, taken)
        if set(program.inputs) == set(first.inputs):
            known.setdefault(program, taken)
    inverts = any(isinstance(x, Inverse) for _, node in nodes for x in inverses(node))
    composite = [(COMPOSITE, ())] if inverts else []
    return *((ARTICULATED, taken) for taken in known.values()), *composite
