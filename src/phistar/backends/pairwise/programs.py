"""What the sweeps of tables are made from: programs of the statements, and what their fields are called there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from phistar.backends.programs.linearized import kept_program, sides, tables_program
from phistar.identities.linearized import inverse_derivatives
from phistar.operators.linearized import together
from phistar.operators.nodes import zero
from phistar.operators.spaces import RATES, SCALARS
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import ONE, Field, FromChildren, Plus, Program, Statement, Term, Times, fields_anywhere
from phistar.sweeps.tables import lower_blocks, lower_tables
from phistar.sweeps.validate import validate

Named = tuple[Program, dict[str, tuple[str, int]]]
"""A program, and by field what it is called and how many of its rows are kept."""

LEFT = ("h", 6), ("psi_dot", 3), ("psi_prime", 6), ("psi_ddot", 6)
RIGHT = ("r_h", 6), ("against", 3), ("by_q", 6), ("by_v", 6)
"""The sides of products, in the order of `sides`; 𝓑 and its composites meet angular parts only."""


@cache
def inverse_tables() -> Named:
    """∂τ/∂θ and ∂τ/∂θ̇ by composites."""
    program = tables_program(inverse_derivatives, Symbols())
    left, right = sides(program.tables)
    return sooner(program), dict(zip((*left, *right), (*LEFT, *RIGHT), strict=True))


@cache
def mass_table() -> Named:
    """ℳ = HφMφ*H* + A by composites (R87 eq. 31)."""
    s = Symbols()

    def made() -> Program:
        return lower_tables({"mass": s.H @ s.phi @ s.M @ s.phi.T @ s.H.T}, s, {})

    program = kept_program(("mass",), made)
    ((left, right),) = program.tables[0].carries
    return program, {left: LEFT[0], right: RIGHT[0]}


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
    """What a link adds to what its children send is made in the sweep before, where its parts are: of Mα + 𝓑V six
    numbers wait, of M, 𝓑, α and V many more."""
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


def _own_part(term: Term) -> Term | None:
    """Of a sum of products and what children send, the products."""
    if not isinstance(term, Plus) or not any(isinstance(x, FromChildren) for _, x in term.terms):
        return None
    own = tuple((c, x) for c, x in term.terms if not isinstance(x, FromChildren))
    return Plus(own) if any(isinstance(x, Times) for _, x in own) else None


PROGRAMS: dict[str, Callable[[], Named]] = {
    "mass_matrix": mass_table,
    "mass_matrix_inverse": inverse_table,
    "inverse_dynamics_derivatives": inverse_tables,
    "forward_dynamics_derivatives": forward_tables,
}
"""By the name of the sweeps that they are."""
