"""A program over a chain of wide links, recorded at one link: which blocks are kept, where, and how much of them.

Values are views of blocks in memory, or sums, products and quotients not yet written. Of a block only the rows and
columns are made that something reads: what a link hands inward is read in the rows that φ carries alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from phistar.errors import StatementError
from phistar.sweeps import ir
from phistar.sweeps.evaluate import Domain, Terms, evaluate
from phistar.sweeps.ir import Program, Statement, Sweep, Term


@dataclass(frozen=True)
class Widths:
    """Rows of a link's motion: those that φ carries to the next link, then the rates of its own joint."""

    carried: int
    rates: int

    @property
    def whole(self) -> int:
        return self.carried + self.rates


@dataclass(eq=False)
class Kept:
    """A field as a block in memory: `symmetric` ones are made as a lower triangle, mirrored where they must be `full`;
    `along` the chain there is one for each link. A quotient UD⁻¹ lies in memory as D⁻¹U*."""

    name: str
    value: Any
    shape: tuple[int, int]
    symmetric: bool
    sweep: int
    needed: tuple[int, int] = (0, 0)
    full: bool = False
    along: bool = False

    @property
    def is_flipped(self) -> bool:
        return isinstance(self.value, Quotient)


@dataclass(frozen=True, eq=False)
class View:
    """Rows and columns of a block, from some on; or the transpose of that."""

    of: Kept
    first: tuple[int, int]
    shape: tuple[int, int]
    transposed: bool = False


@dataclass(frozen=True, eq=False)
class Given:
    """E*x at a link, in the rows that are carried: given of the first, zero of the others."""

    name: str
    shape: tuple[int, int]


@dataclass(frozen=True)
class Unit:
    """The identity, of which an operator's blocks are the image."""


@dataclass(frozen=True)
class Joint:
    """H, which takes the last rows of a link's motion, or H*."""

    transposed: bool = False


@dataclass(frozen=True)
class Datum:
    """M or A of a link."""

    name: str
    shape: tuple[int, int]


@dataclass(frozen=True)
class Moved:
    """φXφ* of the link before, or φ*x of the one behind."""

    name: str
    shape: tuple[int, int]
    inward: bool


@dataclass(frozen=True, eq=False)
class Placed:
    """H*y."""

    of: Any
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Product:
    left: Any
    right: Any
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Quotient:
    """XD⁻¹."""

    left: Any
    matrix: Any
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Total:
    terms: tuple[tuple[int, Any], ...]
    shape: tuple[int, int]


@dataclass(eq=False)
class ChainRecorder(Domain):
    """Records what the sweeps of a program compute at one link of a chain."""

    program: Program
    widths: Widths
    fields: dict[str, Any] = field(default_factory=dict)
    kept: list[Kept] = field(default_factory=list)
    sweep: int = 0

    def sites(self, sweep: Sweep) -> Iterator[str]:
        self.sweep = self.program.sweeps.index(sweep)
        yield "k"

    def get(self, name: str, at: str) -> Any:
        if name in self.program.columns:
            return Unit()
        if name not in self.fields:
            raise refusal(f"the vector {name}")
        found = self.fields[name]
        if isinstance(found, Kept) and found.sweep != self.sweep:
            found.along = True
        return found

    def put(self, statement: Statement, at: str, value: Any) -> None:
        if not isinstance(value, Kept | View):
            value = Kept(statement.target, value, value.shape, statement.symmetric, self.sweep)
            self.kept.append(value)
        self.fields[statement.target] = value

    def data(self, name: str, at: str) -> Any:
        sizes = {"M": self.widths.whole, "A": self.widths.rates}
        if name == "H":
            return Joint()
        if name not in sizes:
            raise refusal(name)
        return Datum(name, (sizes[name], sizes[name]))

    def move(self, term: Term, at: str) -> Any:
        whole = self.widths.whole
        match term:
            case ir.Move(ir.CHILDREN, ir.INERTIA, name, ()):
                return Moved(name, (whole, whole), True)
            case ir.Move(ir.PARENT, ir.MOTION, name):
                return Moved(name, (whole, 1), False)
            case ir.Move(source=ir.BASE, name=name):
                return Given(name, (whole, 1))
        raise refusal(type(term).__name__)

    def product(self, left: Any, right: Any, term: ir.Times, at: str, half: bool) -> Any:
        w = self.widths
        match left, right:
            case _, Unit():
                return left
            case Joint(transposed=False), _:
                return cut(right, w)
            case _, Joint(transposed=True):
                return self.transpose(cut(self.transpose(left), w))
            case Joint(), _:
                return Placed(right, (w.whole, right.shape[1]))
        left, right = (x if isinstance(x, Kept | View | Given) else self.block_of(x) for x in (left, right))
        return Product(left, right, (left.shape[0], right.shape[1]))

    def block_of(self, value: Any) -> Kept:
        """A sum that is multiplied, as a block of its own."""
        made = Kept(f"sum {len(self.kept)}", value, value.shape, False, self.sweep)
        self.kept.append(made)
        return made

    def total(self, terms: Terms, half: bool) -> Any:
        if any(abs(c) != 1 for c, _ in terms):
            raise refusal("a multiple")
        return Total(tuple((int(c), x) for c, x in terms), terms[0][1].shape)

    def transpose(self, x: Any) -> Any:
        match x:
            case Joint(transposed=transposed):
                return Joint(not transposed)
            case Kept(symmetric=True):
                return x
            case Kept():
                return View(x, (0, 0), x.shape, True)
            case View():
                return View(x.of, x.first, x.shape, not x.transposed)
        raise refusal("a transpose")

    def invert(self, x: Any) -> Any:
        raise refusal("an inverse")

    def divide(self, x: Any, matrix: Any) -> Any:
        return Quotient(x, matrix, x.shape)

    def apply(self, function: str, arguments: list[Any], at: str) -> Any:
        raise refusal(function)


