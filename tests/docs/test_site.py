"""What the site's programs write: an entry for every public name, the benchmarks as they were measured, formulas."""

import json
import re
from pathlib import Path

import pytest

import phistar as ps
from tests.programs import program

ROOT = Path(__file__).resolve().parents[2]


def test_every_public_name_has_an_entry_and_a_docstring(tmp_path):
    reference = program("docs/generate_reference.py")
    reference.write(tmp_path)
    text = "".join(path.read_text("utf-8") for path in tmp_path.glob("*.md"))
    entries = set(re.findall(r"^## (ps\.\S+)$", text, re.MULTILINE))
    names = list(reference.public_names())
    assert {name.written for name in names} == entries
    chapters = {name for name in ps.__all__ if vars(ps)["_HOME"][name] == f"phistar.{name}"}
    assert {f"ps.{name}" for name in ps.__all__ if name not in chapters} <= entries
    assert [name.written for name in names if not (name.value.__doc__ or "").strip()] == []


def test_stars_of_a_docstring_are_adjoints_not_emphasis():
    reference = program("docs/generate_reference.py")
    assert reference._prose("φ*H* and `a*b`") == "φ\\*H\\* and `a*b`"


def test_the_table_of_readme_is_that_of_the_results():
    """`make readme` writes it anew."""
    pytest.importorskip("rich")
    benchmarks = program("docs/generate_benchmarks.py")
    facts = json.loads(benchmarks.RESULTS.read_text("utf-8"))
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "<!-- benchmarks -->" in readme and benchmarks.renewed(readme, facts) == readme
    assert facts["machine"]["processor"] in benchmarks.page(facts)


def test_formulas_are_drawn_into_the_page():
    pytest.importorskip("matplotlib")
    pytest.importorskip("docutils")
    drawn = program("docs/mathematics.py").drawn(r"\bar R = \mathcal E_\phi^* < 1")
    assert drawn.startswith("<svg") and "&lt; 1" in drawn and "vertical-align" in drawn


def test_every_page_is_reached_from_the_index():
    """By toctrees, which name files or patterns beside them."""
    reached, left = set(), [ROOT / "docs" / "index.md"]
    while left:
        page = left.pop()
        if page in reached or not page.exists():
            continue
        reached.add(page)
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            for line in tree.splitlines():
                if line and not line.startswith(":"):
                    left += page.parent.glob(f"{line.strip()}.md")
    pages = {path for path in (ROOT / "docs").rglob("*.md") if not path.read_text("utf-8").startswith("|")}
    assert sorted(path.relative_to(ROOT).as_posix() for path in pages - reached) == []
