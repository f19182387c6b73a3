"""A program in other coordinates of each link's rates, θ̇ = Ψθ̇′ and T′ = Ψ*T, in which the link has more zeros.

H, M, φ and b are those of the link in the new coordinates. Vectors over the joints are changed where a sweep first
reads them, results where they are made: Ψ is memoryless and constant, so that no sweep is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from phistar.sweeps.ir import (
    Data,
    Field,
    Program,
    Statement,
    Sweep,
    Term,
    Times,
    Transpose,
    fields_anywhere,
    parts,
    rebuild,
    subterms,
)

BASIS, INVERSE = Data("Ψ"), Data("Ψ⁻¹")
CHANGED = "′"
_PLAIN = frozenset({"H", "M", "A", "I", "unit", "BUB*"})  # data that is the link's own in any coordinates
_VECTORS = {"Rates": (INVERSE, BASIS), "Torques": (Transpose(BASIS), Transpose(INVERSE))}  # in and out


def in_rate_coordinates(program: Program, spaces: Mapping[str, str]) -> Program:
    """The program over links in coordinates θ′; `spaces` names that of each input and output over the joints. As it is
    where operators over the joints or the links are given or wanted, or nothing over the joints is."""
    given = {name: spaces.get(name) for name, space in program.inputs if space == "joints"}
    made = {name: spaces.get(name) for name, space in program.outputs if space == "joints"}
    over = {space for _, space in (*program.inputs, *program.outputs)}
    vectors = {*given.values(), *made.values()}
    if not vectors or not vectors <= _VECTORS.keys() or over & {"inner", "links", "parameters"} or program.tables:
        return program
    if given.keys() & set(program.columns) or not all(_is_local(s.term, {*given, *made}) for s in program.statements):
        return program
    sweeps, waiting = [], dict(given)
    for sweep in program.sweeps:
        read = {x for s in sweep.statements for x in fields_anywhere(s.term)}
        first = [
            Statement(x + CHANGED, Times(_VECTORS[waiting.pop(x) or ""][0], Field(x))) for x in [*waiting] if x in read
        ]
        changed = [replace(s, term=_rename(s.term, given)) for s in sweep.statements]
        last = [
            Statement(s.target + CHANGED, Times(_VECTORS[made[s.target] or ""][1], Field(s.target)))
            for s in sweep.statements
            if s.target in made
        ]
        sweeps.append(Sweep(sweep.direction, (*first, *changed, *last)))
    outputs = tuple((x + CHANGED if x in made else x, space) for x, space in program.outputs)
    results = tuple((public, x + CHANGED if x in made else x) for public, x in program.results)
    return replace(program, sweeps=tuple(sweeps), outputs=outputs, results=results)


def has_rate_coordinates(program: Program) -> bool:
    """Whether a program is over links in coordinates θ′."""
    return any(_reads_basis(s.term) for s in program.statements)


def _reads_basis(term: Term) -> bool:
    return not {BASIS, INVERSE}.isdisjoint(parts(term))


def _is_local(term: Term, vectors: set[str]) -> bool:
    """Whether a term reads vectors over the joints at its link alone, and no data that is about other coordinates."""
    if isinstance(term, Data):
        return term.name in _PLAIN
    parts = subterms(term)
    own = fields_anywhere(term).difference(*map(fields_anywhere, parts))
    return (isinstance(term, Field) or not own & vectors) and all(_is_local(x, vectors) for x in parts)


def _rename(term: Term, given: Mapping[str, object]) -> Term:
    if isinstance(term, Field):
        return Field(term.name + CHANGED) if term.name in given else term
    return rebuild(term, lambda part: _rename(part, given))
