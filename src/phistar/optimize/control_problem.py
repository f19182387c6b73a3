"""An optimal-control problem: a robot, how long, what it costs, what must hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.choice import compilable
from phistar.derivatives import forward_dynamics_derivatives
from phistar.dynamics import forward_dynamics, gravity_load
from phistar.errors import ModelError, PhistarError, ShapeError
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.optimize.constraints import Constraint
from phistar.optimize.costs import Cost
from phistar.optimize.plant_steps import (
    PlantTransition,
    PlantTrials,
    command_ranges,
    force_map,
    holding_command,
)
from phistar.optimize.quadratic import CostKernel
from phistar.optimize.solution import Solution
from phistar.optimize.transition import Transition
from phistar.optimize.trials import Trials
from phistar.plant.plant import Plant
from phistar.short_repr import short_repr
from phistar.steps.sweep import RiccatiSweep

KERNELS = ("running_kernel", "terminal_kernel", "constraint_values", "terminal_constraint_values")
SHARED = ("transition", "trials", *KERNELS, "sweep", "turn")
"""What problems share that differ in where they start."""


@short_repr
@dataclass(frozen=True, eq=False)
class Problem:
    """An optimal-control problem; `solve` finds the motion of least cost. Made by `ps.optimize.problem`."""

    model: Model
    q0: Array
    v0: Array
    h: Array  # the lengths of the steps, (N,)
    running: tuple[Cost, ...]
    terminal: tuple[Cost, ...]
    constraints: tuple[Constraint, ...]
    terminal_constraints: tuple[Constraint, ...]
    actuation: Array
    control_names: tuple[str, ...]  # of the joints or actuators that the controls drive
    low: Array
    high: Array
    passive: bool
    plant: Plant | None = None

    @property
    def steps(self) -> int:
        return len(self.h)

    @property
    def controls(self) -> int:
        """Number of controls."""
        return self.actuation.shape[1]

    @cached_property
    def is_bounded(self) -> bool:
        """Whether any control has bounds."""
        return bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())

    @cached_property
    def times(self) -> Array:
        """The knots' times (N + 1,), s."""
        return np.concatenate([[0.0], np.cumsum(self.h)])

    @cached_property
    def transition(self) -> Transition | PlantTransition:
        if self.plant is not None:
            return PlantTransition(self.plant)
        return Transition(self.model, self.actuation, self.passive)

    @cached_property
    def trials(self) -> Trials | PlantTrials:
        if self.plant is not None:
            return PlantTrials(self.plant, self.running_kernel)
        return Trials(self.model, self.actuation, self.passive, self.running_kernel)

    @cached_property
    def running_kernel(self) -> CostKernel:
        return CostKernel(self.model, self.controls, (*self.running, *(c.as_cost() for c in self.constraints)))

    @cached_property
    def terminal_kernel(self) -> CostKernel:
        made = (c.as_cost() for c in self.terminal_constraints)
        return CostKernel(self.model, self.controls, (*self.terminal, *made))

    @cached_property
    def constraint_values(self) -> CostKernel:
        """The constraints' own values, as residuals."""
        return CostKernel(self.model, self.controls, tuple(c.as_value() for c in self.constraints))

    @cached_property
    def terminal_constraint_values(self) -> CostKernel:
        return CostKernel(self.model, self.controls, tuple(c.as_value() for c in self.terminal_constraints))

    @cached_property
    def sweep(self) -> RiccatiSweep:
        """The memory of the sweeps, which one solution at a time works in."""
        at = self.transition
        return RiccatiSweep(self.steps, 2 * self.model.nv, self.controls, at.places, at.curved)

    @cached_property
    def turn(self) -> Lock:
        """Whose turn it is to work in the sweep's memory, of several threads."""
        return Lock()

    def starting_from(self, q0: Any, v0: Any) -> Problem:
        """The same problem from another state; nothing is compiled again."""
        made = Problem(**{name: getattr(self, name) for name in self.__dataclass_fields__})
        object.__setattr__(made, "q0", self.model.checked_q(q0, "q0"))
        object.__setattr__(made, "v0", self.model.checked(v0, self.model.nv, "v0"))
        for name in SHARED:
            made.__dict__[name] = getattr(self, name)
        return made

    def guess(self, q: Any = None, v: Any = None, u: Any = None) -> tuple[Array, Array, Array]:
        """Knots to start from: what is given, else the robot where it starts, held against gravity."""
        N, model = self.steps, self.model
        q = np.broadcast_to(self.q0 if q is None else model.checked_q(q, "q"), (N + 1, model.nq)).copy()
        v = np.broadcast_to(np.zeros(model.nv) if v is None else model.checked(v, model.nv, "v"), (N + 1, model.nv))
        if u is None:
            u = np.clip(self._holding(q[:-1]), self.low, self.high)
        forces = np.asarray(u, dtype=float)
        if forces.shape not in ((N, self.controls), (self.controls,)):
            raise ShapeError(f"u has shape {forces.shape}; it must be ({N}, {self.controls}) or ({self.controls},).")
        v, q[0] = v.copy(), self.q0
        v[0] = self.v0
        for name, array in (("q", q), ("v", v), ("u", np.broadcast_to(forces, (N, self.controls)))):
            bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
            if len(bad):
                raise ShapeError(f"The guess of {name} is not finite at {len(bad)} knots, the first is {bad[0]}.")
        return q, v, np.broadcast_to(forces, (N, self.controls)).copy()

    def _holding(self, q: Array) -> Array:
        """Controls (N, nu) that hold the robot still at q (N, nq), or nearly where it lacks motors."""
        if self.plant is not None:
            return np.stack([holding_command(self.plant, each) for each in q])
        model, places = self.model, np.argmax(self.actuation, axis=0)
        if not model.loops:
            return gravity_load(model, q)[:, places]
        still = np.zeros(model.nv)  # what closes the loops carries a part
        falling, moved = (x[0] for x in (forward_dynamics(model, q[:1], still, still), self._mobility(q[:1])))
        return np.broadcast_to(np.linalg.lstsq(moved[:, places], -falling, rcond=1e-9)[0], (len(q), self.controls))

    def _mobility(self, q: Array) -> Array:
        still = np.zeros((len(q), self.model.nv))
        return forward_dynamics_derivatives(self.model, q, still, still).dtau

    def solve(
        self,
        q: Any = None,
        v: Any = None,
        u: Any = None,
        *,
        tolerance: float = 1e-9,
        iterations: int = 200,
        constraint_tolerance: float = 1e-6,
        regularization: float = 1e-9,
        second_order: bool = False,
        deadline: float | None = None,
    ) -> Solution:
        """The motion of least cost, by feasibility-driven differential dynamic programming.

        Parameters
        ----------
        q, v, u : (N + 1, nq), (N + 1, nv), (N, nu), optional
            A first guess, which need not be a motion: an earlier `Solution`'s are a warm start.
        tolerance : float
            Of the decrease of the cost that is still expected, relative to the cost.
        iterations : int
            Most iterations, of all multipliers together.
        constraint_tolerance : float
            By how much constraints may be violated, in their own units.
        regularization : float
            What is added at first to the diagonals of the cost to go and of the controls' Hessian.
        second_order : bool
            Whether the curvature of the dynamics counts (differential dynamic programming proper), else that of the
            costs alone (Gauss and Newton's). Of robots without loops, free bases among them.
        deadline : float, optional
            Seconds of computing after which no new iteration begins.

        Returns
        -------
        Solution
        """
        from phistar.optimize.multipliers import Ends, solve_constrained

        ends = Ends(tolerance, iterations, constraint_tolerance, deadline, second_order)
        guess = self.guess(q, v, u)
        with self.turn:
            return solve_constrained(self, guess, ends, regularization)


