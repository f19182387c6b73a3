"""Stand-ins for what the step does with long trees, for plants that have none: theirs compiles in less time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from phistar.backends.code.native import Arrays
from phistar.plant.long_moves import LONG_MOVES
from phistar.plant.tree_span import SPANS


def prepare_span(m: Arrays, node: int, h: float) -> bool:
    return False


def make_matrix(m: Arrays, node: int) -> None:
    return


def span_jacobian(m: Arrays, c: int, node: int, body: int, to: int, sign: float) -> None:
    return


def recover_spans(m: Arrays, h: float, impact: int) -> int:
    return 0


def settle_rows(m: Arrays, h: float) -> None:
    return


def write_long(m: Arrays, node: int) -> None:
    return


def move_long(m: Arrays, node: int) -> None:
    return


_INSTEAD = (prepare_span, make_matrix, span_jacobian, recover_spans, settle_rows, write_long, move_long)


def without_long_trees(functions: Sequence[Callable[..., Any]]) -> tuple[Callable[..., Any], ...]:
    """The loops of a step for plants that have no long trees."""
    left_out = {*SPANS, *LONG_MOVES}
    return (*_INSTEAD, *(function for function in functions if function not in left_out))
