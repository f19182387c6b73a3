"""SDF: the same mechanism as its URDF twin, models in models and worlds, rings as loops, refusals with their line."""

import numpy as np
import pytest

import phistar as ps

MASS = "<inertial><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose><mass>{}</mass><inertia>{}</inertia></inertial>"
MOMENTS = "<ixx>0.4</ixx><iyy>0.5</iyy><izz>0.6</izz><ixy>0.01</ixy><ixz>0.02</ixz><iyz>0.03</iyz>"


def written(folder, content, name="robot.sdf", version="1.9"):
    path = folder / name
    path.write_text(f'<?xml version="1.0"?>\n<sdf version="{version}">{content}</sdf>')
    return path


def link(name, pose="0 0 0 0 0 0", mass=1.0, more=""):
    return f'<link name="{name}"><pose>{pose}</pose>{MASS.format(mass, MOMENTS)}{more}</link>'


def model_of(*parts, name="m"):
    return f'<model name="{name}">{"".join(parts)}</model>'


def joint(name, parent, child, kind="revolute", axis="0 0 1", more="", pose="0 0 0 0 0 0"):
    axis = f"<axis><xyz>{axis}</xyz>{more}</axis>" if axis else ""
    return (
        f'<joint name="{name}" type="{kind}"><pose>{pose}</pose><parent>{parent}</parent><child>{child}</child>{axis}'
        "</joint>"
    )


TWIN = """<robot name="twin"><link name="base"/>{links}{joints}</robot>"""
TREE = [  # name, parent, kind, place in the parent, axis
    ("a", "base", "revolute", (0.1, 0.2, 0.3, 0.3, 0.2, 0.1), (0.0, 0.0, 1.0)),
    ("b", "a", "prismatic", (0.4, 0.0, 0.1, 0.0, 0.5, 0.0), (0.0, 1.0, 0.0)),
    ("c", "a", "continuous", (0.0, 0.3, 0.0, 0.7, 0.0, 0.2), (0.6, 0.0, 0.8)),
    ("d", "c", "fixed", (0.2, 0.2, 0.2, 0.1, 0.1, 0.1), (0.0, 0.0, 1.0)),
]


def words(numbers):
    return " ".join(f"{number:.17g}" for number in numbers)


def test_a_tree_moves_as_its_urdf_twin(tmp_path):
    inertial = (
        '<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="1"/>'
        '<inertia ixx="0.4" iyy="0.5" izz="0.6" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial>'
    )
    places, sdf = {"base": ps.Pose()}, [link("base")]
    links, joints = "", ""
    for name, parent, kind, place, axis in TREE:
        links += f'<link name="{name}">{inertial}</link>'
        joints += (
            f'<joint name="j{name}" type="{kind}"><origin xyz="{words(place[:3])}" rpy="{words(place[3:])}"/>'
            f'<parent link="{parent}"/><child link="{name}"/><axis xyz="{words(axis)}"/>'
            '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.3" friction="0.2"/></joint>'
        )
        places[name] = places[parent] @ ps.Pose(xyz=place[:3], rpy=place[3:])
        given = f'<pose relative_to="{parent}">{words(place)}</pose>'
        sdf.append(link(name).replace("<pose>0 0 0 0 0 0</pose>", given))
        more = (
            "<limit><lower>-1</lower><upper>2</upper><effort>3</effort><velocity>4</velocity></limit>"
            "<dynamics><damping>0.3</damping><friction>0.2</friction></dynamics>"
        )
        sdf.append(joint(f"j{name}", parent, name, kind, words(axis), more))
    (tmp_path / "twin.urdf").write_text(TWIN.format(links=links, joints=joints))
    twin = ps.load(tmp_path / "twin.urdf", gravity=(0.0, 0.0, -9.8))
    model = ps.load(written(tmp_path, f'<model name="twin">{"".join(sdf)}</model>'))
    rng = np.random.default_rng(0)
    q, v, tau = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    assert [each.name for each in model.joints] == ["ja", "jb", "jc"]
    np.testing.assert_allclose(
        ps.forward_dynamics(model, q, v, tau), ps.forward_dynamics(twin, q, v, tau), rtol=1e-10, atol=1e-10
    )
    for name in "abcd":
        np.testing.assert_allclose(
            ps.forward_kinematics(model, q, name), ps.forward_kinematics(twin, q, name), atol=1e-12
        )
    assert model.joint("ja").kind.limits[0] == -1.0 and np.isinf(model.joint("jc").kind.limits[0])
    np.testing.assert_allclose(model.effort_limits, twin.effort_limits)
    np.testing.assert_allclose(
        [each.kind.damping for each in model.joints], [each.kind.damping for each in twin.joints]
    )


