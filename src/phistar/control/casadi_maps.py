"""A user's `casadi.Function` as arithmetic on arrays: on batches of floats, or on traced numbers to be compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from operator import add, mul, neg, sub, truediv
from typing import Any

import numpy as np

from phistar.errors import ShapeError, StatementError

Walk = Callable[..., tuple[np.ndarray, ...]]


def on_arrays(function: Any) -> Walk:
    """The function with arguments (…, rows) or (…, rows, columns) and results (…, rows, columns): its instructions are
    walked once per call, each on whole arrays."""
    import casadi

    scalar = _scalar_instructions(function)
    names = _names(casadi)
    steps = []
    for k in range(scalar.n_instructions()):
        code = scalar.instruction_id(k)
        if code not in names:
            raise StatementError(f"The CasADi function {scalar.name()} uses operation {code}, which has no NumPy form.")
        constant = scalar.instruction_constant(k) if names[code] == "constant" else None
        steps.append((names[code], scalar.instruction_input(k), scalar.instruction_output(k), constant))
    shapes_in = [scalar.size_in(i) for i in range(scalar.n_in())]
    outputs = [scalar.sparsity_out(i) for i in range(scalar.n_out())]

    def walk(*arrays: Any) -> tuple[np.ndarray, ...]:
        inputs = [_entries(x, shape) for x, shape in zip(arrays, shapes_in, strict=True)]
        work: dict[int, Any] = {}
        found: dict[tuple[int, int], Any] = {}
        for name, source, target, constant in steps:
            if name == "output":
                found[target[0], target[1]] = work[source[0]]
            elif name == "input":
                work[target[0]] = inputs[source[0]][source[1]]
            else:
                work[target[0]] = constant if name == "constant" else _OPERATIONS[name](*(work[i] for i in source))
        batch = np.broadcast_shapes(*(np.shape(x) for x in found.values()))
        return tuple(_dense_output(sparsity, i, found, batch) for i, sparsity in enumerate(outputs))

    return walk


def function_of_state(function: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """A function of q, v and u as it is; of a `casadi.Function` of these three, its first result as a row."""
    library = sys.modules.get("casadi")
    if library is None or not isinstance(function, library.Function):
        return function
    if function.n_in() != 3 or function.n_out() < 1 or function.size2_out(0) != 1:
        raise StatementError(
            f"The CasADi function {function.name()} must be one of columns q, v and u, and give a column: it has "
            f"{function.n_in()} arguments and {function.n_out()} results."
        )
    walk = on_arrays(function)
    return lambda q, v, u: walk(q, v, u)[0][..., 0]


def _scalar_instructions(function: Any) -> Any:
    """The function in scalar instructions (SX) with dense inputs."""
    try:
        scalar = function if function.is_a("SXFunction") else function.expand()
    except (RuntimeError, AttributeError):
        raise StatementError(
            f"{function!r:.100} cannot be written as scalar instructions; give a casadi.Function that expands to SX."
        ) from None
    for i in range(scalar.n_in()):
        if not scalar.sparsity_in(i).is_dense():
            raise ShapeError(f"Input {scalar.name_in(i)} of {scalar.name()} is sparse; make it dense.")
    return scalar


def _entries(array: Any, shape: tuple[int, int]) -> list[Any]:
    """The entries of (…, rows, columns), or of (…, rows) for one column, in CasADi's order: down the columns."""
    array = np.asanyarray(array)
    if shape[1] == 1:
        array = array[..., None]
    if array.shape[-2:] != tuple(shape):
        raise ShapeError(f"The CasADi function takes {shape}; it was given an array of shape {array.shape}.")
    return [array[..., i, j] for j in range(shape[1]) for i in range(shape[0])]


def _dense_output(sparsity: Any, output: int, found: dict[tuple[int, int], Any], batch: tuple[int, ...]) -> np.ndarray:
    rows, columns = sparsity.shape
    entries: dict[tuple[int, int], Any] = {}
    for k, (i, j) in enumerate(zip(sparsity.row(), sparsity.get_col(), strict=True)):
        entries[i, j] = found[output, k]
    zero = np.zeros(batch)
    full = [[np.broadcast_to(entries.get((i, j), zero), batch) for j in range(columns)] for i in range(rows)]
    return np.stack([np.stack(row, axis=-1) for row in full], axis=-2)


def _select(condition: Any, value: Any) -> Any:
    return np.where(condition, value, 0.0)


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "OP_ASSIGN": lambda x: x,
    "OP_ADD": add,
    "OP_SUB": sub,
    "OP_MUL": mul,
    "OP_DIV": truediv,
    "OP_NEG": neg,
    "OP_SQ": lambda x: x * x,
    "OP_TWICE": lambda x: x + x,
    "OP_INV": lambda x: 1.0 / x,
    "OP_SIN": np.sin,
    "OP_COS": np.cos,
    "OP_TAN": np.tan,
    "OP_SQRT": np.sqrt,
    "OP_SIGN": np.sign,
    "OP_FABS": np.abs,
    "OP_FMIN": np.minimum,
    "OP_FMAX": np.maximum,
    "OP_POW": np.power,
    "OP_CONSTPOW": np.power,
    "OP_ASIN": np.arcsin,
    "OP_ACOS": np.arccos,
    "OP_ATAN": np.arctan,
    "OP_ATAN2": np.arctan2,
    "OP_EXP": np.exp,
    "OP_LOG": np.log,
    "OP_SINH": np.sinh,
    "OP_COSH": np.cosh,
    "OP_TANH": np.tanh,
    "OP_LT": np.less,
    "OP_LE": np.less_equal,
    "OP_EQ": np.equal,
    "OP_NE": np.not_equal,
    "OP_NOT": np.logical_not,
    "OP_AND": np.logical_and,
    "OP_OR": np.logical_or,
    "OP_IF_ELSE_ZERO": _select,
    "OP_HYPOT": np.hypot,
}


def _names(casadi: Any) -> dict[int, str]:
    own = {casadi.OP_CONST: "constant", casadi.OP_INPUT: "input", casadi.OP_OUTPUT: "output"}
    return own | {getattr(casadi, name): name for name in _OPERATIONS if hasattr(casadi, name)}
