"""A robot file is input from a stranger: nothing is expanded, nothing outside is opened, everything is bounded."""

import os
from pathlib import Path

import pytest

import phistar as ps
from phistar.io import xml
from phistar.io.packages import Folders

LINK = '<link name="a"/>'


def write(tmp_path, content, name="robot.urdf"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


LAUGHS = "".join(f'<!ENTITY l{k} "{10 * f"&l{k - 1};"}">' for k in range(1, 12))
DECLARATIONS = {
    "a plain doctype": "<!DOCTYPE robot>",
    "an outside DTD": '<!DOCTYPE robot SYSTEM "file:///etc/passwd">',
    "an outside entity": '<!DOCTYPE robot [<!ENTITY secret SYSTEM "file:///etc/passwd">]>',
    "an outside parameter entity": '<!DOCTYPE robot [<!ENTITY % outside SYSTEM "http://127.0.0.1:9/x"> %outside;]>',
    "a billion laughs": f'<!DOCTYPE robot [<!ENTITY l0 "ha">{LAUGHS}]>',
}


@pytest.mark.parametrize("what", DECLARATIONS)
@pytest.mark.parametrize("root", ["robot", "mujoco"])
def test_a_doctype_is_refused(what, root, tmp_path):
    path = write(tmp_path, f'<?xml version="1.0"?>\n{DECLARATIONS[what]}<{root} name="&l11;">{LINK}</{root}>')
    with pytest.raises(ps.FileError, match=r"robot.urdf:2: .*DOCTYPE"):
        ps.load(path)


def test_an_undeclared_entity_is_refused(tmp_path):
    with pytest.raises(ps.FileError, match="undefined entity"):
        ps.load(write(tmp_path, '<robot name="&secret;"/>'))


NOT_XML = {
    "nothing": (b"", "no element found"),
    "prose": (b"hello", "not well-formed XML"),
    "cut short": (b'<robot><link name="a"/>', "no element found"),
    "two roots": (b"<robot/><robot/>", "junk after document"),
    "binary": (bytes(range(256)), "not UTF-8|not well-formed"),
    "zeros": (bytes(1000), "not well-formed XML"),
    "UTF-16": ("<robot/>".encode("utf-16"), "not UTF-8"),
    "Latin-1": ('<robot name="é"/>'.encode("latin-1"), "not UTF-8"),
    "a JSON file": (b'{"robot": 1}', "not well-formed XML"),
    "an unbound attribute": (b"<robot name=r/>", "not well-formed XML"),
    "an attribute given twice": (b'<robot name="a" name="b"/>', "duplicate attribute"),
}


@pytest.mark.parametrize("what", NOT_XML)
def test_what_is_not_xml_is_refused_with_a_line(what, tmp_path):
    content, sentence = NOT_XML[what]
    with pytest.raises(ps.FileError, match=f"robot.urdf:\\d+: .*({sentence})"):
        ps.load(write(tmp_path, content))


def test_another_root_element_is_refused(tmp_path):
    with pytest.raises(ps.FileError, match=r"root element is <usd>; <robot> .* or <sdf>"):
        ps.load(write(tmp_path, "<usd/>"))


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(xml, "MAX_BYTES", 1024**2)
    with pytest.raises(ps.FileError, match="larger than 1 MB"):
        ps.load(write(tmp_path, b"<robot>" + b" " * 1024**2 + b"</robot>"))


def test_nesting_that_is_too_deep_is_refused(tmp_path):
    with pytest.raises(ps.FileError, match="nested more than 500 deep"):
        ps.load(write(tmp_path, 100_000 * "<robot>"))


def test_too_many_elements_are_refused(tmp_path):
    with pytest.raises(ps.FileError, match="more than 500000 elements"):
        ps.load(write(tmp_path, f"<robot>{500_001 * '<a/>'}</robot>"))


def test_too_many_attributes_are_refused(tmp_path):
    tag = "<a {}/>".format(" ".join(f'a{k}=""' for k in range(1000)))
    with pytest.raises(ps.FileError, match="more than 1000000 attributes"):
        ps.load(write(tmp_path, f"<robot>{1001 * tag}</robot>"))


@pytest.mark.parametrize("opening", ["<robot name='", "<robot><!-- "])
def test_a_tag_that_never_ends_is_refused_early(opening, tmp_path):
    with pytest.raises(ps.FileError, match="one tag or comment is longer than 4 MB"):
        ps.load(write(tmp_path, opening + 20_000_000 * "x"))


def test_a_large_file_of_small_parts_is_read(tmp_path):
    comments = 300_000 * "<!-- nothing to see -->\n"
    assert ps.load(write(tmp_path, f"<robot>{comments}{LINK}{9_000_000 * ' '}</robot>")).frames["a"].body == -1


def test_an_attribute_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(ps.FileError, match="longer than 1000000 characters"):
        ps.load(write(tmp_path, f'<robot name="{1_000_001 * "x"}"/>'))


def test_a_long_row_of_digits_does_not_stall_the_reader(tmp_path):
    body = f'<robot><link name="a"><inertial><mass value="{999_999 * "1"}x"/></inertial></link></robot>'
    with pytest.raises(ps.FileError, match="a finite number was expected"):
        ps.load(write(tmp_path, body))


def test_a_message_quotes_little_of_the_file(tmp_path):
    path = write(
        tmp_path,
        f'<robot><link name="a"><visual><geometry><box size="{9999 * "x"}"/></geometry></visual></link></robot>',
    )
    with pytest.raises(ps.FileError) as caught:
        ps.load(path)
    assert len(str(caught.value)) < 300 + len(str(path))


def test_a_folder_is_no_robot_file(tmp_path):
    with pytest.raises(ps.FileError, match="is a folder"):
        ps.load(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    os.mkfifo(tmp_path / "robot.urdf")
    with pytest.raises(ps.FileError, match="not a regular file"):
        ps.load(tmp_path / "robot.urdf")


def test_a_missing_file_names_its_neighbours(tmp_path):
    write(tmp_path, "<robot/>", "robot.urdf")
    with pytest.raises(ps.FileError, match=r"no file .*robott.urdf; the folder holds robot.urdf"):
        ps.load(tmp_path / "robott.urdf")
    with pytest.raises(ps.FileError, match="nor a folder"):
        ps.load(tmp_path / "nowhere" / "robot.urdf")


@pytest.mark.parametrize("source", ["a\0b.urdf", "x" * 5000 + ".urdf", 3, None, b"robot.urdf", ""])
def test_what_cannot_be_a_path_is_refused(source):
    with pytest.raises(ps.PhistarError):
        ps.load(source)


def test_an_unknown_name_suggests_bundled_ones():
    with pytest.raises(ps.UnknownNameError, match="puma560"):
        ps.load("puma56")


def test_options_are_for_bundled_robots(tmp_path):
    assert not ps.load("puma560", motors=False).armature.any()
    with pytest.raises(ps.ModelError, match="no option"):
        ps.load("puma560", wheels=True)
    with pytest.raises(ps.FileError, match="only a bundled robot"):
        ps.load(write(tmp_path, f"<robot>{LINK}</robot>"), motors=False)


def test_a_bundled_robot_loads_strictly_or_not():
    assert ps.load("puma560").warnings
    with pytest.raises(ps.ModelError):
        ps.load("puma560", strict=True)


def test_a_missing_package_folder_is_refused(tmp_path):
    with pytest.raises(ps.FileError, match=r"package folder .* does not exist"):
        ps.load(write(tmp_path, f"<robot>{LINK}</robot>"), packages=[tmp_path / "none"])


@pytest.mark.parametrize("packages", [3, None, [None], [0], b"x", "a\0b"])
def test_what_cannot_be_a_package_folder_is_refused(packages, tmp_path):
    with pytest.raises(ps.FileError, match="package folder"):
        ps.load(write(tmp_path, f"<robot>{LINK}</robot>"), packages=packages)


# Paths


@pytest.fixture
def tree(tmp_path) -> Path:
    for name in ("robot/mesh.stl", "robot/arm/mesh.stl", "shared/hand/mesh.stl", "secret/mesh.stl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("solid\nendsolid")
    return tmp_path.resolve()


def found(tree, address, packages=()):
    path = Folders.around(tree / "robot" / "robot.urdf", packages).find(address).path
    return None if path is None else path.relative_to(tree).as_posix()


def test_addresses_inside_the_folder_are_found(tree):
    assert found(tree, "mesh.stl") == "robot/mesh.stl"
    assert found(tree, "arm/../mesh.stl") == "robot/mesh.stl"
    assert found(tree, f"file://{tree}/robot/mesh.stl") == "robot/mesh.stl"
    assert found(tree, f"{tree}/robot/mesh.stl") == "robot/mesh.stl"
    assert found(tree, "package://arm/mesh.stl") == "robot/arm/mesh.stl"
    assert found(tree, "package://robot/mesh.stl") == "robot/mesh.stl"


def test_addresses_inside_package_folders_are_found(tree):
    assert found(tree, "package://hand/mesh.stl") is None
    assert found(tree, "package://hand/mesh.stl", [tree / "shared"]) == "shared/hand/mesh.stl"
    assert found(tree, "package://hand/mesh.stl", tree / "shared" / "hand") == "shared/hand/mesh.stl"
    assert found(tree, "../shared/hand/mesh.stl", [str(tree / "shared")]) == "shared/hand/mesh.stl"


OUTSIDE = [
    "../secret/mesh.stl",
    "arm/../../secret/mesh.stl",
    "{tree}/secret/mesh.stl",
    "file://{tree}/secret/mesh.stl",
    "package://../secret/mesh.stl",
    "package://arm/../../secret/mesh.stl",
    "package://{tree}/secret/mesh.stl",
    "package:///{tree}/secret/mesh.stl",
    "model://../secret/mesh.stl",
    "http://127.0.0.1:9/mesh.stl",
    "//server/share/mesh.stl",
    "\\\\server\\share\\mesh.stl",
    "/etc/passwd",
    "file:///etc/passwd",
    "link/mesh.stl",
    "link.stl",
]


@pytest.mark.parametrize("address", OUTSIDE)
def test_addresses_outside_are_not_opened(address, tree):
    os.symlink(tree / "secret", tree / "robot" / "link")
    os.symlink(tree / "secret" / "mesh.stl", tree / "robot" / "link.stl")
    assert found(tree, address.format(tree=tree), [tree / "shared"]) is None


@pytest.mark.parametrize(
    "address", ["", ".", "arm", "package://", "package://arm", "x" * 3000, "a\0b", "file://", "://"]
)
def test_addresses_of_no_file_are_none(address, tree):
    assert found(tree, address) is None


def test_a_mesh_outside_leaves_the_geometry_without_a_path(tree):
    visual = '<visual><geometry><mesh filename="../secret/mesh.stl" scale="2 2 2"/></geometry></visual>'
    path = write(tree / "robot", f'<robot><link name="a">{visual}{visual}</link></robot>')
    model = ps.load(path)
    assert [geometry.shape for geometry in model.base_geometry] == 2 * [ps.Mesh("", (2, 2, 2))]
    assert any("outside" in warning and "2 times" in warning for warning in model.warnings)


ADVICE = {
    "package://hand/mesh.stl": "shared",  # as in robot/urdf/robot.urdf of a package beside others
    "package://robot/robot/mesh.stl": "",
    "../hand/mesh.stl": "shared",
    "../../secret/mesh.stl": "",
    "package://../../secret/mesh.stl": "",
    "//server/share/mesh.stl": "",
    "a\0b": "",
}


@pytest.mark.parametrize("address", ADVICE)
def test_advice_names_the_near_folder_with_which_a_mesh_is_found(address, tree):
    own = tree / "shared" / "arm" / "robot.urdf"
    said = Folders.around(own).advice(address)
    if ADVICE[address]:
        folder = tree / ADVICE[address]
        assert f"--packages {folder}" in said and Folders.around(own, folder).find(address).path is not None
    else:
        assert said.endswith("--packages DIR")
