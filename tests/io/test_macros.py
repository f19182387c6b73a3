"""xacro files expand to the robot they describe, and their macros reach nothing but that."""

import pytest

import phistar as ps

pytest.importorskip("xacro")
HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
ARM = """
<xacro:arg name="reach" default="0.5"/>
<xacro:property name="length" value="${2 * radians(90) / pi * 0.25}"/>
<xacro:macro name="part" params="name parent *place">
  <link name="${name}"><inertial><mass value="${length + 1.5}"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="${name}_joint" type="continuous"><parent link="${parent}"/><child link="${name}"/>
    <xacro:insert_block name="place"/><axis xyz="0 0 1"/></joint>
</xacro:macro>
<link name="base"/>
<xacro:part name="a" parent="base"><origin xyz="$(arg reach) 0 ${length}"/></xacro:part>
<xacro:include filename="parts/more.xacro"/>
<xacro:part name="b" parent="a"><origin xyz="${far} 0 0"/></xacro:part>
"""
MORE = HEAD + '<xacro:property name="far" value="${max(1, 2) ** 2}"/></robot>'


def written(folder, body, name="robot.urdf.xacro"):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{HEAD}{body}</robot>")
    return path


def test_macros_properties_arguments_and_includes_make_the_robot(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "more.xacro").write_text(MORE)
    model = ps.load(written(tmp_path, ARM))
    assert [joint.name for joint in model.joints] == ["a_joint", "b_joint"] and model.total_mass == pytest.approx(3.5)
    assert ps.forward_kinematics(model, model.neutral(), "b")[:3, 3] == pytest.approx([4.5, 0.0, 0.25])
    assert ps.load(written(tmp_path, ARM), floating=True).nv == 8


def test_packages_are_found_where_the_caller_says(tmp_path):
    for name in ("robots", "arms"):
        (tmp_path / name).mkdir()
    (tmp_path / "arms" / "more.xacro").write_text(MORE)
    body = '<xacro:include filename="$(find arms)/more.xacro"/><link name="${far}"/>'
    path = written(tmp_path / "robots", body)
    with pytest.raises(ps.FileError, match=r"\$\(find arms\): .*--packages " + str(tmp_path)):
        ps.load(path)
    assert "4" in ps.load(path, packages=tmp_path).frames


ATTACKS = {
    "a class": ("${().__class__.__base__}", "not evaluated"),
    "a class by format": ("${length.format(1)}", "not evaluated"),
    "a generator": ("${(x for x in [1])}", "not evaluated"),
    "a frame": ("${length.gi_frame}", "not evaluated"),
    "python's own": ("${python.type(1)}", "not evaluated"),
    "a lambda": ("${(lambda: 1)()}", "not evaluated"),
    "an import": ("${__import__('os')}", "not evaluated"),
    "YAML": ("${xacro.load_yaml('/etc/passwd')}", "not evaluated"),
    "a tower of powers": ("${9**9**9}", "too large|cannot expand"),
    "a long text": ("${'x' * 10000000000}", "too large"),
    "a wide text": ("${'%1000000000d' % 1}", "too large"),
    "the environment": ("$(env HOME)", "not substituted"),
    "a program": ("$(eval 1+1)", "not substituted"),
    "another folder": ("$(find nowhere)", "no package of this name"),
    "an argument": ("$(arg nothing)", "no default"),
}


@pytest.mark.parametrize("what", ATTACKS)
def test_expressions_reach_nothing_but_numbers_and_names(what, tmp_path):
    expression, words = ATTACKS[what]
    body = f'<xacro:property name="length" value="1"/><link name="a{expression}"/>'
    with pytest.raises(ps.FileError, match=words):
        ps.load(written(tmp_path, body))


def test_files_outside_the_folders_are_not_included(tmp_path):
    (tmp_path / "secret.xacro").write_text(MORE)
    for name in ("../secret.xacro", "/etc/passwd", str(tmp_path / "secret.xacro"), "/dev/zero"):
        path = written(tmp_path / "robots", f'<xacro:include filename="{name}"/><link name="a"/>')
        with pytest.raises(ps.FileError, match=r"outside the allowed folders|regular file"):
            ps.load(path)
    entity = tmp_path / "robots" / "entity.xacro"
    entity.write_text('<!DOCTYPE robot [<!ENTITY a "b">]>' + HEAD + '<link name="&a;"/></robot>')
    with pytest.raises(ps.FileError, match="DOCTYPE"):
        ps.load(entity)


def test_macros_that_multiply_are_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("phistar.io.macros._MOST_STEPS", 20_000)
    calls = "".join(
        f'<xacro:macro name="m{k}" params="n">{10 * f"<xacro:m{k + 1} n=&quot;${{n}}&quot;/>"}</xacro:macro>'.replace(
            "&quot;", '"'
        )
        for k in range(12)
    )
    body = calls + '<xacro:macro name="m12" params="n"><link name="a"/></xacro:macro><xacro:m0 n="1"/>'
    with pytest.raises(ps.FileError, match="more than 20000 steps"):
        ps.load(written(tmp_path, body))


def _doubled(first, again, count=40):
    """Properties a0, a1, … of which each is twice the one before."""
    twice = [again.replace("x", f"a{k}") for k in range(count - 1)]
    return "".join(f'<xacro:property name="a{k}" value="{x}"/>' for k, x in enumerate([first, *twice]))


INSERT = '<xacro:insert_block name="b"/>'
BOMBS = {
    "lists": _doubled("${[1, 2]}", "${[x, x]}") + '<link name="l${a39}"/>',
    "compared lists": _doubled("${[1, 2]}", "${[x, x]}") + '<link name="l${a39 == a38}"/>',
    "texts": _doubled("abc", "${x}${x}") + '<link name="l${a39}"/>',
    "long texts": f'<xacro:property name="a" value="{50_000 * "x"}"/><link name="{1000 * "${a}"}"/>',
    "blocks": '<xacro:macro name="m0" params="*b">'
    + INSERT
    + "</xacro:macro>"
    + "".join(
        f'<xacro:macro name="m{k + 1}" params="*b"><xacro:m{k}><g>{2 * INSERT}</g></xacro:m{k}></xacro:macro>'
        for k in range(29)
    )
    + "<xacro:m29><link/></xacro:m29>",
    "siblings": '<xacro:macro name="m0"><link/></xacro:macro>'
    + "".join(f'<xacro:macro name="m{k + 1}">{2 * f"<xacro:m{k}/>"}</xacro:macro>' for k in range(39))
    + "<xacro:m39/>",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_that_expands_to_a_huge_one_is_refused(bomb, tmp_path, monkeypatch):
    monkeypatch.setattr("phistar.io.macros._MOST_STEPS", 100_000)
    with pytest.raises(ps.FileError, match=r"steps|entries|too large|expand"):
        ps.load(written(tmp_path, BOMBS[bomb]))


def test_without_the_package_the_way_to_it_is_told(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(ps.FileError, match=r"pip install 'phistar\[xacro\]'"):
        ps.load(written(tmp_path, '<link name="a"/>'))
