"""Synthetic serial chains of any length, for tests and benchmarks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.model.builder import ModelBuilder
from phistar.model.geometry import Capsule, Geometry
from phistar.model.joints import JointKind, Revolute
from phistar.model.model import Model
from phistar.spatial import Inertia, Pose
from phistar.spatial.pose import IDENTITY

DOWN = (0.0, 0.0, -9.81)


def rod(mass: float, length: float, radius: float) -> Inertia:
    """A solid cylinder along x from the origin: com (l/2, 0, 0), m r²/2 about x, m (r²/4 + l²/12) across."""
    across = mass * (radius**2 / 4.0 + length**2 / 12.0)
    return Inertia(mass, (length / 2.0, 0.0, 0.0), np.diag([mass * radius**2 / 2.0, across, across]))


def chain(n: int, length: float = 0.2, mass: float = 1.0, radius: float = 0.05, gravity: Any = DOWN) -> Model:
    """Build a serial chain of n equal rods in space, on revolute joints about z, y, x in turn.

    Each joint stands a little beside the rod's end and turned, by the same step everywhere, so that the chain is a
    helix at q = 0: no configuration near it is singular, and it does not grow straight however long it is. The last
    frame is "tip".

    Parameters
    ----------
    n : int
        How many links, any number from 0.
    length, mass, radius : float
        Of each rod [m, kg, m].
    gravity : (3,)
        In world axes [m/s²].

    Returns
    -------
    Model

    Examples
    --------
    >>> ps.chain(100).nv
    100
    """
    step = Pose(xyz=(length, 0.1 * length, -0.05 * length), rpy=(0.3, 0.2, 0.5))
    kinds = [Revolute(axis=axis) for axis in ((0, 0, 1), (0, 1, 0), (1, 0, 0))]
    return _serial(f"chain{n}", n, kinds, step, length, rod(mass, length, radius), radius, gravity)


def planar_chain(n: int, length: float = 1.0, mass: float = 1.0, radius: float = 0.05, gravity: Any = DOWN) -> Model:
    """Build a planar chain of n equal rods along x, on revolute joints about z; the last frame is "tip".

    Parameters
    ----------
    n : int
        How many links, any number from 0.
    length, mass, radius : float
        Of each rod [m, kg, m].
    gravity : (3,)
        In world axes [m/s²].

    Returns
    -------
    Model

    Examples
    --------
    >>> ps.forward_kinematics(ps.planar_chain(3), np.zeros(3), "tip")[:3, 3]
    array([3., 0., 0.])
    """
    step = Pose(xyz=(length, 0.0, 0.0))
    return _serial(f"planar{n}", n, [Revolute()], step, length, rod(mass, length, radius), radius, gravity)


def _serial(
    name: str,
    n: int,
    kinds: Sequence[JointKind],
    step: Pose,
    length: float,
    inertia: Inertia,
    radius: float,
    gravity: Any,
) -> Model:
    if n < 1:
        raise ModelError(f"A chain needs at least one link; it was asked for {n}.")
    along_x = Pose(xyz=(length / 2.0, 0.0, 0.0), rpy=(0.0, np.pi / 2.0, 0.0))
    shape = Capsule(radius, length)
    looks = (Geometry(shape, along_x), Geometry(shape, along_x, role="collision"))
    builder = ModelBuilder(name, gravity)
    for k in range(1, n + 1):
        builder.body(
            f"link{k}",
            parent=f"link{k - 1}" if k > 1 else "world",
            joint=kinds[(k - 1) % len(kinds)],
            placement=step if k > 1 else IDENTITY,
            inertia=inertia,
            geometry=looks,
            joint_name=f"joint{k}",
        )
    builder.frame("tip", body=f"link{n}", placement=Pose(xyz=(length, 0.0, 0.0)))
    return builder.build()
