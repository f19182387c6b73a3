"""Derivatives of operators between joints along a direction w, as tables over triples of joints on one way outward.

By the product rule every word of ∂_w(HφXφ*…) has one bracket with w in it, where three ways meet at a link: from the
row, from the column and from w. Each is L(l)φ(l,k)R(k) with memoryless L and R, as in tables over pairs (`tables.py`),
so that a word is f*x~y of a force and two motions at a link l that is the joint's of one of them. 𝓑 of what moves all
that a joint carries, ∂𝓑 = 𝓑(φ*Ψ̇w), is summed over all links that the three carry: a composite's (R87 eqs. 27-29).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product as products

from phistar.errors import StatementError
from phistar.identities.derivative_laws import second_inverse_derivatives
from phistar.identities.graph import blocks
from phistar.identities.kinematic_laws import phi_absorbs_shift
from phistar.identities.law import TREE
from phistar.identities.match import WordRule, word_rules
from phistar.identities.polynomial import Polynomial, Word, expand, is_memoryless, letters
from phistar.identities.rates import rate_of
from phistar.operators.nodes import Adjoint, Node, Symbol, adjoint, product, summation
from phistar.operators.rate_letters import RATE
from phistar.operators.show import text
from phistar.operators.symbols import PHI, Symbols
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import Lowering
from phistar.sweeps.passes import PASSES
from phistar.sweeps.regions import Leg, Meeting, TripleProgram, TripleTable
from phistar.sweeps.tables import near_coefficients

OWN, CARRIES, CARRIED, ABOVE = "own", "carries", "carried", "above"
BRACKET, CORIOLIS = "bracket", "coriolis"
ROW, COLUMN, DIRECTION = range(3)
TILDE, TURNED, HAT = "~", "~*", "^"
KINDS = {"tilde": TILDE, "V_tilde": TILDE, "V_p_tilde": TILDE, "V_J_tilde": TILDE, "hat": HAT, "F_hat": HAT}
Terms = dict[Word, Fraction]


@dataclass(frozen=True)
class Way:
    """A leg as words: see `Leg`."""

    axis: int
    where: str
    left: Word
    right: Word


@dataclass(frozen=True)
class Turn:
    """A bracket with w in a word: what stands before it, its kind (~, ~* or ^), its vector's words, what follows."""

    before: Word
    kind: str
    vector: tuple[tuple[Word, Fraction], ...]
    after: Word


Ways = tuple[Way, Way, Way]
Form = dict[tuple[str, Ways, Node | None], Fraction]
"""Coefficients by kind of meeting, by the three ways, and by the mass of 𝓑."""


def triple_form(node: Node, symbols: Symbols) -> Form:
    """Rates of operators between joints, word by word."""
    rules = _rules(symbols)
    turns = _turns(node, symbols)
    form: Form = {}
    for turn, mass, c in _with_coriolis(turns, symbols.M):
        if mass is not None:
            row, column, along = (_above(word, axis) for axis, word in enumerate(_words(turn)))
            key = CORIOLIS, (row, along, column), _composite(mass, rules)
            form[key] = form.get(key, Fraction(0)) + c
            continue
        ways = [_ways(terms, axis, rules) for axis, terms in _polynomials(turn)]
        for (row, b), (column, d), (along, e) in products(*(x.items() for x in ways)):
            sign, legs = _in_order(turn.kind, (row, column, along))
            if all(way.where != OWN for way in legs):
                raise StatementError(f"{text(node)}: three ways meet at no joint; they are no table over triples.")
            factor = sign * b * c * d * e
            form[BRACKET, legs, None] = form.get((BRACKET, legs, None), Fraction(0)) + factor
    return {key: c for key, c in form.items() if c}


def _rules(symbols: Symbols) -> list[WordRule]:
    """Steps from link to link taken together, and composites."""
    shifts = [rule for rule in word_rules(symbols, TREE, "always") if rule.law is phi_absorbs_shift]
    return [*shifts, *(rule for rule in word_rules(symbols, TREE, "choice") if rule.law.group == "composite")]


