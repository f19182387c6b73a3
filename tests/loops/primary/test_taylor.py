"""WD89's epsilon algebra: a function run on truncated series gives its own time derivatives."""

import mpmath
import numpy as np
import pytest

import phistar as ps
from phistar.backends.traces.trace import Scalar, Tape
from phistar.loops.primary.taylor import Taylor, taylor_array, time_derivatives

FUNCTIONS = {
    "sin": (np.sin, mpmath.sin),
    "cos": (np.cos, mpmath.cos),
    "tan": (np.tan, mpmath.tan),
    "arcsin": (np.arcsin, mpmath.asin),
    "arccos": (np.arccos, mpmath.acos),
    "arctan": (np.arctan, mpmath.atan),
    "exp": (np.exp, mpmath.exp),
    "log": (np.log, mpmath.log),
    "sqrt": (np.sqrt, mpmath.sqrt),
    "abs": (np.abs, abs),
    "power": (lambda x: x**1.5, lambda x: x ** mpmath.mpf("1.5")),
    "whole power": (lambda x: x**3, lambda x: x**3),
    "negative power": (lambda x: x**-2, lambda x: x**-2),
    "exponent": (lambda x: 2.0**x, lambda x: mpmath.mpf(2) ** x),
    "both": (lambda x: x**x, lambda x: x**x),
    "quotient": (lambda x: (1.0 + x) / (2.0 - x * x), lambda x: (1 + x) / (2 - x * x)),
    "arctan2": (lambda x: np.arctan2(x, 1.0 - x * x), lambda x: mpmath.atan2(x, 1 - x * x)),
    "hypot": (lambda x: np.hypot(x, x - 2.0), lambda x: mpmath.hypot(x, x - 2)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_eight_derivatives_of_a_function_of_a_curve_are_those_of_thirty_digit_arithmetic(name):
    ours, theirs = FUNCTIONS[name]
    path = [0.3, 0.5, -0.7, 0.2, 1.1, -0.4, 0.9, 0.1, -0.6]  # x, ẋ, ẍ, … at t = 0
    with mpmath.workdps(40):

        def curve(t):
            return sum(mpmath.mpf(x) * t**k / mpmath.factorial(k) for k, x in enumerate(path))

        series = mpmath.taylor(lambda t: theirs(curve(t)), 0, len(path) - 1)
        wanted = [float(c * mpmath.factorial(k)) for k, c in enumerate(series)]
    found = np.array(time_derivatives(lambda x: ours(x[0]), *([x] for x in path)))
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12 * np.abs(wanted).max())


def test_functions_of_order_zero_are_plain_functions():
    for ours, _ in FUNCTIONS.values():
        (found,) = time_derivatives(lambda x, f=ours: f(x[0]), [0.3])
        assert found == pytest.approx(float(ours(0.3)), rel=1e-15)


def test_a_batch_is_run_once_and_is_each_of_its_states():
    calls = []

    def function(x):
        calls.append(1)
        return np.stack([np.sin(x[0]) * x[1], np.abs(x[0]) + 2.0])

    rng = np.random.default_rng(0)
    path = rng.normal(size=(3, 4, 5, 2))
    together = time_derivatives(function, *path)
    assert len(calls) == 1
    for index in np.ndindex(4, 5):
        single = time_derivatives(function, *(x[index] for x in path))
        for whole, one in zip(together, single):
            np.testing.assert_allclose(whole[index], one, rtol=1e-15, atol=1e-15)


def test_arrays_times_numbers_are_arrays_of_numbers():
    axis = np.array([1.0, 2.0, -3.0])
    value, rate = time_derivatives(lambda x: x[0] * axis + axis * x[0] - axis / x[0] + (axis - x[0]), [2.0], [3.0])
    np.testing.assert_allclose(value, 4.0 * axis - axis / 2.0 + axis - 2.0)
    np.testing.assert_allclose(rate, 6.0 * axis + 0.75 * axis - 3.0)


def test_constants_may_stand_beside_series_in_an_array():
    def function(x):
        turned = np.cos(np.stack([x[0], 0.5])) + np.sqrt(np.concatenate([x[1:], [4.0]]))
        return np.concatenate([turned, np.stack([np.arctan2(1.0, x[0]), np.arctan2(x[0], 1.0), np.hypot(3.0, x[1])])])

    value, rate = time_derivatives(function, [0.3, 0.7], [1.0, 2.0])
    np.testing.assert_allclose(value, function(np.array([0.3, 0.7])), rtol=1e-15)
    h = 1e-6
    wanted = (function(np.array([0.3 + h, 0.7 + 2 * h])) - function(np.array([0.3 - h, 0.7 - 2 * h]))) / (2 * h)
    np.testing.assert_allclose(rate, wanted, atol=1e-9)


def test_code_that_chooses_a_branch_chooses_it_by_the_value():
    def function(x):
        return x[0] * x[0] if x[0] > 1.0 else -x[0]

    assert [float(x) for x in time_derivatives(function, [2.0], [1.0])] == [4.0, 4.0]
    assert [float(x) for x in time_derivatives(function, [0.5], [1.0])] == [-0.5, -1.0]
    np.testing.assert_array_equal(taylor_array([3.0, 1.0], [0.0, 9.0]) >= 2.0, [True, False])


def test_phistars_functions_run_on_series_too():
    """A frame's velocity, acceleration and jerk; the rate of the mass matrix; the jerk of a free fall of the arm."""
    rng, h = np.random.default_rng(1), 1e-5
    arm = ps.load("puma560")
    q, v, a, jerk = rng.normal(size=(4, 3, arm.nq))

    def position(x):
        return ps.forward_kinematics(arm, x, "tool")[:3, 3]

    _, speed, acceleration, change = time_derivatives(position, q, v, a, jerk)
    jacobian = ps.jacobian(arm, q, "tool")
    np.testing.assert_allclose(speed, np.einsum("kij,kj->ki", jacobian, v)[:, 3:], atol=1e-13)
    wanted = np.einsum("kij,kj->ki", jacobian, a) + ps.jacobian_dot_v(arm, q, v, "tool")
    np.testing.assert_allclose(acceleration, wanted[:, 3:], atol=1e-13)

    def at(t):
        path = q + t * v + t * t / 2 * a + t**3 / 6 * jerk, v + t * a + t * t / 2 * jerk, a + t * jerk
        return time_derivatives(position, *path)[2], ps.mass_matrix(arm, path[0])

    (later, heavier), (earlier, lighter) = at(h), at(-h)
    np.testing.assert_allclose(change, (later - earlier) / (2 * h), atol=1e-6)
    rate = time_derivatives(lambda x: ps.mass_matrix(arm, x), q, v)[1]
    np.testing.assert_allclose(rate, (heavier - lighter) / (2 * h), atol=1e-7)


def test_series_of_traced_numbers_are_recorded():
    tape = Tape()
    x, v = tape.inputs((2,))
    made = np.sin(Taylor([x, v])) * Taylor([x, v])
    assert all(isinstance(c, Scalar) for c in made.coefficients)


def test_what_cannot_be_a_series_is_refused_with_a_sentence():
    with pytest.raises(ps.PhistarError, match="cannot run on Taylor numbers"):
        time_derivatives(lambda x: np.linalg.inv(np.diag(x)), [1.0, 2.0], [0.0, 1.0])
    with pytest.raises(ps.PhistarError, match="not where a batch is"):
        time_derivatives(lambda x: x[0] if x[0] > 0 else -x[0], np.ones((3, 1)), np.ones((3, 1)))
    with pytest.raises(ps.ShapeError, match=r"\(2,\), \(3,\)"):
        time_derivatives(lambda x: x, [1.0, 2.0], [0.0, 1.0, 2.0])
    with pytest.raises(ps.ShapeError, match="plain number"):
        time_derivatives(lambda x: x, 1.0, 2.0)
    with pytest.raises(ps.PhistarError, match="order 1 and 2"):
        Taylor([1.0, 2.0]) * Taylor([1.0, 2.0, 3.0])


def test_what_is_not_numbers_is_refused_with_a_sentence():
    with pytest.raises(ps.ShapeError, match="arrays of numbers"):
        ps.loops.time_derivatives(np.sin, "fast")
    for result in (None, "text"):
        with pytest.raises(ps.PhistarError, match="Write it with NumPy"):
            ps.loops.time_derivatives(lambda x, result=result: result, np.ones(1), np.ones(1))
