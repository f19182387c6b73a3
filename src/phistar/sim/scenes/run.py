"""A scene over its duration: steps, samples, events, and the audit of energy and momentum."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from phistar.contact.surface import normal_energy
from phistar.dynamics import jacobian, kinetic_energy, momentum, potential_energy
from phistar.errors import PhistarError
from phistar.sim.motion import Event, Moment, Motion
from phistar.sim.passive import Passive
from phistar.sim.scenes.controllers import Control, controller_of, is_sampled
from phistar.sim.scenes.loop import Sampled
from phistar.sim.scenes.readings import Readings
from phistar.sim.scenes.result import Result
from phistar.sim.scenes.scene import Scene, Setting
from phistar.sim.world import State, World

SENSED = 1  # which child of a run's seed draws the noise of its sensors


class Stopped(PhistarError):
    """A run that could not go on; `result` has everything up to there."""

    def __init__(self, sentence: str, result: Result) -> None:
        super().__init__(sentence)
        self.result = result


def run(scene: Scene, seed: int, control: Any, progress: Callable[[float], None] | None) -> Result:
    """The result of a scene; a run that must stop raises `Stopped`, with what there is."""
    setting = scene.setting(seed)
    world, begun = setting.world, clock.perf_counter()
    law: Any = control or controller_of(setting)
    period, reason = None, None
    if is_sampled(law):
        period = float(law.period)
        line = Readings(setting.sensing, period)
        law = Sampled(setting.model, law, line, line.start(np.random.SeedSequence(seed, spawn_key=(SENSED,))))
    state = world.start(*setting.start)
    log, times, controls, samples = _Log(world, law), *_schedule(setting.timing, period)
    try:
        reached, moment = 0, Moment.first(0.0, state)
        if isinstance(law, Sampled):
            law.sample(moment)
        log.sample(moment, np.inf)
        for moment in _moments(setting, world, state, _forces(setting, law), times[1:]):
            arrived = bool(moment.time >= times[reached + 1])
            reached += arrived
            if arrived and isinstance(law, Sampled) and controls[reached]:
                law.sample(moment)
            log.add(moment, arrived and samples[reached])
            if progress is not None:
                progress(moment.time)
    except PhistarError as error:
        reason = str(error)
    result = log.result(scene, seed, setting, reason, clock.perf_counter() - begun)
    if reason is not None:
        raise Stopped(f"{scene.name}: {reason}", result)
    return result


def _schedule(timing: Any, period: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times that a run stops at, from 0 on; whether a controller samples there, and whether the state is kept."""
    count = max(1, round(timing.duration / timing.sample))
    kept = np.round(timing.duration * np.arange(count + 1) / count, 12)
    asked = (
        np.zeros(0) if period is None else np.round(period * np.arange(int(timing.duration / period + 1e-9) + 1), 12)
    )
    times = np.union1d(kept, asked)
    return times, np.isin(times, asked), np.isin(times, kept)


def _moments(setting: Setting, world: World, state: State, force: Control, stops: Any) -> Iterator[Moment]:
    """By fixed steps, or by steps that keep the tolerance; stops are hit either way."""
    timing = setting.timing
    if timing.step is None:
        yield from Motion(world, force, timing.rtol, timing.atol).moments(state, 0.0, stops)
        return
    yield from Motion(world, force).fixed(state, 0.0, stops, timing.step)


def _forces(setting: Setting, law: Control) -> Control:
    """The controller's joint forces, passive ones and disturbances."""
    model = setting.model
    passive = Passive(model)

    def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = np.asarray(law(t, q, v), dtype=float)
        if tau.shape != (model.nv,):
            return tau  # refused where it is used
        for each in setting.disturbances:
            if each.start <= t < each.start + each.duration:
                tau = tau + jacobian(model, q, each.frame).T @ each.force
        return tau + passive.smooth(q, v)

    return force


class _Log:
    """What is kept of a run."""

    def __init__(self, world: World, law: Control) -> None:
        self.world, self.law = world, law
        self.rows: list[dict[str, Any]] = []
        self.events: list[Event] = []
        self.nearest, self.lowest, self.peak = np.inf, np.inf, 0.0

    def add(self, moment: Moment, kept: bool) -> None:
        assert moment.step is not None
        self.events += moment.events
        self.nearest, self.lowest = min(self.nearest, moment.step.nearest), min(self.lowest, moment.step.nearest)
        forces = moment.step.forces
        if forces is not None:
            self.peak = max(self.peak, float(np.max(forces.force[:, 2])))
        if kept:
            self.sample(moment, self.nearest)
            self.nearest = np.inf

    def sample(self, moment: Moment, nearest: float) -> None:
        world, pairs, t, state = self.world, self.world.pairs, moment.time, moment.state
        force, kept = np.zeros(len(pairs.pairs)), 0.0
        if moment.step is not None and moment.step.forces is not None:
            which = np.searchsorted(pairs.starts, moment.step.gaps.slot, side="right") - 1
            np.add.at(force, which, moment.step.forces.force[:, 2])
            ahead = moment.step.ahead
            chosen = type(world.parameters)(*(array[ahead.slot] for array in world.parameters))
            kept = float(np.sum(normal_energy(chosen, ahead.distance)))
        model = world.model
        energy = float(kinetic_energy(model, state.q, state.v) + potential_energy(model, state.q)) + kept
        row = {"t": t, "q": state.q, "v": state.v, "tau": np.asarray(self.law(t, state.q, state.v), dtype=float)}
        row |= {"energy": energy, "momentum": momentum(model, state.q, state.v), "contact_force": force}
        self.rows.append(row | {"distance": nearest})

    def result(self, scene: Scene, seed: int, setting: Setting, reason: str | None, wall: float) -> Result:
        arrays = {name: np.array([row[name] for row in self.rows]) for name in self.rows[0]} if self.rows else {}
        drift = float(np.max(np.abs(arrays["momentum"] - arrays["momentum"][0]))) if arrays else 0.0
        summary = {
            "scene": scene.name,
            "seed": seed,
            "completed": reason is None,
            "reason": reason,
            "sim_time": float(arrays["t"][-1]) if arrays else 0.0,
            "wall_time": wall,
            "min_distance": self.lowest if np.isfinite(self.lowest) else None,
            "peak_force": self.peak,
            "momentum_drift": drift,
            "energy_change": float(arrays["energy"][-1] - arrays["energy"][0]) if arrays else 0.0,
            "events": len(self.events),
        }
        names = tuple(pair.name for pair in self.world.pairs.pairs)
        return Result(scene.name, setting.model, names, arrays, tuple(self.events), summary)
