"""`ps.simulate`: one state through time to a tolerance, by an explicit Runge-Kutta method of order 8 (DOP853)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from phistar.dynamics import kinetic_energy, potential_energy
from phistar.errors import ModelError, PhistarError, ShapeError
from phistar.model import Model
from phistar.sim.coordinates import Coordinates
from phistar.sim.passive import Passive
from phistar.sim.sticking import Sticking

Control = Callable[[float, np.ndarray, np.ndarray], Any]  # (t, q, v) → tau

FEWEST_STEPS = 50  # so that a control that acts for a moment is not stepped over, and a plot has points
MOST_CHANGES = 100  # of dry friction at one instant


class Simulation(NamedTuple):
    """t (T,), q (T, nq), v (T, nv), energy (T,): kinetic, potential and elastic; loop_residual (T, rows)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    energy: np.ndarray
    loop_residual: np.ndarray


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
    springs, and dry friction that can hold a joint at rest.
    """
    if model.loops:
        raise ModelError(
            f"{model.name} has loops ({len(model.loops)}), which `simulate` does not keep closed yet; "
            "give model.tree for the motion of its spanning tree."
        )
    start = np.concatenate([_one(model, q0, model.nq, "q0"), _one(model, v0, model.nv, "v0")])
    length, wanted = _span(duration, t_eval)
    passive, coordinates = Passive(model), Coordinates(model)
    control = control or (lambda t, q, v: np.zeros(model.nv))

    def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return _checked(model, control(t, q, v), t) + passive.smooth(q, v)

    run = _Run(coordinates, Sticking(model, force), rtol, atol, length)
    parts = list(run.segments(start, wanted))
    times = np.concatenate([t for t, _ in parts])
    q, v = coordinates.split(np.concatenate([x for _, x in parts], axis=0))
    q = coordinates.unit(q)
    energy = kinetic_energy(model, q, v) + potential_energy(model, q) + passive.elastic_energy(q)
    return Simulation(times, q, v.copy(), energy, np.zeros((len(times), 0)))


class _Run:
    """The integration in segments of smooth motion."""

    def __init__(self, coordinates: Coordinates, motion: Sticking, rtol: float, atol: float, length: float) -> None:
        self.coordinates, self.motion, self.length = coordinates, motion, length
        self.options = {"method": "DOP853", "rtol": rtol, "atol": atol, "max_step": length / FEWEST_STEPS or np.inf}

    def segments(self, x: np.ndarray, wanted: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Times (T,) and states (T, nq + nv) of each segment; a state where two meet is given once."""
        if wanted is None or (len(wanted) and wanted[0] == 0.0):
            yield np.zeros(1), x[None]
        t, changes, modes = 0.0, 0, self.decide(0.0, x)
        while t < self.length:
            ahead = None if wanted is None else wanted[wanted > t]
            found = self.solve(t, x, modes, ahead)
            keep = found.t > t
            yield found.t[keep], found.y.T[keep]
            if found.status == 0:
                return
            happened = [i for i, times in enumerate(found.t_events) if len(times)]
            after, x = found.t_events[happened[0]][0], found.y_events[happened[0]][0]
            changes = changes + 1 if after <= t + 1e-12 * self.length else 0
            t = float(after)
            if changes > MOST_CHANGES:
                raise PhistarError(f"Dry friction does not settle at t = {t:.6g} s; is the control discontinuous?")
            x, modes = self.change(t, x, modes, self.motion.dry[happened])

    def solve(self, t: float, x: np.ndarray, modes: np.ndarray, wanted: np.ndarray | None) -> Any:
        from scipy.integrate import solve_ivp

        motion, split, unit = self.motion, self.coordinates.split, self.coordinates.unit

        def rate(t: float, x: np.ndarray) -> np.ndarray:
            q, v = split(x)
            return np.concatenate([self.coordinates.rate(q, v), motion.acceleration(t, unit(q), v, modes)])

        def event(dof: int) -> Any:
            def margin(t: float, x: np.ndarray) -> float:
                q, v = split(x)
                return motion.margin(t, unit(q), v, modes, dof)

            margin.terminal, margin.direction = True, -1.0  # type: ignore[attr-defined]
            return margin

        events = [event(dof) for dof in motion.dry]
        found = solve_ivp(rate, (t, self.length), x, events=events or None, t_eval=wanted, **self.options)
        if found.status < 0:
            raise PhistarError(
                f"The simulation of {motion.model.name} stopped after t = {_last(found.t, t):.6g} s: {found.message} "
                "The motion may be unstable or the control discontinuous; try a larger rtol, or ps.rollout."
            )
        return found

    def decide(self, t: float, x: np.ndarray) -> np.ndarray:
        q, v = self.coordinates.split(x)
        return self.motion.decide(t, self.coordinates.unit(q), v)

    def change(self, t: float, x: np.ndarray, modes: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """State and modes after the dofs `at` came to rest or broke loose."""
        x = x.copy()
        q, v = self.coordinates.split(x)
        v[at], v[self.motion.stuck(modes)] = 0.0, 0.0
        q[...] = self.coordinates.unit(q)
        return x, self.decide(t, x)


def _last(times: np.ndarray, start: float) -> float:
    return float(times[-1]) if len(times) else start


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
