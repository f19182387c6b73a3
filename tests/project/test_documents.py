"""The examples run, and the layout names every folder. Code in pages: tests/docs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(path):
    done = run(str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_folder_of_the_package_is_in_the_layout():
    layout = (ROOT / "docs" / "layout.md").read_text()
    folders = [path.name for path in (ROOT / "src" / "phistar").iterdir() if (path / "__init__.py").exists()]
    assert [name for name in folders if f"`{name}/`" not in layout] == []
