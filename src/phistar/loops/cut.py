"""Constraint equations g(R, p) = 0 of each kind of cut joint, between its two frames, with exact first and second
derivatives.

(R, p) places frame_b in frame_a. Its rates ω and ṗ are seen from frame_a, with Ṙ = ω̃R. Every equation gives its value
g, its rows G with ġ = G_ω ω + G_p ṗ, and what is left of g̈ when ω̇ = p̈ = 0. Near g = 0 the values are angles and
lengths in frame_a's axes. All functions take leading batch axes and traced scalars.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from phistar.model import Cylindrical, Distance, Fixed, Helical, Planar, Prismatic, Revolute, Spherical, Universal
from phistar.spatial import axial, cross, skew

OPPOSITE = 1e-12  # of 1 + cos: an axis or a turn this close to the opposite of what it should be has no direction back


class Rows(NamedTuple):
    """r equations: value (…, r), by_turn = G_ω and by_shift = G_p (…, r, 3), second (…, r)."""

    value: np.ndarray
    by_turn: np.ndarray
    by_shift: np.ndarray
    second: np.ndarray


def cut_rows(joint: Any, turn: np.ndarray, shift: np.ndarray, omega: np.ndarray, rate: np.ndarray) -> Rows:
    """The equations of a cut joint, the angular ones first: R (…, 3, 3), p, ω and ṗ (…, 3)."""
    point, unit = lambda directions: same_point(directions, shift), np.eye(3)
    match joint:
        case Fixed():
            parts = [same_turn(turn, omega), point(unit)]
        case Prismatic():
            parts = [same_turn(turn, omega), point(across(joint.axis))]
        case Revolute():
            parts = [same_axis(joint.axis, turn, omega), point(unit)]
        case Helical() if joint.pitch == 0.0:
            parts = [same_axis(joint.axis, turn, omega), point(unit)]
        case Helical():
            screw = on_screw(joint.axis, joint.pitch, turn, shift, omega, rate)
            parts = [same_axis(joint.axis, turn, omega), point(across(joint.axis)), screw]
        case Cylindrical():
            parts = [same_axis(joint.axis, turn, omega), point(across(joint.axis))]
        case Planar():
            parts = [same_axis(joint.normal, turn, omega), point(joint.normal[None])]
        case Universal():
            parts = [kept_angle(joint.axis1, joint.axis2, turn, omega), point(unit)]
        case Spherical():
            parts = [point(unit)]
        case Distance():
            parts = [on_sphere(joint.length, shift, rate)]
        case _:  # a contact, see grasp/contacts.py
            parts = joint.equations(turn, shift, omega, rate)
    return stack_rows(parts)


def across(axis: np.ndarray) -> np.ndarray:
    """Two unit vectors across an axis, (2, 3): with it a right-handed basis."""
    return Planar(normal=axis).axes


def same_turn(turn: np.ndarray, omega: np.ndarray) -> Rows:
    """2 sin(θ/2) n = 0, three equations: twice the vector part of R's quaternion (e, w), so that ġ = (w − ẽ)ω."""
    trace = turn[..., :1, 0] + turn[..., 1:2, 1] + turn[..., 2:, 2]
    w = 0.5 * _root(1.0 + trace)
    e = axial(turn) / (4.0 * w)
    by_turn = w[..., None] * np.eye(3) - skew(e)
    second = -0.5 * e * _dot(omega, omega)
    return Rows(2.0 * e, by_turn, np.zeros((3, 3)), second)


def same_axis(axis: np.ndarray, turn: np.ndarray, omega: np.ndarray) -> Rows:
    """2 sin(θ/2) of the angle between a and r = Ra, about the two directions b across a: g = s b·u, with u = a × r,
    c = a·r and s = ((1 + c)/2)^−½."""
    r = np.matmul(turn, axis)
    u, c, about = cross(axis, r), _dot(axis, r), across(axis)
    s = 1.0 / _root(0.5 * (1.0 + c))
    cube = 0.25 * s * s * s
    bu, br = np.matmul(u, about.T), np.matmul(r, about.T)
    pointing = c[..., None] * about - br[..., None] * axis
    by_turn = s[..., None] * pointing + (cube * bu)[..., None] * u[..., None, :]
    r_rate, u_rate = cross(omega, r), cross(axis, cross(omega, r))
    wu = _dot(omega, u)
    s_rate = cube * wu  # ċ = −ω·u
    turning = np.sum(pointing * omega[..., None, :], axis=-1)
    bw, aw = np.matmul(omega, about.T), _dot(axis, omega)
    second = s_rate * turning + s * (-wu * bw - np.matmul(r_rate, about.T) * aw)
    second = second + 0.75 * s * s * s_rate * wu * bu
    bu_rate = np.matmul(u_rate, about.T)
    second = second + cube * (_dot(omega, u_rate) * bu + wu * bu_rate)
    return Rows(s * bu, by_turn, np.zeros((2, 3)), second)


