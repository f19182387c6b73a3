"""Schedules: counted, compared, chosen in one place, shown, and overridden."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import PAIRS, ROLLED, SCHEDULES, SHORT, VARIABLE, WRITTEN, Candidate, choose
from tests.trees import relative

ARM, CHAIN = ps.chain(6), ps.chain(20)


def wanted(function, model):
    return function.wanted(model, ())[0]


def test_every_schedule_gives_the_same_mass_matrix():
    q = CHAIN.random(np.random.default_rng(0), shape=(3,))
    for schedule in SCHEDULES:
        made = ps.compile(2 * ps.algebra(CHAIN).mass, matrix=True, schedule=schedule)
        assert relative(made(q), 2 * ps.mass_matrix(CHAIN, q)) < 1e-12
        assert made.choice.startswith(f"{schedule}: asked for")


def test_short_robots_are_written_out_without_comparing():
    assert len(ARM.bodies) <= SHORT
    found = choose(wanted(ps.forward_dynamics, ARM))
    assert found.schedule == WRITTEN and not found.candidates


def test_a_choice_shows_what_was_compared():
    found = choose(wanted(ps.mass_matrix, ps.chain(24)))
    assert {x.schedule for x in found.candidates} == {WRITTEN, ROLLED, PAIRS}
    assert str(found).count("operations") == 3 and found.schedule in str(found).splitlines()[0]


def test_what_takes_too_long_to_compile_is_not_taken(monkeypatch):
    statements = wanted(ps.mass_matrix, ps.chain(24))
    assert choose(statements).schedule == WRITTEN
    monkeypatch.setenv(VARIABLE, "1.2")
    assert choose(statements).schedule == PAIRS
    monkeypatch.setenv(VARIABLE, "0.001")
    assert "none within" in choose(statements).reason


def test_a_multiple_of_the_mass_matrix_goes_the_way_of_the_mass_matrix():
    """Whatever number stands before it, and however ℳ is written."""
    bound = ps.algebra(ps.chain(45))
    written = bound.H @ bound.phi @ bound.M @ bound.phi.T @ bound.H.T
    first, *others = (ps.compile(x, matrix=True) for x in (bound.mass, 2 * bound.mass, -3 * written))
    assert all(made.choice.startswith(PAIRS) and made.operations == first.operations for made in (first, *others))
    q = np.linspace(-1.0, 1.0, 45)
    assert relative(others[1](q), -3 * first(q)) < 1e-12


@pytest.mark.parametrize(("schedule", "said"), [("fast", "no schedule 'fast'"), (PAIRS, "have no form 'pair by pair'")])
def test_a_schedule_that_is_not_there_is_refused_with_a_sentence(schedule, said):
    with pytest.raises(ps.StatementError, match=said):
        ps.compile(ps.algebra(CHAIN).phi, matrix=True, schedule=schedule)
    with pytest.raises(ps.StatementError, match="`schedule` is for statements"):
        ps.compile(lambda q, v: v, CHAIN, schedule=WRITTEN)


def test_a_budget_that_is_no_number_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "soon")
    with pytest.raises(ps.StatementError, match="a number of seconds"):
        choose(wanted(ps.bias, CHAIN))


def test_a_candidate_is_a_line():
    assert "5 operations" in str(Candidate(WRITTEN, 5, 1.0, 0.1))


def test_what_is_too_long_to_be_written_out_is_not_recorded_to_the_end():
    statements = wanted(ps.mass_matrix, CHAIN)
    assert not statements.traces_within(100) and "traces" not in vars(statements)
    assert statements.traces_within(10**6) and statements.traces
