"""Run folders and scenes are a stranger's: nothing outside is read, nothing unbounded is believed, and every refusal
is a sentence."""

import json
import os
import shutil

import numpy as np
import pytest

import phistar as ps
from phistar.control import joint_trajectory
from phistar.errors import FileError, PhistarError
from phistar.view import report
from phistar.view.report_run import load_motion

h5py = pytest.importorskip("h5py")
pytest.importorskip("coal")
BALL = """
format_version = 1
[time]
duration = 0.1
sample = 0.02
step = 0.01
[[parts]]
name = "ball"
joint = "free"
mass = 1.0
xyz = [0.0, 0.0, 0.11]
[[parts.shapes]]
sphere = 0.1
[[parts]]
name = "floor"
[[parts.shapes]]
plane = true
"""
URDF = """<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="continuous">
<parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>"""
PART = 'format_version = 1\n[[parts]]\nname = "a"\n'


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    (place / "scene.toml").write_text(BALL)
    ps.Scene.load(place / "scene.toml").run().save(place / "out")
    return place / "out"


@pytest.fixture
def run(kept, tmp_path):
    return shutil.copytree(kept, tmp_path / "run")


def changed(run, change):
    with h5py.File(run / "trajectory.h5", "a") as file:
        change(file)


def replaced(name, **options):
    def change(file):
        del file[name]
        file.create_dataset(name, **options)

    return change


def linked(name, link):
    def change(file):
        del file[name]
        file[name] = link

    return change


def virtual(path):
    def change(file):
        layout = h5py.VirtualLayout((6, 7), float)
        layout[:] = h5py.VirtualSource(str(path), "q", shape=(6, 7))
        del file["q"]
        file.create_virtual_dataset("q", layout)

    return change


def test_a_run_that_was_kept_is_read_as_it_was(run):
    found = ps.Trajectory.load(run)
    assert [joint.name for joint in found.model.joints] == ["ball"]
    assert found.q.shape == (6, 7) and len(found.contacts.pairs) == 1
    assert ps.Trajectory.load(run).model.nq == 7
    assert "completed" in report.page(load_motion(run))


def test_the_trajectory_never_reads_another_file(run, tmp_path):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.arange(42.0).tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["q"] = np.zeros((6, 7))
    attacks = {
        "external storage": replaced("q", shape=(6, 7), dtype=float, external=[(str(secret), 0, 336)]),
        "an external link": linked("q", h5py.ExternalLink(str(tmp_path / "other.h5"), "q")),
        "a soft link": linked("q", h5py.SoftLink("/v")),
        "a virtual dataset": virtual(tmp_path / "other.h5"),
    }
    for what, attack in attacks.items():
        folder = shutil.copytree(run, tmp_path / what.replace(" ", "_"))
        changed(folder, attack)
        with pytest.raises(FileError, match=r"another file|link to something else"):
            ps.Trajectory.load(folder)
    (run / "trajectory.h5").unlink()
    (run / "trajectory.h5").symlink_to(tmp_path / "other.h5")
    with pytest.raises(FileError, match="leads out"):
        ps.Trajectory.load(run)


@pytest.mark.parametrize("shape", [(100_000_000, 6), (2_000_000_000_000,), (20_000, 100)])
@pytest.mark.parametrize("chunks", [None, True])
def test_arrays_of_nothing_but_a_fill_value_are_refused(run, shape, chunks):
    changed(run, replaced("tau", shape=shape, dtype=float, fillvalue=1.0, chunks=chunks))
    with pytest.raises(FileError, match="does not hold"):
        ps.Trajectory.load(run)


def test_many_names_that_point_to_one_long_text_are_refused(run):
    def change(file):
        del file["names"]
        file.create_dataset("names/joint_names", data=["x"], dtype=h5py.string_dtype())
        long = np.array([2_000_000 * "x"] * 20, dtype=object)
        file.create_dataset("names/pair_names", data=long, dtype=h5py.string_dtype())

    changed(run, change)
    with pytest.raises(FileError, match="too long"):
        ps.Trajectory.load(run)


