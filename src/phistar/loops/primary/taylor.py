"""Truncated Taylor numbers: WD89's epsilon algebra, of any order.

A number c₀ + c₁ε + … + c_kε^k with ε^(k+1) = 0 stands for a function of time, c_i = x^(i)/i!. A position function
written with NumPy and run on arrays of such numbers gives its own time derivatives: "one only has to program the
solution, and change the order of the algebra" (WD89 §2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.errors import PhistarError, ShapeError


def _of_numbers(operation: Callable[[Taylor, Any], Taylor]) -> Callable[[Taylor, Any], Any]:
    """Leaves arrays to NumPy: number · array is an array of numbers."""
    return lambda self, other: NotImplemented if isinstance(other, np.ndarray) else operation(self, other)


@final
class Taylor:
    """Σ c_i ε^i with ε^(order+1) = 0; the coefficients are floats, arrays of one shape (a batch), or traced scalars.

    NumPy treats it as an opaque object, so that functions of object arrays run on it. Comparisons are of c₀.
    """

    __slots__ = ("coefficients",)

    def __init__(self, coefficients: Sequence[Any]) -> None:
        self.coefficients = tuple(coefficients)

    @property
    def value(self) -> Any:
        """c₀."""
        return self.coefficients[0]

    @property
    def order(self) -> int:
        """The highest power of ε kept."""
        return len(self.coefficients) - 1

    def __repr__(self) -> str:
        return f"Taylor({', '.join(str(c) for c in self.coefficients)})"

    def _lift(self, other: Any) -> tuple[Any, ...]:
        """The coefficients of another number of this order."""
        if isinstance(other, Taylor):
            if other.order != self.order:
                raise PhistarError(
                    f"Taylor numbers of order {self.order} and {other.order} do not combine; give both the same order."
                )
            return other.coefficients
        return (other, *[0.0] * self.order)

    # Arithmetic

    @_of_numbers
    def __add__(self, other: Any) -> Taylor:
        return Taylor([a + b for a, b in zip(self.coefficients, self._lift(other), strict=True)])

    __radd__ = __add__

    def __neg__(self) -> Taylor:
        return Taylor([-a for a in self.coefficients])

    def __pos__(self) -> Taylor:
        return self

    @_of_numbers
    def __sub__(self, other: Any) -> Taylor:
        return Taylor([a - b for a, b in zip(self.coefficients, self._lift(other), strict=True)])

    def __rsub__(self, other: Any) -> Taylor:
        return -self + other

    @_of_numbers
    def __mul__(self, other: Any) -> Taylor:
        if not isinstance(other, Taylor):
            return Taylor([a * other for a in self.coefficients])
        a, b = self.coefficients, self._lift(other)
        return Taylor([_convolve(a, b, k) for k in range(len(a))])

    __rmul__ = __mul__

    @_of_numbers
    def __truediv__(self, other: Any) -> Taylor:
        """w = a/b: w_k = (a_k − Σ_{i<k} w_i b_{k−i})/b₀."""
        if not isinstance(other, Taylor):
            return Taylor([a / other for a in self.coefficients])
        a, b, w = self.coefficients, self._lift(other), []
        for k in range(len(a)):
            w.append((a[k] - sum((w[i] * b[k - i] for i in range(k)), 0.0)) / b[0])
        return Taylor(w)

    def __rtruediv__(self, other: Any) -> Taylor:
        return Taylor(self._lift(other)) / self

    def __pow__(self, power: Any) -> Taylor:
        """Whole powers by multiplication, which holds at 0 too; others by w′ a = p a′ w."""
        if isinstance(power, Taylor):
            return (power * self.log()).exp()
        if float(power).is_integer():
            count = int(power)
            result = Taylor(self._lift(1.0))
            for _ in range(abs(count)):
                result = result * self
            return result if count >= 0 else 1.0 / result
        a, w = self.coefficients, [self.coefficients[0] ** power]
        for k in range(1, len(a)):
            total = sum(((power * i - (k - i)) * a[i] * w[k - i] for i in range(1, k + 1)), 0.0)
            w.append(total / (k * a[0]))
        return Taylor(w)

    def __rpow__(self, other: Any) -> Taylor:
        return (self * np.log(other)).exp()

    def __abs__(self) -> Taylor:
        sign = np.sign(self.value)
        return Taylor([sign * a for a in self.coefficients])

    # Order is the order of values, so that code which chooses a branch chooses it as on floats.

    def __lt__(self, other: Any) -> Any:
        return self.value < _value(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= _value(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > _value(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= _value(other)

    # What NumPy's functions call on the entries of an object array

    def conjugate(self) -> Taylor:
        return self

    def sqrt(self) -> Taylor:
        """w² = a: w_k = (a_k − Σ_{0<i<k} w_i w_{k−i})/(2w₀)."""
        a, w = self.coefficients, [np.sqrt(self.coefficients[0])]
        for k in range(1, len(a)):
            w.append((a[k] - sum((w[i] * w[k - i] for i in range(1, k)), 0.0)) / (2.0 * w[0]))
        return Taylor(w)

    def exp(self) -> Taylor:
        """w′ = a′w."""
        a, w = self.coefficients, [np.exp(self.coefficients[0])]
        for k in range(1, len(a)):
            w.append(_integral_coefficient(a, w, k))
        return Taylor(w)

    def log(self) -> Taylor:
        """w′ = a′/a."""
        return self._integral(np.log(self.value), self)

    def _sine_cosine(self) -> tuple[Taylor, Taylor]:
        """s′ = a′c, c′ = −a′s, together."""
        a, s, c = self.coefficients, [np.sin(self.coefficients[0])], [np.cos(self.coefficients[0])]
        for k in range(1, len(a)):
            s_k, c_k = _integral_coefficient(a, c, k), -_integral_coefficient(a, s, k)
            s.append(s_k)
            c.append(c_k)
        return Taylor(s), Taylor(c)

    def sin(self) -> Taylor:
        return self._sine_cosine()[0]

    def cos(self) -> Taylor:
        return self._sine_cosine()[1]

    def tan(self) -> Taylor:
        sine, cosine = self._sine_cosine()
        return sine / cosine

    def arcsin(self) -> Taylor:
        return self._integral(np.arcsin(self.value), (1.0 - self * self).sqrt())

    def arccos(self) -> Taylor:
        return self._integral(np.arccos(self.value), -(1.0 - self * self).sqrt())

    def arctan(self) -> Taylor:
        return self._integral(np.arctan(self.value), 1.0 + self * self)

    def arctan2(self, other: Any) -> Taylor:
        """w′ = (x y′ − y x′)/(x² + y²), y = self."""
        x = Taylor(self._lift(other))
        over = x * x + self * self
        rate = (x._cut() * self._rate() - self._cut() * x._rate()) / over._cut() if self.order else None
        return _antiderivative(np.arctan2(self.value, x.value), rate)

    def hypot(self, other: Any) -> Taylor:
        return (self * self + Taylor(self._lift(other)) ** 2).sqrt()

    def _rate(self) -> Taylor:
        """a′, one order less."""
        return Taylor([k * a for k, a in enumerate(self.coefficients)][1:])

    def _cut(self) -> Taylor:
        return Taylor(self.coefficients[:-1])

    def _integral(self, value: Any, slope: Taylor) -> Taylor:
        """w with w₀ = value and w′ = a′/slope."""
        return _antiderivative(value, self._rate() / slope._cut() if self.order else None)


def _value(number: Any) -> Any:
    return number.value if isinstance(number, Taylor) else number


def _convolve(a: Sequence[Any], b: Sequence[Any], k: int) -> Any:
    return sum((a[i] * b[k - i] for i in range(1, k + 1)), a[0] * b[k])


def _integral_coefficient(a: Sequence[Any], w: Sequence[Any], k: int) -> Any:
    """Coefficient k of ∫a′w: Σ i a_i w_{k−i}/k."""
    return sum((i * a[i] * w[k - i] for i in range(1, k + 1)), 0.0) / k


def _antiderivative(value: Any, rate: Taylor | None) -> Taylor:
    inner = () if rate is None else rate.coefficients
    return Taylor([value, *(c / (k + 1) for k, c in enumerate(inner))])


class TaylorArray(np.ndarray):
    """An array of Taylor numbers and floats, on which NumPy's functions take each entry as what it is.

    Entries are arrays without axes, so that what is stacked from them is such an array again.
    """

    __array_priority__ = 10.0  # type: ignore[assignment]  # beside plain arrays, in np.stack and np.concatenate

    def __getitem__(self, key: Any) -> Any:
        return _taylor_array(super().__getitem__(key))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, TaylorArray) else x for x in inputs]
        if method == "__call__" and ufunc.__name__ in _NAMED:
            made = np.frompyfunc(_function(ufunc.__name__), len(plain), 1)(*plain)
        else:
            made = getattr(ufunc, method)(*plain, **options)
        if out is not None:
            out[0].view(np.ndarray)[...] = made
            return out[0]
        plainly = isinstance(made, bool | np.ndarray) and np.asarray(made).dtype.kind == "b"  # comparisons
        return made if plainly else _taylor_array(made)


_NAMED = {"sin", "cos", "tan", "arcsin", "arccos", "arctan", "exp", "log", "sqrt", "arctan2", "hypot"}


def _function(name: str) -> Callable[..., Any]:
    """The function of one or two entries: Taylor's where one of them is Taylor's, else NumPy's."""

    def function(*entries: Any) -> Any:
        series = [x for x in entries if isinstance(x, Taylor)]
        if not series:
            return getattr(np, name)(*entries)
        first, *others = entries
        return getattr(Taylor(series[0]._lift(first)), name)(*others)

    return function


