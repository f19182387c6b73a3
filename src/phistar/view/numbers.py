"""Numbers of the picked body."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.model import Model
from phistar.spatial.rotations import log
from phistar.view.stage import body_frames

ASK = "*Click a body to see its numbers.*"


def numbers(model: Model, index: int, q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
    """mass, com (world), pose (4, 4) and twist [ω; v] at the origin in world axes, of a body or (−1) the world."""
    if index < 0:
        return {"name": "world", "mass": model.base_inertia.mass, "pose": np.eye(4), "com": model.base_inertia.com}
    body, frame = model.bodies[index], body_frames(model)[index]
    pose = forward_kinematics(model.tree, q, frame)
    return {
        "name": body.name,
        "joint": body.joint.name,
        "parent": "world" if body.parent < 0 else model.bodies[body.parent].name,
        "mass": body.inertia.mass,
        "com": pose[:3, :3] @ body.inertia.com + pose[:3, 3],
        "pose": pose,
        "twist": frame_velocity(model.tree, q, v, frame),
        "q": q[body.joint.q_slice],
        "v": v[body.joint.v_slice],
    }


def as_markdown(found: dict[str, Any]) -> str:
    """A small table."""
    rows = [("mass", f"{found['mass']:.4g} kg"), ("centre of mass", f"{_vector(found['com'])} m")]
    place, turn = found["pose"][:3, 3], log(found["pose"][:3, :3])
    rows += [("position", f"{_vector(place)} m"), ("turned by", f"{_vector(turn)} rad")]
    if "twist" in found:
        rows += [("ω", f"{_vector(found['twist'][:3])} rad/s"), ("ẋ", f"{_vector(found['twist'][3:])} m/s")]
        joint = plain(found["joint"])
        rows += [(f"{joint}: q", _vector(found["q"])), (f"{joint}: v", _vector(found["v"]))]
        rows += [("parent", plain(found["parent"]))]
    lines = [
        f"**{plain(found['name'])}**",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in rows),
    ]
    return "\n".join(lines)


def plain(text: str) -> str:
    """A text from a file as it stands, in markdown: viser would show, and run, whatever HTML is in it."""
    return "".join(x if x.isalnum() or x in " _-/" else f"&#{ord(x)};" for x in text)


def _vector(values: Any) -> str:
    return " ".join(f"{0.0 if abs(x) < 5e-5 else x:.4g}" for x in np.atleast_1d(values))
