"""Orbits about a planet: two bodies in closed form, the frame that goes along, and small motions relative to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.errors import ModelError

_TURNS = 60  # Newton's steps on Kepler's equation; it takes three to eight
_SERIES = 1e-3  # |z| below which Stumpff's functions are taken from their series: the closed forms lose digits there


@final
@dataclass(frozen=True)
class Planet:
    """A planet's gravity: μ in m³/s², equatorial radius in m, and J₂, the oblateness about its z axis.

    Examples
    --------
    >>> ps.space.EARTH.mu
    398600441500000.0
    """

    mu: float
    radius: float
    j2: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mu", "radius"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise ModelError(f"A planet needs {name} greater than 0; it was given {getattr(self, name)!r:.50}.")

    def gravity(self, position: ArrayLike) -> Array:
        """Acceleration of free fall, (…, 3) in m/s², at positions (…, 3) from the planet's centre."""
        r = np.asarray(position, dtype=float)
        distance = np.linalg.norm(r, axis=-1, keepdims=True)
        fall = -self.mu * r / distance**3
        if self.j2:
            rise = (r[..., 2:] / distance) ** 2
            shape = np.concatenate([1.0 - 5.0 * rise, 1.0 - 5.0 * rise, 3.0 - 5.0 * rise], axis=-1)
            fall = fall - 1.5 * self.j2 * self.mu * self.radius**2 / distance**5 * r * shape
        return fall


EARTH = Planet(mu=3.986004415e14, radius=6_378_136.3, j2=1.082626925638815e-3)


@final
@dataclass(frozen=True)
class Orbit:
    """An orbit of two bodies, by position and velocity at time 0, in inertial axes at the planet's centre.

    Parameters
    ----------
    position, velocity : (3,)
        In m and m/s.
    planet : Planet

    Examples
    --------
    >>> orbit = ps.space.Orbit.circular(altitude=400e3)
    >>> round(orbit.period / 60, 1)
    92.6
    """

    position: tuple[float, float, float]
    velocity: tuple[float, float, float]
    planet: Planet = EARTH

    def __post_init__(self) -> None:
        r, v = np.asarray(self.position, dtype=float), np.asarray(self.velocity, dtype=float)
        if r.shape != (3,) or v.shape != (3,) or not (np.isfinite(r).all() and np.isfinite(v).all()):
            raise ModelError("An orbit needs a position and a velocity of three finite numbers.")
        if np.linalg.norm(np.cross(r, v)) == 0.0:
            raise ModelError("An orbit needs a velocity that does not point along its position: it would be a fall.")

    @staticmethod
    def circular(altitude: float, inclination: float = 0.0, planet: Planet = EARTH) -> Orbit:
        """A circular orbit at an altitude (m) and inclination (rad), at its ascending node on the x axis."""
        radius = planet.radius + altitude
        speed = np.sqrt(planet.mu / radius)
        along = speed * np.array([0.0, np.cos(inclination), np.sin(inclination)])
        return Orbit((radius, 0.0, 0.0), (0.0, float(along[1]), float(along[2])), planet)

    @property
    def semimajor_axis(self) -> float:
        """Semimajor axis, m; negative for a hyperbola."""
        r, v = np.linalg.norm(self.position), np.linalg.norm(self.velocity)
        return float(1.0 / (2.0 / r - v**2 / self.planet.mu))

    @property
    def mean_motion(self) -> float:
        """Mean motion of an ellipse, rad/s."""
        return float(np.sqrt(self.planet.mu / self.semimajor_axis**3))

    @property
    def period(self) -> float:
        """Period of an ellipse, s."""
        return 2.0 * np.pi / self.mean_motion

    def at(self, time: float) -> tuple[Array, Array]:
        """Position and velocity (3,) at a time, by universal variables (ellipses, parabolas, hyperbolas)."""
        r0, v0, mu = np.asarray(self.position), np.asarray(self.velocity), self.planet.mu
        if time == 0.0:
            return r0.copy(), v0.copy()
        start, root = float(np.linalg.norm(r0)), float(np.sqrt(mu))
        radial, alpha = float(r0 @ v0) / root, 1.0 / self.semimajor_axis
        chi = root * alpha * time if alpha > 0.0 else root * time / start
        for _ in range(_TURNS):
            c, s = _stumpff(alpha * chi**2)
            distance = chi**2 * c + radial * chi * (1.0 - alpha * chi**2 * s) + start * (1.0 - alpha * chi**2 * c)
            late = radial * chi**2 * c + (1.0 - alpha * start) * chi**3 * s + start * chi - root * time
            chi, before = chi - late / distance, chi
            if abs(chi - before) <= 1e-15 * max(abs(chi), 1.0):
                break
        c, s = _stumpff(alpha * chi**2)
        f, g = 1.0 - chi**2 * c / start, time - chi**3 * s / root
        r = f * r0 + g * v0
        end = float(np.linalg.norm(r))
        f_rate, g_rate = root / (end * start) * chi * (alpha * chi**2 * s - 1.0), 1.0 - chi**2 * c / end
        return r, f_rate * r0 + g_rate * v0


