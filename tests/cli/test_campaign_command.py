"""`phistar campaign`: a table and JSON, folders by default, exit codes that tell."""

import json
from pathlib import Path

import pytest

from phistar.cli.app import run
from phistar.sim.campaign.perform import perform
from phistar.sim.campaign.store import read_rows
from tests.scenes import FLOOR, ball, little_scene

pytest.importorskip("coal")
pytest.importorskip("h5py")
pytest.importorskip("pyarrow")


@pytest.fixture
def scenes(tmp_path, monkeypatch):
    """Three scenes, in whose folder the command runs, in this process."""
    for name, heights in {"good": [0.2, 0.3], "half": [0.0, 0.2], "bad": [0.0, 0.05]}.items():
        scene = little_scene(FLOOR, ball(xyz=[0.0, 0.0, {"uniform": heights}]))
        (tmp_path / f"{name}.toml").write_text(scene)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("phistar.sim.campaign.campaign._rows_of_runs", here)
    return tmp_path


def here(plan, runs, workers, scheduler):
    yield from (perform(plan, *case) for case in runs)


def test_a_campaign_says_what_came_of_it_and_where_it_is(scenes, capsys):
    assert run(["campaign", "half.toml", "--runs", "8"]) == 0
    shown = capsys.readouterr().out
    for text in ("completed", "of 8", "at 95 %", "peak force", "intersect by … m", "campaign-half-0/runs.parquet"):
        assert text in shown.replace("\n", "")
    assert "phistar run half.toml --seed" in shown
    assert "look at it: phistar view campaign-half-0/kept/0000" in shown
    assert (scenes / "campaign-half-0" / "kept").is_dir()


def test_without_a_terminal_a_line_is_written_now_and_then(scenes, monkeypatch, capsys):
    monkeypatch.setattr("phistar.cli.campaign_command.LINE_EVERY", -1.0)
    assert run(["campaign", "good.toml", "--runs", "2"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("1 of 2: 100.0% completed (20.7% to 100.0%), 0 failed") and lines[1].startswith("2 of 2")


def test_json_is_campaign_json(scenes, capsys):
    assert run(["campaign", "good.toml", "--runs", "3", "--seed", "5", "--out", "here", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    kept = json.loads((scenes / "here" / "campaign.json").read_text())
    assert {name: kept[name] for name in printed} == printed
    assert printed["runs"] == printed["done"] == 3 and printed["seed"] == 5


def test_a_folder_with_runs_needs_resume(scenes, capsys):
    assert run(["campaign", "good.toml", "--runs", "1"]) == 0
    assert run(["campaign", "good.toml", "--runs", "2"]) == 2
    assert "--resume does the rest" in capsys.readouterr().err
    assert run(["campaign", "good.toml", "--runs", "2", "--resume"]) == 0
    assert "2 of 2" in capsys.readouterr().out
    assert run(["campaign", "half.toml", "--runs", "2", "--resume", "--out", "campaign-good-0"]) == 2
    assert "holds a campaign of the scene good, not half" in capsys.readouterr().err


def test_a_campaign_in_which_no_run_came_to_its_end_exits_with_one(scenes, capsys):
    assert run(["campaign", "bad.toml", "--runs", "2"]) == 1
    assert "0 of 2" in capsys.readouterr().out


def test_ctrl_c_keeps_what_had_finished_and_says_how_to_go_on(scenes, monkeypatch, capsys):
    def stopped(plan, runs, workers, scheduler):
        yield perform(plan, 0)
        raise KeyboardInterrupt

    monkeypatch.setattr("phistar.sim.campaign.campaign._rows_of_runs", stopped)
    assert run(["campaign", "good.toml", "--runs", "9"]) == 1
    seen = capsys.readouterr()
    assert "1 of 1" in seen.out and "--resume does the rest" in seen.err
    monkeypatch.setattr("phistar.sim.campaign.campaign._rows_of_runs", here)
    assert run(["campaign", "good.toml", "--runs", "3", "--resume"]) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no such scene"], "There is no scene"),
        (["good.toml", "--runs", "0"], "--runs"),
        (["good.toml", "--workers", "0"], "--workers"),
        (["good.toml", "--keep", "some"], "keep must be one of failed, all, none"),
        (["good.toml", "--workers", "1", "--scheduler", "tcp://127.0.0.1:1"], "give workers or scheduler"),
        (["good.toml", "--out", "good.toml"], "is a file; a campaign needs a folder"),
    ],
)
def test_wrong_input_is_exit_code_2_with_a_sentence(scenes, capsys, arguments, sentence):
    assert run(["campaign", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_values_are_varied_and_the_page_is_named(scenes, capsys):
    assert run(["campaign", "good.toml", "--runs", "4", "--vary", "parts.ball.mass=1,2.5", "--out", "varied"]) == 0
    out = capsys.readouterr().out
    assert "parts.ball.mass" in out and "2 of 2" in out and "varied/campaign.html" in out.replace("\n", "")
    rows = read_rows(Path("varied"))
    assert [row["varied.parts.ball.mass"] for row in rows.values()] == [1.0, 2.5, 1.0, 2.5]
    assert run(["campaign", "good.toml", "--vary", "mass"]) == 2
    assert "PLACE=A,B" in capsys.readouterr().err
