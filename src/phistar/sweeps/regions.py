"""Regions over pairs of links and columns, which follow the sweeps in a program of operators between joints; and a few
rows over all links.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from phistar.sweeps.ir import INWARD, ZERO, Program, Term, fields_anywhere


@dataclass(frozen=True, eq=False)
class Gathered(Term):
    """Σ_k L(k) x(k): a few rows over all links or joints."""

    operator: str
    transposed: bool
    name: str


@dataclass(frozen=True, eq=False)
class Spread(Term):
    """L(k) y at link k, of a few numbers y: the adjoint of gathering."""

    operator: str
    transposed: bool
    name: str


@dataclass(frozen=True, eq=False)
class Column(Term):
    """A block of the link whose column it is."""

    name: str


@dataclass(frozen=True)
class PairField:
    """A field over pairs of link k and column c: what it is where c is inboard of k or outboard, what it is everywhere
    with what the region hands on (`handed_on`: itself too), and the block added in the link's own columns. `begun`:
    outboard and own columns are there already."""

    name: str
    handed_on: bool
    inboard: Term
    outboard: Term
    everywhere: Term
    own: str
    begun: bool = False

    @property
    def terms(self) -> tuple[Term, Term, Term]:
        return self.inboard, self.outboard, self.everywhere


@dataclass(frozen=True)
class Pairs:
    """A loop over pairs of links, in the direction of a sweep, and columns, abreast, in one frame where φ = 1."""

    direction: str
    fields: tuple[PairField, ...]

    @property
    def blocks(self) -> frozenset[str]:
        """Blocks of links that are read."""
        read = frozenset().union(*(fields_anywhere(term) for x in self.fields for term in x.terms))
        return (read | {x.own for x in self.fields if x.own}) - {x.name for x in self.fields}


@dataclass(frozen=True)
class PairProgram:
    """Sweeps that make blocks of links, then regions; `results` gives each statement's field over pairs. Of those that
    are `mirrored` one triangle is enough; of those that are `lower` inboard and own columns alone are made."""

    sweeps: Program
    regions: tuple[Pairs, ...]
    results: tuple[tuple[str, str], ...]
    mirrored: tuple[str, ...] = ()
    lower: tuple[str, ...] = ()

    @property
    def blocks(self) -> frozenset[str]:
        """Blocks of links that regions read."""
        return frozenset().union(*(region.blocks for region in self.regions)) - {name for _, name in self.results}


@dataclass(frozen=True)
class TableStatement:
    """A statement between joints, `factor` times a table of the program, ℳ or I, or ℳ⁻¹ (`solved`) times that; `falls`:
    the table is how τ = ℳθ̈ + 𝒞 + 𝒢 changes with the place."""

    factor: Fraction
    solved: bool
    table: str
    falls: bool


@dataclass(frozen=True)
class TableProgram:
    """The program that makes the sides of tables and ℳ, and the statements that are made of these."""

    program: Program
    statements: tuple[TableStatement, ...]


@dataclass(frozen=True)
class Leg:
    """One of the three vectors that meet at a link: L(l)φ(l,k)R(k) for the rate of joint k in place `axis` (0 a row, 1
    a column, 2 a direction). `where`: k is the link's `own` joint, one that `carries` it or one `carried` by it; or, so
    that the link is summed over, its own or one that carries it (`above`). `left`, a field or nothing, and `right`."""

    axis: int
    where: str
    left: str
    right: str


@dataclass(frozen=True)
class Meeting:
    """`factor` f*x~y of a force and two motions at a link (`bracket`), or z*𝓑(x)y with the 𝓑 that a motion x makes of
    the composite `mass` of the outermost of the three (`coriolis`)."""

    kind: str
    factor: Fraction
    legs: tuple[Leg, Leg, Leg]
    mass: str = ""


@dataclass(frozen=True)
class TripleTable:
    """How an operator between joints changes along a direction, over three rates on one way from the base. `exact`: it
    is a multiple of a second derivative of τ = ℳθ̈ + 𝒞 + 𝒢, with that one's symmetry and zeros."""

    name: str
    meetings: tuple[Meeting, ...]
    exact: bool


@dataclass(frozen=True)
class TripleProgram:
    """The program that makes the sides of tables over three rates."""

    program: Program
    tables: tuple[TripleTable, ...]


@dataclass(frozen=True)
class SolvedTerm:
    """`factor` ℳ⁻¹∂_wX, or ℳ⁻¹∂_wX Y, applied to a direction x: X's rate is a `table` over three rates, Y one of the
    first derivatives of θ̈ (`right`: "dq", "dv", "dtau", or "" for none). `exchanged`: ℳ⁻¹∂_xX Y applied to w."""

    factor: Fraction
    table: str
    right: str
    exchanged: bool


@dataclass(frozen=True)
class SolvedStatement:
    """A second derivative of θ̈, bilinear in x and w."""

    name: str
    terms: tuple[SolvedTerm, ...]


def validate_regions(program: PairProgram) -> PairProgram:
    """Check that regions read what the sweeps or regions before have made, and hand on in their direction only."""
    known = {*program.sweeps.terms}
    for number, region in enumerate(program.regions):
        names = {x.name for x in region.fields}
        read = frozenset().union(*(fields_anywhere(term) for x in region.fields for term in x.terms))
        missing = (read | {x.own for x in region.fields if x.own}) - known - names
        assert not missing, f"region {number} reads {missing}, which nothing has made"
        begun = {x.name for x in region.fields if x.begun}
        assert begun <= known, f"region {number} goes on with {begun - known}, which nothing has begun"
        inward = region.direction == INWARD
        assert not inward or all(x.inboard is x.everywhere is ZERO for x in region.fields), (
            f"region {number} goes inward"
        )
        known |= names
    assert {name for _, name in program.results} <= known, program.results
    return program
