"""Symbols of one's own: a weight, a spring, a metric, a selection of motors; typed by spaces, structure declared."""

from __future__ import annotations

from phistar.errors import StatementError, UnknownNameError
from phistar.operators.nodes import Symbol
from phistar.operators.spaces import (
    BASE_FORCES,
    CLOSURE_FORCES,
    FORCES,
    MOTIONS,
    RATES,
    SCALARS,
    TORQUES,
    Space,
)

OWN = "own"
"""The trait of a symbol that a user declared."""

STRUCTURES = {
    "symmetric": {"symmetric"},
    "positive": {"symmetric", "positive"},
    "block-diagonal": {"memoryless", "causal"},
}


_LOW_RANK = (
    "Low rank is said by factors: L.T @ Y @ L, with Y a positive operator over frames, closures or the base "
    '("TaskMotions" to "TaskForces") and L such as A.J; what is added so is inverted by the matrix inversion lemma.'
)


def own_operator(name: str, source: Space, target: Space, structure: str) -> Symbol:
    """A symbol that maps `source` to `target`; its structure is words of `STRUCTURES`."""
    traits = {OWN}
    if not isinstance(structure, str):
        raise StatementError(f'{name}: structure={structure!r}; it is said in words, e.g. "positive block-diagonal".')
    for word in structure.replace(",", " ").split():
        if word not in STRUCTURES:
            told = f"{name}: {word} is no structure; an operator may be {', '.join(STRUCTURES)}."
            raise StatementError(f"{told} {_LOW_RANK}" if word in ("low", "rank", "low-rank") else told)
        traits |= STRUCTURES[word]
    if "symmetric" in traits and source.dual != target:
        raise StatementError(
            f"{name} maps {source} to {target}, so it cannot be {structure}: only operators between a space and its "
            f"dual ({source} and {source.dual}) are their own adjoint."
        )
    if "memoryless" in traits and not {source.over, target.over} <= {"joints", "links"}:
        raise StatementError(f"{name}: block-diagonal is said over links and joints, and {source} or {target} is not.")
    return Symbol(_spelled(name, source, target), source, target, frozenset(traits))


def own_vector(name: str, space: Space) -> Symbol:
    return Symbol(_spelled(name, SCALARS, space), SCALARS, space, frozenset({OWN, "vector"}))


def _spelled(name: str, source: Space, target: Space) -> str:
    """A name that no built-in has, with what its rows and columns are over."""
    if not name.isidentifier():
        raise StatementError(f"{name!r} is no name of a symbol; a letter and digits, such as S or W_1, are.")
    return f"{OWN} {target.over} {source.over} {name}"


def is_own(symbol: object) -> bool:
    return isinstance(symbol, Symbol) and OWN in symbol.traits


def is_own_vector(symbol: object) -> bool:
    return isinstance(symbol, Symbol) and {OWN, "vector"} <= symbol.traits


def is_flat_operator(symbol: Symbol) -> bool:
    """Whether it is applied as a whole, between task spaces, base and closures; over links and joints it has blocks."""
    if not is_own(symbol) or "memoryless" in symbol.traits or "vector" in symbol.traits:
        return False
    if {symbol.source.over, symbol.target.over} & {"links", "joints"}:
        raise StatementError(
            f"{shown_name(symbol.name)} is a full operator over links or joints, which sweeps do not apply; declare it "
            "block-diagonal if it is, or evaluate the statement with .dense(q)."
        )
    return True


def shown_name(name: str) -> str:
    """The name that the user gave."""
    return name.rpartition(" ")[2] if name.startswith(f"{OWN} ") else name


def space_named(space: str | Space, task: Space) -> Space:
    """A space, or the one that is called so; `task` is that of the algebra's task forces."""
    if isinstance(space, Space):
        return space
    spaces = [FORCES, MOTIONS, TORQUES, RATES, BASE_FORCES, BASE_FORCES.dual, CLOSURE_FORCES, CLOSURE_FORCES.dual]
    known = {each.name: each for each in (*spaces, task, task.dual)}
    if space not in known:
        raise UnknownNameError(f"There is no space {space!r}; there are {', '.join(known)}.")
    return known[space]
