"""`phistar run`: the summary as a table and as JSON, files where asked, and exit codes that tell."""

import json

import pytest

from phistar.cli.app import run

pytest.importorskip("coal")
SCENE = """
format_version = 1
[time]
duration = 0.05
sample = 0.01
step = 0.005
[[parts]]
name = "ball"
joint = "free"
mass = 1.0
[[parts.shapes]]
sphere = 0.1
"""


def test_a_scene_is_run_and_kept(tmp_path, capsys):
    pytest.importorskip("h5py")
    (tmp_path / "fall.toml").write_text(SCENE)
    assert run(["run", str(tmp_path / "fall.toml"), "--seed", "4", "--out", str(tmp_path / "out"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["seed"] == 4 and summary["sim_time"] == pytest.approx(0.05)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["scene"] == "fall"
    assert run(["run", str(tmp_path / "fall.toml")]) == 0
    assert "momentum drift" in capsys.readouterr().out


def test_a_run_that_must_stop_exits_with_one_and_a_wrong_file_with_two(tmp_path, capsys):
    pressed = SCENE.replace("sphere = 0.1", "sphere = 0.1\n[[parts]]\nname = 'ground'\n[[parts.shapes]]\nplane = true")
    (tmp_path / "pressed.toml").write_text(pressed)
    assert run(["run", str(tmp_path / "pressed.toml")]) == 1
    assert "intersect by 0.1 m" in capsys.readouterr().err
    assert run(["run", "no such scene"]) == 2