def test_a_model_floats_only_where_it_is_asked_to_and_says_so(tmp_path):
    path = written(
        tmp_path,
        model_of(link("base", mass=2), link("tip", "1 0 0 0 0 0"), joint("j", "base", "tip")),
    )
    model = ps.load(path)
    assert model.nv == 1 and any("floating=True frees it" in warning for warning in model.warnings)
    free = ps.load(path, floating=True)
    assert free.nv == 7 and free.joints[0].name == "root" and free.total_mass == 3.0 and not free.warnings
    static = written(tmp_path, f'<model name="m"><static>true</static>{link("base")}</model>')
    assert ps.load(static, floating=True).nv == 0 and not ps.load(static).warnings
    tied = written(tmp_path, model_of(link("base"), joint("j", "world", "base")))
    assert ps.load(tied).nv == 1 and not ps.load(tied).warnings


def test_a_ring_of_links_is_a_loop_that_is_closed(tmp_path):
    side = "{} 0 0 0 0 0"
    links = link("base") + "".join(link(name, side.format(k)) for k, name in enumerate("abc"))
    ends = [("base", "a"), ("a", "b"), ("b", "c"), ("c", "base")]
    joints = "".join(joint(f"j{k}", *pair, axis="0 0 1") for k, pair in enumerate(ends))
    model = ps.load(written(tmp_path, model_of(links, joints)))
    assert model.nv == 3 and [loop.name for loop in model.loops] == ["j3"]
    assert np.abs(ps.loop_residual(model, model.neutral())).max() < 1e-12


def test_models_in_worlds_and_in_models_have_their_names_before_their_parts(tmp_path):
    inner = f'<model name="hand"><pose>0 0 1 0 0 0</pose>{link("palm", "0 1 0 0 0 0")}</model>'
    wrist = joint("wrist", "base", "hand::palm", "fixed", "")
    arm = model_of("<pose>1 0 0 0 0 0</pose>", link("base"), inner, wrist, name="arm")
    floor = model_of("<static>1</static>", link("slab"), name="floor")
    content = f'<world name="w"><gravity>0 0 -1.6</gravity>{floor}{arm}</world>'
    model = ps.load(written(tmp_path, content), floating=True)
    assert model.gravity.tolist() == [0, 0, -1.6] and model.nv == 6
    q = model.neutral()
    place = np.linalg.inv(ps.forward_kinematics(model, q, "arm::base")) @ ps.forward_kinematics(
        model, q, "arm::hand::palm"
    )
    assert place[:3, 3].tolist() == [0.0, 1.0, 1.0] and "floor::slab" in model.frames


