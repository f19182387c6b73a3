"""Contacts of a grasp as cut joints: what a finger, frame_b, may do on a surface that stands at frame_a.

Rigid grasps, points with friction, lines with friction and flat sliding are the cut joints Fixed, Spherical, Revolute
and Planar. These are the others of RJK91 §6: soft fingers, frictionless points and lines, and rolling. Rows that no
position function has (nonholonomic: turning of a soft finger, rolling) have the value 0 always and bind rates only.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.errors import ModelError
from phistar.loops.cut import Rows, across, same_point
from phistar.model.joints.cut_joints import CutKind
from phistar.model.joints.parameters import per_dof, unit_axis
from phistar.spatial import cross, skew, times

FLAT = 1e-9  # sine below which a disc lies flat, and has no lowest point


class Contact(CutKind):
    """Abstract: a cut joint that gives its own equations."""

    @abstractmethod
    def equations(self, turn: np.ndarray, shift: np.ndarray, omega: np.ndarray, rate: np.ndarray) -> list[Rows]:
        """Rows of the contact, angular first, by R (…, 3, 3), p, ω and ṗ (…, 3) of frame_b in frame_a; see `cut`."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class SoftFinger(Contact):
    """A point contact that also resists turning about the normal: a cut joint of four equations.

    p = 0 and n·ω = 0.

    Parameters
    ----------
    normal : (3,)
        Of the plane, in frame_a.

    Examples
    --------

    >>> ps.loops.SoftFinger().normal
    array([0., 0., 1.])
    """

    normal: Any = (0.0, 0.0, 1.0)

    rows = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit_axis(self.normal, "A SoftFinger contact"))

    def equations(self, turn: np.ndarray, shift: np.ndarray, omega: np.ndarray, rate: np.ndarray) -> list[Rows]:
        spin = Rows(np.zeros(1), self.normal[None], np.zeros((1, 3)), np.zeros(1))
        return [spin, same_point(np.eye(3), shift)]


@final
@dataclass(frozen=True, eq=False, repr=False)
class PointContact(Contact):
    """A point that neither slips nor lifts off a surface: a cut joint of three equations.

    p = 0, like `ps.Spherical`, on a surface with a normal, so that it can be one-sided and slip (`one_sided_dynamics`).

    Parameters
    ----------
    friction : float
        Coulomb's coefficient.
    normal : (3,)
        From frame_a's side to frame_b's.

    Examples
    --------

    >>> ps.loops.PointContact(0.5).friction
    0.5
    """

    friction: float
    normal: Any = (0.0, 0.0, 1.0)

    rows = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "friction", _positive(self.friction, "A PointContact", "friction"))
        object.__setattr__(self, "normal", unit_axis(self.normal, "A PointContact"))

    def equations(self, turn: np.ndarray, shift: np.ndarray, omega: np.ndarray, rate: np.ndarray) -> list[Rows]:
        return [same_point(np.eye(3), shift)]


@final
@dataclass(frozen=True, eq=False, repr=False)
class SlidingPoint(Contact):
    """A point that slides without friction on a plane: a cut joint of one equation.

    n·p = 0 for frame_b's origin on the plane of frame_a.

    Parameters
    ----------
    normal : (3,)
        Of the plane, in frame_a.

    Examples
    --------

    >>> ps.loops.SlidingPoint().normal
    array([0., 0., 1.])
    """

    normal: Any = (0.0, 0.0, 1.0)

    rows = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit_axis(self.normal, "A SlidingPoint contact"))

    def equations(self, turn: np.ndarray, shift: np.ndarray, omega: np.ndarray, rate: np.ndarray) -> list[Rows]:
        return [same_point(self.normal[None], shift)]


@final
@dataclass(frozen=True, eq=False, repr=False)
class SlidingLine(Contact):
    """A line that slides without friction on a plane: a cut joint of two equations.

    n·Rl = 0 and n·p = 0 for a line l of frame_b on the plane of frame_a.

    Parameters
    ----------
    normal : (3,)
        Of the plane, in frame_a.
    line : (3,)
        Its direction, in frame_b.

    Examples
    --------

    >>> ps.loops.SlidingLine().line
    array([1., 0., 0.])
    """

    normal: Any = (0.0, 0.0, 1.0)
    line: Any = (1.0, 0.0, 0.0)

    rows = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", unit_axis(self.normal, "A SlidingLine contact"))
        object.__setattr__(self, "line", unit_axis(self.line, "A SlidingLine contact"))

    def equations(self, turn: np.ndarray, shift: np.ndarray, omega: np.ndarray, rate: np.ndarray) -> list[Rows]:
        along = np.matmul(turn, self.line)
        value = np.sum(self.normal * along, axis=-1, keepdims=True)
        second = np.sum(self.normal * cross(omega, cross(omega, along)), axis=-1, keepdims=True)
        level = Rows(value, cross(along, self.normal)[..., None, :], np.zeros((1, 3)), second)
        return [level, same_point(self.normal[None], shift)]


