"""The band of normalized squares: that of chi-squared, and kept as often as stated."""

import numpy as np
import pytest
from scipy.stats import chi2

import phistar as ps
from phistar.estimation import consistency


def test_the_band_is_that_of_chi_squared():
    found = consistency(np.full((20, 10), 14.0), 14)
    assert found.count == 200 and found.mean == 14.0 and found.consistent
    assert np.allclose((found.low, found.high), chi2.ppf((0.025, 0.975), 14 * 200) / 200, rtol=1e-12)


def test_consistent_filters_are_inside_as_often_as_stated():
    squares = np.random.default_rng(0).chisquare(6, size=(2000, 30))
    inside = np.mean([consistency(row, 6, 0.9).consistent for row in squares])
    assert abs(inside - 0.9) < 4.0 * np.sqrt(0.9 * 0.1 / 2000)
    found = consistency(1.5 * squares, 6)
    assert not found.consistent and found.mean > found.high


def test_measurements_that_are_missing_have_no_degrees_of_freedom():
    rng, T = np.random.default_rng(1), 400
    y = np.zeros((T, 2))
    state = 0.0
    for t in range(T):
        y[t] = state + rng.normal(size=2)
        state += 0.1 * rng.normal()
    y[rng.random(y.shape) < 0.3] = np.nan
    made = ps.estimation.kalman_filter(y, [[1.0]], [[1.0], [1.0]], [[0.01]], np.eye(2), [0.0], [[1e-6]])
    freedom = np.isfinite(made.innovations).sum(axis=1)
    found = consistency(made.nis, freedom, 0.99)
    assert found.consistent and found.count == np.sum(freedom > 0)
    assert not consistency(made.nis, 2, 0.99).consistent


def test_what_is_no_square_gets_a_sentence():
    for squares, freedom, more, said in (
        ([1.0, -1.0], 2, 0.95, "none of them negative"),
        ([np.nan], 2, 0.95, "0 count"),
        ([1.0], 0, 0.95, "above zero"),
        ([1.0, 2.0], [1, 2, 3], 0.95, "one for each square"),
        ([1.0], 2, 1.0, "between 0 and 1"),
    ):
        with pytest.raises(ps.ShapeError, match=said):
            consistency(squares, freedom, more)
