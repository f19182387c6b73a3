"""`ps.simulate`: one state through time to a tolerance, by an explicit Runge-Kutta method of order 8 (DOP853)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from phistar.control.sampled import SampledController, is_sampled
from phistar.dynamics import kinetic_energy, potential_energy
from phistar.errors import PhistarError, ShapeError
from phistar.loops.forces import loop_report
from phistar.loops.residual import left_open, loop_residual, project
from phistar.model import Model
from phistar.sim.closing import check_closed
from phistar.sim.course import Course, Piece
from phistar.sim.joint_drives import Drives
from phistar.sim.joint_stops import Stops
from phistar.sim.left_out import check_limits, tell_left_out
from phistar.sim.passive import Passive
from phistar.sim.sample_and_hold import Held
from phistar.sim.topology import Latch, Release
from phistar.sim.trajectory import Stopped, Trajectory

Control = Callable[[float, np.ndarray, np.ndarray], Any]  # (t, q, v) → tau, pure

_log = logging.getLogger("phistar")
RTOL, ATOL = 1e-9, 1e-12


class Steps(Protocol):
    """System that integrates by steps of its own, such as a plant."""

    def simulate(self, duration: float, **options: Any) -> Trajectory: ...


def simulate(
    model: Model | Steps,
    q0: Any = None,
    v0: Any = None,
    duration: float | None = None,
    control: Control | SampledController[Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    t_eval: Any = None,
    *,
    prescribed: Sequence[str] = (),
    locked: Sequence[str] = (),
    passive: Sequence[str] = (),
    changes: Sequence[Latch | Release] = (),
    limits: str = "stop",
    **options: Any,
) -> Trajectory:
    """Simulate the motion of a robot to a tolerance, or of a plant by its own steps.

    A plant is given as `ps.simulate(plant, duration, control=…, step=0.002)`, with q0 and v0 by name: contact, joint
    limits, dry friction and servos are in its step, and `control(t, q, v)` gives a command, once a step.

    Passive joint forces act: damping, springs, and dry friction that can hold a joint at rest. Joints stop at their
    limits, without rebound, and push there as long as something presses them ("limit" and "release" among the events);
    in independent rates (`model.embedded()`) limits are left out, which is told once to the logger `phistar`. Loops are
    kept closed, in position and in velocity, after every step; they must be closed at the start (see `ps.assemble`). A
    loop that cannot be kept closed to 1e-10, where redundant equations of it disagree, is told to the logger too.

    Parameters
    ----------
    model : Model or Plant
    q0, v0 : (nq,), (nv,)
        Where to start.
    duration : float
        [s].
    control : callable or SampledController, optional
        control(t, q, v) → (nv,), joint forces; by default zero. A function must be pure: the integrator tries steps,
        rejects some and looks back, so that it is called at times that fall as well as rise. One that remembers goes in
        as `ps.control.SampledFunction(function, period)`, or as a `SampledController`, which is given q and v: they are
        asked once a period, in the order of time.
    rtol, atol : float, optional
        Tolerances of a step, by default 1e-9 and 1e-12. A plant goes by steps of one length unless it is given rtol,
        which is then relative to 1 m and 1 rad, of places; `step` is then the time between samples.
    t_eval : (T,), optional
        Times of the samples [s]; by default the integrator's own steps.
    prescribed, locked, passive : sequences of str, optional
        Joints of a model that the control does not drive by force: of prescribed ones its entries are accelerations
        (`ps.hybrid_dynamics`), locked ones stay at rest, on passive ones springs and damping alone act. `tau` of the
        trajectory is then the force that each joint needs.
    changes : sequence of Latch and Release, optional
        Loops of a model that close and open on the way, at a time or at an event; rates jump by the least kinetic
        energy. `events` tells them, `summary["changes"]` their impulses and the energy they take.
    limits : "stop" or "ignore"
        Whether the joints of a model stop at their limits.
    **options
        Those of `Plant.simulate`.

    Returns
    -------
    Trajectory
        `t` (T,), `q` (T, nq), `v` (T, nv), `tau` (T, nv). Its signals are `energy` (T,): kinetic, potential and
        elastic; `work` (T,), what joint forces other than springs have done since the start, so that energy − work
        stays where it was but for what joints lose at their limits; `loop_residual` and `loop_rate` (T, rows), g and ġ;
        `loop_rank` and `loop_condition` (T,), those of `ps.loops.loop_report`.

    Raises
    ------
    Stopped
        Where the motion cannot go on; its `result` is the trajectory up to there.

    Examples
    --------
    >>> run = ps.simulate(ps.planar_chain(1), [0.0], [1.0], 2.0, t_eval=[0.0, 1.0, 2.0])
    >>> run.q[:, 0].round(6)
    array([0., 1., 2.])
    """
    if not isinstance(model, Model):
        if prescribed or locked or passive or limits != "stop":
            raise PhistarError("prescribed, locked, passive and limits are a model's, not a plant's.")
        if not hasattr(model, "simulate"):
            raise PhistarError(f"ps.simulate takes a Model or a Plant; it was given {type(model).__name__}.")
        if t_eval is not None:
            raise PhistarError("A plant keeps a state every step=… seconds; t_eval is a model's.")
        options |= {name: own for name, own in (("rtol", rtol), ("atol", atol)) if own is not None}
        options |= {"changes": changes} if changes else {}
        if duration is None:  # simulate(plant, duration, …)
            return model.simulate(q0, control=control, v0=v0, **options)
        return model.simulate(duration, control=control, q0=q0, v0=v0, **options)
    if options or q0 is None or v0 is None or duration is None:
        raise ShapeError("A model is simulated from q0 and v0 for a duration; step=… and the like are a plant's.")
    drives, stops = Drives(model, tuple(prescribed), tuple(locked), tuple(passive)), None
    if check_limits("ps.simulate", limits):
        stops = Stops(model, tuple(drives.is_prescribed.tolist()))
        if model.embedding is not None:
            tell_left_out("ps.simulate", model)
    tolerances = RTOL if rtol is None else rtol, ATOL if atol is None else atol
    return simulate_unchecked(model, q0, v0, duration, control, *tolerances, t_eval, drives, tuple(changes), stops)


def simulate_unchecked(
    model: Model,
    q0: Any,
    v0: Any,
    duration: float,
    control: Any,
    rtol: float,
    atol: float,
    t_eval: Any,
    drives: Drives | None = None,
    changes: tuple[Latch | Release, ...] = (),
    stops: Stops | None = None,
) -> Trajectory:
    """`simulate`, without stops at joint limits unless they are given."""
    start, drives = _start(model, q0, v0), drives or Drives(model)
    drives.check(start[model.nq : -1])
    length, wanted = _span(duration, t_eval)
    held = Held(control) if is_sampled(control) else None
    if held is not None and changes:
        raise PhistarError("Loops change under a control(t, q, v); a sampled controller does not see them come.")
    given = held or control or (lambda t, q, v: np.zeros(model.nv))
    stops = stops if stops is not None and stops.any else None
    if stops is not None:
        stops.check(start[: model.nq])
    forces = lambda t, q, v: _check_forces(model, given(t, q, v), t)  # noqa: E731
    run = Course(drives, forces, rtol, atol, length, changes, stops)
    parts, failure = list[Piece](), None
    try:
        for part in run.pieces(start, wanted, held):
            parts.append(part)
    except ShapeError:
        raise
    except PhistarError as error:
        failure = error
    if failure is not None and (not parts or (held is not None and not held.history)):
        raise failure
    made = _trajectory(drives, parts, given, held, run)
    if failure is not None:
        raise Stopped(f"The simulation of {model.name}: {failure}", made) from failure
    return made


def _trajectory(drives: Drives, parts: list[Piece], given: Any, held: Held | None, run: Course) -> Trajectory:
    """Join the pieces into a trajectory, with signals of their states."""
    model = drives.model
    whole = Piece(*(np.concatenate(each, axis=0) for each in zip(*parts, strict=True)))
    times, q, v, rates = whole.t, np.ascontiguousarray(whole.q), np.ascontiguousarray(whole.v), whole.rates
    closed, tree = model if model.embedding is None else model.embedding.closed, model.tree
    energy = kinetic_energy(tree, q, rates) + potential_energy(tree, q) + Passive(model).elastic_energy(q)
    signals = {"energy": energy, "work": whole.work, **_loop_signals(closed, q, rates)}
    signals |= {} if model.embedding is None else {"tree_rates": rates}
    tau = _sampled_forces(given, held, times, q, v, drives)
    summary = {"changes": run.told_changes} if run.told_changes else {}
    return Trajectory(model, times, q, v, tau, signals=signals, events=tuple(run.events), summary=summary)


def _loop_signals(model: Model, q: np.ndarray, rates: np.ndarray) -> dict[str, np.ndarray]:
    """Loop residual, rate, rank and condition over the motion."""
    report = loop_report(model, q)
    gap, rate = loop_residual(model, q, rates)
    told = left_open(model, gap, report.rank)
    if told is not None:
        _log.warning("%s", told)
    return {"loop_residual": gap, "loop_rate": rate, "loop_rank": report.rank, "loop_condition": report.condition}


def _sampled_forces(
    given: Any, held: Held | None, t: np.ndarray, q: np.ndarray, v: np.ndarray, drives: Drives
) -> np.ndarray:
    """The joints' forces at the samples, (T, nv): the control's, and those that prescribed and locked joints need."""
    model = drives.model
    if held is not None:
        forces = held.at(t)
    else:
        each = [_check_forces(model, given(*sample), sample[0]) for sample in zip(t.tolist(), q, v, strict=True)]
        forces = np.reshape(each, (len(t), model.nv))
    if not drives.any:
        return forces
    own, resisting = drives.forces(forces), Passive(model).smooth(q, v)
    found = drives.accelerations(q, v, own + resisting, forces)
    return np.where(drives.is_prescribed, found.forces - resisting, own)


def _start(model: Model, q0: Any, v0: Any) -> np.ndarray:
    """The state to start from with no work done yet; its loops closed to the last digit."""
    q, v = _one(model.checked_q(q0, "q0"), "q0"), _one(model.checked(v0, model.nv, "v0"), "v0")
    check_closed(model, q, v)
    if model.embedding is not None:
        q = model.embedding.closing(q)
    if model.loops:
        q, v = project(model, q, v)
    return np.concatenate([q, v, [0.0]])


def _one(numbers: np.ndarray, what: str) -> np.ndarray:
    if numbers.ndim != 1:
        taken = f"({numbers.shape[-1]},)"
        raise ShapeError(f"{what} has shape {numbers.shape}; simulate takes one state, {taken}. See ps.rollout.")
    if not np.isfinite(numbers).all():
        raise PhistarError(f"{what} must be finite to start from; it is {numbers.tolist()}.")
    return numbers


def _span(duration: Any, t_eval: Any) -> tuple[float, np.ndarray | None]:
    try:
        length = float(duration)
        wanted = None if t_eval is None else np.asarray(t_eval, dtype=np.float64)
    except (TypeError, ValueError):
        raise ShapeError("duration must be a number, and t_eval an array of numbers (T,).") from None
    if not 0.0 <= length < np.inf:
        raise PhistarError(f"duration must be a finite number of seconds from 0 on; it is {length}.")
    if wanted is not None:
        if wanted.ndim != 1:
            raise ShapeError(f"t_eval has shape {wanted.shape}; it must be (T,).")
        inside = np.all((wanted >= 0.0) & (wanted <= length)) and np.all(np.diff(wanted) > 0.0)
        if not inside:
            raise PhistarError(f"t_eval must increase and lie between 0 and the duration, {length:g}.")
    return length, wanted


def _check_forces(model: Model, tau: Any, t: float) -> np.ndarray:
    forces = model.checked(tau, model.nv, f"control at t = {t:.6g} s")
    if forces.ndim != 1:
        raise ShapeError(f"The control gives shape {forces.shape} at t = {t:.6g} s; it must give ({model.nv},).")
    if not np.isfinite(forces).all():
        raise PhistarError(f"The control gives {forces.tolist()} at t = {t:.6g} s; joint forces must be finite.")
    return forces
