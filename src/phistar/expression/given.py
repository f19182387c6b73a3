"""Numbers that a caller names when a statement is evaluated: checked against the symbols they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from phistar.backends.links.link_sizes import space_sizes
from phistar.errors import ShapeError, StatementError, UnknownNameError
from phistar.expression.own_values import own_symbols, vector_rows
from phistar.identities.polynomial import letters
from phistar.model import Model
from phistar.operators.meanings import DIAGONALS
from phistar.operators.nodes import Node, Symbol
from phistar.operators.show import text
from phistar.operators.symbols import Symbols
from phistar.spatial.vectors import leading_axes
from phistar.sweeps.lower import GIVEN

MADE_FROM_RATES = {"a", "b", "b_r", "a0", "V", "C", "Jdot_v", "Psi_dot", "Psi_prime", "B_v", "r_v", "Y", "alpha"}
MADE_FROM_RATES |= {"V_tilde", "V_p_tilde", "V_J_tilde"}
"""Symbols that are functions of θ̇, so that θ̇ has to be given."""


def rows_of(name: str, symbols: Symbols, model: Model) -> int:
    """Entries of a vector (or of a diagonal) that is given by name."""
    space = getattr(symbols, name).codomain
    return 1 if space.over == "scalars" else space_sizes(model, symbols.frames or ())[space.over]


def checked_vectors(node: Node, vectors: Mapping[str, Any], symbols: Symbols, model: Model) -> dict[str, np.ndarray]:
    """The named vectors as arrays (…, rows); a name or shape that does not fit is refused."""
    own = own_symbols(node)
    for name in vectors:
        if name not in GIVEN and name not in own:
            near = get_close_matches(name, GIVEN)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(GIVEN)}."
            raise UnknownNameError(f"{name} is no vector that a statement is given; {hint}")
    rows = {name: vector_rows(symbol, model, symbols.frames or (), 0) for name, symbol in own.items()}
    rows |= {name: rows_of(name, symbols, model) for name in vectors if name not in own}
    checked = {name: model.checked(x, rows[name], name) for name, x in vectors.items()}
    for name in DIAGONALS:
        if name in checked and checked[name].shape[-2:] == (model.nv, model.nv) and model.nv > 1:
            raise ShapeError(f"{name} has shape {checked[name].shape}; it is given as a diagonal, (…, {model.nv}).")
    return checked


def broadcast_vectors(q: np.ndarray, vectors: Mapping[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """q and the vectors over common leading axes."""
    batch = leading_axes({"q": q, **vectors})
    wide = {name: np.broadcast_to(x, (*batch, x.shape[-1])) for name, x in vectors.items()}
    return np.broadcast_to(q, (*batch, q.shape[-1])), wide


def needed_vectors(node: Node) -> set[str]:
    """The names of the vectors that a statement is made from; gravity's is the robot's own."""
    there = {x.name for x in letters(node) if isinstance(x, Symbol)}
    needed = {name for name in GIVEN if name in there and name != "a_g"}
    return needed | ({"v"} if there & MADE_FROM_RATES else set())


def check_all_given(node: Node, vectors: Mapping[str, Any], symbols: Symbols, model: Model) -> None:
    """Refuse a statement some of whose vectors were not given."""
    needed = needed_vectors(node)
    own = {name: symbol for name, symbol in own_symbols(node).items() if "vector" in symbol.traits}
    for name in sorted((needed | set(own)) - set(vectors)):
        rows = vector_rows(own[name], model, symbols.frames or (), 0) if name in own else rows_of(name, symbols, model)
        raise ShapeError(f"{text(node)} needs {name}, (…, {rows}); it was not given.")


def names_its_frames(node: Node) -> bool:
    """Whether every task space of a statement is at frames that have names."""
    spaces = {space for x in letters(node) for space in (x.domain, x.codomain) if space and space.over == "task"}
    return all(space.frames for space in spaces)


def check_frames(node: Node, symbols: Symbols) -> None:
    """Task symbols mean something only at named frames of a robot."""
    if not names_its_frames(node):
        raise StatementError(f"{text(node)} speaks of task frames, but none were named: ps.algebra(model, frames=[…]).")


def check_regular(node: Node, value: np.ndarray, given: tuple[Any, ...]) -> None:
    """Refuse what sweeps mark as singular, as explicit matrices do."""
    if np.all(np.isfinite(value)) or not all(np.all(np.isfinite(np.asarray(x, dtype=float))) for x in given):
        return
    lost = int(np.sum(~np.all(np.isfinite(np.atleast_1d(value)), axis=-1)))
    raise StatementError(
        f"{text(node)} has no value at {lost} of {max(1, int(np.prod(value.shape[:-1])))} configurations: what it "
        "inverts is singular there (a task that loses a direction, for one)."
    )


def checked_closures(q_operator: Any, frames: tuple[str, ...]) -> np.ndarray:
    """Q as a finite array (rows, 6·frames)."""
    columns = 6 * len(frames)
    try:
        operator = np.array(q_operator, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"Q must be an array of real numbers of shape (rows, {columns}).") from None
    if operator.ndim != 2 or operator.shape[1] != columns or not len(operator) or not np.all(np.isfinite(operator)):
        raise ShapeError(
            f"Q has shape {operator.shape}; it takes the motions of {len(frames)} task frame(s), six rows each, to the "
            f"closures', so it must be finite, of shape (rows, {columns})."
        )
    return operator
