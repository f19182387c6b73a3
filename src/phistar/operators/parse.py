"""Statements as text: "J @ inv(mass) @ J.T" to the node it means, with Python's own precedence; nothing is evaluated.

Symbols are named as in `phistar.operators.symbols.NAMES` or written as they are printed (φ, ℳ, 𝒢 …). A refusal is a
sentence, then the statement with the offending part marked.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import NoReturn

from phistar.errors import PhistarError, SpaceError, StatementError, UnknownNameError
from phistar.operators.nodes import Node, adjoint, inverse, product, scale_by, summation
from phistar.operators.show import GLYPHS
from phistar.operators.tokens import HINTS, Statement

LARGEST = 10**12
"""Numbers stay below it, so that no coefficient grows beyond reading."""

# Python reads ℳ as M and 𝒢 as G (it normalizes identifiers), so names are looked up as they were typed.
ALIASES = {glyph: name for name, (glyph, _) in GLYPHS.items() if not glyph.isascii()} | {"Λ": "Lambda"}

Meaning = Node | Fraction


def parse(text: str, meanings: Mapping[str, Node], check_inverse: Callable[[Node], object] | None = None) -> Node:
    """The node that a statement means; `check_inverse` is shown every inverse as it is read, and may refuse it."""
    statement = Statement.of(text)
    tree = statement.tree()
    result = _Reader(statement, meanings, check_inverse).operator(tree)
    if result.domain is None:
        statement.refuse(statement.span(tree), f"Nothing says which space {result!r} acts on; add a factor that does")
    return result


@dataclass(frozen=True)
class _Reader:
    """Walks the tree, kind of node by kind of node; what is not listed is refused."""

    statement: Statement
    meanings: Mapping[str, Node]
    check_inverse: Callable[[Node], object] | None

    def meaning(self, node: ast.expr) -> Meaning:
        match node:
            case ast.Name():
                return self.symbol(node)
            case ast.Constant(value=int() | float()):
                return self.number(Fraction(self.statement.part(node)), node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.meaning(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.scale(Fraction(-1), self.meaning(operand), node)
            case ast.BinOp():
                return self.join(node)
            case ast.Attribute(value=ast.Name(id=robot), attr=name) if f"{robot}.{name}" in self.meanings:
                return self.meanings[f"{robot}.{name}"]
            case ast.Attribute(value=value, attr="T"):
                return adjoint(self.operator(value))
            case ast.Attribute(value=value, attr="inv") | ast.Call(func=ast.Name(id="inv"), args=[value]):
                return self.invert(value)
            case ast.Attribute(value=value):
                span = self.statement.span(value)[1], self.statement.span(node)[1]
                self.statement.refuse(span, "An operator has an adjoint .T and an inverse .inv, nothing else")
            case ast.Call(func=function):
                self.refuse(function, f"{self.statement.part(function)} is not a function; the only one is inv(X)")
        self.refuse(node, "This is not part of a statement; use @ + - * / .T .inv inv(X) and parentheses")

    def operator(self, node: ast.expr) -> Node:
        return self.as_operator(self.meaning(node), node)

    def as_operator(self, found: Meaning, node: ast.expr) -> Node:
        if isinstance(found, Fraction):
            self.refuse(node, "A number only multiplies, as in 2 * M; an operator is expected here (the identity is I)")
        return found

    def symbol(self, node: ast.Name) -> Node:
        typed = self.statement.part(node)
        plain = unicodedata.normalize("NFKC", typed)
        name = ALIASES.get(unicodedata.normalize("NFC", typed)) or ALIASES.get(plain) or typed
        if name in self.meanings:
            return self.meanings[name]
        self.refuse(node, f"There is no symbol {typed}; {self.hint(typed, plain)}", UnknownNameError)

    def hint(self, typed: str, plain: str) -> str:
        near = nearest(plain, self.meanings)
        signs = [HINTS[c] for c in typed if c in HINTS]
        if typed == "inv":
            return "inv is a function, written inv(X)"
        if signs:
            return signs[0]
        return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(self.meanings)}"

    def number(self, value: Fraction, node: ast.expr) -> Fraction:
        if max(abs(value.numerator), value.denominator) > LARGEST:
            self.refuse(node, f"Numbers, as fractions, have numerators and denominators up to {LARGEST:.0e}")
        return value

    def scale(self, factor: Fraction, of: Meaning, node: ast.expr) -> Meaning:
        return self.number(factor * of, node) if isinstance(of, Fraction) else scale_by(factor, of)

    def invert(self, node: ast.expr) -> Node:
        operand = self.operator(node)
        try:
            result = inverse(operand)
            if self.check_inverse and result.domain is not None:
                self.check_inverse(result)
        except PhistarError as error:
            self.refuse(node, str(error), type(error))
        return result

    def join(self, node: ast.BinOp) -> Meaning:
        left, right = self.meaning(node.left), self.meaning(node.right)
        match node.op, left, right:
            case ast.MatMult(), _, _:
                return self.compose(node, self.as_operator(left, node.left), self.as_operator(right, node.right))
            case ast.Add() | ast.Sub(), Fraction(), Fraction():
                return self.number(left + right if isinstance(node.op, ast.Add) else left - right, node)
            case ast.Add() | ast.Sub(), _, _:
                return self.add(node, self.as_operator(left, node.left), self.as_operator(right, node.right))
            case ast.Mult(), Fraction(), _:
                return self.scale(left, right, node)
            case ast.Mult(), _, Fraction():
                return self.scale(right, left, node)
            case ast.Mult(), _, _:
                self.refuse(node, "* multiplies by a number; operators are composed with @")
            case ast.Div(), _, Fraction() if right:
                return self.scale(1 / right, left, node)
            case ast.Div(), _, Fraction():
                self.refuse(node, "This divides by zero")
            case ast.Div(), _, _:
                self.refuse(node.right, "/ divides by a number; the inverse of an operator is inv(X)")
        self.refuse(node, "There are no powers or whole divisions; an inverse is inv(X), a product X @ X")

    def compose(self, node: ast.BinOp, left: Node, right: Node) -> Node:
        try:
            return product(left, right)
        except SpaceError as error:
            self.statement.refuse(self.meeting(node, ast.MatMult), str(error), SpaceError)

    def add(self, node: ast.BinOp, left: Node, right: Node) -> Node:
        sign = 1 if isinstance(node.op, ast.Add) else -1
        try:
            return summation([(1, left), (sign, right)])
        except SpaceError as error:
            self.statement.refuse(self.meeting(node, ast.Add, ast.Sub), str(error), SpaceError)

    def meeting(self, node: ast.BinOp, *operators: type[ast.operator]) -> tuple[int, int]:
        """The two that do not fit: the last factor (or term) of the left operand and the first of the right."""
        left, right = node.left, node.right
        while isinstance(left, ast.BinOp) and isinstance(left.op, operators):
            left = left.right
        while isinstance(right, ast.BinOp) and isinstance(right.op, operators):
            right = right.left
        return self.statement.span(left)[0], self.statement.span(right)[1]

    def refuse(self, node: ast.expr, sentence: str, error: type[PhistarError] = StatementError) -> NoReturn:
        self.statement.refuse(self.statement.span(node), sentence, error)


def nearest(name: str, known: Mapping[str, Node]) -> list[str]:
    """Names that differ in case, or a little."""
    by_lower: dict[str, list[str]] = {}
    for item in known:
        by_lower.setdefault(item.lower(), []).append(item)
    close = get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)
    return [item for lower in close for item in by_lower[lower]][:3]