def _turns(node: Node, symbols: Symbols) -> dict[Turn, Fraction]:
    found: dict[Turn, Fraction] = {}
    for outer, c in expand(node).terms.items():
        letter = outer[0] if len(outer) == 1 else None
        if not isinstance(letter, Symbol) or letter.name != RATE:
            raise StatementError(f"{text(node)} is no sum of rates of operators between joints.")
        for word, d in expand(rate_of(letter, symbols, TREE)).terms.items():
            turn = _turn(word, letter.of[-1])
            found[turn] = found.get(turn, Fraction(0)) + c * d
    return found


def _turn(word: Word, along: Node) -> Turn:
    """A word around its bracket with w."""
    places = [i for i, letter in enumerate(word) if along in letters(letter)]
    letter = word[places[0]] if len(places) == 1 else None
    bracket = letter.of if isinstance(letter, Adjoint) else letter
    if isinstance(bracket, Symbol) and bracket.name in KINDS and (bracket is letter or KINDS[bracket.name] != HAT):
        vector = expand(bracket.of[0]).terms
        if all(inner[-1] is along and not any(along in letters(x) for x in inner[:-1]) for inner in vector):
            kind = KINDS[bracket.name] if bracket is letter else TURNED
            return Turn(word[: places[0]], kind, tuple((w[:-1], d) for w, d in vector.items()), word[places[0] + 1 :])
    raise StatementError(f"{product(*word)!r} is no product over triples of joints.")


def _with_coriolis(turns: dict[Turn, Fraction], mass: Node) -> Iterator[tuple[Turn, Node | None, Fraction]]:
    """Brackets that are not part of 𝓑(x) = ½((Mx)^ − x~*M − Mx~), and between φ and φ* these (EW21)."""
    left = dict(turns)
    for turn, c in turns.items():
        before, after = turn.before[:-1], turn.after
        if turn.kind != TILDE or turn.before[-1:] != (mass,) or turn not in left:
            continue
        others = {
            Turn(before, TURNED, turn.vector, (mass, *after)): c,
            Turn(before, HAT, tuple(((mass, *word), d) for word, d in turn.vector), after): -c,
        }
        if all(left.get(other) == d for other, d in others.items()) and len(turn.vector) == 1:
            for done in (turn, *others):
                del left[done]
            yield replace(turn, before=before), mass, -2 * c * turn.vector[0][1]
    yield from ((turn, None, c) for turn, c in left.items())


def _words(turn: Turn) -> tuple[Word, Word, Word]:
    """The ways from the link where they meet to the row, the column and the direction."""
    return tuple(adjoint(x) for x in reversed(turn.before)), turn.after, turn.vector[0][0]


def _polynomials(turn: Turn) -> Iterator[tuple[int, Terms]]:
    row, column, _ = _words(turn)
    yield from ((ROW, {row: Fraction(1)}), (COLUMN, {column: Fraction(1)}), (DIRECTION, dict(turn.vector)))


def _above(word: Word, axis: int) -> Way:
    """φ*R, of which what is summed over links depends no further."""
    if word[:1] != (PHI.T,) or not all(map(is_memoryless, word[1:])):
        raise StatementError(f"{product(*word)!r} does not reach all that a joint carries.")
    return Way(axis, ABOVE, (), word[1:])


def _composite(mass: Node, rules: list[WordRule]) -> Node:
    """The composites of links that have this mass: what φMφ* has at each joint."""
    polynomial = expand(product(PHI, mass, PHI.T))
    for rule in rules:
        polynomial = rule.apply(polynomial)
    found = {tuple(x for x in word if x not in (PHI, PHI.T)) for word in polynomial.terms}
    if len(found) != 1:
        raise StatementError(f"{mass!r} has no composites.")
    return product(*found.pop())


