"""Setting up fails in sentences: no Python, no network, a broken pip; never a traceback."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.programs import program

ROOT = Path(__file__).resolve().parents[2]
NO_NETWORK = "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(nope)': /simple/numpy/"


@pytest.fixture
def bootstrap():
    return program("tools/bootstrap.py")


@pytest.fixture
def pip_that_says(bootstrap, tmp_path, monkeypatch):
    """Replaces the environment's Python by a program that prints a line to stderr and ends with a code."""

    def replace(line, code):
        fake = tmp_path / "python"
        fake.write_text(f'#!/bin/sh\necho "{line}" >&2\nexit {code}\n')
        fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(bootstrap, "PYTHON", fake)

    return replace


def test_no_network_is_one_sentence_that_says_what_to_do(bootstrap, pip_that_says, capfd):
    pip_that_says(NO_NETWORK, 1)
    with pytest.raises(bootstrap.SetupError, match=r"cannot reach the package index: connect .* or set PIP_NO_INDEX"):
        bootstrap.install("numpy")
    assert "NewConnectionError" not in "".join(capfd.readouterr())


def test_a_network_that_stumbles_is_no_failure(bootstrap, pip_that_says):
    pip_that_says(NO_NETWORK, 0)
    bootstrap.install("numpy")


def test_any_other_failure_shows_what_pip_said(bootstrap, pip_that_says, capfd):
    pip_that_says("ERROR: No space left on device", 1)
    with pytest.raises(bootstrap.SetupError, match="its own message above"):
        bootstrap.install("numpy")
    assert "No space left on device" in capfd.readouterr().err


def test_without_a_supported_python_make_says_so(tmp_path):
    for tool in ("sh", "echo"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    command = ["sh", str(ROOT / "tools" / "with_python.sh"), "tools/bootstrap.py"]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("phistar needs Python 3.11, 3.12 or 3.13 and found none") and "PYTHON=" in done.stderr


def test_make_help_names_every_target():
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    shown = subprocess.run([make, "help"], cwd=ROOT, capture_output=True, text=True, env=os.environ | {"MAKEFLAGS": ""})
    for target in ("run", "test", "test-all", "bench", "docs", "lint", "readme", "lock", "clean"):
        assert f"make {target} " in shown.stdout
