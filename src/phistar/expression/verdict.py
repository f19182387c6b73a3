"""`left.equals(right)`: proved with cited steps, refuted with a mechanism and a number, or not decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from phistar.errors import StatementError
from phistar.expression.mechanisms import Mechanism
from phistar.identities.derivation import Derivation
from phistar.model import Model
from phistar.operators.nodes import Identity, Inverse, Node, Product, Sum, product, summation
from phistar.operators.show import text

DIFFERENT = 1e-6  # relative to the size of what is added up; rounding stays far below


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A mechanism on which two statements differ, and the entry in which they differ most.

    `left` and `right` are the values there, `entry` its row and column, `vectors` the numbers that were given.
    """

    model: Model
    q: np.ndarray
    vectors: Mapping[str, np.ndarray] = field(repr=False)
    operators: Mapping[str, np.ndarray] = field(repr=False)
    entry: tuple[int, int]
    left: float
    right: float

    def __str__(self) -> str:
        where = f"{self.model.name} ({len(self.model.bodies)} bodies, {self.model.nv} dofs)"
        return f"on {where} entry {self.entry} is {self.left:.6g} on the left and {self.right:.6g} on the right"


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether two statements are one operator.

    `proved` is True with a `derivation` from one to the other, False with a `counterexample`, or None: not decided.
    """

    left: Node
    right: Node
    proved: bool | None
    derivation: Derivation | None = None
    counterexample: Counterexample | None = None

    def __bool__(self) -> bool:
        raise StatementError(f"{self}\nA verdict has three values; ask for .proved, which is True, False or None.")

    def __str__(self) -> str:
        claim = f"{text(self.left)} = {text(self.right)}"
        if self.derivation is not None:
            return f"{claim}: proved.\n{self.derivation}"
        if self.counterexample is not None:
            return f"{claim}: refuted; {self.counterexample}."
        return f"{claim}: not decided. It holds on the mechanisms tried, and no proof was found."

    __repr__ = __str__


def between_same_spaces(left: Node, right: Node) -> tuple[Node, Node]:
    """Both sides of an equation, a free identity in the space of the other side."""
    if left.domain is None and right.domain is not None:
        left = product(Identity(right.codomain), left)
    elif right.domain is None and left.domain is not None:
        right = product(Identity(left.codomain), right)
    summation([(1, left), (-1, right)])  # refuses sides between different spaces
    return left, right


def find_counterexample(left: Node, right: Node, mechanisms: Iterable[Mechanism]) -> Counterexample | None:
    """A mechanism on which two statements differ, or None; where one of them does not exist nothing is said."""
    for case in mechanisms:
        try:
            ours, theirs = case.dense(left), case.dense(right)
            scale = _magnitude(left, case) + _magnitude(right, case)
        except (StatementError, np.linalg.LinAlgError):
            continue
        difference = np.abs(ours - theirs)
        if difference.size and np.isfinite(scale) and difference.max() > DIFFERENT * scale:
            row, column = np.unravel_index(int(difference.argmax()), difference.shape)
            entry = int(row), int(column)
            return Counterexample(
                case.model, case.q, case.vectors, case.operators, entry, float(ours[entry]), float(theirs[entry])
            )
    return None


def _magnitude(node: Node, case: Mechanism) -> float:
    """The size of what a statement adds up: its value may be small because large parts cancel."""
    if isinstance(node, Sum):
        return sum(float(abs(c)) * _magnitude(term, case) for c, term in node.terms)
    if isinstance(node, Product):
        return max(float(np.abs(case.dense(node)).max(initial=0.0)), 1e-6 * _norms(node.factors, case))
    value = case.dense(node)
    size = float(np.abs(value).max(initial=0.0))
    if isinstance(node, Inverse):  # what its condition costs in digits
        return size * max(1.0, 1e-8 * float(np.linalg.cond(value)))
    return size


def _norms(factors: tuple[Node, ...], case: Mechanism) -> float:
    result = 1.0
    for factor in factors:
        result *= float(np.linalg.norm(case.dense(factor), 2))
    return result
