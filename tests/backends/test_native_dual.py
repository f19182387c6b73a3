"""Compiled loops differentiated: changes are those of differences, tests and whole numbers stay what they are."""

from math import sqrt

import numpy as np

from phistar.backends.code.native import Arrays
from phistar.backends.code.native_dual import changes, value_functions
from phistar.backends.native_door import bind_call

SCALE = 3.0


def softened(x: float, y: float) -> float:
    """A float of floats, with a branch."""
    if x > y:
        return sqrt(x * x + y * y) / SCALE
    return max(x, 0.1) - abs(y)


def count_up(m: Arrays, n: int, by: float) -> int:
    """A whole number, with arrays changed on the way."""
    found = 0
    for i in range(n):
        m.x[i] *= by
        m.x[i] += softened(m.x[i], by)
        found += 1 if m.x[i] > 0.5 else 0
    return found


def whole(m: Arrays) -> None:
    a, b = m.x[0], m.x[1]
    a, b = b * 2.0, a / (1.0 + b * b)
    count = count_up(m, 3, a if a < b else b)
    m.y[0] = a * b - min(a, m.x[2]) + count
    m.y[1] = -m.x[1] / sqrt(1.0 + a)


FUNCTIONS = (softened, count_up, whole)


def values(x):
    arrays = {"x": np.array(x), "y": np.zeros(2)}
    bind_call(FUNCTIONS, arrays, {})()
    return arrays["y"]


def test_changes_are_those_of_differences():
    made = changes(FUNCTIONS, {}, ("x", "y"))
    functions = (*(f for f in value_functions(FUNCTIONS)), *made)
    for seed in range(20):
        random = np.random.default_rng(seed)
        x, direction = random.uniform(0.2, 2.0, 3), random.normal(size=3)
        arrays = {"x": x.copy(), "y": np.zeros(2), "x_d": direction.copy(), "y_d": np.zeros(2)}
        bind_call(functions, arrays, {})()
        np.testing.assert_allclose(arrays["y"], values(x), rtol=1e-12)
        eps = 1e-6
        expected = (values(x + eps * direction) - values(x - eps * direction)) / (2 * eps)
        np.testing.assert_allclose(arrays["y_d"], expected, rtol=1e-6, atol=1e-8)


def test_in_python_they_are_the_same_functions():
    made = {f.__name__: f for f in changes(FUNCTIONS, {}, ("x", "y"))}
    assert made["softened_d"](2.0, 1.0, 1.0, 0.0) == 2.0 / sqrt(5.0) / SCALE
    assert made["softened_d"](0.05, 1.0, 1.0, 0.5) == -0.5
