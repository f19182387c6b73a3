"""`ps.simulate`: one state through time to a tolerance, by an explicit Runge-Kutta method of order 8 (DOP853)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from phistar.dynamics import kinetic_energy, potential_energy
from phistar.errors import PhistarError, ShapeError
from phistar.loops.forces import loop_report
from phistar.loops.residual import left_open, loop_residual, projected
from phistar.model import Model
from phistar.sim.closing import check_closed
from phistar.sim.coordinates import Coordinates
from phistar.sim.passive import Passive
from phistar.sim.stepping import Segment, integrated
from phistar.sim.sticking import Sticking

Control = Callable[[float, np.ndarray, np.ndarray], Any]  # (t, q, v) → tau

_log = logging.getLogger("phistar")
FEWEST_STEPS = 50  # so that a control that acts for a moment is not stepped over, and a plot has points
MOST_CHANGES = 100  # of dry friction at one instant


class Simulation(NamedTuple):
    """t (T,), q (T, nq), v (T, nv), energy (T,): kinetic, potential and elastic; loop_residual (T, rows).

    `work` (T,) is what joint forces other than springs have done since the start, so that energy − work stays where it
    was; `loop_rate` (T, rows) is ġ; `loop_rank` and `loop_condition` (T,) are those of `ps.loops.loop_report`.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    energy: np.ndarray
    loop_residual: np.ndarray
    work: np.ndarray
    loop_rate: np.ndarray
    loop_rank: np.ndarray
    loop_condition: np.ndarray


def simulate(
    model: Model,
    q0: Any,
    v0: Any,
    duration: float,
    control: Control | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-12,
    t_eval: Any = None,
) -> Simulation:
    """The motion from q0 (nq,), v0 (nv,) under joint forces control(t, q, v) → (nv,); None is zero.

    Samples are at the times `t_eval` (T,), or at the integrator's own steps. Passive joint forces act: damping,
    springs, and dry friction that can hold a joint at rest. Loops are kept closed, in position and in velocity, after
    every step; they must be closed at the start (see `ps.assemble`). A loop that cannot be kept closed to 1e-10, where
    redundant equations of it disagree, is told to the logger `phistar`.
    """
    start = _start(model, q0, v0)
    length, wanted = _span(duration, t_eval)
    passive, coordinates = Passive(model), Coordinates(model)
    control = control or (lambda t, q, v: np.zeros(model.nv))

    def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return _checked(model, control(t, q, v), t) + passive.smooth(q, v)

    run = _Run(coordinates, Sticking(model, force), rtol, atol, length)
    parts = list(run.segments(start, wanted))
    times, states = np.concatenate([t for t, _ in parts]), np.concatenate([x for _, x in parts], axis=0)
    states = run.settle(states)
    (q, v), work = coordinates.split(states[:, :-1]), states[:, -1].copy()
    q, v = np.ascontiguousarray(coordinates.unit(q)), np.ascontiguousarray(v)
    energy = kinetic_energy(model, q, v) + potential_energy(model, q) + passive.elastic_energy(q)
    report = loop_report(model, q)
    gap, rate = loop_residual(model, q, v)
    told = left_open(model, gap, report.rank)
    if told is not None:
        _log.warning("%s", told)
    return Simulation(times, q, v, energy, gap, work, rate, report.rank, report.condition)


def _start(model: Model, q0: Any, v0: Any) -> np.ndarray:
    """The state to start from with no work done yet; its loops closed to the last digit."""
    q, v = _one(model, q0, model.nq, "q0"), _one(model, v0, model.nv, "v0")
    check_closed(model, q, v)
    if model.loops:
        q, v = projected(model, q, v)
    return np.concatenate([q, v, [0.0]])


