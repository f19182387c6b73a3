"""Controllers that remember: they are asked once a period, in the order of time, in scenes and in simulate."""

import numpy as np
import pytest

import phistar as ps
from phistar.control.sampled import Command, SampledFunction
from phistar.sim.scenes.scene import Scene
from tests.scenes import little_scene

PERIOD = 0.01
ARM = {"name": "arm", "robot": "planar2"}


class Integral:
    """A PI law of a joint that adds up its error by itself, and writes down when it was asked."""

    def __init__(self):
        self.total, self.times = 0.0, []

    def __call__(self, t, q, v):
        self.times.append(t)
        self.total += PERIOD * (0.3 - q[0])
        return np.array([40.0 * (0.3 - q[0]) + 60.0 * self.total - 9.0 * v[0], -2.0 * v[1]])


class Counting:
    """The same law as a controller whose memory is data."""

    period = PERIOD

    def start(self):
        return 0.0

    def command(self, memory, t, sensed):
        q, v = sensed["q"], sensed["v"]
        memory = memory + PERIOD * (0.3 - q[0])
        return memory, Command(np.array([40.0 * (0.3 - q[0]) + 60.0 * memory - 9.0 * v[0], -2.0 * v[1]]))


def by_rollout(model, steps=20):
    """The same motion, each period a rollout of its own under held forces."""
    law, q, v = Integral(), np.zeros(2), np.zeros(2)
    for k in range(steps):
        made = ps.rollout(model, q, v, np.tile(law(k * PERIOD, q, v), (50, 1)), PERIOD / 50)
        q, v = made.q[-1], made.v[-1]
    return q, v


@pytest.fixture(scope="module")
def model():
    return ps.load("planar2").replace(gravity=(0, 0, 0))


def test_simulate_asks_a_sampled_function_once_a_period_in_the_order_of_time(model):
    law = Integral()
    run = ps.simulate(model, [0, 0], [0, 0], 0.2, control=SampledFunction(law, PERIOD))
    np.testing.assert_allclose(law.times, PERIOD * np.arange(20), atol=1e-12)
    q, v = by_rollout(model)
    np.testing.assert_allclose(run.q[-1], q, atol=1e-9)
    np.testing.assert_allclose(run.v[-1], v, atol=1e-9)


def test_a_controller_with_a_memory_of_data_does_the_same(model):
    times = np.array([0.0, 0.013, 0.2])
    run = ps.simulate(model, [0, 0], [0, 0], 0.2, control=Counting(), t_eval=times)
    other = ps.simulate(model, [0, 0], [0, 0], 0.2, control=SampledFunction(Integral(), PERIOD), t_eval=times)
    assert run.t.tolist() == times.tolist()
    np.testing.assert_array_equal(run.q, other.q)


@pytest.mark.parametrize("steps", [{"rtol": 1e-7}, {"step": 0.0005}], ids=str)
def test_scenes_do_so_too_whatever_the_stepper_tries(model, tmp_path, steps):
    pytest.importorskip("coal")
    time = {"duration": 0.2, "sample": 0.05} | steps
    (tmp_path / "arm.toml").write_text(little_scene(ARM, time=time, gravity=[0.0, 0.0, 0.0]))
    scene, law = Scene.load(tmp_path / "arm.toml"), Integral()
    run = scene.run(control=SampledFunction(law, PERIOD))
    np.testing.assert_allclose(law.times, PERIOD * np.arange(21), atol=1e-12)
    np.testing.assert_allclose(run.arrays["q"][-1], by_rollout(model)[0], atol=1e-6 if "rtol" in steps else 2e-3)
    np.testing.assert_array_equal(scene.run(control=Counting()).arrays["q"], run.arrays["q"])
    with pytest.raises(ps.PhistarError, match="keeps its memory to itself"):
        scene.run(control=SampledFunction(law, PERIOD), checkpoint=(0.1, tmp_path))


def test_what_a_sampled_controller_does_wrong_is_told_with_the_time(model):
    def fails(t, q, v):
        return 1 / 0 if t > 0.045 else np.zeros(2)

    with pytest.raises(ps.PhistarError, match=r"At t = 0\.05 s the controller fails: ZeroDivisionError"):
        ps.simulate(model, [0, 0], [0, 0], 0.2, control=SampledFunction(fails, PERIOD))
    with pytest.raises(ps.PhistarError, match="period must be a number of seconds"):
        ps.simulate(model, [0, 0], [0, 0], 0.2, control=SampledFunction(fails, 0.0))
    with pytest.raises(ps.ShapeError, match=r"control at t = 0 s has shape \(3,\)"):
        ps.simulate(model, [0, 0], [0, 0], 0.2, control=SampledFunction(lambda t, q, v: np.zeros(3), PERIOD))


def test_a_sampled_controller_that_fails_at_its_first_call_is_told_of(model):
    for given in (lambda t, q, v: {}["gain"], lambda t, q, v: ["1"] * len(v)):
        with pytest.raises(ps.PhistarError, match="At t = 0 s the controller fails"):
            ps.simulate(model, model.neutral(), np.zeros(model.nv), 0.05, control=SampledFunction(given, 0.01))
