"""Restitution in steps of one length: bodies leave with the stated part of their speed, however long the step is."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from phistar.sim.motion import Motion
from phistar.sim.scenes.scene import Scene
from tests.scenes import FLOOR, ball, little_scene

pytest.importorskip("coal")


def thrown(step, restitution, speed=2.0):
    """The speeds of a ball without weight just before and just after it touches a floor."""
    time = {"duration": 0.4, "sample": 0.4, "step": step}
    surface = {"restitution": restitution, "strength": 2000.0}
    parts = FLOOR, ball(xyz=[0.0, 0.0, 0.4], velocity=[0.0, 0.0, -speed])
    text = little_scene(*parts, time=time, surface=surface, gravity=[0.0, 0.0, 0.0])
    return speeds(Scene("throw", tomllib.loads(text), Path.cwd(), "throw.toml", text).setting(0))


def speeds(setting, ball="ball"):
    still, rate = np.zeros(setting.model.nv), setting.model.joint(ball).v_slice.stop - 1
    motion = Motion(setting.world, lambda t, q, v: still)
    made = motion.fixed(setting.world.start(*setting.start), 0.0, [setting.timing.duration], setting.timing.step)
    moments = [m for m in made if not any(ball in pair for pair in touching(setting, m))]
    speed = np.array([moment.state.v[rate] for moment in moments])
    turn = int(np.argmax(speed > 0.0))
    return -speed[turn - 1], speed[turn]


def touching(setting, moment):
    return [setting.world.pair_name(number) for number in moment.touching.pairs]


@pytest.mark.parametrize("step", [1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("restitution", [0.3, 0.6, 1.0])
def test_a_ball_leaves_at_the_stated_part_of_its_speed_whatever_the_step(step, restitution):
    before, after = thrown(step, restitution)
    assert after / before == pytest.approx(restitution, rel=1e-4)


def test_the_bundled_ball_bounces_as_its_file_says():
    before, after = speeds(Scene.load("bouncing").setting(0))
    assert after / before == pytest.approx(0.6, rel=1e-2)  # its weight acts during the touch
