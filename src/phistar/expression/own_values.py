"""Numbers for symbols of one's own: of the right shape, with the structure that was declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from phistar.backends.links.link_sizes import space_sizes
from phistar.backends.operator_inputs import OperatorInput
from phistar.errors import ShapeError, StatementError
from phistar.identities.polynomial import letters
from phistar.model import Model
from phistar.operators.nodes import Node, Symbol
from phistar.operators.own import ROOT, is_own, shown_name
from phistar.operators.spaces import RANKS, SCALARS, Space

_SLACK = 1e-10  # of the largest entry: what rounding leaves of symmetry


def own_symbols(node: Node) -> dict[str, Symbol]:
    """The symbols of one's own in a statement, by the names they were given."""
    return {shown_name(x.name): x for x in letters(node) if is_own(x) and isinstance(x, Symbol)}


def own_operators(node: Node) -> set[str]:
    """The names of those that are operators, given as matrices."""
    return {name for name, symbol in own_symbols(node).items() if symbol.source != SCALARS}


def split_values(node: Node, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values of operators of one's own, and all others."""
    own = own_symbols(node)
    operators = {name: x for name, x in values.items() if name in own and own[name].source != SCALARS}
    return operators, {name: x for name, x in values.items() if name not in operators}


def checked_operators(
    node: Node, values: Mapping[str, Any], known: Mapping[str, Any], model: Model, frames: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Operators by symbol: constants bound before and those given now, each checked; none is missing."""
    result: dict[str, np.ndarray] = dict(known)
    for name, symbol in own_symbols(node).items():
        if symbol.source == SCALARS:
            continue
        if name in values:
            result[symbol.name] = checked_operator(symbol, values[name], model, frames, len(known.get("Q", ())))
        elif symbol.name not in result:
            rows, columns = (_size(x, model, frames, len(known.get("Q", ()))) for x in (symbol.target, symbol.source))
            raise ShapeError(f"The statement needs {name}, ({rows}, {columns}); give it by name: {name}=….")
    return result


def operators_or_inputs(
    node: Node, known: Mapping[str, Any], model: Model, frames: tuple[str, ...]
) -> dict[str, np.ndarray | OperatorInput]:
    """Operators by symbol: constants that are bound, the others as inputs of what is compiled."""
    result: dict[str, np.ndarray | OperatorInput] = dict(known)
    for name, symbol in own_symbols(node).items():
        if symbol.source == SCALARS or symbol.name in result:
            continue
        shape = tuple(_size(x, model, frames, len(known.get("Q", ()))) for x in (symbol.target, symbol.source))
        kept = _on_blocks(symbol, model) if "memoryless" in symbol.traits else np.ones(shape, dtype=bool)
        entries = tuple((int(i), int(j)) for i, j in np.argwhere(kept))
        structure = "symmetric" in symbol.traits, "positive" in symbol.traits
        result[symbol.name] = OperatorInput(name, (shape[0], shape[1]), entries, *structure)
    return result


def checked_operator(symbol: Symbol, value: Any, model: Model, frames: tuple[str, ...], closures: int) -> np.ndarray:
    """The matrix of a symbol, with the structure that was declared of it."""
    name = shown_name(symbol.name)
    if ROOT in symbol.traits:
        value = _root_of(name, value, _size(symbol.source, model, frames, closures), RANKS[symbol.target.over])
    shape = _size(symbol.target, model, frames, closures), _size(symbol.source, model, frames, closures)
    try:
        matrix = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} must be an array of real numbers of shape {shape} for {model.name}.") from None
    if matrix.shape != shape or not np.all(np.isfinite(matrix)):
        raise ShapeError(f"{name} has shape {matrix.shape}; {model.name} needs finite numbers of shape {shape}.")
    size = float(np.abs(matrix).max(initial=0.0))
    if "symmetric" in symbol.traits and np.abs(matrix - matrix.T).max(initial=0.0) > _SLACK * size:
        i, j = np.unravel_index(int(np.abs(matrix - matrix.T).argmax()), shape)
        raise StatementError(
            f"{name} was declared symmetric, but entry ({i}, {j}) is {matrix[i, j]:.6g} and entry ({j}, {i}) is "
            f"{matrix[j, i]:.6g}."
        )
    if "memoryless" in symbol.traits:
        outside = np.abs(matrix) * ~_on_blocks(symbol, model)
        if outside.max(initial=0.0) > 0.0:
            i, j = np.unravel_index(int(outside.argmax()), shape)
            raise StatementError(
                f"{name} was declared block-diagonal, but entry ({i}, {j}) between different links or joints is "
                f"{matrix[i, j]:.6g}."
            )
    if "positive" in symbol.traits and shape[0] and np.linalg.eigvalsh(matrix)[0] <= 0.0:
        lowest = np.linalg.eigvalsh(matrix)[0]
        raise StatementError(f"{name} was declared positive, but its least eigenvalue is {lowest:.6g}.")
    return matrix


def _root_of(name: str, value: Any, size: int, rank: int) -> Any:
    """L of X = L*L, where X was given, of the rank that was declared; whatever else was given as it is."""
    if np.shape(value) != (size, size) or size == rank:
        return value
    matrix = np.array(value, dtype=float)
    largest = float(np.abs(matrix).max(initial=0.0))
    if np.abs(matrix - matrix.T).max(initial=0.0) > _SLACK * largest:
        raise StatementError(f"{name} was declared positive, but is not symmetric.")
    numbers, vectors = np.linalg.eigh(matrix)
    if numbers[0] < -_SLACK * largest:
        raise StatementError(f"{name} was declared positive, but its least eigenvalue is {numbers[0]:.6g}.")
    found = int(np.count_nonzero(numbers > size * _SLACK * largest))
    if found > rank:
        raise StatementError(f"{name} was declared of rank {rank}, but has rank {found}.")
    return np.sqrt(np.maximum(numbers[size - rank :], 0.0))[:, None] * vectors[:, size - rank :].T


def random_values(symbols: Iterable[Symbol], model: Model, frames: tuple[str, ...], rng: Any) -> dict[str, np.ndarray]:
    """Numbers with the structure of each symbol, for trying statements on random mechanisms."""
    result = {}
    for symbol in symbols:
        rows, columns = (_size(x, model, frames, min(3, 6 * len(frames))) for x in (symbol.target, symbol.source))
        matrix = rng.normal(size=(rows, columns))
        if "positive" in symbol.traits:
            matrix = matrix @ matrix.T + np.eye(rows)
        elif "symmetric" in symbol.traits:
            matrix = matrix + matrix.T
        result[symbol.name] = matrix * _on_blocks(symbol, model) if "memoryless" in symbol.traits else matrix
    return result


def vector_rows(symbol: Symbol, model: Model, frames: tuple[str, ...], closures: int) -> int:
    return _size(symbol.target, model, frames, closures)


def _size(space: Space, model: Model, frames: tuple[str, ...], closures: int) -> int:
    return (space_sizes(model, frames) | {"scalars": 1, "closures": closures} | RANKS)[space.over]


def _on_blocks(symbol: Symbol, model: Model) -> np.ndarray:
    """Entries within one link or joint."""
    links = np.repeat(np.arange(len(model.bodies)), 6)
    joints = np.repeat(np.arange(len(model.bodies)), [joint.nv for joint in model.joints])
    at = [links if space.over == "links" else joints for space in (symbol.target, symbol.source)]
    return at[0][:, None] == at[1][None, :]
