"""Joints and cut joints of a mechanism by their kinds, each compiled once, whatever its axes.

Joints of a kind are turned to a common axis, and so are the frames that cut joints of a kind join: a kernel gives what
a hundred of them are at a hundred states.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel, compile_trace
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import Scalar, Tape, finish
from phistar.loops.closing_layout import closing_layout
from phistar.loops.closure import relative_rows
from phistar.loops.cut import across
from phistar.model import Distance, Helical, Model, Prismatic, Revolute
from phistar.model.parts import CoupledJoints, Loop
from phistar.spatial import Pose, times
from phistar.spatial.value import digest

SIDES = ("right", "residual", "rate")  # γ of the motion, g and ġ
Z = np.array([0.0, 0.0, 1.0])
DIRECTIONS = ("axis", "normal")  # of a kind of joint, that may be turned
GEOMETRY = ("axis", "normal", "axis1", "axis2", "pitch")


class JointKinds:
    """The kinds of joints of a model, each about one axis, with a kernel that places a joint of it: where its joints
    stand, and how they are turned to that axis."""

    def __init__(self, model: Model) -> None:
        kinds: dict[Hashable, tuple[Any, list[int]]] = {}
        turns = np.stack([_turn_to(joint.kind, ("axis",)) for joint in model.joints])
        for number, joint in enumerate(model.joints):
            kinds.setdefault(_key(joint.kind, ("axis",)), (_turned(joint.kind, ("axis",)), []))[1].append(number)
        placed = np.stack([body.placement.rotation for body in model.bodies])
        self.tables = {
            "before": np.matmul(placed, turns).reshape(-1, 9),
            "after": turns.swapaxes(-1, -2).reshape(-1, 9).copy(),
            "shift": np.stack([np.asarray(body.placement.translation, dtype=float) for body in model.bodies]),
        }
        self.kinds = [(_joint_kernel(kind), *_places(model, own)) for kind, own in kinds.values()]
        self._even = [(kernel, *map(_evenly, places)) for kernel, *places in self.kinds]

    def place(self, q: np.ndarray, joints: np.ndarray, axes: np.ndarray) -> None:
        """Write rotation, offset and H* of every joint at q (b, nq)."""
        for kernel, own, coordinates, rates in self._even:
            made = kernel.function(q[:, coordinates].reshape(len(q), -1, kernel.rows[0]))
            joints[: len(q), own] = made[..., :12]
            axes[: len(q), rates] = made[..., 12:].reshape(len(q), -1, 6)


Places = np.ndarray | slice


def _places(model: Model, own: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Joints of a kind, and where their coordinates stand in q and their rates in v."""
    joints = [model.joints[number] for number in own]
    q, v = np.arange(model.nq), np.arange(model.nv)
    coordinates, rates = [q[joint.q_slice] for joint in joints], [v[joint.v_slice] for joint in joints]
    return np.array(own), np.concatenate(coordinates), np.concatenate(rates)


def _evenly(places: np.ndarray) -> Places:
    """Indices as a slice where they are evenly spaced: NumPy copies nothing then."""
    steps = np.diff(places)
    if not len(places) or (len(steps) and (steps[0] < 1 or np.any(steps != steps[0]))):
        return places
    return slice(int(places[0]), int(places[-1]) + 1, int(steps[0]) if len(steps) else 1)


def _joint_kernel(kind: Any) -> Kernel:
    """R (9), p (3) and H* (6 a rate) of a joint at its coordinates."""
    tape = Tape()
    q = traced(tape.inputs((kind.nq,)))
    turn, shift = kind.pose(q)
    values = [turn, shift, np.transpose(kind.subspace(q))]
    return _kernel(tape, values, [kind.nq], [(12 + 6 * kind.nv,)], "joint")


def _kernel(tape: Tape, arrays: list[Any], rows: list[int], shapes: list[tuple[int, ...]], title: str) -> Kernel:
    values = [x for array in arrays for x in np.asarray(array).reshape(-1)]
    trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in values])
    return compile_trace(trace, rows, shapes, title, (title,))


