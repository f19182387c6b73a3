"""Inverses with something of low rank added, by columns that are made once.

Of V*DV − V*DV·L·S⁻¹R·V*DV with S = W + R·V*DV·L, as the matrix inversion lemma leaves it, the columns E = VL and
F = VR* are all that L and R are needed for: V*(D − DE S⁻¹(DF)*)V with S = W + F*DE. What S says needs no sweep anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from phistar.identities.factor import factor
from phistar.identities.justify import Rewrite, Step, Uses, product_of, rewrite_once, scale_uses, use
from phistar.identities.law import Law
from phistar.identities.match import instance_of
from phistar.identities.polynomial import expand, is_memoryless, letters
from phistar.operators.linearized import TOGETHER, is_narrow, together
from phistar.operators.nodes import Inverse, Node, Product, Sum, Symbol, adjoint, inverse, product, summation
from phistar.operators.spaces import RANKS

TITLE = "columns made once"


def by_columns(node: Node) -> list[Step]:
    """The steps to columns wherever they help, one lemma at a time."""
    steps: list[Step] = []
    while (found := rewrite_once(node, _by_columns)) is not None:
        steps.append(Step(node, found.node, TITLE, "", found.uses))
        node = found.node
    return steps


def columns_made_once(node: Node) -> Iterator[tuple[Node, list[Step]]]:
    """Forms with columns of what has low rank made once, as a form stands and then with the result multiplied out."""
    steps: list[Step] = []
    if isinstance(node, Sum) and _is_of_ranks(node):  # of the matrix inversion lemma, whose whole is made of columns
        return
    while once := _by_squares(node):
        steps = [*steps, *once]
        polynomial = expand(once[-1].after)
        yield factor(polynomial), steps
        node = summation((c, product_of(word)) for word, c in polynomial.terms.items())


def _by_squares(node: Node) -> list[Step]:
    """The steps to squares Z*SZ of columns that something of low rank takes as [Z]*[SZ], which one sweep makes; and to
    the same columns wherever else they stand."""
    steps: list[Step] = []
    made = dict.fromkeys(x for x in reversed(letters(node)) if _is_columns(x))
    while (found := rewrite_once(node, lambda part: _by_square(part, made) or _by_made(part, made))) is not None:
        steps.append(Step(node, found.node, TITLE, "", found.uses))
        node = found.node
    return steps


def _by_square(node: Node, made: dict[Node, None]) -> Rewrite | None:
    factors = _factors(node)
    if len(factors) < 3 or not is_narrow(node) or not is_narrow(adjoint(node)):
        return None
    if not _is_of_ranks(node):
        return _by_few(node, factors)
    for middle in {len(factors) // 2, (len(factors) - 1) // 2}:
        left, right = product(*factors[:middle]), product(*factors[len(factors) - middle :])
        weight = factors[middle : len(factors) - middle]
        if len(weight) > 1 or any(map(_is_together, factors)) or not _is_swept(right):
            continue
        if _is_adjoint(left, right) and all(map(is_memoryless, weight)):
            columns = together(right)
            weighted = together(product(*weight, columns))
            made |= dict.fromkeys((weighted, columns))
            return _as_rewrite(node, adjoint(columns) @ weighted)
    return None


def _by_few(node: Node, factors: tuple[Node, ...]) -> Rewrite | None:
    """YSY* of frames or closures with a few coordinates between, Y made once."""
    for at, weight in enumerate(factors):
        left, right = product_of(factors[:at]), product_of(factors[at + 1 :])
        if _is_of_ranks(weight) and isinstance(right, Product) and _is_swept(right) and _is_adjoint(left, right):
            made = together(adjoint(right))
            return _as_rewrite(node, product(made, weight, adjoint(made)))
    return None


def _is_of_ranks(node: Node) -> bool:
    return all(space is not None and space.over in RANKS for space in (node.domain, node.codomain))


def _is_adjoint(left: Node, right: Node) -> bool:
    """Whether one is the other's adjoint, with columns written out."""
    one, other = (expand(_open_brackets(x)[0]) for x in (left, right))
    return one.same_as(other.adjoint())


def _by_made(node: Node, made: dict[Node, None]) -> Rewrite | None:
    """Columns that are made already, in place of what they are made of."""
    factors = _factors(node)
    for columns in made:
        whole = expand(_open_brackets(columns)[0])
        for whole_or_adjoint, letter in ((whole, columns), (whole.adjoint(), adjoint(columns))):
            for i, j in _runs(factors, letter):
                if expand(product(*factors[i:j])).same_as(whole_or_adjoint):
                    return _as_rewrite(node, product(*factors[:i], letter, *factors[j:]))
    return None


