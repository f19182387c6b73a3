"""The command line as a newcomer meets it: bare, misused, completed by a shell, and fed with nonsense."""

import os
import re
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phistar.__main__ import main
from phistar.cli import command_names
from phistar.cli.app import COMMANDS

# Nothing can be made in any of these folders by anyone, but in the test's own; what is only read may be anywhere.
WRONG = [
    "",
    " ",
    ".",
    "..",
    os.devnull,
    f"{os.devnull}/x.toml",
    "a\0b",
    "🤖",
    "nan",
    "-1",
    "--",
    "1e999",
    "{}",
    "../..",
]
WRONG += ["x" * 5000, "\ud800", "puma560\n", "./puma560", "arm.urdf", "[[", "\\", "'", "*", "J @", "--no-such-option"]
READ = [*WRONG, "/", "/nowhere/x.toml"]
OPTIONS = {
    "info": ["--json", "--tree", "--floating", "--packages", "--without"],
    "derive": ["--json", "--latex", "--n", "--tree"],
    "export": ["--c", "--frame", "--json", "--floating"],
    "simulate": ["--q", "--v", "--duration", "--out", "--json", "--floating"],
    "campaign": ["--runs", "--seed", "--out", "--workers", "--resume", "--keep", "--packages", "--json"],
    "run": ["--seed", "--out", "--json", "--checkpoint", "--packages"],
    "view": ["--port", "--host", "--algebra", "--floating", "--packages", "--no-browser"],
}


def test_the_bare_command_says_what_there_is(capsys):
    assert main([]) == 0
    seen = capsys.readouterr()
    assert "phistar info puma560" in seen.out and seen.err == ""
    for command, purpose in COMMANDS.items():
        assert re.search(rf"^  {command.__name__} +{re.escape(purpose)}$", seen.out, re.MULTILINE)


@pytest.mark.parametrize("command", [each.__name__ for each in COMMANDS])
def test_the_help_of_every_command_has_examples_and_h_is_enough(command, capsys):
    assert main([command, "-h"]) == 0
    shown = capsys.readouterr().out
    assert "Examples:" in shown and f"  phistar {command}" in shown


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("puma560", "puma560 is a robot: phistar info puma560,"),
        ("bouncing", "bouncing is a scene: phistar run bouncing,"),
        ("arm.urdf", "arm.urdf is a robot:"),
        ("mine.toml", "mine.toml is a scene:"),
        ("out", "out is the folder of a run: phistar view out."),
        ("inof", "info"),
    ],
)
def test_what_stands_where_a_command_belongs_is_told_what_it_is_for(word, sentence, capsys, tmp_path, monkeypatch):
    for name in ("arm.urdf", "mine.toml"):
        (tmp_path / name).write_text("")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "summary.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert main([word]) == 2
    assert sentence in capsys.readouterr().err


def test_names_that_a_shell_can_complete(tmp_path, monkeypatch):
    for name in ("arm.urdf", "arm.toml", "arm.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "armada").mkdir()
    monkeypatch.chdir(tmp_path)
    assert command_names.robots("pu") == ["puma560", "puma560_akb"]
    assert command_names.robots("ar") == ["arm.urdf", "armada/"] and command_names.scenes("ar") == [
        "arm.toml",
        "armada/",
    ]
    assert set(command_names.completions("ar")) == {"arm.urdf", "arm.toml", "armada/"}
    assert command_names.scenes("bou") == ["bouncing"] and "mass_matrix" in command_names.functions("mass")


def test_the_shell_is_answered():
    asked = {"_PHISTAR_COMPLETE": "complete_bash", "COMP_WORDS": "phistar info pu", "COMP_CWORD": "2"}
    done = subprocess.run([sys.executable, "-m", "phistar"], env=os.environ | asked, capture_output=True, text=True)
    assert done.stdout.split() == ["puma560", "puma560_akb"], done.stderr


def test_a_terminal_without_the_papers_letters_still_shows_the_rest():
    poor = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "phistar", "derive", "inv(mass)"]
    done = subprocess.run(command, env=poor, capture_output=True, text=True)
    assert done.returncode == 0 and "Derivation" in done.stdout and done.stderr == ""


@pytest.fixture
def deep(tmp_path, monkeypatch):
    """A folder whose parents are the test's own, too; nothing is served from it."""
    pytest.importorskip("viser", reason="the viewer needs viser")
    from phistar.view.sweeps import SweepsView
    from phistar.view.viewer import Viewer

    for kind in (Viewer, SweepsView):
        monkeypatch.setattr(kind, "serve", kind.stop)
    monkeypatch.setattr("webbrowser.open", lambda address: None)
    folder = tmp_path / "one" / "two"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_nonsense_is_a_sentence_and_never_a_traceback(data, capfd, deep):
    """Nothing of it gets so far as to run; without a scene `run` would take its own."""
    command = data.draw(st.sampled_from(sorted(OPTIONS)))
    arguments = [command, data.draw(st.sampled_from([word for word in READ if command != "run" or word != "--"]))]
    arguments += data.draw(st.lists(st.sampled_from(OPTIONS[command] + WRONG), max_size=4))
    code = main(arguments)
    seen = capfd.readouterr()
    assert code in (0, 1, 2)
    assert "Traceback" not in seen.err and "should not have" not in seen.err
    assert code == 0 or len(seen.err) > 10
