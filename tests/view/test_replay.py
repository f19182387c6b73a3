"""Replays: one file, complete and small; and runs found again from their folders."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser", reason="the viewer needs viser")
pytest.importorskip("h5py", reason="runs are kept with h5py")
pytest.importorskip("coal", reason="scenes need coal")

import phistar as ps
from phistar.cli.app import run as command
from phistar.errors import FileError
from phistar.view import replay
from tests.scenes import FLOOR, ball, little_scene

TIME = {"duration": 0.2, "step": 0.002}
SCENE = little_scene({"name": "arm", "robot": "arm.urdf"}, time=TIME, controller={"law": "hold"})
DROP = little_scene(FLOOR, ball(xyz=[0.0, 0.0, 0.15]), name="drop", time=TIME)
ARM = """<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="0.1 0.1 0.4"/></geometry></visual></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="10"/></joint></robot>"""


@pytest.fixture(scope="module")
def drop(tmp_path_factory):
    path = tmp_path_factory.mktemp("scenes") / "drop.toml"
    path.write_text(DROP)
    return path


@pytest.fixture(scope="module")
def result(drop):
    return ps.Scene.load(drop).run()


def test_a_replay_holds_everything_and_fetches_nothing(result, tmp_path):
    path = replay.write(result, tmp_path / "replay.html")
    text = path.read_text("utf-8")
    assert path.stat().st_size < 2_000_000
    assert "<title>drop: replay</title>" in text
    assert "Content-Security-Policy" in text and "connect-src blob: data:" in text
    assert "__VISER_EMBED_DATA__" in text
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?https?:", text)


def test_a_long_motion_is_thinned(monkeypatch, tmp_path):
    monkeypatch.setattr(replay, "MOST_FRAMES", 50)
    seen = []
    monkeypatch.setattr(replay, "page", lambda recording: seen.append(len(recording.t)) or "x")
    puma = ps.load("puma560")
    t = np.linspace(0.0, 100.0, 5001)
    still = np.zeros((5001, 6))
    replay.write(ps.Trajectory(puma, t, still, still), tmp_path / "replay.html")
    assert seen == [51]


def test_a_page_that_is_too_large_gets_fewer_frames(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(replay, "LARGEST", 1000)
    monkeypatch.setattr(replay, "page", lambda recording: seen.append(len(recording.t)) or "x" * 10 * len(recording.t))
    puma = ps.load("puma560")
    t = np.linspace(0.0, 10.0, 1001)
    still = np.zeros((1001, 6))
    path = replay.write(ps.Trajectory(puma, t, still, still), tmp_path / "replay.html")
    assert seen == [301, 151, 76]
    assert path.stat().st_size <= 1000


def test_a_folder_gives_the_recording_of_its_run(result, tmp_path):
    result.save(tmp_path / "run")
    found = ps.Trajectory.load(tmp_path / "run")
    np.testing.assert_array_equal(found.q, result.arrays["q"])
    np.testing.assert_array_equal(found.arrays["contact_vector"], result.arrays["contact_vector"])
    assert found.model == result.model


def test_a_robot_named_by_file_is_found_beside_its_scene(tmp_path, monkeypatch):
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "swing.toml").write_text(SCENE)
    ps.Scene.load(tmp_path / "swing.toml").run().save(tmp_path / "runs" / "0")
    assert ps.Trajectory.load(tmp_path / "runs" / "0").model.joints[0].name == "arm/hinge"
    (tmp_path / "arm.urdf").unlink()
    assert ps.Trajectory.load(tmp_path / "runs" / "0").model.joints[0].name == "arm/hinge"  # the model inside


def test_what_is_no_run_is_refused_with_a_sentence(tmp_path, capsys):
    with pytest.raises(FileError, match="phistar run SCENE --out DIR"):
        ps.Trajectory.load(tmp_path)
    assert command(["view", str(tmp_path), "--no-browser", "--port", "0"]) == 2
    assert "is not the folder of a run" in capsys.readouterr().err


@pytest.mark.parametrize("damage", [b"", b"not a trajectory"])
def test_a_damaged_trajectory_is_refused(result, tmp_path, damage):
    result.save(tmp_path)
    Path(tmp_path / "trajectory.h5").write_bytes(damage)
    with pytest.raises(FileError, match="is not the folder of a run"):
        ps.Trajectory.load(tmp_path)


def test_unknown_robots_and_wrong_places_are_refused(capsys):
    assert command(["view", "no_such_robot", "--no-browser"]) == 2
    assert command(["view", "puma560", "--no-browser", "--host", "no.such.host.invalid"]) == 2
    assert "cannot listen on no.such.host.invalid" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize("arguments", [["puma560"], ["bouncing"], ["puma560", "--algebra"]])
def test_the_command_serves_until_it_is_ended(arguments, monkeypatch, capsys):
    from phistar.view.sweeps import SweepsView
    from phistar.view.viewer import Viewer

    for kind in (Viewer, SweepsView):
        monkeypatch.setattr(kind, "serve", kind.stop)
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert command(["view", *arguments, "--port", "0"]) == 0
    assert opened[0].startswith("http://127.0.0.1:")
    assert opened[0] in capsys.readouterr().out


def test_a_run_is_looked_at_while_it_runs_and_afterwards(drop, monkeypatch, capsys):
    from phistar.view.live import Live
    from phistar.view.viewer import Viewer

    lives, played = [], []
    begun = Live.__init__

    def begin(self, *arguments, **options):
        lives.append(self)
        begun(self, *arguments, **options)

    def serve(self):
        played.append(self.recording.name)
        self.stop()

    monkeypatch.setattr(Live, "__init__", begin)
    monkeypatch.setattr(Viewer, "serve", serve)
    monkeypatch.setattr("webbrowser.open", lambda address: None)
    assert command(["run", str(drop), "--live"]) == 0
    assert lives[0].sent >= 1
    assert played == ["drop"]
