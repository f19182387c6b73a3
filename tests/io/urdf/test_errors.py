"""URDF files that make no sense are refused with a sentence that names the file and the line."""

import re

import pytest

import phistar as ps

A = '<link name="a"/>\n'
B = '<link name="b"/>\n'
JOINT = '<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{inner}</joint>'
HEAVY = '<link name="a"><inertial>{}</inertial></link>'
MASS = '<mass value="1"/>'
TENSOR = '<inertia ixx="{}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'


def joint(inner="", kind="continuous"):
    return JOINT.format(kind=kind, inner=inner)


def visual(shape):
    return f'<link name="a"><visual><geometry>{shape}</geometry></visual></link>'


WRONG = {
    "no link": ("", "no <link>"),
    "unexpanded xacro": ('<xacro:macro name="arm"/>', "xacro"),
    "nameless link": ("<link/>", "<link> has no name"),
    "nameless joint": (A + B + '<joint type="fixed"/>', "<joint> has no name"),
    "overlong name": (f'<link name="{"x" * 600}"/>', "longer than 512"),
    "two links of one name": (A + A, "second <link> is called 'a'"),
    "two joints of one name": (A + B + joint() + joint(), "second <joint> is called 'j'"),
    "two roots": (A + B, "2 links have no parent"),
    "no type": (A + B + joint().replace('type="continuous"', ""), "joint type is ''"),
    "unknown type": (A + B + joint(kind="ball"), "joint type is 'ball'"),
    "no parent": (A + B + '<joint name="j" type="fixed"><child link="b"/></joint>', "no <parent"),
    "no child": (A + B + '<joint name="j" type="fixed"><parent link="a"/></joint>', "no <child"),
    "unknown link": (A + joint(), "the link 'b', which the file does not have"),
    "two parents": (A + B + joint() + joint().replace('"j"', '"k"'), "a link has one parent"),
    "a link its own parent": (
        A + B + '<joint name="j" type="fixed"><parent link="b"/><child link="b"/></joint>',
        "closes a cycle",
    ),
    "world below a joint": (
        A + '<link name="world"/>' + '<joint name="j" type="fixed"><parent link="a"/><child link="world"/></joint>',
        "is the world and cannot hang",
    ),
    "a joint called world": (A + B + joint().replace('"j"', '"world"'), "called 'world'"),
    "zero axis": (A + B + joint('<axis xyz="0 0 0"/>'), "joint 'j'.*zero axis"),
    "short axis": (A + B + joint('<axis xyz="0 1"/>'), "has 2 numbers; 3 were expected"),
    "negative friction": (A + B + joint('<dynamics friction="-1"/>'), "friction"),
    "mimics itself": (A + B + joint('<mimic joint="j"/>'), "mimics itself"),
    "mimics nothing": (A + B + joint("<mimic/>"), "<mimic> has no joint"),
    "mimics with many coordinates": (A + B + joint('<mimic joint="j"/>', kind="floating"), "one coordinate"),
    "mass without value": (HEAVY.format("<mass/>" + TENSOR.format(1)), "<mass> has no value"),
    "negative mass": (HEAVY.format('<mass value="-1"/>' + TENSOR.format(1)), "cannot be negative"),
    "xacro in a number": (HEAVY.format('<mass value="${m}"/>'), "expected. Expand the file with xacro first"),
    "tensor without izz": (HEAVY.format(MASS + '<inertia ixx="1"/>'), "<inertia> has no ixy"),
    "box without size": (visual("<box/>"), "<box> has no size"),
    "negative radius": (visual('<sphere radius="-1"/>'), "radius"),
    "mesh without file": (visual("<mesh/>"), "<mesh> has no filename"),
    "both rpy and quaternion": (
        A + B + joint('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>', kind="fixed"),
        "both rpy and quat_xyzw",
    ),
    "zero quaternion": (A + B + joint('<origin quat_xyzw="0 0 0 0"/>', kind="fixed"), "quat_xyzw is zero"),
    **{
        f"number {word[:12]}": (HEAVY.format(MASS + TENSOR.format(word)), "ixx of <inertia>")
        for word in (
            "nan",
            "inf",
            "-Infinity",
            "1e999",
            "1e31",
            "",
            "1,5",
            "1_0",
            "0x10",
            "٣",
            "1" * 300,
            "${m}",
            "1 2",
        )
    },
}


