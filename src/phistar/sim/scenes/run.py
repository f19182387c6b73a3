"""A scene over its duration: steps, samples, events, and the audit of energy and momentum."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from phistar.contact.surface import normal_energy
from phistar.dynamics import gravity_load, jacobian, kinetic_energy, momentum, potential_energy
from phistar.errors import PhistarError
from phistar.sim.coordinates import Coordinates
from phistar.sim.motion import Event, Moment, Motion
from phistar.sim.passive import Passive
from phistar.sim.scenes.result import Result
from phistar.sim.scenes.scene import Scene, Setting
from phistar.sim.world import State, World

Control = Callable[[float, np.ndarray, np.ndarray], Any]


class Stopped(PhistarError):
    """A run that could not go on; `result` has everything up to there."""

    def __init__(self, sentence: str, result: Result) -> None:
        super().__init__(sentence)
        self.result = result


def run(scene: Scene, seed: int, control: Control | None, progress: Callable[[float], None] | None) -> Result:
    """The result of a scene; a run that must stop raises `Stopped`, with what there is."""
    setting = scene.setting(seed)
    world, begun = setting.world, clock.perf_counter()
    law = control or _law(setting)
    q, v = setting.start
    log = _Log(world, law)
    moments = _moments(setting, world, world.start(q, v), _forces(setting, law))
    reason = None
    try:
        log.sample(0.0, world.start(q, v), np.inf)
        for moment in moments:
            log.add(moment, setting.timing)
            if progress is not None:
                progress(moment.time)
    except PhistarError as error:
        reason = str(error)
    result = log.result(scene, seed, setting, reason, clock.perf_counter() - begun)
    if reason is not None:
        raise Stopped(f"{scene.name}: {reason}", result)
    return result


def _moments(setting: Setting, world: World, state: State, force: Control) -> Iterator[Moment]:
    """By fixed steps, or by steps that keep the tolerance; samples are hit either way."""
    timing = setting.timing
    count = max(1, round(timing.duration / timing.sample))
    stops = timing.duration * np.arange(1, count + 1) / count
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


def _law(setting: Setting) -> Control:
    """The controller that the file names."""
    model, (name, gains) = setting.model, setting.controller
    if name == "none":
        return lambda t, q, v: np.zeros(model.nv)
    rest, driven = setting.start[0], np.ones(model.nv)
    for part in setting.parts:
        if part.free:
            driven[model.joints[model.body_index(part.name)].v_slice] = 0.0

    places, rates = Coordinates(model).flat
    curved = [joint for joint in Coordinates(model).curved if driven[joint.v_slice].any()]

    def hold(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Where it was, by springs and dampers, with gravity carried."""
        back = np.zeros(model.nv)  # rest ⊖ q, of what is driven
        back[rates] = rest[places] - q[places]
        for joint in curved:
            back[joint.v_slice] = joint.kind.difference(q[joint.q_slice], rest[joint.q_slice])
        pull = gains["stiffness"] * back - gains["damping"] * v
        return driven * (pull + gravity_load(model, q))

    return hold


class _Log:
    """What is kept of a run."""

    def __init__(self, world: World, law: Control) -> None:
        self.world, self.law = world, law
        self.rows: list[dict[str, Any]] = []
        self.events: list[Event] = []
        self.nearest, self.lowest, self.peak = np.inf, np.inf, 0.0

    def add(self, moment: Moment, timing: Any) -> None:
        self.events += moment.events
        self.nearest, self.lowest = min(self.nearest, moment.step.nearest), min(self.lowest, moment.step.nearest)
        forces = moment.step.forces
        if forces is not None:
            self.peak = max(self.peak, float(np.max(forces.force[:, 2])))
        if abs(moment.time / timing.sample - round(moment.time / timing.sample)) < 1e-9:
            self.sample(moment.time, moment.state, self.nearest, moment)
            self.nearest = np.inf

    def sample(self, t: float, state: State, nearest: float, moment: Moment | None = None) -> None:
        world, pairs = self.world, self.world.pairs
        force, kept = np.zeros(len(pairs.pairs)), 0.0
        if moment is not None and moment.step.forces is not None:
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
