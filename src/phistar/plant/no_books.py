"""Stand-ins for the books of a step, which rollouts do not keep: theirs compiles in less time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from phistar.backends.code.native import Arrays
from phistar.plant.step_books import BOOKS


def clear_books(m: Arrays) -> None:
    return


def tell_part(m: Arrays, h: float, impact: int) -> None:
    return


def book_part(m: Arrays) -> None:
    return


def without_books(functions: Sequence[Callable[..., Any]]) -> tuple[Callable[..., Any], ...]:
    """The loops of a step that tells nothing of its work and of who met whom."""
    return (clear_books, tell_part, book_part, *(function for function in functions if function not in BOOKS))
