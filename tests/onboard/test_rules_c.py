"""Rules in C switch when the same rules in Python do, for the same reason."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import phistar as ps
from phistar.control.supervisor import Supervisor
from phistar.errors import FileError
from phistar.onboard.rules_c import RulesCode, export_rules

COMPILER = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc, gcc or clang) on this machine")
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]
ODD = {
    "format_version": 1,
    "start": "a",
    "ends": ["c"],
    "flags": {"near": {"on": "x > 0.5", "off": "x < -0.5"}, "both": {"on": "x > 0 and y > 0", "off": "not x + y > -1"}},
    "rules": [
        {"from": "a", "to": "b", "when": "x / y > 0.3 and both - near < 1", "reason": 'a "ratio"'},
        {"from": "a", "to": "b", "when": "elapsed > 30", "reason": "late"},
        {
            "from": ["b"],
            "to": "a",
            "when": "-0.2 < x < y <= max(x, y, z) or (x and z) > 1.5",
            "for": 0.2,
            "reason": "r",
        },
        {"from": ["a", "b"], "to": "c", "when": "min(abs(x), 2 * z) - (y or x) > 2.2 and t > 5", "reason": "end"},
    ],
}


def in_c(supervisor, folder):
    """(start, step) of the compiled rules: phase and reason by name."""
    paths, code = export_rules(supervisor, folder, "law"), RulesCode(supervisor, "law")
    library = folder / "law.so"
    command = [COMPILER, *STRICT, "-shared", "-fPIC", "-o", library, paths[0], "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(library))

    class State(ctypes.Structure):
        _fields_ = (
            ("phase", ctypes.c_int),
            ("since", ctypes.c_double),
            ("holding", ctypes.c_double * code.most),
            ("flags", ctypes.c_int * max(len(supervisor.flags), 1)),
        )

    state = State()
    loaded.law_step.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p]
    loaded.law_start.argtypes = [ctypes.c_void_p, ctypes.c_double]
    loaded.law_start(ctypes.byref(state), 0.0)

    def step(t, facts):
        row = np.array([facts[name] for name in code.facts])
        rule = loaded.law_step(ctypes.byref(state), t, row.ctypes.data)
        return supervisor.phases[state.phase], tuple(map(bool, state.flags)), rule

    return step, code


def compare(supervisor, folder, samples):
    """Both step by step; the rules that switched."""
    step, code = in_c(supervisor, folder)
    state, used = supervisor.start(), set()
    for t, facts in samples:
        state, switch = supervisor.step(state, t, facts)
        phase, flags, rule = step(t, facts)
        assert phase == state.phase
        assert flags[: len(state.flags)] == state.flags
        assert bool(rule) == (switch is not None)
        if switch is not None:
            assert switch.reason.startswith(code.rules[rule - 1].reason)
            used.add(rule)
    return used


@needs_compiler
def test_divisions_chains_flags_and_lasting_rules_switch_as_in_python(tmp_path):
    supervisor, used = Supervisor.of(ODD, ["x", "y", "z"]), set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = np.round(rng.normal(size=(400, 3)), 1)  # zeros among them
        folder = tmp_path / str(seed)
        samples = [(0.1 * k, dict(zip("xyz", row.tolist(), strict=True))) for k, row in enumerate(rows)]
        used |= compare(supervisor, folder, samples)
    assert used == {1, 3, 4} or used == {1, 2, 3, 4}


@needs_compiler
def test_the_rules_of_the_capture_switch_as_in_a_recorded_capture(tmp_path, monkeypatch):
    samples, seen, step = [], [], Supervisor.step

    def kept(self, state, t, facts):
        made = step(self, state, t, facts)
        samples.append((t, dict(facts)))
        seen.append((made[0].phase, self))
        return made

    monkeypatch.setattr(Supervisor, "step", kept)
    ps.Scene.load("grapple").run(seed=3)
    monkeypatch.undo()
    supervisor = seen[0][1]
    assert len(samples) > 1000 and seen[-1][0] == "held"
    assert len(compare(supervisor, tmp_path, samples)) >= 6


def test_the_header_tells_the_most_operations_and_the_facts(tmp_path):
    facts = ("speed", "planned")
    text = {"format_version": 1, "start": "a", "ends": ["b"]}
    text["rules"] = [{"from": "a", "to": "b", "when": "speed < 0.1 and planned > 0", "reason": "slow"}]
    code = RulesCode(Supervisor.of(text, facts), "law")
    assert code.operations == 1 + 4 + 3  # elapsed; two comparisons and `and` of two; held, its age, the mark
    header = export_rules(Supervisor.of(text, facts), tmp_path, "law")[1].read_text()
    assert "law_speed = 0" in header and "law_planned = 1" in header and "at most\n * 8 operations" in header


def test_a_folder_that_cannot_be_made_is_refused_by_its_name(tmp_path):
    (tmp_path / "file").write_text("")
    supervisor = Supervisor.of(ODD, ["x", "y", "z"])
    with pytest.raises(FileError, match="file cannot be written"):
        export_rules(supervisor, tmp_path / "file")
