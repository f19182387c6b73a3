"""The little language of sweeps: what is computed at link k, in which direction the links are visited.

A term is a block expression at one link. Neighbours are reached only by a `Move` through φ: `from_children(x)` is
Σ_c φ(k,c)x(c), `from_parent(x)` is φ*(p,k)x(p). Every field is a stack of blocks with rows and columns; a vector has
one column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeGuard

from phistar.operators.interned import ONE, Unique, collect
from phistar.operators.interned import times as product_of

INWARD, OUTWARD = "inward", "outward"


@dataclass(frozen=True, eq=False)
class Term(Unique):
    """Abstract. Their place gives sums a canonical order."""


@dataclass(frozen=True, eq=False)
class Data(Term):
    """A block that the robot gives: H, M, A, unit (identity on the joint), or the frames' BUB*."""

    name: str


@dataclass(frozen=True, eq=False)
class Field(Term):
    """A field at this link."""

    name: str


CHILDREN, PARENT, SIBLINGS, FRAMES, BASE, ROOT = ("children", "parent", "siblings", "frames", "base", "root")
"""Where a link receives something from: its neighbours; frames on it (B_f x_f); the world or all links on it, and only
those links do."""
FORCE, MOTION, INERTIA, CARRIED, COMPLIANCE, COPY = ("force", "motion", "inertia", "carried", "compliance", "copy")
"""How it gets here: φx of forces, φ*x of motions, φXφ* of symmetric X and of others, φ*Xφ, or as it is. Forces go
inward and motions outward through φ(p,k); the other way through φ(k,p) = φ⁻¹(p,k) (RJ2W eq. 1)."""


