"""The cheapest form of a statement: every form that laws reach is weighed, those that weigh least are counted.

What is counted here is the program on a serial chain of thirty links with revolute joints, which ranks the forms of a
statement that is about no robot. Where there is one, those that count nearly as little are offered to be counted on it
(`offered`): which of them runs is decided there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from phistar.identities.derivation import Derivation
from phistar.identities.law import Setting
from phistar.identities.rewriter import Form, derivation_of, forms
from phistar.identities.statement_cost import Cost, cost
from phistar.identities.vanishing import vanishing
from phistar.operators.nodes import Node, Sum
from phistar.operators.show import text
from phistar.operators.symbols import Symbols
from phistar.sweeps.lower import lower
from phistar.sweeps.patterns import count

LINKS = 30
_SIZES = (6, 7, 8)  # a count is a polynomial of second degree in n from there on, or it weighs as more
_MOST, _WORSE = 6, 1.3  # how many forms are counted, and how much more than the least they may weigh
_NEAR = 1.15  # what counts or weighs more than this part of the least on a chain was never found to be least on a robot


@dataclass(frozen=True, eq=False)
class Tried:
    """One form of a statement with its operations; None where it weighs too much to be counted."""

    form: Form
    operations: int | None


@dataclass(frozen=True, eq=False)
class Search:
    """The forms that were tried, the cheapest first; `str()` is a table."""

    start: Node
    tried: tuple[Tried, ...]
    counted_for: str = f"at n = {LINKS}"

    @property
    def best(self) -> Form:
        return self.tried[0].form

    def __str__(self) -> str:
        lines = [f"{text(self.start)}: operations {self.counted_for}"]
        for each in self.tried:
            counted = "not counted" if each.operations is None else f"{each.operations:,}"
            chosen = f"    by {', '.join(each.form.chosen)}" if each.form.chosen else ""
            lines.append(f"{counted:>12}    {text(each.form.node)}{chosen}")
        return "\n".join(lines)


@cache
def search(
    node: Node, symbols: Symbols, setting: Setting, matrix: bool = False, innovations: bool = True, told: bool = False
) -> Search:
    """The forms of a statement in order of the operations of their programs; `told`: all forms of the least power of n
    are counted, those too that weigh too much to be chosen."""
    found = sorted(forms(node, symbols, setting, innovations), key=lambda form: cost(form.node, matrix))
    nothing = next((form for form in found if isinstance(form.node, Sum) and not form.node.terms), None)
    if nothing is None and isinstance(node, Sum):
        nothing = vanishing(node, symbols, setting)
    if nothing is not None:
        return Search(node, (Tried(nothing, 0), *(Tried(form, None) for form in found if form is not nothing)))
    least = cost(found[0].node, matrix)
    near = [form for form in found if _comparable(cost(form.node, matrix), least, 10.0 if told else _WORSE)]
    near = near if told else near[:_MOST]
    # Matrices over the joints are made as tables over pairs of them, not column by column as they are counted here;
    # without innovations a form is for arms shorter than what is counted. Both go by weight.
    many = told or (len(near) > 1 and innovations and not any(least.powers[:2]))
    counted = [Tried(form, operations(form.node, matrix)) for form in near] if many else []
    if innovations and not any(least.powers[:2]):
        counted.sort(key=lambda each: each.operations or 0)
    there = {each.form for each in counted}
    return Search(node, (*counted, *(Tried(form, None) for form in found if form not in there)))


@cache
def forms_worth_counting(node: Node, symbols: Symbols, setting: Setting, matrix: bool = False) -> tuple[Form, ...]:
    """The forms that are worth counting on a robot, the cheapest on a chain first."""
    found = search(node, symbols, setting, matrix).tried
    least, weight = found[0].operations, cost(found[0].form.node, matrix)
    if least is not None:
        return tuple(each.form for each in found if each.operations and each.operations <= _NEAR * least) or (
            found[0].form,
        )
    near = [each.form for each in found[1:_MOST] if _comparable(cost(each.form.node, matrix), weight, _NEAR)]
    return found[0].form, *near


def _comparable(weight: Cost, least: Cost, worse: float) -> bool:
    """Whether what weighs so may count as less."""
    own, other = weight.powers, least.powers
    power = next((i for i in range(3) if other[i]), 3)
    return not any(own[:power]) and own[power] <= worse * other[power]


@cache
def operations(node: Node, matrix: bool = False, n: int = LINKS) -> int:
    """Additions, multiplications and divisions of the program of a form, as it stands, for n links."""
    program = lower(node, matrix)
    if n <= _SIZES[-1]:
        return count(program, n).total
    low, middle, high = (count(program, size).total for size in _SIZES)
    steps, bend = n - _SIZES[-1], high - 2 * middle + low
    return high + steps * (high - middle) + bend * steps * (steps + 1) // 2


@cache
def cheapest(
    node: Node, symbols: Symbols, setting: Setting, matrix: bool = False, innovations: bool = True, which: int = 0
) -> Derivation:
    """The derivation of the form whose program has the fewest operations on a chain, or of another that is offered."""
    found = search(node, symbols, setting, matrix, innovations).best
    if which:
        found = forms_worth_counting(node, symbols, setting, matrix)[which]
    return derivation_of(node, found, symbols, setting, matrix)
