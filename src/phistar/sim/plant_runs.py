"""`ps.simulate` of a plant: an experiment of it through the time loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from phistar.constraints import columns as c
from phistar.errors import PhistarError, ShapeError
from phistar.model.names import unknown
from phistar.plant.commands import controller_of
from phistar.plant.plant import Plant
from phistar.plant.session import PlantState, Session
from phistar.sim.experiment import Experiment, Timing
from phistar.sim.time_loop import TimeLoop, run_to_end
from phistar.sim.topology import Latch, Release
from phistar.sim.trajectory import Trajectory
from phistar.sim.world import World

_worlds: WeakKeyDictionary[Session, World] = WeakKeyDictionary()  # pairs are numbered once for all runs of a session


def simulate_plant(
    plant: Plant,
    duration: float,
    control: Any = None,
    step: float = 0.002,
    q0: Any = None,
    v0: Any = None,
    start: PlantState | str | None = None,
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    changes: Sequence[Latch | Release] = (),
    audit: bool = False,
) -> Trajectory:
    """The motion of a plant from q0, v0 for `duration` seconds in steps of `step`; or from `start`, a state of the
    plant or the name of one of its keyframes.

    `control` is a function (t, q, v) or (t, q, v, sensed), asked once a sample, forward in time, an object with
    step(t, sensed) (and reset(), called first), or a `ps.control.SampledController`; it gives a command, one entry per
    actuator. Readings of the sensors, whose noise is drawn from `seed`, are kept as `signals["sensed/NAME"]`. A run
    that cannot go on raises `Stopped`, which has the trajectory so far. Steps whose residual misses its tolerance are
    told to the logger. With `rtol` (and `atol`, by default a thousandth of it) `step` is the time between samples, and
    within it steps are as long as their error allows, rtol · (1 m or 1 rad) + atol in any place, now or 10 ms later at
    the rates found: `signals["error"]` has the largest in units of that, `signals["steps"]` how many there were.
    `signals["impulse"]` (T, k) has what each of `contacts.pairs` gave along its normals since the sample before (to a
    tolerance: in the shortest of its steps), N s, impacts included, which have no force. `changes` are latches and
    releases, which act at the first sample at which they are due: rates jump by the least kinetic energy, and `events`
    tell the impulse. With `audit` energy and momentum are accounted for step by step: `signals["energy"]`, `["work"]`,
    `["momentum"]`, `summary["energy_residual"]`, `["numerical_loss"]`, `["momentum_drift"]`. A plant that nothing
    drives and no sensor reads goes through its samples in one compiled loop.
    """
    _check(plant, duration, step, control, rtol)
    count = max(1, round(duration / step))
    tolerances = (0.0, 0.0) if rtol is None else (rtol, 1e-3 * rtol if atol is None else atol)
    if rtol is not None and not (0.0 < tolerances[0] < 1.0 and 0.0 <= tolerances[1] < np.inf):
        told = ", ".join(map(repr, tolerances))
        raise ShapeError(f"Tolerances are rtol between 0 and 1 and atol of 0 or more; they are {told}.")
    timing = Timing(count * step, step, step if rtol is None else None, *tolerances)
    asked = None if control is None else controller_of(control, step)
    if audit and rtol is not None and any(actuator.delay > 0.0 for actuator in plant.actuators):
        raise PhistarError("Actuators that act late to a tolerance are not told step by step; leave audit or rtol out.")
    session = plant.session
    own = {
        "changes": tuple(changes),
        "start": session.check_state(_start(plant, q0, v0, start)),
        "start_is_known": True,
    }
    own |= {"seed": seed, "audit": audit}
    telling, session.engine.counts[c.TELLING] = session.engine.counts[c.TELLING], 1
    try:
        if session not in _worlds:
            _worlds[session] = World.of(plant)
        return run_to_end(TimeLoop(Experiment(plant, timing, asked, **own), session, _worlds[session]))
    finally:
        session.engine.counts[c.TELLING] = telling


def _start(plant: Plant, q0: Any, v0: Any, start: PlantState | str | None) -> PlantState:
    if start is None:
        return plant.state(q0, v0)
    if q0 is not None or v0 is not None:
        raise PhistarError("A run starts from q0 and v0 or from start; it was given both.")
    if isinstance(start, PlantState):
        return start
    if start not in plant.keyframes:
        raise unknown("keyframe", start, list(plant.keyframes), plant.name)
    return plant.state(plant.keyframes[start].q, plant.keyframes[start].v)


def _check(plant: Plant, duration: float, step: float, control: Any, rtol: float | None) -> None:
    if rtol is not None and any(actuator.kind == "prescribed" for actuator in plant.actuators):
        raise PhistarError("Prescribed accelerations are held over a step of one length; leave rtol out.")
    if not (np.isfinite(duration) and duration > 0.0 and np.isfinite(step) and step > 0.0):
        raise ShapeError(f"A run needs a duration and a step greater than 0 s; it was given {duration!r} and {step!r}.")
    if control is not None and not plant.actuators:
        raise PhistarError(f"The plant '{plant.name}' has no actuators, and was given a control; see plant.actuate(…).")
