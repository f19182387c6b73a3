"""Scenes that are others with changes: merged by names, written out as a file of their own, refused with a sentence."""

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phistar as ps
from phistar.sim.scenes.scene import Scene
from phistar.sim.scenes.source import source_of
from phistar.sim.scenes.toml import text_of
from tests.scenes import FLOOR, ball, little_scene

pytest.importorskip("coal")
CHANGES = """
format_version = 1
extends = "falling.toml"
gravity = [0.0, 0.0, {uniform = [-2.0, -1.0]}]
[surface]
friction = {uniform = [0.1, 0.2]}
[[parts]]
name = "ball"
mass = 3.0
[[parts]]
name = "second"
joint = "free"
xyz = [1.0, 0.0, 1.0]
mass = 1.0
[[parts.shapes]]
box = [0.1, 0.1, 0.1]
[[sensors]]
name = "eye"
noise = 0.5
"""


@pytest.fixture
def falling(tmp_path):
    eye = {"name": "eye", "kind": "pose", "of": "ball", "noise": 0.1, "delay": 0.01}
    high = ball(mass={"normal": [1.0, 0.1]}, xyz=[0.0, 0.0, 1.0])
    surface = {"friction": 0.7, "strength": 9.0}
    (tmp_path / "falling.toml").write_text(little_scene(FLOOR, high, surface=surface, sensors=[eye]))
    (tmp_path / "other.toml").write_text(CHANGES)
    return tmp_path


def test_what_is_given_changes_what_has_its_name_and_the_rest_stays(falling):
    one, other = (source_of(falling / name).content for name in ("falling.toml", "other.toml"))
    assert other["name"] == "other" and other["time"] == one["time"] and "extends" not in other
    assert other["surface"] == {"friction": {"uniform": [0.1, 0.2]}, "strength": 9.0}
    assert [part["name"] for part in other["parts"]] == ["ground", "ball", "second"]
    assert other["parts"][1] == one["parts"][1] | {"mass": 3.0}
    assert other["sensors"] == [one["sensors"][0] | {"noise": 0.5}]
    model = Scene.load(falling / "other.toml").setting(1).model
    assert -2.0 <= model.gravity[2] <= -1.0 and [body.inertia.mass for body in model.bodies] == [3.0, 1.0]


def test_a_list_that_has_no_names_takes_the_place_of_the_other(falling):
    ball_as_box = '[[parts]]\nname = "ball"\n[[parts.shapes]]\nbox = [0.2, 0.2, 0.2]\n'
    (falling / "third.toml").write_text(f'format_version = 1\nextends = "other.toml"\n{ball_as_box}')
    third = source_of(falling / "third.toml").content
    assert third["parts"][1]["shapes"] == [{"box": [0.2, 0.2, 0.2]}] and third["parts"][1]["mass"] == 3.0


def test_a_run_keeps_the_scene_written_out_from_which_the_same_is_drawn(falling, tmp_path):
    pytest.importorskip("h5py")
    from phistar.sim.scenes.run_model import model_of_run

    scene = Scene.load(falling / "other.toml")
    run = scene.run(5)
    run.save(tmp_path / "out")
    for name in ("falling.toml", "other.toml"):
        (falling / name).unlink()
    kept = Scene.load(tmp_path / "out" / "scene.toml")
    assert kept.digest == scene.digest and kept.name == "other"
    assert kept.setting(5).model == run.model == model_of_run(tmp_path / "out", str(falling / "other.toml"), 5)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("3", "the name or the file of a scene was expected; it is 3"),
        ('""', "the name or the file of a scene was expected"),
        (r'"a\u0000.toml"', "the name or the file of a scene was expected"),
        ('"graple"', "There is no scene 'graple'; bundled are bouncing, grapple"),
        ('"no.toml"', r"no\.toml cannot be read"),
        ('"../falling.toml"', "lies in another folder"),
        ('"linked.toml"', "lies in another folder"),
        ('"self.toml"', r"self\.toml extends self\.toml, and so itself"),
        ('"round.toml"', r"self\.toml extends round\.toml extends self\.toml, and so itself"),
    ],
)
def test_what_cannot_be_extended_is_a_sentence(falling, value, sentence):
    (falling / "self.toml").write_text(f"format_version = 1\nextends = {value}\n")
    (falling / "linked.toml").symlink_to(falling.parent / "elsewhere.toml")
    (falling / "round.toml").write_text('format_version = 1\nextends = "self.toml"\n')
    with pytest.raises(ps.FileError, match=sentence):
        Scene.load(falling / "self.toml")


def test_an_entry_without_a_name_and_an_unknown_key_are_sentences(falling):
    head = 'format_version = 1\nextends = "falling.toml"\n'
    for more, sentence in (("[[parts]]\nmass = 2.0\n", "needs the name"), ("[surface]\nfrction = 1.0\n", "frction")):
        (falling / "wrong.toml").write_text(head + more)
        with pytest.raises(ps.FileError, match=rf"wrong\.toml.*{sentence}"):
            Scene.load(falling / "wrong.toml")


LEAVES = st.one_of(st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.text(max_size=8))
TABLES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.dictionaries(st.text(max_size=6), TABLES, max_size=4))
def test_what_is_written_is_read_again(content):
    again = tomllib.loads(text_of(content))
    assert again == content
    assert json.dumps(tomllib.loads(text_of(again))) == json.dumps(again)  # in an order that stays
