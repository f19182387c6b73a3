"""A capture in C commands what the same capture in Python does, sample by sample, and switches when it does."""

import ctypes
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.capture.controller import CaptureController
from phistar.errors import FileError
from phistar.onboard.capture_c import CaptureCode, export_capture, plan_row
from phistar.sim.time_loop import TimeLoop, run_to_end

COMPILER = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc, gcc or clang) on this machine")
pytest.importorskip("coal")


def recorded(name, seed, monkeypatch):
    """A scene's controller, and of a run of it every sample: time, readings, what was planned, phase and forces."""
    setting = ps.Scene.load(name).setting(seed)
    experiment = setting.experiment(seed)
    own, rows, plans, ask = experiment.control, [], [], CaptureController._plan
    assert isinstance(own, CaptureController)

    def plan(self, memory, t, sensed):
        after = ask(self, memory, t, sensed)
        if after is not memory:
            plans.append(plan_row(after.plan, after.center, after.doubt, after.pace))
        return after

    class Watched:
        period, senses, start = own.period, own.senses, staticmethod(own.start)

        def command(self, memory, t, sensed):
            plans.clear()
            memory, command = own.command(memory, t, sensed)
            kept = {key: np.array(value) for key, value in sensed.items()}
            rows.append((t, kept, plans[0] if plans else None, command, memory))
            return memory, command

    monkeypatch.setattr(CaptureController, "_plan", plan)
    run_to_end(TimeLoop(replace(experiment, control=Watched()), world=setting.world, sensing=setting.sensing))
    return own, rows


class InC:
    """The compiled C of a controller."""

    def __init__(self, controller, folder, optimized="-O1"):
        paths = export_capture(controller, folder, "grip")
        library = folder / "grip.so"
        sources = [path for path in paths if path.suffix == ".c"]
        command = [COMPILER, *STRICT, optimized, "-shared", "-fPIC", "-o", library, *sources, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.library, self.arms = ctypes.CDLL(str(library)), controller.arms
        self.state, self.tau = np.zeros(20_000), np.zeros(controller.arms.scene.nv)
        self.library.grip_step.argtypes = [ctypes.c_void_p, ctypes.c_double, *[ctypes.c_void_p] * 4]
        for call in (self.library.grip_start, self.library.grip_hand_in):
            call.argtypes = [ctypes.c_void_p] * (1 if call is self.library.grip_start else 2)
        self.library.grip_start(self.state.ctypes.data)

    def step(self, t, sensed, plan):
        if plan is not None:
            whole = np.zeros(1000)
            whole[: len(plan)] = plan
            self.library.grip_hand_in(self.state.ctypes.data, whole.ctypes.data)
        rows = [np.concatenate([sensed[name] for name in self.arms.readings])]
        rows += [np.concatenate([sensed[f"{hand.name}_tips"] for hand in self.arms.hands])]
        rows += [np.array(sensed[self.arms.layout.target_reading])]
        pointers = [row.ctypes.data for row in (*rows, self.tau)]
        return self.library.grip_step(self.state.ctypes.data, t, *pointers)


# With a base that floats the law is more sensitive to what rounding leaves in the filter after ten thousand samples.
@pytest.mark.parametrize(
    ("name", "seed", "most"), [("grapple", 1, 1e-11), ("grapple-free", 2, 2e-10), ("grapple-handle", 3, 1e-11)]
)
def test_every_sample_of_a_capture_is_commanded_as_in_python(name, seed, most, tmp_path, monkeypatch):
    controller, rows = recorded(name, seed, monkeypatch)
    assert rows[-1][3].phase == "held"
    own, rules = InC(controller, tmp_path), CaptureCode(controller, "grip").rules.rules
    worst = scale = 0.0
    for t, sensed, plan, command, _ in rows:
        rule = own.step(t, sensed, plan)
        assert bool(rule) == bool(command.switches)
        if rule:
            assert command.switches[0].reason.startswith(rules[rule - 1].reason)
        worst, scale = max(worst, np.abs(own.tau - command.tau).max()), max(scale, np.abs(command.tau).max())
    assert worst < most * scale


def test_the_header_says_how_much_a_sample_takes(tmp_path):
    setting = ps.Scene.load("grapple").setting(1)
    controller = setting.experiment(1).control
    paths = export_capture(controller, tmp_path, "grip")
    assert [path.name for path in paths] == ["grip.c", "grip.h", "grip_rules.c", "grip_rules.h"]
    assert f"at most {CaptureCode(controller, 'grip').operations} operations" in paths[1].read_text()
    assert not any(word in paths[0].read_text() for word in ("malloc", "calloc", "alloca"))


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    controller = ps.Scene.load("grapple").setting(1).experiment(1).control
    with pytest.raises(FileError, match="cannot be written"):
        export_capture(controller, tmp_path / "taken", "grip")
