"""Avoidance by potential fields: obstacles push on points of the arm, a spring pulls the tip (Khatib 1986)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.control.control_law import Controller, check_arguments, entries, gain, refuse_loops, row, set_gains
from phistar.dynamics import forward_kinematics, kinetic_energy
from phistar.errors import ShapeError
from phistar.model import Model
from phistar.stated import states

COINCIDENT = 1e-12  # m: in the centre of an obstacle no direction leads away, and nothing pushes
NEAREST = 0.1  # of the reach: nearer than that, and inside an obstacle, the push stays what it is there


@states(lambda s: s.g + s.J.T @ s.f)
def field_forces(model: Model, q: Any, forces: Mapping[str, Any]) -> Array:
    """𝒢 + J*f, (…, nv): gravity carried, and forces {frame: (…, 6)} exerted on what surrounds the arm."""
    frames = tuple(forces)
    return field_forces.evaluate(model, q, {"f": row(*forces.values())}, frames=frames)


@final
@dataclass(frozen=True, eq=False)
class PotentialFieldControl(Controller):
    """A frame pulled to its goal, and points of the arm pushed away from obstacles.

    T = 𝒢 + J*(−∂U/∂x) − k_d θ̇ with U = ½ k_p|x − x_d|² + Σ ½ η(1/d − 1/d₀)² over points of the arm and obstacles
    nearer than d₀ (Khatib 1986); d is the distance between balls. The energy ½ θ̇*ℳθ̇ + U falls as −θ̇*k_d θ̇; like
    every such field, it can come to rest where pull and push balance. With `reference(goal, centres)`.

    Parameters
    ----------
    model : Model
    frame : str
        The frame that is pulled.
    points : dict
        {frame: radius}, balls around frames of the arm [m].
    radii : (m,)
        Of the obstacles, balls whose centres are part of the reference and may move [m].
    kp, kd : float or (nv,)
        Stiffness of the pull [N/m], damping of the joints.
    strength, reach : float
        η and d₀ [m].

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> law = ps.control.PotentialFieldControl(arm, "tool", {arm.bodies[2].name: 0.05}, [0.1])
    >>> law(0.0, q, v, law.reference([0.5, 0, 0.5], [[1.0, 1.0, 0.5]])).shape
    (6,)
    """

    model: Model
    frame: str
    points: Mapping[str, float]
    radii: Any
    kp: Any = 100.0
    kd: Any = 10.0
    strength: Any = 1.0
    reach: Any = 0.1

    def __post_init__(self) -> None:
        refuse_loops(self.model, self)
        if not isinstance(self.points, Mapping) or not self.points or self.frame in self.points:
            raise ShapeError(
                "PotentialFieldControl needs points to protect, {frame: radius}, other than the frame that is pulled."
            )
        for name in (self.frame, *self.points):
            self.model.frame(name)
        set_gains(self, {"kp": 3, "kd": self.model.nv, "strength": 1, "reach": 1})
        if not np.all(self.reach):
            raise ShapeError("PotentialFieldControl's reach must be positive.")
        own = gain(list(self.points.values()), len(self.points), "PotentialFieldControl's radius of a point")
        object.__setattr__(self, "points", dict(zip(self.points, own.tolist(), strict=True)))
        count = np.size(self.radii)
        if not count:
            raise ShapeError("PotentialFieldControl needs the radius of at least one obstacle.")
        object.__setattr__(self, "radii", gain(self.radii, count, "PotentialFieldControl's radii"))

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": 3 + 3 * len(self.radii)}

    def reference(self, goal: Any, centres: Any) -> Array:
        """The goal (…, 3) and the obstacles' centres (…, obstacles, 3)."""
        centres = np.asanyarray(centres)
        if centres.shape[-2:] != (len(self.radii), 3):
            raise ShapeError(f"centres has shape {centres.shape}; there are {len(self.radii)} obstacles, (…, 3) each.")
        return row(entries(goal, 3, "The goal"), centres.reshape(*centres.shape[:-2], 3 * len(self.radii)))

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        q, v, goal, *centres = check_arguments(self.model, q, v, reference, 3, *([3] * len(self.radii)))
        pull = self.kp * (goal - self._place(q, self.frame))
        forces = {self.frame: _force(pull)}
        for name, own in self.points.items():
            gaps = [self._gap(q, name, own, c, r) for c, r in zip(centres, self.radii, strict=True)]
            forces[name] = _force(sum(self._slope(gap) * away for gap, away in gaps))
        return field_forces(self.model, q, forces) - self.kd * v

    def storage(self, q: Any, v: Any, reference: Any) -> Array:
        """½ θ̇*ℳθ̇ + U, (…)."""
        q, v, goal, *centres = check_arguments(self.model, q, v, reference, 3, *([3] * len(self.radii)))
        away = goal - self._place(q, self.frame)
        total = kinetic_energy(self.model, q, v) + 0.5 * np.sum(self.kp * away * away, axis=-1)
        for name, own in self.points.items():
            for centre, radius in zip(centres, self.radii, strict=True):
                gap, _ = self._gap(q, name, own, centre, radius)
                total = total + self._height(gap)[..., 0]
        return total

    def _place(self, q: Any, frame: str) -> np.ndarray:
        return forward_kinematics(self.model, q, frame)[..., :3, 3]

    def _gap(self, q: Any, name: str, own: float, centre: Any, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Distance between two balls, (…, 1), and the direction away from the obstacle, (…, 3)."""
        apart = self._place(q, name) - centre
        length = np.sqrt(np.maximum(np.sum(apart * apart, axis=-1), COINCIDENT**2))[..., None]
        return length - (own + radius), apart / length

    def _height(self, gap: np.ndarray) -> np.ndarray:
        """U = ½ η(1/d − 1/d₀)², straight below the least distance."""
        least = np.maximum(gap, NEAREST * self.reach)
        excess = np.maximum(1.0 / least - 1.0 / self.reach, 0.0)
        return 0.5 * self.strength * excess * excess + self._slope(gap) * (least - gap)

    def _slope(self, gap: np.ndarray) -> np.ndarray:
        """−dU/dd."""
        least = np.maximum(gap, NEAREST * self.reach)
        return self.strength * np.maximum(1.0 / least - 1.0 / self.reach, 0.0) / (least * least)


def _force(linear: Any) -> np.ndarray:
    return np.concatenate([np.zeros(linear.shape), linear], axis=-1)
