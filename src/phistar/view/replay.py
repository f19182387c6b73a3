"""`replay.html`: a motion in one file, to be mailed and opened without phistar, a server or a network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from phistar.dynamics import forward_kinematics
from phistar.sim.scenes.run_folder import whole
from phistar.sim.trajectory import Trajectory
from phistar.view.guard import close_server, open_server
from phistar.view.marks import Marks
from phistar.view.page_templates import render
from phistar.view.report_run import one_motion
from phistar.view.stage import Stage

RATE = 30.0  # frames a second
MOST_FRAMES = 1800  # longer motions are thinned further, so that the file stays small
LARGEST = 10_000_000  # bytes


def write(shown: Any, path: str | os.PathLike[str]) -> Path:
    """Write the replay of a `Trajectory`; what would be larger than 10 MB gets fewer frames."""
    recording = one_motion(shown)
    rate, place = min(RATE, MOST_FRAMES / max(recording.duration, 1e-9)), Path(path)
    text = page(recording.thinned(rate))
    while len(text) > LARGEST and rate * recording.duration > 60:
        rate /= 2
        text = page(recording.thinned(rate))
    return whole(place, lambda beside: beside.write_text(text, "utf-8"))


def page(recording: Trajectory) -> str:
    """The file's text: viser's own player, the scene, and every frame of the recording."""
    server = open_server()
    try:
        stage = Stage(server, recording.model)
        poses = stage.poses(recording.q)
        low, high = stage.bounds(poses[:: max(1, len(poses) // 100)])
        stage.furnish(low, high)
        marks = _marks(stage, recording, float(np.max(high - low)))
        marks.place(recording.q[0], recording.v[0], poses[0], _contacts(recording.arrays, 0))
        stage.place(poses[0])
        stage.bend(recording.q[0])
        serializer = server.get_scene_serializer()
        for index in range(1, len(poses)):
            serializer.insert_sleep(float(recording.t[index] - recording.t[index - 1]))
            stage.place(poses[index])
            stage.bend(recording.q[index])
            marks.place(recording.q[index], recording.v[index], poses[index], _contacts(recording.arrays, index))
        serializer.insert_sleep(0.5)  # the end stays a moment before it begins anew
        return _offline_page(serializer.as_html(), recording.name)
    finally:
        close_server(server)


def _marks(stage: Stage, recording: Trajectory, size: float) -> Marks:
    """Contacts, and the path of the last frame."""
    frames = [frame.name for frame in recording.model.frame_list if frame.body >= 0]
    marks = Marks(stage, size, frames[-1] if frames else "world")
    if "contact_point" in recording.arrays:
        marks.show("Contacts", True)
    if frames:
        marks.show("Trace", True)
        marks.trace(forward_kinematics(recording.model.tree, recording.q, marks.frame)[..., :3, 3])
    return marks


def _contacts(arrays: Mapping[str, np.ndarray], index: int) -> tuple[np.ndarray, np.ndarray] | None:
    if "contact_point" not in arrays or "contact_vector" not in arrays:
        return None
    return arrays["contact_point"][index], arrays["contact_vector"][index]


def _offline_page(player: str, name: str) -> str:
    """viser's page with its title, told to fetch nothing."""
    head = player.index("<head>") + len("<head>")
    title, after = player.index("<title>"), player.index("</title>") + len("</title>")
    parts = {"begin": player[:head], "middle": player[head:title], "end": player[after:]}
    return render("replay.html", {"name": name, **parts})
