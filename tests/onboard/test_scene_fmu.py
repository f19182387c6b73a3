"""An FMU of a scene gives what the scene's run gives, to the last bit; its plant and its controller do so together."""

import shutil

import numpy as np
import pytest

import phistar as ps
from phistar.errors import FileError
from phistar.sim.scenes.toml import text_of
from tests.onboard.fmi_calls import Fmu

COMPILER = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc, gcc or clang) on this machine")
pytest.importorskip("pydantic")
MESH = "v 0 0 0\nv 0.2 0 0\nv 0 0.2 0\nv 0 0 0.2\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
ROCK = """
format_version = 1

[time]
duration = 0.3
sample = 0.01
step = 0.002

[[parts]]
name = "rock"
joint = "free"
mass = 1.0
inertia = [0.01, 0.012, 0.015]
shapes = [{name = "rock", pieces = "shapes/rock.obj"}]
xyz = [0.0, 0.0, {uniform = [0.3, 0.5]}]
spin = [1.0, 2.0, 3.0]

[[sensors]]
name = "camera"
kind = "pose"
of = "rock"
noise = 0.01
"""


def scene_of(text, folder):
    path = folder / "own.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def rock(tmp_path):
    (tmp_path / "shapes").mkdir()
    (tmp_path / "shapes" / "rock.obj").write_text(MESH, "utf-8")
    return scene_of(ROCK, tmp_path)


def test_a_scene_steps_to_the_states_and_readings_of_its_run(rock, tmp_path):
    scene = ps.Scene.load(rock)
    path = ps.onboard.export_scene_fmu(scene, tmp_path / "rock.fmu", seed=4)
    own, run = Fmu(path, tmp_path / "unpacked"), scene.run(seed=4)
    shutil.rmtree(tmp_path / "shapes")  # it has all it needs
    assert own.begin() == 0
    rows = [own.outputs]
    for k in range(len(run.t) - 1):
        assert not k or not own.over
        assert own.step(0.01 * k, 0.01) == 0
        rows.append(own.outputs)
    assert own.over
    np.testing.assert_array_equal(rows, np.hstack([run.q, run.v, run.signals["sensed/camera"]]))
    assert own.step(0.3, 0.01) != 0
    assert "has ended, at t = 0.3 s" in own.told[-1]
    assert own.reset() == 0  # and again, three samples at once
    own.library.fmi3ExitInitializationMode(own.own)
    assert own.step(0.0, 0.03) == 0
    np.testing.assert_array_equal(own.outputs, rows[3])
    assert own.step(0.03, 0.015) != 0
    assert "A step is 0.01 s or several times that" in own.told[-1]
    own.free()


def test_a_plant_and_its_controller_together_are_the_scene(tmp_path):
    pytest.importorskip("coal")
    content = dict(ps.Scene.load("grapple").content)
    content["time"] = content["time"] | {"duration": 0.2, "sample": 0.004}
    scene = ps.Scene.load(scene_of(text_of(content), tmp_path))
    sides = {}
    for side in ("plant", "controller"):
        path = ps.onboard.export_scene_fmu(scene, tmp_path / f"{side}.fmu", side, seed=2)
        sides[side] = Fmu(path, tmp_path / side)
        assert sides[side].begin() == 0
    run, (plant, controller), rows = scene.run(seed=2), sides.values(), []
    for t in run.t:
        rows.append(plant.outputs)
        assert controller.set(rows[-1]) == 0 and controller.step(t, 0.004) == 0
        if t < run.t[-1]:
            assert plant.set(controller.outputs) == 0 and plant.step(t, 0.004) == 0
    size = run.q.shape[1] + run.v.shape[1]
    np.testing.assert_array_equal(np.array(rows)[:, :size], np.hstack([run.q, run.v]))
    assert np.abs(run.v[-1]).max() > 0.0 and np.abs(controller.outputs).max() > 1.0
    for own in (plant, controller):
        own.free()


def test_fmpy_reads_a_scene_and_runs_it(rock, tmp_path):
    fmpy, validation = pytest.importorskip("fmpy"), pytest.importorskip("fmpy.validation")
    scene = ps.Scene.load(rock)
    path = ps.onboard.export_scene_fmu(scene, tmp_path / "rock.fmu", seed=4)
    assert not validation.validate_fmu(str(path))
    run, names = scene.run(seed=4), [f"q[{i}]" for i in range(7)]
    made = fmpy.simulate_fmu(str(path), stop_time=0.3, step_size=0.01, output_interval=0.01, output=names)
    np.testing.assert_allclose(np.stack([made[name] for name in names], axis=1), run.q, rtol=0, atol=1e-12)


def test_what_cannot_go_into_a_file_is_refused(rock, tmp_path):
    scene = ps.Scene.load(rock)
    with pytest.raises(FileError, match="one of scene, plant, controller"):
        ps.onboard.export_scene_fmu(scene, tmp_path / "rock.fmu", "arms")
    with pytest.raises(FileError, match=r"has no \[controller\]"):
        ps.onboard.export_scene_fmu(scene, tmp_path / "rock.fmu", "controller")
    (tmp_path / "shapes" / "rock.obj").unlink()
    with pytest.raises(FileError, match="cannot be put into a file of its own"):
        ps.onboard.export_scene_fmu(scene, tmp_path / "rock.fmu")


def test_a_process_that_cannot_start_is_told(rock, tmp_path, monkeypatch):
    path = ps.onboard.export_scene_fmu(ps.Scene.load(rock), tmp_path / "rock.fmu")
    own = Fmu(path, tmp_path / "unpacked")
    monkeypatch.setenv("PHISTAR_PYTHON", str(tmp_path / "no_python"))
    assert own.begin() != 0
    assert own.told and "Python" in own.told[-1]
    own.free()
