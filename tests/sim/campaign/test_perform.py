"""One run: a row whatever happens, and files of the runs worth a look."""

import json

import pytest

from phistar.errors import PhistarError
from phistar.sim.campaign.campaign_plan import Plan
from phistar.sim.campaign.perform import perform, row_of_crash
from phistar.sim.scenes.scene import Scene
from tests.scenes import FLOOR, ball, little_scene

pytest.importorskip("coal")
pytest.importorskip("h5py")


@pytest.fixture
def scene(tmp_path):
    """Half of the balls start inside the floor, which stops a run at once."""
    (tmp_path / "half.toml").write_text(little_scene(FLOOR, ball(xyz=[0.0, 0.0, {"uniform": [0.0, 0.2]}])))
    return Scene.load(tmp_path / "half.toml")


def first(plan, outcome):
    return next(done for done in (perform(plan, run) for run in range(50)) if done.row["outcome"] == outcome)


def test_a_run_that_stops_is_a_row_with_its_reason_and_is_kept_to_be_seen(scene):
    done = first(Plan(scene, 50), "stopped")
    assert done.row["completed"] is False and "intersect" in done.row["reason"]
    assert done.row["drawn.parts.ball.xyz.2"] < 0.1
    assert {"summary.json", "trajectory.h5"} <= set(done.files)
    assert json.loads(done.files["summary.json"])["seed"] == done.row["seed"]


def test_a_run_to_the_end_is_kept_only_where_all_are(scene):
    assert first(Plan(scene, 50), "completed").files == {}
    assert first(Plan(scene, 50, keep="all"), "completed").files
    assert first(Plan(scene, 50, keep="none"), "stopped").files == {}


def test_the_seed_of_a_row_makes_that_very_run(scene):
    row = first(Plan(scene, 50), "completed").row
    summary = scene.run(row["seed"]).summary
    for name in ("sim_time", "min_distance", "peak_force", "momentum_drift"):
        assert summary[name] == row[name]


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (PhistarError("The joint is beyond its limits."), "refused", "The joint is beyond its limits."),
        (ZeroDivisionError("division by zero"), "broken", "ZeroDivisionError: division by zero"),
        (MemoryError(), "broken", "MemoryError: "),
    ],
)
def test_whatever_a_run_raises_is_a_row(scene, monkeypatch, error, outcome, reason):
    def raises(*_, **__):
        raise error

    monkeypatch.setattr(Scene, "run", raises)
    done = perform(Plan(scene, 3), 2)
    assert done.row["outcome"] == outcome and done.row["reason"] == reason and done.row["run"] == 2
    assert "drawn.parts.ball.xyz.2" in done.row and done.files == {}


@pytest.mark.parametrize(
    ("reached", "last", "outcome", "reason"),
    [
        (True, "held", "reached", None),
        (False, "aborted", "aborted", "it slipped; tried often enough; given up"),
        (False, "hold", "failed", "a finger did not touch, in phase hold"),
        (None, "held", "completed", None),
    ],
)
def test_a_run_with_a_task_reaches_it_is_aborted_or_failed_and_says_why(
    scene, monkeypatch, reached, last, outcome, reason
):
    reasons = {"plan": "begun", "back_off": "it slipped", "retreat": "tried often enough", last: "given up"}
    phases = [{"name": name, "start": 0.0, "end": 1.0, "reason": why} for name, why in reasons.items()]
    missing = None if reached is not False else "a finger did not touch"
    made = scene.run(first(Plan(scene, 50), "completed").row["seed"])
    summary = {**made.summary, "reached": reached, "phases": phases, "missing": missing}
    told = type(made)(**{**vars(made), "summary": summary})
    monkeypatch.setattr(Scene, "run", lambda *_, **__: told)
    row = perform(Plan(scene, 1, keep="none"), 0).row
    assert (row["outcome"], row["reason"]) == (outcome, reason)


def test_a_run_that_took_its_process_with_it_still_says_what_was_drawn(scene):
    row = row_of_crash(Plan(scene, 3), 1, None, "It died.").row
    assert row["outcome"] == "died" and row["reason"] == "It died." and "drawn.parts.ball.xyz.2" in row
