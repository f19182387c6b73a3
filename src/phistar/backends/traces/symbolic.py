"""A trace on other scalars: replayed on CasADi's symbols it is a `casadi.Function`, on floats a check of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np

from phistar.backends.traces.trace import ADD, CONST, COS, DIV, INPUT, MUL, NEG, SIGN, SIN, SQRT, SUB, Trace
from phistar.errors import StatementError

_BINARY = {ADD: add, SUB: sub, MUL: mul, DIV: truediv}
_NAMED = {SIN: "sin", COS: "cos", SQRT: "sqrt", SIGN: "sign"}


def replay(trace: Trace, inputs: Sequence[Any], library: Any = np) -> list[Any]:
    """Return the outputs of a trace for inputs of any kind that does arithmetic; arrays of floats are batches. Sines
    and the like are the inputs' own methods, or the library's functions."""
    values: list[Any] = []
    for op, left, right in trace.code:
        if op == INPUT:
            values.append(inputs[left])
        elif op == CONST:
            values.append(left)
        elif op in _BINARY:
            values.append(_BINARY[op](values[left], values[right]))
        else:
            values.append(-values[left] if op == NEG else _call(_NAMED[op], values[left], library))
    chosen = zip(trace.outputs, trace.output_is_constant, strict=True)
    return [value if constant else values[int(value)] for value, constant in chosen]


def _call(name: str, x: Any, library: Any) -> Any:
    return getattr(x, name)() if hasattr(x, name) else getattr(library, name)(x)


def casadi_function(
    name: str,
    trace: Trace,
    arguments: Sequence[tuple[str, int]],
    results: Sequence[tuple[str, tuple[int, ...]]],
) -> Any:
    """A `casadi.Function` of column vectors (rows, 1); results are (rows, columns), (rows, 1) or (1, 1)."""
    import casadi

    for result, shape in results:
        if len(shape) > 2:
            raise StatementError(f"{result} has shape {shape}; CasADi knows matrices, no more than two axes.")
    symbols = [casadi.SX.sym(argument, rows) for argument, rows in arguments]
    values = replay(trace, [symbol[i] for symbol in symbols for i in range(symbol.numel())])
    outputs, start = [], 0
    for _, shape in results:
        rows, columns = (*shape, 1, 1)[:2]
        entries = casadi.vertcat(*values[start : start + rows * columns])
        outputs.append(casadi.reshape(entries, columns, rows).T)  # CasADi counts down columns
        start += rows * columns
    return casadi.Function(name, symbols, outputs, [n for n, _ in arguments], [n for n, _ in results])