SUMMARIES = {
    "a list": [],
    "no scene": {"scene": None},
    "no seed": {"seed": None},
    "a seed of text": {"seed": "0"},
    "phases of text": {"phases": "approach"},
    "a phase of nothing": {"phases": [{}]},
    "a phase that begins in text": {"phases": [{"name": "a", "start": "x", "end": 1.0}]},
    "a phase that never ends": {"phases": [{"name": "a", "start": 0.0, "end": float("inf")}]},
    "a force of text": {"peak_force": "strong"},
    "a force beyond numbers": {"peak_force": 10**400},
    "a reason of numbers": {"reason": [1]},
    "a scene elsewhere": {"scene": 3},
}


@pytest.mark.parametrize("what", SUMMARIES)
def test_a_damaged_summary_is_a_sentence(what, run):
    path = run / "summary.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(whole | SUMMARIES[what] if isinstance(SUMMARIES[what], dict) else SUMMARIES[what]))
    for look in (ps.Trajectory.load, load_motion):
        with pytest.raises(FileError, match="not the folder of a run"):
            look(run)


DAMAGES = {
    "no q": lambda file: file.__delitem__("q"),
    "q of other length": replaced("q", data=np.zeros((3, 7))),
    "q of one dimension": replaced("q", data=np.zeros(6)),
    "NaN": replaced("q", data=np.full((6, 7), np.nan)),
    "time backwards": replaced("t", data=np.arange(6.0)[::-1]),
    "time of two dimensions": replaced("t", data=np.zeros((6, 1))),
    "events of numbers": replaced("events", data=np.zeros(3)),
    "events without times": replaced("events", data=np.zeros(2, dtype=[("a", "S3"), ("b", "S3"), ("c", "S3")])),
    "a group for an array": linked("t", h5py.SoftLink("nowhere")),
    "contacts of four": replaced("contact_point", data=np.zeros((6, 1, 4))),
    "scalar": replaced("work", data=1.0),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_trajectory_is_a_sentence(what, run):
    changed(run, DAMAGES[what])
    for look in (ps.Trajectory.load, load_motion):
        with pytest.raises(FileError, match="not the folder of a run"):
            look(run)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("name", ["summary.json", "trajectory.h5", "scene.toml"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_files_of_a_run_that_are_none_are_refused(run, name, kind):
    (run / name).unlink()
    if kind == "pipe":
        os.mkfifo(run / name)
    elif kind == "device":
        (run / name).symlink_to("/dev/zero")
    else:
        (run / name).mkdir()
    with pytest.raises(FileError, match=r"regular file|is a folder|leads out"):
        ps.Trajectory.load(run)


def written(folder, text):
    path = folder / "scene.toml"
    path.write_text(text)
    return path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize(
    "text",
    [
        PART + 'robot = "{}"\n',
        PART + "[[parts.shapes]]\nhull = '{}'\n",
        PART + "[[parts.shapes]]\npieces = '{}'\n",
        PART + 'robot = "arm.urdf"\noptions = {{loops = "{}"}}\n',
        PART + 'robot = "puma560"\n[controller]\nlaw = "grapple"\nrules = "{}"\n',
        'extends = "{}"\n',
    ],
)
def test_a_scene_reads_no_device_no_pipe_and_nothing_outside(text, tmp_path):
    folder = tmp_path / "scene"
    folder.mkdir()
    (folder / "arm.urdf").write_text(URDF)
    os.mkfifo(folder / "pipe.toml")
    (folder / "zero.toml").symlink_to("/dev/zero")
    (tmp_path / "outside.toml").write_text(BALL)
    for name in ("/dev/zero", "pipe.toml", "zero.toml", "../outside.toml", str(tmp_path / "outside.toml")):
        with pytest.raises(PhistarError, match=r"outside the allowed|regular file|another folder|no scene"):
            ps.Scene.load(written(folder, text.format(name)))
    os.mkfifo(tmp_path / "scene.toml")
    with pytest.raises(FileError, match="not a regular file"):
        ps.Scene.load(tmp_path / "scene.toml")


def test_folders_that_the_caller_names_are_read(tmp_path):
    (tmp_path / "robots").mkdir()
    (tmp_path / "scenes").mkdir()
    (tmp_path / "robots" / "arm.urdf").write_text(URDF)
    path = written(tmp_path / "scenes", PART + 'robot = "../robots/arm.urdf"\n')
    with pytest.raises(FileError, match="--packages DIR"):
        ps.Scene.load(path)
    scene = ps.Scene.load(path, packages=tmp_path / "robots")
    assert scene.setting(0).model.nq == 1
    for packages in ('"/"', '["../robots"]', "3", '"nowhere"'):
        own = PART + f'robot = "puma560"\noptions = {{packages = {packages}}}\n'
        with pytest.raises(FileError, match="packages"):
            ps.Scene.load(written(tmp_path / "scenes", own))


@pytest.mark.parametrize(
    "option", ['name = "x"', 'source = "x"', "floating = 1", 'gravity = "down"', "gravity = [1]", "motors = 2", "q = 1"]
)
def test_options_that_no_robot_has_are_sentences(option, tmp_path):
    with pytest.raises(FileError, match="options"):
        ps.Scene.load(written(tmp_path, PART + f'robot = "puma560"\noptions = {{{option}}}\n'))


def test_a_run_finds_its_robot_beside_its_scene_and_nowhere_else(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    scene = ps.Scene.load(written(tmp_path, PART + 'robot = "arm.urdf"\n[time]\nduration = 0.02\n'))
    scene.run().save(tmp_path / "out")
    assert ps.Trajectory.load(tmp_path / "out").model.nq == 1
    (tmp_path / "scene.toml").unlink()  # then its folder is a stranger's, and the model is the one inside
    assert ps.Trajectory.load(tmp_path / "out").model.nq == 1
    with h5py.File(tmp_path / "out" / "trajectory.h5", "a") as file:
        del file["model"]
    with pytest.raises(FileError, match=r"arm.urdf' does not exist"):
        ps.Trajectory.load(tmp_path / "out")
    assert ps.Trajectory.load(tmp_path / "out", packages=tmp_path).model.nq == 1


HUGE = "1" + 400 * "0"


@pytest.mark.parametrize(
    "tables",
    [
        f"[surface]\nmargin = {HUGE}",
        f"[time]\nduration = {HUGE}",
        "[surface]\nfriction = nan",
        f"[[disturbances]]\nframe = 'a'\nduration = 1\nforce = [1, 2, 3, 4, 5, {HUGE}]",
        f"[[parts]]\nname = 'b'\nxyz = [0, 0, {HUGE}]",
        f"[[parts]]\nname = 'b'\n[[parts.shapes]]\nsphere = {HUGE}",
        f"[[parts]]\nname = 'b'\n[[parts.shapes]]\npoints = [[{HUGE}]]",
        f"[controller]\nlaw = 'hold'\nstiffness = {HUGE}",
        f"[controller]\nlaw = 'inverse_dynamics'\n[controller.goals]\na = [{HUGE}]",
    ],
)
def test_numbers_of_hundreds_of_digits_are_sentences(tables, tmp_path):
    with pytest.raises(FileError) as refusal:
        ps.Scene.load(written(tmp_path, f"{PART}robot = 'planar2'\n{tables}\n"))
    assert str(refusal.value).startswith(str(tmp_path)) and len(str(refusal.value)) < 600


def test_waypoints_of_hundreds_of_digits_are_sentences():
    with pytest.raises(PhistarError, match="numbers"):
        joint_trajectory(ps.load("planar2"), [[0.0, 0.0], [10**400, 0.0]], duration=1.0)
