"""Whether two statements are one operator: both brought to their normal form by laws that define the symbols.

Physical quantities are written in operators, then the completed rules of the defining laws are applied until none fits.
Where both sides end in the same polynomial they are equal; what an inverse is, is proved by multiplying it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

from phistar.errors import StatementError
from phistar.identities.axioms import all_symbols, law_named, order, rules_for
from phistar.identities.completion import TooMany, as_node
from phistar.identities.derivation import Derivation
from phistar.identities.inverses import inverses, open_inverses
from phistar.identities.justify import (
    Rewrite,
    Step,
    Uses,
    in_inverse,
    in_product,
    inverse_on_the_left,
    product_of,
    rewrite_once,
    scale_uses,
    use,
)
from phistar.identities.law import Law, Setting
from phistar.identities.made_columns import opened_brackets
from phistar.identities.match import instance_of
from phistar.identities.normal_form import title_and_citation, to_normal_form, with_numbers_sorted
from phistar.identities.polynomial import Polynomial, TooManyTerms, expand
from phistar.identities.rewriter import as_written, by_product_rule
from phistar.operators.interned import ONE
from phistar.operators.nodes import Identity, Inverse, Node, Symbol, adjoint, inverse
from phistar.operators.symbols import Symbols

DEFINITIONS = (
    *("jacobian", "newton_euler_factorization", "coriolis_forces", "gravity_forces", "jacobian_rate"),
    *("coriolis_forces_of_reference", "link_velocities", "articulated_shift", "free_base_mass_matrix"),
    "spatial_accelerations",
)
"""Laws whose left side is a quantity that the right side says in operators."""


def prove(left: Node, right: Node, symbols: Symbols, setting: Setting) -> Derivation | None:
    """The steps from one side to the other, or None where these laws do not decide."""
    frames = len(symbols.frames or ("tip",))
    if left is right:
        return Derivation(left, right, tuple, False, setting, frames)
    ways = (_by_normal_forms,)
    if _is_inverted(left) or _is_inverted(right):
        ways = (_by_multiplying_back, _by_lemmas, _by_normal_forms, _by_lemmas_at_the_end)
    ways = (_as_they_stand, *ways)
    for way in ways:
        try:
            steps = way(left, right, symbols, setting)
        except (TooMany, TooManyTerms, StatementError):
            continue
        if steps is not None:
            told = tuple(step for step in steps if step.before is not step.after)
            return Derivation(left, right, lambda told=told: told, False, setting, frames)
    return None


def _is_inverted(node: Node) -> bool:
    """Whether something else than D is inverted."""
    return any(not isinstance(x.of, Symbol) or x.of.name != "D" for x in inverses(node))


def _as_they_stand(left: Node, right: Node, symbols: Symbols, setting: Setting) -> list[Step] | None:
    """Quantities and inverses left as letters."""
    return _join(left, right, [[], []], symbols, setting)


def _by_normal_forms(left: Node, right: Node, symbols: Symbols, setting: Setting) -> list[Step] | None:
    """Bring both sides to the polynomial in which no rule applies."""
    sides = [_write_out(side, symbols, setting) for side in (left, right)]
    return _join(left, right, sides, symbols, setting)


def _by_lemmas(left: Node, right: Node, symbols: Symbols, setting: Setting) -> list[Step] | None:
    """The same, with the papers' lemmas used on inverses first, and what stays an inverse brought to normal form."""
    sides = []
    for side in (left, right):
        steps = as_written(side, symbols, setting, True)
        steps += _write_out(_end(side, steps), symbols, setting)
        steps += _normal_inside(_end(side, steps), symbols, setting)
        sides.append(steps)
    return _join(left, right, sides, symbols, setting)


def _by_lemmas_at_the_end(left: Node, right: Node, symbols: Symbols, setting: Setting) -> list[Step] | None:
    """The same, with what inverses make of each other seen first, while they stand as letters."""
    sides = []
    for side in (left, right):
        steps = to_normal_form(side, *rules_for((side,), symbols, setting))[0] if _is_inverted(side) else []
        sides.append(steps + as_written(_end(side, steps), symbols, setting, True))
    return _join(left, right, sides, symbols, setting)


def _join(left: Node, right: Node, sides: list[list[Step]], symbols: Symbols, setting: Setting) -> list[Step] | None:
    ends = [_end(node, steps) for node, steps in zip((left, right), sides, strict=True)]
    differing = as_node(expand(ends[0]).plus(expand(ends[1]), -ONE))  # what both have needs no law
    rules, wild = rules_for((differing,), symbols, setting)
    tails = [with_numbers_sorted(*to_normal_form(end, rules, wild), end) for end in ends]
    normal = [tail[1] for tail in tails]
    if not normal[0].same_as(normal[1]):
        return None
    forward, backward = (steps + tail[0] for steps, tail in zip(sides, tails, strict=True))
    middle = Step(_end(left, forward), _end(right, backward), "collecting terms", "")
    return [*forward, middle, *(_reverse(step) for step in reversed(backward))]


