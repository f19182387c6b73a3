"""The time loop: a plant from sample to sample, its controller asked, its sensors read, its rows kept."""

from __future__ import annotations

import logging
import time as clock
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from phistar.constraints import columns as c
from phistar.errors import PhistarError
from phistar.plant.session import Session
from phistar.sim.driving import Driving
from phistar.sim.experiment import Experiment, Schedule
from phistar.sim.loop_changes import Changes
from phistar.sim.motion import NOTHING, Moment, Motion
from phistar.sim.readings import Readings
from phistar.sim.run_recorder import Recorder, Row
from phistar.sim.sensing import Sensing
from phistar.sim.trajectory import Stopped, Trajectory
from phistar.sim.world import World

_log = logging.getLogger("phistar")
SENSED = 1  # which child of a run's seed draws the noise of its sensors
FIRST = 1e-3  # s: the first step that is tried to a tolerance


class Touches(NamedTuple):
    """The contacts that push: points and forces on the first shapes of their pairs, each (n, 3), world axes."""

    point: np.ndarray
    vector: np.ndarray


Watch = Callable[[float, np.ndarray, Touches], Any]  # is shown every kept sample: t, q, contacts


class TimeLoop:
    """An experiment in progress: everything needed to continue it; `stepped` where its owner acts between rows."""

    def __init__(
        self, experiment: Experiment, session: Session | None = None, world: World | None = None,
        sensing: Sensing | None = None, stepped: bool = False,
    ) -> None:  # fmt: skip
        plant, timing = experiment.plant, experiment.timing
        self.stepped = stepped
        self.experiment, self.world = experiment, world or World.of(plant)
        session = session or self.world.session()
        self.driving = Driving(experiment, session.commands)
        self.motion = self._motion(self.world, session)
        self.recorder = Recorder(experiment, self.world, self.motion.session, self.driving)
        tick = self.driving.period or timing.sample
        asks = self.driving.controller is not None
        self.readings = Readings(sensing or Sensing(plant, self.world), tick, asks)
        self.line = self.readings.start(np.random.SeedSequence(experiment.seed, spawn_key=(SENSED,)))
        self.schedule = Schedule.of(timing, self.driving.period)
        self.changes = Changes(plant, experiment.changes)
        self.reached, self.end, self.spent = 0, np.inf, 0.0
        self.moment: Moment | None = None

    def _motion(self, world: World, session: Session) -> Motion:
        timing = self.experiment.timing
        into = None if self.is_alone else self.driving.each_step
        tolerances = (timing.rtol, timing.atol) if timing.step is None else (0.0, 0.0)
        motion = Motion(world, None, *tolerances, session=session, into=into)
        motion.session.engine.counts[c.TELLING] = 1
        return motion

    @property
    def is_alone(self) -> bool:
        """Whether nothing is told to the plant or read from it on the way, so that one compiled loop does it all."""
        return not self.stepped and self.experiment.is_unattended and not self.driving.outside.acts

    def rows(self) -> Iterator[Row]:
        """Run to the end, yielding each row as it is kept; of a run that is alone the first."""
        if self.moment is None:
            timing, start = self.experiment.timing, self.experiment.start or self.experiment.plant.state()
            first = timing.step or min(self.motion.longest, FIRST, timing.sample)
            self.moment = Moment(0.0, start, NOTHING, np.inf, first, start)  # all there is of a run that cannot start
            self.moment = self.motion.first(start, 0.0, first, self.experiment.start_is_known)
            self._sample()
            yield self.recorder.keep(self.moment, self.sensed)
        times, asked, kept = self.schedule
        if self.is_alone:
            self._run_unattended()
            return
        while self.reached + 1 < len(times) and self.moment.time < self.end:
            self._change()
            for moment in self._onward(times[self.reached + 1]):
                self.moment = moment
                self.recorder.add(moment)
            self.reached += 1
            if asked[self.reached]:
                self._sample()
            if kept[self.reached] or self.moment.time >= self.end:
                yield self.recorder.keep(self.moment, self.sensed)

    def _run_unattended(self) -> None:
        """Go through the samples that are left by the compiled loop, which keeps them."""
        assert self.moment is not None
        motion, times, session = self.motion, self.schedule.times, self.motion.session
        motion.stand(self.moment)
        self.driving.into(session, self.moment.time, self.moment.state.q, self.moment.state.v)
        ahead = self.reached + 1, len(times) - 1, self.experiment.timing.sample
        motion.samples(*ahead, lambda: self.recorder.take(times))
        self.reached = len(times) - 1

    def _onward(self, until: float) -> Iterator[Moment]:
        assert self.moment is not None
        step, motion, moment = self.experiment.timing.step, self.motion, self.moment
        if self.driving.each_step is not None:
            return motion.onward(moment, [until]) if step is None else motion.onward_by(step, moment, [until])
        motion.stand(moment)
        self.driving.into(motion.session, moment.time, moment.state.q, moment.state.v)
        return motion.onward(moment, [until]) if self.experiment.needs_steps else iter([motion.across(moment, until)])

    @property
    def sensed(self) -> dict[str, np.ndarray]:
        """Readings that have arrived at the controller."""
        return dict(self.readings.given(self.line)) if self.line.past else {}

    def _sample(self) -> None:
        """Read the sensors and ask the controller, whose phase may end the run."""
        moment, session, timing = self.moment, self.motion.session, self.experiment.timing
        assert moment is not None
        if self.readings.sensing.sensors:
            tau = np.zeros(self.world.model.nv)
            if moment.step is not None and self.readings.sensing.reads_forces:
                session.forces(moment.step.part, tau)
            self.line, sensed = self.readings.next(self.line, moment, session, tau)
        else:
            sensed = {}
        self.driving.sample(moment, sensed)
        self.recorder.log_sample(moment)
        if timing.stop:
            self.end = min(self.end, moment.time + timing.stop_after) if self.driving.phase in timing.stop else np.inf

    def _change(self) -> None:
        """Loops that close or open now; the motion goes on with the plant that has them."""
        assert self.moment is not None
        if self.changes.waiting:
            after = self.changes.after(self.moment.time, self.motion.session, self.recorder.events)
            if after is not None:
                self.world = World.of(after)
                self.motion = self._motion(self.world, after.session)
                self.recorder.continue_with(self.world, after.session)
                self.moment = self.motion.here(self.moment.time, self.moment.wanted)

    def trajectory(self, reason: str | None) -> Trajectory:
        """Trajectory so far; with the last state of a run that stops."""
        if reason is not None and self.moment is not None:
            rows = self.recorder.rows
            if not rows or self.moment.time > rows[-1]["t"]:
                self.recorder.keep(self.moment, self.sensed, broken=True)
        return self.recorder.trajectory(reason, self.spent)


