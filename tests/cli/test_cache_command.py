"""`phistar cache`: where kernels are kept, how many, how large; and a way to be rid of them."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.__main__ import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PHISTAR_CACHE", str(tmp_path / "kernels"))
    ps.gravity_load(ps.load("planar2"), np.zeros(2))
    ps.mass_matrix(ps.load("planar2"), np.zeros(2))
    return tmp_path / "kernels"


def test_it_shows_folder_number_and_size(folder, capsys):
    assert main(["cache"]) == 0
    shown = capsys.readouterr().out
    assert str(folder) in shown and "2 compiled kernels" in shown and "MB" in shown


def test_json_has_the_same_facts(folder, capsys):
    assert main(["cache", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    size = sum(path.stat().st_size for path in folder.glob("*.kernel"))
    assert facts == {"format_version": 1, "folder": str(folder), "entries": 2, "bytes": size}


def test_clear_removes_the_kernels(folder, capsys):
    assert main(["cache", "--clear"]) == 0
    assert "Removed 2 compiled kernels" in capsys.readouterr().out
    assert list(folder.iterdir()) == []
    assert main(["cache", "--clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == 0


def test_a_folder_that_is_not_there_is_empty(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PHISTAR_CACHE", str(tmp_path / "nowhere"))
    for arguments in (["cache"], ["cache", "--clear"]):
        assert main(arguments) == 0
        assert "0 compiled kernels" in capsys.readouterr().out


def test_off_says_so(monkeypatch, capsys):
    monkeypatch.setenv("PHISTAR_CACHE", "off")
    assert main(["cache"]) == 0
    assert "PHISTAR_CACHE is off" in capsys.readouterr().out
    assert main(["cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["folder"] is None
