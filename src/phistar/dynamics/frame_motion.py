"""Motion of frames: poses, Jacobians, velocities and accelerations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.backends.choice import TRACED
from phistar.backends.kernel import Kernel, compile_trace, units_of
from phistar.backends.machine.threads import spread
from phistar.backends.programs.program import frame_pose, way_to
from phistar.backends.rolled.plan import Plan
from phistar.backends.rolled_kernel import compile_plan
from phistar.backends.traces.trace import is_traced
from phistar.backends.wide_kernel import wide_frame_poses
from phistar.errors import UnknownNameError
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.model.names import names_given
from phistar.recording import record
from phistar.stated import states
from phistar.sweeps.lower import lower_frame_poses

POSES = "_poses"  # where a model keeps its frames' entries for one state


@states(lambda s: s.J, matrix=True)
def jacobian(model: Model, q: ArrayLike, frame: str) -> Array:
    """Jacobian of a frame: its angular and linear velocity per joint rate.

    J = B*φ*H* with [ω; ẋ] = Jθ̇ (RJK91 eq. 1).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    frame : str
        A name in `model.frames`.

    Returns
    -------
    (…, 6, nv)
        Angular rows first, in world axes at the frame's origin.

    Raises
    ------
    UnknownNameError
        The model has no such frame.

    Examples
    --------
    >>> ps.jacobian(ps.planar_chain(2), [0, 0], "tip") + 0.0
    array([[0., 0.],
           [0., 0.],
           [1., 1.],
           [0., 0.],
           [2., 1.],
           [0., 0.]])
    """
    return jacobian.evaluate(model, q, frames=(frame,))


@states(lambda s: s.J @ s.v)
def frame_velocity(model: Model, q: ArrayLike, v: ArrayLike, frame: str | Sequence[str]) -> Array:
    """Angular and linear velocity of a frame.

    [ω; ẋ] = Jθ̇ (RJK91 eq. 1).

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.
    frame : str or sequence of str
        A name in `model.frames`, or m of them.

    Returns
    -------
    (…, 6) or (…, 6m)
        [rad/s; m/s] in world axes at the frame's origin.

    Examples
    --------
    >>> ps.frame_velocity(ps.planar_chain(2), [0, 0], [1, 1], "tip")
    array([0., 0., 2., 0., 3., 0.])
    """
    return frame_velocity.evaluate(model, q, {"v": v}, frames=task_frames(frame))


@states(lambda s: s.J @ s.qdd + s.Jdot_v)
def frame_acceleration(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, frame: str | Sequence[str]) -> Array:
    """Angular and linear acceleration of a frame.

    Jθ̈ + J̇θ̇ (KJR92 eq. 8).

    Parameters
    ----------
    model : Model
    q, v, a : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and accelerations.
    frame : str or sequence of str
        A name in `model.frames`, or m of them.

    Returns
    -------
    (…, 6) or (…, 6m)
        [rad/s²; m/s²] in world axes at the frame's origin.

    Examples
    --------
    >>> ps.frame_acceleration(ps.planar_chain(2), [0, 0], [1, 0], [1, 0], "tip")
    array([ 0.,  0.,  1., -2.,  2.,  0.])
    """
    return frame_acceleration.evaluate(model, q, {"v": v, "qdd": a}, frames=task_frames(frame))


@states(lambda s: s.Jdot_v)
def jacobian_dot_v(model: Model, q: ArrayLike, v: ArrayLike, frame: str) -> Array:
    """Acceleration of a frame due to the joint rates alone.

    J̇θ̇ = B*φ*a + a(0) (KJR92 eq. 46): `frame_acceleration` where θ̈ = 0.

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.
    frame : str
        A name in `model.frames`.

    Returns
    -------
    (…, 6)
        [rad/s²; m/s²] in world axes at the frame's origin.

    Examples
    --------
    >>> ps.jacobian_dot_v(ps.planar_chain(2), [0, 0], [1, 0], "tip") + 0.0
    array([ 0.,  0.,  0., -2.,  0.,  0.])
    """
    return jacobian_dot_v.evaluate(model, q, {"v": v}, frames=(frame,))


def forward_kinematics(model: Model, q: ArrayLike, frame: str) -> Array:
    """Pose of a frame in the world.

    The product of the joints' transforms from the base out to the frame.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    frame : str
        A name in `model.frames`.

    Returns
    -------
    (…, 4, 4)
        [[R, p], [0, 1]] with x_world = R x_frame + p [m].

    Raises
    ------
    UnknownNameError
        The model has no such frame.

    Examples
    --------
    >>> ps.forward_kinematics(ps.planar_chain(2), [0, np.pi / 2], "tip")[:3, 3].round(9)
    array([1., 1., 0.])
    """
    try:
        made = model.__dict__[POSES][frame](q)
        if made is not NotImplemented:
            return made
    except (KeyError, AttributeError, TypeError):
        pass  # not compiled yet, or the long way says what is wrong with the arguments
    check_robot("forward_kinematics", (model,))
    return frame_poses(model, q, (frame,))[frame]


def frame_poses(model: Model, q: ArrayLike, frames: tuple[str, ...]) -> dict[str, Array]:
    """The pose of each of some frames, (…, 4, 4); of traced numbers, (4, 4)."""
    q = model.checked_q(q)
    if model.embedding is not None:
        return frame_poses(model.tree, q, frames)
    if model.is_flexible:
        return wide_frame_poses(model, q, frames)
    moving = () if is_traced(q) else tuple(name for name in frames if model.frame(name).body >= 0)
    made = {name: frame_pose(model, q, name) for name in frames if name not in moving}
    if moving:
        kernel = model.kept(("poses", moving), lambda: _placing(model, moving))
        found = spread(kernel.function, (q,), list(kernel.shapes)).reshape(*q.shape[:-1], len(moving), 4, 4)
        made |= {name: found[..., i, :, :] for i, name in enumerate(moving)}
        if kernel.shapes == ((4, 4),):
            model.__dict__.setdefault(POSES, {})[moving[0]] = kernel.single
    return made


def _placing(model: Model, frames: tuple[str, ...]) -> Kernel:
    """Machine code for the poses of frames: written out, or where the ways to them are long, rolled."""
    if sum(len(way_to(model, model.frame(name).body).bodies) for name in frames) > TRACED:
        return compile_plan(Plan(lower_frame_poses(), len(frames)), model, frames, "forward_kinematics")
    found = record(lambda q: np.stack([frame_pose(model, q, name) for name in frames]), model)
    shape = (4, 4) if len(frames) == 1 else (len(frames), 4, 4)
    return compile_trace(found.trace, [model.nq], [shape], "forward_kinematics", ("pose",), units_of(model))


def task_frames(frame: str | Sequence[str]) -> tuple[str, ...]:
    """The frames of a task, one or several, as a tuple."""
    frames = names_given(frame)
    if not frames:
        raise UnknownNameError("A task needs at least one frame; the list was empty.")
    return frames
