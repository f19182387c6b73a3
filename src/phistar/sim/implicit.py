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

from phistar.backends.arrays import is_traced, traced
from phistar.backends.kernel import compilable, compile_trace
from phistar.backends.single import single_of
from phistar.backends.trace import Scalar, Tape, finish
from phistar.contact.axes import bases_of, contact_map
from phistar.contact.forces import Held, contact_forces
from phistar.contact.surface import Parameters
from phistar.dynamics import (
    force_response,
    forward_dynamics,
    forward_kinematics,
    frame_velocity,
    mass_matrix_inverse,
    mobility,
)
from phistar.model import Model
from phistar.sim.coordinates import Coordinates
from phistar.sim.dry import dry_forces
from phistar.sim.roots import Roots
from phistar.spatial import cross

LARGEST_PATTERN = 6  # places of contact; the forces of more are found in NumPy
MEASURED, HELD, FORCED = 7, 5, 6  # numbers of a place: gap, point and normal; bristle, twist, touch speed; Taken.force
COLUMNS = MEASURED + HELD + len(Parameters._fields)
NONE = np.zeros((0, HELD)), np.zeros((0, FORCED))

Sides = tuple[tuple[int, int], ...]  # of each place: which of the frames' bodies are a and b, −1 the world
Stops = tuple[tuple[int, float], ...]  # of each joint near a limit: its rate, and 1 at the lower, −1 at the upper


class Taken(NamedTuple):
    """A step's numbers: the state after it; what is held (n, 5), bristles in world axes, twists, touch speeds; `force`
    (n, 6) along two tangents and the normal and about it, the gap left, and by how much Newton's method missed it."""

    q: Any
    v: Any
    held: Any
    force: Any


