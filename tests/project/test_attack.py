"""Files of strangers, spoiled by the thousand: each loads or is refused with a sentence, in bounded time and memory."""

import json
import sys

import pytest

import phistar as ps
from tools.attack.__main__ import attack, shares
from tools.attack.run_targets import saved_run
from tools.attack.targets import TARGETS

pytest.importorskip("coal")
pytest.importorskip("h5py")
pytest.importorskip("mujoco")
pytest.importorskip("trimesh")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="alarms and limits as on Unix")
QUICK, THOROUGH = shares(1000), shares(100_000)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", TARGETS)
def test_spoiled_files_load_or_are_refused_with_a_sentence(kind):
    tally = attack(kind, range(QUICK[kind]))
    assert not tally.failures, tally.failures[:5]
    assert tally.outcomes["refused"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("kind", TARGETS)
def test_a_hundred_thousand_spoiled_files_load_or_are_refused_with_a_sentence(kind, part):
    tally = attack(kind, range(part, THOROUGH[kind], 4), seed=1)
    assert not tally.failures, tally.failures[:5]


FOUND = (
    ("plant", 1572),
    ("mesh", 13462),
    ("checkpoint", 697),
    ("checkpoint", 1915),
)


@pytest.mark.parametrize("kind, number", FOUND)
def test_what_the_hundred_thousand_found_is_refused(kind, number):
    assert attack(kind, range(number, number + 1), seed=1).outcomes == {"refused": 1}


@pytest.mark.parametrize("name", [False, ["//host/share"]])
def test_names_of_frames_in_a_saved_motion_are_words(tmp_path, name):
    """Found by the hundred thousand, too; such files change with every field that models are given."""
    import h5py

    path = tmp_path / "run.h5"
    path.write_bytes(saved_run()["trajectory.h5"])
    with h5py.File(path, "a") as file:
        tree = json.loads(file["model/tree"][()].tobytes())
        tree["dict"][0][1]["named"]["frame_list"]["tuple"][2]["named"]["name"] = name
        del file["model/tree"]
        file.create_dataset("model/tree", data=bytearray(json.dumps(tree).encode()))
    with pytest.raises(ps.FileError):
        ps.Trajectory.load(path)


def test_a_reader_that_fails_is_found(monkeypatch):
    """The attack itself can fail: what is no sentence, too long a wait and too much memory all count."""
    from tools.attack import trial

    def waits():
        while True:
            pass

    monkeypatch.setattr(trial, "LONGEST_SECONDS", 0.05)
    assert "KeyError" in trial.tried(lambda: {}["x"])
    assert "took more than" in trial.tried(waits)
    monkeypatch.setattr(trial, "MOST_GROWTH", 100)
    assert "MB" in trial.tried(lambda: bytearray(b"x") * 2**29)
    assert trial.tried(lambda: None) == "loaded"
