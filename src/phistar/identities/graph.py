"""A statement applied to its operand, as a hash-consed graph: what is equal is computed once.

The graph is what the cost is counted on and what `sweeps` turns into a program. Terms of a sum that begin with the same
operator are merged (ψa + ψb = ψ(a + b)), which is all it takes for the one-pass forms to come out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from phistar.errors import StatementError
from phistar.identities.factor import factor
from phistar.identities.graph_values import ONE, Apply, Blocks, Bracketed, Operand, Pairing, Solve, Total, Value
from phistar.identities.polynomial import Polynomial, expand, is_memoryless, letters
from phistar.operators.interned import ONE as UNIT
from phistar.operators.interned import collect, times, without_zeros
from phistar.operators.linearized import BRACKETS, MADE, REGRESSOR, TOGETHER, definition, is_narrow, together
from phistar.operators.meanings import DIAGONALS
from phistar.operators.nodes import Adjoint, Identity, Inverse, Node, Product, Sum, Symbol, adjoint, product
from phistar.operators.spaces import FORCES, Space
from phistar.operators.symbols import E_PHI, Symbols
from phistar.operators.two_way import BRANCHING

SHIFTS = ("E_phi", "K", "E_psi")  # ℰφ, and what begins with it
TRANSITION = "transition"
"""The letter for (I − ℰφR)⁻¹, or (N − ℰφR)⁻¹, in graphs; in statements it is an inverse."""


def apply(node: Node, value: Value) -> Value:
    """The graph of node·value."""
    match node:
        case Identity():
            return value
        case Product(factors=factors):
            for item in reversed(factors):
                value = apply(item, value)
            return value
        case Sum(terms=terms):
            assert node.codomain is not None
            return total([(c, apply(term, value)) for c, term in terms], node.codomain)
        case Adjoint(of=Sum() as inner):
            assert node.codomain is not None
            return total([(c, apply(adjoint(term), value)) for c, term in inner.terms], node.codomain)
        case Inverse(of=inner) if not is_memoryless(node):
            step = transition_of(inner)
            if step is None:
                return _solve(inner, value)
            assert node.codomain is not None
            return total([(1 / step.c, _apply_letter(step.letter, value))], node.codomain)
        case Inverse(of=inner) if not isinstance(inner, Symbol):
            return _apply_letter(Inverse(together(inner)), value)
    return _apply_letter(node, value)


@dataclass(frozen=True)
class Transition:
    """N − ℰφR, or its adjoint: `letter` stands for what its inverse does, c times; of a multiple of I, c is that."""

    c: Fraction
    letter: Node


@cache
def transition_of(node: Node) -> Transition | None:
    """What N − ℰφR with memoryless N and R, or its adjoint, is inverted by; None for other operators."""
    for starred, whole in enumerate((expand(node), expand(node).adjoint())):
        own = {word: c for word, c in whole.terms.items() if all(map(is_memoryless, word))}
        steps = {word: c for word, c in whole.terms.items() if word not in own}
        known = all(map(_is_one_step, steps)) and all(_is_of_no_vector(x) for word in own for x in word)
        if not own or not steps or whole.source != FORCES or whole.target != FORCES or not known:
            continue
        c = own[()] if own.keys() == {()} else UNIT
        step = Polynomial({}, FORCES, FORCES)
        for word, d in steps.items():
            first = word[0]
            assert isinstance(first, Symbol)
            opened = expand(Identity(FORCES) if first is E_PHI else product(*_factors(compound(first))[1:]))
            step = step.plus(opened @ Polynomial({word[1:]: UNIT}, FORCES, first.domain), -d / c)
        parts = (factor(step), *(() if own.keys() == {()} else (factor(Polynomial(own, FORCES, FORCES)),)))
        letter = Symbol(TRANSITION, FORCES, FORCES, frozenset({"causal"}), parts)
        return Transition(c, adjoint(letter) if starred else letter)
    return None


def _factors(node: Node) -> tuple[Node, ...]:
    return node.factors if isinstance(node, Product) else (node,)


def _is_one_step(word: tuple[Node, ...]) -> bool:
    """Whether a word is ℰφ, K or ℰψ before memoryless letters."""
    first = word[0]
    begins = isinstance(first, Symbol) and first.name in SHIFTS
    return begins and all(is_memoryless(x) and _is_of_no_vector(x) for x in word[1:])


def _is_of_no_vector(letter: Node) -> bool:
    made = (*BRACKETS, *MADE, REGRESSOR, TOGETHER)
    return not any(x.name in made for x in letters(letter) if isinstance(x, Symbol))


def _solve(inner: Node, value: Value) -> Value:
    assert inner.domain is not None
    matrix = apply(inner, Operand(inner.domain, True))
    scale, value = pull_coefficient(value)
    opened = _write_out(expand(inner))
    symmetric = _terms_of(opened) == _terms_of(opened.adjoint())
    return total([(scale, Solve(matrix, value, inner.domain, symmetric))], inner.domain)


def _write_out(polynomial: Polynomial) -> Polynomial:
    """The polynomial with operators that are taken together written out, and ℰφφ as φ − I."""
    result = Polynomial({}, polynomial.source, polynomial.target)
    for word, c in polynomial.terms.items():
        product = Polynomial({(): UNIT}, polynomial.source, polynomial.source)
        for letter in reversed(word):
            symbol = letter.of if isinstance(letter, Adjoint) else letter
            whole = expand(symbol.of[0]) if isinstance(symbol, Symbol) and symbol.name == TOGETHER else expand(symbol)
            product = (whole if symbol is letter else whole.adjoint()) @ product
        result = result.plus(product, c)
    return _absorb_shifts(result)


def _absorb_shifts(polynomial: Polynomial) -> Polynomial:
    for word, c in polynomial.terms.items():
        names = [getattr(x.of if isinstance(x, Adjoint) else x, "name", "") for x in word]
        at = next((i for i in range(len(word) - 1) if names[i : i + 2] == ["E_phi", "phi"]), None)
        if at is not None:
            rest = {word: -c, (*word[:at], *word[at + 1 :]): c, (*word[:at], *word[at + 2 :]): -c}
            return _absorb_shifts(polynomial + Polynomial(rest, polynomial.source, polynomial.target))
    return polynomial


def _terms_of(polynomial: Polynomial) -> dict[tuple[object, ...], Fraction]:
    """The terms, with what stands under an inverse multiplied out too: φr + rφ̃* and its adjoint are then the same."""
    return {tuple(_meaning(letter) for letter in word): c for word, c in polynomial.terms.items()}


def _meaning(letter: Node) -> object:
    if isinstance(letter, Inverse) and not isinstance(letter.of, Symbol):
        return frozenset(_terms_of(expand(letter.of)).items())
    return letter


def _apply_letter(letter: Node, value: Value) -> Value:
    """Compound letters fall into the shift ℰφ and memoryless ones: K = ℰφG, ℰψ = ℰφ(I − GH), W = E(I − GH); and of
    composite masses C_f = r_b q, C_b = r q, ρ = r q r_b."""
    symbol = letter.of if isinstance(letter, Adjoint) else letter
    if isinstance(letter, Inverse) and isinstance(letter.of, Symbol) and letter.of.name == TOGETHER:
        symbol = letter.of  # an operator made of several, inverted link by link
    if isinstance(symbol, Symbol) and symbol.name in ("K", "E_psi", "W", "C_f", "C_b", "rho", *MADE):
        if symbol.name == "alpha" and symbol is not letter:
            return _pairing(symbol, value)
        parts = compound(symbol)
        return apply(parts if symbol is letter else adjoint(parts), value)
    scale, value = pull_coefficient(value)
    if isinstance(symbol, Symbol) and symbol.name in (*BRACKETS, REGRESSOR, TOGETHER):
        origin = origin_of(symbol)
        if symbol is letter and isinstance(value, Operand) and value.columns and is_by_columns(symbol):
            return total([(scale, origin)], symbol.target) if scale != 1 else origin
        bracketed = Bracketed(letter, origin, value)
        return total([(scale, bracketed)], bracketed.space) if scale != 1 else bracketed
    applied = _pairing(symbol, value) if symbol is not letter and _is_vector(symbol) else Apply(letter, value)
    if _is_vector(letter) and value is not ONE:
        raise StatementError(f"{letter!r} stands to the left of a number made by the same statement; compute it apart.")
    return total([(scale, applied)], applied.space) if scale != 1 else applied


def is_solved_for(letter: Node) -> bool:
    """Whether it is X⁻¹ with a symmetric X that has blocks of several rows; D⁻¹ is made with D."""
    if not isinstance(letter, Inverse) or not isinstance(letter.of, Symbol) or letter.of.name in ("D", *DIAGONALS):
        return False
    whole = expand(letter.of.of[0] if letter.of.name == TOGETHER else letter.of)
    return whole.same_as(whole.adjoint())


def _pairing(symbol: Node, value: Value) -> Pairing:
    return Pairing(apply(symbol, ONE), value)


def _is_vector(node: Node) -> bool:
    return isinstance(node, Symbol) and "vector" in node.traits


def origin_of(symbol: Symbol) -> Value:
    """The vector that a bracket is made from, or the blocks or columns that are taken together."""
    if symbol.name != TOGETHER:
        return apply(symbol.of[0], ONE)
    return apply(symbol.of[0], Operand(symbol.source, True)) if is_by_columns(symbol) else blocks(symbol.of[0])


def is_by_columns(symbol: Symbol) -> bool:
    """Whether an operator that is taken together is made column by column."""
    return symbol.name == TOGETHER and is_narrow(symbol)


def blocks(node: Node) -> Blocks:
    """A memoryless operator as a value of its own."""
    vectors = dict.fromkeys(
        origin_of(x) for x in memoryless_letters(node) if x.name in (*BRACKETS, REGRESSOR, TOGETHER)
    )
    assert node.codomain is not None
    return Blocks(node, tuple(vectors), node.codomain)


def memoryless_letters(node: Node) -> list[Symbol]:
    """The symbols that the blocks of a memoryless operator are made of, once each."""
    found: dict[Symbol, None] = {}
    for word in expand(node).terms:
        for letter in word:
            symbol = letter.of if isinstance(letter, Adjoint | Inverse) else letter
            if not isinstance(symbol, Symbol):
                found |= dict.fromkeys(memoryless_letters(symbol))
                continue
            inner = memoryless_letters(compound(symbol)) if symbol.name in MADE else [symbol]
            found |= dict.fromkeys(inner)
    return list(found)


def compound(symbol: Symbol) -> Node:
    """Definition of a symbol in terms of other symbols."""
    if symbol.name in MADE:
        return definition(symbol, Symbols().with_acceleration(symbol.of[0]))
    if symbol.name in ("C_f", "C_b", "rho"):
        s = Symbols(mass_symbol=symbol.of[0], siblings=BRANCHING in symbol.traits)
        return {"C_f": s.r_b @ s.q, "C_b": s.r @ s.q, "rho": s.r @ s.q @ s.r_b}[symbol.name]
    s = Symbols().with_pair(*symbol.of)
    return {
        "K": lambda: s.E_phi @ s.G,
        "E_psi": lambda: s.E_phi @ (s.I - s.G @ s.axes),
        "W": lambda: s.E @ (s.I - s.G @ s.axes),
    }[symbol.name]()


def pull_coefficient(value: Value) -> tuple[Fraction, Value]:
    """A coefficient in front of a value, so that −x and x share what is computed from x."""
    if isinstance(value, Total) and len(value.terms) == 1:
        return value.terms[0]
    return UNIT, value


def total(terms: Iterable[tuple[Fraction, Value]], space: Space) -> Value:
    """Σ cᵢvᵢ: flat, collected, merged under common operators, led by coefficient 1."""
    collected: dict[Value, Fraction] = {}
    for c, value in terms:
        for inner_c, inner in value.terms if isinstance(value, Total) else ((UNIT, value),):
            for deep_c, deep in inner.terms if isinstance(inner, Total) else ((UNIT, inner),):
                collect(collected, deep, times(times(c, inner_c), deep_c))
    merged = _merge(without_zeros(collected))
    if not merged:
        return Total((), space)
    lead = merged[0][0]
    if len(merged) == 1:
        return merged[0][1] if lead == 1 else Total(tuple(merged), space)
    if lead == 1:
        return Total(tuple(merged), space)
    return Total(((lead, Total(tuple((c / lead, value) for c, value in merged), space)),), space)


def _merge(collected: dict[Value, Fraction]) -> list[tuple[Fraction, Value]]:
    by_letter: dict[object, list[tuple[Fraction, Value]]] = {}
    for value, c in collected.items():
        is_vector = isinstance(value, Apply) and value.argument is ONE
        key: object = value.letter if isinstance(value, Apply | Bracketed) and not is_vector else value
        if isinstance(value, Solve):
            key = value.matrix
        elif isinstance(value, Pairing):
            key = value.argument
        by_letter.setdefault(key, []).append((c, value))
    merged: list[tuple[Fraction, Value]] = []
    for group in by_letter.values():
        if len(group) == 1:
            merged.append(group[0])
            continue
        first = group[0][1]
        if isinstance(first, Pairing):
            vectors = [(c, v.vector) for c, v in group if isinstance(v, Pairing)]
            scale, vector = pull_coefficient(total(vectors, first.vector.space))  # type: ignore[attr-defined]
            merged.append((scale, Pairing(vector, first.argument)))
            continue
        assert isinstance(first, Apply | Bracketed | Solve)
        applied = [(c, v.argument) for c, v in group if isinstance(v, Apply | Bracketed | Solve)]
        inner = total(applied, first.argument.space)  # type: ignore[attr-defined]
        if isinstance(inner, Total) and not inner.terms:
            continue
        scale, inner = pull_coefficient(inner)
        again = Apply(first.letter, inner) if isinstance(first, Apply) else first.with_argument(inner)
        merged.append((scale, again))
    return sorted(merged, key=lambda item: (item[0] < 0, item[1].place))
