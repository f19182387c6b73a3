"""The same free-flying mechanism with another of its bodies called the base.

Joints on the way from the old base to the new one turn round: what was their child carries what was their parent. A
joint of one axis keeps its coordinate, with the axis reversed. Bodies whose joint turns round get the frame in which
that joint was placed; they stay where they are, and so do all frames on them. The bodies on that way must be rigid, for
over one that bends φ has no way back; others may bend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.model.joints import Free, Helical, JointKind, Prismatic, Revolute, Universal
from phistar.model.joints.reverse import reversed_coordinates, reversed_kind
from phistar.model.model import Model
from phistar.model.parts import Body, Joint
from phistar.spatial import Pose, cross, times, to_quaternion
from phistar.spatial.pose import IDENTITY
from phistar.spatial.vectors import leading_axes

NEARER = "Choose a base on the near side of it"  # what to do about a joint that cannot turn round
Twist = np.ndarray  # (…, 6), angular part first


@dataclass(frozen=True)
class Rerooted:
    """`model`, and the maps of coordinates: q(q), v(q, v), a(q, v, a) take those of `original` to those of `model`.

    It unpacks as model, q, v.
    """

    original: Model
    model: Model
    path: tuple[int, ...]  # bodies of the original, from its base to the new one

    def __iter__(self) -> Iterator[Any]:
        return iter((self.model, self.q, self.v))

    def q(self, q: Any) -> np.ndarray:
        """(…, nq) → (…, nq)."""
        q = self.original.checked_q(q)
        result = np.empty(q.shape)
        for old, new, turned in self._pairs:
            own = q[..., old.q_slice]
            result[..., new.q_slice] = reversed_coordinates(old.kind, own) if turned else own
        for old, new in self._modes:
            result[..., new.mode_q_slice] = q[..., old.mode_q_slice]
        turn, place = self._base_pose(q)
        result[..., self.model.joints[0].q_slice] = np.concatenate([place, to_quaternion(turn)], axis=-1)
        return result

    def v(self, q: Any, v: Any) -> np.ndarray:
        """(…, nq), (…, nv) → (…, nv)."""
        return self._rates(q, v, None)[0]

    def a(self, q: Any, v: Any, a: Any) -> np.ndarray:
        """(…, nq), (…, nv), (…, nv) → (…, nv), for accelerations."""
        return self._rates(q, v, a)[1]

    @cached_property
    def _pairs(self) -> tuple[tuple[Joint, Joint, bool], ...]:
        """The joints but the free one: old, new, and whether it turned round."""
        turned = {self.original.joints[k].name for k in self.path[1:]}
        return tuple((joint, self.model.joint(joint.name), joint.name in turned) for joint in self.original.joints[1:])

    @cached_property
    def _modes(self) -> tuple[tuple[Body, Body], ...]:
        """The bodies that bend, old and new."""
        bent = [body for body in self.original.bodies if body.modes]
        return tuple((body, self.model.bodies[self.model.body_index(body.name)]) for body in bent)

    def _base_pose(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The new base in the frame that its free joint starts from."""
        turn, place = self.original.joints[0].kind.pose(q[..., self.original.joints[0].q_slice])
        for k in self.path[1:]:
            rotation, offset = _step(self.original.bodies[k], q)
            place = place + times(turn, offset)
            turn = np.matmul(turn, rotation)
        return turn, place

    def _rates(self, q: Any, v: Any, a: Any) -> tuple[np.ndarray, np.ndarray]:
        model = self.original
        q, v = model.checked_q(q), model.checked(v, model.nv, "v")
        a = np.zeros(model.nv) if a is None else model.checked(a, model.nv, "a")
        batch = leading_axes({"q": q, "v": v, "a": a})
        q, v, a = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, v, a))
        rates, accelerations = np.empty(v.shape), np.empty(v.shape)
        for old, new, turned in self._pairs:
            parts = q[..., old.q_slice], v[..., old.v_slice], a[..., old.v_slice]
            made = _reversed_rates(old.kind, new.kind, *parts) if turned else parts[1:]
            rates[..., new.v_slice], accelerations[..., new.v_slice] = made
        for old, new in self._modes:
            rates[..., new.mode_slice] = v[..., old.mode_slice]
            accelerations[..., new.mode_slice] = a[..., old.mode_slice]
        root = self.model.joints[0].v_slice
        rates[..., root], accelerations[..., root] = self._base_rates(q, v, a)
        return rates, accelerations

    def _base_rates(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[Twist, Twist]:
        """V(k) = φ*V(p) + ξ and its rate φ*V̇(p) + ξ̇ + V(k) × ξ, out to the new base."""
        twist, rate = v[..., self.original.joints[0].v_slice], a[..., self.original.joints[0].v_slice]
        for k in self.path[1:]:
            joint = self.original.joints[k]
            rotation, offset = _step(self.original.bodies[k], q)
            own, change = _joint_twist(joint.kind, q[..., joint.q_slice], v[..., joint.v_slice], a[..., joint.v_slice])
            twist = _outward(rotation, offset, twist) + own
            rate = _outward(rotation, offset, rate) + change + _bracket(twist, own)
        return twist, rate


def reroot(model: Model, name: str) -> Rerooted:
    """The model with the named body as its base; see Model.rerooted."""
    index = model.body_index(name)
    roots = [body for body in model.bodies if body.parent < 0]
    if index < 0:
        raise ModelError("The world cannot be the base of a free-flying robot; name one of its bodies.")
    if len(roots) != 1 or not isinstance(roots[0].joint.kind, Free):
        raise ModelError(
            f"{model.name} cannot be re-rooted: its base must be one body on a Free joint, so that any other can take "
            "its place. Load it with floating=True."
        )
    path = [index]
    while model.parents[path[0]] >= 0:
        path.insert(0, model.parents[path[0]])
    bent = [model.bodies[k].name for k in path if model.bodies[k].modes]
    if bent:
        raise ModelError(
            f"{model.name} cannot be re-rooted at '{name}': {', '.join(bent)} bends, over which φ has no way back. "
            "Choose a rigid body that is on the base by rigid ones."
        )
    return Rerooted(model, _model_along(model, tuple(path)), tuple(path))


def _model_along(model: Model, path: tuple[int, ...]) -> Model:
    """Bodies in depth-first order from the new base."""
    shifts = {p: model.bodies[c].placement.inverse for p, c in pairwise(path)}  # old frame in new
    carriers = dict(pairwise(path))  # which body carries a body whose joint turned round
    parents = {k: carriers.get(k, parent) for k, parent in enumerate(model.parents) if k != path[-1]}
    order = _depth_first(path[-1], parents)
    bodies, q_start, v_start = [], 0, 0
    for position, k in enumerate(order):
        body = model.bodies[k]
        kind, joint_name, placement = _joint_of(model, k, path, carriers, shifts)
        q_slice, v_slice = slice(q_start, q_start + kind.nq), slice(v_start, v_start + kind.nv)
        q_start, v_start = q_slice.stop + body.modes, v_slice.stop + body.modes
        shift = shifts.get(k, IDENTITY)
        bodies.append(
            replace(
                body,
                parent=-1 if position == 0 else order.index(parents[k]),
                joint=Joint(joint_name, kind, position, q_slice, v_slice),
                placement=placement,
                inertia=body.inertia.transformed(shift),
                geometry=tuple(item.transformed(shift) for item in body.geometry),
            )
        )
    frames = tuple(
        frame
        if frame.body < 0
        else replace(frame, body=order.index(frame.body), placement=shifts.get(frame.body, IDENTITY) @ frame.placement)
        for frame in model.frame_list
    )
    return model._with(bodies=tuple(bodies), frame_list=frames)


def _joint_of(
    model: Model, k: int, path: tuple[int, ...], carriers: dict[int, int], shifts: dict[int, Pose]
) -> tuple[JointKind, str, Pose]:
    """Kind, name and placement of the joint that carries body k now."""
    if k == path[-1]:
        root = model.bodies[path[0]]
        return root.joint.kind, root.joint.name, root.placement
    if k in carriers:
        child = model.bodies[carriers[k]]
        kind = reversed_kind(child.joint.kind, child.joint.name, NEARER)
        return kind, child.joint.name, shifts.get(carriers[k], IDENTITY)
    body = model.bodies[k]
    return body.joint.kind, body.joint.name, shifts.get(body.parent, IDENTITY) @ body.placement


def _depth_first(root: int, parents: dict[int, int]) -> list[int]:
    children: dict[int, list[int]] = {}
    for k in sorted(parents):
        children.setdefault(parents[k], []).append(k)
    order, stack = [], [root]
    while stack:
        k = stack.pop()
        order.append(k)
        stack.extend(reversed(children.get(k, [])))
    return order


def _reversed_rates(
    kind: JointKind, new: JointKind, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """ξ′ = −Xξ and ξ̇′ = −Xξ̇ (a twist does not move itself); H*′ of these kinds has orthonormal columns."""
    if isinstance(kind, Revolute | Prismatic | Helical):
        return v, a
    if isinstance(kind, Universal):
        return v[..., ::-1], a[..., ::-1]
    turn, place = kind.pose(q)
    own, change = _joint_twist(kind, q, v, a)
    reached = reversed_coordinates(kind, q)
    back = np.swapaxes(new.subspace(reached), -1, -2)
    rates = times(back, -_inward(turn, place, own))
    drift, _ = _drift(new, reached, rates)
    return rates, times(back, -_inward(turn, place, change) - drift)


def _joint_twist(kind: JointKind, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[Twist, Twist]:
    """ξ = H*v and its rate, in the child's frame."""
    drift, subspace = _drift(kind, q, v)
    return times(subspace, v), times(subspace, a) + drift


def _drift(kind: JointKind, q: np.ndarray, v: np.ndarray) -> tuple[Twist, np.ndarray]:
    rate, subspace = kind.subspace_rate(q, v), kind.subspace(q)
    return (np.zeros((*v.shape[:-1], 6)) if rate is None else times(rate, v)), subspace


def _step(body: Body, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The body in its parent."""
    turn, place = body.joint.kind.pose(q[..., body.joint.q_slice])
    placed = body.placement
    return np.matmul(placed.rotation, turn), placed.translation + times(placed.rotation, place)


def _outward(rotation: np.ndarray, offset: np.ndarray, twist: Twist) -> Twist:
    back = np.swapaxes(rotation, -1, -2)
    linear = twist[..., 3:] + cross(twist[..., :3], offset)
    return np.concatenate([times(back, twist[..., :3]), times(back, linear)], axis=-1)


def _inward(rotation: np.ndarray, offset: np.ndarray, twist: Twist) -> Twist:
    angular = times(rotation, twist[..., :3])
    return np.concatenate([angular, times(rotation, twist[..., 3:]) + cross(offset, angular)], axis=-1)


def _bracket(x: Twist, y: Twist) -> Twist:
    linear = cross(x[..., :3], y[..., 3:]) + cross(x[..., 3:], y[..., :3])
    return np.concatenate([cross(x[..., :3], y[..., :3]), linear], axis=-1)
