"""The one walk through programs: what a program means is said here, what its values are is said by a domain.

    evaluate(program, domain):  for each sweep, at each of the domain's sites, each statement's term, put to its field

Domains are text (`algorithm.py`), patterns that count (`patterns.py`), arrays and traced scalars of all links
(`backends/programs/interpret.py`), of one link of each kind (`backends/rolled/steps.py`), between the sweeps
(`backends/rolled/flat_steps.py`), and of one link in a common frame, rate by rate
(`backends/pairwise/common_frame_steps.py`). A block has the rows and columns that the domain gives it; nothing here
knows how many. The order in which a sum is evaluated is part of the language: its terms as they stand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from phistar.sweeps.ir import (
    Call,
    Data,
    Divide,
    Field,
    Invert,
    Plus,
    Program,
    SolveFlat,
    Statement,
    Sweep,
    TaskOperator,
    Term,
    Times,
    Transpose,
)

OF_LINKS = ("bias_acceleration_at_frames", "frame_poses")
"""Functions between sweeps that read a field of all links: like what comes from elsewhere, they find it themselves."""

Terms = list[tuple[Fraction, Any]]


class Domain(ABC):
    """Values, and sites where statements are evaluated. A site is whatever the domain chooses: a link's number, a kind
    of link, a letter; `value` is the walk."""

    # Sites

    @abstractmethod
    def sites(self, sweep: Sweep) -> Iterable[Any]:
        """Sites at which the statements of a sweep are evaluated, in order."""

    def begin(self, sweep: Sweep) -> None:
        """Called before the first site."""
        return

    def enter(self, sweep: Sweep, at: Any) -> None:
        """Called before the statements at a site."""
        return

    def leave(self, sweep: Sweep, at: Any) -> None:
        """Called after them."""
        return

    def skips(self, statement: Statement) -> bool:
        """Whether a statement is made elsewhere."""
        return False

    # Values

    @abstractmethod
    def get(self, name: str, at: Any) -> Any:
        """A field at a site."""

    @abstractmethod
    def put(self, statement: Statement, at: Any, value: Any) -> None:
        """The value of a statement; of a symmetric one, one triangle of it counts."""

    @abstractmethod
    def data(self, name: str, at: Any) -> Any:
        """A block that the robot gives."""

    @abstractmethod
    def product(self, left: Any, right: Any, term: Times, at: Any, half: bool) -> Any:
        """XY; `half`: one triangle of it is enough."""

    @abstractmethod
    def total(self, terms: Terms, half: bool) -> Any:
        """Σ c·x, as they stand."""

    @abstractmethod
    def transpose(self, x: Any) -> Any:
        """X*."""

    @abstractmethod
    def invert(self, x: Any) -> Any:
        """X⁻¹."""

    @abstractmethod
    def apply(self, function: str, arguments: list[Any], at: Any) -> Any:
        """A memoryless function of blocks."""

    @abstractmethod
    def move(self, term: Term, at: Any) -> Any:
        """Value received from elsewhere: neighbours, frames, the base, all links."""

    def divide(self, x: Any, matrix: Any) -> Any:
        """X Y⁻¹ for symmetric Y."""
        raise NotImplementedError(type(self).__name__)

    def operator(self, name: str, transposed: bool, x: Any) -> Any:
        """A constant operator on task space."""
        raise NotImplementedError(type(self).__name__)

    def solve(self, matrix: Any, right: Any, symmetric: bool) -> Any:
        """X⁻¹y."""
        raise NotImplementedError(type(self).__name__)

    def pair_terms(self, terms: tuple[tuple[Fraction, Term], ...], at: Any) -> list[tuple[Fraction, tuple[Call, Any]]]:
        """Terms of a sum that this domain evaluates two at a time, by `together`."""
        return []

    def together(self, call: Call, other: Any, at: Any) -> Any:
        raise NotImplementedError(type(self).__name__)

    # The walk

    def value(self, term: Term, at: Any, half: bool = False) -> Any:
        """A term at a site."""
        match term:
            case Field(name=name):
                return self.get(name, at)
            case Times(left=left, right=right):
                return self.product(self.value(left, at), self.value(right, at), term, at, half)
            case Plus(terms=terms):
                pairs = self.pair_terms(terms, at)
                done = {inner for _, pair in pairs for inner in pair}
                apart = [(c, self.value(inner, at, half)) for c, inner in terms if inner not in done]
                return self.total([*((c, self.together(*pair, at)) for c, pair in pairs), *apart], half)
            case Data(name=name):
                return self.data(name, at)
            case Transpose(of=inner):
                return self.transpose(self.value(inner, at))
            case Invert(of=inner):
                return self.invert(self.value(inner, at))
            case Divide(left=left, matrix=matrix):
                return self.divide(self.value(left, at), self.value(matrix, at))
            case Call(function=function, arguments=arguments) if function not in OF_LINKS:
                return self.apply(function, [self.value(x, at) for x in arguments], at)
            case TaskOperator(name=name, transposed=transposed, of=inner):
                return self.operator(name, transposed, self.value(inner, at))
            case SolveFlat(matrix=matrix, right=right, symmetric=symmetric):
                return self.solve(self.value(matrix, at), self.value(right, at), symmetric)
        return self.move(term, at)


def evaluate(program: Program, domain: Domain) -> None:
    """All sweeps of a program."""
    for sweep in program.sweeps:
        evaluate_sweep(sweep, domain)


def evaluate_sweep(sweep: Sweep, domain: Domain) -> None:
    """Every statement of a sweep at every site."""
    domain.begin(sweep)
    for at in domain.sites(sweep):
        domain.enter(sweep, at)
        for statement in sweep.statements:
            if not domain.skips(statement):
                domain.put(statement, at, domain.value(statement.term, at, statement.symmetric))
        domain.leave(sweep, at)
