"""Momentum and its conservation: the centre-of-mass frame, what a tool does on a free base, and motions without
reaction."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.errors import UnknownNameError
from phistar.freeflying.energy import momentum_at_base, whole_mass, wiggle, wiggle_jacobian
from phistar.freeflying.free_base import base_position, base_rotation, check_free_base
from phistar.loops.feasible_rates import closure_jacobian
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.spatial import cross, mass_moment, times, transposed
from phistar.stated import states


def _generalized_jacobian(s: Symbols) -> Node:
    return s.B.T @ s.phi.T @ (s.H.T @ s.N.T + s.pi_f.T @ wiggle(s))


@states(_generalized_jacobian, matrix=True, form=AS_WRITTEN)
def generalized_jacobian(model: Model, q: Any, frame: str) -> Array:
    """Velocity of a frame per joint rate of a robot without momentum, whose base gives way.

    B*φ*(H*N* + π_f*V_WIGGLE): the generalized Jacobian of Umetani and Yoshida, by RJ2W eq. 23.

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.
    frame : str
        A name in `model.frames`.

    Returns
    -------
    (…, 6, n)
        [ω; ẋ] of the frame, in world axes, per joint rate.

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> ps.freeflying.generalized_jacobian(robot, q, robot.bodies[-1].name).shape
    (6, 8)
    """
    check_free_base(model)
    return generalized_jacobian.evaluate(model, q, frames=(frame,))


@states(momentum_at_base, form=AS_WRITTEN)
def _momentum_at_base(model: Model, q: Any, v: Any) -> np.ndarray:
    return _momentum_at_base.evaluate(model, q, {"v": v})


@states(whole_mass, matrix=True, form=AS_WRITTEN)
def mass_at_base(model: Model, q: Any) -> Array:
    """Inertia of the frozen robot as one body, about its base.

    π_f r π_f*, RJ2W's r_f(N+1).

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.

    Returns
    -------
    (…, 6, 6)
        Spatial inertia in the base's frame.

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> bool(np.isclose(ps.freeflying.mass_at_base(robot, q)[3, 3], robot.total_mass))
    True
    """
    check_free_base(model)
    return mass_at_base.evaluate(model, q)


def center_of_mass_in_base(whole: np.ndarray) -> Array:
    """(…, 3), read off the m·p̃ block of the mass at the base (R87 eq. 33)."""
    return mass_moment(whole) / whole[..., 3:4, 3]


@short_repr
class CenterOfMassFrame(NamedTuple):
    """Motion of a free-flying robot about its centre of mass, in world axes.

    Attributes
    ----------
    position, velocity : (…, 3)
        Of the centre of mass [m, m/s].
    inertia : (…, 3, 3)
        Of the frozen robot about it [kg m²].
    angular_momentum : (…, 3)
        About it [N m s].
    angular_velocity : (…, 3)
        Of the frozen robot that has this angular momentum [rad/s].

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> ps.freeflying.center_of_mass_frame(robot, q, np.eye(robot.nv)[3]).velocity.round(9) + 0.0
    array([1., 0., 0.])
    """

    position: Array
    velocity: Array
    inertia: Array
    angular_momentum: Array
    angular_velocity: Array


def center_of_mass_frame(model: Model, q: Any, v: Any) -> CenterOfMassFrame:
    """Centre of mass, inertia and angular momentum about it: what no joint force can change.

    Read off π_f r π_f* and π_fφMV at the base, so that the distance from the world's origin costs no digits.

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.
    v : (…, nv)
        Rates, the base's [ω; v] in its own frame first.

    Returns
    -------
    CenterOfMassFrame

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> ps.freeflying.center_of_mass_frame(robot, q, np.eye(robot.nv)[3]).velocity.round(9) + 0.0
    array([1., 0., 0.])
    """
    check_free_base(model)
    whole, moved = np.asarray(mass_at_base(model, q)), np.asarray(_momentum_at_base(model, q, v))
    q = model.checked_q(q)
    turn, mass = base_rotation(model, q), whole[..., 3:4, 3]
    arm = center_of_mass_in_base(whole)
    linear = moved[..., 3:]
    spin = moved[..., :3] - cross(arm, linear)
    outer = arm[..., :, None] * arm[..., None, :]
    across = np.sum(arm * arm, axis=-1, keepdims=True)[..., None] * np.eye(3) - outer
    inertia = whole[..., :3, :3] - mass[..., None] * across
    world_spin, world_inertia = times(turn, spin), np.matmul(np.matmul(turn, inertia), transposed(turn))
    return CenterOfMassFrame(
        base_position(model, q) + times(turn, arm),
        times(turn, linear) / mass,
        world_inertia,
        world_spin,
        _solve(world_inertia, world_spin),
    )


def _solve(inertia: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """I⁻¹L by the cross products of I's columns, on floats and on traced numbers."""
    x, y, z = (inertia[..., :, i] for i in range(3))
    rows = [cross(y, z), cross(z, x), cross(x, y)]
    volume = np.sum(x * rows[0], axis=-1)
    return np.stack([np.sum(row * spin, axis=-1) / volume for row in rows], axis=-1)


def momentum(model: Model, q: Any, v: Any) -> Array:
    """Angular and linear momentum about the centre of mass, which stay the same while nothing pushes the robot.

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.
    v : (…, nv)
        Rates, the base's [ω; v] in its own frame first.

    Returns
    -------
    (…, 6)
        [L; p] in world axes [N m s, N s].

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> v = np.eye(robot.nv)[3]
    >>> bool(np.isclose(ps.freeflying.momentum(robot, q, v)[3], robot.total_mass))
    True
    """
    frame = center_of_mass_frame(model, q, v)
    return np.concatenate([frame.angular_momentum, model.total_mass * frame.velocity], axis=-1)


ROWS = {"attitude": slice(0, 3), "pose": slice(0, 6)}


def reaction_null_space(model: Model, q: Any, keep: str = "attitude", tolerance: float = 1e-9) -> Array:
    """Projector onto joint rates that do not disturb the base.

    1 − W⁺W, with W the rows of the wiggle Jacobian that are to stay zero, and those of the closures of loops.

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.
    keep : "attitude" or "pose"
        What of the base is to keep still.
    tolerance : float
        Directions that move the base less than this times the strongest count as free of reaction.

    Returns
    -------
    (…, n, n)

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> rates = ps.freeflying.reaction_null_space(robot, q) @ np.ones(8)
    >>> bool(np.allclose(ps.freeflying.wiggle_velocity(robot, q, rates)[:3], 0))
    True
    """
    if keep not in ROWS:
        raise UnknownNameError(f"reaction_null_space keeps 'attitude' or 'pose' of the base; {keep!r} is neither.")
    rows = wiggle_jacobian(model, q)[..., ROWS[keep], :]
    if model.loops:
        rows = np.concatenate([rows, closure_jacobian(model, q)[..., model.joints[0].nv :]], axis=-2)
    return np.eye(rows.shape[-1]) - np.matmul(np.linalg.pinv(rows, rcond=tolerance), rows)