def problem(
    model: Model | Plant,
    q0: Any = None,
    v0: Any = None,
    *,
    dt: Any,
    steps: int | None = None,
    running: Sequence[Cost] = (),
    terminal: Sequence[Cost] = (),
    constraints: Sequence[Constraint] = (),
    terminal_constraints: Sequence[Constraint] = (),
    actuated: Sequence[str] | None = None,
    limits: Any = None,
    passive: bool = True,
) -> Problem:
    """An optimal-control problem: the motion of a robot from a state, of least cost over a number of steps.

    Least Σ h ℓ(q, v, u) + ℓ_N(q, v) over v' = v + h θ̈(q, v, u), q' = q ⊕ h v' (semi-implicit Euler steps, controls held
    over each). Running costs are rates: they are multiplied by the length of the step.

    Parameters
    ----------
    model : Model or Plant
        A robot. Its loops stay closed, as accelerations have it: feet that stand are loops to the world. Or a plant:
        the steps are then its own, with contact, limits and servos, the controls are its commands, and states that it
        would remember beside q and v (bristles) start anew each step.
    q0, v0 : (nq,), (nv,)
        Where it starts; at rest, and a plant in its own state, by default.
    dt, steps : float or (steps,), int
        Length of a step [s], and how many.
    running, terminal : sequences of Cost
        Costs along the way and at its end: `ps.optimize.frame_pose`, `joint_position`, `control`, `residual`, …
    constraints, terminal_constraints : sequences of Constraint
        What must hold at every knot but the last, and at the last: `ps.optimize.constraint`, `joint_limits`, …
    actuated : list of joint names, optional
        Joints whose forces are the controls, in this order; by default every joint but a free base. Not of a plant.
    limits : pair of arrays (nu,), or "effort", optional
        Least and greatest controls, or those that the model's joints have; by default a plant's ranges of commands.
    passive : bool
        Whether springs and damping of the joints act.

    Returns
    -------
    Problem
        `solve()` gives the motion.

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> reach = ps.optimize.problem(
    ...     arm, [0.1, 0.2], dt=0.02, steps=50,
    ...     running=[ps.optimize.control(1e-3)], terminal=[ps.optimize.joint_position([1.0, -0.5], 100.0),
    ...     ps.optimize.joint_velocity(10.0)])
    >>> found = reach.solve()
    >>> found.converged, bool(np.abs(found.q[-1] - [1.0, -0.5]).max() < 0.01)
    (True, True)
    """
    plant, robot = (model, model.model) if isinstance(model, Plant) else (None, model)
    check_robot("problem", (robot,))
    if not robot.nv or not compilable(robot):
        raise ModelError(f"{robot.name} has {len(robot.bodies)} bodies: none that moves, or too many to write out.")
    start = _start(robot, plant, q0, v0)
    matrix, names = _actuation(robot, actuated) if plant is None else _commands(plant, actuated)
    low, high = command_ranges(plant) if plant and limits is None else _bounds(robot, matrix, names, limits)
    lists = _as_tuple(running, Cost), _as_tuple(terminal, Cost)
    held = _fit_constraints(constraints, robot, names), _fit_constraints(terminal_constraints, robot, names)
    if not (lists[0] or lists[1]):
        raise PhistarError("A problem without costs has no best motion; give running or terminal costs.")
    return Problem(robot, *start, _lengths(dt, steps), *lists, *held, matrix, tuple(names), low, high, passive, plant)


