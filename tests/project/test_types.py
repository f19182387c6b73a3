"""A type checker in its strictest mode sees the type of everything a program gets from phistar."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "project" / "every_chapter.py"
SHAPES = ("tuple[Any, ...]", "_AnyShape")  # Python's types have no word for (…, nv)
MISSPELT = 'ps.jakobian(ps.load("puma560"), [0] * 6, "tool")'
JSON = ("dict[str, Any]", "Mapping[str, Any]")  # tables as JSON files hold them: schemas, certificates, summaries


def checked(source: str, folder: Path) -> list[dict]:
    """What pyright says of a program, in strict mode."""
    pytest.importorskip("pyright")
    (folder / "program.py").write_text(source)
    settings = {"typeCheckingMode": "strict", "include": ["program.py"], "extraPaths": [str(ROOT / "src")]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "-p", str(folder), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {done.stderr[:200]}")
    return json.loads(done.stdout)["generalDiagnostics"]


def assigned(source: str) -> list[str]:
    targets = [
        target for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assign) for target in node.targets
    ]
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What is said of the program, with a question for the type of each name, and of a misspelt name at its end."""
    source = PROGRAM.read_text()
    asked = [*(f"reveal_type({name})" for name in assigned(source)), MISSPELT]
    return checked(source + "\n".join(["", *asked, ""]), tmp_path_factory.mktemp("types"))


def test_a_program_that_uses_every_chapter_sees_no_any(told):
    errors = [each["message"] for each in told if each["severity"] == "error"]
    assert [message for message in errors if '"jakobian"' not in message] == []
    types = [each["message"] for each in told if each["severity"] == "information"]
    assert len(types) == len(assigned(PROGRAM.read_text())) > 200
    for word in SHAPES + JSON:
        types = [message.replace(word, "") for message in types]
    assert [message for message in types if "Any" in message or "Unknown" in message] == []


def test_a_misspelt_name_is_an_error(told):
    assert any('"jakobian"' in each["message"] for each in told if each["severity"] == "error")
