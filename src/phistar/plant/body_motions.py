"""The bodies of a plant as fields see them: how every part moves, and what forces on parts are to the links.

A part is a body or, behind all bodies, a node of one that bends. The wrench f_j on a node is A_j*f_j to its link, on
the body and its modes; the motion of the node is V_j = A_jV̄ (`backends/links/wide.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.links.wide import Node, node_at
from phistar.compiled import compile
from phistar.dynamics.frame_motion import frame_poses
from phistar.expression import algebra
from phistar.model import FlexibleInertia, Model
from phistar.spatial import times


class Parts(NamedTuple):
    """The p parts of a model: the `carriers` (p,), each part's body; their `places` (p, 3) in its frame when nothing is
    bent; `masses` (p,), `centers` (p, 3) of mass and `tensors` (p, 3, 3) about them, in their own axes.

    A body that bends has its mass at its nodes; a consistent mass matrix is summed row by row, which leaves total,
    centre and modal forces of an even field as they are.
    """

    carriers: np.ndarray
    places: np.ndarray
    masses: np.ndarray
    centers: np.ndarray
    tensors: np.ndarray

    @staticmethod
    def of(model: Model) -> Parts:
        """Those of a model, made once."""
        return model.kept(("plant", "parts"), lambda: _parts(model))

    def nearest(self, model: Model, body: int, place: Any) -> tuple[int, np.ndarray]:
        """The part that a place in a body's frame moves with, and the place in that part's frame: of a body that bends
        the nearest node."""
        place = np.asarray(place, dtype=float)
        if model.bodies[body].flexible is None:
            return body, place
        nodes = np.flatnonzero(self.carriers == body)[1:]
        part = int(nodes[np.argmin(np.linalg.norm(self.places[nodes] - place, axis=1))])
        return part, place - self.places[part]


@dataclass(frozen=True)
class BodyMotions:
    """Every part of a plant at one instant: `time` [s], coordinates `q` (nq,) and rates `v` (nv,); what fields give is
    held for `step` seconds, or for no time at all."""

    model: Model
    time: float
    q: np.ndarray
    v: np.ndarray
    step: float = 0.0

    @property
    def parts(self) -> Parts:
        """What the parts are."""
        return Parts.of(self.model)

    @cached_property
    def poses(self) -> np.ndarray:
        """(p, 4, 4): each part's frame in the world."""
        names = tuple(body.name for body in self.model.bodies)
        made = [np.stack(list(frame_poses(self.model, self.q, names).values()))]
        for body, node in self._bent.items():
            own = np.zeros((len(node.place), 4, 4))
            own[:, :3, :3], own[:, :3, 3], own[:, 3, 3] = node.turn, node.place, 1.0
            made.append(np.matmul(made[0][body], own))
        return np.concatenate(made)

    @cached_property
    def twists(self) -> np.ndarray:
        """(p, 6): [ω; v] of each part's origin in its own axes; V = φ*H*θ̇ of bodies, AV̄ of nodes."""
        links = _twists(self.model)(self.q, self.v)
        made = [links[_rigid_rows(self.model)]]
        made += [times(node.motion, links[self._links[body]]) for body, node in self._bent.items()]
        return np.concatenate(made)

    def on_links(self, wrenches: np.ndarray) -> np.ndarray:
        """(Σ 6 + modes,): wrenches (p, 6), at parts' origins and in their axes, as forces on the links."""
        if not self._bent:
            return wrenches.reshape(-1)
        made, at = np.zeros(self._links[-1].stop), len(self.model.bodies)
        made[_rigid_rows(self.model)] = wrenches[:at]
        for body, node in self._bent.items():
            own = wrenches[at : at + len(node.place)]
            made[self._links[body]] += np.einsum("jiw,ji->w", node.motion, own)
            at += len(own)
        return made

    @cached_property
    def _bent(self) -> dict[int, Node]:
        """All nodes of every body that bends, at once."""
        bodies = enumerate(self.model.bodies if self.model.is_flexible else ())
        return {i: _nodes(x.flexible, self.q[x.mode_q_slice]) for i, x in bodies if x.flexible is not None}

    @property
    def _links(self) -> list[slice]:
        """Where each body's motion stands in link space."""
        ends = np.cumsum([0, *(6 + body.modes for body in self.model.bodies)]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]


def joint_forces(model: Model) -> Any:
    """Hφ, compiled: joint forces of forces on the links, of a rigid body a wrench at its origin and in its axes."""
    A = algebra(model.tree)
    return model.kept(("plant", "joint_forces"), lambda: compile(A.H @ A.phi, model.tree))


def _twists(model: Model) -> Any:
    A = algebra(model.tree)
    return model.kept(("plant", "twists"), lambda: compile(A.phi.T @ A.H.T, model.tree))


def _rigid_rows(model: Model) -> np.ndarray:
    """(n, 6): where the motions of the bodies' own frames stand in link space, after their modes'."""
    ends = np.cumsum([6 + body.modes for body in model.bodies])
    return ends[:, None] + np.arange(-6, 0)


def _nodes(body: FlexibleInertia, eta: np.ndarray) -> Node:
    found = node_at(body, slice(None), eta)
    return replace(found, turn=np.broadcast_to(found.turn, (len(found.place), 3, 3)))


def _parts(model: Model) -> Parts:
    bodies, none = model.bodies, np.zeros((3, 3))
    rows = [
        (i, np.zeros(3), *((x.mass, x.com, x.tensor) if bodies[i].flexible is None else (0.0, np.zeros(3), none)))
        for i, x in enumerate(body.inertia for body in bodies)
    ]
    for i, body in enumerate(bodies):
        if body.flexible is not None:
            rows += [(i, *each) for each in _node_rows(body.flexible)]
    carriers, places, masses, centers, tensors = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return Parts(
        np.array(carriers, dtype=int),
        np.array(places, dtype=float).reshape(-1, 3),
        np.array(masses, dtype=float),
        np.array([np.asarray(x) for x in centers]).reshape(-1, 3),
        np.array([np.asarray(x) for x in tensors]).reshape(-1, 3, 3),
    )


def _node_rows(body: FlexibleInertia) -> list[tuple[Any, ...]]:
    shared = np.zeros(len(body.nodes)) if body.shared_mass is None else body.shared_mass.sum(axis=1)
    rows = []
    for place, inertia, more in zip(body.nodes, body.node_inertias, shared, strict=True):
        rows.append((place, inertia.mass + more, inertia.com, inertia.tensor))
    return rows
