"""Many scenes of one plant through time in one call, over the cores: contact, limits, friction and servos included."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.backends.machine.jit import host
from phistar.errors import PhistarError, ShapeError
from phistar.plant.robot_view import motions_of
from phistar.plant.scene_batch import SceneBatch, scene_cuts
from phistar.plant.session import PlantState, Session
from phistar.sim.trajectory import Trajectory

if TYPE_CHECKING:
    from phistar.plant.plant import Plant
    from phistar.plant.tree_moves import TreeMoves

_log = logging.getLogger("phistar")


def rollout(
    plant: Plant,
    states: Any,
    controls: Any = None,
    step: float = 0.002,
    steps: int | None = None,
    threads: int | None = None,
) -> Trajectory:
    """Step thousands of scenes of the plant at once, contact included.

    Every scene takes the steps that `plant.step` takes, one after the other; they are shared out over threads. From
    eight scenes on (as many as a vector of this machine has numbers) they are stepped side by side in its lanes, and
    are those of `plant.step` to rounding; plants with trees of more than 48 rates have no lanes, which is reported.

    Parameters
    ----------
    states : PlantState, sequence of PlantState, or pair
        Where scenes start: one state with q (…, nq) and v (…, nv), a list of states, which keep the memory of their
        contacts, or (q, v).
    controls : (…, steps, nu) or (…, nu), optional
        Commands, held over each step, or, where `steps` is given and is not their last axis but one, over all of them;
        None is zero. Their leading axes and those of the states broadcast: one state under many commands, or many
        states under one.
    step : float
        In s.
    steps : int, optional
        How many; by default as many as `controls` has.
    threads : int, optional
        By default PHISTAR_THREADS, or as many as this process may use.

    Returns
    -------
    Trajectory
        `q` (…, steps + 1, nq) and `v` (…, steps + 1, nv); the signal `residual` (…,) is the largest of each scene. A
        scene that diverges has NaN from there on, and is reported to the logger.

    Examples
    --------
    >>> import phistar as ps, numpy as np
    >>> plant = ps.Plant()
    >>> plant.add(ps.load("planar2"), "arm")
    >>> q = np.random.default_rng(0).normal(size=(100, 2))
    >>> plant.rollout((q, np.zeros((100, 2))), step=0.002, steps=10).q.shape
    (100, 11, 2)
    """
    batch, shape = _batch(plant, states)
    own, (commands, shape, steps) = np.arange(batch.count).reshape(shape), _commands(plant, controls, shape, steps)
    if batch.count != len(commands):
        batch = batch.select(np.broadcast_to(own, shape).reshape(-1))
    if not (np.isfinite(step) and step > 0.0):
        raise ShapeError(f"A rollout needs a step greater than 0 s; it was given {step!r}.")
    first = batch.q.copy(), batch.v.copy()
    if batch.count >= host().lanes:
        tell_one_by_one(plant)
    parts = run_parts(plant, batch, commands, step, steps, threads)
    made = [np.concatenate([part.kept[i] for part in parts]) for i in range(2)]
    failed = np.concatenate([part.failed for part in parts])
    residual = np.concatenate([part.residual for part in parts])
    for scene in np.flatnonzero(failed < steps):
        for array in made:
            array[scene, failed[scene] :] = np.nan
    if (failed < steps).any():
        count = int((failed < steps).sum())
        _log.warning("The plant '%s': %d of %d scenes diverged; take a shorter step.", plant.name, count, len(failed))
    q, v = (np.concatenate([start[:, None], rest], axis=1) for start, rest in zip(first, made, strict=True))
    q, v, t = q.reshape(*shape, *q.shape[1:]), v.reshape(*shape, *v.shape[1:]), step * np.arange(steps + 1, dtype=float)
    signals = {"residual": residual.reshape(shape)}
    return Trajectory(plant.model, t, q, v, signals=signals, name=plant.name, parts=motions_of(plant))


def tell_uncompiled(name: str, moves: TreeMoves) -> None:
    """Report the parts of a plant for which every step calls Python."""
    for part in moves.uncompiled_parts:
        _log.warning("The plant '%s': %s is too large for a kernel; every step calls Python for it.", name, part)


def tell_one_by_one(plant: Plant) -> None:
    """Report, once for a plant, why scenes that are many are not stepped side by side."""
    session = plant.session
    moves, told_before, session.told_one_by_one = session.engine.moves, session.told_one_by_one, True
    reasons = [
        *(f"the tree of '{name}', which runs link by link" for name in moves.long_names),
        *moves.uncompiled_parts,
    ]
    if reasons and not told_before:
        told = "The plant '%s': its scenes are stepped one by one, not side by side in lanes, for %s."
        _log.warning(told, plant.name, "; ".join(reasons))


def run_parts(
    plant: Plant, batch: SceneBatch, commands: np.ndarray, step: float, steps: int, threads: int | None
) -> list[SceneBatch]:
    """The batch cut in one part for each thread, each through its steps."""
    cuts = scene_cuts(batch.count, threads)
    count, parts = len(cuts), [batch.select(cut) for cut in cuts]
    sessions = plant.sessions(count)

    def work(number: int) -> None:
        parts[number].run(sessions[number], commands[cuts[number]], step, steps, keeps=True)

    if count == 1:
        work(0)
    else:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(work, range(count)))
    return parts


def _batch(plant: Plant, states: Any) -> tuple[SceneBatch, tuple[int, ...]]:
    """The scenes one after the other, and the leading axes that they had."""
    rows = len(plant.system.rows) + plant.closures
    if isinstance(states, PlantState) and not states.memory:
        states = (states.q, states.v)
    if isinstance(states, PlantState):
        return SceneBatch.of([plant.session.check_state(states)], rows, plant.nu), ()
    if isinstance(states, Sequence) and len(states) and all(isinstance(each, PlantState) for each in states):
        return SceneBatch.of([plant.session.check_state(each) for each in states], rows, plant.nu), (len(states),)
    if not isinstance(states, Sequence) or len(states) != 2:
        raise ShapeError("A rollout starts from plant.state(…), a list of such states, or a pair (q, v).")
    model = plant.model
    q, v = model.checked_q(states[0]), model.checked(states[1], model.nv, "v")
    shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    q, v = (np.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v))
    if not len(q):
        raise ShapeError(f"A rollout needs a scene at least; it was given a batch of {shape}.")
    return SceneBatch(q, v, rows, plant.nu), shape


def _commands(
    plant: Plant, controls: Any, shape: tuple[int, ...], steps: int | None
) -> tuple[np.ndarray, tuple[int, ...], int]:
    """Commands (n, steps, nu) or (n, nu), the leading axes of scenes and commands, and the number of steps."""
    nu = plant.nu
    if controls is None:
        if steps is None:
            raise ShapeError("A rollout without controls needs steps=….")
        return np.zeros((math.prod(shape), max(nu, 1))), shape, _checked_steps(steps)
    if not plant.actuators:
        raise PhistarError(f"The plant '{plant.name}' has no actuators, and was given controls; see plant.actuate(…).")
    given = np.asarray(controls, dtype=float)
    if not np.isfinite(given).all():
        raise ShapeError("Controls must be finite numbers; some are not.")
    each = given.ndim > 1 and (steps is None or given.shape[-2] == steps)
    wanted = given.shape[-2] if each and steps is None else None if steps is None else _checked_steps(steps)
    own = given.shape[-2:] if each else given.shape[-1:]
    if wanted and own[-1:] == (nu,):
        with suppress(ValueError):  # axes that do not broadcast
            whole = np.broadcast_shapes(shape, given.shape[: -len(own)])
            return np.broadcast_to(given, (*whole, *own)).reshape(math.prod(whole), *own), whole, wanted
    raise ShapeError(
        f"Controls of {shape} scenes of this plant are (…, steps, {nu}), or (…, {nu}) with steps=…; they have shape "
        f"{given.shape}, and steps is {steps}."
    )


def _checked_steps(steps: Any) -> int:
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
        raise ShapeError(f"A rollout needs a whole number of steps from 1 on; it was given {steps!r:.50}.")
    return int(steps)


def worker_sessions(plant: Plant, kept: list[Session], count: int) -> list[Session]:
    """Sessions, one for each thread, each with tables of its own."""
    if plant.fields:
        raise PhistarError(
            f"The plant '{plant.name}' has fields, which Python evaluates: a rollout is one kernel and takes none. "
            "Step its scenes one by one with plant.step or ps.simulate."
        )
    while len(kept) < count:
        kept.append(Session(plant.system, plant.actuators, plant.name))
    return kept[:count]
