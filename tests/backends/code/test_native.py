"""Loops written in Python and compiled do what Python does with them."""

from math import sqrt
from types import FunctionType

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.native import Arrays, Layout, loops_module, wide_range
from phistar.backends.kernels import llvm_text
from phistar.backends.native_door import native

N = 0  # given when the loops are compiled
HALF = 0.5


def length(m: Arrays, row: int) -> float:
    total = 0.0
    for j in range(N):
        total += m.table[row, j] * m.table[row, j]
    return sqrt(total)


def scaled(m: Arrays, row: int, factor: float) -> None:
    for j in range(N):
        m.table[row, j] = m.given[row, j] * factor


def shortened(m: Arrays) -> None:
    """Every row divided by two until it is shorter than 1; how often, and the first that never was longer."""
    m.found[0] = -1.0
    for i in range(N):
        scaled(m, i, 1.0)
        count, small = 0, length(m, i) < 1.0
        while length(m, i) >= 1.0 and not small:
            count += 1
            scaled(m, i, 1.0 / (2 * count) if count < 3 else HALF * min(1.0, max(1e-3, 1.0 / (count * count))))
            if count > 50:
                break
        m.counts[i] = count
        if small and m.found[0] < 0.0:
            m.found[0] = i
    m.counts[0], m.counts[1] = m.counts[1], abs(-m.counts[0]) + (7 // 2) % 2


def by_python(function, size, given):
    """The functions of this module with N as asked for, run by Python."""
    names = {**globals(), "N": size}
    for name in ("length", "scaled"):
        names[name] = FunctionType(globals()[name].__code__, names)
    arrays = Arrays(given=given, table=np.zeros((size, size)), counts=np.zeros(size), found=np.zeros(1))
    FunctionType(function.__code__, names)(arrays)
    return arrays.table, arrays.counts, arrays.found


@pytest.mark.parametrize("size", [3, 8])
def test_compiled_loops_do_what_python_does(size):
    given = np.random.default_rng(size).normal(size=(size, size)) * np.logspace(-2, 1, size)[::-1, None]
    outputs = {"table": (size, size), "counts": (size,), "found": (1,)}
    compiled = native((length, scaled, shortened), {"given": (size, size)}, outputs, {"N": size})
    for made, known in zip(compiled(given.reshape(-1)), by_python(shortened, size, given), strict=True):
        np.testing.assert_allclose(made, known, rtol=1e-14)


def test_arrays_that_came_from_elsewhere_give_the_same():
    compiled = native(
        (length, scaled, shortened), {"given": (3, 3)}, {"table": (3, 3), "counts": (3,), "found": (1,)}, {"N": 3}
    )
    given = np.arange(9.0)
    strided = np.stack([given, given], axis=-1)[:, 0]
    for made, known in zip(compiled(strided), compiled(given), strict=True):
        np.testing.assert_array_equal(made, known)
    with pytest.raises(ps.ShapeError, match="9 entries"):
        compiled(np.zeros(8))


def listing(m: Arrays) -> None:
    m.out[0] = sum([1.0, 2.0])


def stranger(m: Arrays) -> None:
    m.out[0] = unknown_number  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


@pytest.mark.parametrize("function, told", [(listing, r"\[1\.0, 2\.0\]"), (stranger, "unknown_number")])
def test_what_is_not_of_the_language_is_refused_by_name(function, told):
    with pytest.raises(ps.StatementError, match=f"{function.__name__}.*{told}"):
        native((function,), {}, {"out": (1,)}, {})


def unlike(m: Arrays) -> None:
    """What differs from machine to machine, unless it is said: NaN in min and max, whole quotients of negatives."""
    for i in range(4):
        for j in range(4):
            m.least[i, j], m.most[i, j] = min(m.given[i], m.given[j]), max(m.given[i], m.given[j])
    for i in range(-7, 8):
        for j in range(1, 4):
            m.quotients[i + 7, j - 1], m.quotients[i + 7, j + 2] = i // j, i // -j
            m.rests[i + 7, j - 1], m.rests[i + 7, j + 2] = i % j, i % -j


def test_nan_in_min_and_max_and_quotients_of_negatives_are_pythons():
    given = np.array([np.nan, 1.0, -np.inf, 2.0])
    shapes = {"least": (4, 4), "most": (4, 4), "quotients": (15, 6), "rests": (15, 6)}
    known = Arrays(given=given, **{name: np.zeros(shape) for name, shape in shapes.items()})
    unlike(known)
    for name, made in zip(shapes, native((unlike,), {"given": (4,)}, shapes, {})(given), strict=True):
        np.testing.assert_array_equal(made, getattr(known, name), err_msg=name)
    assert np.isnan(known.least).sum() == 4 and known.quotients.min() == -7  # a NaN that comes first, and only that


def floored(m: Arrays) -> None:
    m.out[0] = 7.5 // 2.0


def power(m: Arrays) -> None:
    m.out[0] = 2.0**3


def chained(m: Arrays) -> None:
    m.out[0] = 1.0 if 0.0 < m.out[0] < 1.0 else 0.0


@pytest.mark.parametrize("function, told", [(floored, "7.5 // 2.0"), (power, "3"), (chained, "0.0 < m.out")])
def test_what_would_not_be_kept_is_refused(function, told):
    with pytest.raises(ps.StatementError, match=f"{function.__name__}.*{told}"):
        native((function,), {}, {"out": (1,)}, {})


def plain_sum(m: Arrays) -> None:
    for i in range(m.size[0]):
        m.total[i] = m.given[i] + 1.0


def wide_sum(m: Arrays) -> None:
    for i in wide_range(m.size[0]):
        m.total[i] = m.given[i] + 1.0


def test_where_some_loops_are_over_wide_ranges_the_others_stay_one_turn_at_a_time():
    for functions, notes in (((plain_sum,), 0), ((plain_sum, wide_sum), 1), ((wide_sum,), 0)):
        text = llvm_text(loops_module(functions, {}, Layout({}, ("size",))))
        assert text.count(", !llvm.loop !") == notes