class _Run:
    """The integration in segments of smooth motion."""

    def __init__(self, coordinates: Coordinates, motion: Sticking, rtol: float, atol: float, length: float) -> None:
        self.coordinates, self.motion, self.length = coordinates, motion, length
        self.options = {"rtol": rtol, "atol": atol, "max_step": length / FEWEST_STEPS or np.inf}

    def segments(self, x: np.ndarray, wanted: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Times (T,) and states (T, nq + nv + 1) of each segment; a state where two meet is given once."""
        if wanted is None or (len(wanted) and wanted[0] == 0.0):
            yield np.zeros(1), x[None]
        t, changes, modes = 0.0, 0, self.decide(0.0, x)
        while t < self.length:
            ahead = None if wanted is None else wanted[wanted > t]
            found = self.solve(t, x, modes, ahead)
            yield found.t, found.x
            if not found.events:
                return
            after, x = found.end
            changes = changes + 1 if after <= t + 1e-12 * self.length else 0
            t = after
            if changes > MOST_CHANGES:
                raise PhistarError(f"Dry friction does not settle at t = {t:.6g} s; is the control discontinuous?")
            x, modes = self.change(t, x, modes, self.motion.dry[list(found.events)])

    def solve(self, t: float, x: np.ndarray, modes: np.ndarray, wanted: np.ndarray | None) -> Segment:
        motion, split, unit = self.motion, self.coordinates.split, self.coordinates.unit

        def rate(t: float, x: np.ndarray) -> np.ndarray:
            if not np.isfinite(x).all():
                return np.full_like(x, np.nan)  # a step too long, tried beyond all numbers: the method takes a shorter
            q, v = split(x[:-1])
            acceleration, power = motion.driven(t, unit(q), v, modes)
            return np.concatenate([self.coordinates.rate(q, v), acceleration, [power]])

        def margin(dof: int) -> Any:
            def value(t: float, x: np.ndarray) -> float:
                q, v = split(x[:-1])
                return motion.margin(t, unit(q), v, modes, dof)

            return value

        margins = [margin(dof) for dof in motion.dry]
        with np.errstate(over="ignore", invalid="ignore"):
            found = integrated(rate, (t, self.length), x, wanted, self.settle, margins, self.options)
        if found.message is not None:
            raise PhistarError(
                f"The simulation of {motion.model.name} stopped after t = {found.end[0]:.6g} s: {found.message} "
                "The motion may be unstable or the control discontinuous; try a larger rtol, or ps.rollout."
            )
        return found

    def settle(self, x: np.ndarray) -> np.ndarray:
        """States (…, nq + nv + 1) with their loops closed."""
        model = self.motion.model
        if not model.loops:
            return x
        q, v = self.coordinates.split(x[..., :-1])
        q, v = projected(model, self.coordinates.unit(q), v)
        return np.concatenate([q, v, x[..., -1:]], axis=-1)

    def decide(self, t: float, x: np.ndarray) -> np.ndarray:
        q, v = self.coordinates.split(x[:-1])
        return self.motion.decide(t, self.coordinates.unit(q), v)

    def change(self, t: float, x: np.ndarray, modes: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """State and modes after the dofs `at` came to rest or broke loose."""
        resting = np.concatenate([at, self.motion.stuck(modes)])
        x = x.copy()
        q, v = self.coordinates.split(x[:-1])
        v[resting], q[...] = 0.0, self.coordinates.unit(q)
        x = self.settle(x)
        self.coordinates.split(x[:-1])[1][resting] = 0.0  # closing loops leaves a last digit, which is no direction
        return x, self.decide(t, x)


def _one(model: Model, array: Any, size: int, what: str) -> np.ndarray:
    numbers = model.checked(array, size, what)
    if numbers.ndim != 1:
        raise ShapeError(f"{what} has shape {numbers.shape}; simulate takes one state, ({size},). See ps.rollout.")
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


def _checked(model: Model, tau: Any, t: float) -> np.ndarray:
    forces = model.checked(tau, model.nv, f"control at t = {t:.6g} s")
    if forces.ndim != 1:
        raise ShapeError(f"The control gives shape {forces.shape} at t = {t:.6g} s; it must give ({model.nv},).")
    if not np.isfinite(forces).all():
        raise PhistarError(f"The control gives {forces.tolist()} at t = {t:.6g} s; joint forces must be finite.")
    return forces
