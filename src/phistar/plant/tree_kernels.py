"""A tree's part of a step, as kernels of the robot's own statements: ℳ, forces, screws, poses, and q after a step."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.choice import is_tree_kernel
from phistar.backends.links.wide import WideLinks, wide_links
from phistar.backends.one_state import Formula
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import is_traced
from phistar.dynamics import bias, mass_matrix
from phistar.model import FlexibleInertia, Model
from phistar.plant.long_trees import has_long_kernels
from phistar.sim.coordinates import Coordinates
from phistar.sim.roots import Roots
from phistar.spatial import Inertia, cross
from phistar.spatial.value import digest
from phistar.stated_kernels import runtime_parameters

Place = tuple[int, int]  # a body and its node; −1: the body's own frame


def places_of(bodies: Iterable[int], nodes: Collection[Place]) -> tuple[Place, ...]:
    """The places on some bodies in the step's order: each body, then its nodes, of those given."""
    return tuple(place for i in bodies for place in ((i, -1), *sorted(each for each in nodes if each[0] == i)))


@dataclass(frozen=True)
class TreeKernels:
    """One tree, without its loops; `nodes` of bodies that bend are those that carry something."""

    model: Model
    nodes: tuple[Place, ...] = ()

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Everything that moves as one, in the step's order."""
        return places_of(range(len(self.model.bodies)), self.nodes)

    @property
    def bending(self) -> list[FlexibleInertia]:
        """The bodies that bend."""
        return [body.flexible for body in self.model.bodies if body.flexible is not None]

    @property
    def node_rates(self) -> int:
        """Screws of modes at all nodes together."""
        return sum(self.model.bodies[body].modes for body, _ in self.nodes)

    @cached_property
    def roots(self) -> Roots:
        return Roots(self.model)

    def _formulas(self, q: Any, v: Any) -> tuple[Any, ...]:
        """Dynamics of a tree of n rates, k places: ℳ (n²,); −𝒞 − 𝒢 (n,), plus the term of a free root's turning axes;
        screws (6n,), [ω; v] at the world's origin, zero of modes; poses (12k,), rotations and places; the momentum of a
        free tree about the world's origin and gravity's force on it, (6,) each; where nodes carry something, the
        screws of modes there."""
        model = self.model
        mass, force = mass_matrix(model, q), -bias(model, q, v)
        momentum, pushed = np.zeros(6), np.zeros(6)
        if self.roots.bodies:
            own = model.joints[self.roots.bodies[0]].v_slice
            turning = cross(v[own][:3], v[own][3:])  # θ̈ lacks the ω×v of its turning axes, which contacts must see
            force = force + np.matmul(mass[:, own.start + 3 : own.stop], turning)
            momentum, pushed = self.roots.momenta(q, v)[0], self.roots.force(q, np.zeros(model.nv))[0]
        links = wide_links(model, q) if self.nodes else None
        poses = self._poses(q, links)
        flat = [np.concatenate([np.asarray(turn).reshape(-1), place]) for turn, place in poses.values()]
        screws = self._screws(q, poses).reshape(-1)
        made = (mass.reshape(-1), force, screws, np.concatenate(flat), momentum, pushed)
        return made if links is None else (*made, self._screws_at_nodes(poses, links))

    def _poses(self, q: Any, links: WideLinks | None) -> dict[Place, tuple[Any, Any]]:
        """Rotation and origin of every place, from its carrier's: one walk outward, however long the tree is."""
        made: dict[Place, tuple[Any, Any]] = {}
        for number, node in self.places:
            body = self.model.bodies[number]
            if node >= 0 and links is not None:
                bent, carrier = links.node(number, node), (number, -1)
                turn, place = bent.turn, bent.place
            else:
                turn, place = body.joint.kind.pose(q[body.joint.q_slice])
                own, at = np.asarray(body.placement.rotation), np.asarray(body.placement.translation)
                turn, place, carrier = np.matmul(own, turn), np.matmul(own, place) + at, (body.parent, body.node)
            if carrier in made:
                above, origin = made[carrier]
                turn, place = np.matmul(above, turn), np.matmul(above, place) + origin
            made[number, node] = turn, place
        return made

    def _screws(self, q: Any, poses: dict[Place, tuple[Any, Any]]) -> Any:
        """Columns of every joint's H* in the world, [ω; v] at its origin; zero of modes, which leave their body's own
        frame where it is."""
        rows = []
        for number, body in enumerate(self.model.bodies):
            columns = np.swapaxes(np.asarray(body.joint.kind.subspace(q[body.joint.q_slice])), -1, -2)
            rows += [_at_origin(poses[number, -1], poses[number, -1][1], x[:3], x[3:]) for x in columns]
            rows += [np.zeros(6) for _ in range(body.modes)]
        return np.stack(rows)

    def node_screws(self, q: Any, links: WideLinks) -> Any:
        """Motions of the nodes that carry something by each mode, [ω; v] at the world's origin, one after the other."""
        return self._screws_at_nodes(self._poses(q, links), links)

    def _screws_at_nodes(self, poses: dict[Place, tuple[Any, Any]], links: WideLinks) -> Any:
        """Motions of nodes by each mode, [L; g], in the world, [ω; v] at its origin."""
        rows = []
        for number, node in self.nodes:
            bent, origin = links.node(number, node), poses[number, node][1]
            for spin, slide in zip(np.swapaxes(bent.spin, 0, 1), np.swapaxes(bent.slide, 0, 1), strict=True):
                rows.append(_at_origin(poses[number, -1], origin, spin, slide))
        return np.concatenate(rows)

    def _after_formulas(self, q: Any, w: Any, momentum: Any, h: Any) -> tuple[Any, Any]:
        coordinates, after = Coordinates(self.model), w
        ahead = _alike(coordinates.unit(coordinates.add(np.asarray(q), np.asarray(h[0] * w))))
        if self.roots.bodies:
            owed = momentum.reshape(1, 6)
            ahead = _alike(self.roots.place_roots(q, ahead, owed, h[0]))
            after = self.roots.set_momenta(ahead, w, owed)
        return ahead, after

    @cached_property
    def root_inertia(self) -> tuple[np.ndarray, ...]:
        """The inertia (10,) of a root that floats, which is an input of the kernels: mass, mass·com, and the lower half
        of the tensor about the origin. What floats may have any, and nothing is compiled anew."""
        given = () if self.model.is_flexible else self.roots.bodies
        return tuple(_numbers(self.model.bodies[body].inertia) for body in given)

    def _with_root_inertia(self, formulas: Any) -> Any:
        """The formulas with the inertia of a root that floats as their last argument, where they are kernels."""
        if not self.root_inertia or not self.is_compiled:
            return formulas

        def formula(*arrays: Any) -> Any:
            whole = [_numbers(body.inertia).astype(object) for body in self.model.bodies]
            whole[self.roots.bodies[0]] = np.asarray(arrays[-1])
            with runtime_parameters(inertia=traced(np.concatenate(whole))):
                return formulas(*arrays[:-1])

        return formula

    @cached_property
    def key(self) -> bytes:
        """The model as far as the code depends on it."""
        free, bodies = self.roots.bodies if self.root_inertia else (), self.model.bodies
        kept = [(b.parent, b.joint, b.placement, None if i in free else b.inertia) for i, b in enumerate(bodies)]
        if self.model.is_flexible:
            return digest(kept, self.model.gravity, [(b.flexible, b.node) for b in bodies], self.nodes)
        return digest(kept, self.model.gravity)

    @cached_property
    def is_compiled(self) -> bool:
        """Whether these are kernels; functions of arrays otherwise."""
        return is_tree_kernel(self.model)

    @cached_property
    def long(self) -> bool:
        """Whether these run link by link (`long_trees.py`)."""
        return not self.is_compiled and has_long_kernels(self.model)

    @cached_property
    def at_state(self) -> Formula:
        """(q, v), and a floating root's inertia → what `_formulas` gives."""
        n, m, k = self.model.nq, self.model.nv, len(self.places)
        shapes = [(m * m,), (m,), (6 * m,), (12 * k,), (6,), (6,)]
        shapes += [(6 * self.node_rates,)] if self.nodes else []
        sizes = [n, m, *(10 for _ in self.root_inertia)]
        return Formula("a tree at a state", self.key, sizes, shapes, self._with_root_inertia(self._formulas))

    @cached_property
    def after(self) -> Formula:
        """(q, w, momentum (6,), h (1,)), and a floating root's inertia → q ⊕ h w and the rates there; a free tree has
        the momentum that is given."""
        n, m = self.model.nq, self.model.nv
        sizes = [n, m, 6, 1, *(10 for _ in self.root_inertia)]
        return Formula(
            "a tree after a step", self.key, sizes, [(n,), (m,)], self._with_root_inertia(self._after_formulas)
        )


_LOWER = ([0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2])  # Ixx Ixy Iyy Ixz Iyz Izz


def _numbers(inertia: Inertia) -> np.ndarray:
    return np.array([inertia.mass, *(inertia.mass * inertia.com), *inertia.about_origin[_LOWER]])


def _at_origin(axes: tuple[Any, Any], place: Any, spin: Any, slide: Any) -> Any:
    """The screw [ω; v] at the world's origin of a motion at a place, given in the axes of a pose."""
    turned, moved = np.matmul(axes[0], spin), np.matmul(axes[0], slide)
    return np.concatenate([turned, moved + cross(place, turned)])


def _alike(array: Any) -> Any:
    """The array, one of traced numbers where it holds such."""
    return traced(array) if is_traced(array) else array
