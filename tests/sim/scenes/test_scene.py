"""Scene files: read with sentences for mistakes, drawn by seed, run, and kept."""

import json
import re

import numpy as np
import pytest

import phistar as ps
from phistar.cli.app import run
from phistar.sim.scenes.scene import Scene
from phistar.sim.scenes.source import bundled_scenes
from phistar.sim.trajectory import Stopped
from tests.scenes import FLOOR, ball, little_scene

pytest.importorskip("coal")
BALL = ball(mass={"uniform": [1.0, 2.0]}, xyz=[0.0, 0.0, 1.0], velocity={"vector": [0.0, 0.5]})
TIME = {"duration": 0.1, "sample": 0.01, "step": 0.002}
FALLING = little_scene(BALL, time=TIME)


def written(tmp_path, text):
    path = tmp_path / "scene.toml"
    path.write_text(text)
    return path


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", bundled_scenes())
def test_bundled_scenes_are_read(name):
    assert Scene.load(name).setting(1).model.nv > 0


def test_a_seed_draws_the_same_numbers_again_and_another_seed_others(tmp_path):
    scene = Scene.load(written(tmp_path, FALLING))
    first, again, other = (scene.setting(seed) for seed in (5, 5, 6))
    assert first.model == again.model and np.array_equal(first.start[1], again.start[1])
    assert first.model != other.model
    mass = first.model.total_mass
    assert 1.0 <= mass <= 2.0


def test_a_run_samples_its_motion_and_is_kept_whole(tmp_path):
    h5py = pytest.importorskip("h5py")
    result = Scene.load(written(tmp_path, FALLING)).run(seed=2)
    assert result.arrays["t"] == pytest.approx(np.linspace(0, 0.1, 11))
    v = result.arrays["v"]
    assert v[-1, 3:] - v[0, 3:] == pytest.approx([0, 0, -0.981], abs=0.05)
    result.save(tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["completed"] and summary["seed"] == 2 and summary["format_version"] == 1
    with h5py.File(tmp_path / "out" / "trajectory.h5") as file:
        np.testing.assert_array_equal(file["q"], result.arrays["q"])
        assert file["q"].attrs["about"] and list(file.attrs["joint_names"]) == ["ball"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "scene.toml",
        "summary.json",
        "trajectory.h5",
    ]


def test_a_controller_that_fails_stops_the_run_with_what_there_is(tmp_path):
    scene = Scene.load(written(tmp_path, FALLING))
    with pytest.raises(Stopped, match=r"At t = 0\.05.* The force on the joint 'ball' is nan") as stopped:
        scene.run(control=lambda t, q, v: np.full(6, np.nan if t > 0.049 else 0.0))
    assert len(stopped.value.result.arrays["t"]) >= 4 and not stopped.value.result.summary["completed"]


def test_an_intersecting_start_stops_the_run_with_time_pair_depth_and_what_there_is(tmp_path, capsys):
    pytest.importorskip("h5py")
    text = little_scene(FLOOR, BALL | {"xyz": [0.0, 0.0, 0.04]}, time=TIME)
    path, out = written(tmp_path, text), tmp_path / "out"
    assert run(["run", str(path), "--out", str(out)]) == 1
    sentence = r"At t = 0 s (ball / floor|floor / ball) intersect by 0\.06 m\. Start them apart\."
    summary = json.loads((out / "summary.json").read_text())
    assert re.search(sentence, capsys.readouterr().err) and re.search(sentence, summary["reason"])
    assert not summary["completed"] and (out / "trajectory.h5").exists()


def test_a_bullet_is_stopped_by_the_floor_however_fast_it_comes(tmp_path):
    rest, bullet = ball("rest", xyz=[0.0, 0.0, 0.1005]), ball("bullet", xyz=[1.0, 0.0, 1.0], velocity=[0.0, 0.0, -1e7])
    (tmp_path / "scene.toml").write_text(little_scene(FLOOR, rest, bullet))
    run = Scene.load(tmp_path / "scene.toml").run()
    assert run.summary["min_distance"] > 0.0 and run.q[:, [2, 9]].min() > 0.1


def test_a_joint_that_starts_outside_its_limits_is_told_when_the_file_is_read(tmp_path):
    robot = little_scene(
        BALL, {"name": "arm", "robot": "puma560", "q": [0.0, 0.0, 9.0, 0.0, 0.0, 0.0], "parent": "world"}
    )
    with pytest.raises(ps.FileError, match=r"scene\.toml.*arm/.* starts at 9, which is not inside its limits"):
        Scene.load(written(tmp_path, robot))


MISTAKES = {
    "unknown key": (
        "mass = {uniform = [1.0, 2.0]}",
        "mas = 1.0",
        r"ball: mas is not known here; did you mean mass",
    ),
    "misspelt key": ("xyz = [0.0, 0.0, 1.0]", "xzy = [0.0, 0.0, 1.0]", "xzy is not known here; did you mean xyz"),
    "version": ("format_version = 1", "format_version = 7", "format_version is 7; this phistar reads 1"),
    "not a number": ("step = 0.002", "step = 'short'", r"\[time\], step: a number was expected; it is 'short'"),
    "out of range": ("step = 0.002", "step = 3.0", "step: a number from 1e-07 to 0.1 was expected; it is 3.0"),
    "wrong length": ("xyz = [0.0, 0.0, 1.0]", "xyz = [0.0, 0.0]", "xyz: a list of 3 numbers was expected"),
    "two shapes": ("sphere = 0.1", "sphere = 0.1\nbox = [1.0, 1.0, 1.0]", "give one shape"),
    "bad chance": ("{vector = [0.0, 0.5]}", "{vector = [0.5, 0.0]}", "vector takes two numbers, the smaller first"),
    "not TOML": ("format_version = 1", "format_version 1", "a scene is a TOML file"),
    "step and tolerance": ("step = 0.002", "step = 0.002\nrtol = 1e-6", "step, or keep a tolerance, rtol and atol"),
    "two dampings": (
        "[[parts]]",
        "[surface]\ndamping = 1.0\nrestitution = 0.5\n[[parts]]",
        "a restitution takes the place of the damping",
    ),
    "unknown pair": (
        "[[parts]]",
        '[[contacts]]\nbetween = ["ball", "flor"]\n[[parts]]',
        "collision shape.*'?flor|flor.*collision shape",
    ),
    "unknown parent": ('joint = "free"', 'joint = "free"\nparent = "moon"', "moon"),
}


@pytest.mark.parametrize("old, new, sentence", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_sentences_with_the_file_and_the_key(tmp_path, old, new, sentence):
    assert old in FALLING
    with pytest.raises(ps.FileError, match=sentence) as refused:
        Scene.load(written(tmp_path, FALLING.replace(old, new)))
    assert "scene.toml" in str(refused.value)


def test_an_unknown_scene_lists_the_bundled_ones():
    with pytest.raises(ps.FileError, match="bouncing"):
        Scene.load("bonucing")


def test_who_follows_a_passive_scene_is_shown_every_sample():
    scene, times, shown = ps.Scene.load("bouncing"), [], []
    run = scene.run(seed=0, progress=times.append, watch=lambda t, q, touches: shown.append(q))
    assert np.array_equal(times, run.t) and np.array_equal(shown, run.q)
    assert np.array_equal(scene.run(seed=0).q, run.q)