def kept_angle(first: np.ndarray, second: np.ndarray, turn: np.ndarray, omega: np.ndarray) -> Rows:
    """(a₁·a₂ − a₁·Ra₂)/|a₁ × a₂| = 0: the two axes of a universal joint keep their angle."""
    scale = 1.0 / float(np.linalg.norm(np.cross(first, second)))
    r = np.matmul(turn, second)
    value = scale * (float(first @ second) - _dot(first, r))
    by_turn = (scale * cross(first, r))[..., None, :]
    left = -scale * _dot(first, cross(omega, cross(omega, r)))
    return Rows(value, by_turn, np.zeros((1, 3)), left)


def same_point(directions: np.ndarray, shift: np.ndarray) -> Rows:
    """d·p = 0 for each direction, (r, 3)."""
    value = np.matmul(shift, directions.T)
    return Rows(value, np.zeros(directions.shape), directions, np.zeros(len(directions)))


def on_sphere(length: float, shift: np.ndarray, rate: np.ndarray) -> Rows:
    """|p| − length = 0."""
    size = _root(_dot(shift, shift))
    toward = shift / size
    along = _dot(toward, rate)
    second = (_dot(rate, rate) - along * along) / size
    return Rows(size - length, np.zeros((1, 3)), toward[..., None, :], second)


def on_screw(
    axis: np.ndarray, pitch: float, turn: np.ndarray, shift: np.ndarray, omega: np.ndarray, rate: np.ndarray
) -> Rows:
    """h sin(z − θ) = 0 for z = a·p/h, any number of turns: θ is the angle about a, taken as S = sin θ and C = cos θ."""
    one, two = across(axis)
    r1, r2 = np.matmul(turn, one), np.matmul(turn, two)
    sine, cosine = 0.5 * (_dot(two, r1) - _dot(one, r2)), 0.5 * (_dot(one, r1) + _dot(two, r2))
    by_sine, by_cosine = 0.5 * (cross(r1, two) - cross(r2, one)), 0.5 * (cross(r1, one) + cross(r2, two))
    z, z_rate = _dot(axis, shift) / pitch, _dot(axis, rate) / pitch
    up, level = _each("sin", z), _each("cos", z)
    by_turn = pitch * (up * by_cosine - level * by_sine)
    slope = level * cosine + up * sine
    q1, q2 = cross(omega, cross(omega, r1)), cross(omega, cross(omega, r2))
    second = 0.5 * up * (_dot(one, q1) + _dot(two, q2)) - 0.5 * level * (_dot(two, q1) - _dot(one, q2))
    second = second + 2.0 * z_rate * (level * _dot(omega, by_cosine) + up * _dot(omega, by_sine))
    second = pitch * (second - z_rate * z_rate * (up * cosine - level * sine))
    value = pitch * (up * cosine - level * sine)
    return Rows(value, by_turn[..., None, :], slope[..., None] * axis, second)


def stack_rows(parts: list[Rows]) -> Rows:
    """Equations one above the other, with common leading axes."""
    batch = np.broadcast_shapes(*(part.value.shape[:-1] for part in parts), *(part.second.shape[:-1] for part in parts))
    vectors = [[np.broadcast_to(x, (*batch, x.shape[-1])) for x in (part.value, part.second)] for part in parts]
    tables = [[np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (part.by_turn, part.by_shift)] for part in parts]
    value, second = (np.concatenate(column, axis=-1) for column in zip(*vectors, strict=True))
    by_turn, by_shift = (np.concatenate(column, axis=-2) for column in zip(*tables, strict=True))
    return Rows(value, by_turn, by_shift, second)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a·b, (…, 1)."""
    return np.sum(a * b, axis=-1, keepdims=True)


def _root(x: Any) -> np.ndarray:
    x = np.asarray(x)
    return np.asarray(_each("sqrt", x if x.dtype == object else np.maximum(x, OPPOSITE)))


def _each(name: str, x: Any) -> np.ndarray:
    """sin, cos or sqrt of floats, or of traced scalars among which some are constant."""
    x = np.asarray(x)
    if x.dtype != object:
        return getattr(np, name)(x)
    plain = getattr(math, name)
    return np.asarray(np.frompyfunc(lambda entry: getattr(entry, name, lambda: plain(entry))(), 1, 1)(x))