@dataclass(frozen=True)
class ImplicitStep:
    """The step of a model whose bodies at `frames` are touched in the pattern `sides`, and joints are near `stops`."""

    model: Model
    frames: tuple[str, ...]
    sides: Sides
    stops: Stops = ()

    @cached_property
    def count(self) -> int:
        return len(self.sides) + len(self.stops)

    def __call__(self, q: Any, v: Any, tau: Any, rows: Any, h: Any) -> Taken:
        """Of q, v, tau, a row per place (its gap, point, normal, what it holds, its parameters), and the step (1,)."""
        if self._kernel is None:
            return self.numbers(q, v, tau, rows, h[0])
        whole, single = self._kernel
        given = (q, v, tau, h, rows.reshape(-1)) if self.count else (q, v, tau, h)
        made = single(*given)
        if made is NotImplemented:
            with np.errstate(invalid="ignore"):  # a controller's NaN is found by the step it spoils
                made = whole(*given)
        after, rates = made[:2]
        return Taken(after, rates, *(made[2:] if self.count else NONE))

    def numbers(self, q: Any, v: Any, tau: Any, rows: Any, h: Any) -> Taken:
        """The same on floats or traced numbers of one state."""
        model = self.model
        acceleration = forward_dynamics(model, q, v, tau)
        roots, pushes = Roots(model), [np.zeros(6)] * len(Roots(model).bodies)
        held, forced = NONE
        if self.count:
            held, forced, pushes, more = self._contact(q, v + h * acceleration, rows, h)
            acceleration = acceleration + more
        if len(self._dry):
            acceleration = acceleration + self._stopping(q, v + h * acceleration, h)
        coordinates, after = Coordinates(model), v + h * acceleration
        ahead = coordinates.unit(coordinates.moved(np.asarray(q), np.asarray(h * after)))
        if roots.bodies:
            momenta = roots.momenta(q, v) + h * (roots.pushed(q, tau) + np.stack(pushes))
            ahead = traced(ahead) if is_traced(ahead) else ahead
            after = roots.moved(ahead, after, momenta)
        return Taken(ahead, after, held, forced)

    def _contact(self, q: Any, v: Any, rows: Any, h: Any) -> tuple[Any, Any, list[Any], Any]:
        """What places hold and their forces, those on each free tree, and the accelerations they add."""
        model, n, count = self.model, len(self.sides), self.count
        gap, point, normal, bristle = rows[:, 0], rows[:n, 1:4], rows[:n, 4:7], rows[:n, 7:10]
        joints = self._inverse(q)
        u, g = np.zeros((count, 4), dtype=rows.dtype), np.zeros((count, 4, count, 4), dtype=rows.dtype)
        for i, (rate, way) in enumerate(self.stops):
            u[n + i : n + i + 1, 2] = v[rate : rate + 1] * way
            g[n + i, 2, n:, 2] = np.stack([column[rate] * way for column in joints])
        across, bases, places = np.zeros((0, 2)), np.zeros((0, 3, 3)), np.zeros((0, 0))
        if n:
            motion = frame_velocity(model, q, v, self.frames)
            bases = bases_of(normal)
            origins = np.stack([forward_kinematics(model, q, frame)[:3, 3] for frame in self.frames])
            places = contact_map(point, bases, origins, self.sides).reshape(4 * n, -1)
            bristle = bristle + h * cross(self._carried(motion), bristle)
            across = np.stack([np.matmul(bristle[i], bases[i][:, :2]) for i in range(n)])
            omega = np.matmul(np.matmul(places, mobility(model, q, self.frames)), np.swapaxes(places, 0, 1))
            g[:n, :, :n] = omega.reshape(n, 4, n, 4)
            u[:n] = np.matmul(places, motion).reshape(n, 4)
            for i, column in enumerate(joints):  # Jℳ⁻¹H*: how stops move places, and the other way round
                g[:n, :, n + i, 2] = np.matmul(places, frame_velocity(model, q, column, self.frames)).reshape(n, 4)
                g[n + i, 2, :n] = g[:n, :, n + i, 2]
        u, g = (traced(x) if is_traced(x) else x for x in (u, g))
        still = np.zeros((count - n, 2))
        kept = Held(np.concatenate([across, still]), rows[:, 10], rows[:, 11])
        parameters = Parameters(*np.swapaxes(rows[:, MEASURED + HELD :], 0, 1))
        force, left, kept, missed = contact_forces(parameters, gap, u, g, kept, h, n)
        turned = [np.matmul(bases[i][:, :2], kept.bristle[i]) for i in range(n)] + [np.zeros(3)] * (count - n)
        held = np.concatenate([np.stack(turned), np.stack([kept.twist, kept.touch_speed], axis=-1)], axis=-1)
        acceleration = np.zeros(model.nv)
        if n:
            wrenches = np.matmul(force[:n].reshape(4 * n), places).reshape(-1, 6)
            acceleration = force_response(model, q, np.zeros(model.nv), dict(zip(self.frames, wrenches, strict=True)))
        for i, column in enumerate(joints):
            acceleration = acceleration + column * force[n + i, 2]
        forced = np.concatenate([force, np.stack([left, missed], axis=-1)], axis=-1)
        return held, forced, self._pushes(point, bases, force), acceleration

    def _inverse(self, q: Any) -> list[Any]:
        """ℳ⁻¹H* of the stops, each (nv,), with their sign."""
        if not self.stops:
            return []
        inverse = mass_matrix_inverse(self.model, q)
        return [inverse[:, rate] * way for rate, way in self.stops]

    def _pushes(self, point: Any, bases: Any, force: Any) -> list[Any]:
        """[moment; force] about the world's origin that contact puts on each free tree."""
        roots = Roots(self.model)
        tree = {i: roots.tree[self.model.body_index(name)] for i, name in enumerate(self.frames)} | {-1: -1}
        pushes = [np.zeros(6)] * len(roots.bodies)
        for i, (a, b) in enumerate(self.sides):
            if tree[a] == tree[b]:
                continue
            linear = np.matmul(bases[i], force[i, :3])
            whole = np.concatenate([cross(point[i], linear) + bases[i][:, 2] * force[i, 3], linear])
            for side, way in ((tree[a], 1.0), (tree[b], -1.0)):
                if side >= 0:
                    pushes[side] = pushes[side] + way * whole
        return pushes

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

    @cached_property
    def _kernel(self) -> tuple[Any, Any] | None:
        """The compiled step, and its door for one state; None where NumPy does it."""
        if not compilable(self.model) or self.count > LARGEST_PATTERN:
            return None
        store = self.model.__dict__.setdefault("_kernels", {})
        key = ("implicit step", self.frames, self.sides, self.stops)
        if key not in store:
            store[key] = self._compiled()
        return store[key], single_of(store[key])

    def _compiled(self) -> Any:
        tape, model, count = Tape(), self.model, self.count
        sizes = [model.nq, model.nv, model.nv, 1, COLUMNS * count]
        q, v, tau, h, rows = (traced(tape.inputs((size,))) for size in sizes)
        made = self.numbers(q, v, tau, rows.reshape(count, COLUMNS), h[0])
        values = [x for array in made for x in np.asarray(array).reshape(-1)]
        values = [x.item() if isinstance(x, np.ndarray) else x for x in values]
        trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in values])
        shapes = [(model.nq,), (model.nv,), (count, HELD), (count, FORCED)]
        used, title = (5, 4) if count else (4, 2), f"step of {model.name} with {count} contacts"
        return compile_trace(trace, sizes[: used[0]], shapes[: used[1]], title, Taken._fields[: used[1]]).function
