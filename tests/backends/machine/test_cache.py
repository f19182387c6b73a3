"""Kernels on disk: the second start compiles nothing, and nothing is loaded that cannot be trusted."""

import json
import logging
import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar.backends.machine import cache, jit
from phistar.backends.programs import derivations, derived_programs

# Prints how many kernels were compiled, and a result.
PROGRAM = """
import json, sys
import numpy as np
import phistar as ps
from phistar.backends import kernel
from phistar.backends.machine import jit
compiled = []
whole = jit.compile_object
jit.compile_object = lambda *given: compiled.append(1) or whole(*given)
model = ps.load("planar3")
q = np.array([0.3, -0.2, 0.5])
results = [ps.forward_dynamics(model, q, q, q), ps.mass_matrix(model, q)[0]]
print(json.dumps([len(compiled), *(x.tolist() for x in results), sorted(sys.modules)]))
"""
POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")
Q = np.array([0.3, -0.2, 0.5])


def start(folder, program=PROGRAM):
    """A fresh process with a cache folder: kernels compiled, results, modules."""
    environment = os.environ | {"PHISTAR_CACHE": str(folder)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    masses()  # with the kernels that are made once a process
    place = tmp_path / "cache"
    monkeypatch.setenv("PHISTAR_CACHE", str(place))
    return place


@pytest.fixture
def compilations(monkeypatch):
    """A list that grows by one with every kernel compiled in this process."""
    made, whole = [], jit.compile_object
    monkeypatch.setattr(jit, "compile_object", lambda *given: made.append(1) or whole(*given))
    return made


def masses():
    """The mass matrix of a model that has no kernel in memory."""
    return ps.mass_matrix(ps.load("planar3"), Q)


def only(folder) -> Path:
    (entry,) = folder.glob("*.kernel")
    return entry


def test_the_second_start_compiles_nothing(tmp_path):
    first, *results, _ = start(tmp_path / "cache")
    second, *again, _ = start(tmp_path / "cache")
    assert first == 3 and second == 0 and results == again


@pytest.mark.slow
def test_the_second_start_traces_nothing(tmp_path):
    start(tmp_path / "cache")
    program = PROGRAM.replace(
        "model =", "kernel.record_statements = kernel.module_text = None  # what would be called is not there\nmodel ="
    )
    assert start(tmp_path / "cache", program)[0] == 0


def test_several_processes_at_once(tmp_path):
    """They may all compile; none fails, and what they leave is whole."""
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(start, [tmp_path / "cache"] * 4))
    assert all(run[1:3] == runs[0][1:3] for run in runs)
    assert start(tmp_path / "cache")[0] == 0
    assert len(list((tmp_path / "cache").glob("*.kernel"))) == 3  # two robots, and the doors of all functions