def _ways(terms: Terms, axis: int, rules: list[WordRule]) -> dict[Way, Fraction]:
    """Words LφR as what the joint itself has, and what joints have that carry it, or that it carries."""
    polynomial = Polynomial(terms, None, None)
    for rule in rules:
        polynomial = rule.apply(polynomial)
    found: dict[Way, Fraction] = {}

    def add(way: Way, c: Fraction) -> None:
        found[way] = found.get(way, Fraction(0)) + c

    for word, c in polynomial.terms.items():
        places = [i for i, letter in enumerate(word) if not is_memoryless(letter)]
        if len(places) > 1 or any(word[i] not in (PHI, PHI.T) for i in places):
            raise StatementError(f"{product(*word)!r} is no product over pairs of joints.")
        add(Way(axis, OWN, (), tuple(x for x in word if x not in (PHI, PHI.T))), c)
        for at in places:
            add(Way(axis, CARRIED if word[at] is PHI else CARRIES, word[:at], word[at + 1 :]), c)
    return {way: c for way, c in found.items() if c}


def _in_order(kind: str, ways: Ways) -> tuple[int, Ways]:
    """f*x~y of row, column and direction: row*(x~)column, column*(x~)row of x~*, and x^ as x*(row~)column."""
    row, column, along = ways
    force, first, second = {TILDE: (row, along, column), TURNED: (column, along, row), HAT: (along, row, column)}[kind]
    return (1, (force, first, second)) if first.axis < second.axis else (-1, (force, second, first))


# From words to programs


def lower_triples(nodes: Iterable[tuple[str, Node]], symbols: Symbols) -> TripleProgram:
    """The program that makes the sides of rates of operators between joints."""
    stated = {name: triple_form(node, symbols) for name, node in nodes}
    known = {name: triple_form(node, symbols) for name, node in second_inverse_derivatives(symbols).items()}
    forms = {name: _forces_together(form) for name, form in stated.items()}
    parts = dict.fromkeys(x for form in forms.values() for _, legs, mass, _ in form for x in _nodes(legs, mass))
    order = sorted(parts, key=lambda node: len(expand(node).terms))  # what others hold comes first
    program: Program = Lowering({text(node): blocks(node) for node in order}, (), True, ()).program()
    for improve in (*PASSES, near_coefficients):
        program = improve(program)
    made = program.result_names

    def name_of(node: Node | None) -> str:
        return "" if node is None else made[text(node)]

    def meetings(form: list[Together]) -> tuple[Meeting, ...]:
        return tuple(
            Meeting(kind, c, tuple(Leg(w.axis, w.where, name_of(a), name_of(b)) for w, a, b in legs), name_of(mass))  # type: ignore[arg-type]
            for kind, legs, mass, c in form
        )

    exact = {name: name in known and _is_multiple(form, known[name]) for name, form in stated.items()}
    return TripleProgram(program, tuple(TripleTable(name, meetings(form), exact[name]) for name, form in forms.items()))


def _is_multiple(form: Form, other: Form) -> bool:
    return form.keys() == other.keys() and len({c / other[key] for key, c in form.items()}) == 1


Sides = tuple[Way, Node | None, Node]
Together = tuple[str, tuple[Sides, ...], Node | None, Fraction]


def _nodes(legs: tuple[Sides, ...], mass: Node | None) -> list[Node]:
    return [x for x in (*(side for _, *sides in legs for side in sides), mass) if x is not None]


def _forces_together(form: Form) -> list[Together]:
    """Meetings of the same motions, with the forces that come the same way as one."""
    groups: dict[tuple[str, tuple[Way, ...], Node | None], list[tuple[Fraction, Node]]] = {}
    for (kind, ways, mass), c in form.items():
        force = ways[0] if kind == CORIOLIS else replace(ways[0], right=())
        groups.setdefault((kind, (force, *ways[1:]), mass), []).append((c, product(*ways[0].right)))
    result: list[Together] = []
    for (kind, ways, mass), terms in groups.items():
        sides = [(way, product(*way.left) if way.left else None, product(*way.right)) for way in ways[1:]]
        c, right = terms[0] if len(terms) == 1 else (Fraction(1), summation(terms))
        first = ways[0], product(*ways[0].left) if ways[0].left else None, right
        result.append((kind, (first, *sides), mass, c))
    return result