def _by_multiplying_back(left: Node, right: Node, symbols: Symbols, setting: Setting) -> list[Step] | None:
    """X⁻¹ = Y because XY = I: X⁻¹ − Y = (X⁻¹X − I)Y − X⁻¹(XY − I)."""
    if isinstance(right, Inverse) and not isinstance(left, Inverse):
        steps = _by_multiplying_back(right, left, symbols, setting)
        return steps and [_reverse(step) for step in reversed(steps)]
    if not isinstance(left, Inverse) or (isinstance(left.of, Symbol) and left.of.name == "D"):
        return None
    one = Identity(left.of.codomain)
    found = _by_normal_forms(left.of @ right, one, symbols, setting)
    if found is None:
        return None

    def why() -> Uses:
        unit = scale_uses(in_product((u for step in found for u in step.uses()), left, product_of(())), -ONE)
        return (use(inverse_on_the_left(left.of), None, right), *unit)

    laws = [step.law for step in found if step.law != "collecting terms"]
    title = "multiplying back, by " + ", ".join(dict.fromkeys(laws)) if laws else "multiplying back"
    cited = dict.fromkeys(part for step in found for part in step.citation.split("; ") if part)
    return [Step(left, right, title, "; ".join(cited), why)]


# Definitions


def _write_out(node: Node, symbols: Symbols, setting: Setting) -> list[Step]:
    """Derivatives by the product rule, then physical quantities in operators, one after the other."""
    steps = by_product_rule(node, symbols, setting)
    node = _end(node, steps)
    known = _definitions(tuple(all_symbols(node, symbols))) | opened_brackets(node)
    while (new := rewrite_once(node, lambda part: known[part][1] if part in known else None)) is not None:
        law = next(known[part][0] for part in _parts(node) if part in known)
        steps.append(Step(node, new.node, *title_and_citation(law), new.uses))
        node = new.node
    return steps


@cache
def _definitions(sets: tuple[Symbols, ...]) -> dict[Node, tuple[Law, Rewrite]]:
    known: dict[Node, tuple[Law, Rewrite]] = {}
    for one in sets:
        for law in (law_named(name) for name in DEFINITIONS):
            left, right = law.sides(one)
            plain, turned = (use(instance_of(law, left, right), flipped=flipped) for flipped in (False, True))
            known.setdefault(left, (law, Rewrite(right, partial(tuple, (plain,)))))
            known.setdefault(adjoint(left), (law, Rewrite(adjoint(right), partial(tuple, (turned,)))))
    return known


def _parts(node: Node) -> Iterator[Node]:
    """The places that `rewritten` comes to, in its order."""
    found: list[Node] = []
    rewrite_once(node, found.append)
    yield from found


def _normal_inside(node: Node, symbols: Symbols, setting: Setting) -> list[Step]:
    """Inverses that stay, with their insides in normal form, inner ones first."""
    steps: list[Step] = []
    for opened in open_inverses(node):
        rules = rules_for((opened.of,), symbols, setting)
        inner, polynomial = to_normal_form(opened.of, *rules)
        canonical = as_node(_sort_terms(polynomial))
        why = partial(_uses_inside, inner, opened.of, canonical)
        changed = Rewrite(inverse(canonical), why)
        here = _end(node, steps)
        new = rewrite_once(here, lambda part, o=opened, c=changed: c if part is o and c.node is not o else None)
        if new is not None:
            laws = dict.fromkeys(step.law for step in inner)
            steps.append(Step(here, new.node, ", ".join(laws) or "collecting terms", "", new.uses))
    return steps


def _uses_inside(steps: list[Step], old: Node, new: Node) -> Uses:
    return in_inverse((u for step in steps for u in step.uses()), old, new)


def _sort_terms(polynomial: Polynomial) -> Polynomial:
    terms = {word: polynomial.terms[word] for word in sorted(polynomial.terms, key=order)}
    return Polynomial(terms, polynomial.source, polynomial.target)


def _end(node: Node, steps: list[Step]) -> Node:
    return steps[-1].after if steps else node


def _reverse(step: Step) -> Step:
    return Step(step.after, step.before, step.law, step.citation, lambda: scale_uses(step.uses(), -ONE))