def cut(x: Any, widths: Widths) -> View:
    """HX, the rows of the joint, of a block or of what are columns of one that is symmetric."""
    match x:
        case Kept():
            return View(x, (widths.carried, 0), (widths.rates, x.shape[1]))
        case View(of=of, first=first, shape=shape, transposed=True) if of.symmetric:
            return View(of, (first[0], first[1] + widths.carried), (shape[0], widths.rates))
    raise refusal("a part")


def refusal(what: str) -> StatementError:
    return StatementError(f"A chain of wide links is not compiled with {what} in its program.")


def record(program: Program, widths: Widths) -> ChainRecorder:
    """The sweeps of a program at one link, and how much of each block is needed."""
    made = ChainRecorder(program, widths)
    evaluate(program, made)
    for name in program.result_names.values():
        found = made.fields[name]
        found.along = found.full = True
    for kept in made.kept:
        for moved in _moves_in(kept.value):
            _hand_on(made.fields[moved.name], moved, widths)
    for kept in reversed(made.kept):
        if kept.needed == (0, 0):
            kept.needed = kept.shape
        _need(kept.value, *kept.needed, widths)
    return made


def _hand_on(kept: Kept, moved: Moved, widths: Widths) -> None:
    kept.along = True
    if moved.inward:
        kept.needed, kept.full = (widths.carried, widths.carried), True
    else:
        kept.needed = kept.shape


def _moves_in(value: Any) -> Iterator[Moved]:
    if isinstance(value, Moved):
        yield value
    for _, inner in value.terms if isinstance(value, Total) else ():
        yield from _moves_in(inner)


def _need(value: Any, rows: int, columns: int, widths: Widths) -> None:
    """Some rows and columns of a value will be read: so much of the blocks that it is made of is needed."""
    match value:
        case Kept():
            value.needed = max(value.needed[0], rows), max(value.needed[1], columns)
        case View(of=of, first=first, transposed=transposed):
            rows, columns = (columns, rows) if transposed else (rows, columns)
            _need(of, first[0] + rows, first[1] + columns, widths)
        case Total(terms=terms):
            for _, inner in terms:
                _need(inner, rows, columns, widths)
        case Product(left=left, right=right):
            for factor in (left, right):
                if isinstance(factor, Kept):
                    factor.full = True
            inner = min(_filled_rows(right, widths), left.shape[1])
            _need(left, rows, inner, widths)
            _need(right, inner, columns, widths)
        case Quotient(left=left, matrix=matrix):
            matrix.full = True
            _need(left, rows, columns, widths)
            _need(matrix, matrix.shape[0], matrix.shape[1], widths)
        case Placed(of=inner):
            _need(inner, inner.shape[0], inner.shape[1], widths)


def _filled_rows(value: Any, widths: Widths) -> int:
    """The rows of a value that are not zero by structure: φ* and E* fill those that are carried alone."""
    match value:
        case Kept():
            return _filled_rows(value.value, widths)
        case Total(terms=terms):
            return max(_filled_rows(inner, widths) for _, inner in terms)
        case Given() | Moved(inward=False):
            return widths.carried
    return value.shape[0]


def inner_size(product: Product, widths: Widths) -> int:
    """The inner numbers of a product that are not zero by structure."""
    return min(_filled_rows(product.right, widths), product.left.shape[1])
