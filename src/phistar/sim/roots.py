"""The momentum of trees that nothing holds: what a step in body axes loses of it is given back to their free roots.

With a free joint at its root, H(root) = I, the root's rows of ℳθ̇ = HφMφ*H*θ̇ are the momentum of the whole tree as its
root sees it. Forces between bodies act at one common point on both, so that the balance of all trees closes exactly.
A tree's centre of mass moves along its linear momentum p, so that of L = c×p + L_c no share passes from c×p to the spin
about the centre: L_c of a tree in free flight is kept too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.traces.solve import solve_symmetric
from phistar.dynamics import forward_kinematics, gravity_load, mass_matrix
from phistar.model import Free, Model
from phistar.model.parts import Loop
from phistar.spatial import cross


@dataclass(frozen=True)
class Roots:
    """The k free joints that stand on the world and carry trees on their own; floats or traced numbers of one state."""

    model: Model

    @cached_property
    def bodies(self) -> tuple[int, ...]:
        """The bodies at the roots of those trees whose momentum no loop passes on, to another tree or to the world.

        The forces of a loop within one tree, and those of couplings, which act on joints, are inner forces of it.
        """
        model = self.model
        root: list[int] = []
        for body, parent in enumerate(model.parents):
            root.append(body if parent < 0 else root[parent])
        tied: set[int] = set()
        for loop in model.loops:
            if isinstance(loop, Loop):
                ends = [model.frame(end).body for end in (loop.frame_a, loop.frame_b)]
                roots = {root[body] if body >= 0 else -1 for body in ends}
                tied |= roots if len(roots) > 1 else set()
        free = (i for i, up in enumerate(model.parents) if up < 0 and isinstance(model.joints[i].kind, Free))
        return tuple(i for i in free if i not in tied)

    def momenta(self, q: Any, v: Any) -> Any:
        """(k, 6): of each tree, about the world's origin, world axes."""
        mass = mass_matrix(self.model, q)
        return np.stack([_outward(self._pose(q, i), np.matmul(mass[self._rates(i)], v)) for i in self.bodies])

    def force(self, q: Any, tau: Any) -> Any:
        """(k, 6): the force about the world's origin of gravity and of the joint forces at the roots."""
        force = tau - gravity_load(self.model, q)
        return np.stack([_outward(self._pose(q, i), force[self._rates(i)]) for i in self.bodies])

    def set_momenta(self, q: Any, v: Any, momenta: Any) -> Any:
        """v (nv,) with those twists of the roots that make the trees' momenta what is given."""
        parts, done = [], 0
        for own, inertia, missing in self._missing_momenta(q, v, momenta):
            parts += [v[done : own.start], v[own] + solve_symmetric(inertia, missing[:, None])[:, 0]]
            done = own.stop
        return np.concatenate([*parts, v[done:]])

    def place_roots(self, q: Any, ahead: Any, momenta: Any, h: Any) -> Any:
        """`ahead` (nq,), the coordinates after a step h from q, with the roots where their trees' centres of mass have
        moved by h p/m, p the linear momenta after it."""
        before, after, parts, done = mass_matrix(self.model, q), mass_matrix(self.model, ahead), [], 0
        for number, body in enumerate(self.bodies):
            rates, place = self._rates(body), self.model.joints[body].q_slice.start
            mass, start = _center(self._pose(q, body), before[rates, rates])
            _, reached = _center(self._pose(ahead, body), after[rates, rates])
            missing = start + (h / mass) * momenta[number][3:] - reached
            axes = self.model.bodies[body].placement.rotation
            parts += [ahead[done:place], ahead[place : place + 3] + np.matmul(axes.T, missing)]
            done = place + 3
        return np.concatenate([*parts, ahead[done:]])

    def _missing_momenta(self, q: Any, v: Any, momenta: Any) -> Iterator[tuple[slice, Any, Any]]:
        """Yield each tree's root rates, its inertia (6, 6) seen at the root, and the momentum (6,) that v lacks."""
        mass = mass_matrix(self.model, q)
        for body, momentum in zip(self.bodies, momenta, strict=True):
            own = self._rates(body)
            seen = _inward(self._pose(q, body), momentum)
            yield own, np.asarray(mass[own, own]), np.asarray(seen - np.matmul(mass[own], v))

    def _pose(self, q: Any, body: int) -> Any:
        return forward_kinematics(self.model, q, self.model.bodies[body].name)

    def _rates(self, body: int) -> slice:
        return self.model.joints[body].v_slice


def _center(pose: Any, inertia: Any) -> tuple[Any, Any]:
    """m and the centre of mass (3,) in the world, of the inertia [[·, m c̃], [·, m 1]] of a tree in its root's frame."""
    mass = inertia[3, 3]
    center = np.stack([inertia[2, 4], inertia[0, 5], inertia[1, 3]]) / mass
    return mass, pose[:3, 3] + np.matmul(pose[:3, :3], center)


def _outward(pose: Any, force: Any) -> Any:
    """φ: [moment; force] in the axes and about the origin of a pose, about the world's origin."""
    linear = np.matmul(pose[:3, :3], force[3:])
    return np.concatenate([np.matmul(pose[:3, :3], force[:3]) + cross(pose[:3, 3], linear), linear])


def _inward(pose: Any, force: Any) -> Any:
    """Inverse of `_outward`."""
    turn = np.swapaxes(pose[:3, :3], 0, 1)
    return np.concatenate([np.matmul(turn, force[:3] - cross(pose[:3, 3], force[3:])), np.matmul(turn, force[3:])])
