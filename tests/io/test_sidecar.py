"""Loops of a URDF in a sidecar file: what it may say, and what it says where it may not."""

import numpy as np
import pytest

import phistar as ps
from phistar.io.sidecar import with_loops

LINK = """<link name="{name}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
<inertia ixx="1e-4" iyy="0.083333333333333" izz="0.083333333333333" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>"""
CLOSURE = """format_version = 1
[[frame]]
name = "coupler_end"
link = "coupler"
xyz = [1, 0, 0]
[[frame]]
name = "rocker_end"
link = "rocker"
xyz = [1.0, 0.0, 0.0]
rpy = [0.0, 0.0, 0.0]
[[loop]]
name = "closure"
frame_a = "coupler_end"
frame_b = "rocker_end"
type = "revolute"
axis = [0, 0, 1]
"""


@pytest.fixture
def urdf(tmp_path):
    links = "".join(LINK.format(name=name) for name in ("crank", "coupler", "rocker"))
    rows = (("A", "world", "crank", 0), ("B", "crank", "coupler", 1), ("D", "world", "rocker", 1))
    joints = "".join(JOINT.format(name=n, parent=p, child=c, x=x) for n, p, c, x in rows)
    path = tmp_path / "four_bar.urdf"
    path.write_text(f'<robot name="four_bar"><link name="world"/>{links}{joints}</robot>')
    return path


def told(tmp_path, text):
    path = tmp_path / "four_bar.loops.toml"
    path.write_text(text)
    return path


def test_a_four_bar_is_loaded_with_its_closure_and_falls(urdf, tmp_path):
    model = ps.load(urdf, gravity=(0, -9.81, 0), loops=told(tmp_path, CLOSURE))
    assert [loop.name for loop in model.loops] == ["closure"]
    assert model.tree.bodies == ps.load(urdf).bodies
    want = -2.0 * 9.81 * np.cos(-1.2) / (5 / 3)
    got = ps.forward_dynamics(model, [-1.2, 1.2, -1.2], np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(got, [want, -want, want], atol=1e-10)


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ('type = "fixed"', ps.Fixed()),
        ('type = "prismatic"\naxis = [0, 1, 0]', ps.Prismatic(axis=(0, 1, 0))),
        ('type = "helical"\naxis = [0, 1, 0]\npitch = 0.1', ps.Helical(axis=(0, 1, 0), pitch=0.1)),
        ('type = "cylindrical"\naxis = [1, 0, 0]', ps.Cylindrical(axis=(1, 0, 0))),
        ('type = "universal"\naxis1 = [1, 0, 0]\naxis2 = [0, 0, 1]', ps.Universal(axis1=(1, 0, 0), axis2=(0, 0, 1))),
        ('type = "spherical"', ps.Spherical()),
        ('type = "planar"\nnormal = [1, 0, 0]', ps.Planar(normal=(1, 0, 0))),
        ('type = "distance"\nlength = 0.4', ps.Distance(0.4)),
    ],
)
def test_every_kind_of_cut_joint_can_be_told(urdf, tmp_path, lines, kind):
    text = f'format_version = 1\n[[loop]]\nname = "c"\nframe_a = "crank"\nframe_b = "rocker"\n{lines}\n'
    assert with_loops(ps.load(urdf), told(tmp_path, text)).loops[0].joint == kind


def test_couplings_join_joints_or_hold_one(urdf, tmp_path):
    text = 'format_version = 1\n[[loop]]\nname = "gear"\njoint_a = "A"\njoint_b = "D"\ntype = "coupling"\n'
    text += (
        'coefficients = [0.1, -2]\n[[loop]]\nname = "stop"\njoint_a = "B"\ntype = "coupling"\ncoefficients = [0.5]\n'
    )
    gear, stop = with_loops(ps.load(urdf), told(tmp_path, text)).loops
    assert (gear.joint_a, gear.joint_b, stop.joint_b) == ("A", "D", None)
    np.testing.assert_array_equal(gear.joint.coefficients, [0.1, -2.0])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("format_version = 1", "format_version = 2", "format_version '2'; this is read: 1"),
        ("format_version = 1", "", "format_version 'None'"),
        ("format_version = 1", "format_version = [", "is a TOML file"),
        ("[[loop]]", "[[loops]]", "'loops', which is not read"),
        ("[[loop]]", "[loop]", "started by \\[\\[loop\\]\\]"),
        ('type = "revolute"', 'type = "hinge"', "loop 1 has the type 'hinge'; there are fixed, revolute"),
        ("axis = [0, 0, 1]", 'axis = "z"', "loop 1 has axis = .*numbers were expected"),
        ("axis = [0, 0, 1]", "axis = [0, 0, 0]", "loop 1: .*axis"),
        ("axis = [0, 0, 1]", "pitch = 1.0", "loop 1 has 'pitch', which is not read there"),
        ('frame_b = "rocker_end"', "", 'loop 1 needs frame_b = "…"; it was given nothing'),
        ('frame_b = "rocker_end"', 'frame_b = "rocker_edn"', "toml: .*'rocker_edn'; did you mean 'rocker_end'"),
        ('frame_b = "rocker_end"', 'frame_b = "coupler"', "'closure' joins .* same body"),
        ('link = "rocker"', 'link = "roker"', "toml: .*'roker'"),
        ("xyz = [1, 0, 0]", "xyz = [1, 0]", "frame 1: "),
    ],
)
def test_a_faulty_file_is_refused_with_its_place(urdf, tmp_path, old, new, words):
    with pytest.raises(ps.PhistarError, match=words):
        ps.load(urdf, loops=told(tmp_path, CLOSURE.replace(old, new, 1)))


def test_a_missing_file_is_named(urdf, tmp_path):
    with pytest.raises(ps.FileError, match=r"none\.toml"):
        ps.load(urdf, loops=tmp_path / "none.toml")
