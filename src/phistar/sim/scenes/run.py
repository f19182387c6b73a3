"""A scene over its duration: steps, samples of its controller, rows kept, and where a run can be taken up again."""

from __future__ import annotations

import logging
import time as clock
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from phistar.control.sampled import is_sampled
from phistar.errors import PhistarError
from phistar.plant.commands import controller_of
from phistar.sim.motion import Moment, Motion
from phistar.sim.scenes.log import Log, Row
from phistar.sim.scenes.scene import Scene, Setting
from phistar.sim.scenes.scene_drive import Continuous, Drive, Sampled
from phistar.sim.scenes.summary import result_of
from phistar.sim.trajectory import Stopped as Stopped
from phistar.sim.trajectory import Trajectory

_log = logging.getLogger("phistar")
MOST_SAMPLES = 100_000_000
SENSED = 1  # which child of a run's seed draws the noise of its sensors


class Contacts(NamedTuple):
    """The contacts that push: points and forces on the first shapes of their pairs, each (n, 3), world axes."""

    point: np.ndarray
    vector: np.ndarray


Watch = Callable[[float, np.ndarray, Contacts], Any]  # is shown every kept sample: t, q, contacts


class Course:
    """A run in progress: everything needed to continue it."""

    def __init__(self, scene: Scene, seed: int, control: Any = None) -> None:
        self.scene, self.seed, self.setting = scene, seed, scene.setting(seed)
        timing = self.setting.timing
        law: Any = self.setting.law
        if control is not None:
            law = controller_of(control, timing.step or timing.sample)
        self.law: Continuous | Sampled
        if is_sampled(law):
            self.law = Sampled(self.setting, law, np.random.SeedSequence(seed, spawn_key=(SENSED,)))
        else:
            self.law = Continuous(self.setting, law)
        drive = Drive(self.setting, self.law)
        self.motion = Motion(self.setting.world, None, timing.rtol, timing.atol, into=drive.into)
        self.log = Log(self.setting, self.law, self.motion.session)
        self.schedule = Schedule.of(self.setting, self.law.period)
        self.reached, self.end, self.spent = 0, np.inf, 0.0
        self.moment: Moment | None = None

    def rows(self) -> Iterator[Row]:
        """Run to the end, yielding each row as it is kept."""
        if self.moment is None:
            timing, world = self.setting.timing, self.setting.world
            start = world.start(*self.setting.start)
            self.moment = self.motion.first(start, 0.0, timing.step or min(self.motion.longest, 1e-3))
            yield self._arrived(self.moment)
        times, asked, kept = self.schedule
        for moment in self._onward(self.moment):
            self.moment = moment
            self.log.add(moment)
            if moment.time < times[self.reached + 1]:
                continue
            self.reached += 1
            if asked[self.reached]:
                self._sample(moment)
            if kept[self.reached] or moment.time >= self.end:
                yield self.log.keep(moment)
            if moment.time >= self.end:
                return

    def _onward(self, moment: Moment) -> Iterator[Moment]:
        stops, step = self.schedule.times[self.reached + 1 :], self.setting.timing.step
        return self.motion.onward(moment, stops) if step is None else self.motion.onward_by(step, moment, stops)

    def _arrived(self, moment: Moment) -> Row:
        self._sample(moment)
        return self.log.keep(moment)

    def _sample(self, moment: Moment) -> None:
        if isinstance(self.law, Sampled):
            self.law.sample(moment, self.motion.session)
            self.log.sampled(moment)
            timing = self.setting.timing
            if timing.stop and self.law.phase in timing.stop:
                self.end = min(self.end, moment.time + timing.stop_after)
            elif timing.stop:
                self.end = np.inf

    def result(self, reason: str | None) -> Trajectory:
        """Trajectory so far; with the last state of a run that stops."""
        if reason is not None and self.moment is not None:
            rows = self.log.rows
            if rows and self.moment.time > rows[-1]["t"]:
                self.log.keep(self.moment, broken=True)
        return result_of(self.scene, self.seed, self.log, reason, self.spent)


class Schedule(NamedTuple):
    """Times that a run stops at, from 0 on; whether a controller is asked there, and whether a row is kept."""

    times: list[float]
    asked: list[bool]
    kept: list[bool]

    @staticmethod
    def of(setting: Setting, period: float | None) -> Schedule:
        duration, sample = setting.timing.duration, setting.timing.sample
        count = max(1, round(duration / sample))
        kept = np.round(duration * np.arange(count + 1) / count, 12)
        asked = np.zeros(1)
        if period is not None:
            if duration / period > MOST_SAMPLES:
                raise PhistarError(f"{duration:g} s have too many samples of {period:g} s: more than {MOST_SAMPLES}.")
            asked = np.round(period * np.arange(int(duration / period + 1e-9) + 1), 12)
        times = np.union1d(kept, asked)
        return Schedule(times.tolist(), np.isin(times, asked).tolist(), np.isin(times, kept).tolist())


def finished(
    course: Course,
    progress: Callable[[float], None] | None = None,
    watch: Watch | None = None,
    kept: Callable[[Course], None] | None = None,
) -> Trajectory:
    """The result of a course, run to its end; one that must stop raises `Stopped`, with the part so far.

    After each row, `progress` gets its time, `watch` its time, q and contacts, and `kept` may save the course.
    """
    begun, before, reason = clock.perf_counter(), course.spent, None
    try:
        for row in course.rows():
            if progress is not None:
                progress(row["t"])
            if watch is not None:
                watch(row["t"], row["q"], Contacts(row["contact_point"], row["contact_vector"]))
            if kept is not None:
                course.spent = before + clock.perf_counter() - begun
                kept(course)
    except PhistarError as error:
        reason = str(error)
    course.spent = before + clock.perf_counter() - begun
    result = course.result(reason)
    if course.log.unsettled[0]:
        told = "%s: after %d steps forces had not settled, and still missed by up to %.1e of themselves."
        _log.warning(told, course.scene.name, *course.log.unsettled)
    if reason is not None:
        raise Stopped(f"{course.scene.name}: {reason}", result)
    return result
