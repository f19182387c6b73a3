"""`ps.law`: a law of one's own, tried on random mechanisms when it is declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, overload

from phistar.backends.programs.derived_programs import derived_program
from phistar.errors import StatementError
from phistar.expression.mechanisms import mechanisms
from phistar.expression.verdict import find_counterexample
from phistar.identities import law as laws
from phistar.identities.known_inverses import inverse_lemmas
from phistar.identities.law import LAWS, SENTENCES, TREE, Law, Setting
from phistar.identities.match import WordRule, factor_rules, is_word, word_rules
from phistar.identities.polynomial import expand
from phistar.identities.reduction import Endless, by_rules
from phistar.identities.rewriter import forms, simplify
from phistar.operators.nodes import Node, summation
from phistar.operators.show import text
from phistar.operators.symbols import Symbols
from phistar.sweeps.search import cheapest, forms_worth_counting, search

_REMEMBERED = (
    *(word_rules, factor_rules, inverse_lemmas, forms, simplify, search, forms_worth_counting, cheapest),
    derived_program,
)
USES = ("choice", "always", "never")


Sides = Callable[[Any], tuple[Any, Any]]


@overload
def law(citation: Sides) -> Law: ...
@overload
def law(citation: str, *needs: str, as_rule: str = "choice") -> Callable[[Sides], Law]: ...
def law(citation: str | Sides, *needs: str, as_rule: str = "choice") -> Law | Callable[[Sides], Law]:
    """Declare a law of your own: left = right, for every mechanism that meets its conditions.

    It is tried at once on random mechanisms and refused, with the counterexample, when it is false. From then on the
    rewriter uses it.

    Parameters
    ----------
    citation : str
        Where it is from; `@ps.law` without it takes the function alone.
    *needs : str
        Side conditions: "serial", "tips", "one_frame", "no_armature", "nonredundant", "constant_axes".
    as_rule : {"choice", "always", "never"}
        Tried and kept when it is cheaper; used from left to right wherever it fits; or only known.

    Returns
    -------
    callable
        The decorator of a function of the symbols that gives both sides.

    Example
    -------
    >>> import phistar as ps
    >>> @ps.law("my notes")
    ... def gain_seen_from_the_base(s):
    ...     return s.E @ s.phi @ s.G, s.E @ (s.G + s.phi @ s.K)
    >>> gain_seen_from_the_base.name
    'gain_seen_from_the_base'
    """
    if callable(citation):
        return law("")(citation)
    if not isinstance(citation, str):
        raise StatementError(f'@ps.law({citation!r}): a law has a citation in words, @ps.law("my notes"), or none.')
    unknown = [need for need in needs if need not in SENTENCES]
    if unknown or as_rule not in USES:
        raise StatementError(
            f"A law's needs are {', '.join(SENTENCES)}, and it is used as one of {', '.join(USES)}; "
            f"{', '.join(unknown) or as_rule} is none of them."
        )

    def declare(statement: Sides) -> Law:
        name = statement.__name__
        if any(known.name == name for known in LAWS):
            raise StatementError(f"There is a law {name} already; give yours another name.")
        _check(name, statement, needs, as_rule == "always")
        made = laws.law(citation, *needs, as_rule=as_rule, own=True)(statement)  # type: ignore[arg-type]
        forget_derivations()
        return made

    return declare


def forget_derivations() -> None:
    """Derive everything anew from now on: the laws have changed."""
    for remembered in _REMEMBERED:
        remembered.cache_clear()


def _check(name: str, statement: Sides, needs: tuple[str, ...], always: bool) -> None:
    """Refuse a law that is ill-typed, false, or that would rewrite without end."""
    told = dict.fromkeys(needs, True)
    setting: Setting = replace(TREE, **told)
    symbols = Symbols(armature=not setting.no_armature, siblings=not setting.serial)
    sides = statement(symbols)
    if not (isinstance(sides, tuple) and len(sides) == 2 and all(isinstance(side, Node) for side in sides)):
        raise StatementError(f"{name} must give both sides of an equation in the symbols it is called with.")
    left, right = sides
    summation([(1, left), (-1, right)])  # refuses sides between different spaces
    _check_that_it_ends(name, left, right)
    if always and is_word(left):
        _check_beside_others(name, left, right, symbols, setting)
    for drawn in {setting, replace(setting, no_armature=True)}:
        sides = statement(replace(symbols, armature=not drawn.no_armature))
        found = find_counterexample(*sides, mechanisms(symbols, drawn, sides))
        if found is not None:
            raise StatementError(f"{name} is false: {text(left)} = {text(right)} does not hold; {found}.")


def _check_beside_others(name: str, left: Node, right: Node, symbols: Symbols, setting: Setting) -> None:
    """Refuse a law that leads in circles with those that are there."""
    (word,) = expand(left).terms
    rule = WordRule(None, word, right)  # type: ignore[arg-type]
    try:
        by_rules(expand(left), [rule, *word_rules(symbols, setting, "always")])
    except Endless:
        raise StatementError(
            f"{name} would rewrite without end: with the laws there are, {text(left)} comes back after "
            f"{text(right)}. Turn it round, or declare it with as_rule='choice'."
        ) from None


def _check_that_it_ends(name: str, left: Node, right: Node) -> None:
    if is_word(left):
        (word,) = expand(left).terms
        rule = WordRule(None, word, right)  # type: ignore[arg-type]
        if any(rule.find(other) for other in expand(right).terms):
            raise StatementError(
                f"{name} would rewrite without end: its right side, {text(right)}, contains its left, {text(left)}."
            )
