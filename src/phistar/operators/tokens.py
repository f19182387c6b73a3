"""The text of a statement: checked token by token, read into Python's syntax tree, marked where it is refused."""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from dataclasses import dataclass
from typing import NoReturn

from phistar.errors import PhistarError, StatementError

LONGEST = 2000
DEEPEST = 100
"""Limits on characters and on nested operations."""

Span = tuple[int, int]

_TOKEN = re.compile(
    r"""(?P<blank>\ +)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*)
      | (?P<attribute>\.\ *[^\W\d][\w\u0300-\u036f]*)
      | (?P<name>[^\W\d][\w\u0300-\u036f]*)
      | (?P<operator>\*\*|//|[@+*/-])
      | (?P<open>\()
      | (?P<close>\))
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?", re.ASCII)
_TOO_DEEP = f"The statement is nested more than {DEEPEST} operations deep; derive its parts."
_EXAMPLE = "type one such as J @ inv(mass) @ J.T"
HINTS = {
    **dict.fromkeys("^⁻¹", "an inverse is written inv(X) or X.inv"),
    **dict.fromkeys("'ᵀ†", "an adjoint is written X.T"),
    **dict.fromkeys("·×⋅∘", "a product is written X @ Y"),
    "=": "a statement is one expression, without =",
}
"""Suggestions for signs that statements do not have."""


@dataclass(frozen=True)
class Statement:
    """One line of text; spans count its characters."""

    text: str

    @classmethod
    def of(cls, typed: str) -> Statement:
        """The statement as typed, on one line, with the printed minus taken for a hyphen."""
        text = "".join(" " if c.isspace() else "-" if c == "−" else c for c in typed).strip()
        if not text:
            raise StatementError(f"The statement is empty; {_EXAMPLE}.")
        if len(text) > LONGEST:
            raise StatementError(f"The statement has {len(text)} characters, more than {LONGEST}; derive its parts.")
        return cls(text)

    def refuse(self, span: Span, sentence: str, error: type[PhistarError] = StatementError) -> NoReturn:
        """Raise the sentence, then the statement with carets under `span`."""
        shown = "".join(c if c.isprintable() else "�" for c in self.text)
        before, marked = _width(shown[: span[0]]), max(1, _width(shown[slice(*span)]))
        end = "" if sentence.endswith(("?", ".")) else "."
        raise error(f"{sentence}{end}\n  {shown}\n  {' ' * before}{'^' * marked}") from None

    def tree(self) -> ast.expr:
        """Python's syntax tree, of limited depth."""
        self.check()
        try:
            tree = ast.parse(self.text, mode="eval").body
        except SyntaxError:
            self.refuse((0, len(self.text)), f"The statement cannot be read; {_EXAMPLE}")
        except (MemoryError, RecursionError):
            raise StatementError(_TOO_DEEP) from None
        if _depth(tree) > DEEPEST:
            raise StatementError(_TOO_DEEP)
        return tree

    def span(self, node: ast.expr) -> Span:
        """Span of a node in characters (Python counts bytes)."""
        encoded, end = self.text.encode(), node.end_col_offset or node.col_offset
        return len(encoded[: node.col_offset].decode()), len(encoded[:end].decode())

    def part(self, node: ast.expr) -> str:
        return self.text[slice(*self.span(node))]

    def check(self) -> None:
        """Refuse what Python would refuse, in words that do not depend on its version."""
        operand_expected, opened = True, []
        last: re.Match[str] | None = None
        for token in _TOKEN.finditer(self.text):
            kind = token.lastgroup
            if kind == "blank":
                continue
            self.check_token(token)
            begins_operand = kind in ("name", "number", "open")
            if operand_expected and not begins_operand and token.group() not in "+-":
                self.refuse_missing(last, token)
            is_call = kind == "open" and last is not None and last.lastgroup in ("name", "attribute")
            if not operand_expected and begins_operand and last and not is_call:
                self.refuse_adjacent(last, token)
            if kind == "open":
                opened.append(token.span())
                if len(opened) > DEEPEST:
                    raise StatementError(_TOO_DEEP)
            elif kind == "close":
                if not opened:
                    self.refuse(token.span(), "This parenthesis closes nothing")
                opened.pop()
            operand_expected, last = kind in ("operator", "open"), token
        if operand_expected:
            self.refuse_missing(last, None)
        if opened:
            self.refuse(opened[-1], "This parenthesis is never closed")

    def check_token(self, token: re.Match[str]) -> None:
        text, kind = token.group(), token.lastgroup
        unknown = [i for i, c in enumerate(text) if kind == "name" and not f"a{c}".isidentifier()]
        if kind == "other" or unknown:
            start = token.start() + (unknown[0] if unknown else 0)
            sign = self.text[start]
            hint = HINTS.get(sign, "a statement is made of names, numbers, @ + - * / .T .inv and parentheses")
            self.refuse((start, start + 1), f"{sign if sign.isprintable() else repr(sign)} means nothing here; {hint}")
        if kind == "number" and not _NUMBER.fullmatch(text):
            self.refuse(token.span(), f"{text} is not a number; a multiple is written 2 * M")
        if kind == "name" and keyword.iskeyword(text):
            self.refuse(token.span(), f"{text} is a word of Python, not a symbol")

    def refuse_missing(self, last: re.Match[str] | None, token: re.Match[str] | None) -> NoReturn:
        after = f"after {last.group()}" if last else "at the beginning"
        adjoint = "; an adjoint is written X.T" if last and last.group() == "*" else ""
        found = f"not {token.group()}" if token else "but the statement ends"
        marked = last if last and (adjoint or not token) else token
        assert marked is not None
        self.refuse(marked.span(), f"An operand is expected {after}, {found}{adjoint}")

    def refuse_adjacent(self, last: re.Match[str], token: re.Match[str]) -> NoReturn:
        joint = "*" if "number" in (last.lastgroup, token.lastgroup) else "@"
        written = "inv is a function, written inv(X)" if last.group() == "inv" else f"a product is written with {joint}"
        between = f"Nothing stands between {last.group()} and {token.group()}"
        self.refuse((last.start(), token.end()), f"{between}; {written}")


def _depth(tree: ast.AST) -> int:
    """Levels of a tree, counted level by level."""
    level, count = [tree], 0
    while level:
        count += 1
        level = [child for node in level for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return count


def _width(text: str) -> int:
    """Columns of a terminal: none for a combining mark, two for a wide letter."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(bool(unicodedata.combining(c)) for c in text)
