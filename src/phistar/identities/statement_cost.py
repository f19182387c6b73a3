"""Cost of a statement before there is a robot: powers of n with a weight each. It steers the search only.

The exact operation counts are made on the program (`phistar.sweeps.cost`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from phistar.identities.graph import TRANSITION, apply, is_by_columns
from phistar.identities.graph_values import Apply, Bracketed, Operand, Solve, Value, arguments, operand_of, walk
from phistar.identities.negatives import with_shared_negatives
from phistar.identities.pairings import halfway
from phistar.identities.polynomial import expand
from phistar.identities.schedule import schedule, symbol_of
from phistar.operators.linearized import PARTIALS
from phistar.operators.nodes import Adjoint, Inverse, Node
from phistar.operators.rate_letters import RATE, is_recursive_rate
from phistar.operators.spaces import RANKS

# Multiplications and additions per link of one application to a vector, for single-dof joints.
_PER_LINK = {
    "phi": 45,
    "psi": 60,
    TRANSITION: 80,
    "E_phi": 39,
    "M": 33,
    "P": 66,
    "Omega": 66,
    "Delta": 66,
    "Gamma": 66,
    "r": 33,
    "G": 12,
    "X": 36,
    "H": 1,
    "D": 1,
    "D_root": 1,
    "A": 1,
    "U": 0,
    "E": 0,
    "B": 0,
    "a": 30,
    "b": 30,
    "b_r": 9,
    "a_ref": 40,
    "b_ref": 40,
    "b_r_ref": 9,
    "n_ref": 12,
    "rate": 36,
    "S": 3,
    "phi_b": 45,
    "E_phi_b": 39,
    "E_s": 39,
    "M_b": 33,
    "r_b": 33,
    "q": 66,
    "H_f": 11,
    "H_b": 11,
    "Psi_dot": 11,
    "Psi_prime": 11,
    "B_v": 33,
    "r_v": 33,
    "Y": 33,
}
_BRACKET = 27
_BLOCK_SOLVE, _BLOCK_PRODUCT, _BLOCK_INVERSE = 150, 400, 450  # X⁻¹y of six rows, XY and X⁻¹
_SWEEP = 10  # one more pass over the links: loads and stores
_FLAT_SOLVE = 30
_CROSSING = ("phi", "psi", TRANSITION, "E_phi", "phi_b", "E_phi_b", "E_s")


@dataclass(frozen=True, order=True)
class Cost:
    """Weights of n³, n², n, 1; compared from the left."""

    cubic: float = 0
    quadratic: float = 0
    linear: float = 0
    flat: float = 0

    def __str__(self) -> str:
        if self.cubic:
            return "O(n³)"
        return "O(n²)" if self.quadratic else "O(n)" if self.linear else "O(1)"

    @property
    def latex(self) -> str:
        """The class as TeX writes it."""
        return str(self).translate({ord("²"): "^2", ord("³"): "^3"})

    def __add__(self, other: Cost) -> Cost:
        pairs = zip(self.powers, other.powers, strict=True)
        return Cost(*(x + y for x, y in pairs))

    @property
    def powers(self) -> tuple[float, ...]:
        return self.cubic, self.quadratic, self.linear, self.flat


@cache
def cost(node: Node, matrix: bool = False) -> Cost:
    """Applied to a vector, or as a `matrix`; an operator between task spaces is wanted as a matrix."""
    assert node.domain is not None and node.codomain is not None
    both = {node.domain.over, node.codomain.over}
    columns = matrix or both <= {"task", "base", "closures", *RANKS}
    (root,) = with_shared_negatives([halfway(apply(node, operand_of(node, columns)))])
    return graph_cost(root)


def graph_cost(root: Value) -> Cost:
    plan = schedule((root,))
    result = Cost(linear=_SWEEP * len(plan.sweeps) + sum(x.weight for x in plan.fields))
    pattern: dict[Value, _Pattern] = {}
    for value in walk(root):
        pattern[value] = _pattern(value, pattern)
        if isinstance(value, Solve):
            big = value.space.over in ("joints", "links")
            result += Cost(cubic=1) if big else Cost(flat=_FLAT_SOLVE)
        elif isinstance(value, Bracketed) and is_by_columns(symbol_of(value.letter)):
            result += Cost(linear=2 * pattern[value.made_from].columns * pattern[value.argument].columns)
        elif isinstance(value, Bracketed):
            weight = _solve_weight(value.letter) if isinstance(value.letter, Inverse) else _BRACKET
            result += pattern[value].times(weight, pattern[value.argument])
        elif isinstance(value, Apply):
            symbol = symbol_of(value.letter)
            if symbol.name in ("mass", *PARTIALS) or (symbol.name == RATE and not is_recursive_rate(symbol)):
                result += Cost(quadratic=1)
            solved = isinstance(value.letter, Inverse) and symbol.source.over == "links"
            weight = _BLOCK_SOLVE if solved else _PER_LINK.get(symbol.name, 0)
            result += pattern[value].times(weight, pattern[value.argument])
    return result


def _solve_weight(letter: Inverse) -> float:
    """X⁻¹y with X made block by block; over the joints blocks are small."""
    if letter.domain is None or letter.domain.over != "links":
        return _PER_LINK["D"]
    words = expand(symbol_of(letter).of[0]).terms
    inner = sum(isinstance(x, Inverse) for word in words for x in word)
    return _BLOCK_SOLVE + _BLOCK_INVERSE * inner + _BLOCK_PRODUCT * sum(max(len(word) - 1, 0) for word in words)


@dataclass(frozen=True)
class _Pattern:
    """Blocks that can differ from zero: over the links (`seed`: only where frames or the base are) and per column."""

    seed: bool = False
    columns: float = 1  # columns per link
    by_link: bool = False  # whether every link or joint has columns of its own
    columns_per_n: float = 0  # columns that reach across links: ½ of n for a triangle, n for all

    def times(self, weight: float, argument: _Pattern) -> Cost:
        if self.seed and argument.seed:
            return Cost(flat=weight * self.columns)
        return Cost(linear=weight * self.columns, quadratic=weight * self.columns_per_n)


def _pattern(value: Value, known: dict[Value, _Pattern]) -> _Pattern:
    if isinstance(value, Operand):
        everywhere = value.space.over in ("joints", "links", "inner")
        return _Pattern(not everywhere, 6 if value.columns else 1, everywhere and value.columns)
    below = [known[x] for x in arguments(value)]
    if isinstance(value, Solve):
        return known[value.argument]
    if isinstance(value, Bracketed) and is_by_columns(symbol_of(value.letter)):
        return _Pattern(isinstance(value.letter, Adjoint), known[value.argument].columns)
    merged = _Pattern(
        all(x.seed for x in below),
        max((x.columns for x in below), default=1),
        any(x.by_link for x in below),
        max((x.columns_per_n for x in below), default=0),
    )
    if not isinstance(value, Apply):
        return merged
    name = symbol_of(value.letter).name
    if name in ("E", "B", "pi_f"):  # to and from the frames
        return replace(merged, seed=True)
    if name not in _CROSSING:
        is_source = value.letter.domain is not None and value.letter.domain.over == "scalars"
        return _Pattern(is_source and value.space.over not in ("joints", "links")) if is_source else merged
    if not merged.by_link:
        return replace(merged, seed=False)
    crossing = merged.columns_per_n > 0 and isinstance(value.letter, Adjoint) != _was_adjoint(value.argument)
    return replace(merged, seed=False, columns_per_n=1.0 if crossing else max(merged.columns_per_n, 0.5))


def _was_adjoint(value: Value) -> bool:
    """Whether the last recursion below a value ran outward."""
    recursions = [x for x in walk(value) if isinstance(x, Apply) and symbol_of(x.letter).name in _CROSSING]
    return bool(recursions) and isinstance(recursions[-1].letter, Adjoint)
