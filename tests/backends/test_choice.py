"""Schedules: counted, compared, chosen in one place, shown, and overridden."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends import kernel
from phistar.backends.choice import (
    DROPPED,
    FORMS_WRITTEN,
    PAIRS,
    ROLLED,
    SCHEDULES,
    SHORT_ROBOT,
    TRACED,
    VARIABLE,
    WRITTEN,
    Candidate,
    Choice,
)
from phistar.backends.executor import StatementCounts, is_written_inside
from phistar.backends.executor import choose_schedule as choose
from phistar.backends.kernel import record_statements
from phistar.derivatives import RECORDED
from phistar.loops.equations import free_motion
from tests.trees import relative

ARM, CHAIN = ps.chain(6), ps.chain(20)


def wanted(function, model):
    return function.statements_for(model, ())[0]


def test_every_schedule_gives_the_same_mass_matrix():
    q = CHAIN.random(np.random.default_rng(0), shape=(3,))
    for schedule in SCHEDULES:
        made = ps.compile(2 * ps.algebra(CHAIN).mass, matrix=True, schedule=schedule)
        assert relative(made(q), 2 * ps.mass_matrix(CHAIN, q)) < 1e-12
        assert made.choice.startswith(f"{schedule}: asked for")


def test_short_robots_are_written_out_without_comparing():
    assert len(ARM.bodies) <= SHORT_ROBOT
    found = choose(wanted(ps.forward_dynamics, ARM))
    assert found.schedule == WRITTEN and not found.candidates


def test_a_choice_shows_what_was_compared():
    found = choose(wanted(ps.mass_matrix, ps.chain(24)))
    assert {x.schedule for x in found.candidates} == {WRITTEN, ROLLED, PAIRS}
    assert str(found).count("operations") == 3 and found.schedule in str(found).splitlines()[0]


def test_what_takes_too_long_to_compile_is_not_taken(monkeypatch):
    statements = wanted(ps.mass_matrix, ps.chain(24))
    assert choose(statements).schedule == WRITTEN
    monkeypatch.setenv(VARIABLE, "0.8")
    assert choose(statements).schedule == PAIRS
    monkeypatch.setenv(VARIABLE, "0.001")
    assert "none within" in choose(statements).reason


def test_a_multiple_of_the_mass_matrix_goes_the_way_of_the_mass_matrix():
    """Whatever number stands before it, and however ℳ is written."""
    bound = ps.algebra(ps.chain(45))
    written = bound.H @ bound.phi @ bound.M @ bound.phi.T @ bound.H.T
    first, *others = (ps.compile(x, matrix=True) for x in (bound.mass, 2 * bound.mass, -3 * written))
    assert all(made.choice.startswith(PAIRS) for made in (first, *others))
    assert max(made.operations - first.operations for made in others) <= 20 * 45  # a few at each link, none at a pair
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


def limbs(count, length):
    """A body on the world that carries limbs of so many links."""
    builder, inertia = ps.ModelBuilder("limbs"), ps.Inertia(1.0, (0.1, 0.02, 0.03), 0.01 * np.eye(3))
    builder.body("trunk", "world", ps.Revolute(), ps.Pose(), inertia)
    for limb in range(count):
        above = "trunk"
        for k in range(length):
            axis = (1, 0, 0) if k % 2 else (0, 0, 1)
            builder.body(f"{limb}.{k}", above, ps.Revolute(axis=axis), ps.Pose(xyz=(0.1 * limb, 0, 0.2)), inertia)
            above = f"{limb}.{k}"
    return builder.build()


@pytest.mark.slow
def test_tables_of_many_short_limbs_are_written_out_however_many_bodies_there_are():
    """Few rates carry others: straight-line code takes less time than loops over pairs, and compiles in time."""
    model = limbs(14, 3)
    recorded = RECORDED["forward_dynamics_derivatives"]
    choice = recorded.choice(model)
    assert len(model.bodies) > TRACED and choice.schedule == WRITTEN
    assert {x.schedule for x in choice.candidates} == {WRITTEN, PAIRS}
    assert choose(wanted(ps.mass_matrix_inverse, model)).schedule == WRITTEN
    rng = np.random.default_rng(3)
    q, v, tau = model.random(rng), *rng.normal(size=(2, model.nv))
    found = ps.forward_dynamics_derivatives(model, q, v, tau)
    assert relative(found.dtau, np.linalg.inv(ps.mass_matrix(model, q))) < 1e-10
    assert recorded.kernel(model).choice.startswith(WRITTEN)


def test_linearizations_of_long_chains_are_compiled():
    """They ran on arrays, link by link in Python, beyond forty bodies."""
    model, rng = ps.chain(TRACED + 1), np.random.default_rng(3)
    q, v, tau = model.random(rng), *rng.normal(size=(2, model.nv))
    made, by_parts = ps.linearize(model, q, v, tau), ps.forward_dynamics_derivatives(model, q, v, tau)
    assert relative(made.A[model.nv :], np.hstack([by_parts.dq, by_parts.dv])) < 1e-10
    assert any(getattr(kernel, "outputs", ()) == ("dq", "dv", "dtau") for kernel in vars(model)["_kernels"].values())


def test_a_candidate_is_a_line():
    assert "5 operations" in str(Candidate(WRITTEN, 5, 1.0, 0.1))


def test_what_is_too_long_to_be_written_out_is_not_recorded_to_the_end():
    statements = wanted(ps.mass_matrix, CHAIN)
    assert statements.tally_within(100) is None and "traces" not in vars(statements)
    assert statements.tally_within(10**6) is not None and statements.traces


def test_where_one_form_is_far_too_long_no_other_is_counted(monkeypatch):
    statements, traced = ps.forward_dynamics.statements_for(ps.chain(14), ())[0], []
    monkeypatch.setattr(kernel, "record_statements", lambda each, most: traced.append(each.taken) or made(each, most))
    made = record_statements
    whole = statements.tally_within(10**6)
    assert len(traced) == len(statements.forms()) > 1
    traced.clear()
    again = ps.forward_dynamics.statements_for(ps.chain(14), ())[0]
    found = again.tally_within(10**6, 1.0, again.forms()[::-1])
    assert traced == [again.forms()[-1].taken] and found.operations >= whole.operations


def test_the_form_taken_has_the_fewest_instructions_of_all_as_they_are_compiled():
    """Only those are arranged that may: arranging drops a small part at most."""
    statements = ps.forward_dynamics.statements_for(ps.chain(20), ())[0]
    arranged = [kernel.trace_statements(each)[0].operations for each in statements.forms()]
    assert statements.tallies[0].operations == min(arranged) < max(arranged)
    plain = [kernel.record_statements(each)[0].operations for each in statements.forms()]
    assert all((1.0 - DROPPED) * most <= least for most, least in zip(plain, arranged, strict=True))


@pytest.mark.parametrize(
    ("nanoseconds", "seconds", "inside"), [(95.0, 1.0, True), (105.0, 1.0, False), (95.0, 9.0, False)]
)
def test_inside_a_recording_straight_line_code_that_is_as_fast_is_written_out(nanoseconds, seconds, inside):
    written = Candidate(WRITTEN, 4000, nanoseconds, seconds)
    assert is_written_inside(Choice(ROLLED, (Candidate(ROLLED, 4000, 100.0, 0.4), written), "usual")) is inside


def test_few_forms_are_counted_written_out(monkeypatch):
    """Those with the fewest operations link by link."""
    statements, traced = wanted(ps.forward_dynamics, CHAIN), []
    monkeypatch.setattr(kernel, "record_statements", lambda each, most: traced.append(each.taken) or made(each, most))
    made, counts = record_statements, StatementCounts(statements)
    counts.count_written_out(10**6, float("inf"))
    fewest = [each.taken for each in counts._rolled_tallies[:FORMS_WRITTEN]]
    assert set(fewest) <= set(traced) and len(traced) < len(statements.forms())


@pytest.mark.slow
def test_forms_far_longer_link_by_link_are_not_counted_written_out(monkeypatch):
    statements, traced = free_motion.statements_for(CHAIN, ("tip",))[0], []
    monkeypatch.setattr(kernel, "record_statements", lambda each, most: traced.append(each.taken) or made(each, most))
    made = record_statements
    found = StatementCounts(statements).count_written_out(10**6, float("inf"))
    assert 1 < len(traced) < len(statements.forms())
    assert found.operations == min(made(each)[0].operations for each in statements.forms())
