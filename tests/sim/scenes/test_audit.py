"""The books of a run against what is known: work, momentum, the task's verdict, and what the files say of it."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.control.sampled import Command
from phistar.sim.audit import Audit
from phistar.sim.scenes.scene import Scene
from tests.scenes import FLOOR, ball, little_scene

pytest.importorskip("coal")
TASK = {"kind": "hold", "object": "cube", "hands": ["left", "right"], "fingers": ["thumb", "finger"], "for": 0.4}
TABLES = {
    "time": {"duration": 1.0, "sample": 0.02, "step": 0.002},
    "surface": {"friction": 0.6, "patch": 0.01},
}
WATCHED = {
    "gravity": [0.0, 0.0, 0.0],
    "task": TASK,
    "sensors": [{"name": "tips", "kind": "tactile", "shapes": ["thumb", "finger"]}],
}


def parts(speed=0.0):
    """A cube between two hands, each with a finger."""
    yield ball("left", xyz=[-0.2015, 0.0, 0.0]) | {"shapes": [{"name": "thumb", "sphere": 0.1}]}
    yield ball("right", xyz=[0.2015, 0.0, 0.0]) | {"shapes": [{"name": "finger", "sphere": 0.1}]}
    yield ball("cube", mass=2.0, velocity=[0.0, 0.0, speed]) | {"shapes": [{"box": [0.2, 0.2, 0.2]}]}


def squeezing(until):
    """Two hands press with 10 N until a time, and pull from then on."""
    for frame, push in (("left", 10.0), ("right", -10.0)):
        for start, way in ((0.0, 1.0), (until, -1.0)):
            span = {"start": start, "duration": until if start == 0.0 else 9.0}
            yield {"frame": frame, **span, "force": [0.0, 0.0, 0.0, way * push, 0.0, 0.0]}


class Watching:
    """Knows its phase, and does nothing."""

    period = 0.002

    def start(self):
        return None

    def command(self, memory, t, sensed):
        return None, Command(np.zeros(18), "squeeze")


@pytest.fixture
def held(tmp_path):
    def run(speed=0.0, until=9.0, change=lambda text: text):
        tables = TABLES | WATCHED | {"disturbances": list(squeezing(until))}
        (tmp_path / "held.toml").write_text(change(little_scene(*parts(speed), **tables)))
        return Scene.load(tmp_path / "held.toml").run(control=Watching())

    return run


def test_what_is_pressed_from_both_sides_is_held_and_the_internal_force_is_the_press(held, tmp_path):
    run = held()
    assert run.summary["captured"] is True and run.summary["missing"] is None
    assert run.summary["internal_force"] == pytest.approx(10.0, abs=0.05)
    assert np.abs(run.summary["final_relative_twist"]).max() < 1e-3 and len(run.summary["final_relative_twist"]) == 6
    assert run.arrays["sensed/tips"][-1] == pytest.approx([10.0, 10.0], abs=0.05)
    assert run.arrays["contact_vector"][-1].sum(axis=0) == pytest.approx(np.zeros(3), abs=0.05)
    held_contacts = run.arrays["held_contacts"]
    assert held_contacts[-1].all() and not held_contacts[0].any()  # at first nothing touches
    # Squeezed from both sides: nothing from outside, so that the momentum of all stays what it was.
    assert run.summary["momentum_drift"] < 1e-12
    assert np.abs(run.arrays["momentum"]).max() < 1e-12


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"until": 0.7}, "did not touch cube throughout the last 0.4 s"),
        ({"change": lambda text: text.replace("for = 0.4", "for = 4.0")}, "less than 4 s"),
        ({"speed": 0.02, "change": lambda text: text.replace("friction = 0.6", "friction = 0.001")}, "moved at"),
    ],
)
def test_what_is_not_held_says_why(held, given, sentence):
    run = held(**given)
    assert run.summary["captured"] is False and sentence in run.summary["missing"]


def test_energy_changes_by_the_work_that_is_counted(held):
    run = held(speed=0.05)
    assert abs(run.summary["energy_residual"]) < 1e-3
    pushed = run.arrays["work"][-1] - run.arrays["work"][0]
    assert pushed == pytest.approx(run.arrays["energy"][-1] - run.arrays["energy"][0], abs=0.02)
    wrong = run.arrays["work"] * 1.1  # a tenth of the work more would be seen
    assert abs(wrong[-1] - pushed) > 1e-3 * np.abs(run.arrays["work"]).max()


def test_impulses_of_weight_and_floor_are_counted(tmp_path):
    text = little_scene(*parts(), FLOOR | {"xyz": [0.0, 0.0, -0.15]}, **TABLES)
    (tmp_path / "fall.toml").write_text(text)
    run = Scene.load(tmp_path / "fall.toml").run()
    assert run.summary["peak_force"] > 10.0 and np.abs(run.arrays["momentum"][:, 5]).max() > 1.0
    assert run.summary["momentum_drift"] < 1e-11
    (tmp_path / "fall.toml").write_text(text.replace("step = 0.002", "step = 0.0005"))
    finer = Scene.load(tmp_path / "fall.toml").run()
    assert all(abs(each.summary["energy_residual"]) < 1e-9 for each in (run, finer))
    losses = [each.summary["numerical_loss"] for each in (run, finer)]
    assert 0.0 < losses[1] < 0.7 * losses[0]  # what the method loses of itself, told apart


def test_an_account_is_what_the_model_has(held, tmp_path):
    run, rng = held(), np.random.default_rng(1)
    setting = Scene.load(tmp_path / "held.toml").setting(0)
    q, v = setting.model.random(rng), rng.normal(size=18)
    account = Audit(setting.world).account(q, v)
    assert account.kinetic == pytest.approx(ps.kinetic_energy(setting.model, q, v))
    assert account.momentum == pytest.approx(ps.momentum(setting.model, q, v)) and run.model == setting.model
    assert account.free == pytest.approx(account.momentum)  # all of it floats


def test_the_summary_has_what_was_agreed(held, tmp_path):
    pytest.importorskip("h5py")
    run = held()
    run.save(tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    agreed = "scene seed captured phases min_distance peak_force final_relative_twist momentum_drift energy_residual"
    assert {*agreed.split(), "sim_time", "wall_time"} <= summary.keys()
    assert summary["phases"] == [{"name": "squeeze", "start": 0.0, "end": 1.0, "reason": "the run began"}]


MISTAKES = {
    "object": ('object = "cube"', 'object = "cub"', r"\[task\]|cub"),
    "finger": ('fingers = ["thumb", "finger"]', 'fingers = ["thumb", "toe"]', "toe"),
    "kind": ('kind = "hold"', 'kind = "throw"', "kind: one of hold was expected"),
    "twice": ('["thumb", "finger"]\nfor', '["thumb", "thumb"]\nfor', "fingers: a name is there twice"),
    "none": ('hands = ["left", "right"]', "hands = []", "hands: a list of texts was expected"),
}


@pytest.mark.parametrize("old, new, sentence", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_a_task_are_sentences(held, old, new, sentence):
    with pytest.raises(ps.FileError, match=sentence):
        held(change=lambda text: text.replace(old, new))


def test_forces_that_have_not_settled_are_counted_and_told(tmp_path, caplog):
    """A ball at 10⁷ m/s."""
    (tmp_path / "bullet.toml").write_text(little_scene(FLOOR, ball(xyz=[0.0, 0.0, 1.0], velocity=[0.0, 0.0, -1e7])))
    summary = Scene.load(tmp_path / "bullet.toml").run().summary
    assert summary["friction_unsettled"] > 0 and 1e-8 < summary["friction_change"] < 1e-2
    assert f"bullet: in {summary['friction_unsettled']} steps forces had not settled" in caplog.text


def test_a_heavy_box_that_slides_on_a_light_one_settles_in_every_step(tmp_path):
    boxes = [
        {"name": name, "joint": "free", "mass": mass, "xyz": [0.0, 0.0, z], "velocity": [0.3, 0.1, 0.0]}
        | {"shapes": [{"box": [0.1, 0.1, 0.1]}]}
        for name, mass, z in (("low", 0.1, 0.053), ("high", 1.0, 0.16))
    ]
    time, surface = {"duration": 0.05, "sample": 0.01, "step": 0.001}, {"friction": 0.8, "strength": 10.0}
    (tmp_path / "stack.toml").write_text(little_scene(FLOOR, *boxes, time=time, surface=surface))
    summary = Scene.load(tmp_path / "stack.toml").run().summary
    assert summary["friction_unsettled"] == 0 and summary["peak_force"] > 0.0 and summary["momentum_drift"] < 1e-12
