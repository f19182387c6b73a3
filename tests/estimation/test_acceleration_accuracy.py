"""Accuracy against 50 digits: what each way to accelerations loses on long, uneven and nearly massless chains."""

import numpy as np
import pytest

import phistar as ps
from phistar import estimation
from phistar.errors import ModelError, ShapeError, UnknownNameError
from phistar.estimation.acceleration_accuracy import METHODS
from tests.estimation import r87

mpmath = pytest.importorskip("mpmath")
FILTERS = ("plain", "conventional", "joseph", "square_root")


def errors(model, methods=METHODS, easy=True):
    """At a random configuration; `easy` forces are given, others are made for accelerations of order one."""
    rng = np.random.default_rng(1)
    q = rng.uniform(-1, 1, model.nv)
    given = rng.normal(size=model.nv)
    tau = given if easy else ps.inverse_dynamics(model, q, np.zeros(model.nv), given)
    return estimation.forward_errors(model, q, tau, methods)


def test_many_digits_are_right_to_the_last():
    """Twice as many digits change nothing that was given, and floats are right to theirs; moving, with gravity."""
    arm = r87.arm(4)
    thirty, sixty = (estimation.precise_forward_dynamics(*arm, digits=n) for n in (30, 60))
    with mpmath.workdps(60):
        assert max(abs(a - b) / abs(b) for a, b in zip(thirty, sixty, strict=True)) < mpmath.mpf(10) ** -26
    assert np.allclose(np.array(sixty, dtype=float), ps.forward_dynamics(*arm), rtol=1e-12)


def test_the_filter_keeps_its_digits_where_cholesky_loses_them():
    """Masses that grow 1e10 times from base to tip, fifty links."""
    found = errors(estimation.graded_chain(50, ratio=1e10))
    assert all(found[method] < 1e-12 for method in FILTERS)
    assert found["square_root"] < 1e-14
    assert found["cholesky"] > 1e-6


@pytest.mark.slow
def test_nearly_massless_links_harm_no_filter():
    for light in (1e-8, 1e-16):
        found = errors(estimation.graded_chain(50, light=light))
        assert all(found[method] < 1e-14 for method in (*FILTERS, "compiled"))


@pytest.mark.slow
def test_length_costs_cholesky_digits_and_the_filters_none():
    found = errors(estimation.graded_chain(200))
    assert all(found[method] < 1e-13 for method in (*FILTERS, "compiled"))
    assert found["cholesky"] > 1e-11


def test_what_the_problem_loses_no_method_finds_again():
    """Forces made for accelerations of order one cancel inside a chain with a heavy tip; all lose alike."""
    found = errors(estimation.graded_chain(50, ratio=1e10), easy=False)
    assert all(found[method] > 1e-8 for method in METHODS)


@pytest.mark.slow
def test_josephs_form_is_no_better_than_a_symmetric_update():
    """Why the conventional update is the default: over all cases Joseph's gains less than one digit."""
    cases = [estimation.graded_chain(50, ratio) for ratio in (1.0, 1e5, 1e10)]
    gains = [found["conventional"] / found["joseph"] for found in (errors(c, FILTERS) for c in cases)]
    assert np.exp(np.mean(np.log(gains))) < 10


@pytest.mark.slow
def test_a_thousand_links():
    found = errors(estimation.graded_chain(1000))
    assert all(found[method] < 1e-13 for method in (*FILTERS, "compiled"))
    assert found["cholesky"] > 1e-9


def test_one_state_at_a_time():
    with pytest.raises(ShapeError, match="one state"):
        estimation.precise_forward_dynamics(ps.chain(2), np.zeros((3, 2)), np.zeros(2), np.zeros(2))


def test_mistakes_are_answered_with_sentences():
    with pytest.raises(UnknownNameError, match="'cholseky' is no method to compare"):
        estimation.forward_errors(ps.chain(2), np.zeros(2), np.ones(2), ["cholseky"])
    with pytest.raises(ModelError, match="positive masses"):
        estimation.graded_chain(3, ratio=-1.0)
