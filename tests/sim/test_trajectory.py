"""One trajectory: simulate, rollout, scenes and gym give it, viewer and report take it, and files give it back."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.errors import FileError, PhistarError, ShapeError, UnknownNameError
from phistar.sim.trajectory import Contacts, Event, Stopped, Trajectory
from tests.scenes import FLOOR, ball, little_scene

ARM = {"name": "arm", "robot": "planar2", "xyz": [0.0, 2.0, 1.0], "q": [0.3, -0.2]}
BALL = ball(xyz=[0.0, 0.0, 0.11], velocity=[0.3, 0.0, 0.0])


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    pytest.importorskip("coal")
    folder = tmp_path_factory.mktemp("scene")
    time = {"duration": 0.1, "sample": 0.02, "step": 0.002}
    (folder / "both.toml").write_text(little_scene(FLOOR, ARM, BALL, time=time))
    return ps.Scene.load(folder / "both.toml").run()


@pytest.fixture(scope="module")
def swing():
    return ps.simulate(ps.load("planar2"), [0.3, 0.1], [0.0, 0.5], 0.5, control=lambda t, q, v: [t, -v[1]])


@pytest.fixture(scope="module")
def batch():
    model = ps.load("planar2")
    return ps.rollout(model, np.zeros((2, 3, 2)), np.ones(2), np.ones((4, 2)), dt=1e-3)


def test_simulate_gives_states_forces_energy_and_loops(swing):
    assert isinstance(swing, ps.Trajectory) and len(swing) == len(swing.t)
    assert swing.q.shape == swing.v.shape == swing.tau.shape == (len(swing), 2)
    np.testing.assert_array_equal(swing.tau, np.stack([swing.t, -swing.v[:, 1]], axis=-1))
    assert np.ptp(swing.energy - swing.work) < 1e-8 and swing.loop_residual.shape == (len(swing), 0)


def test_rollout_gives_a_batch_of_which_each_member_is_one(batch):
    assert batch.q.shape == (2, 3, 5, 2) and batch.tau.shape == (2, 3, 5, 2) and np.all(batch.tau == 1.0)
    one = batch.member(1, -1)
    np.testing.assert_array_equal(one.q, batch.q[1, 2])
    with pytest.raises(ShapeError, match=r"a batch of \(2, 3\); the index \(2, 0\)"):
        batch.member(2, 0)
    with pytest.raises(ShapeError, match="batch"):
        batch.thinned(10.0)
    assert ps.rollout(batch.model, np.zeros(2), np.zeros(2), np.zeros((0, 2))).tau.shape == (1, 2)


def test_a_part_is_that_robot_alone(scene):
    arm, own = scene["arm"], ps.load("planar2")
    assert arm.model == own and arm.q.shape == (6, 2) and arm.tau.shape == (6, 2)
    np.testing.assert_array_equal(arm.q, scene.q[:, :2])
    loose = scene["ball"]
    assert loose.model.nq == 7
    np.testing.assert_array_equal(loose.v, scene.v[:, 2:])
    with pytest.raises(UnknownNameError, match=r"no part 'arn'.*did you mean 'arm'"):
        scene["arn"]
    with pytest.raises(UnknownNameError, match="signal"):
        scene["arm"].energy  # noqa: B018 - it says what there is not


@pytest.mark.parametrize("kind", ["swing", "batch", "scene"])
def test_a_file_gives_back_what_was_saved(kind, request, tmp_path):
    pytest.importorskip("h5py")
    run = request.getfixturevalue(kind)
    (path,) = run.save(tmp_path / "run.h5")
    back = ps.Trajectory.load(path)
    assert back.model == run.model and back.name == run.name and back.events == run.events
    assert back.arrays.keys() == run.arrays.keys()
    for name, array in run.arrays.items():
        np.testing.assert_array_equal(back.arrays[name], array, err_msg=name)
    assert back.contacts.pairs == run.contacts.pairs and back.parts.keys() == run.parts.keys()
    for name in run.parts:
        assert back[name].model == run[name].model
        np.testing.assert_array_equal(back[name].q, run[name].q)
    assert {key: back.summary[key] for key in run.summary} == json.loads(json.dumps(dict(run.summary)))


def test_a_folder_is_that_of_a_run_whatever_made_the_motion(swing, scene, tmp_path):
    pytest.importorskip("h5py")
    for run, names in (
        (swing, {"summary.json", "trajectory.h5"}),
        (scene, {"scene.toml", "summary.json", "trajectory.h5"}),
    ):
        assert {path.name for path in run.save(tmp_path / run.name)} == names
        back = Trajectory.load(tmp_path / run.name)
        np.testing.assert_array_equal(back.q, run.q)
        assert back.model == run.model and back.text == run.text


def test_a_stranger_s_model_makes_nothing_but_models_and_reads_no_file_outside(swing, tmp_path):
    h5py = pytest.importorskip("h5py")
    builder = ps.ModelBuilder("meshed")
    shape = ps.Geometry(ps.Mesh("/etc/hostname"), name="secret")
    builder.body("a", "world", ps.Revolute(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)), geometry=[shape])
    one = np.zeros((1, 1))
    (path,) = Trajectory(builder.build(), [0.0], one, one).save(tmp_path / "mesh.h5")
    assert Trajectory.load(path).model.bodies[0].geometry == ()
    (path,) = swing.save(tmp_path / "swing.h5")

    def spoiled(change):
        with h5py.File(path, "a") as file:
            tree = file["model/tree"][()].tobytes().decode()
            del file["model/tree"]
            file.create_dataset("model/tree", data=np.frombuffer(change(tree).encode(), np.uint8))

    spoiled(lambda tree: tree.replace("phistar.model.parts:Body", "phistar.control.sampled:SampledFunction"))
    with pytest.raises(FileError, match=r"its model holds a phistar\.control\.sampled:SampledFunction"):
        Trajectory.load(path)
    for text in ("{", "[]", "[" * 100_000, '{"dict": []}', '{"dict": [["model", 3], ["parts", {"dict": []}]]}'):
        spoiled(lambda tree, text=text: text)
        with pytest.raises(FileError, match="is not the file of a trajectory"):
            Trajectory.load(path)


def test_models_that_do_not_hang_together_are_refused(swing, tmp_path):
    h5py = pytest.importorskip("h5py")
    for old, new in (('"parent": 0', '"parent": 7'), ('"slice": [1, 2', '"slice": [5, 6')):
        (path,) = swing.save(tmp_path / "swing.h5")
        with h5py.File(path, "a") as file:
            tree = file["model/tree"][()].tobytes().decode()
            assert old in tree
            del file["model/tree"]
            file.create_dataset("model/tree", data=np.frombuffer(tree.replace(old, new).encode(), np.uint8))
        with pytest.raises(FileError, match="does not hang together"):
            Trajectory.load(path)


def test_its_repr_is_short_and_its_table_says_what_there_is(swing, scene, batch):
    for run in (swing, scene, batch):
        assert len(repr(run)) < 500 and run.name in repr(run) and "samples" in repr(run)
    assert "2 × 3 motions" in repr(batch)
    html = scene._repr_html_()
    assert "<table>" in html and "contact_force" in html and "(6, 9)" in html
    odd = Trajectory(swing.model, swing.t, swing.q, swing.v, name="<b>" * 200, signals={"s" * 900: swing.t})
    assert len(repr(odd)) < 500 and "<b><b>" not in odd._repr_html_()


def test_xarray_has_joints_by_name(swing, batch):
    pytest.importorskip("xarray")
    table = swing.to_xarray()
    names = [joint.name for joint in swing.model.joints]
    np.testing.assert_array_equal(table.q.sel(coordinate=names[1]), swing.q[:, 1])
    np.testing.assert_array_equal(table.energy.sel(time=swing.t[3]), swing.energy[3])
    assert batch.to_xarray().v.dims == ("batch_0", "batch_1", "time", "rate")


def test_a_plot_has_a_line_for_each_joint_and_is_refused_what_there_is_not(swing, batch):
    pytest.importorskip("matplotlib")
    axes = swing.plot().axes
    assert [len(each.lines) for each in axes] == [2, 2, 2]
    assert [each.get_ylabel() for each in swing.plot("energy", "work").axes] == ["energy", "work"]
    with pytest.raises(UnknownNameError, match="did you mean 'energy'"):
        swing.plot("energie")
    with pytest.raises(ShapeError, match="one motion"):
        batch.plot()


def test_viewer_report_and_replay_take_it_and_say_what_they_cannot_show(swing, batch, tmp_path):
    from phistar.view import report

    text = report.write(swing, tmp_path / "report.html").read_text()
    assert "Joints of planar2" in text
    with pytest.raises(ShapeError, match=r"a batch of \(2, 3\)"):
        report.write(batch, tmp_path / "report.html")
    with pytest.raises(PhistarError, match="A dict cannot be shown; give a Trajectory"):
        report.write({}, tmp_path / "report.html")


def test_it_is_no_tuple_and_says_so(swing):
    with pytest.raises(ShapeError, match=r"by its name, not for slice\(1, None, None\)"):
        swing[1:]
    with pytest.raises(TypeError):
        iter(swing)


def test_shapes_that_do_not_fit_are_sentences():
    model = ps.load("planar2")
    with pytest.raises(ShapeError, match=r"needs t \(T,\), q \(…, T, 2\)"):
        Trajectory(model, [0.0, 1.0], np.zeros((3, 2)), np.zeros((3, 2)))


def test_a_simulation_that_cannot_go_on_keeps_what_there_was():
    def control(t, q, v):
        return [np.nan, 0.0] if t > 0.2 else [0.0, 0.0]

    with pytest.raises(Stopped, match="must be finite") as stopped:
        ps.simulate(ps.load("planar2"), [0.3, 0.1], [0.0, 0.5], 0.5, control=control)
    run = stopped.value.result
    assert 0.1 < run.t[-1] <= 0.2 and np.isfinite(run.q).all() and run.energy.shape == run.t.shape


def test_events_and_contacts_are_data():
    none = Contacts.none(3)
    assert none.normal.shape == (3, 0) and none.chosen([0, 2]).point.shape == (2, 0, 3)
    assert Event(0.1, "touch", "a / b") == (0.1, "touch", "a / b")
