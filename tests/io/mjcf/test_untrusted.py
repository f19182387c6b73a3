"""MJCF files from strangers: nothing outside is opened, nothing crashes or hangs, only a PhistarError comes out."""

import copy
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phistar as ps
from tests.io import test_untrusted_fuzz as fuzz

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

DATA = Path(__file__).resolve().parents[2] / "data" / "mjcf"
SEEDS = sorted(DATA.glob("*.xml"))
BALL = '<geom size="0.1"/>'
ARM = f'<worldbody><body name="bob"><joint name="pin"/>{BALL}</body></worldbody>'

TAGS = [
    *("body", "joint", "freejoint", "geom", "site", "inertial", "frame", "replicate", "mesh", "default", "compiler"),
    *(
        "option",
        "flag",
        "size",
        "connect",
        "weld",
        "equality",
        "tendon",
        "fixed",
        "spatial",
        "motor",
        "muscle",
        "include",
    ),
    *(
        "plugin",
        "flexcomp",
        "attach",
        "hfield",
        "texture",
        "material",
        "actuator",
        "worldbody",
        "asset",
        "mujoco",
        "odd",
    ),
]
ATTRIBUTES = {
    "count": ["0", "1", "3", "-1", "1000000000", "99999999999999999999"],
    "file": ["robot.xml", "/etc/passwd", "../../secret", "\0", "", "x" * 5000, "file:///dev/zero", "//host/share"],
    "builtin": ["sphere", "cone", "supertorus", "wedge", "grid", "nothing"],
    "params": ["3 0.5", "1000000000 1", "2 2 2 1 1 1", "1e300"],
    "vertex": ["0 0 0 1 0 0 0 1 0 0 0 1", "0 0 0", "1 1 1 " * 4, "1e30 0 0 0 1e-30 0 0 0 1 1 1 1"],
    "face": ["0 1 2", "0 1 1000000", "-1 0 1", "0 1 2 0 2 3 0 3 1 1 3 2"],
    "inertiafromgeom": ["true", "false", "auto"],
    "type": ["free", "ball", "slide", "hinge", "mesh", "hfield", "sdf", "plane", "box", "capsule"],
    "memory": ["-1", "1", "100T", "1e30"],
    "actdim": ["2000000000", "-5"],
    "nuserdata": ["2000000000", "-5"],
    "nrow": ["2000000000"],
    "settotalmass": ["1e30", "-1", "1e-30"],
    "stiffness": ["1", "1 2", "1 2 3", "1 2 3 4", "-1"],
    "quat": ["0 0 0 0", "1e-30 0 0 0", "1e30 1e30 0 0"],
    "fullinertia": ["1 1 1 0 0 0", "0 0 0 0 0 0", "1 1 1 9 9 9", "1e30 1e30 1e30 0 0 0"],
    "childclass": ["limited", "cassie", "nothing"],
    "euler": ["1e30 0 0", "1 2 3"],
    "range": ["1 -1", "0 0", "-1e30 1e30"],
    "armature": ["1e30", "-1"],
    "mass": ["1e30", "0", "-1"],
}


@st.composite
def mutated_document(draw, seed: ElementTree.Element) -> bytes:
    """Elements deleted, repeated, moved, added and renamed; attributes deleted, added and given odd values."""
    root = copy.deepcopy(seed)
    names = sorted({element.get("name", "x") for element in root.iter()})
    for _ in range(draw(st.integers(1, 4))):
        elements = list(root.iter())
        element = draw(st.sampled_from(elements))
        parents = [parent for parent in elements if element in list(parent)]
        attribute = draw(st.sampled_from(sorted(element.attrib) or ["name"]))
        match draw(
            st.sampled_from(["value", "odd", "name", "number", "forget", "delete", "repeat", "move", "tag", "add"])
        ):
            case "value":
                element.set(attribute, draw(st.sampled_from(fuzz.VALUES)))
            case "odd":
                odd = draw(st.sampled_from(sorted(ATTRIBUTES)))
                element.set(odd, draw(st.sampled_from(ATTRIBUTES[odd])).replace("\0", "\u2400"))
            case "name":
                element.set(attribute, draw(st.sampled_from(names)))
            case "number":
                count = len(element.get(attribute, "0").split())
                element.set(attribute, " ".join(repr(draw(st.floats(-1e30, 1e30))) for _ in range(count)))
            case "forget":
                element.attrib.pop(attribute, None)
            case "delete" if parents:
                parents[0].remove(element)
            case "repeat" if parents:
                parents[0].append(copy.deepcopy(element))
            case "move" if parents:
                parents[0].remove(element)
                draw(st.sampled_from(list(root.iter()))).append(element)
            case "tag":
                element.tag = draw(st.sampled_from(TAGS))
            case "add":
                ElementTree.SubElement(element, draw(st.sampled_from(TAGS)), {attribute: element.get(attribute, "x")})
    return ElementTree.tostring(root)


