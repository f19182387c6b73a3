"""Shares with intervals, failures by reason, quantiles."""

import numpy as np
import pytest

from phistar.sim.campaign.counting import count_outcomes, wilson


@pytest.mark.parametrize(
    ("good", "count", "low", "high"),
    [(0, 10, 0.0, 0.27753), (10, 10, 0.72247, 1.0), (81, 263, 0.25525, 0.36621), (15, 148, 0.06242, 0.16045)],
)
def test_the_interval_is_the_published_one(good, count, low, high):
    """The last two are of Newcombe, Statistics in Medicine 17 (1998), method 3; the first two n/(n + z²) in hand."""
    assert wilson(good, count) == pytest.approx((low, high), abs=2e-4)


def test_the_interval_of_nothing_is_everything():
    assert wilson(0, 0) == (0.0, 1.0)


def test_the_interval_is_that_of_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for good, count in [(0, 7), (3, 7), (7, 7), (196, 200), (999, 1000)]:
        theirs = proportion.proportion_confint(good, count, method="wilson")
        assert wilson(good, count) == pytest.approx(theirs, abs=1e-12)


def rows():
    some = [{"run": i, "seed": i, "outcome": "reached", "reached": True} for i in range(6)]
    some += [{"run": 6, "seed": 60, "outcome": "failed", "reached": False, "reason": "finger2 slipped at 3.25 s"}]
    some += [{"run": 7, "seed": 70, "outcome": "failed", "reached": False, "reason": "finger2 slipped at -1e-3 s"}]
    some += [{"run": 8, "seed": 80, "outcome": "died", "reason": None}]
    for row in some[:8]:
        row |= {"peak_force": float(row["run"]), "sim_time": 10.0, "core_time": 2.0}
    return some


def test_tasks_reached_are_counted_against_every_run_also_those_that_died():
    summary = count_outcomes(rows())
    assert summary["reached"]["count"] == 6 and summary["reached"]["of"] == 9
    assert (summary["reached"]["low"], summary["reached"]["high"]) == wilson(6, 9)
    assert summary["completed"]["count"] == 8
    assert summary["outcomes"] == {"reached": 6, "failed": 2, "died": 1}
    assert summary["real_time_factor"] == pytest.approx(5.0)


def test_failures_with_the_same_reason_are_counted_together_whatever_their_numbers():
    first, second = count_outcomes(rows())["failures"]
    assert first["count"] == 2 and first["reason"] == "finger2 slipped at … s" and first["runs"] == [6, 7]
    assert first["example"] == {"run": 6, "seed": 60, "reason": "finger2 slipped at 3.25 s"}
    assert second["outcome"] == "died" and second["count"] == 1


def test_quantiles_are_of_numbers_alone():
    numbers = count_outcomes(rows())["numbers"]
    assert set(numbers) == {"peak_force", "sim_time", "core_time"}
    assert numbers["peak_force"]["median"] == 3.5 and numbers["peak_force"]["max"] == 7.0
    assert numbers["peak_force"]["p95"] == np.quantile(np.arange(8), 0.95)


def test_without_a_task_nothing_is_reached_and_a_campaign_of_nothing_has_no_share():
    assert count_outcomes([{"run": 0, "seed": 0, "outcome": "completed"}])["reached"] is None
    nothing = count_outcomes([])
    assert nothing["completed"]["share"] is None and nothing["numbers"] == {}
