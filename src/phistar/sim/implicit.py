"""One step of a mechanism in contact, implicit in the contact forces: the arithmetic of it, compiled.

v⁺ = v + h ℳ⁻¹(T − 𝒞 − 𝒢 + J*f⁺), q⁺ = q ⊕ h v⁺, with dry friction in the joints. Gaps, points and normals are those at
the step's start; the function takes floats, or traced numbers from which machine code is made for a pattern of contact:
which bodies touch, at how many places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.arrays import traced
from phistar.backends.kernel import compilable, compile_trace
from phistar.backends.trace import Scalar, Tape, finish
from phistar.contact.forces import Held, contact_forces
from phistar.contact.response import bases_of, contact_map, mobility, motions, response
from phistar.contact.surface import Parameters
from phistar.dynamics import forward_dynamics, forward_kinematics, mass_matrix_inverse
from phistar.model import Model
from phistar.sim.coordinates import Coordinates
from phistar.sim.dry import dry_forces
from phistar.spatial import cross

LARGEST_PATTERN = 6  # places of contact; the forces of more are found in NumPy

Sides = tuple[tuple[int, int], ...]  # of each place: which of the frames' bodies are a and b, −1 the world


class Taken(NamedTuple):
    """A step's numbers: the state after it, what is held (bristles in world axes), forces (n, 4) along two tangents and
    the normal and about it, the gaps left, and by how much Newton's method missed them."""

    q: Any
    v: Any
    bristle: Any
    twist: Any
    touch_speed: Any
    force: Any
    gap: Any
    missed: Any


@dataclass(frozen=True)
class ImplicitStep:
    """The step of a model whose bodies at `frames` are touched in the pattern `sides`."""

    model: Model
    frames: tuple[str, ...]
    sides: Sides

    def __call__(self, *arrays: Any) -> Taken:
        """(q, v, tau, gap (n,), point (n, 3), normal (n, 3), p (9, n), bristle (n, 3), twist, touch_speed, h)."""
        if not compilable(self.model) or len(self.sides) > LARGEST_PATTERN:
            return self.numbers(*arrays)
        flat = np.concatenate([np.ravel(x) for x in arrays])
        with np.errstate(invalid="ignore"):  # a controller's NaN is found by the step it spoils
            made = self._kernel(flat)
        parts = np.split(made, np.cumsum(self._outputs)[:-1])
        n = len(self.sides)
        parts[2], parts[5] = parts[2].reshape(n, 3), parts[5].reshape(n, 4)
        return Taken(*parts)

    def numbers(self, q, v, tau, gap, point, normal, p, bristle, twist, touch_speed, h) -> Taken:
        """The same on floats or traced numbers of one state."""
        model, n = self.model, len(self.sides)
        acceleration = forward_dynamics(model, q, v, tau)
        force, left, missed = np.zeros((0, 4)), gap, gap
        if n:
            motion = motions(model, q, v + h * acceleration, self.frames)
            bases = bases_of(normal)
            origins = np.stack([forward_kinematics(model, q, frame)[:3, 3] for frame in self.frames])
            places = contact_map(point, bases, origins, self.sides).reshape(4 * n, -1)
            bristle = bristle + h * cross(self._carried(motion), bristle)
            across = np.stack([np.matmul(bristle[i], bases[i][:, :2]) for i in range(n)])
            g = np.matmul(np.matmul(places, mobility(model, q, self.frames)), np.swapaxes(places, 0, 1))
            u = np.matmul(places, motion).reshape(n, 4)
            held = Held(across, twist, touch_speed)
            force, left, held, missed = contact_forces(Parameters(*p), gap, u, g.reshape(n, 4, n, 4), held, h)
            bristle = np.stack([np.matmul(bases[i][:, :2], held.bristle[i]) for i in range(n)])
            twist, touch_speed = held.twist, held.touch_speed
            acceleration = acceleration + response(model, q, self.frames, np.matmul(force.reshape(4 * n), places))
        if len(self._dry):
            acceleration = acceleration + self._stopping(q, v + h * acceleration, h)
        v = v + h * acceleration
        coordinates = Coordinates(model)
        q = coordinates.unit(coordinates.moved(np.asarray(q), np.asarray(h * v)))
        return Taken(q, v, bristle, twist, touch_speed, force, left, missed)

    def _carried(self, motion: Any) -> Any:
        """The angular velocities that carry the bristles: those of b, or of a where b is the world."""
        chosen = [b if b >= 0 else a for a, b in self.sides]
        return np.stack([motion[6 * body : 6 * body + 3] for body in chosen])

    @cached_property
    def _dry(self) -> np.ndarray:
        """The rates that dry friction acts on."""
        limits = [np.zeros(0), *(np.max(joint.kind.friction, axis=0) for joint in self.model.joints)]
        return np.nonzero(np.concatenate(limits))[0]

    def _stopping(self, q: Any, rates: Any, h: Any) -> Any:
        """The accelerations of the joints' dry friction."""
        limits = np.concatenate([joint.kind.friction for joint in self.model.joints], axis=-1)[:, self._dry]
        inverse = mass_matrix_inverse(self.model, q)[:, self._dry]
        return np.matmul(inverse, dry_forces(inverse[self._dry], rates[self._dry], limits, h))

    @property
    def _inputs(self) -> list[int]:
        n, nv = len(self.sides), self.model.nv
        return [self.model.nq, nv, nv, n, 3 * n, 3 * n, len(Parameters._fields) * n, 3 * n, n, n, 1]

    @property
    def _outputs(self) -> list[int]:
        n = len(self.sides)
        return [self.model.nq, self.model.nv, 3 * n, n, n, 4 * n, n, n]

    @property
    def _kernel(self) -> Any:
        store = self.model.__dict__.setdefault("_kernels", {})
        key = ("implicit step", self.frames, self.sides)
        if key not in store:
            store[key] = self._compiled()
        return store[key]

    def _compiled(self) -> Any:
        tape, n, sizes = Tape(), len(self.sides), self._inputs
        given = np.split(traced(tape.inputs((sum(sizes),))), np.cumsum(sizes)[:-1])
        q, v, tau, gap, point, normal, p, bristle, twist, touch, h = given
        shaped = point.reshape(n, 3), normal.reshape(n, 3), p.reshape(len(Parameters._fields), n), bristle.reshape(n, 3)
        made = self.numbers(q, v, tau, gap, *shaped, twist, touch, h[0])
        values = [x for array in made for x in np.asarray(array).reshape(-1)]
        values = [x.item() if isinstance(x, np.ndarray) else x for x in values]
        trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in values])
        title = f"step of {self.model.name} with {n} contacts"
        return compile_trace(trace, [sum(sizes)], [(sum(self._outputs),)], title, ("step",)).function
