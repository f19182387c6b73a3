"""What a run leaves: arrays over time, events, a summary, and the files of them, each written whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import FileError, PhistarError
from phistar.model import Model
from phistar.sim.motion import Event

FORMAT_VERSION = 1
CHECKPOINT = "checkpoint"  # the file of a run that has not ended
LAYOUT = ("v108", "latest")  # of HDF5: the one before has no room for the names of some thousand pairs
ABOUT = {
    "t": "time, s",
    "q": "joint coordinates, in the order of joint_names; rad, m, quaternions x y z w",
    "v": "joint rates; of free joints angular velocity, then linear, in the body's axes",
    "tau": "joint forces of the controller from this sample on, within their limits; N m, N",
    "energy": "kinetic, potential and elastic energy of contacts, J",
    "work": "work of all forces but weight since the start, J",
    "momentum": "angular momentum about the world's origin, then linear, world axes",
    "contact_force": "normal force of each pair of pair_names, N",
    "contact_pair": "of each contact that pushes: its pair's number in pair_names; -1 fills up",
    "contact_point": "where each contact is, m, world axes; zeros fill up",
    "contact_vector": "force of each contact on the first shape of its pair, N, world axes; zeros fill up",
    "distance": "the smallest distance of all pairs since the sample before, m",
    "gripped": "whether each finger of finger_names touched the object at every step since the sample before",
    "phase": "the controller's phase, a number in phase_names",
    "sensed": "what the controller was given of this sensor",
    "facts": "a number that the controller goes by",
}


@dataclass(frozen=True)
class Result:
    """A run: `arrays` over the samples by name (see ABOUT), the events, the summary; `names` of phases and fingers;
    where its scene came from, and the text of it."""

    scene: str
    model: Model
    pair_names: tuple[str, ...]
    arrays: Mapping[str, np.ndarray]
    events: tuple[Event, ...]
    summary: Mapping[str, Any]
    names: Mapping[str, list[str]] = field(default_factory=dict)
    source: str = ""
    text: str = ""

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write summary.json, trajectory.h5 and the scene as it was, scene.toml, into a folder, made if need be.

        The checkpoint of a run that has ended is of no more use, and goes.
        """
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"The folder {place} cannot be made: {error.strerror}.") from None
        text = json.dumps({"format_version": FORMAT_VERSION, **self.summary}, indent=2, allow_nan=False) + "\n"
        written = [whole(place / "trajectory.h5", self._write_trajectory)]
        if self.text:
            written.append(whole(place / "scene.toml", lambda path: path.write_text(self.text, "utf-8")))
        written.append(whole(place / "summary.json", lambda path: path.write_text(text, "utf-8")))
        (place / CHECKPOINT).unlink(missing_ok=True)
        return tuple(written)

    def _write_trajectory(self, path: Path) -> None:
        try:
            import h5py
        except ImportError:
            raise PhistarError("Keeping a trajectory needs the package h5py: pip install 'phistar[sim]'.") from None
        seed = self.summary["seed"]
        with h5py.File(path, "w", libver=LAYOUT) as file:
            file.attrs.update(format_version=FORMAT_VERSION, scene=self.scene)
            file.attrs["seed"] = seed if seed < 2**63 else str(seed)
            file.attrs["joint_names"] = [joint.name for joint in self.model.joints]
            file.attrs["body_names"] = [body.name for body in self.model.bodies]
            file.attrs["pair_names"] = list(self.pair_names)
            file.attrs["source"] = self.source or self.scene
            for name, values in self.names.items():
                file.attrs[name] = values
            for name, array in self.arrays.items():
                packed = {"compression": "gzip", "shuffle": True} if array.size else {}
                kept = file.create_dataset(name, data=array, **packed)
                kept.attrs["about"] = ABOUT.get(name.split("/")[0], "")
            rows = [(event.time, event.what, event.where) for event in self.events]
            text = h5py.string_dtype()
            kinds = np.dtype([("time", float), ("what", text), ("where", text)])
            file.create_dataset("events", data=np.array(rows, dtype=kinds))


def check_ended(folder: Path, resume: str | os.PathLike[str] | None) -> None:
    """Refuses to begin a run where another is written down half-way, which then might be taken up in its place."""
    if (folder / CHECKPOINT).exists() and (resume is None or Path(resume).resolve() != folder.resolve()):
        raise FileError(
            f"{folder / CHECKPOINT} is of a run that has not ended: phistar run --resume {folder} goes on with it. "
            "For another run give another folder, or remove that file."
        )


def whole(path: Path, write: Callable[[Path], Any]) -> Path:
    """The path, after `write` filled a file beside it that then took its place."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write(beside)
        os.replace(beside, path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        beside.unlink(missing_ok=True)
    return path
