"""Campaigns: the same rows on many workers or none, and after a process was killed."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import phistar as ps
from phistar.errors import PhistarError
from phistar.sim.campaign.campaign_plan import Plan
from phistar.sim.campaign.perform import perform
from phistar.sim.campaign.run_rows import TIMED
from phistar.sim.campaign.store import read_rows
from phistar.sim.scenes.scene import Scene
from tests.scenes import FLOOR, ball, little_scene

pytest.importorskip("coal")
pytest.importorskip("h5py")
pytest.importorskip("joblib")
parquet = pytest.importorskip("pyarrow.parquet")
BALL = ball(spin={"vector": [0.0, 1.0]}, xyz=[0.0, 0.0, {"uniform": [0.0, 0.2]}])


@pytest.fixture
def scene(tmp_path):
    (tmp_path / "ball.toml").write_text(little_scene(BALL))
    return Scene.load(tmp_path / "ball.toml")


def lasting(rows):
    """Rows without what the clock says."""
    return [{name: value for name, value in row.items() if name not in TIMED} for row in rows]


def here(plan, cases, workers, scheduler):
    """In the place of processes, where they are not what is tested."""
    yield from (perform(plan, *case) for case in cases)


def test_two_workers_and_none_give_the_same_rows(scene, tmp_path):
    alone = [perform(Plan(scene, 4, seed=5), run).row for run in range(4)]
    two = ps.campaign(scene, 4, seed=5, workers=2, out=tmp_path / "out")
    assert lasting(two.rows) == lasting(alone)
    kept = parquet.read_table(tmp_path / "out" / "runs.parquet").to_pylist()
    assert kept == list(two.rows)
    summary = json.loads((tmp_path / "out" / "campaign.json").read_text())
    assert summary["complete"] and summary["outcomes"] == two.summary["outcomes"] == {"completed": 4}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["campaign.json", "runs.parquet"]


def test_resuming_does_only_what_is_missing_and_may_ask_for_more(scene, tmp_path, monkeypatch):
    done = []

    def interrupted(plan, cases, workers, scheduler):
        for case in cases:
            done.append(case.run)
            yield perform(plan, *case)
            if len(done) == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr("phistar.sim.campaign.campaign._rows_of_runs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ps.campaign(scene, 4, out=tmp_path / "out")
    assert done == [0, 1]
    assert not json.loads((tmp_path / "out" / "campaign.json").read_text())["complete"]
    done += [None]
    seen = []
    made = ps.campaign(scene, 5, out=tmp_path / "out", resume=True, progress=lambda row: seen.append(row["run"]))
    assert done == [0, 1, None, 2, 3, 4] and seen == [0, 1, 2, 3, 4] and made.summary["complete"]
    assert lasting(made.rows) == lasting(perform(Plan(scene, 5), run).row for run in range(5))
    fewer = ps.campaign(scene, 2, out=tmp_path / "out", resume=True)
    assert len(fewer.rows) == 2 and len(done) == 6 and len(read_rows(tmp_path / "out")) == 5


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the workers in /proc")
def test_kill_9_loses_the_runs_in_flight_alone_and_no_process_stays(scene, tmp_path, monkeypatch):
    folder, many = tmp_path / "out", 100_000
    command = [sys.executable, "-m", "phistar", "campaign", str(tmp_path / "ball.toml"), "--runs", str(many)]
    started = subprocess.Popen([*command, "--out", str(folder), "--workers", "1"], stderr=subprocess.PIPE)
    try:
        wait_for(lambda: len(list(folder.glob("parts/*.parquet"))) >= 3)
        workers = children(started.pid)
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
    rows = read_rows(folder)
    assert len(rows) >= 3 and sorted(rows) == list(range(len(rows)))
    wait_for(lambda: not any(alive(worker) for worker in workers))
    monkeypatch.setattr("phistar.sim.campaign.campaign._rows_of_runs", here)
    made = ps.campaign(scene, len(rows) + 2, out=folder, resume=True)
    assert made.summary["complete"] and lasting(made.rows[: len(rows)]) == lasting(rows.values())
    again = [perform(Plan(scene, many), run).row for run in (0, len(rows), len(rows) + 1)]
    assert lasting([made.rows[0], *made.rows[-2:]]) == lasting(again)


def test_runs_that_stop_do_not_stop_the_campaign_and_can_be_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("phistar.sim.campaign.campaign._rows_of_runs", here)
    (tmp_path / "half.toml").write_text(little_scene(FLOOR, BALL))
    made = ps.campaign(tmp_path / "half.toml", 8, out=tmp_path / "out")
    stopped = [row for row in made.rows if row["outcome"] == "stopped"]
    assert 0 < len(stopped) < 8 and made.summary["completed"]["count"] == 8 - len(stopped)
    assert made.summary["failures"][0]["count"] == len(stopped)
    kept = sorted(path.name for path in (tmp_path / "out" / "kept").iterdir())
    assert kept == [f"{row['run']:06d}" for row in stopped]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"workers": 1, "scheduler": "tcp://127.0.0.1:1"}, "give workers or scheduler, not both"),
        ({"resume": True}, "give the folder that holds it"),
        ({"workers": 0}, "a worker at least"),
    ],
)
def test_contradictions_are_refused(scene, arguments, sentence):
    with pytest.raises(PhistarError, match=sentence):
        ps.campaign(scene, 1, **arguments)


def wait_for(condition, seconds=300.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def children(parent):
    with open(f"/proc/{parent}/task/{parent}/children") as file:
        return [int(each) for each in file.read().split()]


def alive(process):
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_campaign_prints_as_a_line_and_draws_a_square_for_each_run(scene):
    done = ps.campaign(scene, 3, workers=1)
    assert repr(done).startswith("<Campaign of ") and "3 runs" in repr(done) and len(repr(done)) < 120
    text = done._repr_html_()
    assert text.count("<rect") == 3 and "<svg" in text and "<script" not in text