@pytest.mark.parametrize("what", WRONG)
def test_a_senseless_file_is_refused_with_file_and_line(what, tmp_path):
    body, sentence = WRONG[what]
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">\n{body}</robot>')
    with pytest.raises(ps.FileError, match=f"robot.urdf:\\d+: .*{sentence}"):
        ps.load(path)


def test_a_cycle_is_named(tmp_path):
    path = tmp_path / "robot.urdf"
    links = A + B + '<link name="c"/><link name="d"/>'
    one = '<joint name="one" type="fixed"><parent link="b"/><child link="c"/></joint>'
    two = '<joint name="two" type="fixed"><parent link="c"/><child link="b"/></joint>'
    below = '<joint name="below" type="fixed"><parent link="c"/><child link="d"/></joint>'
    path.write_text(f"<robot>{links}{below}{one}{two}</robot>")
    with pytest.raises(ps.FileError, match=r"joint '(one|two)' closes a cycle"):
        ps.load(path)


def test_the_line_is_that_of_the_element(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text('<robot>\n\n<link name="a"/>\n<link name="b"/>\n<joint name="j" type="odd"/></robot>')
    with pytest.raises(ps.FileError, match=r"robot.urdf:5: "):
        ps.load(path)


def test_an_unknown_link_suggests_the_nearest(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot>{A}<link name="forearm"/>{joint().replace(chr(34) + "b", chr(34) + "forarm")}</robot>')
    with pytest.raises(ps.FileError, match="did you mean 'forearm'"):
        ps.load(path)


def test_a_joint_called_root_cannot_float(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(f"<robot>{A}{B}{joint().replace('name=' + chr(34) + 'j', 'name=' + chr(34) + 'root')}</robot>")
    with pytest.raises(ps.FileError, match="called 'root'"):
        ps.load(path, floating=True)


def test_a_file_that_floats_already_cannot_float_twice(tmp_path):
    path = tmp_path / "robot.urdf"
    body = '<link name="world"/>' + B + joint(kind="floating").replace('"a"', '"world"')
    path.write_text(f"<robot>{body}</robot>")
    assert ps.load(path).nq == 7
    with pytest.raises(ps.FileError, match="float already"):
        ps.load(path, floating=True)


TOLERATED = {
    "a joint without limits": (A + B + joint(kind="revolute"), "unlimited"),
    "limits upside down": (
        A + B + joint('<limit lower="1" upper="-1" effort="1" velocity="1"/>', kind="revolute"),
        "unlimited",
    ),
    "a negative effort": (A + B + joint('<limit effort="-1" velocity="1"/>'), "negative effort"),
    "a second inertial": (f'<link name="a">{2 * f"<inertial>{MASS}{TENSOR.format(1)}</inertial>"}</link>', "second"),
    "a point mass": (HEAVY.format(MASS), "point mass"),
    "a visual without shape": ('<link name="a"><visual/></link>', "without a shape"),
    "an unknown shape": (visual("<torus/>"), "<torus>"),
    "two shapes": (visual('<sphere radius="1"/><sphere radius="2"/>'), "second shape"),
    "a mimic of an unknown joint": (A + B + joint('<mimic joint="z"/>'), "does not have .*'z'"),
    "odd attributes of dynamics": (A + B + joint('<dynamics K="3"/>'), "'K' of <dynamics>"),
    "a mesh that is not there": (visual('<mesh filename="none.stl"/>'), "does not exist"),
}


@pytest.mark.parametrize("what", TOLERATED)
def test_a_doubtful_file_loads_with_a_warning(what, tmp_path):
    body, sentence = TOLERATED[what]
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">\n{body}</robot>')
    assert sum(re.search(sentence, warning) is not None for warning in ps.load(path).warnings) == 1
    with pytest.raises(ps.FileError, match=sentence):
        ps.load(path, strict=True)


def test_a_file_of_unknown_elements_gets_no_endless_list_of_warnings(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(f"<robot>{A}{''.join(f'<x{k}/>' for k in range(5000))}</robot>")
    assert len(ps.load(path).warnings) <= 101
