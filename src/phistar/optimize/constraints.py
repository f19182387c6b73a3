"""Constraints of an optimal-control problem, lower ≤ g(q, v, u) ≤ upper, as costs of an augmented Lagrangian.

½ρ dist²(g + λ/ρ, [lower, upper]) takes the constraint's place, and λ ← ρ (g + λ/ρ − its projection) after each solution
(Rockafellar 1973); an equation has lower = upper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.control.casadi_maps import function_of_state
from phistar.dynamics import forward_kinematics
from phistar.errors import PhistarError, ShapeError
from phistar.model import Model
from phistar.optimize.costs import Cost
from phistar.short_repr import short_repr

BEYOND = 1e12  # stands for no bound: far enough, and its square is a number


@short_repr
@dataclass(frozen=True, eq=False)
class Constraint:
    """lower ≤ g ≤ upper, with `function(model, q, v, u)` giving g (m,); bounds (m,), infinite where there is none."""

    name: str
    function: Callable[[Model, Any, Any, Any], Any]
    lower: Array
    upper: Array

    def __post_init__(self) -> None:
        try:
            lower, upper = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, float)) for x in (self.lower, self.upper)))
        except (TypeError, ValueError):
            raise ShapeError(
                f"The bounds of {self.name} must be numbers, one or a row; not {self.lower!r:.50}."
            ) from None
        if lower.ndim != 1 or np.isnan(lower).any() or np.isnan(upper).any() or (lower > upper).any():
            raise ShapeError(f"The bounds of {self.name} must be numbers with lower ≤ upper.")
        object.__setattr__(self, "lower", np.clip(lower, -BEYOND, BEYOND))
        object.__setattr__(self, "upper", np.clip(upper, -BEYOND, BEYOND))

    def fit_bounds(self, model: Model, controls: int) -> Constraint:
        """The same with bounds of every entry that g has for a robot."""
        state = model.neutral(), np.zeros(model.nv), np.zeros(controls)
        try:
            with np.errstate(all="ignore"):
                shape = np.shape(self.function(model, *state))
        except (TypeError, AttributeError, ValueError, IndexError) as error:
            raise PhistarError(f"The constraint {self.name} does not fit {model.name}: {error}.") from error
        if len(shape) != 1 or len(self.lower) not in (1, *shape):
            raise ShapeError(
                f"The constraint {self.name} gives shape {shape}, its bounds have {len(self.lower)} entries: "
                "it must give a row (m,), with one bound for all or one for each."
            )
        return replace(self, lower=np.broadcast_to(self.lower, shape), upper=np.broadcast_to(self.upper, shape))

    def as_value(self) -> Cost:
        """g as the residual of a cost, for what is compiled of it."""
        return Cost(self.name, lambda model, q, v, u, target: self.function(model, q, v, u), np.zeros(0), np.ones(()))

    def as_cost(self) -> Cost:
        """The cost that takes its place: the target is [lower; upper; λ/ρ], the weight ρ."""
        m = len(self.lower)

        def residual(model: Model, q: Any, v: Any, u: Any, target: Any) -> Any:
            shifted = np.asanyarray(self.function(model, q, v, u)) + target[2 * m :]
            above, below = shifted - target[m : 2 * m], target[:m] - shifted
            return 0.5 * (above + abs(above)) - 0.5 * (below + abs(below))

        return Cost(
            f"constraint {self.name}", residual, np.concatenate([self.lower, self.upper, np.zeros(m)]), np.ones(())
        )


def constraint(
    function: Callable[[Any, Any, Any], Any], lower: Any = -np.inf, upper: Any = np.inf, name: str = "constraint"
) -> Constraint:
    """Bounds on any function of a state, written with NumPy: lower ≤ g(q, v, u) ≤ upper.

    Parameters
    ----------
    function : callable or casadi.Function
        g(q, v, u) → (m,); run once on symbols, so that it must not branch on values.
    lower, upper : float or (m,)
        Bounds, of all entries of g or of each; equal ones make an equation.
    name : str
        What it is called in messages.

    Returns
    -------
    Constraint

    Examples
    --------
    >>> ps.optimize.constraint(lambda q, v, u: q[:1] + q[1:2], upper=1.0).upper
    array([1.])
    """
    own = function_of_state(function)
    return Constraint(name, lambda model, q, v, u: own(q, v, u), lower, upper)


def joint_limits(model: Model) -> Constraint:
    """The joint limits of the model, as a constraint.

    Parameters
    ----------
    model : Model

    Returns
    -------
    Constraint

    Examples
    --------
    >>> ps.optimize.joint_limits(ps.load("puma560")).name
    'joint limits'
    """
    flat = [i for joint in model.joints if joint.kind.flat for i in range(joint.q_slice.start, joint.q_slice.stop)]
    limited = [i for i in flat if np.isfinite(model.lower_limits[i]) or np.isfinite(model.upper_limits[i])]
    if not limited:
        raise ShapeError(f"{model.name} has no joints with limits.")
    lower, upper = model.lower_limits[limited], model.upper_limits[limited]
    return Constraint("joint limits", lambda model, q, v, u: q[limited], lower, upper)


def outside_sphere(frame: str, center: Any, radius: float) -> Constraint:
    """A frame's origin outside a sphere: |x − center|² ≥ radius².

    Parameters
    ----------
    frame : str
    center : (3,)
    radius : float

    Returns
    -------
    Constraint

    Examples
    --------
    >>> ps.optimize.outside_sphere("tool", (0.3, 0.0, 0.4), 0.1).name
    'tool outside a sphere'
    """
    place = np.asarray(center, dtype=float)

    def function(model: Model, q: Any, v: Any, u: Any) -> Any:
        away = forward_kinematics(model, q, frame)[:3, 3] - place
        return np.stack([np.sum(away * away)])

    return Constraint(f"{frame} outside a sphere", function, np.array([radius**2]), np.array([np.inf]))


def frame_at(frame: str, position: Any) -> Constraint:
    """A frame's origin at a given position, as an equality constraint.

    Parameters
    ----------
    frame : str
    position : (3,)

    Returns
    -------
    Constraint

    Examples
    --------
    >>> ps.optimize.frame_at("tool", (0.3, 0.0, 0.4)).name
    'tool at a place'
    """
    place = np.asarray(position, dtype=float)
    return Constraint(f"{frame} at a place", lambda m, q, v, u: forward_kinematics(m, q, frame)[:3, 3], place, place)
