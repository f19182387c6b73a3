"""`phistar run`: the summary as a table and as JSON, files where asked, and exit codes that tell."""

import json
import os
import subprocess
import sys

import pytest

from phistar.cli.app import run
from tests.scenes import FLOOR, ball, little_scene

pytest.importorskip("coal")
SCENE = little_scene(time={"duration": 0.05, "sample": 0.01, "step": 0.005})


def test_a_scene_is_run_and_kept(tmp_path, capsys, no_pages):
    pytest.importorskip("h5py")
    (tmp_path / "fall.toml").write_text(SCENE)
    assert run(["run", str(tmp_path / "fall.toml"), "--seed", "4", "--out", str(tmp_path / "out"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["seed"] == 4 and summary["sim_time"] == pytest.approx(0.05)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["scene"] == "fall"
    assert run(["run", str(tmp_path / "fall.toml")]) == 0
    assert "momentum drift" in capsys.readouterr().out


def test_a_run_that_must_stop_exits_with_one_and_a_wrong_file_with_two(tmp_path, capsys):
    (tmp_path / "pressed.toml").write_text(little_scene(FLOOR, ball()))
    assert run(["run", str(tmp_path / "pressed.toml")]) == 1
    assert "intersect by 0.1 m" in capsys.readouterr().err
    assert run(["run", "no such scene"]) == run(["run", ""]) == 2


def test_a_run_that_was_stopped_is_taken_up_and_ends_as_it_would_have(tmp_path, capsys, monkeypatch, no_pages):
    h5py = pytest.importorskip("h5py")
    scene, whole, halves = tmp_path / "fall.toml", tmp_path / "whole", tmp_path / "halves"
    scene.write_text(SCENE)
    assert run(["run", str(scene), "--seed", "4", "--out", str(whole), "--no-view"]) == 0
    from phistar.sim.run_recorder import Recorder

    def broken(self, moment):
        if moment.time > 0.035:
            raise KeyboardInterrupt
        added(self, moment)

    with monkeypatch.context() as patch:
        added = Recorder.add
        patch.setattr(Recorder, "add", broken)
        run(["run", str(scene), "--seed", "4", "--out", str(halves), "--checkpoint", "0.02", "--no-view"])
    assert [path.name for path in halves.iterdir()] == ["checkpoint"]
    capsys.readouterr()
    for command in (["run", str(scene)], ["run", "--resume", str(halves), "--seed", "5"]):
        assert run([*command, "--out", str(halves)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert f"a run that has not ended: phistar run --resume {halves} goes on" in first.replace("\n", " ")
    assert "has the seed 4; leave --seed away" in second
    assert run(["run", "--resume", str(halves), "--no-view"]) == 0
    assert not (halves / "checkpoint").exists()
    summaries = [json.loads((each / "summary.json").read_text()) | {"wall_time": 0} for each in (whole, halves)]
    assert summaries[0] == summaries[1]
    with h5py.File(whole / "trajectory.h5") as one, h5py.File(halves / "trajectory.h5") as other:
        assert all((one[name][()] == other[name][()]).all() for name in ("t", "q", "v", "energy"))
    assert run(["run", str(scene), "--checkpoint", "1"]) == 2
    assert run(["run", "--resume", str(whole)]) == 2
    assert "--checkpoint SECONDS writes one" in capsys.readouterr().err


def test_pages_beside_the_trajectory_need_nothing_else(tmp_path):
    pytest.importorskip("h5py")
    pytest.importorskip("viser")
    (tmp_path / "fall.toml").write_text(SCENE)
    assert run(["run", str(tmp_path / "fall.toml"), "--out", str(tmp_path / "out"), "--no-view"]) == 0
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["replay.html", "report.html", "scene.toml", "summary.json", "trajectory.h5"]
    assert "<html" in (tmp_path / "out" / "report.html").read_text()[:200]


FULL = """
import resource, sys, tempfile
from phistar.cli.app import run
tempfile.tempdir = sys.argv[3]
if sys.argv[4] == "everywhere":
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
else:
    from phistar.sim import trajectory_files
    plain = trajectory_files._write
    def write(run, path):
        room = 2000 if sys.argv[2] in str(path) else resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        plain(run, path)
    trajectory_files._write = write
sys.exit(run(["run", sys.argv[1], "--out", sys.argv[2], "--json"]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of files as on Linux")
@pytest.mark.parametrize("where", ["there", "everywhere"])
def test_a_run_that_has_ended_is_not_lost_on_a_full_disk(where, tmp_path):
    pytest.importorskip("h5py")
    (tmp_path / "fall.toml").write_text(SCENE)
    for name in ("out", "elsewhere", "home"):
        (tmp_path / name).mkdir()
    old = tmp_path / "out" / "trajectory.h5"
    old.write_bytes(b"of another run")
    given = [str(tmp_path / "fall.toml"), str(tmp_path / "out"), str(tmp_path / "elsewhere"), where]
    # Kernels are not kept: a file of one may be larger than the disk of this test.
    environment = os.environ | {"HOME": str(tmp_path / "home"), "PHISTAR_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-c", FULL, *given], capture_output=True, text=True, env=environment, cwd=tmp_path / "home"
    )
    assert "should not have" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert old.read_bytes() == b"of another run"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["trajectory.h5"]
    kept = list((tmp_path / "elsewhere").glob("phistar-run-*/trajectory.h5"))
    if where == "there":
        assert done.returncode == 1 and "trajectory.h5 cannot be written" in done.stderr
        assert f"kept in {kept[0].parent} instead" in done.stderr
        assert json.loads(done.stdout)["scene"] == "fall"
        assert (kept[0].parent / "summary.json").exists()
    else:
        assert done.returncode == 2 and not kept
        assert "The run has ended, but it cannot be kept" in done.stderr and '"scene": "fall"' in done.stderr
