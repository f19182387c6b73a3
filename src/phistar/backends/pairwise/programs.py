"""Programs from which the sweeps of tables are made, and the names that their fields have there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from phistar.backends.programs.linearized import kept_program, tables_program
from phistar.identities.law import TREE
from phistar.identities.linearized import forward_derivatives, inverse_derivatives
from phistar.identities.polynomial import Polynomial, expand, letters
from phistar.identities.rewriter import simplify
from phistar.operators.linearized import PARTIALS, together
from phistar.operators.nodes import Node, Symbol, zero
from phistar.operators.spaces import RATES, SCALARS
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import (
    ONE,
    CongruentChildren,
    Data,
    Field,
    FromChildren,
    Invert,
    Plus,
    Program,
    Statement,
    Table,
    Term,
    Times,
    fields_anywhere,
)
from phistar.sweeps.tables import lower_blocks, lower_tables
from phistar.sweeps.validate import validate

Named = tuple[Program, dict[str, tuple[str, int]]]
"""A program, and by field what it is called and how many of its rows are kept."""


@cache
def inverse_tables() -> Named:
    """∂τ/∂θ and ∂τ/∂θ̇ by composites."""
    s = Symbols()
    program = tables_program(tuple(inverse_derivatives(s).items()), s).program
    return sooner(program), called_sides(program.tables)


def called_sides(tables: tuple[Table, ...]) -> dict[str, tuple[str, int]]:
    """Sides by their place in the products: ∂τ/∂θ is Hφ̃X above and Ψ̇*φ̃*Y + Ψ̈*φ̃*rH* below, ∂τ/∂θ̇ is Hφ̃Z and H*φ̃*Y +
    Ψ́*φ̃*rH*. 𝓑 and its composites meet angular parts only."""
    by_q, by_v = tables
    ((h, above_q),), ((_, above_v),) = by_q.carries, by_v.carries
    meeting_h, (r_h, psi_prime) = sorted(by_v.carried, key=lambda pair: pair[1] != h)
    against, below = meeting_h[0], dict(by_q.carried)
    named = {h: ("h", 6), below[against]: ("psi_dot", 3), psi_prime: ("psi_prime", 6), below[r_h]: ("psi_ddot", 6)}
    named |= {r_h: ("r_h", 6), against: ("against", 3), above_q: ("by_q", 6), above_v: ("by_v", 6)}
    assert len(named) == 8, named
    return named


@cache
def mass_table() -> Named:
    """ℳ = HφMφ*H* + A by composites (R87 eq. 31)."""
    s = Symbols()

    def made() -> Program:
        return lower_tables({"mass": s.H @ s.phi @ s.M @ s.phi.T @ s.H.T}, s, {})

    program = kept_program(("mass",), made)
    ((left, right),) = program.tables[0].carries
    return program, {left: ("h", 6), right: ("r_h", 6)}


@cache
def forward_tables() -> Named:
    """−ℳ⁻¹∂τ by articulated bodies, ℳ⁻¹ = (I − HψK)*D⁻¹(I − HψK) (RJK91 lemma 3): ψMφ* = P + ψ̃P + Pφ̃* and
    ψ𝓑φ* = 𝒴 + ψ̃𝒴 + 𝒴φ̃*, so that columns start with PΨ́ + 2𝒴H* and PΨ̈ + 2𝒴Ψ̇, and 2H𝒴D⁻¹ is what the rates inboard
    feel. Ψ̈ and F̂ are at the θ̈ that joint forces give."""
    s = _moved_by_forces(Symbols())
    named = {"h": s.H.T, "psi_dot": s.Psi_dot, "psi_prime": s.Psi_prime, "curve": s.Psi_ddot, "G": s.G}
    named |= {"scale": s.D.inv, "slope": 2 * together(s.Y.T @ s.H.T) @ s.D.inv, "turned": s.F_hat @ s.H.T}
    named |= {"start_v": s.P @ s.Psi_prime + 2 * s.Y @ s.H.T, "start_q": s.P @ s.Psi_ddot + 2 * s.Y @ s.Psi_dot}
    program = kept_program(("forward",), lambda: lower_blocks(named, {}))
    rows = {"psi_dot": 3, "slope": 3, "scale": 1}
    return sooner(program), {field: (name, rows.get(name, 6)) for name, field in program.results}


@cache
def inverse_table() -> Named:
    """ℳ⁻¹ alone: H*, G and D⁻¹."""
    s = Symbols()
    program = kept_program(("inverse",), lambda: lower_blocks({"h": s.H.T, "G": s.G, "scale": s.D.inv}, {}))
    return program, {field: (name, 1 if name == "scale" else 6) for name, field in program.results}


def _moved_by_forces(s: Symbols) -> Symbols:
    """θ̈ = (I − HψK)*D⁻¹(T − Hψ(KT + Mα + 𝓑V)) with α at rest (RJK91 eqs. 14, 15)."""
    rest = s.M @ s.accelerated(zero(SCALARS, RATES)).alpha + s.B_v @ s.V
    return s.accelerated(s.whitening.T @ s.D.inv @ (s.T - s.H @ s.psi @ (s.K @ s.T + rest)))


def sooner(program: Program) -> Program:
    """Move a link's own part of sums over its children to the sweep before, which has its factors: Mα + 𝓑V is six
    numbers to keep, M, 𝓑, α and V are many more."""
    sweeps = list(program.sweeps)
    for i in range(1, len(sweeps)):
        known = {s.target for sweep in sweeps[:i] for s in sweep.statements} | {name for name, _ in program.inputs}
        moved: list[Statement] = []
        kept: list[Statement] = []
        for statement in sweeps[i].statements:
            own = _own_part(statement.term)
            if own is not None and fields_anywhere(own) <= known:
                moved.append(Statement(f"{statement.target} of the link", own))
                sent = next(x for x in statement.term.terms if isinstance(x[1], FromChildren))  # type: ignore[attr-defined]
                statement = replace(statement, term=Plus(((ONE, Field(moved[-1].target)), sent)))
            kept.append(statement)
        sweeps[i - 1] = replace(sweeps[i - 1], statements=(*sweeps[i - 1].statements, *moved))
        sweeps[i] = replace(sweeps[i], statements=tuple(kept))
    return validate(replace(program, sweeps=tuple(sweeps)))


def rigid_fields(program: Program) -> frozenset[str]:
    """Fields that are rigid-body masses, given by ten parameters: the links' own, and their sums."""
    found = set()
    for statement in (s for sweep in program.sweeps for s in sweep.statements):
        parts = statement.term.terms if isinstance(statement.term, Plus) else ((ONE, statement.term),)
        own = {Data("M"), CongruentChildren(statement.target)}
        if all(c == 1 and part in own for c, part in parts):
            found.add(statement.target)
    return frozenset(found)


