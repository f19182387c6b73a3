"""Campaigns by a dask scheduler with real worker processes on the loopback."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import phistar
from phistar.cli.app import run as command
from phistar.errors import PhistarError
from phistar.sim.campaign.campaign import spread
from phistar.sim.campaign.campaign_plan import Plan
from phistar.sim.campaign.perform import perform
from phistar.sim.campaign.pools import Cluster
from phistar.sim.campaign.run_rows import TIMED
from phistar.sim.campaign.store import read_rows
from phistar.sim.scenes.scene import Scene
from tests.scenes import ball, little_scene

pytest.importorskip("coal")
pytest.importorskip("pyarrow")
pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def scheduler(request, tmp_path_factory):
    """The address of a scheduler with workers that are processes of their own."""
    place = tmp_path_factory.mktemp("dask")
    file = place / "scheduler.json"
    begin = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    work = [sys.executable, "-m", "distributed.cli.dask_worker", "--nworkers", request.param, "--nthreads", "1"]
    log = (place / "log").open("w")
    source = str(Path(phistar.__file__).parents[1])
    surroundings = os.environ | {"DASK_TEMPORARY_DIRECTORY": str(place), "PYTHONPATH": source}
    options = {"cwd": place, "stdout": log, "stderr": log, "env": surroundings}
    started = [subprocess.Popen([*begin, "--no-dashboard", "--scheduler-file", str(file)], **options)]
    try:
        started += [subprocess.Popen([*work, "--no-dashboard", "--scheduler-file", str(file)], **options)]
        end = time.monotonic() + 300.0
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()
        log.close()


@pytest.mark.parametrize("scheduler", ["1"], indirect=True)
def test_the_same_command_with_a_scheduler_gives_the_same_rows(scheduler, tmp_path, capsys):
    (tmp_path / "ball.toml").write_text(little_scene(ball(xyz=[0.0, 0.0, {"uniform": [0.0, 0.2]}])))
    folder = tmp_path / "out"
    given = ["campaign", str(tmp_path / "ball.toml"), "--runs", "5", "--seed", "2", "--out", str(folder), "--json"]
    assert command([*given, "--scheduler", scheduler]) == 0
    assert json.loads(capsys.readouterr().out)["completed"]["count"] == 5
    plan = Plan(Scene.load(tmp_path / "ball.toml"), 5, 2)
    for run, row in read_rows(folder).items():
        here = perform(plan, run).row
        assert {name for name in row if row[name] != here[name]} <= set(TIMED)


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["2"], indirect=True)
def test_both_workers_work_and_one_that_a_run_kills_is_replaced(scheduler):
    def work(run):
        if run == 3:
            os._exit(1)
        time.sleep(0.05)
        return os.getpid()

    pool = Cluster(scheduler)
    try:
        pool._client.wait_for_workers(2, timeout=300)
        ended = dict(spread(pool, work, range(12)))
    finally:
        pool.close()
    assert ended.pop(3) is None and len(ended) == 11
    assert len(set(ended.values())) >= 2 and os.getpid() not in ended.values()


def test_a_scheduler_that_is_not_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr("phistar.sim.campaign.pools.PATIENCE", 0.5)
    with pytest.raises(PhistarError, match=r"No dask scheduler answers at tcp://127\.0\.0\.1:1 "):
        Cluster("tcp://127.0.0.1:1")
    with pytest.raises(PhistarError, match="No dask scheduler answers at nonsense://x"):
        Cluster("nonsense://x")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (Exception("No module named 'phistar'"), "cannot load phistar"),
        ({"a": "0.0.1"}, "has phistar 0.0.1, here it is"),
    ],
)
def test_workers_without_phistar_or_with_another_one_are_refused(answer, sentence):
    class Client:
        def wait_for_workers(self, count, timeout):
            pass

        def run(self, function):
            if isinstance(answer, Exception):
                raise answer
            return answer

    pool = object.__new__(Cluster)
    pool.address, pool._client = "tcp://x:1", Client()
    with pytest.raises(PhistarError, match=sentence):
        pool._check()
