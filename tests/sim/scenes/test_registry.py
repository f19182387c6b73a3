"""Laws and tasks by name: those of files, of code that the caller allows, and of others who register theirs."""

import subprocess
import sys

import numpy as np
import pytest

import phistar as ps
from phistar.sim.scenes import registry
from phistar.sim.scenes.registry import Law, Verdict, register_law, register_task
from tests.scenes import ball, little_scene

pytest.importorskip("coal")
ROBOT = {"name": "arm", "robot": "planar2"}
CODE = """
import numpy as np
from phistar.control import Command

class Push:
    period = 0.005
    def __init__(self, plant, force=1.0):
        self.size, self.force = plant.model.nv, force
    def start(self):
        return 0
    def command(self, memory, t, sensed):
        return memory + 1, Command(np.array([self.force, 0.0]), "pushing", facts={"calls": memory})
"""


@pytest.fixture(autouse=True)
def _names_of_this_test_alone(monkeypatch):
    """Others see no law or task that is registered here."""
    registry.scene_folders()  # the applications have registered theirs
    for table in ("_laws", "_tasks"):
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))


@pytest.fixture
def pushed(tmp_path, monkeypatch):
    """A scene whose controller is a class of a module beside it."""
    (tmp_path / "own_laws.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda law, **settings: _written(tmp_path, little_scene(ROBOT, controller={"law": law, **settings}))
    sys.modules.pop("own_laws", None)


def _written(folder, text):
    (folder / "scene.toml").write_text(text)
    return folder / "scene.toml"


def test_a_files_code_runs_only_where_that_is_allowed(pushed):
    path = pushed("own_laws:Push", force=3.0)
    with pytest.raises(ps.FileError, match=r"own_laws:Push is Python code.*code=True.*--allow-code"):
        ps.Scene.load(path)
    assert "own_laws" not in sys.modules
    run = ps.Scene.load(path, code=True).run()
    np.testing.assert_array_equal(run.tau, [[3.0, 0.0]] * 3)
    assert run.arrays["facts/calls"].tolist() == [0.0, 2.0, 4.0]
    assert ps.Plant.load(path).nu == 2  # the plant of the file needs no code


@pytest.mark.parametrize(
    "law, sentence",
    [
        ("own_laws:Pull", "cannot be imported: .*Pull"),
        ("no_such_module:Push", "cannot be imported: No module"),
        ("own_laws:", "cannot be imported"),
    ],
)
def test_code_that_is_not_there_is_a_sentence(pushed, law, sentence):
    with pytest.raises(ps.FileError, match=sentence):
        ps.Scene.load(pushed(law), code=True)


def test_settings_that_the_code_does_not_take_are_a_sentence(pushed):
    with pytest.raises(ps.FileError, match=r"cannot be made of plant and \['strength'\]"):
        ps.Scene.load(pushed("own_laws:Push", strength=3.0), code=True)


class Fallen:
    """A task: the ball ends below a height."""

    def __init__(self, height):
        self.height = height

    def judge(self, trajectory):
        end = float(trajectory["ball"].q[-1, 2])
        missing = None if end < self.height else f"the ball ended at {end:.3g} m"
        return Verdict(missing is None, "fallen" if missing is None else "not fallen", missing, {"height": end})


@pytest.mark.parametrize("height, reached", [(0.0, True), (-1.0, False)])
def test_a_task_of_ones_own_judges_and_adds_its_numbers(tmp_path, height, reached):
    register_task("fall", lambda settings, setting, where: Fallen(settings["height"]))
    text = little_scene(ball(), task={"kind": "fall", "height": height})
    run = ps.Scene.load(_written(tmp_path, text)).run()
    assert run.summary["reached"] is reached and run.summary["outcome"] == ("fallen" if reached else "not fallen")
    assert run.summary["height"] == run.q[-1, 2] and (run.summary["missing"] is None) is reached


def test_a_law_of_ones_own_is_known_by_its_name(tmp_path):
    register_law("still", Law(lambda settings, folders, where: settings, lambda setting, given: lambda t, q, v: 0 * v))
    run = ps.Scene.load(_written(tmp_path, little_scene(ROBOT, controller={"law": "still"}))).run()
    assert not run.tau.any()


def test_a_scene_without_a_task_says_nothing_of_one():
    assert not {"captured", "reached", "outcome"} & ps.Scene.load("bouncing").run().summary.keys()


def test_a_scene_imports_the_laws_that_it_names_and_no_others():
    code = "import sys, phistar as ps; ps.Scene.load('bouncing'); sys.exit('phistar.capture' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