def gain_fields(program: Program) -> frozenset[str]:
    """Inverses of joint-sized blocks, and products with them on the right."""
    statements = [s for sweep in program.sweeps for s in sweep.statements]
    inverted = {s.target for s in statements if isinstance(s.term, Invert)}
    products = (s for s in statements if isinstance(s.term, Times) and isinstance(s.term.right, Field))
    return frozenset(inverted | {s.target for s in products if s.term.right.name in inverted})  # type: ignore[attr-defined]


def _own_part(term: Term) -> Term | None:
    """Products in a sum that children also send to, or None."""
    if not isinstance(term, Plus) or not any(isinstance(x, FromChildren) for _, x in term.terms):
        return None
    own = tuple((c, x) for c, x in term.terms if not isinstance(x, FromChildren))
    return Plus(own) if any(isinstance(x, Times) for _, x in own) else None


@dataclass(frozen=True)
class PairTables:
    """Statements as multiples of the tables of a form: its name, the multiples, and the vectors that it takes."""

    name: str
    factors: tuple[float, ...]
    inputs: tuple[str, ...]


def pair_tables(nodes: tuple[tuple[str, Node], ...], symbols: Symbols) -> PairTables | None:
    """The form whose tables some statements are, each up to a number, as the laws find; None if there is none."""
    for armature in dict.fromkeys((symbols.armature, True)):
        s = replace(symbols, armature=armature)
        for name, inputs, stated in _STATED:
            tables = tuple(stated(s).values())
            if len(tables) == len(nodes):
                found = [_multiple(node, table, s) for (_, node), table in zip(nodes, tables, strict=True)]
                if None not in found:
                    return PairTables(name, tuple(float(x) for x in found if x is not None), inputs)
    return None


_STATED: tuple[tuple[str, tuple[str, ...], Callable[[Symbols], Mapping[str, Node]]], ...] = (
    ("mass_matrix", (), lambda s: {"mass": s.mass}),
    ("mass_matrix_inverse", (), lambda s: {"inverse": s.mass.inv}),
    ("inverse_dynamics_derivatives", ("v", "qdd"), inverse_derivatives),
    ("forward_dynamics_derivatives", ("v", "T"), forward_derivatives),
)
"""Forms by the statements of their tables."""


def _multiple(node: Node, table: Node, s: Symbols) -> Fraction | None:
    """c where the statement is c times a table: as both are written, or as the laws write them."""
    found = _ratio(expand(node), expand(table))
    if found is not None or any(letter.name in PARTIALS for letter in letters(table) if isinstance(letter, Symbol)):
        return found
    return _ratio(*(expand(simplify(x, s, TREE, True).result) for x in (node, table)))


def _ratio(left: Polynomial, right: Polynomial) -> Fraction | None:
    if left.terms.keys() != right.terms.keys() or not right.terms:
        return None
    word = next(iter(right.terms))
    scale = left.terms[word] / right.terms[word]
    return scale if left.same_as(right.scaled(scale)) else None


PROGRAMS: dict[str, Callable[[], Named]] = {
    "mass_matrix": mass_table,
    "mass_matrix_inverse": inverse_table,
    "inverse_dynamics_derivatives": inverse_tables,
    "forward_dynamics_derivatives": forward_tables,
}
"""By the name of the sweeps that they are."""
