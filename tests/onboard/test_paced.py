"""A paced loop keeps its times, tells them, and stops the robot when robot, computer or controller fail."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import ShapeError
from phistar.onboard import drive


class World:
    """A clock that only sleeping, reading, computing and looking move, and a robot on it."""

    def __init__(self, computing=0.0, silent=()):
        self.now, self.computing, self.silent = 0.0, computing, silent
        self.forces, self.stops, self.reads = [], [], 0

    def clock(self):
        self.now += 1e-6
        return self.now

    def sleep(self, seconds):
        self.now += seconds

    def read(self, timeout):
        self.reads += 1
        if self.reads - 1 in self.silent:
            self.now += timeout
            return None
        return {"q": np.zeros(2), "v": np.ones(2)}

    def write(self, tau):
        self.forces.append(tau)

    def stop(self, reason):
        self.stops.append(reason)

    def run(self, duration, **options):
        def law(t, q, v):
            self.now += self.computing
            return -v

        controller = ps.control.SampledFunction(law, period=0.01)
        return drive(controller, self, duration, clock=self.clock, sleep=self.sleep, **options)


def test_every_sample_is_commanded_in_time_and_the_robot_is_stopped_at_the_end():
    world = World(computing=0.004)
    run = world.run(1.0)
    assert (run.samples, run.late, run.silent, run.aborted) == (100, 0, 0, False)
    assert len(world.forces) == 100 and world.stops == ["the time is up"]
    told = run.statistics
    assert told["computing_median"] == pytest.approx(0.004, abs=1e-5) and told["jitter_greatest"] < 1e-5


def test_a_silent_robot_is_endured_for_less_than_the_patience_and_then_stopped():
    assert not World(silent=(3, 4, 8, 9)).run(0.2).aborted
    world = World(silent=(3, 5, 6, 7))
    run = world.run(1.0)
    assert run.aborted and run.silent == 4 and len(world.forces) == 4
    assert world.stops == [run.reason] == ["the robot was silent for 3 samples in a row, at t = 0.07 s"]


def test_late_commands_stop_the_robot():
    world = World(computing=0.0101)
    run = world.run(1.0, patience=5)
    assert run.aborted and run.late == 5 and world.stops == [run.reason]
    assert run.reason == "commands were late for 5 samples in a row, at t = 0.04 s"


def failing(t, q, v):
    raise ValueError("no such law")


@pytest.mark.parametrize(
    ("law", "words"), [(failing, "no such law"), (lambda t, q, v: np.nan * v, "forces that are no numbers")]
)
def test_a_controller_that_fails_stops_the_robot_with_its_reason(law, words):
    world = World()
    controller = ps.control.SampledFunction(law, period=0.01)
    run = drive(controller, world, 1.0, clock=world.clock, sleep=world.sleep)
    assert run.aborted and words in run.reason and world.stops == [run.reason] and not world.forces


def test_an_interrupt_stops_the_robot_before_it_goes_on():
    world = World()

    def interrupted(t, q, v):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive(ps.control.SampledFunction(interrupted, period=0.01), world, 1.0, clock=world.clock, sleep=world.sleep)
    assert world.stops == ["ended by an interrupt"]


@pytest.mark.parametrize(("duration", "patience"), [(0.0, 3), (np.inf, 3), (1.0, 0), (1.0, 1.5)])
def test_times_and_patience_that_mean_nothing_are_refused(duration, patience):
    world = World()
    with pytest.raises(ShapeError, match="it was given"):
        world.run(duration, patience=patience)
    assert not world.stops
