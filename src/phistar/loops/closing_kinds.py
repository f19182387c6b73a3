"""Joints and cut joints of a mechanism by their kinds, each traced once, whatever its axes: joints of a kind are turned
to a common axis, and so are the frames that cut joints of a kind join."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel, compile_trace
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import Tape, finish
from phistar.loops.cut import across
from phistar.model import Distance, Helical, Model, Prismatic, Revolute
from phistar.spatial.value import digest

Z = np.array([0.0, 0.0, 1.0])
DIRECTIONS = ("axis", "normal")  # of a kind of joint, that may be turned
GEOMETRY = ("axis", "normal", "axis1", "axis2", "pitch")


class JointKinds:
    """The kinds of joints of a model, each about one axis, with a kernel that places a joint of it: where its joints
    stand, and how they are turned to that axis."""

    def __init__(self, model: Model) -> None:
        kinds: dict[Hashable, tuple[Any, list[int]]] = {}
        turns = np.stack([turn_to_axis(joint.kind, ("axis",)) for joint in model.joints])
        for number, joint in enumerate(model.joints):
            kinds.setdefault(joint_key(joint.kind, ("axis",)), (kind_about_z(joint.kind, ("axis",)), []))[1].append(
                number
            )
        placed = np.stack([body.placement.rotation for body in model.bodies])
        self.tables = {
            "before": np.matmul(placed, turns).reshape(-1, 9),
            "after": turns.swapaxes(-1, -2).reshape(-1, 9).copy(),
            "shift": np.stack([np.asarray(body.placement.translation, dtype=float) for body in model.bodies]),
        }
        self.kinds = [(_joint_kernel(kind), *_places(model, own)) for kind, own in kinds.values()]


def _places(model: Model, own: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Joints of a kind, and where their coordinates stand in q and their rates in v."""
    joints = [model.joints[number] for number in own]
    q, v = np.arange(model.nq), np.arange(model.nv)
    coordinates, rates = [q[joint.q_slice] for joint in joints], [v[joint.v_slice] for joint in joints]
    return np.array(own), np.concatenate(coordinates), np.concatenate(rates)


def _joint_kernel(kind: Any) -> Kernel:
    """R (9), p (3) and H* (6 a rate) of a joint at its coordinates."""
    tape = Tape()
    q = traced(tape.inputs((kind.nq,)))
    turn, shift = kind.pose(q)
    values = [turn, shift, np.transpose(kind.subspace(q))]
    return _kernel(tape, values, [kind.nq], [(12 + 6 * kind.nv,)], "joint")


def _kernel(tape: Tape, arrays: list[Any], rows: list[int], shapes: list[tuple[int, ...]], title: str) -> Kernel:
    values = [x for array in arrays for x in np.asarray(array).reshape(-1)]
    trace = finish(tape, values)
    return compile_trace(trace, rows, shapes, title, (title,))


def vector_rows(kind: Any) -> slice | None:
    """The equations of a cut joint with an axis that are three along frame_a's axes (`cut_rows`)."""
    match kind:
        case Prismatic():
            return slice(0, 3)
        case Revolute():
            return slice(2, 5)
        case Helical() if kind.pitch == 0.0:
            return slice(2, 5)
        case _:
            return None


def joint_key(kind: Any, directions: tuple[str, ...]) -> Hashable:
    """Key of the equations of a kind of joint about the common axis."""
    names = {field.name for field in fields(kind)}
    if type(kind).__module__.startswith("phistar.model.joints"):
        return digest(type(kind).__name__, [(x, getattr(kind, x)) for x in GEOMETRY if x in names - {*directions}])
    return digest(type(kind).__name__, kind)


def kind_about_z(kind: Any, directions: tuple[str, ...]) -> Any:
    """The kind about z; a rod of length 1."""
    own = {field.name for field in fields(kind)}
    changed: dict[str, Any] = {name: Z for name in directions if name in own}
    return replace(kind, **changed | ({"length": 1.0} if isinstance(kind, Distance) else {}))


def turn_to_axis(kind: Any, directions: tuple[str, ...]) -> np.ndarray:
    """The rotation that takes z to the axis of a joint, and x and y to the directions across it (`cut.py`)."""
    axis = next((np.asarray(getattr(kind, name)) for name in directions if hasattr(kind, name)), None)
    return np.eye(3) if axis is None else np.concatenate([across(axis), axis[None]]).T