def damages(data: bytes) -> dict[str, bytes]:
    def flipped(place):
        return data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]

    return {
        "empty": b"",
        "truncated in the checksum": data[:20],
        "truncated in the header": data[:60],
        "truncated in the code": data[: len(data) // 2],
        "one byte short": data[:-1],
        "one byte more": data + b"\0",
        "a bit of the checksum flipped": flipped(3),
        "a bit of the header flipped": flipped(40),
        "a bit of the code flipped": flipped(len(data) - 500),
        "the last bit flipped": flipped(len(data) - 1),
        "something else": b"\x7fELF" + bytes(4000),
        "text": b"a" * 5000,
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("damage", damages(bytes(6000)))
def test_a_damaged_entry_is_never_loaded_and_made_anew(folder, compilations, monkeypatch, caplog, damage):
    expected = masses()
    entry = only(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damages(whole)[damage])
    loaded, load = [], jit.load_object
    monkeypatch.setattr(jit, "load_object", lambda *given: loaded.append(given[0]) or load(*given))
    with caplog.at_level(logging.WARNING, "phistar"):
        np.testing.assert_array_equal(masses(), expected)
    assert len(compilations) == 2 and "compiled again" in caplog.text
    assert loaded == [whole[32:].partition(b"\n")[2]]  # the code compiled anew, not what was in the file
    assert entry.read_bytes() == whole
    masses()
    assert len(compilations) == 2


def test_an_entry_under_another_name_is_not_what_it_says(folder, compilations):
    masses()
    mine = only(folder)
    ps.bias(ps.load("planar3"), Q, Q)
    (other,) = set(folder.glob("*.kernel")) - {mine}
    shutil.copy(other, mine)  # whole, with a checksum that fits its content
    assert masses().shape == (3, 3)
    assert len(compilations) == 3


@POSIX
def test_entries_are_private(folder):
    old = os.umask(0)
    try:
        masses()
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(only(folder).stat().st_mode) == 0o600


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702])
def test_a_folder_that_others_can_write_is_refused(folder, compilations, caplog, mode):
    masses()
    kept = set(folder.iterdir())
    folder.chmod(mode)
    with caplog.at_level(logging.WARNING, "phistar"):
        masses()
    assert len(compilations) == 2 and "make it private" in caplog.text
    assert kept and set(folder.iterdir()) == kept


@POSIX
def test_an_entry_that_others_can_write_is_refused_and_replaced(folder, compilations):
    masses()
    only(folder).chmod(0o666)
    masses()
    assert len(compilations) == 2 and stat.S_IMODE(only(folder).stat().st_mode) == 0o600


@POSIX
def test_a_link_is_not_followed(folder, tmp_path, compilations):
    masses()
    entry, elsewhere = only(folder), tmp_path / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)
    masses()
    assert len(compilations) == 2 and not entry.is_symlink() and elsewhere.exists()


@POSIX
def test_a_pipe_is_no_entry_and_not_waited_for(folder, compilations):
    masses()
    entry = only(folder)
    entry.unlink()
    os.mkfifo(entry, 0o600)
    masses()
    assert len(compilations) == 2 and entry.is_file()


@POSIX
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_a_message_not_an_error(folder, tmp_path, caplog):
    tmp_path.chmod(0o500)
    try:
        with caplog.at_level(logging.WARNING, "phistar"):
            assert masses().shape == (3, 3)
    finally:
        tmp_path.chmod(0o700)
    assert "cannot be kept" in caplog.text


def test_a_folder_that_is_a_file_is_a_message_not_an_error(folder, caplog):
    folder.write_text("not a folder")
    with caplog.at_level(logging.WARNING, "phistar"):
        assert masses().shape == (3, 3)
    assert "cannot be kept" in caplog.text and cache.clear() == 0 and cache.sizes() == []


