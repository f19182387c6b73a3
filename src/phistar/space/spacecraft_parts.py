"""Parts of a spacecraft as bodies of a model: reaction wheels, control moment gyros, propellant that sloshes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.errors import ModelError, ShapeError
from phistar.model import ModelBuilder, Prismatic, Revolute
from phistar.spatial import Inertia, Pose

_ROUND = (1.0, 1.0, 1.0)


def _inertia(mass: float, moments: Sequence[float] = _ROUND, axes: np.ndarray | None = None) -> Inertia:
    axes = np.eye(3) if axes is None else axes
    return Inertia(mass, (0.0, 0.0, 0.0), axes @ np.diag(moments) @ axes.T)


def _axes(axis: ArrayLike) -> np.ndarray:
    """A rotation whose third column is an axis."""
    third = np.asarray(axis, dtype=float)
    if third.shape != (3,) or not abs(np.linalg.norm(third) - 1.0) <= 1e-6:
        raise ModelError(f"An axis of three numbers and of length one was expected; it is {axis!r:.80}.")
    other = np.eye(3)[int(np.argmin(np.abs(third)))]
    first = np.cross(other, third)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(third, first), third], axis=1)


def add_wheel(
    builder: ModelBuilder,
    name: str,
    body: str,
    axis: ArrayLike,
    spin_inertia: float,
    mass: float,
    position: ArrayLike = (0.0, 0.0, 0.0),
    transverse_inertia: float | None = None,
    max_torque: float | None = None,
    max_speed: float | None = None,
    friction: float = 0.0,
    damping: float = 0.0,
) -> None:
    """Add a reaction wheel to a body: a balanced rotor on a revolute joint called `name`.

    Parameters
    ----------
    builder : ModelBuilder
    name, body : str
        Of the wheel's body and joint, and of the body that carries it.
    axis, position : (3,)
        Its spin axis and middle in that body's frame.
    spin_inertia, transverse_inertia : float
        kg m², about the axis and across it (by default half of it, a thin disc's).
    mass : float
        kg.
    max_torque, max_speed : float, optional
        N m and rad/s: the joint's effort and velocity limits; `saturate` keeps commands within both.
    friction, damping : float
        Coulomb, N m, and viscous, N m s/rad.

    Returns
    -------
    None
        The builder has the wheel's body and joint.

    Examples
    --------
    >>> b = ps.ModelBuilder("sat", gravity=(0, 0, 0))
    >>> b.body("hub", "world", ps.Free(), inertia=ps.Inertia(100.0, (0, 0, 0), 10 * np.eye(3)))
    >>> ps.space.add_wheel(b, "wheel", "hub", (0, 0, 1), spin_inertia=0.1, mass=5.0, max_torque=0.2)
    >>> b.build().nv
    7
    """
    across = 0.5 * spin_inertia if transverse_inertia is None else transverse_inertia
    joint = Revolute(axis=(0, 0, 1), friction=friction, damping=damping, effort=max_torque, velocity=max_speed)
    placement = Pose(xyz=position, rotation=_axes(axis))
    builder.body(name, body, joint, placement, _inertia(mass, (across, across, spin_inertia)), joint_name=name)


def add_gyro(
    builder: ModelBuilder,
    name: str,
    body: str,
    gimbal_axis: ArrayLike,
    spin_axis: ArrayLike,
    spin_inertia: float,
    mass: float,
    position: ArrayLike = (0.0, 0.0, 0.0),
    gimbal_inertia: float = 0.0,
    max_gimbal_torque: float | None = None,
    max_gimbal_speed: float | None = None,
    max_torque: float | None = None,
) -> None:
    """Add a control moment gyro: a gimbal, joint `name_gimbal`, that carries a wheel, joint `name_wheel`.

    Parameters
    ----------
    builder : ModelBuilder
    name, body : str
        What its parts are called after, and the body that carries it.
    gimbal_axis, spin_axis, position : (3,)
        In that body's frame, with the gimbal at zero; the axes at a right angle.
    spin_inertia, mass : float
        Of the wheel, kg m² and kg.
    gimbal_inertia : float
        Of the gimbal's frame about its axis, kg m².
    max_gimbal_torque, max_gimbal_speed, max_torque : float, optional
        Limits of the gimbal's motor, N m and rad/s, and of the wheel's, N m.

    Returns
    -------
    None
        The builder has the gyro's two bodies and joints.

    Examples
    --------
    >>> b = ps.ModelBuilder("sat", gravity=(0, 0, 0))
    >>> b.body("hub", joint=ps.Free(), inertia=ps.Inertia(100.0, (0, 0, 0), 10 * np.eye(3)))
    >>> ps.space.add_gyro(b, "cmg", "hub", (0, 1, 0), (0, 0, 1), spin_inertia=0.1, mass=5.0, gimbal_inertia=0.01)
    >>> [joint.name for joint in b.build().joints]
    ['hub', 'cmg_gimbal', 'cmg_wheel']
    """
    axes = _axes(gimbal_axis)
    spin = axes.T @ np.asarray(spin_axis, dtype=float)
    if not abs(spin[2]) <= 1e-9:
        raise ModelError("The gimbal's axis and the wheel's stand at a right angle; these do not.")
    gimbal = Revolute(axis=(0, 0, 1), armature=gimbal_inertia, effort=max_gimbal_torque, velocity=max_gimbal_speed)
    builder.body(
        f"{name}_gimbal", body, gimbal, Pose(xyz=position, rotation=axes), _inertia(0.0, (0.0, 0.0, 0.0)),
        joint_name=f"{name}_gimbal",
    )  # fmt: skip
    add_wheel(builder, f"{name}_wheel", f"{name}_gimbal", spin, spin_inertia, mass, max_torque=max_torque)


def saturate(torques: ArrayLike, speeds: ArrayLike, max_torque: ArrayLike, max_speed: ArrayLike) -> Array:
    """Torques that wheels can give: within their limits, and none that drives a wheel beyond its largest speed.

    Parameters
    ----------
    torques, speeds : (…, n)
        Wanted, N m, and the wheels' speeds, rad/s.
    max_torque, max_speed : (n,) or float

    Returns
    -------
    (…, n)

    Examples
    --------
    >>> ps.space.saturate([0.5, 0.1, -0.1], [0.0, 600.0, 600.0], 0.2, 600.0)
    array([ 0.2,  0. , -0.1])
    """
    wanted, at, most = (np.asarray(x, dtype=float) for x in (torques, speeds, max_torque))
    if wanted.shape[-1:] != at.shape[-1:]:
        raise ShapeError(f"As many speeds as torques were expected; they are {at.shape} and {wanted.shape}.")
    given = np.clip(wanted, -most, most)
    return np.where((np.abs(at) >= np.asarray(max_speed)) & (given * at > 0.0), 0.0, given)


def add_slosh_mass(
    builder: ModelBuilder,
    name: str,
    body: str,
    direction: ArrayLike,
    mass: float,
    stiffness: float,
    damping: float = 0.0,
    position: ArrayLike = (0.0, 0.0, 0.0),
) -> None:
    """Add propellant that sloshes as a mass on a spring: a point mass on a prismatic joint called `name`.

    Parameters
    ----------
    builder : ModelBuilder
    name, body : str
    direction, position : (3,)
        Along which it moves, and where it rests, in the body's frame.
    mass, stiffness, damping : float
        kg, N/m, N s/m.

    Returns
    -------
    None
        The builder has the mass and its joint.

    Examples
    --------
    >>> b = ps.ModelBuilder("sat", gravity=(0, 0, 0))
    >>> b.body("tank", inertia=ps.Inertia(100.0))
    >>> ps.space.add_slosh_mass(b, "fuel", "tank", (1, 0, 0), mass=4.0, stiffness=1.0)
    >>> ps.modes(b.build(), [0.0]).frequencies  # √(k/m), rad/s
    array([0.5])
    """
    joint = Prismatic(axis=(0, 0, 1), stiffness=stiffness, damping=damping)
    placement = Pose(xyz=position, rotation=_axes(direction))
    builder.body(name, body, joint, placement, _inertia(mass, (0.0, 0.0, 0.0)), joint_name=name)


def add_slosh_pendulum(
    builder: ModelBuilder,
    name: str,
    body: str,
    axis: ArrayLike,
    arm: ArrayLike,
    mass: float,
    damping: float = 0.0,
    position: ArrayLike = (0.0, 0.0, 0.0),
) -> None:
    """Add propellant that sloshes as a pendulum: a point mass at the end of an arm that turns about an axis.

    Parameters
    ----------
    builder : ModelBuilder
    name, body : str
    axis, arm, position : (3,)
        The axis it turns about, the way from the pivot to the mass at rest, and the pivot, in the body's frame.
    mass, damping : float
        kg and N m s/rad.

    Returns
    -------
    None
        The builder has the mass and its joint.

    Examples
    --------
    >>> b = ps.ModelBuilder("rocket")
    >>> b.body("tank", inertia=ps.Inertia(100.0))
    >>> ps.space.add_slosh_pendulum(b, "fuel", "tank", axis=(0, 1, 0), arm=(0, 0, -0.5), mass=4.0)
    >>> ps.modes(b.build(), [0.0]).frequencies.round(2)  # √(g/l), rad/s
    array([4.43])
    """
    reach = np.asarray(arm, dtype=float)
    along = np.asarray(axis, dtype=float)
    _axes(axis)
    if np.linalg.norm(np.cross(along, reach)) == 0.0:
        raise ModelError("A pendulum's arm does not lie along its axis.")
    joint = Revolute(axis=along, damping=damping)
    weight = Inertia(mass, reach, np.zeros((3, 3)))
    builder.body(name, body, joint, Pose(xyz=position), weight, joint_name=name)
