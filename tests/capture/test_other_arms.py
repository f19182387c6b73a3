"""Other arms and other targets than the bundled scene's: whole captures, judged by true states."""

import copy

import pytest

import phistar as ps
from phistar.sim.scenes.toml import text_of
from tests.capture.pairs import content

pytest.importorskip("coal")


def captured(tmp_path, arm, target, seed=0, **satellite):
    path = tmp_path / f"{arm}-{target}.toml"
    path.write_text(text_of(content(arm, target, tmp_path, **satellite)), "utf-8")
    summary = ps.Scene.load(path).run(seed).summary
    assert summary["captured"], summary["missing"]
    assert summary["peak_force"] < 60.0 and summary["min_distance"] > 0.0


def on_massless_links(folder):
    """The bundled scene with WD89's own object: a body that six joints carry, five massless links between them."""
    body = '<inertial><mass value="80"/><inertia ixx="2.1" iyy="2.2" izz="2.0" ixy="0" ixz="0" iyz="0"/></inertial>'
    body += '<collision name="satellite"><geometry><box size="0.4 0.4 0.4"/></geometry></collision>'
    lines, parent = '<robot name="floating"><link name="ground"/>', "ground"
    kinds = [("prismatic", axis) for axis in ("1 0 0", "0 1 0", "0 0 1")]
    kinds += [("revolute", axis) for axis in ("0 0 1", "0 1 0", "1 0 0")]
    for number, (kind, axis) in enumerate(kinds, 1):
        name = "body" if number == 6 else f"massless{number}"
        lines += f'<link name="{name}">{body if number == 6 else ""}</link><joint name="o{number}" type="{kind}">'
        lines += f'<parent link="{parent}"/><child link="{name}"/><axis xyz="{axis}"/>'
        lines += '<limit lower="-9" upper="9" effort="0" velocity="99"/></joint>'
        parent = name
    (folder / "floating.urdf").write_text(lines + "</robot>", "utf-8")
    made = content("puma", "box", folder)
    start = {"q": [0.46, 0.01, -0.02, 0.1, -0.05, 0.12], "v": [0.001, 0.0, 0.001, 0.05, -0.04, 0.03]}
    parts = [part for part in made["parts"] if part["name"] != "satellite"]
    made["parts"] = [*parts, {"name": "satellite", "robot": "floating.urdf", **start}]
    made["controller"]["target"] = made["task"]["object"] = "satellite/body"
    made["sensors"][-1] |= {"name": "satellite_body", "of": "satellite/body"}
    (folder / "floating.toml").write_text(text_of(made), "utf-8")
    return ps.Scene.load(folder / "floating.toml")


@pytest.mark.slow
def test_an_object_on_five_massless_links_is_captured(tmp_path):
    summary = on_massless_links(tmp_path).run(0).summary
    assert summary["captured"], summary["missing"]


@pytest.mark.slow
def test_a_cylinder_is_taken_by_its_side_or_its_ends(tmp_path):
    captured(tmp_path, "puma", "cylinder")


def with_panel(folder, name, parent, **place):
    """The bundled scene `name` with a panel that swings freely on one of its bodies."""
    (folder / "panel.urdf").write_text(
        '<robot name="panel"><link name="root"/><link name="panel"><inertial><origin xyz="0 0.1 0"/><mass value="3"/>'
        '<inertia ixx="0.1" iyy="0.03" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial><collision name="wing">'
        '<origin xyz="0 0.1 0"/><geometry><box size="0.02 0.2 0.3"/></geometry></collision></link>'
        '<joint name="hinge" type="revolute"><parent link="root"/><child link="panel"/><axis xyz="0 0 1"/>'
        '<limit lower="-1.5" upper="1.5" effort="0" velocity="99"/><dynamics damping="0.2" friction="0"/></joint>'
        "</robot>",
        "utf-8",
    )
    made = copy.deepcopy(dict(ps.Scene.load(name).content))
    made["parts"].append({"name": "solar", "robot": "panel.urdf", "parent": parent, "v": [0.03], **place})
    (folder / "panel.toml").write_text(text_of(made), "utf-8")
    return ps.Scene.load(folder / "panel.toml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parent", "place"),
    [
        ("grapple-free", "base", {"xyz": [-1.6, 1.25, 0.0]}),
        ("grapple", "satellite", {"xyz": [0.205, 0.0, 0.0], "rpy": [0.0, 0.0, -1.5708]}),
    ],
)
def test_panels_that_swing_on_base_or_target_do_not_keep_it_from_being_captured(tmp_path, name, parent, place):
    result = with_panel(tmp_path, name, parent, **place).run(0)
    assert result.summary["captured"], result.summary["missing"]
    assert result.summary["momentum_drift"] < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("target", ["prism", "panels", "ball"])
def test_other_targets_are_captured(tmp_path, target):
    captured(tmp_path, "puma", target)


@pytest.mark.slow
def test_a_mass_centre_off_the_middle_is_found_and_the_body_captured(tmp_path):
    captured(tmp_path, "puma", "box", com=[0.04, -0.05, 0.03])


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["ur5", "panda"])
@pytest.mark.parametrize("target", ["box", "cylinder", "prism"])
def test_other_arms_capture(tmp_path, arm, target):
    captured(tmp_path, arm, target)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 105, 111])
def test_twenty_degrees_per_second_are_captured(tmp_path, seed):
    captured(tmp_path, "puma", "box", seed, spin={"vector": [0.349, 0.349]})


@pytest.mark.slow
def test_a_spacecraft_that_keeps_its_station_by_thrusters_captures():
    found = ps.Scene.load("grapple-spacecraft").run(seed=9100).summary
    assert found["captured"], found["missing"]
    assert found["peak_force"] < 40.0 and found["momentum_drift"] < 1e-10
