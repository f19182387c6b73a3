"""The command line as a whole: help, version, exit codes, and no traceback whatever happens."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from phistar.__main__ import main
from phistar.cli.app import COMMANDS


def test_help_shows_every_command_and_an_example(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "phistar info puma560" in shown
    for command in COMMANDS:
        assert command.__name__ in shown


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_every_command_has_help(command, capsys):
    assert main([command.__name__, "--help"]) == 0
    assert "Usage: phistar" in capsys.readouterr().out


def test_version_is_the_package_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"phistar {version('phistar')}\n"


@pytest.mark.parametrize("arguments", [["no_such_command"], ["info"], ["info", "puma560", "--no-such-option"]])
def test_wrong_usage_is_exit_code_2_with_a_reason(arguments, capsys):
    assert main(arguments) == 2
    seen = capsys.readouterr()
    assert seen.out == "" and "Traceback" not in seen.err and len(seen.err) > 20


def test_an_unforeseen_error_is_one_sentence_and_exit_code_1(monkeypatch, capsys):
    def broken(*_, **__):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("phistar.io.load", broken)
    assert main(["info", "puma560"]) == 1
    seen = capsys.readouterr()
    assert "division by zero" in seen.err and "PHISTAR_TRACEBACK" in seen.err and "Traceback" not in seen.err


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_packages_the_command_says_what_to_install(package):
    code = f"import sys; sys.modules['{package}'] = None; from phistar.__main__ import main; sys.exit(main(['info']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"The command line needs {package}: pip install 'phistar[cli]'\n"
