"""Quintic splines: through their points, at rest at the ends, smooth between, and the same when traced."""

import numpy as np
import pytest

import phistar as ps
from phistar.control.splines import through

RNG = np.random.default_rng(3)
POINTS, WEIGHTS = RNG.normal(size=(5, 3)), RNG.uniform(0.5, 2, 4)
SPLINE = through(POINTS, WEIGHTS).stretched(3.0)


def test_it_goes_through_its_points_and_rests_at_the_ends():
    assert np.allclose(SPLINE(SPLINE.breaks), POINTS, rtol=0, atol=1e-12)
    assert np.isclose(SPLINE.duration, 3.0, rtol=1e-15)
    for order in (1, 2):
        assert np.allclose(SPLINE(np.array([-1.0, 0.0, 3.0, 9.0]), order), 0.0, atol=1e-10)
    assert np.allclose(SPLINE([-1.0, 9.0]), POINTS[[0, -1]], atol=1e-12)


def test_between_two_points_it_is_the_curve_of_least_jerk():
    s, t = through([[0.0], [2.0]], np.ones(1)), np.linspace(0, 1, 11)
    assert np.allclose(s(t)[:, 0], 2 * (10 * t**3 - 15 * t**4 + 6 * t**5), atol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_are_derivatives_and_continuous(order):
    t, h = np.linspace(0.01, 2.99, 97), 1e-5
    slopes = (SPLINE(t + h, order - 1) - SPLINE(t - h, order - 1)) / (2 * h)
    assert np.allclose(SPLINE(t, order), slopes, rtol=0, atol=1e-6 * np.abs(slopes).max())
    inner = SPLINE.breaks[1:-1]
    assert np.allclose(SPLINE(inner - 1e-9, order), SPLINE(inner + 1e-9, order), atol=1e-4)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_extremes_bound_every_sample_and_are_reached(order):
    low, high = SPLINE.extremes(order)
    values = SPLINE(np.linspace(0, 3, 20001), order)
    assert np.all(values.min(axis=0) >= low - 1e-12) and np.all(values.max(axis=0) <= high + 1e-12)
    assert np.allclose(values.min(axis=0), low, rtol=1e-4, atol=1e-6)
    assert np.allclose(values.max(axis=0), high, rtol=1e-4, atol=1e-6)


def test_slower_by_k_divides_the_derivatives_by_powers_of_k():
    slow = SPLINE.stretched(2.0)
    for order in range(4):
        assert np.allclose(slow(2 * 1.1, order), SPLINE(1.1, order) / 2**order, rtol=1e-12)


def test_it_compiles_to_the_same_numbers():
    compiled = ps.compile(lambda t, q: SPLINE(t, 1) + 0.0 * q[0], ps.load("puma560"))
    t = np.linspace(-0.5, 3.5, 41)
    assert np.allclose(compiled(t, np.zeros((41, 6))), SPLINE(t, 1), atol=1e-12)
