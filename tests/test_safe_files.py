"""Strangers' files: every TOML file is read in bounded time and memory, or refused in a sentence."""

import os

import pytest

import phistar as ps
from phistar.control.supervisor import Supervisor
from phistar.safe_files import MOST_DOTS, parse_toml

DOTS = ".".join(["a"] * 100_000) + " = 1\n"  # Python's reader would take hours
SPOILED = {
    "dotted keys": DOTS,
    "quoted dotted keys": DOTS.replace("a.", '"a b" . '),
    "dotted keys of a table": f"x = {{y = 1, {DOTS.strip()}}}",
    "a dotted table": f"[[{DOTS.partition(' ')[0]}]]",
    "nested lists": "x = " + "[" * 3000 + "]" * 3000,
    "a number of many digits": "x = " + "9" * 5000,
    "no value": "x =",
}
READERS = {
    "scene": ps.Scene.load,
    "plant": ps.Plant.load,
    "rules": lambda path: Supervisor.load(path, []),
    "sidecar": lambda path: ps.load("puma560", loops=path),
}


@pytest.mark.parametrize("text", SPOILED.values(), ids=SPOILED)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_toml_that_would_not_end_is_refused_by_every_reader(read, text, tmp_path):
    (tmp_path / "spoiled.toml").write_text(text)
    with pytest.raises(ps.FileError, match=r"spoiled\.toml.*(nested too deeply|is a TOML file)"):
        read(tmp_path / "spoiled.toml")


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_pipes_and_large_files_are_refused_by_every_reader(read, tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(ps.FileError, match="not a regular file"):
        read(tmp_path / "pipe.toml")
    with (tmp_path / "large.toml").open("wb") as stream:
        stream.truncate(2**31)
    with pytest.raises(ps.FileError, match="larger than"):
        read(tmp_path / "large.toml")


def test_keys_and_texts_with_dots_are_read_as_they_stand():
    long = "x." * 10 * MOST_DOTS
    assert parse_toml(f'a.b."c.d" = "{long}"\n[e . f]', "file", "a scene") == {
        "a": {"b": {"c.d": long}},
        "e": {"f": {}},
    }