class CutKinds:
    """The kinds of cut joints of a model, each about one axis, with a kernel of its equations; and its couplings."""

    def __init__(self, model: Model) -> None:
        n, kinds = len(model.bodies), dict[Hashable, tuple[Any, list[int]]]()
        turns, offsets, links = [], [], []
        for number, loop in enumerate(model.loops):
            if isinstance(loop, Loop):
                kinds.setdefault(_key(loop.joint, DIRECTIONS), (_turned(loop.joint, DIRECTIONS), []))[1].append(number)
            for name in (loop.frame_a, loop.frame_b) if isinstance(loop, Loop) else (None, None):
                body, pose = (n, Pose()) if name is None else (model.frame(name).body, model.frame(name).placement)
                turns.append(np.matmul(pose.rotation, _turn_to(loop.joint, DIRECTIONS)).reshape(-1))
                offsets.append(pose.translation)
                links.append(body if body >= 0 else n)
        self.tables = {
            "end_turn": np.array(turns, dtype=float),
            "end_offset": np.array(offsets, dtype=float),
            "end_link": np.array(links, dtype=np.int64),
        }
        first = np.cumsum([0, *(loop.rows for loop in model.loops)])
        self._kinds = [CutKind.of(model, kind, own, first) for kind, own in kinds.values()]
        self._couplings = Couplings(model, first)

    def cut(self, pose: np.ndarray, moved: np.ndarray, pull: np.ndarray, right: dict[str, np.ndarray]) -> None:
        """Write Q (b, m, 12), over both frames, and the right sides (b, m) of every cut joint."""
        for kind in self._kinds:
            kind.cut(pose, moved, pull, right)

    def couple(
        self, q: np.ndarray, v: np.ndarray, free: np.ndarray, slope: np.ndarray, right: dict[str, np.ndarray]
    ) -> None:
        """Write what couplings ask of rates, and their right sides."""
        if self._couplings.loops:
            self._couplings.write(q, v, free, slope, right)


@dataclass(frozen=True, eq=False)
class CutKind:
    """Cut joints of one kind: its kernel, their frames and their rows; which of these are a vector in frame_a's
    own axes, with how these are turned; and the lengths of rods, whose kind is one of length 1."""

    kernel: Kernel
    frames: tuple[Places, Places]
    rows: Places
    vector: slice | None
    turns: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, model: Model, kind: Any, own: list[int], first_row: np.ndarray) -> CutKind:
        loops = [model.loops[number] for number in own]
        turns = np.stack([_turn_to(loop.joint, DIRECTIONS) for loop in loops])
        rows = np.concatenate([np.arange(first_row[number], first_row[number + 1]) for number in own])
        lengths = np.array([[getattr(loop.joint, "length", 1.0) - 1.0] for loop in loops])
        vector = None if np.array_equal(turns, np.broadcast_to(np.eye(3), turns.shape)) else _vector_rows(kind)
        frames = _evenly(2 * np.array(own)), _evenly(2 * np.array(own) + 1)
        return cls(_cut_kernel(kind, loops[0].rows), frames, _evenly(rows), vector, turns, lengths)

    def cut(self, pose: np.ndarray, moved: np.ndarray, pull: np.ndarray, right: dict[str, np.ndarray]) -> None:
        first, second = self.frames
        made = self.kernel.function(pose[:, first], pose[:, second], moved[:, first], moved[:, second])
        made[..., 12 + SIDES.index("residual")] -= self.lengths
        if self.vector is not None:
            made[..., self.vector, :] = np.matmul(self.turns, made[..., self.vector, :])
        made = made.reshape(len(pose), -1, 12 + len(SIDES))
        pull[:, self.rows] = made[..., :12]
        for column, name in enumerate(SIDES):
            right[name][:, self.rows] = made[..., 12 + column]


def _vector_rows(kind: Any) -> slice | None:
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


def _cut_kernel(kind: Any, rows: int) -> Kernel:
    """Q_a, Q_b, and γ = Qβ̇ + drift, g and ġ = Qβ, (r, 15), from poses, motions and accelerations of both frames."""
    tape = Tape()
    pose_a, pose_b = (traced(tape.inputs((16,)).reshape(4, 4)) for _ in range(2))
    moved_a, moved_b = (traced(tape.inputs((12,))) for _ in range(2))
    found, on_a, on_b, drift = relative_rows(kind, pose_a, pose_b, moved_a[:6], moved_b[:6])
    rate, right = (times(on_a, moved_a[own]) + times(on_b, moved_b[own]) for own in (slice(0, 6), slice(6, 12)))
    sides = np.stack([np.asarray(x) for x in (right + drift, found.value, rate)], axis=-1)
    whole = np.concatenate([np.asarray(on_a), np.asarray(on_b), sides], axis=-1)
    return _kernel(tape, [whole], [16, 16, 12, 12], [(rows, 12 + len(SIDES))], "cut joint")


