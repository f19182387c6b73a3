"""The examples run, and the layout names every folder. Code in pages: tests/docs."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


SOURCES = "".join(path.read_text("utf-8") for path in (ROOT / "docs").glob("generate_*.py"))
DRAWN = set(re.findall(r'(?:examples" / |example\()"(\w+)', SOURCES))  # by `make docs`
EXAMPLES = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in DRAWN))
    for path in sorted((ROOT / "examples").glob("*.py"))
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    """As programs, from any folder; in this process, which has derived what they need already. Those that `make docs`
    draws run there, and here among the long tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_every_folder_of_the_package_is_in_the_layout():
    layout = (ROOT / "docs" / "layout.md").read_text()
    folders = [path.name for path in (ROOT / "src" / "phistar").iterdir() if (path / "__init__.py").exists()]
    assert [name for name in folders if f"`{name}/`" not in layout] == []