def test_an_included_model_is_found_in_packages_alone(tmp_path):
    for name in ("world", "models/box", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    shape = '<visual name="v"><geometry><mesh><uri>model://box/box.stl</uri></mesh></geometry></visual>'
    written(tmp_path / "models" / "box", f'<model name="box">{link("body", more=shape)}</model>', "model.sdf")
    (tmp_path / "models" / "box" / "box.stl").write_bytes(b"")
    include = "<include><uri>model://box</uri><name>{}</name><pose>0 0 {} 0 0 0</pose></include>"
    path = written(tmp_path / "world", f'<world name="w">{include.format("one", 1)}{include.format("two", 2)}</world>')
    with pytest.raises(ps.FileError, match=r"robot\.sdf:2: the included model 'model://box' .*--packages"):
        ps.load(path)
    model = ps.load(path, packages=tmp_path / "models", floating=True)
    assert model.nv == 12 and [body.name for body in model.bodies] == ["one::body", "two::body"]
    assert model.bodies[0].geometry[0].shape.path == str(tmp_path / "models" / "box" / "box.stl")


def test_kinds_of_joints_and_their_axes(tmp_path):
    second, pitch = "<axis2><xyz>0 1 0</xyz></axis2></joint>", "<screw_thread_pitch>0.1</screw_thread_pitch></joint>"
    kinds = {
        "ball": (joint("j", "base", "tip", "ball", ""), 3),
        "universal": (joint("j", "base", "tip", "universal", "1 0 0").replace("</joint>", second), 2),
        "revolute2": (joint("j", "base", "tip", "revolute2", "1 0 0").replace("</joint>", second), 2),
        "screw": (joint("j", "base", "tip", "screw").replace("</joint>", pitch), 1),
    }  # fmt: skip
    for content, count in kinds.values():
        assert ps.load(written(tmp_path, model_of(link("base"), link("tip"), content))).nv == count
    turned = model_of(
        link("base"), link("tip", "0 0 0 0 0 1.5707963267948966"), joint("j", "base", "tip", axis="1 0 0")
    )
    own, old = (ps.load(written(tmp_path, turned, version=version)) for version in ("1.9", "1.4"))
    assert own.bodies[0].joint.kind.axis.tolist() == [1.0, 0.0, 0.0]
    np.testing.assert_allclose(old.bodies[0].joint.kind.axis, [0.0, -1.0, 0.0], atol=1e-12)  # the model's x axis


def test_a_joint_that_mimics_is_coupled(tmp_path):
    mimic = '<mimic joint="j"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>'
    content = link("base") + link("a") + link("b") + joint("j", "base", "a") + joint("k", "base", "b", more=mimic)
    model = ps.load(written(tmp_path, model_of(content)))
    assert model.loops[0].joint.coefficients[:2].tolist() == [pytest.approx(0.3), 2.0]


WRONG = {
    "no link": ('<model name="m"/>', "no <link>"),
    "nothing": ("", "neither a <model> nor a <world>"),
    "an unknown parent": (model_of(link("a"), joint("j", "x", "a")), "names 'x' as its parent; there are a"),
    "an unknown kind": (model_of(link("a"), link("b"), joint("j", "a", "b", "gearbox")), "joint type is 'gearbox'"),
    "a pose of five": (
        '<model name="m"><link name="a"><pose>1 2 3 4 5</pose></link></model>',
        "6 numbers were expected",
    ),
    "a pose of itself": ('<model name="m"><link name="a"><pose relative_to="a"/></link></model>', "relative to itself"),
    "a pose of nothing": ('<model name="m"><link name="a"><pose relative_to="z"/></link></model>', "not there"),
    "two of a name": (model_of(link("a"), link("a")), "second link is called 'a'"),
    "two worlds": ('<world name="a"/><world name="b"/>', "second <world>"),
    "not a number": (
        '<model name="m"><link name="a"><inertial><mass>heavy</mass></inertial></link></model>',
        "finite number",
    ),
    "a file outside": ('<world name="w"><include><uri>/etc/passwd</uri></include></world>', "outside the allowed"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_read_is_refused_with_file_and_line(what, tmp_path):
    content, sentence = WRONG[what]
    with pytest.raises(ps.FileError, match=rf"robot\.sdf:2: .*{sentence}"):
        ps.load(written(tmp_path, content))


def test_a_file_that_includes_itself_ends(tmp_path):
    path = written(tmp_path, '<model name="m"><include><uri>robot.sdf</uri></include></model>')
    with pytest.raises(ps.FileError, match=r"nested more than|are included"):
        ps.load(path)