def run_to_end(
    loop: TimeLoop,
    progress: Callable[[float], None] | None = None,
    watch: Watch | None = None,
    kept: Callable[[TimeLoop], None] | None = None,
    judged: Callable[[Trajectory], Trajectory] = lambda run: run,
) -> Trajectory:
    """The trajectory of a loop, run to its end; one that must stop raises `Stopped`, with the part so far.

    After each row, `progress` gets its time, `watch` its time, q and contacts, and `kept` may save the loop. `judged`
    completes the trajectory, of a run that stops too.
    """
    begun, before, reason, name = clock.perf_counter(), loop.spent, None, loop.experiment.plant.name
    try:
        for row in loop.rows():
            if progress is not None:
                progress(row["t"])
            if watch is not None:
                watch(row["t"], row["q"], Touches(row["contact_point"], row["contact_vector"]))
            if kept is not None:
                loop.spent = before + clock.perf_counter() - begun
                kept(loop)
    except PhistarError as error:
        reason = str(error)
    loop.spent = before + clock.perf_counter() - begun
    result = judged(loop.trajectory(reason))
    steps, missed = loop.recorder.unsettled
    if steps:
        told = "%s: in %d steps forces had not settled, and still missed by up to %.1e of themselves; a shorter step "
        _log.warning(told + "may help (run.signals['residual']).", name, steps, missed)
    if reason is not None:
        raise Stopped(f"{name}: {reason}", result)
    return result
