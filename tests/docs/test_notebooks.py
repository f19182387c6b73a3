"""The notebooks of the five papers: kept as their sources are, and they run."""

import re
from pathlib import Path

import pytest

from tests.programs import program

nbformat = pytest.importorskip("nbformat")
ROOT = Path(__file__).resolve().parents[2]


TOOL = program("tools/notebooks.py")


@pytest.mark.parametrize("name", TOOL.ORDER)
def test_a_kept_notebook_is_that_of_its_source_and_has_outputs(name):
    """`make notebooks` runs them anew."""
    kept = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    nbformat.validate(kept)
    assert [(cell.cell_type, cell.source) for cell in kept.cells] == TOOL.cells(
        (ROOT / "notebooks" / f"{name}.py").read_text("utf-8")
    )
    outputs = [output for cell in kept.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any(output.output_type == "stream" for output in outputs)
    assert not any(output.output_type == "error" for output in outputs)
    assert (ROOT / "notebooks" / f"{name}.ipynb").stat().st_size < 400_000


@pytest.mark.slow
@pytest.mark.parametrize("name", TOOL.ORDER)
def test_a_notebook_runs_from_top_to_bottom(name):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    made = TOOL.executed(name)
    assert all(cell.execution_count for cell in made.cells if cell.cell_type == "code")


def test_notebooks_become_pages_with_their_pictures(tmp_path):
    TOOL.pages(tmp_path)
    text = (tmp_path / "rjk91.md").read_text("utf-8")
    assert "## §2 The Jacobian operator" in text and "agree to" in text and "![](rjk91-" in text
    assert all((tmp_path / name).exists() for name in re.findall(r"!\[\]\((\S+)\)", text))
