"""Trajectories as HDF5 files: arrays over the samples, names, events, the summary, and the model as data.

Nothing is pickled. A reader that trusts nobody (`sim.scenes.run_reader`) takes every name and text one by one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import FileError, PhistarError
from phistar.sim.scenes.run_folder import CHECKPOINT, check_ended, together, whole
from phistar.sim.scenes.serialize import pack_tree
from phistar.sim.trajectory import Trajectory

FORMAT_VERSION = 2
SUMMARY_VERSION = 1
NAMES = ("joint_names", "pair_names")
LAYOUT = ("v108", "latest")  # of HDF5: the one before has no room for the names of some thousand pairs
SIDES = ("bodies", "nodes")  # of the two shapes of each pair
STATES = ("q", "v", "tau")  # what a batch has of its own
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
    "contact_moment": "moment of each contact on the first shape of its pair, N m, world axes; zeros fill up",
    "impulse": "what each pair gave along its normals since the sample before, impacts too, N s",
    "residual": "by which part of themselves impulses had not settled, the largest since the sample before",
    "distance": "the smallest distance of all pairs since the sample before, m",
    "held_contacts": "whether each contact that the task watches held at every step since the sample before",
    "phase": "the controller's phase, a number in phase_names",
    "sensed": "what the controller was given of this sensor",
    "facts": "a number that the controller goes by",
}


def save(run: Trajectory, path: Path) -> tuple[Path, ...]:
    """A file where the path ends in .h5 or .hdf5, else a folder, made if need be.

    The checkpoints of a run that has ended and is kept are of no more use, and go; one of another run is not touched,
    nor is anything written beside it.
    """
    if path.suffix in (".h5", ".hdf5"):
        return (whole(path, lambda place: _write(run, place)),)
    if path.resolve() not in run.checkpoints:
        check_ended(path, None)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"The folder {path} cannot be made: {error.strerror}.") from None
    text = summary_text(run)
    files: dict[str, Callable[[Path], Any]] = {"trajectory.h5": lambda place: _write(run, place)}
    if run.text:
        files["scene.toml"] = lambda place: place.write_text(run.text, "utf-8")
    files["summary.json"] = lambda place: place.write_text(text, "utf-8")
    written = together({path / name: write for name, write in files.items()})
    for own in run.checkpoints:
        (own / CHECKPOINT).unlink(missing_ok=True)
    return written


def summary_text(run: Trajectory) -> str:
    """summary.json; of a motion that has no summary, what is always in one."""
    told = {"format_version": SUMMARY_VERSION, "scene": run.name, "seed": 0, "sim_time": run.duration, **run.summary}
    return json.dumps(told, indent=2, allow_nan=False) + "\n"


def _write(run: Trajectory, path: Path) -> None:
    try:
        import h5py
    except ImportError:
        raise PhistarError("Keeping a trajectory needs the package h5py: pip install 'phistar[sim]'.") from None
    # Made in memory: of a full disk HDF5 learns as late as when it is taken apart, and then it prints tracebacks.
    with h5py.File("trajectory", "w", driver="core", backing_store=False, libver=LAYOUT) as file:
        _fill(h5py, file, run)
        file.flush()
        content = file.id.get_file_image()
    path.write_bytes(content)


def _fill(h5py: Any, file: Any, run: Trajectory) -> None:
    seed, batch = run.summary.get("seed", 0), run.q.shape[:-2]
    file.attrs.update(format_version=FORMAT_VERSION, scene=run.name)
    file.attrs["seed"] = seed if seed < 2**63 else str(seed)
    file.attrs["joint_names"] = [joint.name for joint in run.model.joints]
    file.attrs["body_names"] = [body.name for body in run.model.bodies]
    file.attrs["pair_names"] = list(run.contacts.pairs)
    for name in SIDES:
        own = getattr(run.contacts, name)
        if own is not None:
            file.attrs[f"pair_{name}"] = np.asarray(own, dtype=np.int64).reshape(-1)
    file.attrs["source"] = run.source or run.name
    if batch:
        file.attrs["batch"] = np.array(batch, dtype=np.int64)
    names = {name: list(file.attrs[name]) for name in NAMES} | {name: list(run.labels[name]) for name in run.labels}
    for name, values in names.items():  # as rows, which a reader that trusts nobody can take one by one
        file.attrs[name] = values
        file.create_dataset(f"names/{name}", data=np.array(values, dtype=object), dtype=h5py.string_dtype())
    for name, array in run.arrays.items():
        if name in STATES or (batch and array.shape[: len(batch)] == batch):  # time first
            array = np.moveaxis(array, len(batch), 0)
            array = array.reshape(len(run), -1) if batch else array
        small = {"compression": "gzip", "shuffle": True} if array.size else {}
        kept = file.create_dataset(name, data=array, **small)
        kept.attrs["about"] = ABOUT.get(name.split("/")[0], "")
    happened = [(event.time, event.what, event.where) for event in run.events]
    text = h5py.string_dtype()
    kinds = np.dtype([("time", float), ("what", text), ("where", text)])
    file.create_dataset("events", data=np.array(happened, dtype=kinds))
    held = bytearray()
    tree = json.dumps(pack_tree({"model": run.model, "parts": dict(run.parts)}, held))
    for name, content in (("model/tree", tree.encode()), ("model/held", bytes(held)), ("summary/json", None)):
        content = summary_text(run).encode() if content is None else content
        data = np.frombuffer(content, np.uint8)
        file.create_dataset(name, data=data, **({"compression": "gzip"} if len(data) else {}))
