"""Scene files that are wrong in any way: read, or refused with a sentence; never anything else."""

import copy
import tomllib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phistar as ps
from phistar.sim.scenes.checkpoint import MAGIC
from phistar.sim.scenes.scene import Scene
from phistar.sim.scenes.source import bundled_scenes
from tests.scenes import BRIEF, FLOOR, ball, little_scene

pytest.importorskip("coal")
TABLES = {
    "name": "all",
    "gravity": [0.0, 0.0, -9.81],
    "time": BRIEF | {"stop": ["done"], "stop_after": 0.1},
    "surface": {"margin": 0.002, "friction": 0.5},
    "controller": {"law": "hold", "stiffness": 100.0, "damping": 10.0, "torque_limit": 5.0},
    "contacts": [{"between": ["ball", "floor"], "restitution": 0.5}],
    "disturbances": [{"frame": "ball", "start": 0.0, "duration": 0.01, "force": [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]}],
    "sensors": [
        {"name": "state", "kind": "joints", "part": "ball", "noise": 0.1},
        {"name": "neck", "kind": "wrist", "frame": "ball", "bias": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]},
        {"name": "touch", "kind": "tactile", "shapes": ["ball"], "delay": 0.01},
        {"name": "eye", "kind": "pose", "of": "ball", "seen_from": "world", "period": 0.005},
    ],
    "task": {"kind": "hold", "object": "ball", "hands": ["ground"], "fingers": ["ball"], "for": 0.01},
}
TURNING = {"rpy": {"turn": [0.0, 0.5]}, "spin": {"vector": [0.0, 0.5]}, "velocity": [0.0, 0.0, 0.0]}
BALL = ball(mass={"uniform": [1.0, 2.0]}, xyz=[0.0, 0.0, 1.0], **TURNING)
BALL["shapes"] = [{"sphere": 0.1, "color": [1.0, 0.0, 0.0, 1.0]}]
HAT = {"name": "hat", "parent": "ball", "mass": 0.1, "com": [0.0, 0.0, 0.1], "inertia": [0.001, 0.001, 0.001]}
HAT["shapes"] = [{"name": "hat", "box": [0.1, 0.1, 0.1], "xyz": [0.0, 0.0, 0.2]}]
ARM = {"name": "arm", "robot": "planar2", "xyz": [0.0, 3.0, 1.0], "q": [0.1, 0.2]}
TEXT = little_scene(FLOOR, BALL, HAT, ARM, **TABLES)
WHOLE = tomllib.loads(TEXT)


def places(content, path=()):
    """Every place in a tree."""
    yield path
    entries = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in entries:
        yield from places(value, (*path, key))


PLACES = [path for path in places(WHOLE) if path]
numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([0, -1, 1e308, 1e-320, float("nan"), float("inf")]))
words = st.one_of(st.text(max_size=8), st.sampled_from(["world", "ball", "hat", "floor", "free", "uniform", "ground"]))
leaves = st.one_of(numbers, words, st.booleans())
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=7) | st.dictionaries(words, inner, max_size=3), max_leaves=8
)


@st.composite
def spoiled(draw):
    """The scene with one to three entries changed, dropped or added."""
    content = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(PLACES))
        place = content
        for key in path:
            try:
                place = place[key]
            except (KeyError, IndexError, TypeError):
                break
        how = draw(st.sampled_from(["change", "drop", "add"]))
        if isinstance(place, dict):
            if how == "drop":
                place.pop(last, None)
            else:
                place[last if how == "change" else draw(words)] = draw(values)
        elif isinstance(place, list) and place:
            place[0] = draw(values)
    return content


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(spoiled(), st.integers(0, 3))
def test_a_spoiled_scene_is_read_or_refused_with_a_sentence(tmp_path_factory, content, seed):
    scene = Scene("all", content, tmp_path_factory.getbasetemp(), "all.toml")
    try:
        setting = scene.setting(seed)
    except ps.PhistarError as error:
        assert isinstance(error, ps.FileError) and str(error).startswith("all.toml") and len(str(error)) < 1000
        return
    assert np.isfinite(setting.start[0]).all() and np.isfinite(setting.start[1]).all()
    assert setting.timing.duration > 0.0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=200))
def test_any_text_is_a_scene_or_a_sentence(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(text, "utf-8", newline="")
    with pytest.raises(ps.FileError, match=r"any\.toml"):
        Scene.load(path)


def test_the_scene_that_is_spoiled_is_whole_before(tmp_path):
    (tmp_path / "all.toml").write_text(TEXT)
    assert Scene.load(tmp_path / "all.toml").run().summary["completed"]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.binary(max_size=80), st.integers(0, 10_000))
def test_a_checkpoint_of_any_bytes_is_refused(tmp_path_factory, noise, where):
    import hashlib

    folder = tmp_path_factory.getbasetemp()
    tree = b'{"dict": [["head", {"dict": [["content", "x"], ["scene", "all"], ["seed", 0], ["source", "bouncing"]]}]]}'
    payload = bytearray(len(tree).to_bytes(8, "little") + tree)
    payload[where % len(payload) : where % len(payload) + len(noise)] = noise
    head = MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n"
    (folder / "checkpoint").write_bytes(head + payload)
    with pytest.raises(ps.FileError, match="checkpoint"):
        Scene.load(bundled_scenes()[0]).run(resume=folder)
