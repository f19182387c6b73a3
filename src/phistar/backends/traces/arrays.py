"""Arrays of traced numbers that answer NumPy's functions where those would compare: sign, abs, minimum, maximum, clip.

A function is written with NumPy and phistar's own functions, and run once on such arrays; what it does to them is then
compiled, exported or differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy._core.umath import clip  # type: ignore[attr-defined]

from phistar.backends.traces.trace import Scalar, Tape, Trace, finish


class TracedArray(np.ndarray):
    """An array of objects, traced numbers or floats. Entries are arrays without axes, so that np.sign takes them."""

    def __getitem__(self, key: Any) -> Any:
        return traced(super().__getitem__(key))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, TracedArray) else x for x in inputs]
        chosen = _OWN.get(ufunc) if method == "__call__" else None
        if chosen is None and ufunc not in _KEPT:
            raise TypeError(f"np.{ufunc.__name__} cannot be traced")
        made = chosen(*plain) if chosen else getattr(ufunc, method)(*plain, **options)
        if out is None:
            return traced(made)
        out[0].view(np.ndarray)[...] = made
        return out[0]


def traced(values: Any) -> TracedArray:
    """An array of traced numbers, or one of them, as NumPy code may take it."""
    return np.asarray(values, dtype=object).view(TracedArray)


def record(function: Callable[..., Any], sizes: Sequence[int]) -> Trace:
    """The instructions of a function of vectors that gives an array, or several."""
    tape = Tape()
    made = function(*(traced(tape.inputs((size,))) for size in sizes))
    arrays = made if isinstance(made, list | tuple) else (made,)
    values = [x for array in arrays for x in np.asarray(array).reshape(-1)]
    return finish(tape, [x.item() if isinstance(x, np.ndarray) else x for x in values])


def sign(values: np.ndarray) -> np.ndarray:
    """np.sign for floats and for traced numbers."""
    return _sign(values) if values.dtype == object else np.sign(values)


def _each(on_scalar: Callable[[Scalar], Any], on_float: Callable[[float], float]) -> Callable[..., Any]:
    return np.frompyfunc(lambda x: on_scalar(x) if type(x) is Scalar else on_float(x), 1, 1)


def _smaller(a: Any, b: Any) -> Any:
    """min(a, b), exactly one of them: the weights are 0, ½ or 1."""
    if type(a) is not Scalar and type(b) is not Scalar:
        return min(a, b)
    for x, other in ((a, b), (b, a)):
        if isinstance(x, int | float) and math.isinf(x):
            return other if x > 0 else x
    difference = a - b
    after = difference.sign() if type(difference) is Scalar else float(np.sign(difference))
    return a * (0.5 - 0.5 * after) + b * (0.5 + 0.5 * after)


_sign = _each(Scalar.sign, lambda x: float(np.sign(x)))
_minimum = np.frompyfunc(_smaller, 2, 1)


def _maximum(a: Any, b: Any) -> Any:
    return -_minimum(-np.asarray(a, dtype=object), -np.asarray(b, dtype=object))


_OWN: Mapping[Any, Callable[..., Any]] = {
    np.sign: _sign,
    np.absolute: _each(Scalar.__abs__, abs),
    np.sin: _each(Scalar.sin, math.sin),
    np.cos: _each(Scalar.cos, math.cos),
    np.tan: _each(lambda x: x.sin() / x.cos(), math.tan),
    np.sqrt: _each(Scalar.sqrt, math.sqrt),
    np.positive: lambda x: x,
    np.minimum: _minimum,
    np.maximum: _maximum,
    clip: lambda x, low, high: _minimum(_maximum(x, low), high),
}
_KEPT = {np.add, np.subtract, np.multiply, np.divide, np.negative, np.matmul, np.square, np.power}
