"""Joint limits and dry friction in `ps.rollout`: motions go on by a plant's step from where they begin to matter.

Up to there a motion is smooth, and its method of high order stands. From the last sample before a joint passes its
limit, or before one with dry friction comes to rest, the model's own plant takes the steps: stops and bristles are rows
of its implicit step (`phistar.plant`), as in scenes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from phistar.errors import PhistarError
from phistar.model import Model
from phistar.sim.joint_drives import Drives
from phistar.sim.joint_stops import Stops
from phistar.sim.left_out import check_limits, tell_left_out

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

Law = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # (step, rows, q, v) → joint forces (n, nv)


def joints_stop(drives: Drives, limits: str, q: np.ndarray) -> bool:
    """Whether motions that start at q stop at limits and stick by dry friction. It is told where a model has either and
    a plant cannot go on with it; starts beyond a limit are refused."""
    if not check_limits("ps.rollout", limits):
        return False
    if not _is_stoppable(drives):
        tell_left_out("ps.rollout", drives.model, dry_friction=True)
        return False
    _check_starts(drives.model, q)
    return True


def _is_stoppable(drives: Drives) -> bool:
    """Whether a plant can go on with the model: not in independent rates, with bodies that bend, with joints that
    something else than forces drives, or with springs or friction on free joints."""
    model = drives.model
    curved = [joint for joint in model.joints if not joint.kind.flat and joint.nv != 3]
    sprung = any(np.any(joint.kind.stiffness) or np.any(joint.kind.friction) for joint in curved)
    return model.embedding is None and not model.is_flexible and not drives.any and not sprung


def dry_rates(model: Model) -> np.ndarray:
    """Rates with dry friction."""
    return np.flatnonzero(
        np.any(np.stack([model.gather(lambda kind, i=i: kind.friction[i]) for i in range(2)]), axis=0)
    )


def _check_starts(model: Model, q: np.ndarray) -> None:
    """Refuse starts (…, nq) beyond a limit."""
    stops, rows = Stops(model), q.reshape(-1, model.nq) if model.nq else q[:0]
    if stops.any:
        for row in rows[(rows < model.lower_limits).any(-1) | (rows > model.upper_limits).any(-1)]:
            stops.check(row)


def first_stops(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Of motions (n, steps + 1, …), the sample before the first limit that is passed or dry joint that comes to rest;
    as many as there are steps where there is none."""
    stops, dry = Stops(model), dry_rates(model)
    ended = np.zeros((len(q), q.shape[1] - 1), dtype=bool)
    with np.errstate(invalid="ignore"):
        if stops.any:
            ended |= (q[:, 1:] < model.lower_limits).any(-1) | (q[:, 1:] > model.upper_limits).any(-1)
        if len(dry):
            ended |= (v[:, :-1, dry] * v[:, 1:, dry] <= 0.0).any(-1)
    return np.where(ended.any(1), np.argmax(ended, axis=1), ended.shape[1]) if ended.size else np.zeros(len(q), int)


def stop_joints(model: Model, times: np.ndarray, q: np.ndarray, v: np.ndarray, make: Callable[[], Law]) -> None:
    """Go on with motions (…, steps + 1, nq), in place, from where limits or dry friction begin to matter."""
    from phistar.plant.scene_batch import SceneBatch

    q, v = q.reshape(-1, *q.shape[-2:]), v.reshape(-1, *v.shape[-2:])
    first = first_stops(model, q, v)
    rows = np.flatnonzero(first < len(times) - 1)
    if not len(rows):
        return
    plant, begin, law = _plant_of(model), first[rows], make()
    batch = SceneBatch(q[rows, 0], v[rows, 0], len(plant.system.rows) + plant.closures, plant.nu)
    (session,), running = plant.sessions(1), np.ones(len(rows), dtype=bool)
    for step in range(int(begin.min()), len(times) - 1):
        smooth = np.flatnonzero(begin >= step)  # they are where their method left them, and remember nothing
        batch.put(smooth, q[rows[smooth], step], v[rows[smooth], step])
        batch.run(session, np.nan_to_num(law(step, rows, batch.q, batch.v)), times[step + 1] - times[step], 1)
        own = begin <= step
        running[own] &= batch.failed[own] == 1
        for made, found in ((q, batch.q), (v, batch.v)):
            made[rows[own], step + 1] = np.where(running[own, None], found[own], np.nan)


def _plant_of(model: Model) -> Plant:
    """The model in a plant of its own, without contact, a motor on every rate."""

    def make() -> Plant:
        from phistar.plant.plant import Plant

        plant = Plant(gravity=np.asarray(model.gravity).tolist(), name=model.name)
        plant.add(model, model.name, collides=False)
        plant.actuate(model.name, "force", joints=[joint.name for joint in model.joints if joint.nv], limits=np.inf)
        if plant.nu != model.nv:
            raise PhistarError(f"{model.name} has {model.nv} rates, of which forces drive {plant.nu}.")
        return plant

    return model.kept("plant of rollouts", make)