def _stumpff(z: float) -> tuple[float, float]:
    """C(z) = (1 − cos√z)/z and S(z) = (√z − sin√z)/z^{3/2}, for z of either sign."""
    if abs(z) < _SERIES:
        return 1 / 2 - z / 24 + z**2 / 720 - z**3 / 40320, 1 / 6 - z / 120 + z**2 / 5040 - z**3 / 362880
    root = np.sqrt(abs(z))
    if z > 0.0:
        return float((1.0 - np.cos(root)) / z), float((root - np.sin(root)) / root**3)
    return float((np.cosh(root) - 1.0) / -z), float((np.sinh(root) - root) / root**3)


def hill_axes(position: ArrayLike, velocity: ArrayLike) -> Array:
    """Hill's axes of an orbit at one of its states, as columns in inertial axes.

    Parameters
    ----------
    position, velocity : (3,)
        Of the orbiting body, in inertial axes, m and m/s.

    Returns
    -------
    (3, 3) array
        Columns: outward, along the track, along the orbit's normal.

    Examples
    --------
    >>> ps.space.hill_axes([7e6, 0, 0], [0, 7.5e3, 0])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    r, v = np.asarray(position, dtype=float), np.asarray(velocity, dtype=float)
    out, normal = r / np.linalg.norm(r), np.cross(r, v)
    normal = normal / np.linalg.norm(normal)
    return np.stack([out, np.cross(normal, out), normal], axis=-1)


def clohessy_wiltshire(mean_motion: float, time: float) -> Array:
    """Transition matrix of motion relative to a circular orbit, in Hill's axes, which turn with it.

    Parameters
    ----------
    mean_motion : float
        In rad/s.
    time : float
        In s.

    Returns
    -------
    (6, 6) array
        Takes [position; velocity] at time 0, in m and m/s, to the same at `time`.

    Examples
    --------
    >>> after = ps.space.clohessy_wiltshire(1e-3, 100.0) @ [10.0, 0, 0, 0, 0, 0]
    >>> after[:2].round(2).tolist()
    [10.15, -0.01]
    """
    n, t = mean_motion, time
    s, c = np.sin(n * t), np.cos(n * t)
    return np.array(
        [
            [4 - 3 * c, 0, 0, s / n, 2 * (1 - c) / n, 0],
            [6 * (s - n * t), 1, 0, 2 * (c - 1) / n, (4 * s - 3 * n * t) / n, 0],
            [0, 0, c, 0, 0, s / n],
            [3 * n * s, 0, 0, c, 2 * s, 0],
            [6 * n * (c - 1), 0, 0, -2 * s, 4 * c - 3, 0],
            [0, 0, -n * s, 0, 0, c],
        ]
    )
