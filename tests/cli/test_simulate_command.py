"""`phistar simulate`: a robot left to itself, from where it is told, and what it leaves."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.cli.app import run

pytest.importorskip("coal")
h5py = pytest.importorskip("h5py")
pytestmark = pytest.mark.usefixtures("no_pages")
PENDULUM = """<robot name="pendulum"><link name="base"/><link name="bob">
<inertial><origin xyz="0 0 -1"/><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="hinge" type="revolute"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="0.4" effort="100" velocity="10"/></joint></robot>"""


@pytest.fixture
def pendulum(tmp_path, monkeypatch):
    (tmp_path / "pendulum.urdf").write_text(PENDULUM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_pendulum_swings_as_the_exact_simulation_until_it_meets_its_stop(pendulum, capsys):
    given = ["simulate", "pendulum.urdf", "--q", "hinge=-0.3", "--duration", "1", "--out", "swing", "--json"]
    assert run(given) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["sim_time"] == pytest.approx(1.0) and abs(summary["energy_residual"]) < 1e-3
    with h5py.File("swing/trajectory.h5") as file:
        t, q = file["t"][()], file["q"][()]
    exact = ps.simulate(ps.load("pendulum.urdf"), [-0.3], [0.0], 1.0, t_eval=t).q
    np.testing.assert_allclose(q, exact, atol=1e-4)
    assert ps.Scene.load("swing/scene.toml", packages=".").setting(0).model.nq == 1
    pages, numbers = ["replay.html", "report.html"], ["scene.toml", "summary.json", "trajectory.h5"]
    assert sorted(path.name for path in (pendulum / "swing").iterdir()) == pages + numbers


def test_a_joint_stays_inside_its_limits(pendulum, capsys):
    assert run(["simulate", "pendulum.urdf", "--q", "-1.2", "--duration", "1.2", "--out", "hit"]) == 0
    printed = capsys.readouterr().out
    assert "fastest" in printed and printed.endswith("Open hit/report.html to read it; phistar view hit plays it.\n")
    with h5py.File("hit/trajectory.h5") as file:
        assert 0.38 < file["q"][()].max() < 0.4
        assert "limit" in [event["what"].decode() for event in file["events"]]


def test_without_being_told_it_starts_at_rest_inside_its_limits(pendulum):
    (pendulum / "far.urdf").write_text(PENDULUM.replace('upper="0.4"', 'upper="-1.0"'))
    assert run(["simulate", "far.urdf", "--duration", "0.02", "--out", "far"]) == 0
    with h5py.File("far/trajectory.h5") as file:
        assert file["q"][0] == pytest.approx(-1.02) and file["v"][0] == 0.0


def test_a_robot_with_loops_keeps_them_closed_and_is_audited(tmp_path, capsys):
    arguments = ["simulate", "wd89_fig1", "--v", "joint1=0.0", "--duration", "0.05", "--out", str(tmp_path / "out")]
    assert run(arguments) == 0
    assert "loops" in capsys.readouterr().out
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["loop_residual"] < 1e-12 and abs(summary["energy_residual"]) < 1e-6
    with h5py.File(tmp_path / "out" / "trajectory.h5") as file:
        assert file["q"].shape == (6, 7)


def test_stops_of_a_robot_with_loops_hold_it_nearly(pendulum):
    """A second hinge that mimics the first makes a loop."""
    second = PENDULUM[PENDULUM.index('<link name="bob">') : PENDULUM.index("</robot>")]
    second = second.replace("bob", "bob2").replace('name="hinge"', 'name="hinge2"')
    second = second.replace("</joint>", '<mimic joint="hinge"/></joint>')
    (pendulum / "two.urdf").write_text(PENDULUM.replace("</robot>", second + "</robot>"))
    assert ps.load("two.urdf").loops
    assert run(["simulate", "two.urdf", "--q", "-1.2,-1.2", "--duration", "1.2", "--out", "two"]) == 0
    with h5py.File("two/trajectory.h5") as file:
        q = file["q"][()]
    assert 0.4 < q.max() < 0.43
    np.testing.assert_allclose(q[:, 0], q[:, 1], atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--q", "1,2"], "--q has 2 numbers; pendulum has 1"),
        (["--q", "hinge=fast"], "'fast' is no number"),
        (["--q", "nan"], "'nan' is no number"),
        (["--q", "hing=1"], "hinge"),
        (["--v", "hinge=inf"], "'inf' is no number"),
        (["--q", "2.0"], "not inside its limits"),
        (["--floating", "--q", "root=1"], "the joint root has 7 coordinates"),
        (["--duration", "0"], "--duration"),
    ],
)
def test_wrong_input_is_exit_code_2_with_a_sentence(pendulum, capsys, arguments, sentence):
    assert run(["simulate", "pendulum.urdf", *arguments]) == 2
    seen = capsys.readouterr()
    assert sentence in seen.err and seen.out == ""


def test_a_page_that_simulates_is_written(pendulum, capsys):
    assert run(["simulate", "pendulum.urdf", "--duration", "0.1", "--page", "swing.html"]) == 0
    assert "swing.html" in capsys.readouterr().out
    assert "simulation" in (pendulum / "swing.html").read_text("utf-8")