def _start(model: Model, plant: Plant | None, q0: Any, v0: Any) -> tuple[Array, Array]:
    """The state from which a problem starts, checked."""
    if plant is not None:
        q0, v0 = (known if given is None else given for given, known in zip((q0, v0), plant.state()[:2], strict=True))
    elif q0 is None:
        raise ShapeError("A problem starts from one finite state: q0 (nq,) was not given.")
    start = model.checked_q(q0, "q0"), model.checked(np.zeros(model.nv) if v0 is None else v0, model.nv, "v0")
    if any(x.ndim != 1 or not np.isfinite(x).all() for x in start):
        raise ShapeError("A problem starts from one finite state: q0 (nq,), v0 (nv,).")
    return start


def _commands(plant: Plant, actuated: Any) -> tuple[Array, list[str]]:
    """The joint forces of a plant's commands, and their actuators' names."""
    if actuated is not None:
        raise PhistarError("The controls of a plant are the commands of its actuators; plant.actuate(…) says which.")
    if not plant.nu:
        raise PhistarError("The plant has no actuators, so that nothing can be decided; plant.actuate(…) adds some.")
    return force_map(plant), [each.name for each in plant.actuators for _ in range(each.entries)]


def _as_tuple(given: Any, kind: type) -> tuple[Any, ...]:
    items = (given,) if isinstance(given, kind) else tuple(given)
    for item in items:
        if not isinstance(item, kind):
            raise PhistarError(f"{item!r:.100} is no {kind.__name__}; see ps.optimize for those there are.")
    return items


def _fit_constraints(given: Any, model: Model, controls: Sequence[str]) -> tuple[Constraint, ...]:
    """Constraints with a bound for every entry."""
    return tuple(each.fit_bounds(model, len(controls)) for each in _as_tuple(given, Constraint))


def _lengths(dt: Any, steps: int | None) -> Array:
    h = np.asarray(dt, dtype=float)
    if h.ndim == 0 and steps is not None:
        h = np.full(int(steps), float(h))
    if h.ndim != 1 or not len(h) or not (h > 0.0).all() or not np.isfinite(h).all() or steps not in (None, len(h)):
        raise ShapeError(
            f"dt and steps must say one positive length for each of at least one step; {dt!r:.50}, {steps}."
        )
    return h


def _actuation(model: Model, actuated: Sequence[str] | None) -> tuple[Array, list[str]]:
    """The joint forces (nv,) that each control makes, and the joints' names, one for each control."""
    chosen = [joint for joint in model.joints if joint.nv < 6] if actuated is None else None
    if chosen is None:
        chosen = [model.joint(name) for name in ([actuated] if isinstance(actuated, str) else actuated or ())]
    places = [i for joint in chosen for i in range(joint.v_slice.start, joint.v_slice.stop)]
    if not places:
        raise PhistarError("No joint is actuated; name some.")
    return np.eye(model.nv)[:, places], [joint.name for joint in chosen for _ in range(joint.nv)]


def _bounds(model: Model, matrix: Array, names: list[str], limits: Any) -> tuple[Array, Array]:
    count = len(names)
    if limits is None:
        return np.full(count, -np.inf), np.full(count, np.inf)
    if isinstance(limits, str):
        if limits != "effort":
            raise PhistarError(f'limits are "effort" or a pair of arrays, not {limits!r:.50}.')
        effort = model.effort_limits[np.argmax(matrix, axis=0)]
        return -effort, effort
    try:
        low, high = (np.broadcast_to(np.asarray(x, dtype=float), (count,)).copy() for x in limits)
    except (TypeError, ValueError):
        raise ShapeError(f"limits must be a pair of numbers or of arrays ({count},).") from None
    if not (low <= high).all():
        worst = int(np.argmin(high - low))
        raise ShapeError(f"The least force of {names[worst]}, {low[worst]:g}, is above its greatest, {high[worst]:g}.")
    return low, high