def test_a_disk_that_fills_leaves_nothing_behind(folder, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with caplog.at_level(logging.WARNING, "phistar"):
        assert masses().shape == (3, 3)
    assert "No space left" in caplog.text and list(folder.iterdir()) == []


@pytest.mark.parametrize("word", ["off", "OFF"])
def test_off_keeps_nothing(tmp_path, monkeypatch, compilations, word):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PHISTAR_CACHE", word)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    masses()
    masses()
    assert len(compilations) == 2 and list(tmp_path.iterdir()) == []
    assert cache.directory() is None and cache.clear() == 0 and cache.sizes() == []


@pytest.mark.skipif(sys.platform == "win32", reason="the places of POSIX systems")
def test_where_kernels_are_kept(monkeypatch, tmp_path):
    monkeypatch.delenv("PHISTAR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.directory() == tmp_path / "phistar"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.directory() == tmp_path / ".cache" / "phistar"

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert cache.directory() is None


def test_another_robot_cpu_or_width_is_another_entry():
    from phistar.backends.kernel import Statements
    from phistar.backends.machine.jit import Target, host

    def statements(model):
        bound = ps.algebra(model)
        return Statements((("y", bound.symbols.mass),), bound.symbols, bound.setting, True, model, {})

    def named(model, target, lanes):
        asked = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cache, "load", lambda name: asked.append(name))
            with pytest.raises(NotImplementedError):
                jit.machine_code("statements", (statements(model).key, lanes), target, unavailable)
        return asked[0]

    def unavailable():
        raise NotImplementedError

    model = ps.load("planar3")
    here = host()
    heavier = model.replace(inertias={"link1": ps.Inertia(9.0)})
    names = [
        named(model, here, 4),
        named(heavier, here, 4),
        named(model.replace(gravity=(0, 0, 0)), here, 4),
        named(model, here, 2),
        named(model, Target(here.triple, "x86-64", ""), 4),
    ]
    assert len(set(names)) == len(names)
    assert named(ps.load("planar3"), here, 4) == names[0]


def test_clear_removes_entries_and_what_was_left_unfinished(folder):
    masses()
    (folder / "abc.unfinished").write_bytes(b"half")
    (folder / "notes.txt").write_text("mine")
    assert cache.clear() == 1
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_clear_leaves_folders_and_tells_what_cannot_be_removed(folder, monkeypatch):
    masses()
    (folder / "mine.kernel").mkdir()
    assert cache.sizes() == [only_file(folder).stat().st_size] and cache.clear() == 1
    assert (folder / "mine.kernel").is_dir()
    masses()

    def refused(path, missing_ok=False):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(ps.FileError, match="Permission denied"):
        cache.clear()


def only_file(folder):
    (entry,) = (path for path in folder.glob("*.kernel") if path.is_file())
    return entry


@POSIX
def test_the_home_folder_may_be_written_as_a_tilde(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PHISTAR_CACHE", "~/kernels")
    assert cache.directory() == tmp_path / "kernels"


def test_a_cache_that_has_grown_too_large_loses_what_was_least_lately_used(folder, monkeypatch):
    folder.mkdir(mode=0o700, exist_ok=True)
    monkeypatch.setattr(cache, "LARGEST", 4400)  # four entries; half of it is two
    cache._trim()  # once a process: the entries below are let in
    for number in range(8):
        cache.store(f"entry{number}", {}, bytes(1000))
        os.utime(folder / f"entry{number}.kernel", (number, number))
    (folder / "mine.txt").write_text("not a kernel")
    assert cache.load("entry0") is not None  # used lately
    cache._trim.cache_clear()
    cache.store("entry8", {}, bytes(1000))
    assert sorted(path.name for path in folder.iterdir()) == ["entry0.kernel", "entry8.kernel", "mine.txt"]


def test_a_second_robot_derives_nothing(folder, monkeypatch):
    """The program of a statement does not depend on the robot; another process, here another memory, finds it."""
    monkeypatch.setattr(derivations, "known", {})
    ps.forward_dynamics(ps.planar_chain(3), Q, Q, Q)
    derived = []
    monkeypatch.setattr(derived_programs, "derived_program", lambda *given: derived.append(given))
    monkeypatch.setattr(derivations, "known", {})
    four = np.append(Q, 0.1)
    found = ps.forward_dynamics(ps.planar_chain(4), four, four, four)
    assert derived == []
    monkeypatch.undo()
    assert np.allclose(ps.inverse_dynamics(ps.planar_chain(4), four, four, found), four)


def test_a_note_of_the_sources_is_believed_only_while_they_are_untouched(folder):
    cache._generator.cache_clear()
    first = cache._generator()
    note = folder / "sources.note"
    header, _ = cache.load("sources", cache.NOTE)
    assert header["generator"] == first
    cache.store("sources", header | {"seen": "others"}, b"", cache.NOTE)
    cache._generator.cache_clear()
    assert cache._generator() == first and cache.load("sources", cache.NOTE)[0] == header
    note.write_bytes(note.read_bytes()[:-9] + b"rubbish}\n")
    cache._generator.cache_clear()
    assert cache._generator() == first
