"""A run summed up: arrays over its samples, and the entries of summary.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phistar.plant.robot_view import motions_of
from phistar.sim.scenes.log import Log, Row
from phistar.sim.scenes.registry import Task
from phistar.sim.scenes.scene import Scene, Setting
from phistar.sim.trajectory import Contacts, Event, Trajectory

PLAIN = ("t", "q", "v", "tau", "energy", "work", "momentum", "contact_force", "distance")
BEGAN = "the run began"


def result_of(scene: Scene, seed: int, log: Log, reason: str | None, wall: float) -> Trajectory:
    """The result of a log; `reason` says why the run could not go on."""
    setting = log.setting
    names = {"phase_names": list(dict.fromkeys(row["phase"] for row in log.rows if "phase" in row))}
    arrays = _arrays(log.rows, names["phase_names"], setting) if log.rows else {}
    summary: dict[str, Any] = {"scene": scene.name, "seed": seed, "completed": reason is None, "reason": reason}
    end = log.rows[-1]["t"] if log.rows else 0.0
    if setting.task is not None:
        summary |= {"reached": None, "outcome": None, "missing": None}
        if log.rows:
            summary |= _judged(setting.task, kept_as(scene, setting, arrays, tuple(log.events), {}, names))
    summary |= {
        "phases": _phases(log, end),
        "min_distance": log.lowest if np.isfinite(log.lowest) else None,
        "peak_force": log.peak,
        **_audited(log),
        "friction_unsettled": log.unsettled[0],
        "friction_change": log.unsettled[1],
        "torque_clipped": log.law.clipped,
        "events": len(log.events),
        "sim_time": end,
        "wall_time": wall,
    }
    return kept_as(scene, setting, arrays, tuple(log.events), _told(summary), names)


def _judged(task: Task, run: Trajectory) -> dict[str, Any]:
    """A task's verdict as entries of the summary; its own stand beside them."""
    verdict = task.judge(run)
    told = {"reached": bool(verdict.reached), "outcome": verdict.words, "missing": verdict.missing}
    return told | {name: value for name, value in verdict.entries.items() if name not in told}


def kept_as(
    scene: Scene,
    setting: Setting,
    arrays: dict[str, np.ndarray],
    events: tuple[Event, ...],
    summary: Mapping[str, Any],
    labels: Mapping[str, Sequence[str]],
) -> Trajectory:
    """The trajectory of a scene's arrays by name."""
    rest, model = dict(arrays), setting.model
    empty: dict[str, Any] = {"t": np.zeros(0), "q": np.zeros((0, model.nq)), "v": np.zeros((0, model.nv)), "tau": None}
    states = {name: rest.pop(name, none) for name, none in empty.items()}
    pairs = setting.world.pair_names
    touched = [rest.pop(f"contact_{name}", None) for name in ("force", "pair", "point", "vector")]
    contacts = None if any(array is None for array in touched) else Contacts(pairs, *touched)  # type: ignore[arg-type]
    own = {name: tuple(names) for name, names in labels.items()}
    parts = motions_of(setting.plant)
    known = {"contacts": contacts, "events": events, "signals": rest, "labels": own, "parts": parts}
    told = {"name": scene.name, "summary": summary, "source": scene.source, "text": scene.text}
    return Trajectory(model, **states, **known, **told)


def _told(value: Any) -> Any:
    """The same, with None for numbers that are not finite: JSON has none."""
    if isinstance(value, Mapping):
        return {name: _told(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_told(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _arrays(rows: Sequence[Row], phases: list[str], setting: Setting) -> dict[str, np.ndarray]:
    arrays = {name: np.array([row[name] for row in rows]) for name in PLAIN}
    most = max(len(row["contact_pair"]) for row in rows)
    for name, filling in (("pair", -1), ("point", 0.0), ("vector", 0.0)):
        own = [row[f"contact_{name}"] for row in rows]
        table = np.full((len(rows), most, *own[0].shape[1:]), filling, dtype=own[0].dtype)
        for k, entries in enumerate(own):
            table[k, : len(entries)] = entries
        arrays[f"contact_{name}"] = table
    if setting.task:
        arrays["held_contacts"] = np.array([row["held_contacts"] for row in rows])
    if "phase" in rows[0]:
        arrays["phase"] = np.array([phases.index(row["phase"]) for row in rows])
        for name in rows[0]["sensed"]:
            arrays[f"sensed/{name}"] = np.array([row["sensed"][name] for row in rows])
        for name in dict.fromkeys(name for row in rows for name in row["facts"]):
            arrays[f"facts/{name}"] = np.array([float(row["facts"].get(name, np.nan)) for row in rows])
    return arrays


def _phases(log: Log, end: float) -> list[dict[str, Any]]:
    """Each phase from its switch to the next; its reason is why it began."""
    if not log.phases or log.phases[0][1] == "":
        return []
    begun = [(time, name, "") for time, name in log.phases]
    if log.law.switches:
        begun = begun[:1] + [(switch.time, switch.after, switch.reason) for switch in log.law.switches]
    begun[0] = (*begun[0][:2], BEGAN)
    ends = [*(time for time, _, _ in begun[1:]), end]
    return [
        {"name": name, "start": float(time), "end": float(until), "reason": why}
        for (time, name, why), until in zip(begun, ends, strict=True)
    ]


def _audited(log: Log) -> dict[str, Any]:
    """Momentum and energy that the books do not explain."""
    if not log.rows:
        return {"momentum_drift": None, "energy_residual": None, "energy_change": None, "numerical_loss": None}
    first, last = log.rows[0], log.rows[-1]
    drift: float | None = max(float(np.max(np.abs(row["imbalance"] - first["imbalance"]))) for row in log.rows)
    one_by_one = log.setting.timing.step is not None
    if not log.audit.floating.any() or not (one_by_one or not np.any(log.books.impulse)):
        drift = None  # nothing is free; or forces within steps of high order are not known one by one
    scale = max(max(row["kinetic"] for row in log.rows), log.books.throughput, 1e-300)
    loss = last["loss"] - first["loss"]
    residual = (last["mechanical"] - first["mechanical"] - (last["work"] - first["work"]) + loss) / scale
    known = one_by_one or log.peak == 0.0
    return {
        "momentum_drift": drift,
        "energy_residual": float(residual) if known else None,
        "energy_change": float(last["energy"] - first["energy"]),
        "numerical_loss": float(loss) if known else None,
    }
