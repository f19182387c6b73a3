"""A run stopped half-way and taken up again ends as one that was not stopped; files that are not what they should be
are refused."""

import json
from typing import NamedTuple

import numpy as np
import pytest

import phistar as ps
from phistar.control.sampled import Command, Switch
from phistar.sim.scenes.checkpoint import MAGIC
from phistar.sim.scenes.run_folder import CHECKPOINT
from phistar.sim.scenes.scene import Scene
from tests.scenes import FLOOR, ball, little_scene

pytest.importorskip("coal")
BALL = ball(mass={"uniform": [1.0, 2.0]}, xyz=[0.0, 0.0, 0.11], velocity=[0.3, 0.1, 0.0])
NOISE = {"noise": 0.001, "turn_noise": 0.01, "rate_noise": 0.01, "bias": {"vector": [0.0, 0.01]}}
ARM = {"name": "arm", "robot": "planar2", "xyz": [0.0, 0.0, 3.0]}
EYE = {"name": "eye", "kind": "pose", "of": "ball", "delay": 0.013, "period": 0.004, **NOISE}


def scene_in(**steps):
    """A ball that slides, and is seen late and wrong; and an arm that waves at it."""
    time = {"duration": 0.4, "sample": 0.01} | (steps or {"step": 0.002})
    return little_scene(FLOOR, BALL, ARM, time=time, surface={"friction": 0.4}, sensors=[EYE])


class Remembered(NamedTuple):
    sum: np.ndarray
    count: int
    seen: tuple[str, ...]


class Pusher:
    """Pushes by what it saw and how often it looked."""

    period = 0.002

    def start(self):
        return Remembered(np.zeros(13), 0, ())

    def command(self, memory, t, sensed):
        memory = Remembered(memory.sum + sensed["eye"], memory.count + 1, memory.seen)
        push = np.concatenate([np.zeros(6), 3.0 * np.sin(memory.sum[:2])])
        phase, switches = ("early", ()) if t < 0.3 else ("late", ())
        if phase == "late" and "late" not in memory.seen:
            memory, switches = memory._replace(seen=("late",)), (Switch(t, "early", "late", "time"),)
        return memory, Command(push, phase, switches, {"count": memory.count})


class Interrupted(Exception):
    pass


def interrupt(time):
    if time > 0.235:
        raise Interrupted


def compared(tmp_path, text, control):
    (tmp_path / "ball.toml").write_text(text)
    scene, folder = Scene.load(tmp_path / "ball.toml"), tmp_path / "kept"
    whole = scene.run(3, control=control)
    with pytest.raises(Interrupted):
        scene.run(3, control=control, checkpoint=(0.1, folder), progress=interrupt)
    assert [path.name for path in folder.iterdir()] == [CHECKPOINT]
    again = Scene.load(tmp_path / "ball.toml").run(3, control=control, resume=folder)
    assert whole.arrays.keys() == again.arrays.keys()
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name], err_msg=name)
    assert whole.events == again.events
    ended = [{key: value for key, value in run.summary.items() if key != "wall_time"} for run in (whole, again)]
    assert ended[0] == ended[1] and ended[0]["sim_time"] == pytest.approx(0.4)
    return whole


@pytest.mark.parametrize("steps", [{"step": 0.002}, {"rtol": 1e-4}], ids=str)
def test_a_run_taken_up_again_ends_as_if_it_had_not_been_stopped(tmp_path, steps):
    whole = compared(tmp_path, scene_in(**steps), Pusher())
    assert [phase["name"] for phase in whole.summary["phases"]] == ["early", "late"]
    assert whole.arrays["contact_force"].max() > 0 and {event.what for event in whole.events} >= {"touch"}


def test_the_same_without_a_controller_in_samples(tmp_path):
    compared(tmp_path, scene_in() + '[controller]\nlaw = "hold"\n', None)


def test_what_remembers_for_itself_cannot_be_written_down(tmp_path):
    (tmp_path / "ball.toml").write_text(scene_in())
    with pytest.raises(ps.PhistarError, match="A function keeps its memory to itself"):
        Scene.load(tmp_path / "ball.toml").run(control=lambda t, q, v: 0 * v, checkpoint=(0.1, tmp_path))


@pytest.fixture
def kept(tmp_path):
    (tmp_path / "ball.toml").write_text(scene_in())
    scene = Scene.load(tmp_path / "ball.toml")
    with pytest.raises(Interrupted):
        scene.run(3, control=Pusher(), checkpoint=(0.1, tmp_path), progress=interrupt)
    return scene, tmp_path / CHECKPOINT


