"""Motions as recordings of rerun: bodies as meshes that move, joints as curves, contacts as arrows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import FileError, ShapeError
from phistar.model import Model
from phistar.model.geometry import Plane
from phistar.sim.trajectory import Trajectory
from phistar.spatial import to_quaternion
from phistar.view.report_shapes import color_of, triangles, visible_geometry
from phistar.view.stage import body_poses

TIMELINE = "time"
LONGEST = 0.3  # m: an arrow of the largest contact force


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
    """
    if motion.q.ndim != 2:
        raise ShapeError(f"A recording is of one motion; this has q of shape {motion.q.shape}: take motion.member(k).")
    try:
        import rerun as rr
    except ImportError:
        raise FileError("Recordings of rerun need the package rerun-sdk: pip install 'phistar[rerun]'.") from None
    recording: Any = rr.RecordingStream("phistar", recording_id=motion.name or "motion")
    recording.save(str(path))
    recording.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    _bodies(rr, recording, motion)
    for name, values in _curves(motion):
        times = rr.TimeColumn(TIMELINE, duration=np.asarray(motion.t, dtype=float))
        recording.send_columns(name, indexes=[times], columns=rr.Scalars.columns(scalars=values))
    _contacts(rr, recording, motion)
    recording.flush()
    recording.disconnect()
    return Path(path)


def _bodies(rr: Any, recording: Any, motion: Trajectory) -> None:
    """Meshes once, and each body's pose at every sample."""
    model, t = motion.model, np.asarray(motion.t, dtype=float)
    poses = np.array([body_poses(model)(q) for q in motion.q]).reshape(len(t), len(model.bodies), 4, 4)
    _meshes(rr, recording, "world/base", model, -1)
    for number, body in enumerate(model.bodies):
        name = f"world/{_entity(body.name)}"
        _meshes(rr, recording, name, model, number)
        turns = np.array([to_quaternion(pose[:3, :3]) for pose in poses[:, number]])
        columns = rr.Transform3D.columns(translation=poses[:, number, :3, 3], quaternion=turns)
        recording.send_columns(name, indexes=[rr.TimeColumn(TIMELINE, duration=t)], columns=columns)


def _meshes(rr: Any, recording: Any, name: str, model: Model, body: int) -> None:
    geometry = model.base_geometry if body < 0 else model.bodies[body].geometry
    for number, each in enumerate(visible_geometry(geometry)):
        if isinstance(each.shape, Plane):
            continue
        surface = triangles(each.shape)
        corners = surface.corners.reshape(-1, 3) @ each.placement.rotation.T + each.placement.translation
        normals = surface.normals.reshape(-1, 3) @ each.placement.rotation.T
        color = np.append(np.round(255 * np.asarray(color_of(each, body, model))), 255).astype(np.uint8)
        faces = np.arange(len(corners), dtype=np.uint32).reshape(-1, 3)
        mesh = rr.Mesh3D(vertex_positions=corners, vertex_normals=normals, triangle_indices=faces, albedo_factor=color)
        recording.log(f"{name}/geometry_{number}", mesh, static=True)


def _curves(motion: Trajectory) -> Iterator[tuple[str, np.ndarray]]:
    """Name and values (T,) of every number that is kept over time."""
    for joint in motion.model.joints:
        own = f"joints/{_entity(joint.name)}"
        for kind, rows in (("q", motion.q[:, joint.q_slice]), ("v", motion.v[:, joint.v_slice])):
            for k in range(rows.shape[1]):
                yield f"{own}/{kind}" if rows.shape[1] == 1 else f"{own}/{kind}/{k}", rows[:, k]
    for name, values in motion.signals.items():
        rows = np.asarray(values)
        if rows.shape[:1] == (len(motion.t),) and rows.size:
            rows = rows.reshape(len(motion.t), -1).astype(float)
            for k in range(rows.shape[1]):
                yield f"signals/{name}" if rows.shape[1] == 1 else f"signals/{name}/{k}", rows[:, k]


def _contacts(rr: Any, recording: Any, motion: Trajectory) -> None:
    """Arrows of contact forces, the largest of the motion 0.3 m long."""
    contacts = motion.contacts
    pair, force = np.asarray(contacts.pair), np.asarray(contacts.force)
    largest = float(np.linalg.norm(force, axis=-1).max(initial=0.0))
    if largest <= 0.0:
        return
    for k, t in enumerate(np.asarray(motion.t).tolist()):
        recording.set_time(TIMELINE, duration=t)
        acts = pair[k] >= 0
        arrows = rr.Arrows3D(origins=contacts.point[k, acts], vectors=LONGEST / largest * force[k, acts])
        recording.log("contacts", arrows)


def _entity(name: str) -> str:
    """A name as one part of an entity's path."""
    return "".join(letter if letter.isalnum() or letter in "_-./" else "_" for letter in name)
