"""`phistar info`: the table and the JSON say what the model says; wrong input gives a sentence and exit code 2."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar.__main__ import main
from phistar.cli.describe import describe
from phistar.cli.model_tables import direction, number
from phistar.io.bundled import names

URDF = """\
<robot name="gripper">
  <link name="base"/>
  <link name="palm">
    <inertial><origin xyz="0 0 0.1"/><mass value="2"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.2"/></geometry></visual>
  </link>
  <link name="left">
    <inertial><mass value="0.25"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="right">
    <inertial><mass value="0.25"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="pad"/>
  <joint name="wrist" type="revolute"><parent link="base"/><child link="palm"/><axis xyz="0 0 -1"/>
    <limit lower="-1.5707963267948966" upper="0.5" effort="30" velocity="3"/>
    <dynamics damping="0.2" friction="0.4"/></joint>
  <joint name="slide_left" type="prismatic"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="10" velocity="1"/></joint>
  <joint name="slide_right" type="prismatic"><parent link="palm"/><child link="right"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.04" effort="10" velocity="1"/>
    <mimic joint="slide_left" multiplier="2" offset="-0.01"/></joint>
  <joint name="glue" type="fixed"><parent link="left"/><child link="pad"/></joint>
</robot>
"""


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "gripper.urdf"
    path.write_text(URDF)
    return str(path)


def facts_of(capsys, *arguments):
    assert main(["info", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_table_names_every_body_joint_frame_and_loop(robot, capsys):
    assert main(["info", robot]) == 0
    shown = capsys.readouterr().out
    model = ps.load(robot)
    for name in [*(body.name for body in model.bodies), *(joint.name for joint in model.joints), *model.frames]:
        assert name in shown
    for text in ["gripper", "3 bodies", "3 dof", "2.5 kg", "revolute", "−z", "−90 … 28.65°", "0 … 0.04 m", "visual"]:
        assert text in shown, text
    assert "q(slide_right) = −0.01 + 2 q(slide_left)" in shown


def test_the_table_keeps_whole_names_on_a_narrow_terminal(robot, capsys, monkeypatch):
    monkeypatch.setattr("phistar.cli.info.WIDTH_WHEN_PIPED", 60)
    assert main(["info", robot]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 60
    assert "…\n" not in shown


def test_json_holds_the_facts_of_the_model(robot, capsys):
    facts, model = facts_of(capsys, robot), ps.load(robot)
    assert (facts["format_version"], facts["name"], facts["nq"], facts["nv"]) == (1, "gripper", model.nq, model.nv)
    assert facts["mass"] == pytest.approx(2.5)
    assert [body["name"] for body in facts["bodies"]] == [body.name for body in model.bodies]
    assert [frame["name"] for frame in facts["frames"]] == list(model.frames)
    assert facts["warnings"] == list(model.warnings)
    wrist = facts["joints"][0]
    assert (wrist["kind"], wrist["axes"], wrist["v"]) == ("revolute", [[0, 0, -1]], [0, 1])
    assert (wrist["lower"], wrist["upper"]) == ([-np.pi / 2], [0.5])
    assert (wrist["damping"], wrist["friction"]["positive"], wrist["effort"]) == ([0.2], [0.4], [30])
    (mimic,) = facts["loops"]
    assert (mimic["joint_a"], mimic["joint_b"], mimic["coefficients"]) == ("slide_right", "slide_left", [-0.01, 2])


def test_floating_adds_the_root_joint_without_limits(robot, capsys):
    root = facts_of(capsys, robot, "--floating")["joints"][0]
    assert (root["name"], root["kind"], root["nq"], root["nv"]) == ("root", "free", 7, 6)
    assert root["lower"] == [None] * 7


def test_packages_are_where_meshes_are_found(robot, tmp_path, capsys):
    path = Path(robot)
    mesh = '<mesh filename="package://gripper_meshes/palm.stl"/>'
    path.write_text(URDF.replace('<box size="0.1 0.1 0.2"/>', mesh))
    (tmp_path / "elsewhere" / "gripper_meshes").mkdir(parents=True)
    (tmp_path / "elsewhere" / "gripper_meshes" / "palm.stl").write_bytes(b"")
    assert any("mesh" in warning for warning in facts_of(capsys, robot)["warnings"])
    assert facts_of(capsys, robot, "--packages", str(tmp_path / "elsewhere"))["warnings"] == []


@pytest.mark.parametrize("name", names())
def test_every_bundled_robot_has_a_table_a_source_and_a_tree(name, capsys):
    facts = facts_of(capsys, name)
    assert facts["bodies"] and facts["source"]
    assert main(["info", name]) == 0
    assert facts["bodies"][-1]["name"] in capsys.readouterr().out
    assert main(["info", name, "--tree"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > len(facts["bodies"])


def test_the_tree_of_wd89_fig1_prints_the_papers_loops_as_text_and_json(capsys):
    facts = facts_of(capsys, "wd89_fig1", "--tree")
    assert [node["number"] for node in facts["nodes"] if node["kind"] == "terminating"] == [8, 9]
    assert [node["number"] for node in facts["nodes"] if node["kind"] == "connector"] == [10, 11, 12, 13]
    assert main(["info", "wd89_fig1", "--tree"]) == 0
    shown = capsys.readouterr().out
    for equation in facts["equations"]:
        assert equation in shown


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("not xml at all", "line 1"),
        ("<robot name='r'/>", "link"),
        ("<html/>", "html"),
        ("", "empty"),
        (None, "no file"),
    ],
)
def test_a_wrong_file_is_one_sentence_on_stderr_and_exit_code_2(tmp_path, capsys, content, word):
    path = tmp_path / "wrong.urdf"
    if content is not None:
        path.write_text(content)
    assert main(["info", str(path)]) == 2
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "wrong.urdf" in seen.err and seen.err.count("\n") == 1 and "Traceback" not in seen.err


def test_an_unknown_robot_suggests_a_near_name(capsys):
    assert main(["info", "puma56"]) == 2
    assert "puma560" in capsys.readouterr().err


def test_numbers_are_short_and_axes_are_letters():
    assert [number(x) for x in (0.0, -0.5, 12.34567, 1e-9, 123456.0)] == [
        "0",
        "−0.5",
        "12.35",
        "1.000e-09",
        "1.235e+05",
    ]
    assert [direction(a) for a in ([0, 0, 1], [0, -1, 0], [0.6, 0, 0.8])] == ["z", "−y", "(0.6, 0, 0.8)"]


def test_output_cut_short_by_the_reader_is_no_error(robot):
    command = f"'{sys.executable}' -m phistar info '{robot}' | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert "gripper" in done.stdout and done.stderr == ""


def test_independent_rates_of_loops_and_frequencies_of_bodies_that_bend_are_told(robot, capsys):
    """A mimic joint is a loop: two sliders are one compound link with one rate; a beam has its modes in Hz."""
    told = facts_of(capsys, robot)["embedded"]
    assert told["nv"] == 2 and told["compound_links"] == [["left", "right"]]
    assert told["independent"] in (["wrist", "slide_left"], ["wrist", "slide_right"])
    assert main(["info", robot]) == 0
    assert "Independent rates (model.embedded()): 2" in capsys.readouterr().out
    b = ps.ModelBuilder("bending")
    b.body("boom", joint=ps.Revolute(), inertia=ps.beam(1.0, 1.0, 1.0, modes=2))
    (body,) = describe(b.build())["bodies"]
    np.testing.assert_allclose(body["frequencies"], [1.8751040687**2 / (2 * np.pi)] * 2, rtol=1e-9)
