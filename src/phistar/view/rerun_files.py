"""Motions as recordings of rerun: bodies as meshes that move, joints as curves, contacts as arrows.

rerun's library is large enough to push the machine code that phistar makes later too far apart in memory, which LLVM
does not survive; so it is loaded by a process of its own (`rerun_process.py`), which is handed arrays.
"""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from phistar.errors import FileError, ShapeError
from phistar.model import Model
from phistar.model.geometry import Plane
from phistar.sim.trajectory import Trajectory
from phistar.spatial import to_quaternion
from phistar.view.report_shapes import color_of, triangles, visible_geometry
from phistar.view.stage import body_poses

LONGEST = 0.3  # m: an arrow of the largest contact force
Arrays = dict[str, np.ndarray]


def write_rerun(motion: Trajectory, path: str | os.PathLike[str]) -> Path:
    """Write a motion as a recording, NAME.rrd, that the rerun viewer opens.

    Bodies stand under /world with their meshes, coordinates and rates under /joints, what sensors and the run kept
    under /signals, and contact forces under /contacts, all over the timeline "time".

    Parameters
    ----------
    motion : Trajectory
        One motion; of a batch take `motion.member(k)`.
    path : path
        NAME.rrd; needs the package rerun-sdk: pip install 'phistar[rerun]'.

    Returns
    -------
    Path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> fall = ps.simulate(ps.load("planar2"), [1.0, 0.0], [0.0, 0.0], 0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ps.view.write_rerun(fall, pathlib.Path(folder, "fall.rrd")).name
    'fall.rrd'
    """
    if motion.q.ndim != 2:
        raise ShapeError(f"A recording is of one motion; this has q of shape {motion.q.shape}: take motion.member(k).")
    if importlib.util.find_spec("rerun") is None:
        raise FileError("Recordings of rerun need the package rerun-sdk: pip install 'phistar[rerun]'.")
    made = {"t": np.asarray(motion.t, dtype=float)} | _bodies(motion) | dict(_curves(motion)) | _contacts(motion)
    handed = io.BytesIO()
    np.savez(handed, allow_pickle=False, **made)
    command = [sys.executable, "-m", "phistar.view.rerun_process", str(path), motion.name or "motion"]
    done = subprocess.run(command, input=handed.getvalue(), capture_output=True)
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise FileError(f"{path}: rerun could not write the recording: {told[-1] if told else 'it gave no reason'}.")
    return Path(path)


def _bodies(motion: Trajectory) -> Arrays:
    """Meshes, "mesh:NAME:corners" and the like, and each body's poses, "pose:NAME:place" and "pose:NAME:turn"."""
    model = motion.model
    poses = np.array([body_poses(model)(q) for q in motion.q]).reshape(len(motion.t), len(model.bodies), 4, 4)
    made = _meshes("world/base", model, -1)
    for number, body in enumerate(model.bodies):
        name = f"world/{_entity(body.name)}"
        made |= _meshes(name, model, number)
        made[f"pose:{name}:place"] = poses[:, number, :3, 3]
        made[f"pose:{name}:turn"] = np.array([to_quaternion(pose[:3, :3]) for pose in poses[:, number]])
    return made


def _meshes(name: str, model: Model, body: int) -> Arrays:
    geometry, made = model.base_geometry if body < 0 else model.bodies[body].geometry, {}
    for number, each in enumerate(visible_geometry(geometry)):
        if isinstance(each.shape, Plane):
            continue
        surface, own = triangles(each.shape), f"mesh:{name}/geometry_{number}"
        made[f"{own}:corners"] = surface.corners.reshape(-1, 3) @ each.placement.rotation.T + each.placement.translation
        made[f"{own}:normals"] = surface.normals.reshape(-1, 3) @ each.placement.rotation.T
        made[f"{own}:color"] = np.append(np.round(255 * np.asarray(color_of(each, body, model))), 255).astype(np.uint8)
    return made


def _curves(motion: Trajectory) -> Iterator[tuple[str, np.ndarray]]:
    """ "curve:NAME:values" (T,) of every number that is kept over time."""
    for joint in motion.model.joints:
        own = f"joints/{_entity(joint.name)}"
        yield from _columns(f"{own}/q", motion.q[:, joint.q_slice])
        yield from _columns(f"{own}/v", motion.v[:, joint.v_slice])
    for name, values in motion.signals.items():
        rows = np.asarray(values)
        if rows.shape[:1] == (len(motion.t),) and rows.size:
            yield from _columns(f"signals/{_entity(name)}", rows.reshape(len(motion.t), -1).astype(float))


def _columns(name: str, rows: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    for k in range(rows.shape[1]):
        yield f"curve:{name if rows.shape[1] == 1 else f'{name}/{k}'}:values", rows[:, k]


def _contacts(motion: Trajectory) -> Arrays:
    """Arrows of contact forces, the largest of the motion 0.3 m long; none where nothing touches."""
    contacts = motion.contacts
    force = np.asarray(contacts.force)
    largest = float(np.linalg.norm(force, axis=-1).max(initial=0.0))
    if largest <= 0.0:
        return {}
    acts = np.asarray(contacts.pair) >= 0
    return {"arrow:acts": acts, "arrow:at": np.asarray(contacts.point), "arrow:along": LONGEST / largest * force}


def _entity(name: str) -> str:
    """A name as one part of an entity's path."""
    return "".join(letter if letter.isalnum() or letter in "_-./" else "_" for letter in name)