def test_a_damaged_checkpoint_another_scene_and_another_controller_are_refused(kept, tmp_path):
    scene, path = kept
    content = path.read_bytes()
    for wrong, sentence in (
        (content[:-7] + b"another", "is damaged"),
        (content[: len(content) // 2], "is damaged"),
        (b"something else\n", "is not a checkpoint"),
        (b"", "is not a checkpoint"),
    ):
        path.write_bytes(wrong)
        with pytest.raises(ps.FileError, match=sentence):
            scene.run(3, control=Pusher(), resume=path.parent)
    path.write_bytes(content)
    with pytest.raises(
        ps.FileError, match="Remembered, which this run does not know; use the controller that it is of"
    ):
        scene.run(3, resume=path.parent)
    (tmp_path / "other.toml").write_text(scene_in(step=0.001))
    with pytest.raises(ps.FileError, match="of the scene ball as it was; what is given is another, or was changed"):
        Scene.load(tmp_path / "other.toml").run(3, control=Pusher(), resume=path.parent)
    with pytest.raises(ps.FileError, match="cannot be read"):
        scene.run(3, resume=tmp_path / "nowhere")
    with pytest.raises(Interrupted):
        scene.run(3, checkpoint=(0.1, tmp_path / "free"), progress=interrupt)
    with pytest.raises(ps.FileError, match="its controller lived in samples and this one does not, or the other way"):
        scene.run(3, control=Pusher(), resume=tmp_path / "free")


def test_another_run_does_not_begin_where_one_is_written_down_half_way(kept):
    scene, path = kept
    content = path.read_bytes()
    with pytest.raises(ps.FileError, match="of a run that has not ended: phistar run --resume"):
        scene.run(4, control=Pusher(), checkpoint=(0.1, path.parent))
    assert path.read_bytes() == content
    result = scene.run(3, control=Pusher(), checkpoint=(0.1, path.parent), resume=path.parent)
    assert path.read_bytes() != content  # it was written down further on
    pytest.importorskip("h5py")
    result.save(path.parent)
    assert not path.exists()


def test_a_checkpoint_makes_nothing_but_plain_values(kept):
    """A class that a file names is neither imported nor called unless it is plain data of phistar or the controller."""
    from phistar.sim.scenes.serialize import unpack_tree

    for name in ("os:system", "subprocess:Popen", "phistar.errors:FileError", "phistar.sim.scenes.scene:Scene.load"):
        with pytest.raises(ps.FileError, match="which this run does not know"):
            unpack_tree({"class": name, "fields": ["echo"]}, b"", frozenset())
    with pytest.raises(ValueError, match="an array of object"):
        unpack_tree({"array": ["|O", [1], "C", 0]}, b"12345678", frozenset())
    assert kept[1].read_bytes().startswith(MAGIC) and b"pickle" not in kept[1].read_bytes()


def test_values_come_back_with_every_bit():
    from phistar.sim.scenes.serialize import pack_tree, unpack_tree

    table = np.random.default_rng(0).normal(size=(3, 4))
    value = {
        "numbers": (0.1, 7, True, None, "text", -0.0, np.inf, np.float32(0.1), np.int64(5)),
        "arrays": [table, table.T, table[:, ::2], np.zeros((0, 3)), np.array(["a", "bc"]), np.arange(3) > 1],
        3: {frozenset({1, 2})},
        "mine": Remembered(np.ones(2), 4, ("a",)),
    }
    held = bytearray()
    tree = json.loads(json.dumps(pack_tree(value, held)))
    back = unpack_tree(tree, bytes(held), frozenset({__name__}))
    assert back["numbers"] == value["numbers"] and [type(x) for x in back["numbers"]] == list(
        map(type, value["numbers"])
    )
    for one, other in zip(back["arrays"], value["arrays"], strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype and one.flags.f_contiguous >= (other is value["arrays"][1])
    assert back[3] == value[3] and isinstance(back["mine"], Remembered) and back["mine"].seen == ("a",)


def test_a_memory_that_is_not_data_is_told(tmp_path):
    (tmp_path / "ball.toml").write_text(scene_in())

    class Careless(Pusher):
        def command(self, memory, t, sensed):
            return (lambda: 1), Command(np.zeros(8))

    with pytest.raises(
        ps.PhistarError, match="function cannot be written to a checkpoint; a memory is made of numbers"
    ):
        Scene.load(tmp_path / "ball.toml").run(control=Careless(), checkpoint=(0.1, tmp_path))


def test_a_run_that_is_taken_up_and_kept_elsewhere_leaves_no_checkpoint(kept, tmp_path):
    pytest.importorskip("h5py")
    scene, path = kept
    scene.run(3, control=Pusher(), resume=path.parent).save(tmp_path / "elsewhere")
    assert not path.exists() and (tmp_path / "elsewhere" / "summary.json").exists()


def test_a_result_does_not_take_the_place_of_another_run_that_has_not_ended(kept):
    pytest.importorskip("h5py")
    scene, path = kept
    content = path.read_bytes()
    with pytest.raises(ps.FileError, match="of a run that has not ended"):
        scene.run(4, control=Pusher()).save(path.parent)
    assert path.read_bytes() == content and not (path.parent / "summary.json").exists()


def test_a_checkpoint_of_a_run_that_has_ended_does_not_survive_in_a_reused_folder(kept, tmp_path):
    pytest.importorskip("h5py")
    scene, folder = kept[0], tmp_path / "reused"
    first = scene.run(3, control=Pusher(), checkpoint=(0.1, folder))
    assert (folder / "checkpoint").exists()  # until the run is kept
    first.save(folder)
    scene.run(4, control=Pusher(), checkpoint=(0.1, folder)).save(folder)
    assert not (folder / "checkpoint").exists()
    assert json.loads((folder / "summary.json").read_text())["seed"] == 4


def test_events_that_the_first_release_wrote_are_known():
    from phistar.sim.scenes.serialize import unpack_tree

    told = {"class": "phistar.sim.motion:Event", "fields": [0.1, "touch", "a / b"]}
    assert unpack_tree(told, b"", frozenset()) == (0.1, "touch", "a / b")
