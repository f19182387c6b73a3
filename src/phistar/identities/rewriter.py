"""The rewriter: from an abstract statement, with no hint, to its cheapest form.

First the statement as written: definitions are filled in, inverses resolved by the factorization lemmas. Then as a
polynomial: the completed rule set brings it to normal form, where equal things are equal, and what remains is factored
again. Laws that only sometimes help (Ω for ψ*H*D⁻¹Hψ) are tried and kept when the counted cost falls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import phistar.identities.applications
import phistar.identities.derivative_laws
import phistar.identities.kinematic_laws
import phistar.identities.riccati
import phistar.identities.smoothing
import phistar.identities.two_way_laws  # noqa: F401 - the modules register their laws
from phistar.errors import StatementError
from phistar.identities.derivation import Derivation
from phistar.identities.factor import factor
from phistar.identities.inverses import (
    check_inverses,
    innovations_of,
    inverses,
    open_inverses,
    split_blocks,
    split_product,
    split_shared_factor,
    split_sum,
)
from phistar.identities.justify import (
    Instance,
    Rewrite,
    Step,
    Uses,
    in_adjoint,
    in_inverse,
    in_product,
    product_of,
    rewrite_once,
    use,
)
from phistar.identities.kinematic_laws import phi_absorbs_shift
from phistar.identities.known_inverses import by_known_inverse
from phistar.identities.law import SENTENCES, Condition, Setting
from phistar.identities.low_rank import split_low_rank
from phistar.identities.made_columns import by_columns, columns_made_once
from phistar.identities.match import WordRule, factor_rules, parts_of, whole_factors, word_rules
from phistar.identities.polynomial import Polynomial, TooManyLetters, TooManyTerms, expand, letters
from phistar.identities.push_through import push_through, split_difference, sum_rules
from phistar.identities.rates import is_unresolved, rate_of
from phistar.identities.recursions import by_recursion
from phistar.identities.reduction import (
    ROUNDS,
    Endless,
    Path,
    all_symbols,
    as_polynomial,
    by_rules,
    known_symbols,
    steps_to_show,
    title_of,
)
from phistar.identities.riccati import articulated_shift_gathered, lemma_1, mixed_congruence
from phistar.identities.statement_cost import cost
from phistar.identities.vector_derivatives import CITATION, differentiate
from phistar.operators.linearized import BRACKETS, PARTIALS, PLACE
from phistar.operators.linearized import partial as by_place
from phistar.operators.nodes import Inverse, Node, Product, Symbol, adjoint
from phistar.operators.rate_letters import GRADIENT, LOG_DET
from phistar.operators.spaces import SCALARS
from phistar.operators.symbols import Symbols


@dataclass(frozen=True, eq=False)
class Form:
    """A form that laws reach: `chosen` names the optional laws on the way, `told` makes the steps."""

    node: Node
    chosen: tuple[str, ...]
    told: Callable[[], tuple[Step, ...]]


@cache
def forms(node: Node, symbols: Symbols, setting: Setting, innovations: bool = True) -> tuple[Form, ...]:
    """The statement as it stands (if sweeps know all of it), with inverses resolved, in normal form, and on from there
    with optional laws; each form once.

    Without `innovations` mass matrices are left to be factored as numbers, which is cheaper for a few links (R87,
    Fig. 4).
    """
    found: dict[Node, Form] = {}
    for form in _reachable_forms(node, symbols, setting, innovations):
        for each in _gather_shifts(form, symbols):
            found.setdefault(each.node, each)
    return tuple(found.values())


def _reachable_forms(node: Node, symbols: Symbols, setting: Setting, innovations: bool) -> Iterator[Form]:
    written = as_written(node, symbols, setting, innovations)
    first = _end(node, written)
    if not _needs_definitions(node):
        yield Form(node, (), tuple)
    yield Form(first, (), lambda: tuple(_group_steps(written)))
    if once := by_columns(first):
        yield Form(once[-1].after, (), lambda: tuple(_group_steps([*written, *once])))
    for form in _squares(first, symbols, setting):
        yield Form(form.node, form.chosen, lambda form=form: tuple(_group_steps([*written, *form.told()])))
    for chosen, path in _paths(first, symbols, setting):
        told = lambda path=path: tuple(_group_steps(written + steps_to_show(first, path)))  # noqa: E731
        form = Form(factor(path[-1][1]), tuple(dict.fromkeys(title_of(rule.law) for rule in chosen)), told)
        yield form
        for node, steps in columns_made_once(form.node):
            more = lambda form=form, steps=steps: tuple(_group_steps([*form.told(), *steps]))  # noqa: E731
            yield Form(node, form.chosen, more)


def _gather_shifts(form: Form, symbols: Symbols) -> Iterator[Form]:
    """A form, and before it the one that has ℰψ for ℰφ − KH: of forms that cost the same the first is taken."""
    law, steps, node = articulated_shift_gathered, [], form.node
    for rule in (rule for one in all_symbols(node, symbols) for rule in whole_factors(law, one)):
        while rule.left[0] in parts_of(node) and (new := rewrite_once(node, rule.rewrite)):
            steps.append(Step(node, new.node, title_of(law), law.citation, new.uses))
            node = new.node
    if steps:
        yield Form(node, form.chosen, lambda: tuple(_group_steps([*form.told(), *steps])))
    yield form


@cache
def simplify(
    node: Node, symbols: Symbols, setting: Setting, matrix: bool = False, innovations: bool = True
) -> Derivation:
    """The derivation of the form of `node` that weighs least under what `setting` says of the mechanism.

    `matrix`: the operator itself is wanted, not its action on one vector. What would run is counted by
    `phistar.sweeps.search`; this is for parts of statements, and where there is no program.
    """
    best = min(forms(node, symbols, setting, innovations), key=lambda form: cost(form.node, matrix))
    return derivation_of(node, best, symbols, setting, matrix)


def derivation_of(node: Node, form: Form, symbols: Symbols, setting: Setting, matrix: bool) -> Derivation:
    return Derivation(node, form.node, form.told, matrix, setting, len(symbols.frames or ("tip",)))


def _paths(node: Node, symbols: Symbols, setting: Setting) -> Iterator[tuple[tuple[WordRule, ...], Path]]:
    """Paths to the normal form, and on with each choice of optional laws; and ψMφ* as it stands, which costs less
    where φ*a is made anyway. Given up: what grows without end, and optional laws that rewrite in circles."""
    with suppress(TooManyTerms, TooManyLetters):
        normal = as_polynomial(expand(node), symbols, setting, ())
        for chosen in _choices(normal[-1][1], symbols, setting):
            with suppress(TooManyTerms, TooManyLetters, *([Endless] if chosen else [])):
                more = as_polynomial(normal[-1][1], symbols, setting, chosen) if chosen else []
                yield chosen, normal + more
                yield from ((chosen, path) for path in _with_sums_cancelled(normal + more, chosen, symbols, setting))
        if any(rule is not None and rule.law is mixed_congruence for rule, _ in normal):
            yield (), as_polynomial(expand(node), symbols, setting, (), without=mixed_congruence)


def _with_sums_cancelled(
    path: Path, chosen: tuple[WordRule, ...], symbols: Symbols, setting: Setting
) -> Iterator[Path]:
    """Further forms, where the inverse of a sum stands beside one of its terms."""
    polynomial = path[-1][1]
    fitting = tuple(rule for rule in sum_rules(polynomial) if any(rule.find(word) for word in polynomial.terms))
    if fitting:
        with suppress(TooManyTerms, TooManyLetters, Endless):
            yield path + as_polynomial(polynomial, symbols, setting, (*chosen, *fitting))


def _squares(node: Node, symbols: Symbols, setting: Setting) -> Iterator[Form]:
    """Forms of x in a number x*Sx: both sides change alike."""
    factors = node.factors if isinstance(node, Product) and node.domain == node.codomain == SCALARS else ()
    right = product_of(factors[len(factors) // 2 + 1 :])
    if len(factors) < 5 or adjoint(right) is not product_of(factors[: len(factors) // 2]):
        return
    core = factors[len(factors) // 2]
    for form in forms(right, symbols, setting):
        told = lambda form=form: tuple(_on_both_sides(step, core) for step in form.told())  # noqa: E731
        yield Form(adjoint(form.node) @ core @ form.node, form.chosen, told)


def _on_both_sides(step: Step, core: Node) -> Step:
    """X*SX = Y*SY from X = Y."""

    def why() -> Uses:
        left = in_product(in_adjoint(step.uses()), product_of(()), core @ step.before)
        return left + in_product(step.uses(), adjoint(step.after) @ core, product_of(()))

    before, after = (adjoint(x) @ core @ x for x in (step.before, step.after))
    return Step(before, after, step.law, step.citation, why)


def _end(node: Node, steps: list[Step]) -> Node:
    return steps[-1].after if steps else node


def _needs_definitions(node: Node) -> bool:
    """Physical quantities have to be expressed in operators even where that is no cheaper."""
    physical = ("J", "mass", "M_i", "C", "C_ref", "g", "Jdot_v", "V", *PARTIALS)
    return any(isinstance(x, Symbol) and (x.name in physical or is_unresolved(x)) for x in letters(node))


def as_written(node: Node, symbols: Symbols, setting: Setting, innovations: bool) -> list[Step]:
    """Definitions filled in, lemmas used as the papers use them, inverses resolved, and what they cannot resolve
    simplified inside."""
    steps = by_product_rule(node, symbols, setting)
    node = _end(node, steps)
    known, idle = all_symbols(node, symbols), defaultdict[object, set[Node]](set)
    for _ in range(10 * ROUNDS):  # one place at a time; second derivatives have hundreds
        opened = open_inverses(node)
        step = (
            _step(node, rewrite_once(node, push_through, idle["push"]), "push-through", "")
            or _step(node, rewrite_once(node, split_difference, idle["difference"]), "matrix inversion lemma", "")
            or _step(node, rewrite_once(node, split_product, idle["product"]), "inverse of a product", "")
            or _step(node, rewrite_once(node, split_shared_factor, idle["shared"]), "inverse of a product", "")
            or _step(node, rewrite_once(node, split_sum, idle["sum"]), "inverse of a sum of inverses", "")
            or _by_lemmas(node, known, setting, idle)
            or (by_known_inverse(node, known, setting) if any(x.domain == x.codomain for x in opened) else None)
            or (_by_innovations(node, symbols, setting, known) if innovations else None)
        )
        if step is None and innovations and opened:
            step = _step(node, rewrite_once(node, split_low_rank), "matrix inversion lemma", "") or _step(
                node, rewrite_once(node, by_recursion), "inverse of a recursion", ""
            )
        if step is None and opened:
            step = _step(node, rewrite_once(node, split_blocks), "inverse of a sum of inverses", "")
        if step is None:
            check_inverses(node)
            inside = _inside_inverses(node, symbols, setting)
            steps += inside
            node = _end(node, inside)
            if not (innovations and inside and any(innovations_of(x, symbols, setting) for x in inverses(node))):
                return steps + _inside_brackets(node, symbols, setting)
            continue
        steps.append(step)
        node = step.after
    raise StatementError(f"The laws do not come to an end on {node!r}; one that was added rewrites in circles.")


def _step(before: Node, after: Rewrite | None, law: str, citation: str) -> Step | None:
    return None if after is None or after.node is before else Step(before, after.node, law, citation, after.uses)


def _by_lemmas(node: Node, known: list[Symbols], setting: Setting, idle: dict[object, set[Node]]) -> Step | None:
    there = parts_of(node)
    for one in known:
        for rule in factor_rules(one, setting):
            if rule.left[0] not in there:  # most laws by far
                continue
            step = _step(node, rewrite_once(node, rule.rewrite, idle[rule]), title_of(rule.law), rule.law.citation)
            if step:
                return step
    return None


def _by_innovations(node: Node, symbols: Symbols, setting: Setting, known: list[Symbols]) -> Step | None:
    """Lemma 1 on the first inverse it fits; the Riccati pair it introduces joins the known ones."""

    def change(part: Node) -> Rewrite | None:
        found = innovations_of(part, symbols, setting)
        if found is None:
            return None
        if found[1] not in known:
            known.append(found[1])
        return found[0]

    return _step(node, rewrite_once(node, change), title_of(lemma_1), lemma_1.citation)


def _inside_inverses(node: Node, symbols: Symbols, setting: Setting) -> list[Step]:
    """Simplify the inside of inverses that no lemma resolves, such as a task-space inertia."""
    steps: list[Step] = []
    for opened in open_inverses(node):
        for inner in simplify(opened.of, symbols, setting, True).steps:
            changed = _inside_inverse(inner)
            steps += _everywhere_in(_end(node, steps), changed)
    return steps


def _inside_brackets(node: Node, symbols: Symbols, setting: Setting) -> list[Step]:
    """Simplify the vectors of brackets apart: the brackets of equal vectors are equal."""
    steps: list[Step] = []
    for letter in (x for x in letters(node) if isinstance(x, Symbol) and x.name in BRACKETS):
        made = letter.of[0]
        if not _needs_definitions(made) or made.domain != SCALARS or _is_named(letter, symbols):
            continue
        after = Symbol(
            letter.name, letter.source, letter.target, letter.traits, (simplify(made, symbols, setting).result,)
        )
        rule = use(Instance("bracket of equal vectors", "", letter, after, "law", ()))
        steps += _everywhere_in(
            _end(node, steps), Step(letter, after, "bracket of equal vectors", "", lambda r=rule: (r,))
        )
    return steps


def _is_named(letter: Symbol, symbols: Symbols) -> bool:
    """Whether a bracket is one of those that the laws name."""
    s = symbols
    return letter in (s.V_tilde, s.V_p_tilde, s.V_J_tilde, s.alpha_p_tilde, s.F_hat)


def _inside_inverse(step: Step) -> Step:
    def why() -> Uses:
        return in_inverse(step.uses(), step.before, step.after)

    return Step(Inverse(step.before), Inverse(step.after), step.law, step.citation, why)


def by_product_rule(node: Node, symbols: Symbols, setting: Setting) -> list[Step]:
    """Derivatives of vectors by the product rule, and what it gives in its shortest form."""
    steps: list[Step] = []
    always = [rule for rule in word_rules(symbols, setting, "always") if rule.law is phi_absorbs_shift]
    for derivative in (x for x in letters(node) if isinstance(x, Symbol) and (x.name in PARTIALS or is_unresolved(x))):
        before, first, needs = _end(node, steps), *_product_rule(derivative, symbols, setting)
        name, citation = _RULES.get(derivative.name, ("product rule", CITATION))
        shorter = word_rules(symbols, setting, "motion") if derivative.name in (*PARTIALS, GRADIENT) else []
        tidied = by_rules(expand(first), [*always, *shorter])
        rule = use(Instance(name, citation, derivative, first, "law", needs))
        product_rule = Step(derivative, first, name, citation, lambda rule=rule: (rule,))
        for step in [product_rule, *steps_to_show(first, tidied)]:
            replaced = _everywhere_in(before, Step(derivative, step.after, step.law, step.citation, step.uses))
            if replaced:
                steps.append(replace(_join_steps(replaced), before=_end(node, steps)))
    return steps


_RULES = {LOG_DET: ("gradient of log det", "RJK91 lemma 1; KJR92 eq. 57")}


def _product_rule(derivative: Symbol, symbols: Symbols, setting: Setting) -> tuple[Node, tuple[Condition, ...]]:
    """Expand a derivative by the product rule; return it with the facts it needs."""
    needs: tuple[Condition, ...] = ("constant_axes",)
    if derivative.name not in (*PARTIALS, GRADIENT):
        return rate_of(derivative, symbols, setting), needs if setting.constant_axes else ()
    if not setting.constant_axes:
        raise StatementError(f"{derivative!r} is known where {SENTENCES['constant_axes']}.")
    if derivative.name == GRADIENT:
        return adjoint(differentiate(by_place(derivative.of[0], PLACE), symbols)), needs
    return differentiate(derivative, symbols), needs


def _everywhere_in(node: Node, step: Step) -> list[Step]:
    """A step made to a part of a node wherever it stands, or its adjoint does."""
    steps: list[Step] = []
    turned = adjoint(step.before)

    def change(part: Node) -> Rewrite | None:
        if part is step.before:
            return Rewrite(step.after, step.uses)
        return Rewrite(adjoint(step.after), lambda: in_adjoint(step.uses())) if part is turned else None

    while True:
        new = rewrite_once(node, change)
        if new is None or new.node is node:
            return steps
        steps.append(Step(node, new.node, step.law, step.citation, new.uses))
        node = new.node


def _join_steps(steps: list[Step]) -> Step:
    """Steps in a row as one."""
    if len(steps) == 1:
        return steps[0]
    first, last = steps[0], steps[-1]
    return Step(first.before, last.after, last.law, last.citation, lambda: tuple(u for s in steps for u in s.uses()))


def _choices(polynomial: Polynomial, symbols: Symbols, setting: Setting) -> list[tuple[WordRule, ...]]:
    """Nothing, each group of optional laws that fits somewhere, and each two of them."""
    known = known_symbols(polynomial, symbols)
    rules = [rule for one in known for rule in word_rules(one, setting, "choice")]
    fitting = [rule for rule in rules if any(rule.find(word) for word in polynomial.terms)]
    groups = list(dict.fromkeys(rule.group for rule in fitting))
    subsets = [(), *((group,) for group in groups), *combinations(groups, 2)]
    return [tuple(rule for rule in rules if rule.group in subset) for subset in subsets]


def _group_steps(steps: list[Step]) -> list[Step]:
    """A law used several times in a row is one step to a reader."""
    result: list[Step] = []
    for step in steps:
        if result and result[-1].law == step.law:
            result[-1] = _join_steps([result[-1], step])
        elif step.before is not step.after:
            result.append(step)
    return result
