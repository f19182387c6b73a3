"""The derivations page is what the program prints, for every target of the rewriter and every law."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from phistar.identities.law import LAWS
from phistar.operators.show import text
from tests.identities.targets import CHAIN, TARGETS
from tests.programs import program

GENERATOR = Path(__file__).parents[2] / "docs" / "generate_derivations.py"


@pytest.fixture(scope="module")
def generator():
    return program("docs/generate_derivations.py")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("algebra")
    subprocess.run([sys.executable, str(GENERATOR), str(folder)], check=True)
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TARGETS)
def test_every_target_is_derived_on_the_page(name, pages, generator):
    """The statement, each step's law, the form it ends in, a recursion and its cost as a polynomial."""
    node = TARGETS[name].statement(CHAIN[0])
    sections = {text(section.statement(generator.ps.algebra()).node): section for section in generator.ENTRIES}
    entry = sections[text(node)]
    page = pages["derivations"].split(f"## {entry.title}\n")[1].split("\n## ")[0]
    shown = json.loads(page.split("```{derivation}\n")[1].split("\n```")[0])
    assert shown["start"]["statement"] == text(node)
    assert all(step["law"] and step["latex"] for step in shown["steps"])
    assert TARGETS[name].chain in [shown["start"]["statement"], *(step["statement"] for step in shown["steps"])]
    assert "end loop" in page and "multiplications" in page


def test_every_derivation_carries_a_certificate_that_was_checked(pages, generator):
    sections = pages["derivations"].split("\n## ")[1:]
    assert len(sections) == len(generator.ENTRIES)
    assert all("replayed exactly" in section for section in sections)
    evaluated = [section for section in sections if "evaluated to 50 digits" in section]
    assert len(evaluated) == len(sections)


def test_every_law_is_on_the_page(pages):
    rows = [line for line in pages["laws"].splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(LAWS)
    assert all(any(law.citation in row for row in rows) for law in LAWS)


def test_the_index_leads_to_the_pages(pages):
    assert "derivations\nlaws" in pages["index"]