def _runs(factors: tuple[Node, ...], letter: Node) -> Iterator[tuple[int, int]]:
    """Where in a product something maps between the spaces of a letter."""
    for i in range(len(factors)):
        for j in range(i + 2, len(factors) + 1):
            if (factors[i].codomain, factors[j - 1].domain) == (letter.codomain, letter.domain):
                yield i, j


def _is_columns(letter: Node) -> bool:
    return isinstance(letter, Symbol) and letter.name == TOGETHER and letter.source.over in RANKS


def _is_together(node: Node) -> bool:
    return any(isinstance(x, Symbol) and x.name == TOGETHER for x in letters(node))


def _is_swept(node: Node) -> bool:
    """Whether an operator takes a sweep to apply."""
    return any(isinstance(x, Symbol) and x.name in ("phi", "psi", "mass") for x in letters(node))


def _by_columns(node: Node) -> Rewrite | None:
    terms = node.terms if isinstance(node, Sum) else ()
    for c, whole in terms:
        halves = _halves(whole)
        for d, less in terms if halves else ():
            after = _condense(whole, less, *halves) if d == -c and isinstance(less, Product) else None  # type: ignore[misc]
            if after is not None:
                others = ((e, x) for e, x in terms if x is not whole and x is not less)
                return _as_rewrite(node, summation([(c, after), *others]))
    return None


def _halves(node: Node) -> tuple[Node, Node] | None:
    """D and V of V*DV."""
    factors = _factors(node)
    middle = len(factors) // 2
    if len(factors) < 3 or len(factors) % 2 == 0:
        return None
    right = product(*factors[middle + 1 :])
    return (factors[middle], right) if adjoint(right) is product(*factors[:middle]) else None


def _factors(node: Node) -> tuple[Node, ...]:
    return node.factors if isinstance(node, Product) else (node,)


def _condense(whole: Node, less: Product, middle: Node, right: Node) -> Node | None:
    """V*(D − DE S⁻¹(DF)*)V, or None where the second term is not V*DV·L·S⁻¹R·V*DV."""
    at = next((i for i, x in enumerate(less.factors) if isinstance(x, Inverse) and is_narrow(x)), None)
    if at is None:
        return None
    seen = less.factors[at]
    assert isinstance(seen, Inverse)
    terms = seen.of.terms if isinstance(seen.of, Sum) else ()
    for c, term in terms:
        ends = _around(_open_brackets(term)[0], whole) if c == 1 else None
        if ends is None or product(whole, ends[1], seen, ends[0], whole) is not less:
            continue
        first, last = (together(right @ x) for x in (ends[1], adjoint(ends[0])))
        solved = together(middle @ first)
        told = solved if last is first else together(middle @ last)
        rest = summation((d, adjoint(last) @ solved if x is term else x) for d, x in terms)
        return adjoint(right) @ (middle - solved @ inverse(rest) @ adjoint(told)) @ right
    return None


def _around(term: Node, whole: Node) -> tuple[Node, Node] | None:
    """R and L of a term RXL."""
    factors, inside = _factors(term), _factors(whole)
    for i in range(1, len(factors) - len(inside)):
        if factors[i : i + len(inside)] == inside:
            return product(*factors[:i]), product(*factors[i + len(inside) :])
    return None


def _as_rewrite(node: Node, after: Node) -> Rewrite | None:
    """The rewrite, by [X] = X: opened, both are the same."""
    (one, first), (other, second) = _open_brackets(node), _open_brackets(after)
    if not expand(one).same_as(expand(other)):
        return None

    def why() -> Uses:
        back = (use for step in second for use in scale_uses(step.uses(), Fraction(-1)))
        return *(use for step in first for use in step.uses()), *back

    return Rewrite(after, why)


def _open_brackets(node: Node) -> tuple[Node, list[Rewrite]]:
    steps: list[Rewrite] = []
    while known := opened_brackets(node):
        step = rewrite_once(node, lambda part, known=known: known[part][1] if part in known else None)
        if step is None:  # inside of others alone
            break
        steps.append(step)
        node = step.node
    return node, steps


def opened_brackets(node: Node) -> dict[Node, tuple[Law, Rewrite]]:
    """[X] = X: what is taken as one block is its product."""
    known: dict[Node, tuple[Law, Rewrite]] = {}
    for letter in letters(node):
        if isinstance(letter, Symbol) and letter.name == TOGETHER:
            law = Law("block_of_a_product", "", lambda _, x=letter: (x, x.of[0]), (), "never", "", "")
            for flipped, x, y in ((False, letter, letter.of[0]), (True, adjoint(letter), adjoint(letter.of[0]))):
                why = use(instance_of(law, letter, letter.of[0]), flipped=flipped)
                known[x] = law, Rewrite(y, partial(tuple, (why,)))
    return known
