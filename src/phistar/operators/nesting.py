"""Deeply nested statements are walked on a thread with room, so that no caller's small stack ends the process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, cast

from phistar.errors import StatementError
from phistar.roomy import with_room

SHALLOW = 12
"""Nested operations that a thread with 64 kB of stack can walk; what dynamics is stated in has ten at most."""

Walk = TypeVar("Walk", bound=Callable[..., Any])


def walks(walk: Walk) -> Walk:
    """Decorate a function of a node that recurses over it."""
    return _with_room_for(lambda node: (node,), walk)


def walks_its_node(walk: Walk) -> Walk:
    """Decorate a method, or a function, of what holds a node."""
    return _with_room_for(lambda *given: [each.node for each in given if "node" in getattr(each, "__dict__", ())], walk)


def walks_both_ends(walk: Walk) -> Walk:
    """Decorate a method of a derivation, which goes from one node to another."""
    return _with_room_for(lambda derivation, *_: (derivation.start, derivation.result), walk)


def _with_room_for(nodes: Callable[..., Iterable[Any]], walk: Walk) -> Walk:
    @wraps(walk)
    def door(*given: Any, **named: Any) -> Any:
        if max((node.depth for node in nodes(*given)), default=0) <= SHALLOW:
            return walk(*given, **named)
        try:
            return with_room(lambda: walk(*given, **named))
        except RecursionError:
            raise StatementError("The statement is nested too deep; name a part of it, and derive its parts.") from None

    return cast(Walk, door)