class Couplings:
    """q_a − polynomial(q_b) of all couplings at once, with their derivatives by Horner's rule."""

    def __init__(self, model: Model, first_row: np.ndarray) -> None:
        self.loops = [(i, loop) for i, loop in enumerate(model.loops) if isinstance(loop, CoupledJoints)]
        most = max((len(loop.joint.coefficients) for _, loop in self.loops), default=1)
        self.coefficients = np.zeros((most, len(self.loops)))
        for column, (_, loop) in enumerate(self.loops):
            self.coefficients[: len(loop.joint.coefficients), column] = loop.joint.coefficients
        driven = [model.joint(loop.joint_a) for _, loop in self.loops]
        driver = [model.joint(loop.joint_b or loop.joint_a) for _, loop in self.loops]
        self.alone = np.array([loop.joint_b is None for _, loop in self.loops], dtype=bool)
        self.rows = np.array([first_row[i] for i, _ in self.loops], dtype=np.int64)
        self.driven = np.array([joint.v_slice.start for joint in driven], dtype=np.int64)
        self.driver = np.array([joint.v_slice.start for joint in driver], dtype=np.int64)
        self.driven_q = np.array([joint.q_slice.start for joint in driven], dtype=np.int64)
        self.driver_q = np.array([joint.q_slice.start for joint in driver], dtype=np.int64)
        column = {i: c for c, (i, _) in enumerate(self.loops)}
        entries = closing_layout(model).tables["coupled_loop"]
        self.column = np.array([column[int(loop)] for loop, _ in entries], dtype=np.int64)
        self.side = entries[:, 1]

    def write(
        self, q: np.ndarray, v: np.ndarray, free: np.ndarray, slope: np.ndarray, right: dict[str, np.ndarray]
    ) -> None:
        x, rate = q[:, self.driver_q], v[:, self.driver]
        value, first, second = np.zeros(x.shape), np.zeros(x.shape), np.zeros(x.shape)
        for coefficient in self.coefficients[::-1]:
            second, first, value = second * x + 2.0 * first, first * x + value, value * x + coefficient
        value = np.where(self.alone, self.coefficients[0], value)
        first, second = (np.where(self.alone, 0.0, d) for d in (first, second))
        right["right"][:, self.rows] = free[:, self.driven] - first * free[:, self.driver] - second * rate * rate
        right["residual"][:, self.rows] = q[:, self.driven_q] - value
        right["rate"][:, self.rows] = v[:, self.driven] - first * rate
        slope[:] = np.where(self.side == 0, 1.0, -first[:, self.column])


def _key(kind: Any, directions: tuple[str, ...]) -> Hashable:
    """Key of the equations of a kind of joint about the common axis."""
    names = {field.name for field in fields(kind)}
    if type(kind).__module__.startswith("phistar.model.joints"):
        return digest(type(kind).__name__, [(x, getattr(kind, x)) for x in GEOMETRY if x in names - {*directions}])
    return digest(type(kind).__name__, kind)


def _turned(kind: Any, directions: tuple[str, ...]) -> Any:
    """The kind about z; a rod of length 1."""
    own = {field.name for field in fields(kind)}
    changed: dict[str, Any] = {name: Z for name in directions if name in own}
    return replace(kind, **changed | ({"length": 1.0} if isinstance(kind, Distance) else {}))


def _turn_to(kind: Any, directions: tuple[str, ...]) -> np.ndarray:
    """The rotation that takes z to the axis of a joint, and x and y to the directions across it (`cut.py`)."""
    axis = next((np.asarray(getattr(kind, name)) for name in directions if hasattr(kind, name)), None)
    return np.eye(3) if axis is None else np.concatenate([across(axis), axis[None]]).T
