"""House style that a machine can hold: files and functions stay small, imports flow one way, tests write in their own
folder."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LONGEST_FILE = 400
LONGEST_FUNCTION = 50


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT / "src").as_posix())
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert text.count("\n") <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1 - _documentation(node)
            assert lines <= LONGEST_FUNCTION, f"{node.name}: {lines} lines"


def _documentation(node):
    """Lines of a public function's docstring, which tells parameters, returns and an example; not those of others."""
    first = node.body[0]
    told = ast.get_docstring(node) and not node.name.startswith("_")
    return first.end_lineno - first.lineno + 1 if told else 0


def test_every_folder_of_the_package_is_a_package():
    """Without its __init__.py a folder escapes the layer check and the type checker."""
    bare = {path.parent for path in SOURCES if not (path.parent / "__init__.py").exists()}
    assert [folder.relative_to(ROOT).as_posix() for folder in sorted(bare)] == []


def test_imports_flow_one_way():
    linter = pytest.importorskip("importlinter.cli")
    code = f"import sys; from {linter.__name__} import lint_imports_command; sys.exit(lint_imports_command())"
    done = subprocess.run([sys.executable, "-c", code, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("place", ["/nowhere", ROOT / "nowhere", ROOT / "tests" / "data" / "nowhere"], ids=str)
def test_no_test_can_write_outside_its_own_folder(place):
    for write in (Path.mkdir, Path.touch):
        with pytest.raises(AssertionError, match="would write"):
            write(Path(place))


def test_no_two_modules_share_a_name():
    """People find files by name."""
    names = Counter(path.name for path in SOURCES if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


OF_THE_FIELD = "embed|feed|need|seed|coloured|whitened|decorrelated|recovered|diagonalized|gathered|traced|transposed"
"""Verbs and a noun that look like a participle; and signals after a filter, forces summed towards the base, arrays."""
IRREGULAR = (
    "made|kept|held|given|taken|found|known|seen|shown|drawn|written|built|sent|left|met|worn|torn|chosen|frozen|broken"
    "|driven|beaten|hidden|grown|thrown|done|gone|begun|won|said|paid|laid|told|sold|felt|dealt|meant|swept|brought"
    "|caught|thought|fought|stood|understood|heard"
)
ADVERBS = "again|apart|at|away|before|behind|beside|by|for|from|in|into|of|off|on|out|over|to|together|up|with|within"
PARTICIPLE = re.compile(f"_*(?!(?:{OF_THE_FIELD})(?:_|$))(?:[a-z]+ed|{IRREGULAR})(?:_(?:{ADVERBS})(?:_.*)?)?")


def test_functions_are_named_by_what_they_do():
    """By a verb, or by what they return; `made(…)`, `_placed(…)` and `held_by(…)` tell a reader neither. Public methods
    may be the participle: `pose.inverted()` is a changed copy of the pose."""
    assert [name for path in SOURCES for name in _bare_participles(ast.parse(path.read_text()))] == []


def _bare_participles(tree):
    public_methods = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.FunctionDef) and not part.name.startswith("_")
    }
    for node in ast.walk(tree):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and id(node) not in public_methods
        if is_function and PARTICIPLE.fullmatch(node.name):
            yield node.name
