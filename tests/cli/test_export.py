"""`phistar export`: files and their names, and sentences for what cannot be exported."""

import json
from pathlib import Path

import pytest

from phistar.__main__ import main


def test_it_writes_source_header_example_and_readme(tmp_path, capsys):
    assert main(["export", "puma560", "forward_dynamics", "--c", str(tmp_path / "out")]) == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    stem = "puma560_forward_dynamics"
    assert names == {f"{stem}.c", f"{stem}.h", f"{stem}_example.c", "README.md"}
    assert capsys.readouterr().out.count("wrote ") == 4


def test_json_names_the_files(tmp_path, capsys):
    assert main(["export", "puma560", "jacobian", "--frame", "tool", "--c", str(tmp_path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["format_version"] == 1
    assert facts["files"][0] == str(tmp_path / "puma560_jacobian.c")


def test_a_floating_base_is_part_of_the_state(tmp_path):
    assert main(["export", "planar2", "bias", "--floating", "--c", str(tmp_path)]) == 0
    header = (tmp_path / "planar2_bias.h").read_text()
    assert "q[9]" in header and "root, quaternion w" in header


def test_frames_may_be_repeated(tmp_path):
    arguments = ["export", "planar2", "forward_dynamics", "--frame", "link1", "--frame", "tip", "--c", str(tmp_path)]
    assert main(arguments) == 0
    assert "f_ext[12]" in (tmp_path / "planar2_forward_dynamics.h").read_text()


WRONG = {
    "a misspelt function": (["puma560", "forward_dynamic"], "did you mean 'forward_dynamics'"),
    "a function of no state": (["puma560", "load"], "has no function of a state 'load'"),
    "no frame": (["puma560", "jacobian"], "is about a frame"),
    "an unknown frame": (["puma560", "jacobian", "--frame", "tol"], "did you mean 'tool'"),
    "an unknown robot": (["puma561", "bias"], "puma560"),
}


@pytest.mark.parametrize("arguments, sentence", WRONG.values(), ids=WRONG)
def test_wrong_input_is_one_sentence_and_nothing_written(arguments, sentence, tmp_path, capsys):
    assert main(["export", *arguments, "--c", str(tmp_path / "out")]) == 2
    seen = capsys.readouterr()
    assert sentence in seen.err and seen.out == "" and not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["export", "planar2", "bias", "--c", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_folder_is_required(capsys):
    assert main(["export", "puma560", "bias"]) == 2
    assert "--c" in capsys.readouterr().err


def test_both_targets_are_written_at_once(tmp_path, capsys):
    folders = tmp_path / "c", tmp_path / "page"
    arguments = ["export", "planar2", "bias", "--c", str(folders[0]), "--wasm", str(folders[1]), "--json"]
    assert main(arguments) == 0
    written = [Path(name) for name in json.loads(capsys.readouterr().out)["files"]]
    assert {path.suffix for path in written} == {".c", ".h", ".md", ".wasm", ".mjs"}
    assert all(path.is_file() for path in written)


def test_objects_have_a_target_and_c_may_be_of_floats(tmp_path):
    given = ["export", "puma560", "gravity_load", "--object", str(tmp_path), "--target", "cortex-m4"]
    assert main([*given, "--dtype", "float32", "--header", "rust", "--c", str(tmp_path)]) == 0
    assert {path.suffix for path in tmp_path.iterdir()} == {".o", ".h", ".rs", ".c", ".md"}
    assert main(given[:-2]) == 2  # no target
    assert main([*given[:3], "--wasm", str(tmp_path), "--dtype", "float32"]) == 2
