"""Which numbers have to do with failures and with a score: known causes come first, idle numbers come to nothing."""

import numpy as np

from phistar.sim.campaign.sensitivity import ranking


def rows_of(count=400, seed=0):
    """Runs that fail where a exceeds 0.8, with a score that rises and falls with b; c does nothing."""
    rng = np.random.default_rng(seed)
    for run in range(count):
        a, b, c = rng.random(3)
        outcome = "failed" if a > 0.8 else "reached"
        score = 10 - 40 * (b - 0.5) ** 2 + 0.1 * rng.normal()
        yield {"run": run, "outcome": outcome, "peak_force": score, "drawn.a": a, "drawn.b": b, "drawn.c": c}


def test_causes_are_told_from_what_is_idle():
    found = {each["parameter"]: each for each in ranking(list(rows_of()), "peak_force")}
    assert next(iter(found)) == "drawn.a"
    assert found["drawn.a"]["failures"] > 0.99 and found["drawn.a"]["chance"] < 1e-9
    assert found["drawn.b"]["score"] > 0.8 and found["drawn.a"]["score"] < 0.1
    assert found["drawn.c"]["chance"] > 0.01 and found["drawn.c"]["score"] < 0.1


def test_an_effect_that_rises_and_falls_is_seen_where_a_correlation_sees_none():
    rows = list(rows_of())
    b, score = (np.array([row[name] for row in rows]) for name in ("drawn.b", "peak_force"))
    assert abs(np.corrcoef(b, score)[0, 1]) < 0.15


def test_few_runs_say_nothing():
    rows = list(rows_of(6))
    assert all(each["failures"] is None and each["score"] is None for each in ranking(rows, "peak_force"))
    assert ranking([], "peak_force") == []


def test_refused_runs_do_not_count():
    rows = list(rows_of())
    refused = [{"run": 900 + i, "outcome": "refused", "reason": "", "drawn.c": 1.0} for i in range(100)]
    assert ranking(rows + refused, "peak_force") == ranking(rows, "peak_force")
