"""What the documents show is what the programs print; the examples run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT)


def test_the_readme_shows_what_its_programs_and_commands_print():
    """`make readme` writes the output anew."""
    assert "```python" in README and "```console" in README
    done = run("tools/readme.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(path):
    done = run(str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_folder_of_the_package_is_in_the_layout():
    layout = (ROOT / "docs" / "layout.md").read_text()
    folders = [path.name for path in (ROOT / "src" / "phistar").iterdir() if (path / "__init__.py").exists()]
    assert [name for name in folders if f"`{name}/`" not in layout] == []
