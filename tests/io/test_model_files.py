"""Models in files of phistar's own: equal to the last bit, whatever they have; damaged ones are refused."""

import contextlib
import json

import numpy as np
import pytest

import phistar as ps
from phistar.errors import FileError, PhistarError
from tests.trees import mechanism


def four_bar():
    b = ps.ModelBuilder("four bar", gravity=(0, -9.81, 0))
    rod, z = ps.Inertia(1.0, (0.5, 0, 0), np.diag([1e-4, 1 / 12, 1 / 12])), ps.Revolute(axis=(0, 0, 1), damping=0.1)
    b.body("crank", parent="world", joint=ps.Revolute(axis=(0, 0, 1), limits=(-np.inf, 1.0)), inertia=rod)
    b.body("coupler", parent="crank", joint=z, placement=ps.Pose(xyz=(1, 0, 0)), inertia=rod)
    b.body("rocker", parent="world", joint=z, placement=ps.Pose(xyz=(1, 0, 0)), inertia=rod)
    b.frame("coupler_end", body="coupler", placement=ps.Pose(xyz=(1, 0, 0)))
    b.frame("rocker_end", body="rocker", placement=ps.Pose(xyz=(1, 0, 0)))
    b.loop("closure", "coupler_end", "rocker_end", joint=ps.Revolute(axis=(0, 0, 1)))
    return b.build()


def bending():
    b = ps.ModelBuilder("boom", gravity=(0, 0, 0))
    b.body("hub", parent="world", joint=ps.Free(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    b.body("boom", parent="hub", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.beam(1.0, 10.0, 1.0, modes=3))
    return b.build()


@pytest.mark.parametrize(
    "make",
    [four_bar, bending, *(lambda seed=seed: mechanism(seed).model for seed in range(6))]
    + [lambda name=name: ps.load(name) for name in ("puma560", "freeflyer", "wd89_fig1", "planar3")],
)
def test_a_model_reads_back_equal_to_the_last_bit(make, tmp_path):
    model = make()
    again = ps.load(ps.save(model, tmp_path / "model.json"))
    assert again == model and again.key == model.key
    assert again.bodies == model.bodies and again.base_geometry == model.base_geometry


def test_gravity_can_be_given_and_strictness_asked_for(tmp_path):
    path = ps.save(ps.chain(2), tmp_path / "chain.json")
    assert np.array_equal(ps.load(path, gravity=(0, 0, -1.62)).gravity, (0, 0, -1.62))
    assert ps.load(path, strict=True) == ps.chain(2)
    with pytest.raises(FileError, match="make it float before"):
        ps.load(path, floating=True)


def test_meshes_in_the_folder_are_found_wherever_it_goes_and_others_are_left_out(tmp_path):
    (tmp_path / "a" / "meshes").mkdir(parents=True)
    (tmp_path / "a" / "meshes" / "part.stl").write_text("solid x\nendsolid x\n")
    (tmp_path / "other.stl").write_text("solid x\nendsolid x\n")
    b = ps.ModelBuilder("meshed")
    inertia, at = (
        ps.Inertia(1.0, (0, 0, 0), np.eye(3)),
        [str(tmp_path / "a/meshes/part.stl"), str(tmp_path / "other.stl")],
    )
    shapes = [ps.Geometry(ps.Mesh(path)) for path in at]
    b.body("part", parent="world", joint=ps.Free(), inertia=inertia, geometry=shapes)
    ps.save(b.build(), tmp_path / "a" / "meshed.json")
    (tmp_path / "a").rename(tmp_path / "b")
    model = ps.load(tmp_path / "b" / "meshed.json")
    assert [g.shape.path for g in model.bodies[0].geometry] == [str((tmp_path / "b/meshes/part.stl").resolve())]
    assert len(model.warnings) == 1 and "other.stl" in model.warnings[0]
    with pytest.raises(FileError, match=r"other\.stl"):
        ps.load(tmp_path / "b" / "meshed.json", strict=True)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda data: data | {"kind": "x"}, "no model that phistar wrote"),
        (lambda data: data | {"format_version": 9}, "format_version 9"),
        (lambda data: data | {"model": {"class": "Popen", "args": ["true"]}}, "which no model has"),
        (lambda data: data | {"model": {"class": "Pose", "rotation": {"array": ["1"]}}}, "damaged"),
        (lambda data: data | {"model": 3}, "do not fit together"),
        (lambda data: [], "no model that phistar wrote"),
    ],
)
def test_damaged_files_are_refused_in_a_sentence(spoil, sentence, tmp_path):
    path = ps.save(ps.chain(2), tmp_path / "chain.json")
    path.write_text(json.dumps(spoil(json.loads(path.read_text()))))
    with pytest.raises(FileError, match=sentence):
        ps.load(path)


def test_every_entry_may_be_spoilt_and_no_other_error_comes(tmp_path):
    """Each place of the file in turn holds a text, a list, nothing, or a huge number."""
    whole = json.loads(ps.save(four_bar(), tmp_path / "a.json").read_text())
    places = list(_places(whole))
    rng = np.random.default_rng(0)
    for place in rng.permutation(len(places))[:250]:
        for value in ("x", [], None, 1e308, {"class": "Body"}):
            spoilt = json.loads(json.dumps(whole))
            inner = spoilt
            for key in places[place][:-1]:
                inner = inner[key]
            inner[places[place][-1]] = value
            (tmp_path / "b.json").write_text(json.dumps(spoilt))
            with contextlib.suppress(ps.PhistarError):
                ps.load(tmp_path / "b.json")


def _places(data, place=()):
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*place, key)
        yield from _places(value, (*place, key))


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(FileError, match=r"end in \.json"):
        ps.save(ps.chain(2), tmp_path / "chain.urdf")
    with pytest.raises(PhistarError, match="robot first"):
        ps.save(tmp_path / "chain.json", ps.chain(2))
    with pytest.raises(FileError, match="closed mechanism"):
        ps.save(four_bar().embedded(), tmp_path / "a.json")
    with pytest.raises(FileError, match="cannot be written"):
        ps.save(ps.chain(2), tmp_path / "nowhere" / "chain.json")


def test_plants_of_models_built_in_python_are_saved_with_them(tmp_path):
    plant = ps.Plant()
    plant.add(ps.load("puma560"), "arm")
    plant.add(ps.chain(3), "left/odd name", at=ps.Pose(xyz=(2, 0, 0)))
    plant.save(tmp_path / "scene.toml")
    again = ps.Plant.load(tmp_path / "scene.toml")
    assert again.model == plant.model
    assert 'robot = "puma560"' in (tmp_path / "scene.toml").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scene.left_odd_name.json", "scene.toml"]


def test_a_robot_added_to_a_plant_of_mujoco_is_saved_too(tmp_path):
    pytest.importorskip("mujoco")
    text = '<mujoco><worldbody><body name="b"><freejoint/><geom type="sphere" size="0.1"/></body></worldbody></mujoco>'
    (tmp_path / "ball.xml").write_text(text)
    plant = ps.Plant.load(tmp_path / "ball.xml")
    plant.add(ps.chain(2), "arm", at=ps.Pose(xyz=(2, 0, 0)))
    plant.save(tmp_path / "scene.toml")
    again = ps.Plant.load(tmp_path / "scene.toml")
    assert again.model == plant.model
    assert np.array_equal(ps.simulate(again, 0.02, step=0.002).q, ps.simulate(plant, 0.02, step=0.002).q)
