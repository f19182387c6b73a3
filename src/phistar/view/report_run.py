"""The motion of a report: a trajectory in memory, or the folder that `phistar run --out` left."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from phistar.dynamics import frame_velocity
from phistar.errors import PhistarError, ShapeError
from phistar.io.packages import FolderList
from phistar.model import Free, Model
from phistar.sim.trajectory import Trajectory
from phistar.view.stage import body_frames, body_poses


def load_motion(source: Trajectory | str | os.PathLike[str], packages: FolderList = ()) -> Trajectory:
    """Return a trajectory as given, or load it from a file or folder; `packages` as in `Scene.load`."""
    if isinstance(source, str | os.PathLike):
        return one_motion(Trajectory.load(source, packages))
    return one_motion(source)


def one_motion(run: Any) -> Trajectory:
    """A trajectory that can be shown: of one motion, with at least one sample."""
    if not isinstance(run, Trajectory):
        raise PhistarError(
            f"A {type(run).__name__} cannot be shown; give a Trajectory, as simulate, rollout and Scene.run return it, "
            "or a folder of a run."
        )
    if run.q.ndim != 2:
        raise ShapeError(
            f"One motion can be shown; {run.name} is a batch of {run.q.shape[:-2]}. See Trajectory.member."
        )
    return run


def body_twists(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
    """ω, v (bodies, …, 3) in world axes at the bodies' origins, and those origins; of one body at least."""
    places = np.moveaxis(body_poses(model)(q)[..., :3, 3], -2, 0)
    twists = frame_velocity(model.tree, q, v, body_frames(model)).reshape(*q.shape[:-1], -1, 6)
    twists = np.moveaxis(twists, -2, 0)
    return twists[..., :3], twists[..., 3:], places


def relative_twists(run: Trajectory) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """(names, |ω|, |v|) over time of free bodies against what touched them; of those that nothing touched, against the
    world. The velocity is that of the free body's origin."""
    model = run.model
    if not model.bodies or not len(run.arrays.get("t", ())):
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


def _partners(run: Trajectory, model: Model, body: int) -> list[int]:
    """The moving bodies that touched a body."""
    owner = {each.name: k for k, part in enumerate(model.bodies) for each in part.geometry if each.name}
    owner |= {part.name: k for k, part in enumerate(model.bodies)}
    touched = np.max(run.arrays.get("contact_force", np.zeros((1, 0))), axis=0, initial=0.0) > 0.0
    found = []
    for name, was in zip(run.contacts.pairs, touched):
        ends = [owner.get(part.strip()) for part in name.split(" / ")]
        if was and body in ends:
            found += [other for other in ends if other is not None and other != body]
    return sorted(set(found))
