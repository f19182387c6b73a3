"""Operators between joints as tables over pairs of joints: what is left to do of LφR once L and R are memoryless.

A statement's words are brought by the laws of composite bodies to L, LφR and Lφ*R. Since φ = I + φ̃, LφR is a block LR
of each joint with itself and, where joint k carries joint j, L(k)φ(k,j)R(j); Lφ*R is the same across. So the sweeps
have to make memoryless blocks only, a left and a right one for each product; in one common frame φ(k,j) = 1, and a
pair costs six multiplications.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from phistar.errors import StatementError
from phistar.identities.graph import apply, blocks
from phistar.identities.graph_values import operand_of
from phistar.identities.law import TREE
from phistar.identities.match import word_rules
from phistar.identities.polynomial import Word, expand, is_memoryless
from phistar.operators.nodes import Node, Product, Sum, adjoint, product, scale_by, summation
from phistar.operators.show import text
from phistar.operators.symbols import PHI, Symbols
from phistar.sweeps.ir import Move, Plus, Program, Sweep, Table, Term, Times, rebuild
from phistar.sweeps.lower import Lowering
from phistar.sweeps.passes import PASSES, validate

ONE = Fraction(1)
Terms = dict[Word, Fraction]
Sides = tuple[Node, Node]


@dataclass(frozen=True)
class PairForm:
    """An operator between joints as nodes: see `Table`."""

    own: Node
    carries: tuple[Sides, ...]
    carried: tuple[Sides, ...]


def pair_form(node: Node, symbols: Symbols) -> PairForm:
    """The statement with φXφ* by composites, word by word."""
    polynomial = expand(node)
    for rule in word_rules(symbols, TREE, "choice"):
        if rule.law.group == "composite":
            polynomial = rule.apply(polynomial)
    own: Terms = {}
    across: dict[Node, Terms] = {PHI: {}, PHI.T: {}}
    for word, c in polynomial.terms.items():
        places = [i for i, letter in enumerate(word) if not is_memoryless(letter)]
        if len(places) > 1 or any(word[i] not in across for i in places):
            raise StatementError(f"{product(*word)!r} is no product over pairs of joints.")
        plain = tuple(letter for letter in word if letter not in across)
        own[plain] = own.get(plain, Fraction(0)) + c
        if places:
            across[word[places[0]]][word] = c
    return PairForm(_sum(own), _sides(across[PHI]), _sides(across[PHI.T]))


def ratio(left: PairForm, right: PairForm) -> Fraction | None:
    """c where the one is c times the other, product by product."""
    found = [(_words(form.own), [_across(x) for x in (form.carries, form.carried)]) for form in (left, right)]
    flat = [
        {(0, w): c for w, c in own.items()} | {(i + 1, w): c for i, x in enumerate(more) for w, c in x.items()}
        for own, more in found
    ]
    first, second = flat
    if first.keys() != second.keys() or not second:
        return None
    scales = {first[key] / second[key] for key in second}
    return scales.pop() if len(scales) == 1 else None


def _words(node: Node) -> dict[object, Fraction]:
    return {**expand(node).terms}


def _across(pairs: tuple[Sides, ...]) -> dict[object, Fraction]:
    """Words of L*φR, the letters of both sides together."""
    found: dict[object, Fraction] = {}
    for left, right in pairs:
        for a, c in expand(left).terms.items():
            for b, d in expand(right).terms.items():
                found[a, b] = found.get((a, b), Fraction(0)) + c * d
    return found


def _sum(terms: Terms) -> Node:
    """Σ c·w, the first letter apart where all words have it: HX from the X that columns are made of."""
    kept = {word: c for word, c in terms.items() if c}
    first = {word[0] for word in kept}
    if len(first) > 1 or len(kept) == 1:
        return summation([(c, product(*word)) for word, c in kept.items()])
    return product(first.pop(), summation([(c, product(*word[1:])) for word, c in kept.items()]))


def _inside(node: Node) -> tuple[Node, ...]:
    """The X of HX."""
    return (node.factors[1],) if isinstance(node, Product) and isinstance(node.factors[1], Sum) else ()


def _sides(words: Terms) -> tuple[Sides, ...]:
    """Words LφR as few products: those with one L are one."""
    lefts: dict[Word, list[tuple[Fraction, Node]]] = {}
    for word, c in words.items():
        at = next(i for i, letter in enumerate(word) if letter in (PHI, PHI.T))
        lefts.setdefault(word[:at], []).append((c, product(*word[at + 1 :])))
    result = []
    for left, rights in lefts.items():
        if len(rights) == 1:  # the coefficient stands with what is longer
            ((c, right),) = rights
            result.append((adjoint(scale_by(c, product(*left))), right))
        else:
            result.append((adjoint(product(*left)), summation(rights)))
    return tuple(result)


def lower_tables(nodes: dict[str, Node], symbols: Symbols, matrices: dict[str, Node]) -> Program:
    """The program that makes the sides of tables, and beside them whole operators (`matrices`)."""
    forms = {name: pair_form(node, symbols) for name, node in nodes.items()}
    whole = {name: apply(node, operand_of(node, True)) for name, node in matrices.items()}
    parts = [part for form in forms.values() for part in (form.own, *_inside(form.own))]
    parts += [x for form in forms.values() for sides in (*form.carries, *form.carried) for x in sides]
    parts.sort(key=lambda node: len(expand(node).terms))  # what others hold comes first
    roots = {text(node): blocks(node) for node in parts}
    operands = tuple(operand_of(node, True) for node in matrices.values())
    program = Lowering(roots | whole, operands, True, tuple(whole)).program()
    for improve in (*PASSES, near_coefficients):
        program = improve(program)
    made = program.result_names

    def fields(sides: tuple[Sides, ...]) -> tuple[tuple[str, str], ...]:
        return tuple((made[text(left)], made[text(right)]) for left, right in sides)

    tables = [Table(name, made[text(x.own)], fields(x.carries), fields(x.carried)) for name, x in forms.items()]
    return replace(program, tables=tuple(tables))


def near_coefficients(program: Program) -> Program:
    """Sums as they cost least where φ = 1: what neighbours send comes last, equal coefficients are one, and c·(XY) is
    X(cY), since the last factor has fewest numbers."""
    return validate(replace(program, sweeps=tuple(_sum_sent(sweep) for sweep in program.sweeps)))


def _sum_sent(sweep: Sweep) -> Sweep:
    sent = {s.target for s in sweep.statements if isinstance(s.term, Move) and s.term.is_plain}

    def comes_last(item: tuple[Fraction, Term]) -> bool:
        return (isinstance(item[1], Move) and item[1].is_plain) or getattr(item[1], "name", "") in sent

    def near(term: Term) -> Term:
        match term:
            case Plus(terms=terms):
                backward = [*reversed(terms)]
                return _gather([(c, near(part)) for c, part in sorted(backward, key=comes_last)])
            case Times(left=left, right=right):
                return Times(near(left), near(right))
        return rebuild(term, near)

    return Sweep(sweep.direction, tuple(replace(s, term=near(s.term)) for s in sweep.statements))


def _gather(terms: list[tuple[Fraction, Term]]) -> Term:
    groups: dict[Fraction, list[Term]] = {}
    for c, part in terms:
        groups.setdefault(c, []).append(part)
    result: list[tuple[Fraction, Term]] = []
    for c, parts in groups.items():
        if abs(c) == 1:
            result += [(c, part) for part in parts]
        elif len(parts) > 1:
            result.append((c, Plus(tuple((ONE, part) for part in parts))))
        else:
            result.append((ONE if c > 0 else -ONE, _scale_last(abs(c), parts[0])))
    return result[0][1] if len(result) == 1 and result[0][0] == 1 else Plus(tuple(result))


def _scale_last(c: Fraction, term: Term) -> Term:
    return Times(term.left, _scale_last(c, term.right)) if isinstance(term, Times) else Plus(((c, term),))
