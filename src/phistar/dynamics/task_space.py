"""The robot as felt at its frames: mobility and operational space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.backends.programs.conditioning import (
    OperationalSpace,
    check_directions,
    chosen_inverse,
    refuse_lost_directions,
)
from phistar.backends.traces.solve import solve_task
from phistar.dynamics.frame_motion import task_frames
from phistar.dynamics.joint_space import force_response
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.stated import is_short_and_coupled, states


def _mobility(s: Symbols) -> Node:
    return s.J @ s.mass.inv @ s.J.T


@states(
    lambda s: {
        "inertia": _mobility(s).inv,
        "coriolis": _mobility(s).inv @ (s.J @ s.mass.inv @ s.C - s.Jdot_v),
        "gravity": _mobility(s).inv @ s.J @ s.mass.inv @ s.g,
    },
    matrix=True,
)
def operational_space(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frame: str | Sequence[str],
    *,
    damping: float = 0.0,
    truncation: float = 0.0,
) -> OperationalSpace:
    """Inertia, Coriolis force and weight of the robot as felt at one or more frames.

    Λ(0)β̇ + c(0) + g(0) = F(0), with Λ = (Jℳ⁻¹J*)⁻¹ (KJR92 eqs. 61, 64, 71). With loops, the closed chain's, Ω =
    Jℳ⁻¹J* − Jℳ⁻¹A*(Aℳ⁻¹A*)⁺Aℳ⁻¹J* (RJK91 eq. 26). Where a direction is lost Λ does not exist: the rows are NaN, and
    `rank` and `condition` tell.

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.
    frame : str or sequence of str
        A name in `model.frames`, or m of them, stacked.
    damping, truncation : float, optional
        δ: take (Ω + δs)⁻¹ for Λ, s the mean of Ω's diagonal; ε: leave out directions with Ω below ε of its greatest.

    Returns
    -------
    OperationalSpace
        `inertia` (…, 6m, 6m), `coriolis` and `gravity` (…, 6m).

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> space = ps.operational_space(arm, [0, -1, 1, 1, 1, 0], np.zeros(6), "tool")
    >>> space.inertia.shape, bool(space.rank == 6)
    ((6, 6), True)
    """
    frames = task_frames(frame)
    if damping or truncation or model.loops:
        mobility, coriolis, gravity = task_mobility(model, q, v, frames)
        if damping or truncation:
            inverse = chosen_inverse(mobility, damping, truncation)
        else:
            check_directions(model, frames)
            inverse = solve_task(mobility, np.broadcast_to(np.eye(mobility.shape[-1]), mobility.shape))
        forces = np.matmul(inverse, np.stack([coriolis, gravity], axis=-1))
        return OperationalSpace(inverse, forces[..., 0], forces[..., 1], lambda: mobility)
    found = operational_space.evaluate_all(model, q, {"v": v}, frames)
    refuse_lost_directions(model, frames, found)
    return OperationalSpace(**found, mobility=lambda: task_mobility(model, q, v, frames).mobility)


@states(_mobility, matrix=True, whole=is_short_and_coupled)
def mobility(model: Model, q: ArrayLike, frame: str | Sequence[str]) -> Array:
    """Accelerations that forces at frames give those frames: the inverse of the operational-space inertia.

    Ω(0) = Jℳ⁻¹J* (RJK91 eq. 19, KJR92 eq. 11). With loops, Jℳ⁻¹J* − Jℳ⁻¹A*(Aℳ⁻¹A*)⁺Aℳ⁻¹J* (RJK91 eq. 26).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    frame : str or sequence of str
        A name in `model.frames`, or m of them, stacked.

    Returns
    -------
    (…, 6m, 6m)
        Symmetric; exists in every configuration.

    Examples
    --------
    >>> float(ps.mobility(ps.planar_chain(2), [0, 0], "tip")[4, 4].round(3))
    3.417
    """
    if model.loops:
        from phistar.loops.closed_response import closed_mobility  # made of this module's statements

        return closed_mobility(model, q, task_frames(frame))
    return mobility.evaluate(model, q, frames=task_frames(frame))


@short_repr
class TaskMobility(NamedTuple):
    """Ω(0) (…, 6m, 6m), Ω(0)c(0) and Ω(0)g(0) (…, 6m): what operational space is solved from; exists everywhere."""

    mobility: Array
    coriolis: Array
    gravity: Array


@states(
    lambda s: {
        "mobility": _mobility(s),
        "coriolis": s.J @ s.mass.inv @ s.C - s.Jdot_v,
        "gravity": s.J @ s.mass.inv @ s.g,
    },
    matrix=True,
    whole=is_short_and_coupled,
)
def task_mobility(model: Model, q: ArrayLike, v: ArrayLike, frame: str | Sequence[str]) -> TaskMobility:
    """Mobility of frames with its Coriolis and gravity parts: operational space without its inverse.

    Ω(0) = Jℳ⁻¹J*, Ω(0)c(0) = Jℳ⁻¹𝒞 − J̇θ̇ and Ω(0)g(0) = Jℳ⁻¹𝒢 (KJR92 eqs. 60, 65, 72); with loops, the closed chain's
    (RJK91 eq. 26).

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.
    frame : str or sequence of str
        A name in `model.frames`, or m of them, stacked.

    Returns
    -------
    TaskMobility
        `mobility` (…, 6m, 6m), `coriolis` and `gravity` (…, 6m).

    Examples
    --------
    >>> found = ps.task_mobility(ps.planar_chain(2), [0, 0], [1, 0], "tip")
    >>> float(found.mobility[4, 4].round(3)), found.coriolis.shape
    (3.417, (6,))
    """
    if model.loops:
        from phistar.loops.closed_response import closed_task_mobility  # made of this module's statements

        return closed_task_mobility(model, q, v, task_frames(frame))
    return TaskMobility(**task_mobility.evaluate_all(model, q, {"v": v}, task_frames(frame)))


@states(lambda s: -(s.mass.inv @ s.J.T @ s.f), whole=is_short_and_coupled)
def tip_acceleration_change(model: Model, q: ArrayLike, frame: str, force: ArrayLike) -> Array:
    """Change of the joint accelerations by a force that the tip exerts.

    Δθ̈ = −ℳ⁻¹J*f(0) (RJK91 eq. 18), loops kept closed. The paper's f(0) is exerted *by* the frame: it has the opposite
    sign of an `f_ext`.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    frame : str
        A name in `model.frames`.
    force : (…, 6)
        [moment; force] [N m, N] in world axes at the frame.

    Returns
    -------
    (…, nv)
        Change of the joint accelerations [rad/s², m/s²].

    Examples
    --------
    >>> ps.tip_acceleration_change(ps.planar_chain(2), [0, 0], "tip", [0, 0, 0, 0, 1, 0]).round(3)
    array([ 0.849, -5.115])
    """
    if model.loops:
        return force_response(model, q, np.zeros(model.nv), {frame: -np.asarray(force)})
    return tip_acceleration_change.evaluate(model, q, {"f": force}, frames=(frame,))
