"""Controllers in scenes: the laws a file can name, limits, phases that end a run, the task, and everything that a
controller can do wrong."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.control.sampled import Command, Switch
from phistar.sim.scenes.scene import Scene
from phistar.sim.trajectory import Stopped

pytest.importorskip("coal")
URDF = """
<robot name="slider">
  <link name="rail"/>
  <link name="cart"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 -1"/><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-2" upper="2" effort="{effort}" velocity="10"/></joint>
  <joint name="swing" type="revolute"><parent link="cart"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="{effort}" velocity="10"/></joint>
</robot>
"""
SCENE = """
format_version = 1
[time]
duration = 1.0
sample = 0.05
step = 0.002
{time}
[controller]
{controller}
[[parts]]
name = "robot"
robot = "slider.urdf"
q = [0.1, 0.4]
"""


@pytest.fixture
def scene(tmp_path):
    def made(controller="", time="", effort=1000, more=""):
        text = URDF.format(effort=effort) if effort is not None else URDF.replace('effort="{effort}"', "")
        (tmp_path / "slider.urdf").write_text(text)
        (tmp_path / "slider.toml").write_text(SCENE.format(controller=controller, time=time) + more)
        return Scene.load(tmp_path / "slider.toml")

    return made


class Sampled:
    """command(t) → Command, as a controller in samples."""

    def __init__(self, command, period=0.01):
        self.act, self.period = command, period

    def start(self):
        return 0

    def command(self, memory, t, sensed):
        return memory + 1, self.act(t)


def test_hold_stays_and_inverse_dynamics_goes_through_its_goals(scene):
    held = scene('law = "hold"\nstiffness = 2000.0\ndamping = 200.0').run().arrays["q"]
    assert np.abs(held - held[0]).max() < 2e-3
    law = 'law = "inverse_dynamics"\nduration = 0.8\n[controller.goals]\nrobot = [[0.5, 0.0], [-0.3, -0.6]]'
    run = scene(law).run().arrays
    assert run["q"][-1] == pytest.approx([-0.3, -0.6], abs=2e-3) and run["v"][-1] == pytest.approx([0, 0], abs=5e-3)
    assert np.abs(run["q"] - [0.5, 0.0]).max(axis=1).min() < 0.08  # through the first goal
    one = scene('law = "inverse_dynamics"\nvelocity = 1.0\n[controller.goals]\nrobot = [0.0, 0.5]').run().arrays
    assert one["q"][-1] == pytest.approx([0.0, 0.5], abs=2e-3) and np.abs(one["v"]).max() < 1.02


def test_joint_forces_stay_within_the_limits_of_the_model_and_the_file_and_that_is_counted(scene):
    strong = Sampled(lambda t: Command(np.array([50.0 if t < 0.5 else 1.0, -3.0])))
    run = scene(effort=20).run(control=strong)
    assert np.abs(run.arrays["tau"][:, 0]).max() == 20.0 and run.summary["torque_clipped"] == 50
    free = scene("torque_limit = [5.0, 2.0]", effort=None).run(control=strong)
    assert np.abs(free.arrays["tau"]).max(axis=0) == pytest.approx([5.0, 2.0])
    law = scene('law = "hold"\nstiffness = 9000.0\n', effort=2).run()
    assert np.abs(law.arrays["tau"]).max() <= 2.0
    with pytest.raises(ps.FileError, match="torque_limit: one number, or one for each of the 2 rates"):
        scene("torque_limit = [1.0, 2.0, 3.0]")


def test_a_phase_ends_the_run_after_its_time_and_phases_tell_why_they_began(scene):
    def act(t):
        phase = "wait" if t < 0.295 else "held"
        switches = (Switch(t, "wait", "held", "it was time"),) if abs(t - 0.30) < 1e-9 else ()
        late = {"late": True} if phase == "held" else {}
        return Command(np.zeros(2), phase, switches, {"time": t, "twice": 2 * t, **late})

    run = scene(time='stop = ["held", "aborted"]\nstop_after = 0.123').run(control=Sampled(act))
    assert run.summary["sim_time"] == pytest.approx(0.43) and run.arrays["t"][-1] == pytest.approx(0.43)
    assert run.summary["phases"] == [
        {"name": "wait", "start": 0.0, "end": pytest.approx(0.3), "reason": "the run began"},
        {"name": "held", "start": pytest.approx(0.3), "end": pytest.approx(0.43), "reason": "it was time"},
    ]
    assert run.labels["phase_names"] == ("wait", "held")
    assert run.arrays["phase"].tolist() == [0] * 6 + [1] * 4  # kept every 0.05 s, and at the end
    assert run.arrays["facts/twice"] == pytest.approx(2 * run.arrays["facts/time"])
    assert run.arrays["facts/time"] == pytest.approx(run.arrays["t"])
    np.testing.assert_array_equal(run.arrays["facts/late"], [np.nan] * 6 + [1.0] * 4)  # told from then on


def fails(t):
    raise ZeroDivisionError("no way out")


WRONG = {
    "nan": (lambda t: Command(np.array([0.0, np.nan])), "command of the actuator 'robot/swing' is no finite number"),
    "infinite": (
        lambda t: Command(np.array([np.inf, 0.0])),
        "command of the actuator 'robot/slide' is no finite number",
    ),
    "shape": (lambda t: Command(np.zeros(3)), r"command of this plant has 2 entries .*; it was given shape \(3,\)"),
    "text": (lambda t: Command("much"), "A command is numbers, .* it was given 'much'"),
    "no command": (lambda t: np.zeros(2), "not its memory and a Command"),
    "fact": (lambda t: Command(np.zeros(2), facts={"t": t, "side": "left"}), "tells side = 'left'; a fact is a number"),
    "facts": (lambda t: Command(np.zeros(2), facts=[1.0]), r"tells facts = \[1\.0\]; a fact is a number"),
    "exception": (fails, "the controller fails: ZeroDivisionError: no way out"),
}


@pytest.mark.parametrize("act, sentence", WRONG.values(), ids=WRONG)
def test_what_a_controller_does_wrong_stops_the_run_with_the_time_and_a_sentence(scene, tmp_path, act, sentence):
    pytest.importorskip("h5py")
    control = Sampled(lambda t: act(t) if t > 0.295 else Command(np.zeros(2)))
    with pytest.raises(Stopped, match=rf"At t = 0\.3 s:? .*{sentence}") as stopped:
        scene().run(control=control)
    result = stopped.value.result
    assert result.arrays["t"][-1] == pytest.approx(0.3) and not result.summary["completed"]
    result.save(tmp_path / "out")
    assert "At t = 0.3 s" in json.loads((tmp_path / "out" / "summary.json").read_text())["reason"]


@pytest.mark.parametrize("period", [0.0, -1.0, np.nan, "often", None, True])
def test_a_period_must_be_a_time(scene, period):
    with pytest.raises(ps.PhistarError, match="period must be a number of seconds"):
        scene().run(control=Sampled(lambda t: Command(np.zeros(2)), period))


def test_a_continuous_law_that_fails_is_told_too(scene):
    with pytest.raises(Stopped, match=r"At t = 0\.4\d* s the controller fails: ZeroDivisionError"):
        scene().run(control=lambda t, q, v: fails(t) if t > 0.4 else np.zeros(2))


def test_who_looks_on_is_shown_every_sample(scene):
    seen = []
    run = scene().run(watch=lambda t, q, contacts: seen.append((t, q, contacts.point.shape)))
    assert [t for t, _, _ in seen] == run.arrays["t"].tolist() and seen[3][1] == pytest.approx(run.arrays["q"][3])
    assert {shape for _, _, shape in seen} == {(0, 3)}


CONTROLLERS = {
    "law": ('law = "holt"', "law: one of none, hold, inverse_dynamics, grapple, wd89 was expected"),
    "unused": ('law = "none"\nstiffness = 3.0', "stiffness is not known here"),
    "robot": ('law = "inverse_dynamics"\n[controller.goals]\nrobbot = [0.0, 0.0]', "robbot"),
    "goal": ('law = "inverse_dynamics"\n[controller.goals]\nrobot = [0.0]', "goals, robot: "),
    "outside": ('law = "inverse_dynamics"\n[controller.goals]\nrobot = [9.0, 0.0]', "goals, robot: .*limit"),
    "negative": ("torque_limit = -1.0", "torque_limit: a number greater than 0"),
    "elsewhere": ('law = "grapple"', "the capturing hands are listed in"),
}


@pytest.mark.parametrize("controller, sentence", CONTROLLERS.values(), ids=CONTROLLERS)
def test_mistakes_in_a_controller_are_sentences_when_the_file_is_read(scene, controller, sentence):
    with pytest.raises(ps.FileError, match=sentence):
        scene(controller)