@dataclass(frozen=True, eq=False)
class Move(Term):
    """What the link receives of a field, summed where several send; of an inertia X with an update (Y, Z),
    Σ_c φXφ* − (φY)(φZ)*."""

    source: str
    act: str
    name: str
    update: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it is φx or φ*x."""
        return (self.source, self.act) in ((CHILDREN, FORCE), (PARENT, MOTION))

    @property
    def is_congruent(self) -> bool:
        """Whether φ acts on both sides of symmetric X."""
        return self.act in (INERTIA, COMPLIANCE)


def from_children(name: str) -> Move:
    """Σ_c φ(k,c) x(c)."""
    return Move(CHILDREN, FORCE, name)


def from_parent(name: str) -> Move:
    """φ*(p,k) x(p)."""
    return Move(PARENT, MOTION, name)


@dataclass(frozen=True, eq=False)
class Times(Term):
    left: Term
    right: Term


@dataclass(frozen=True, eq=False)
class Plus(Term):
    terms: tuple[tuple[Fraction, Term], ...]


@dataclass(frozen=True, eq=False)
class Transpose(Term):
    of: Term


@dataclass(frozen=True, eq=False)
class Invert(Term):
    """The inverse of a joint-sized block."""

    of: Term


@dataclass(frozen=True, eq=False)
class Divide(Term):
    """X Y⁻¹ for a symmetric positive block Y of the link."""

    left: Term
    matrix: Term


@dataclass(frozen=True, eq=False)
class Call(Term):
    """A memoryless nonlinear function of fields: pose, bias_acceleration, bias_force."""

    function: str
    arguments: tuple[Term, ...]


# Flat statements stand between sweeps and see whole stacks.
@dataclass(frozen=True, eq=False)
class ToTask(Term):
    """Stack of B_f* x(link of f)."""

    name: str


@dataclass(frozen=True, eq=False)
class ToBase(Term):
    """E x = Σ φ(0,k)x(k) over links that hang on the world."""

    name: str


@dataclass(frozen=True, eq=False)
class ToRoot(Term):
    """x of the links that hang on the world, in their axes."""

    name: str


@dataclass(frozen=True, eq=False)
class ToScalar(Term):
    """Σ_k x(k)* y(k): the pairing of a space with its dual; of columns x, one for each."""

    left: str
    right: str


@dataclass(frozen=True, eq=False)
class Combined(Term):
    """X(k) y at link k, of columns X and as many numbers y."""

    left: str
    right: str


@dataclass(frozen=True, eq=False)
class TaskOperator(Term):
    """A constant operator on task space (Q, its adjoint) applied to a flat value."""

    name: str
    transposed: bool
    of: Term


@dataclass(frozen=True, eq=False)
class SolveFlat(Term):
    """X⁻¹y on a task, base or closure space."""

    matrix: Term
    right: Term
    symmetric: bool


@dataclass(frozen=True, eq=False)
class SolveStacked(Term):
    """X⁻¹y on the joints or links by a factorization of the numbers: what is left when no law inverts X. O(n³)."""

    matrix: str
    right: str
    symmetric: bool
    over: str


@dataclass(frozen=True)
class Statement:
    """target(k) = term; of a symmetric block only one triangle is computed."""

    target: str
    term: Term
    symmetric: bool = False


@dataclass(frozen=True)
class Sweep:
    """`direction` inward: children before parents; outward: parents first; flat: not per link."""

    direction: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Table:
    """An operator between joints as fields: `own` of a joint with itself; where joint k carries j, (k, j) is the sum of
    left*(k)φ(k,j)right(j) over `carries` and (j, k) that of left*(j)φ*(k,j)right(k) over `carried`."""

    name: str
    own: str
    carries: tuple[tuple[str, str], ...]
    carried: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Program:
    """Sweeps in order. `inputs` and `outputs` name fields with the space they live on; `columns` names the inputs
    that are the identity of their space (the results are matrices); `results` gives each statement's output field."""

    inputs: tuple[tuple[str, str], ...]
    sweeps: tuple[Sweep, ...]
    outputs: tuple[tuple[str, str], ...]
    columns: tuple[str, ...] = ()
    results: tuple[tuple[str, str], ...] = ()
    matrices: tuple[str, ...] = ()  # the statements that were wanted as operators
    tables: tuple[Table, ...] = ()
    operands: tuple[tuple[str, str], ...] = ()  # what statements are applied to, and the name of its space

    @property
    def result_names(self) -> dict[str, str]:
        return dict(self.results)

    def is_scalar(self, public: str) -> bool:
        """Whether a statement's value is one number."""
        return dict(self.outputs)[self.result_names[public]] == "scalars"

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Those of all sweeps, in order."""
        return tuple(statement for sweep in self.sweeps for statement in sweep.statements)

    @property
    def terms(self) -> dict[str, Term]:
        """The term of each field that is made."""
        return {statement.target: statement.term for statement in self.statements}

    @property
    def passes(self) -> tuple[Sweep, ...]:
        """The sweeps over the links, flat statements left out: what the papers count."""
        return tuple(sweep for sweep in self.sweeps if sweep.direction in (INWARD, OUTWARD))


def subterms(term: Term) -> tuple[Term, ...]:
    match term:
        case Times(left=left, right=right):
            return left, right
        case Plus(terms=terms):
            return tuple(inner for _, inner in terms)
        case Transpose(of=inner) | Invert(of=inner) | TaskOperator(of=inner):
            return (inner,)
        case Call(arguments=arguments):
            return arguments
        case SolveFlat(matrix=matrix, right=right):
            return matrix, right
        case Divide(left=left, matrix=matrix):
            return left, matrix
    return ()


def parts(term: Term) -> list[Term]:
    """A term and all that it is made of."""
    return [term, *(inner for part in subterms(term) for inner in parts(part))]


def rebuild(term: Term, change: Callable[[Term], Term]) -> Term:
    """The term with `change` made to each direct part."""
    match term:
        case Times(left=left, right=right):
            return times(change(left), change(right))
        case Plus(terms=terms):
            return plus([(c, change(inner)) for c, inner in terms])
        case Transpose(of=inner) | Invert(of=inner):
            return type(term)(change(inner))
        case TaskOperator(name=name, transposed=transposed, of=inner):
            return TaskOperator(name, transposed, change(inner))
        case Call(function=function, arguments=arguments):
            return Call(function, tuple(change(x) for x in arguments))
        case Divide(left=left, matrix=matrix):
            return Divide(change(left), change(matrix))
        case SolveFlat(matrix=matrix, right=right, symmetric=symmetric):
            return SolveFlat(change(matrix), change(right), symmetric)
    return term


def times(left: Term, right: Term) -> Term:
    """Coefficients move to the front; nothing times zero is computed."""
    if isinstance(right, Plus) and len(right.terms) == 1:
        c, inner = right.terms[0]
        return plus([(c, times(left, inner))])
    if right is ZERO or left is ZERO:
        return ZERO
    return Times(left, right)


def is_sent(term: Term, *sources: str) -> TypeGuard[Move]:
    """Whether a neighbour sends it; one of some kinds, where they are named."""
    return isinstance(term, Move) and term.source in (sources or (CHILDREN, PARENT, SIBLINGS))


def _place(item: tuple[Fraction, Term]) -> tuple[bool, int, tuple[object, ...]]:
    """Sort key of a term, for sums as the papers write them: neighbours, fields, products, inputs, then negatives."""
    coefficient, term = item
    sent = 4 if isinstance(term, Move) and term.source in (BASE, ROOT) else 2
    rank = 0 if is_sent(term) else _RANKS.get(type(term), sent)
    return coefficient < 0, rank, term.place


def plus(terms: list[tuple[Fraction, Term]]) -> Term:
    """Flat, collected; terms with a common left factor share it (G x + G y = G(x + y))."""
    collected: dict[Term, Fraction] = {}
    for c, term in terms:
        for d, inner in term.terms if isinstance(term, Plus) else ((ONE, term),):
            collect(collected, inner, product_of(c, d))
    kept = sorted(((c, x) for x, c in collected.items() if c), key=_place)
    shared: dict[tuple[Term, bool], list[tuple[Fraction, Term]]] = {}
    for c, term in kept:  # X itself is no product with X: X + XY stays
        shared.setdefault((term.left, True) if isinstance(term, Times) else (term, False), []).append((c, term))
    if any(len(group) > 1 for group in shared.values()):
        merged: list[tuple[Fraction, Term]] = []
        for (left, _), group in shared.items():
            rights = [(c, term.right) for c, term in group if isinstance(term, Times)]
            merged.append((ONE, times(left, plus(rights))) if len(group) > 1 else group[0])
        return plus(merged)
    if len(kept) == 1 and kept[0][0] == 1:
        return kept[0][1]
    return Plus(tuple(kept))


_RANKS = {Field: 1, Call: 3}
ZERO = Plus(())


@cache
def fields_at_link(term: Term) -> frozenset[str]:
    """Names that must be known at this link first."""
    own = {term.name} if isinstance(term, Field) else _implicit_fields(term)
    return frozenset(own).union(*map(fields_at_link, subterms(term)))


def _implicit_fields(term: Term) -> frozenset[str]:
    """Fields needed without being named: a link's pose (X), to go between its axes and the world's."""
    called = isinstance(term, Call) and term.function == "bias_acceleration_at_frames"
    at_frames = called or isinstance(term, ToTask) or is_sent(term, FRAMES) or term is Data("BUB*")
    return frozenset({"X"} if at_frames else ())


@cache
def fields_anywhere(term: Term) -> frozenset[str]:
    """Every field a term reads, here or at a neighbour."""
    if isinstance(term, ToScalar | Combined | SolveStacked):
        return frozenset({term.matrix if isinstance(term, SolveStacked) else term.left, term.right})
    name, more = getattr(term, "name", None), getattr(term, "update", ())
    own = frozenset({name, *more} if isinstance(name, str) and not isinstance(term, Data | TaskOperator) else ())
    return (own | _implicit_fields(term)).union(*(fields_anywhere(x) for x in subterms(term)))
