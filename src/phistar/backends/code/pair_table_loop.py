"""Tables over pairs of joints, inside a kernel, as a loop.

In one common frame (Hφ̃X)(k,j) is the product H(k)X(j) wherever joint k carries joint j, and nothing elsewhere: six
multiplications a pair. Written out, these products are four fifths of a humanoid's derivatives; as a loop over a table
of pairs they are a few lines of code and data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.kernels import F64, FREE, I64, Code, Func, Local, Module, Table
from phistar.backends.traces.solve import is_zero

Products = tuple[tuple[tuple[int, int], ...], ...]
"""Products (left, right) that each entry of a pair adds up; two entries per table, above and below the diagonal."""
_TABLE = "pairs.table"
FEW_NONZERO = 8  # numbers other than zero up to which what meets them is written out: those of a base in its own frame


@dataclass(frozen=True)
class Made:
    """Entry computed by the loop: which product, of which carrying and carried joint rate."""

    product: int
    left: int
    right: int


@dataclass(frozen=True, eq=False)
class Pairs:
    """`left` (…, nv, 6a) holds motions and forces of each joint rate, such as H, Ψ̇, Ψ′ and Ψ̈, `right` (…, nv, 6b) the
    columns that they meet in the `products`; `carried` are the pairs of rates, the carrying one first. `sign`: of the
    entries."""

    left: np.ndarray
    right: np.ndarray
    carried: tuple[tuple[int, int], ...]
    sign: float
    products: Products

    def table(self, own: np.ndarray, upper: int, lower: int) -> np.ndarray:
        """A table (nv, nv) with the blocks of joints with themselves, and `Made` where one joint carries another and
        does not move along few axes of the common frame."""
        result = np.array(own, dtype=object)
        short = [sum(not is_zero(x) for x in row) <= FEW_NONZERO for row in self.left]
        for k, j in self.carried:
            entries = Made(upper, k, j), Made(lower, k, j)
            result[k, j], result[j, k] = [self.value(x) for x in entries] if short[k] else entries
        return result

    def dense(self, own: np.ndarray, upper: int, lower: int) -> np.ndarray:
        """The same table of floats, (…, nv, nv), all products at once."""
        carries = np.zeros(own.shape[-2:])
        carries[tuple(np.array(self.carried, dtype=int).reshape(-1, 2).T)] = 1.0
        sums = [carries * sum(self._products(a, b) for a, b in self.products[p]) for p in (upper, lower)]
        return own + self.sign * (sums[0] + np.swapaxes(sums[1], -1, -2))

    def _products(self, left: int, right: int) -> np.ndarray:
        x, y = self.left[..., 6 * left : 6 * left + 6], self.right[..., 6 * right : 6 * right + 6]
        return np.matmul(x, np.swapaxes(y, -1, -2))

    def value(self, made: Made) -> Any:
        """Value of an entry computed by the loop."""
        total: Any = 0.0
        for left, right in self.products[made.product]:
            for i in range(6):
                total = total + self.left[made.left, 6 * left + i] * self.right[made.right, 6 * right + i]
        return self.sign * total

    def fill(self, table: np.ndarray) -> np.ndarray:
        """The table with all products written out."""
        result = table.copy()
        for index, x in np.ndenumerate(table):
            if isinstance(x, Made):
                result[index] = self.value(x)
        return result


Terms = tuple[
    tuple[tuple[int, int], ...], ...
]  # of each product what it multiplies: numbers of the left and right rate


@dataclass(frozen=True)
class PairLoop:
    """The loop over packed memory (places are counted in entries, a vector of lanes each): where a joint rate's numbers
    are on either side, and the four entries that a pair makes; which numbers each of these multiplies."""

    rows: tuple[tuple[int, ...], ...]
    sign: float
    terms: Terms

    def module(self, lanes: int) -> Module:
        """The function and its table."""
        if not self.rows:
            return Module(())
        entries = tuple(8 * lanes * place for row in self.rows for place in row)
        return Module((_loop(lanes, self.sign, self.terms),), (Table(_TABLE, I64, entries),))

    def put(self, code: Code, memory: Local) -> None:
        """The call on packed memory."""
        if self.rows:
            code.call("pairs", memory, code.table(_TABLE, I64.read), len(self.rows))

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return len(self.rows) * sum(max(2 * len(terms) - 1, 0) for terms in self.terms)


def pair_loop(pairs: Pairs, made: dict[Made, int], start: int) -> tuple[list[Any], PairLoop]:
    """The numbers of the joint rates that meet, to stand from entry `start` on, and the loop that makes the entries
    in such places. What is asked of no entry goes to one behind those numbers."""
    found: dict[tuple[int, int], dict[int, int]] = {}
    for x, place in made.items():
        found.setdefault((x.left, x.right), {})[x.product] = place
    rates = [sorted({pair[side] for pair in found}) for side in (0, 1)]
    tables = [table[own] for table, own in zip((pairs.left, pairs.right), rates, strict=True)]
    terms = _terms(tables[0], tables[1], pairs.products)
    numbers = [sorted({term[side] for product in terms for term in product}) for side in (0, 1)]
    values: list[Any] = []
    sides: list[dict[int, int]] = []
    for table, own, kept in zip(tables, rates, numbers, strict=True):
        sides.append({rate: start + len(values) + len(kept) * number for number, rate in enumerate(own)})
        values += list(table[:, kept].reshape(-1))
    nowhere = start + len(values)
    rows = [
        (sides[0][k], sides[1][j], *(places.get(product, nowhere) for product in range(len(terms))))
        for (k, j), places in found.items()
    ]
    packed = tuple(tuple((numbers[0].index(a), numbers[1].index(b)) for a, b in product) for product in terms)
    return [*values, 0.0], PairLoop(tuple(rows), pairs.sign, packed)


def _terms(left: np.ndarray, right: np.ndarray, products: Products) -> Terms:
    """The numbers that products multiply, without those that are zero by structure for every rate: 𝓑 does not know
    which way a link slides, so that half of 2rᶜ*H* is."""
    some = [[not all(map(is_zero, side[:, number])) for number in range(side.shape[1])] for side in (left, right)]
    wanted = [[(6 * a + i, 6 * b + i) for a, b in entry for i in range(6)] for entry in products]
    return tuple(tuple((a, b) for a, b in product if some[0][a] and some[1][b]) for product in wanted)


def _loop(lanes: int, sign: float, terms: Terms) -> Func:
    """Loop over the rows of the table, each of which makes some sums of products."""
    code, align, width = Code("pairs", m=F64.to, table=I64.read, count=I64), 8 * lanes, 2 + len(terms)
    code.freedom = FREE
    with code.loop(0, code["count"], some=True) as n:
        row = code["table"].at(n * width)
        left, right, *to = (code["m"].bytes(row.at(i).load()) for i in range(width))
        sides = [
            {i: place.at(lanes * i).load(lanes, align) for i in sorted({term[k] for x in terms for term in x})}
            for k, place in enumerate((left, right))
        ]
        for place, products in zip(to, terms, strict=True):
            made = [sides[0][a] * sides[1][b] for a, b in products]
            total = sum(made[1:], made[0]) if made else code.number(0.0, lanes)
            place.store(-total if sign < 0 and made else total, align)
    return code.function
