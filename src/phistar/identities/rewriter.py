"""From an abstract statement, with no hint, to its cheapest form.

First the statement as written: definitions are filled in, inverses resolved by the factorization lemmas. Then as a
polynomial: the completed rule set brings it to normal form, where equal things are equal, and what remains is factored
again. Laws that only sometimes help (Ω for ψ*H*D⁻¹Hψ) are tried and kept when the counted cost falls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import combinations

import phistar.identities.applications
import phistar.identities.kinematics
import phistar.identities.linearized
import phistar.identities.riccati
import phistar.identities.smoothing
import phistar.identities.two_way  # noqa: F401 - the modules register their laws
from phistar.errors import StatementError
from phistar.identities.cost import cost
from phistar.identities.derivation import Derivation, Step
from phistar.identities.differentiate import CITATION, differentiated
from phistar.identities.factor import factor
from phistar.identities.inverses import cancel, check_inverses, innovations_of, inverses, split_product
from phistar.identities.kinematics import phi_absorbs_shift
from phistar.identities.law import SENTENCES, Law, Setting
from phistar.identities.match import WordRule, everywhere, factor_rules, parts_of, word_rules
from phistar.identities.polynomial import Polynomial, TooManyTerms, expand, letters
from phistar.identities.riccati import lemma_1
from phistar.operators.linearized import PARTIALS
from phistar.operators.nodes import Inverse, Node, Symbol
from phistar.operators.symbols import Symbols

Path = list[tuple[Law | None, Polynomial]]
_ROUNDS = 200  # far above any derivation; the rules terminate, this only turns a mistake in a new law into a sentence


@cache
def simplify(
    node: Node, symbols: Symbols, setting: Setting, matrix: bool = False, innovations: bool = True
) -> Derivation:
    """The derivation of the cheapest form of `node` under what `setting` says of the mechanism.

    `matrix`: the operator itself is wanted, not its action on one vector. Without `innovations` mass matrices are left
    to be factored as numbers, which is cheaper for a few links (R87, Fig. 4).
    """
    written = _as_written(node, symbols, setting, innovations)
    first = best = _end(node, written)
    best_cost, best_path = cost(first, matrix), []
    for path in _paths(first, symbols, setting):
        end = factor(path[-1][1])
        path_cost = cost(end, matrix)
        if path_cost < best_cost:
            best_cost, best, best_path = path_cost, end, path
    if not (_needs_definitions(node) or best_cost < cost(node, matrix)):
        return Derivation(node, node, tuple, matrix)
    return Derivation(node, best, lambda: tuple(_grouped(written + _displayed(first, best_path))), matrix)


def _paths(node: Node, symbols: Symbols, setting: Setting) -> Iterator[Path]:
    """To the normal form, and on from there with each choice of optional laws; what grows without end is given up."""
    with suppress(TooManyTerms):
        normal = _as_polynomial(expand(node), symbols, setting, ())
        for chosen in _choices(normal[-1][1], symbols, setting):
            with suppress(TooManyTerms):
                yield normal + (_as_polynomial(normal[-1][1], symbols, setting, chosen) if chosen else [])


def _end(node: Node, steps: list[Step]) -> Node:
    return steps[-1].after if steps else node


def _needs_definitions(node: Node) -> bool:
    """Physical quantities have to be expressed in operators even where that is no cheaper."""
    physical = ("J", "mass", "M_i", "C", "C_ref", "g", "Jdot_v", "V", *PARTIALS)
    return any(isinstance(x, Symbol) and x.name in physical for x in letters(node))


def _as_written(node: Node, symbols: Symbols, setting: Setting, innovations: bool) -> list[Step]:
    """Definitions filled in, lemmas used as the papers use them, inverses resolved, and what they cannot resolve
    simplified inside."""
    steps = _derivatives(node, symbols, setting)
    node = _end(node, steps)
    known = _all_symbols(node, symbols)
    for _ in range(_ROUNDS):
        step = (
            _by_lemmas(node, known, setting)
            or _step(node, everywhere(node, split_product), "inverse of a product", "")
            or (_by_innovations(node, symbols, setting, known) if innovations else None)
        )
        if step is None:
            check_inverses(node)
            return steps + _inside_inverses(node, symbols, setting)
        steps.append(step)
        node = step.after
    raise AssertionError(f"the laws do not terminate on {node!r}")


def _step(before: Node, after: Node | None, law: str, citation: str) -> Step | None:
    return None if after is None or after is before else Step(before, after, law, citation)


def _by_lemmas(node: Node, known: list[Symbols], setting: Setting) -> Step | None:
    there = parts_of(node)
    for one in known:
        for rule in factor_rules(one, setting):
            if rule.left[0] not in there:  # most laws by far
                continue
            step = _step(node, everywhere(node, rule.rewrite), _title(rule.law), rule.law.citation)
            if step:
                return step
    return None


def _by_innovations(node: Node, symbols: Symbols, setting: Setting, known: list[Symbols]) -> Step | None:
    """Lemma 1 on the first inverse it fits; the Riccati pair it introduces joins the known ones."""

    def change(part: Node) -> Node | None:
        found = innovations_of(part, symbols, setting)
        if found is None:
            return None
        if found[1] not in known:
            known.append(found[1])
        return found[0]

    return _step(node, everywhere(node, change), _title(lemma_1), lemma_1.citation)


def _inside_inverses(node: Node, symbols: Symbols, setting: Setting) -> list[Step]:
    """What no lemma inverts (a task-space inertia) is at least simplified inside."""
    steps: list[Step] = []
    open_inverses = [x for x in inverses(node) if not isinstance(x.of, Symbol)]
    for opened in open_inverses:
        for inner in simplify(opened.of, symbols, setting, True).steps:
            changed = Step(Inverse(inner.before), Inverse(inner.after), inner.law, inner.citation)
            steps += _everywhere_in(_end(node, steps), changed)
    return steps


def _derivatives(node: Node, symbols: Symbols, setting: Setting) -> list[Step]:
    """Derivatives of vectors by the product rule, and what it gives in its shortest form."""
    steps: list[Step] = []
    always = [rule for rule in word_rules(symbols, setting, "always") if rule.law is phi_absorbs_shift]
    for partial in (x for x in letters(node) if isinstance(x, Symbol) and x.name in PARTIALS):
        if not setting.constant_axes:
            raise StatementError(f"{partial!r} is known where {SENTENCES['constant_axes']}.")
        before, first = _end(node, steps), differentiated(partial, symbols)
        tidied = _by_rules(expand(first), [*always, *word_rules(symbols, setting, "motion")])
        for step in [Step(partial, first, "product rule", CITATION), *_displayed(first, tidied)]:
            replaced = _everywhere_in(before, Step(partial, step.after, step.law, step.citation))
            if replaced:
                steps.append(replace(replaced[-1], before=_end(node, steps)))
    return steps


def _everywhere_in(node: Node, step: Step) -> list[Step]:
    """A step made to a part of a node wherever it stands."""
    steps: list[Step] = []
    while True:
        new = everywhere(node, lambda part: step.after if part is step.before else None)
        if new is None or new is node:
            return steps
        steps.append(Step(node, new, step.law, step.citation))
        node = new


def _as_polynomial(polynomial: Polynomial, symbols: Symbols, setting: Setting, chosen: tuple[WordRule, ...]) -> Path:
    """One entry per law, applied wherever it matches, until nothing matches. None is X X⁻¹ = I."""
    known = _known_symbols(polynomial, symbols)
    return _by_rules(polynomial, [*(rule for one in known for rule in word_rules(one, setting, "always")), *chosen])


def _by_rules(polynomial: Polynomial, rules: list[WordRule]) -> Path:
    path: Path = []
    for _ in range(_ROUNDS):
        there = {letter for word in polynomial.terms for letter in word}
        for rule in (None, *(rule for rule in rules if rule.letters <= there)):
            after = cancel(polynomial) if rule is None else rule.applied(polynomial)
            if not after.same_as(polynomial):
                path.append((rule.law if rule else None, after))
                polynomial = after
                break
        else:
            return path or [(None, polynomial)]
    raise AssertionError(f"the laws do not terminate on {factor(polynomial)!r}")


def _displayed(node: Node, path: Path) -> list[Step]:
    steps: list[Step] = []
    for law, polynomial in path:
        title, citation = (_title(law), law.citation) if law else ("collecting terms", "")
        steps.append(Step(node, factor(polynomial), title, citation))
        node = steps[-1].after
    return steps


def _title(law: Law) -> str:
    return law.name.replace("_", " ")


def _choices(polynomial: Polynomial, symbols: Symbols, setting: Setting) -> list[tuple[WordRule, ...]]:
    """Nothing, each group of optional laws that fits somewhere, and each two of them."""
    known = _known_symbols(polynomial, symbols)
    rules = [rule for one in known for rule in word_rules(one, setting, "choice")]
    fitting = [rule for rule in rules if any(rule.find(word) for word in polynomial.terms)]
    groups = list(dict.fromkeys(rule.law.group for rule in fitting))
    subsets = [(), *((group,) for group in groups), *combinations(groups, 2)]
    return [tuple(rule for rule in rules if rule.law.group in subset) for subset in subsets]


def _known_symbols(polynomial: Polynomial, symbols: Symbols) -> list[Symbols]:
    """The symbols of every Riccati pair in a polynomial."""
    letters_there = dict.fromkeys(x for word in polynomial.terms for x in word)
    return list(dict.fromkeys(one for letter in letters_there for one in _all_symbols(letter, symbols))) or [symbols]


def _all_symbols(node: Node, symbols: Symbols) -> list[Symbols]:
    """The symbols of every Riccati pair that occurs in a node, the mechanism's own first."""
    pairs = [x.of for x in letters(node) if isinstance(x, Symbol) and len(x.of) >= 2]
    return list(dict.fromkeys([symbols, *(symbols.with_pair(*pair) for pair in pairs)]))


def _grouped(steps: list[Step]) -> list[Step]:
    """A law used several times in a row is one step to a reader."""
    result: list[Step] = []
    for step in steps:
        if result and result[-1].law == step.law:
            result[-1] = Step(result[-1].before, step.after, step.law, step.citation)
        elif step.before is not step.after:
            result.append(step)
    return result
