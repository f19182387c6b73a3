"""Costs of an optimal-control problem: ½Σ w r², of residuals r(q, v, u) written with NumPy.

A residual is run once on symbols, so that its derivatives are instructions like its value; targets and weights are
inputs of what is compiled, and change without compiling again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.traces.arrays import traced
from phistar.control.casadi_maps import function_of_state
from phistar.control.control_law import TINY
from phistar.dynamics import center_of_mass, forward_kinematics, frame_velocity, momentum
from phistar.errors import ShapeError
from phistar.model import Model
from phistar.short_repr import short_repr
from phistar.spatial import axial, from_quaternion, to_quaternion, transposed
from phistar.spatial.rotations import log_quaternion

Residual = Callable[[Model, Any, Any, Any, Any], Any]  # (model, q, v, u, target) → (m,)


@short_repr
@dataclass(frozen=True, eq=False)
class Cost:
    """½Σ w r(q, v, u)², with r a function of model, q, v, u and a target.

    `residual(model, q, v, u, target)` gives r (m,); `target` is a vector of numbers, the same at every knot (t,) or its
    own at each (knots, t); `weight` one number, or one for each entry of r. `name` says which it is in messages.
    """

    name: str
    residual: Residual
    target: Array
    weight: Array

    def __post_init__(self) -> None:
        weight, target = (_numbers(f"{self.name}'s {what}", getattr(self, what)) for what in ("weight", "target"))
        if (weight < 0.0).any() or weight.ndim > 1:
            raise ShapeError(f"{self.name}: a weight is one number or a row of them, none negative.")
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "target", np.atleast_1d(target))


def _numbers(what: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{what} must be numbers; it was given {value!r:.100}.") from None
    if not np.isfinite(array).all():
        raise ShapeError(f"{what} has entries that are not finite.")
    return array


def joint_position(q: Any, weight: Any = 1.0) -> Cost:
    """Deviation of the joints from q_d (nq,), q ⊖ q_d: a posture.

    Parameters
    ----------
    q : (nq,) or (knots, nq)
        Where the joints should be.
    weight : float or (nv,)

    Returns
    -------
    Cost

    Examples
    --------
    >>> ps.optimize.joint_position([0.0, 1.0], weight=0.1).name
    'joint position'
    """

    def residual(model: Model, q: Any, v: Any, u: Any, target: Any) -> Any:
        return model.difference(target, q)

    return Cost("joint position", residual, q, weight)


def joint_velocity(weight: Any = 1.0, v: Any = 0.0) -> Cost:
    """Deviation of the joint rates from v (nv,), by default zero.

    Parameters
    ----------
    weight : float or (nv,)
    v : float, (nv,) or (knots, nv)

    Returns
    -------
    Cost

    Examples
    --------
    >>> ps.optimize.joint_velocity(0.1).name
    'joint velocity'
    """
    return Cost("joint velocity", lambda model, q, rates, u, target: rates - target, v, weight)


def control(weight: Any = 1.0, u: Any = 0.0) -> Cost:
    """Deviation of the controls from u (nu,), by default zero.

    Parameters
    ----------
    weight : float or (nu,)
    u : float, (nu,) or (knots, nu)

    Returns
    -------
    Cost

    Examples
    --------
    >>> ps.optimize.control(1e-3).name
    'control'
    """
    return Cost("control", lambda model, q, v, forces, target: forces - target, u, weight)


def frame_position(frame: str, position: Any, weight: Any = 1.0) -> Cost:
    """Deviation of a frame's origin from `position` (3,), world axes.

    Parameters
    ----------
    frame : str
    position : (3,) or (knots, 3)
    weight : float or (3,)

    Returns
    -------
    Cost

    Examples
    --------
    >>> ps.optimize.frame_position("tool", (0.4, 0.0, 0.3)).name
    'position of tool'
    """

    def residual(model: Model, q: Any, v: Any, u: Any, target: Any) -> Any:
        return forward_kinematics(model, q, frame)[:3, 3] - target

    return Cost(f"position of {frame}", residual, position, weight)


def frame_pose(frame: str, pose: Any, weight: Any = 1.0) -> Cost:
    """Deviation of a frame from `pose` (4, 4): [rotation vector of R_d*R; x − x_d].

    Parameters
    ----------
    frame : str
    pose : (4, 4) or (knots, 4, 4)
    weight : float or (6,)
        Angular part first.

    Returns
    -------
    Cost

    Examples
    --------
    >>> ps.optimize.frame_pose("tool", np.eye(4)).target.shape
    (7,)
    """
    place = _numbers(f"the pose of {frame}", pose)
    if place.shape[-2:] != (4, 4) or place.ndim > 3:
        raise ShapeError(f"The pose of {frame} has shape {place.shape}; it must be (4, 4), or (knots, 4, 4).")
    target = np.concatenate([to_quaternion(place[..., :3, :3]), place[..., :3, 3]], axis=-1)

    def residual(model: Model, q: Any, v: Any, u: Any, target: Any) -> Any:
        found = forward_kinematics(model, q, frame)
        turn = np.asarray(np.matmul(transposed(from_quaternion(target[:4])), found[:3, :3]))
        square = np.maximum(traced([1.0 + turn[0, 0] + turn[1, 1] + turn[2, 2]]), TINY)
        doubled = np.sqrt(square)  # 2 cos θ/2
        quaternion = np.concatenate([traced(axial(turn)) / (2.0 * doubled), 0.5 * doubled])
        return np.concatenate([log_quaternion(quaternion), found[:3, 3] - target[4:]])

    return Cost(f"pose of {frame}", residual, target, weight)


def frame_motion(frame: str, weight: Any = 1.0, twist: Any = 0.0) -> Cost:
    """Deviation of a frame's velocity [ω; ẋ], world axes, from `twist` (6,), by default zero.

    Parameters
    ----------
    frame : str
    weight : float or (6,)
    twist : float, (6,) or (knots, 6)

    Returns
    -------
    Cost

    Examples
    --------
    >>> ps.optimize.frame_motion("tool", 0.1).name
    'velocity of tool'
    """

    def residual(model: Model, q: Any, v: Any, u: Any, target: Any) -> Any:
        return frame_velocity(model, q, v, frame) - target

    return Cost(f"velocity of {frame}", residual, twist, weight)


def spatial_momentum(weight: Any = 1.0, target: Any = 0.0) -> Cost:
    """Deviation of the spatial momentum [angular; linear] about the world's origin from `target` (6,), by default zero.

    Parameters
    ----------
    weight : float or (6,)
    target : float, (6,) or (knots, 6)

    Returns
    -------
    Cost

    Examples
    --------
    >>> ps.optimize.spatial_momentum(1e-2).name
    'momentum'
    """
    return Cost("momentum", lambda model, q, v, u, wanted: momentum(model, q, v) - wanted, target, weight)


def mass_center(position: Any, weight: Any = 1.0) -> Cost:
    """Deviation of the centre of mass from `position` (3,), world axes.

    Parameters
    ----------
    position : (3,) or (knots, 3)
    weight : float or (3,)

    Returns
    -------
    Cost

    Examples
    --------
    >>> ps.optimize.mass_center((0, 0, 1)).name
    'center of mass'
    """
    return Cost("center of mass", lambda model, q, v, u, wanted: center_of_mass(model, q) - wanted, position, weight)


def residual(function: Callable[[Any, Any, Any], Any], weight: Any = 1.0, name: str = "residual") -> Cost:
    """Any function r(q, v, u) → (m,) of one state, written with NumPy, as a cost ½Σ w r².

    It is run once on symbols: it must not branch on values. Functions of phistar and `model.difference` take symbols.

    Parameters
    ----------
    function : callable or casadi.Function
        Of columns q, v and u, if it is CasADi's.
    weight : float or (m,)
    name : str
        What it is called in messages.

    Returns
    -------
    Cost

    Examples
    --------
    >>> ps.optimize.residual(lambda q, v, u: np.stack([np.sin(q[0]), q[1]])).name
    'residual'
    """
    own = function_of_state(function)
    return Cost(name, lambda model, q, v, u, target: own(q, v, u), np.zeros(0), weight)
