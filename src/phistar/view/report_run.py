"""What a report tells of: a run in memory, or the folder that `phistar run --out` left."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from phistar.dynamics import frame_velocity
from phistar.errors import FileError, PhistarError
from phistar.model import Free, Model
from phistar.sim.scenes.result import Result
from phistar.view.finished import model_of_run
from phistar.view.stage import body_frames, body_poses


class Phase(NamedTuple):
    """From `start` to `end`; `reason` says why it began or ended, as the run has it."""

    name: str
    start: float
    end: float
    reason: str


@dataclass(frozen=True)
class Run:
    """Arrays over time by name, the names of what they are of, events (time, what, where), the summary; the model
    where it is at hand, and what its scene was loaded by."""

    scene: str
    summary: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]
    joint_names: tuple[str, ...]
    pair_names: tuple[str, ...]
    events: tuple[tuple[float, str, str], ...]
    model: Model | None
    source: str = ""

    @property
    def phases(self) -> tuple[Phase, ...]:
        told = self.summary.get("phases") or ()
        return tuple(Phase(p["name"], p["start"], p["end"], p.get("reason") or "") for p in told)


def taken(source: Result | str | os.PathLike[str]) -> Run:
    """The run of a result, or of a folder."""
    if isinstance(source, Result):
        joints = tuple(joint.name for joint in source.model.joints)
        events = tuple((event.time, event.what, event.where) for event in source.events)
        return Run(
            source.scene, source.summary, source.arrays, joints, source.pair_names, events, source.model, source.source
        )
    return _from_folder(Path(source))


def _from_folder(folder: Path) -> Run:
    try:
        import h5py
    except ImportError:
        raise PhistarError("Reading a trajectory needs the package h5py: pip install 'phistar[sim]'.") from None
    try:
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        with h5py.File(folder / "trajectory.h5") as file:
            arrays = {name: data[()] for name, data in file.items() if getattr(data, "dtype", None) is not None}
            names = {
                key: tuple(map(str, np.asarray(file.attrs[key]).tolist())) for key in ("joint_names", "pair_names")
            }
            source = str(file.attrs.get("source", summary["scene"]))
    except (OSError, ValueError, KeyError) as error:
        raise FileError(
            f"{folder} is not the folder of a run ({error}): it needs summary.json and trajectory.h5, "
            "as `phistar run SCENE --out DIR` writes them."
        ) from None
    rows = arrays.pop("events", np.zeros(0))
    events = tuple((float(time), _text(what), _text(where)) for time, what, where in rows)
    numbers = {name: array for name, array in arrays.items() if np.asarray(array).dtype.kind in "fiub"}
    model = _model(summary, folder, source, numbers)
    return Run(
        str(summary["scene"]), summary, numbers, names["joint_names"], names["pair_names"], events, model, source
    )


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _model(summary: Mapping[str, Any], folder: Path, source: str, arrays: Mapping[str, np.ndarray]) -> Model | None:
    """The model of the run's scene; None where there is none that fits the trajectory."""
    try:
        model = model_of_run(folder, source, int(summary["seed"]))
    except (PhistarError, KeyError, TypeError):
        return None
    return model if arrays["q"].shape[1:] == (model.nq,) else None


def body_twists(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
    """ω, v (bodies, …, 3) in world axes at the bodies' origins, and those origins; of one body at least."""
    places = np.moveaxis(body_poses(model)(q)[..., :3, 3], -2, 0)
    twists = frame_velocity(model.tree, q, v, body_frames(model)).reshape(*q.shape[:-1], -1, 6)
    twists = np.moveaxis(twists, -2, 0)
    return twists[..., :3], twists[..., 3:], places


def relative_twists(run: Run) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(names, |ω|, |v|) over time of free bodies against what touched them; of those that nothing touched, against the
    world. The velocity is that of the free body's origin."""
    model = run.model
    if model is None or not model.bodies or not len(run.arrays.get("t", ())):
        return []
    spins, rates, places = body_twists(model, run.arrays["q"], run.arrays["v"])
    made = []
    for k, body in enumerate(model.bodies):
        if not isinstance(body.joint.kind, Free) or model.children[k]:
            continue
        for other in _partners(run, model, k) or [-1]:
            spin, rate, name = spins[k], rates[k], f"{body.name} in the world"
            if other >= 0:
                name = f"{body.name} on {model.bodies[other].name}"
                spin = spin - spins[other]
                rate = rate - rates[other] - np.cross(spins[other], places[k] - places[other])
            made.append((name, np.linalg.norm(spin, axis=-1), np.linalg.norm(rate, axis=-1)))
    return made


def _partners(run: Run, model: Model, body: int) -> list[int]:
    """The moving bodies that touched a body."""
    owner = {each.name: k for k, part in enumerate(model.bodies) for each in part.geometry if each.name}
    owner |= {part.name: k for k, part in enumerate(model.bodies)}
    touched = np.max(run.arrays.get("contact_force", np.zeros((1, 0))), axis=0, initial=0.0) > 0.0
    found = []
    for name, was in zip(run.pair_names, touched):
        ends = [owner.get(part.strip()) for part in name.split(" / ")]
        if was and body in ends:
            found += [other for other in ends if other is not None and other != body]
    return sorted(set(found))
