"""A tree's part of a step, as kernels of the robot's own statements: ℳ, forces, screws, poses, and q after a step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.choice import is_tree_kernel
from phistar.backends.one_state import Formula
from phistar.backends.traces.arrays import is_traced, traced
from phistar.dynamics import bias, mass_matrix
from phistar.model import Model
from phistar.plant.long_trees import has_long_kernels
from phistar.sim.coordinates import Coordinates
from phistar.sim.roots import Roots
from phistar.spatial import Inertia, cross
from phistar.spatial.value import digest
from phistar.stated import runtime_parameters


class AtState(NamedTuple):
    """Dynamics of a tree of n rates, k bodies: ℳ (n²,); −𝒞 − 𝒢 (n,), plus the term of a free root's turning axes;
    screws (6n,), [ω; v] at the world's origin; poses (12k,), rotations and places; the momentum of a free tree about
    the world's origin and gravity's force on it, (6,) each."""

    mass: Any
    force: Any
    screws: Any
    poses: Any
    momentum: Any
    pushed: Any


@dataclass(frozen=True)
class TreeKernels:
    """One tree, without its loops."""

    model: Model

    @cached_property
    def roots(self) -> Roots:
        return Roots(self.model)

    def _formulas(self, q: Any, v: Any) -> AtState:
        model = self.model
        mass, force = mass_matrix(model, q), -bias(model, q, v)
        momentum, pushed = np.zeros(6), np.zeros(6)
        if self.roots.bodies:
            own = model.joints[self.roots.bodies[0]].v_slice
            turning = cross(v[own][:3], v[own][3:])  # θ̈ lacks the ω×v of its turning axes, which contacts must see
            force = force + np.matmul(mass[:, own.start + 3 : own.stop], turning)
            momentum, pushed = self.roots.momenta(q, v)[0], self.roots.pushed(q, np.zeros(model.nv))[0]
        poses = self._poses(q)
        flat = [np.concatenate([np.asarray(turn).reshape(-1), place]) for turn, place in poses]
        screws = self._screws(q, poses)
        return AtState(mass.reshape(-1), force, screws.reshape(-1), np.concatenate(flat), momentum, pushed)

    def _poses(self, q: Any) -> list[tuple[Any, Any]]:
        """Rotation and place of every body, from its parent's: one walk outward, however long the tree is."""
        made: list[tuple[Any, Any]] = []
        for body, joint, parent in zip(self.model.bodies, self.model.joints, self.model.parents, strict=True):
            turn, place = joint.kind.pose(q[joint.q_slice])
            own, at = np.asarray(body.placement.rotation), np.asarray(body.placement.translation)
            turn, place = np.matmul(own, turn), np.matmul(own, place) + at
            if parent >= 0:
                above, origin = made[parent]
                turn, place = np.matmul(above, turn), np.matmul(above, place) + origin
            made.append((turn, place))
        return made

    def _screws(self, q: Any, poses: list[tuple[Any, Any]]) -> Any:
        """Columns of every joint's H* in the world, [ω; v] at its origin."""
        rows = []
        for joint, (turn, place) in zip(self.model.joints, poses, strict=True):
            columns = np.swapaxes(np.asarray(joint.kind.subspace(q[joint.q_slice])), -1, -2)
            for x in columns:
                spin, slide = np.matmul(turn, x[:3]), np.matmul(turn, x[3:])
                rows.append(np.concatenate([spin, slide + cross(place, spin)]))
        return np.stack(rows)

    def _after_formulas(self, q: Any, w: Any, momentum: Any, h: Any) -> tuple[Any, Any]:
        coordinates, after = Coordinates(self.model), w
        ahead = _alike(coordinates.unit(coordinates.moved(np.asarray(q), np.asarray(h[0] * w))))
        if self.roots.bodies:
            owed = momentum.reshape(1, 6)
            ahead = _alike(self.roots.placed(q, ahead, owed, h[0]))
            after = self.roots.moved(ahead, w, owed)
        return ahead, after

    @cached_property
    def root_inertia(self) -> tuple[np.ndarray, ...]:
        """The inertia (10,) of a root that floats, which is an input of the kernels: mass, mass·com, and the lower half
        of the tensor about the origin. What floats may have any, and nothing is compiled anew."""
        return tuple(_numbers(self.model.bodies[body].inertia) for body in self.roots.bodies)

    def _given(self, formulas: Any) -> Any:
        """The formulas with the inertia of a root that floats as their last argument, where they are kernels."""
        if not self.roots.bodies or not self.compiled:
            return formulas

        def given(*arrays: Any) -> Any:
            whole = [_numbers(body.inertia).astype(object) for body in self.model.bodies]
            whole[self.roots.bodies[0]] = np.asarray(arrays[-1])
            with runtime_parameters(inertia=traced(np.concatenate(whole))):
                return formulas(*arrays[:-1])

        return given

    @cached_property
    def _key(self) -> bytes:
        """The model as far as the code depends on it."""
        free, bodies = self.roots.bodies, self.model.bodies
        kept = [(b.parent, b.joint, b.placement, None if i in free else b.inertia) for i, b in enumerate(bodies)]
        return digest(kept, self.model.gravity)

    @cached_property
    def compiled(self) -> bool:
        """Whether these are kernels; functions of arrays otherwise."""
        return is_tree_kernel(self.model)

    @cached_property
    def long(self) -> bool:
        """Whether these run link by link (`long_trees.py`)."""
        return not self.compiled and has_long_kernels(self.model)

    @cached_property
    def at_state(self) -> Formula:
        """(q, v), and a floating root's inertia → AtState."""
        n, m, k = self.model.nq, self.model.nv, len(self.model.bodies)
        shapes = [(m * m,), (m,), (6 * m,), (12 * k,), (6,), (6,)]
        sizes = [n, m, *(10 for _ in self.root_inertia)]
        return Formula("a tree at a state", self._key, sizes, shapes, self._given(self._formulas))

    @cached_property
    def after(self) -> Formula:
        """(q, w, momentum (6,), h (1,)), and a floating root's inertia → q ⊕ h w and the rates there; a free tree has
        the momentum that is given."""
        n, m = self.model.nq, self.model.nv
        sizes = [n, m, 6, 1, *(10 for _ in self.root_inertia)]
        return Formula("a tree after a step", self._key, sizes, [(n,), (m,)], self._given(self._after_formulas))


_LOWER = ([0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2])  # Ixx Ixy Iyy Ixz Iyz Izz


def _numbers(inertia: Inertia) -> np.ndarray:
    return np.array([inertia.mass, *(inertia.mass * inertia.com), *inertia.about_origin[_LOWER]])


def _alike(array: Any) -> Any:
    """The array, one of traced numbers where it holds such."""
    return traced(array) if is_traced(array) else array
