"""Every code block of README.md and of the site runs, and prints what is shown beneath it."""

import re
from pathlib import Path

import pytest

from tests.programs import program

ROOT = Path(__file__).resolve().parents[2]


TOOL = program("tools/pages.py")
PAGES = TOOL.pages()
RUNS = {"python", "py", "console", "sh", "toml", "xml"}
SHOWS = {"text", "latex", "c", "js", "json"}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_runs_and_prints_what_is_shown(path, tmp_path, monkeypatch):
    """`make readme` writes the output anew."""
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    written = path.read_text("utf-8")
    assert TOOL.refreshed(written).splitlines() == written.splitlines()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_block_of_a_page_escapes_the_tests(path):
    languages = {block.language for block in TOOL.blocks(path.read_text("utf-8"))}
    assert languages <= RUNS | SHOWS


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_named_on_a_page_exist(path):
    """Targets of make, files of the project."""
    text = path.read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))
    assert named <= targets
    files = re.findall(r"`((?:examples|benchmarks|tools|tests|docs|notebooks)/[\w/.-]+\.\w+)`", text)
    assert [name for name in files if not (ROOT / name).exists() and not name.startswith("docs/")] == []


def test_a_page_that_shows_something_else_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```toml\n# here.toml\na = 1\n```\n"
    assert TOOL.refreshed(page) == page.replace("3\n", "2\n")
    assert (tmp_path / "here.toml").read_text().endswith("a = 1\n")


def test_a_peer_that_is_missing_leaves_its_block_alone_and_ours_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "```py\nimport no_such_library\n```\n\n```text\nkept\n```\n"
    assert TOOL.refreshed(page) == page
    with pytest.raises(ModuleNotFoundError):
        TOOL.refreshed(page.replace("```py\n", "```python\n"))
