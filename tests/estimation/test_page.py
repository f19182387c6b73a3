"""The page of the docs: the generator's tables and pictures say what the page says."""

import re
from pathlib import Path

import pytest

from tests.programs import program

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "estimation" / "index.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def generator():
    pytest.importorskip("matplotlib")
    return program("docs/generate_estimation.py")


def test_every_picture_and_table_of_the_page_is_made(generator):
    source = (DOCS / "generate_estimation.py").read_text(encoding="utf-8")
    for name in re.findall(r"!\[.*?\]\((.*?)\)", PAGE):
        assert f'"{name}"' in source
    for name in re.findall(r"\{include\} (\w+)\.txt", PAGE):
        assert f'"{name}": ' in source


def test_the_crossovers_are_where_the_page_says(generator):
    """By count: planar from 5 links, as the text of R87 has it; spatial from 9."""
    wanted = {"planar": (4, 5), "spatial": (8, 9)}
    for name, (before, after) in wanted.items():
        chain = generator.CHAINS[name]
        dearer, cheaper = (
            {form: generator.operations(chain(n), form) for form in (generator.ARTICULATED, generator.COMPOSITE)}
            for n in (before, after)
        )
        assert dearer[generator.ARTICULATED] >= dearer[generator.COMPOSITE]
        assert cheaper[generator.ARTICULATED] < cheaper[generator.COMPOSITE]


def test_pictures_are_drawn(generator, tmp_path):
    generator.narrowing(tmp_path, 4)
    assert (tmp_path / "narrowing.png").stat().st_size > 10_000
