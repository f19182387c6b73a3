"""Symbols of one's own: a weight, a spring, a metric, a selection of motors; typed by spaces, structure declared."""

from __future__ import annotations

from phistar.errors import StatementError, UnknownNameError
from phistar.operators.nodes import Node, Symbol, adjoint, product
from phistar.operators.spaces import (
    BASE_FORCES,
    CLOSURE_FORCES,
    FORCES,
    MOTIONS,
    RANKS,
    RATES,
    SCALARS,
    TORQUES,
    Space,
    coordinates,
)

OWN = "own"
"""The trait of a symbol that a user declared."""

STRUCTURES = {
    "symmetric": {"symmetric"},
    "positive": {"symmetric", "positive"},
    "block-diagonal": {"memoryless", "causal"},
}

ROOT = "root"
"""The trait of L in X = L*L, an operator of low rank that is given by L or by X."""


def own_operator(name: str, source: Space, target: Space, structure: str, rank: int | None = None) -> Node:
    """A symbol that maps `source` to `target`; its structure is words of `STRUCTURES`. With a rank it is L*L, where L
    maps the source to as many coordinates."""
    traits = {OWN}
    if not isinstance(structure, str):
        raise StatementError(f'{name}: structure={structure!r}; it is said in words, e.g. "positive block-diagonal".')
    words = structure.replace(",", " ").replace("low rank", "low-rank").split()
    if "low-rank" in words or rank is not None:
        return _of_low_rank(name, source, target, words, rank)
    for word in words:
        if word not in STRUCTURES:
            raise StatementError(
                f"{name}: {word} is no structure; an operator may be {', '.join(STRUCTURES)} or low rank."
            )
        traits |= STRUCTURES[word]
    if "symmetric" in traits and source.dual != target:
        raise StatementError(
            f"{name} maps {source} to {target}, so it cannot be {structure}: only operators between a space and its "
            f"dual ({source} and {source.dual}) are their own adjoint."
        )
    if "memoryless" in traits and not {source.over, target.over} <= {"joints", "links"}:
        raise StatementError(f"{name}: block-diagonal is said over links and joints, and {source} or {target} is not.")
    return Symbol(_spell(name, source, target), source, target, frozenset(traits))


def _of_low_rank(name: str, source: Space, target: Space, words: list[str], rank: int | None) -> Node:
    """X = L*L of a positive X."""
    if sorted(words) != ["low-rank", "positive"] or source.dual != target:
        raise StatementError(
            f"{name}, {source} to {target}, {' '.join(words)}: low rank is said of positive operators between a space "
            f'and its dual, structure="positive low rank"; any other is a product of two, '
            f'A.operator("U", "R2", "{target.name}") @ A.operator("V", "{source.name}", "R2").'
        )
    if not isinstance(rank, int) or isinstance(rank, bool) or not 1 <= rank <= len(RANKS):
        raise StatementError(
            f"{name}: rank={rank!r}; an operator of low rank has a rank, a whole number from 1 to {len(RANKS)}: "
            'A.operator("X", …, structure="positive low rank", rank=2).'
        )
    through = coordinates(rank)
    factor = Symbol(_spell(name, source, through), source, through, frozenset({OWN, ROOT}))
    return product(adjoint(factor), factor)


def own_vector(name: str, space: Space) -> Symbol:
    return Symbol(_spell(name, SCALARS, space), SCALARS, space, frozenset({OWN, "vector"}))


def _spell(name: str, source: Space, target: Space) -> str:
    """A name that no built-in has, with what its rows and columns are over."""
    if not name.isidentifier():
        raise StatementError(f"{name!r} is no name of a symbol; a letter and digits, such as S or W_1, are.")
    return f"{OWN} {target.over} {source.over} {name}"


def is_own(symbol: object) -> bool:
    return isinstance(symbol, Symbol) and OWN in symbol.traits


def is_own_vector(symbol: object) -> bool:
    return isinstance(symbol, Symbol) and {OWN, "vector"} <= symbol.traits


def is_row_operator(symbol: Symbol) -> bool:
    """Whether it maps between coordinates and the stack of all links or joints: a factor of what has low rank."""
    over = {symbol.source.over, symbol.target.over}
    return is_own(symbol) and bool(over & RANKS.keys()) and bool(over & {"links", "joints"})


def is_flat_operator(symbol: Symbol) -> bool:
    """Whether it is applied as a whole, between task spaces, base and closures; over links and joints it has blocks."""
    if not is_own(symbol) or "memoryless" in symbol.traits or "vector" in symbol.traits:
        return False
    if {symbol.source.over, symbol.target.over} & {"links", "joints"}:
        raise StatementError(
            f"{shown_name(symbol.name)} is a full operator over links or joints, which sweeps do not apply; declare it "
            "block-diagonal or positive low rank if it is, or evaluate the statement with .dense(q)."
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
    known |= {each.name: each for each in map(coordinates, RANKS.values())}
    if space not in known:
        shown = [name for name, each in known.items() if each.over not in RANKS]
        raise UnknownNameError(f"There is no space {space!r}; there are {', '.join(shown)} and R1 to R{len(RANKS)}.")
    return known[space]
