"""Files of strangers, spoiled by the thousand: each loads or is refused with a sentence, in bounded time and memory."""

import sys

import pytest

from tools.attack.__main__ import attack, shares
from tools.attack.targets import TARGETS

pytest.importorskip("coal")
pytest.importorskip("h5py")
pytest.importorskip("mujoco")
pytest.importorskip("trimesh")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="alarms and limits as on Unix")
QUICK, THOROUGH = shares(1000), shares(100_000)


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
    ("model inside", 462),
    ("model inside", 488),
    ("checkpoint", 697),
    ("checkpoint", 1915),
)


@pytest.mark.parametrize("kind, number", FOUND)
def test_what_the_hundred_thousand_found_is_refused(kind, number):
    assert attack(kind, range(number, number + 1), seed=1).outcomes == {"refused": 1}


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