def _taylor_array(values: Any) -> TaylorArray:
    return np.asarray(values, dtype=object).view(TaylorArray)


def taylor_array(*derivatives: Any) -> TaylorArray:
    """Derivatives x, ẋ, ẍ, … (each (…, n), broadcast) as one array (n,) of Taylor numbers that carry the batch."""
    try:
        arrays = [np.asarray(x, dtype=np.float64) for x in derivatives]
    except (TypeError, ValueError):
        raise ShapeError("The derivatives must be arrays of numbers, (…, n) each.") from None
    try:
        arrays = np.broadcast_arrays(*arrays)
    except ValueError:
        shapes = ", ".join(str(x.shape) for x in arrays)
        raise ShapeError(f"The derivatives have shapes {shapes}, which do not broadcast; give each (…, n).") from None
    if not arrays or arrays[0].ndim == 0:
        raise ShapeError("time_derivatives needs x and its derivatives as arrays (…, n); a plain number was given.")
    result = np.empty(arrays[0].shape[-1], dtype=object)
    for j in range(len(result)):
        result[j] = Taylor([x[..., j] / factorial(k) for k, x in enumerate(arrays)])
    return _taylor_array(result)


def derivatives_of(numbers: Any, order: int, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    """[f, ḟ, f̈, …], each (*batch, *shape), of an array of Taylor numbers (constants among them have no rates)."""
    array = np.asarray(numbers, dtype=object)
    result = [np.zeros((*batch, *array.shape)) for _ in range(order + 1)]
    for index in np.ndindex(*array.shape):
        entry = array[index]
        for k, c in enumerate(entry.coefficients if isinstance(entry, Taylor) else (entry,)):
            result[k][(..., *index)] = c * factorial(k)
    return result


def time_derivatives(function: Callable[[np.ndarray], Any], *path: Any) -> list[Array]:
    """Values and time derivatives of a function along a path.

    [f, ḟ, f̈, …] of f(x(t)) from x, ẋ, ẍ, …; the function is run once, on Taylor numbers (WD89 §2.3).

    Parameters
    ----------
    function : callable
        Of an array (n,), gives an array of any shape; written with NumPy (`np.stack`, `np.sin`, `np.arctan2`,
        `np.sqrt`, @, …).
    *path : (…, n)
        x, ẋ, ẍ, …; as many derivatives as there are.

    Returns
    -------
    list of arrays

    Examples
    --------

    >>> [float(x) for x in ps.loops.time_derivatives(lambda x: x[0] ** 2, [3.0], [1.0], [0.0])]
    [9.0, 6.0, 2.0]
    """
    numbers = taylor_array(*path)
    try:
        made = np.asarray(function(numbers), dtype=object)
        return derivatives_of(made, len(path) - 1, np.broadcast_shapes(*(np.shape(x)[:-1] for x in path)))
    except PhistarError:
        raise
    except (TypeError, AttributeError, ValueError) as problem:
        raise PhistarError(
            f"The function cannot run on Taylor numbers: {problem}. Write it with NumPy functions of real numbers, "
            "building arrays with np.stack or np.concatenate, without np.linalg and float(); it may branch on values "
            "where one state is given, not where a batch is."
        ) from problem