@pytest.fixture(scope="module")
def target(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "robot.xml"


quick = settings(max_examples=60, suppress_health_check=list(HealthCheck))
thorough = settings(max_examples=2000, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.stem)
@given(data=st.data())
@quick
def test_damaged_bytes_are_refused_or_load(seed, data, target):
    fuzz.check(data.draw(fuzz.mutated_bytes(seed.read_bytes())), target, data.draw(st.booleans()))


@pytest.mark.parametrize("seed", SEEDS, ids=lambda path: path.stem)
@given(data=st.data())
@quick
def test_senseless_documents_are_refused_or_load(seed, data, target):
    fuzz.check(data.draw(mutated_document(ElementTree.parse(seed).getroot())), target, data.draw(st.booleans()))


@pytest.mark.slow
@given(data=st.data())
@thorough
def test_many_senseless_documents_are_refused_or_load(data, target):
    seed = ElementTree.parse(DATA / "features.xml").getroot()
    fuzz.check(data.draw(mutated_document(seed)), target, data.draw(st.booleans()))


REFUSED = {
    "doctype": ('<!DOCTYPE mujoco [<!ENTITY a "b">]><mujoco/>', "DOCTYPE"),
    "not a number": (f'<mujoco><worldbody><body pos="0 nan 0"><joint/>{BALL}</body></worldbody></mujoco>', "'nan'"),
    "infinity": (f'<mujoco>\n<option gravity="0 0 -inf"/>{ARM}</mujoco>', r":2: 'gravity' of <option> holds '-inf'"),
    "huge number": (f'<mujoco><compiler settotalmass="1e200"/>{ARM}</mujoco>', "at most 1e"),
    "many replicas": (
        f'<mujoco><worldbody><replicate count="1000000000000">{BALL}</replicate></worldbody></mujoco>',
        "500 replicas",
    ),
    "nested replicas": (
        "<mujoco><worldbody>" + 4 * '<replicate count="30">' + BALL + 4 * "</replicate>" + "</worldbody></mujoco>",
        "500 replicas",
    ),
    "no count": ('<mujoco><worldbody><replicate count="x"/></worldbody></mujoco>', "count='x'"),
    "huge hull": (
        '<mujoco><asset><mesh name="m" builtin="cone" params="100000 0.5"/></asset></mujoco>',
        "convex hull of more than 2000 vertices",
    ),
    "many vertices": (
        f'<mujoco><asset><mesh name="m" vertex="{"0 1 2 " * 3000}"/></asset></mujoco>',
        "convex hull of more than 2000 vertices",
    ),
    "many degrees of freedom": (
        "<mujoco><worldbody>" + f"<body><freejoint/>{BALL}</body>" * 700 + "</worldbody></mujoco>",
        "4200 degrees of freedom",
    ),
    "many elements": (f"<mujoco><worldbody>{BALL * 20_001}</worldbody></mujoco>", "at most 20000 elements"),
    "deep nesting": (
        "<mujoco><worldbody>" + 494 * "<body>" + 494 * "</body>" + "</worldbody></mujoco>",
        "nested more than 490",
    ),
    "overflow": (
        '<mujoco><worldbody><body><joint/><geom size="1e29" density="1e29"/></body></worldbody></mujoco>',
        r":1: body 'body1': An inertia needs finite numbers",
    ),
    "negative armature": (
        f'<mujoco><worldbody>\n<body name="b"><joint armature="-1"/>{BALL}</body></worldbody></mujoco>',
        r":2: body 'b': A Revolute joint needs armature",
    ),
    "format": (f'<mujoco><worldbody><body><joint class="%n"/>{BALL}</body></worldbody></mujoco>', "holds a '%'"),
    "another root": ("<mujocoinclude/>", "a part that other MJCF files include"),
}


@pytest.mark.parametrize(("content", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_mujoco_should_never_see_is_refused(content, sentence, target):
    target.write_text(content)
    with pytest.raises(ps.FileError, match=sentence):
        ps.load(target)


def test_names_may_look_like_numbers(target):
    target.write_text(f'<mujoco><worldbody><body name="nan"><joint name="inf"/>{BALL}</body></worldbody></mujoco>')
    assert [joint.name for joint in ps.load(target).joints] == ["inf"]


def test_sizes_that_mujoco_would_allocate_are_not_passed_on(target):
    sizes = '<size memory="1000T" nuserdata="2000000000" nkey="2000000000" nuser_body="2000000000"/>'
    actuator = '<actuator><general joint="pin" dyntype="user" actdim="2000000000" armature="1"/></actuator>'
    target.write_text(f"<mujoco>{sizes}{ARM}{actuator}</mujoco>")
    assert ps.load(target).armature.tolist() == [1.0]


def test_muscles_are_not_simulated_to_find_their_length(target):
    target.write_text(f'<mujoco><option timestep="1e-9"/>{ARM}<actuator><muscle joint="pin"/></actuator></mujoco>')
    with fuzz.time_limit(5):
        assert ps.load(target).nv == 1


def write(folder: Path, **files: str) -> None:
    for name, content in files.items():
        (folder / f"{name}.xml").write_text(content)


def test_includes_are_found_beside_the_main_file_and_then_beside_the_including_one(tmp_path):
    (tmp_path / "parts").mkdir()
    write(tmp_path, robot='<mujoco><include file="parts/one.xml"/></mujoco>')
    write(tmp_path / "parts", one=f'<mujocoinclude>{ARM}<include file="two.xml"/></mujocoinclude>')
    write(tmp_path / "parts", two='<mujoco><option gravity="0 0 1"/></mujoco>')
    assert ps.load(tmp_path / "robot.xml").gravity.tolist() == [0, 0, 1]
    write(tmp_path, two='<mujoco><option gravity="0 0 2"/></mujoco>')
    assert ps.load(tmp_path / "robot.xml").gravity.tolist() == [0, 0, 2]


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("/etc/hostname", "lies outside the allowed folders"),
        ("../secret.xml", "lies outside the allowed folders"),
        ("link.xml", "lies outside the allowed folders"),
        ("file:///etc/hostname", "lies outside the allowed folders"),
        ("gone.xml", r"robot\.xml:2: the included file 'gone\.xml' does not exist"),
        ("robot.xml", "included a second time"),
        ("", "does not exist"),
    ],
)
def test_includes_that_must_not_be_read_are_refused(file, sentence, tmp_path):
    folder = tmp_path / "robots"
    folder.mkdir()
    write(tmp_path, secret=f"<mujoco>{ARM}</mujoco>")
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    write(folder, robot=f'<mujoco>\n<include file="{file}"/></mujoco>')
    with pytest.raises(ps.FileError, match=sentence):
        ps.load(folder / "robot.xml")


def test_files_that_include_each_other_are_refused(tmp_path):
    write(tmp_path, robot='<mujoco><include file="a.xml"/></mujoco>')
    write(tmp_path, a='<mujoco><include file="b.xml"/></mujoco>', b='<mujoco><include file="a.xml"/></mujoco>')
    with pytest.raises(ps.FileError, match="included a second time"):
        ps.load(tmp_path / "robot.xml")


def test_package_folders_may_hold_includes(tmp_path):
    (tmp_path / "robots").mkdir()
    (tmp_path / "shared").mkdir()
    write(tmp_path / "robots", robot=f'<mujoco>{ARM}<include file="../shared/g.xml"/></mujoco>')
    write(tmp_path / "shared", g='<mujoco><option gravity="0 0 3"/></mujoco>')
    model = ps.load(tmp_path / "robots" / "robot.xml", packages=[tmp_path / "shared"])
    assert model.gravity.tolist() == [0, 0, 3]


def test_a_refused_include_names_the_folder_to_give_and_loads_with_it(tmp_path):
    """As in packages whose robots lie beside the folder of their parts."""
    for name in ("robots", "parts"):
        (tmp_path / name).mkdir()
    write(tmp_path / "robots", robot='<mujoco><include file="../parts/one.xml"/></mujoco>')
    write(tmp_path / "parts", one=f'<mujocoinclude>{ARM}<include file="two.xml"/></mujocoinclude>')
    write(tmp_path / "parts", two='<mujoco><option gravity="0 0 1"/></mujoco>')
    with pytest.raises(ps.FileError) as refusal:
        ps.load(tmp_path / "robots" / "robot.xml")
    assert f"packages={str(tmp_path)!r}, on the command line --packages {tmp_path}" in str(refusal.value)
    assert ps.load(tmp_path / "robots" / "robot.xml", packages=tmp_path).gravity.tolist() == [0, 0, 1]
