"""Invariants of programs, checked after each pass."""

from __future__ import annotations

from phistar.sweeps.ir import (
    INWARD,
    OUTWARD,
    BackCongruentParent,
    BackFromChildren,
    BackFromParent,
    BackFromSiblings,
    Call,
    CarriedChildren,
    CongruentChildren,
    CongruentParent,
    CongruentSiblings,
    FromChildren,
    FromParent,
    FromSiblings,
    Program,
    Sweep,
    Term,
    fields_anywhere,
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
    if isinstance(term, FromChildren | CongruentChildren | CarriedChildren | BackFromChildren) and term.name in made:
        assert sweep.direction == INWARD, f"{term.name} of the children is not known in an outward sweep"
    if isinstance(term, FromParent | CongruentParent | BackFromParent | BackCongruentParent) and term.name in made:
        assert sweep.direction == OUTWARD, f"{term.name} of the parent is not known in an inward sweep"
    if isinstance(term, FromSiblings | BackFromSiblings | CongruentSiblings):
        assert term.name not in made, f"{term.name} of the siblings is not known in the sweep that makes it"
    if isinstance(term, Call):
        assert term.function in PRIMITIVES, f"{term.function} is not in the table of primitives"
    for part in subterms(term):
        _check_direction(part, sweep, made)
