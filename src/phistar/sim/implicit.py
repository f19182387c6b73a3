"""What a step needs of a mechanism's dynamics: θ̇ without contact, how it answers to forces, and the state after it.

v⁺ = v + h ℳ⁻¹(T − 𝒞 − 𝒢 + J*f⁺), q⁺ = q ⊕ h v⁺. The first half gives v + h ℳ⁻¹(T − 𝒞 − 𝒢), ℳ⁻¹ and the joints' screws,
from which `contact.forces` finds f⁺; the second moves q, and gives free trees the momentum they are owed. Both are
compositions of stated quantities, compiled once for all models of a structure: what floats freely may have any inertia.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.kernel import compilable
from phistar.backends.one_state import one_state
from phistar.backends.traces.arrays import is_traced, traced
from phistar.dynamics import (
    forward_dynamics,
    forward_kinematics,
    jacobian,
    mass_matrix_inverse,
)
from phistar.model import Model
from phistar.sim.closing import closed_again
from phistar.sim.coordinates import Coordinates
from phistar.sim.roots import Roots
from phistar.sim.stops import JointStops
from phistar.spatial import cross
from phistar.spatial.value import digest
from phistar.stated import runtime_parameters

MOST_RATES = 48  # beyond, ℳ⁻¹ has too many entries to be written out


class Free(NamedTuple):
    """Of a step without contact: the rates (nv,) at its end, those of free roots in the axes of its start, where they
    have the linear momenta of its end; ℳ⁻¹ (nv²,); the joints' screws (6 nv,), [ω; v] at the world's origin for each
    rate; and the momenta (6k,) of the k free trees at its end."""

    rates: Any
    inverse: Any
    screws: Any
    momenta: Any


@dataclass(frozen=True)
class ImplicitStep:
    """The two halves of a model's step; floats or traced numbers of one state."""

    model: Model

    @cached_property
    def roots(self) -> Roots:
        return Roots(self.model)

    @cached_property
    def limits(self) -> JointStops:
        return JointStops(self.model)

    @cached_property
    def trees(self) -> int:
        """k, the number of free trees; where there are none, one that nothing belongs to."""
        return max(len(self.roots.bodies), 1)

    @cached_property
    def inertias(self) -> np.ndarray:
        """(10k,): mass, mass·com and the inertia about the origin, of the bodies at free roots."""
        found = [self._numbers(body) for body in self.roots.bodies]
        return np.concatenate(found) if found else np.zeros(10)

    def _numbers(self, body: int) -> np.ndarray:
        inertia = self.model.bodies[body].inertia
        return np.array([inertia.mass, *(inertia.mass * inertia.com), *inertia.about_origin[_LOWER]])

    def free(self, q: Any, v: Any, tau: Any, h: Any) -> Free:
        """The first half; h (1,)."""
        if self._compiled:
            return Free(*self._free(q, v, tau, h, self.inertias))
        return Free(*(np.ascontiguousarray(x).reshape(-1) for x in self._free_formulas(q, v, tau, h)))

    def after(self, q: Any, w: Any, momenta: Any, h: Any) -> tuple[Any, Any, Any]:
        """The second half: q⁺ and v⁺ from the rates w, with the places and twists, in the axes of the step's end, that
        give free trees their momenta (6k,), and how far (1,) joints are from their limits."""
        if self._compiled:
            return self._after(q, w, momenta, h, self.inertias)
        return self._after_formulas(q, w, momenta, h)

    # The formulas

    def _free_formulas(self, q: Any, v: Any, tau: Any, h: Any) -> Free:
        model, roots = self.model, self.roots
        rates = v + h[0] * forward_dynamics(model, q, v, tau)
        momenta = np.zeros(6)
        if roots.bodies:
            momenta = roots.momenta(q, v) + h[0] * roots.pushed(q, tau)
            rates = roots.carried(q, rates, momenta)  # θ̈ lacks the ω×v of its turning axes, which contacts must see
        return Free(rates, self._inverse(q, v, tau), self._screws(q), momenta)

    def _inverse(self, q: Any, v: Any, tau: Any) -> Any:
        """How θ̈ answers to joint forces, (nv, nv): ℳ⁻¹, or what loops leave of it."""
        model = self.model
        if not model.loops:
            return mass_matrix_inverse(model, q)
        answers = forward_dynamics(model, q, v, tau + np.eye(model.nv)) - forward_dynamics(model, q, v, tau)
        return 0.5 * (answers + answers.T)

    def _screws(self, q: Any) -> Any:
        """(nv, 6): how a body on each joint moves with its rate, at the world's origin."""
        rows = []
        for body, joint in zip(self.model.bodies, self.model.joints, strict=True):
            if joint.nv:
                columns = np.swapaxes(jacobian(self.model, q, body.name), 0, 1)[joint.v_slice]
                at = forward_kinematics(self.model, q, body.name)[:3, 3]
                rows += [np.concatenate([x[:3], x[3:] + cross(at, x[:3])]) for x in columns]
        return np.stack(rows)

    def _after_formulas(self, q: Any, w: Any, momenta: Any, h: Any) -> tuple[Any, Any, Any]:
        coordinates, least = Coordinates(self.model), np.inf
        ahead = coordinates.unit(coordinates.moved(np.asarray(q), np.asarray(h[0] * w)))
        ahead, after = _alike(ahead), w
        if self.roots.bodies:
            ahead = _alike(self.roots.placed(q, ahead, momenta.reshape(-1, 6), h[0]))
            after = self.roots.moved(ahead, w, momenta.reshape(-1, 6))
        if self.model.loops:
            ahead, after = coordinates.split(closed_again(coordinates, np.concatenate([ahead, after])))
        for room in self.limits.room(ahead):
            least = np.minimum(room, least)
        return ahead, after, np.stack([least])

    # Compiled

    @cached_property
    def _compiled(self) -> bool:
        return compilable(self.model) and self.model.nv <= MOST_RATES and not self.model.loops

    @cached_property
    def key(self) -> bytes:
        """The model as far as the code depends on it: without the inertias at free roots."""
        model, free = self.model, self.roots.bodies
        kept = [(b.parent, b.joint, b.placement, None if i in free else b.inertia) for i, b in enumerate(model.bodies)]
        return digest(kept, model.gravity)

    @cached_property
    def _free(self) -> Any:
        n, m, k = self.model.nq, self.model.nv, self.trees
        shapes = [(m,), (m * m,), (6 * m,), (6 * k,)]
        return one_state("a step's free half", self.key, [n, m, m, 1, 10 * k], shapes, self._with(self._free_formulas))

    @cached_property
    def _after(self) -> Any:
        n, m, k = self.model.nq, self.model.nv, self.trees
        sizes = [n, m, 6 * k, 1, 10 * k]
        return one_state("a step's end", self.key, sizes, [(n,), (m,), (1,)], self._with(self._after_formulas))

    def _with(self, formulas: Any) -> Any:
        """The formulas with the inertias at free roots as their last argument."""

        def given(*arrays: Any) -> Any:
            whole = [self._numbers(body).astype(object) for body in range(len(self.model.bodies))]
            for number, body in enumerate(self.roots.bodies):
                whole[body] = np.asarray(arrays[-1])[10 * number : 10 * number + 10]
            if not self.roots.bodies:
                return formulas(*arrays[:-1])
            with runtime_parameters(inertia=traced(np.concatenate(whole))):
                return formulas(*arrays[:-1])

        return given


_LOWER = ([0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2])  # Ixx Ixy Iyy Ixz Iyz Izz


def _alike(array: Any) -> Any:
    """The array, one of traced numbers where it holds such."""
    return traced(array) if is_traced(array) else array