@final
@dataclass(frozen=True, eq=False, repr=False)
class RollingSphere(Contact):
    """A sphere that rolls on a plane: a cut joint of three equations.

    ṗ − r ω × n = 0 for a sphere about frame_b's origin. Two rows bind rates across the normal; the third, n·p = r,
    binds the height too.

    Parameters
    ----------
    radius : float
        In metres.
    normal : (3,)
        Of the plane, in frame_a.

    Examples
    --------

    >>> ps.loops.RollingSphere(0.1).radius
    0.1
    """

    radius: float
    normal: Any = (0.0, 0.0, 1.0)

    rows = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive(self.radius, "A RollingSphere contact", "radius"))
        object.__setattr__(self, "normal", unit_axis(self.normal, "A RollingSphere contact"))

    def equations(self, turn: np.ndarray, shift: np.ndarray, omega: np.ndarray, rate: np.ndarray) -> list[Rows]:
        tangents = across(self.normal)
        by_turn = self.radius * np.matmul(tangents, skew(self.normal))  # t·(−r ω × n) = r t·(n × ω)
        rolling = Rows(np.zeros(2), by_turn, tangents, np.zeros(2))
        height = same_point(self.normal[None], shift)
        return [rolling, height._replace(value=height.value - self.radius)]


@final
@dataclass(frozen=True, eq=False, repr=False)
class RollingDisc(Contact):
    """A thin disc that rolls on its edge on a plane: a cut joint of three equations.

    ṗ + ω × ρ = 0 with ρ = r (c d − n)/√(1 − c²), c = n·d, from the centre to the lowest point; d is the disc's axis, in
    frame_b. Two rows bind rates across the normal, the third, n·(p + ρ) = 0, binds the height too.

    Parameters
    ----------
    radius : float
        In metres.
    axis : (3,)
        Of the disc, in frame_b.
    normal : (3,)
        Of the plane, in frame_a.

    Examples
    --------

    >>> ps.loops.RollingDisc(0.1).radius
    0.1
    """

    radius: float
    axis: Any = (0.0, 0.0, 1.0)
    normal: Any = (0.0, 0.0, 1.0)

    rows = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive(self.radius, "A RollingDisc contact", "radius"))
        object.__setattr__(self, "axis", unit_axis(self.axis, "A RollingDisc contact"))
        object.__setattr__(self, "normal", unit_axis(self.normal, "A RollingDisc contact"))

    def equations(self, turn: np.ndarray, shift: np.ndarray, omega: np.ndarray, rate: np.ndarray) -> list[Rows]:
        n, d = self.normal, np.matmul(turn, self.axis)
        d_rate = cross(omega, d)
        c, c_rate = _dot(n, d), _dot(n, d_rate)
        square = 1.0 - c * c
        s = np.sqrt(square if square.dtype == object else np.maximum(square, FLAT**2))
        s_rate = -c * c_rate / s
        reach = self.radius * (c * d - n) / s
        reach_rate = (self.radius * (c_rate * d + c * d_rate) - s_rate * reach) / s
        directions = np.concatenate([across(n), n[None]])
        by_turn = -np.matmul(directions, skew(reach))
        second = times(directions, cross(omega, reach_rate))
        height = _dot(n, shift) - self.radius * s
        value = np.concatenate([np.zeros((*height.shape[:-1], 2)), height], axis=-1)
        return [Rows(value, by_turn, directions, second)]


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.sum(a * b, axis=-1, keepdims=True))


def _positive(number: Any, owner: str, what: str) -> float:
    value = float(per_dof(number, 1, owner, what)[0])
    if value <= 0.0:
        raise ModelError(f"{owner} needs a {what} > 0; it was given {value:g}.")
    return value
