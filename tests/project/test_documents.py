"""What the documents show is what the programs print; the examples run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from phistar.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PYTHON_WITH_OUTPUT = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
COMMANDS_WITH_OUTPUT = re.findall(r"```console\n\$ phistar (.*?)\n(.*?)```", README, re.DOTALL)


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT)


def without_trailing_blanks(text):
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def test_the_readme_shows_a_command_and_a_program():
    assert COMMANDS_WITH_OUTPUT and PYTHON_WITH_OUTPUT


@pytest.mark.parametrize(("command", "shown"), COMMANDS_WITH_OUTPUT, ids=[c for c, _ in COMMANDS_WITH_OUTPUT])
def test_commands_in_the_readme_print_what_it_shows(command, shown, capsys):
    assert main(shlex.split(command)) == 0
    assert without_trailing_blanks(capsys.readouterr().out) == without_trailing_blanks(shown)


@pytest.mark.parametrize(("code", "shown"), PYTHON_WITH_OUTPUT, ids=range(len(PYTHON_WITH_OUTPUT)))
def test_programs_in_the_readme_print_what_it_shows(code, shown):
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert without_trailing_blanks(done.stdout) == without_trailing_blanks(shown)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(path):
    done = run(str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_folder_of_the_package_is_in_the_layout():
    layout = (ROOT / "docs" / "layout.md").read_text()
    folders = [path.name for path in (ROOT / "src" / "phistar").iterdir() if (path / "__init__.py").exists()]
    assert [name for name in folders if f"`{name}/`" not in layout] == []
