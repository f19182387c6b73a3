"""Control laws: state and reference in, joint forces out; pure, so that they run in Python and compiled alike.

    law = ps.control.PDControl(model, kp=100)
    tau = law(t, q, v, law.reference(q_d))                    # NumPy, any leading axes
    fast = ps.compile(law)                                    # machine code, the same arguments
    ps.rollout(model, q0, v0, dt=1e-3, steps=1000, controller=law, parameters=law.reference(q_d))
    ps.export_c(law, model, "controller")                     # C99 for the robot

`law.following(path)` is the law with a reference that moves, (t, q, v) → tau, and goes wherever a law goes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import is_traced
from phistar.errors import ModelError, ShapeError
from phistar.model import Joint, Model
from phistar.model.check import check_robot
from phistar.spatial import axial, conjugate, from_quaternion, multiply, times, transposed
from phistar.spatial.vectors import leading_axes

POSE_ROWS = 12  # of a pose in a reference: the rotation's rows, then the position
SMALLEST = 1e-300  # gives 0 a sign
TINY = 1e-12  # 1 + tr R of a half turn, where the axis of a rotation error is lost


class Controller(ABC):
    """A control law: joint forces as a pure function of time, state and reference. Abstract.

    law(t, q, v[, reference]) → tau (…, nv); `rows` says how many entries a reference has, `law.reference(…)` puts one
    together, and `law.following(path)` is the law with a reference that moves.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> law = ps.control.PDControl(arm)
    >>> isinstance(law, ps.control.Controller), dict(law.rows)
    (True, {'reference': 12})
    """

    model: Model

    @property
    @abstractmethod
    def rows(self) -> Mapping[str, int]:
        """The sizes of the arguments after v, by name."""

    __call__: Any
    reference: Any

    def following(self, path: Callable[[Any], tuple[Any, ...]]) -> Following:
        """law(t, q, v, law.reference(*path(t))): path(t) gives the arguments of `reference`, as trajectories do."""
        if not self.rows:
            raise ShapeError(f"{type(self).__name__} has no reference that could follow a path.")
        return Following(self, path)


class JointLaw(Controller):
    """A law whose reference is [θ_d; θ̇_d; θ̈_d], `reference(q_d, v_d, a_d)`. Abstract."""

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": self.model.nq + 2 * self.model.nv}

    def reference(self, q: Any, v: Any = None, a: Any = None) -> Array:
        return joint_row(self.model, q, v, a)

    def read_arguments(self, q: Any, v: Any, reference: Any) -> list[Array]:
        """θ, θ̇, θ_d, θ̇_d, θ̈_d."""
        return check_arguments(self.model, q, v, reference, self.model.nq, self.model.nv, self.model.nv)


@final
@dataclass(frozen=True, eq=False)
class Following(Controller):
    """A law whose reference moves with time: called as (t, q, v). The path is written with NumPy, as a law is."""

    law: Controller
    path: Callable[[Any], tuple[Any, ...]]

    @property
    def model(self) -> Model:  # type: ignore[override]
        return self.law.model

    @property
    def rows(self) -> Mapping[str, int]:
        return {}

    def __call__(self, t: Any, q: Any, v: Any) -> Array:
        return self.law(t, q, v, self.law.reference(*self.path(t)))


def gain(value: Any, size: int, what: str) -> Array:
    """A gain as (size,): one number for all, or one per entry; finite and not negative."""
    try:
        array = np.broadcast_to(np.asarray(value, dtype=float), (size,))
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{what} must be a number, or {size} of them; it was given {value!r:.100}.") from None
    if not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise ShapeError(f"{what} must be finite and not negative; it was given {value!r:.100}.")
    return array


def set_gains(law: Controller, sizes: Mapping[str, int]) -> None:
    """The gains of a frozen law made arrays; a damping left out ("…kd" None) is critical: 2√kp."""
    for name, size in sizes.items():
        value = getattr(law, name)
        if value is None and name.endswith("kd"):
            value = 2.0 * np.sqrt(getattr(law, name.replace("kd", "kp")))
        object.__setattr__(law, name, gain(value, size, f"{type(law).__name__}'s {name}"))


def refuse_loops(model: Model, law: object) -> None:
    """Refuse loops: the forces of a closed loop are not the tree's."""
    check_robot(type(law).__name__, (model,))
    if model.loops:
        names = ", ".join(loop.name for loop in model.loops)
        raise ModelError(
            f"{model.name} has loops ({names}), which {type(law).__name__} does not know; give it the mechanism in "
            "independent rates, model.embedded(), or model.tree."
        )


def _is_driven(model: Model, joint: Joint) -> bool:
    """Whether rates of a joint are among the model's own; of a closed chain, its independent ones (or combinations)."""
    if model.embedding is None:
        return True
    own = set(range(joint.v_slice.start, joint.v_slice.stop))
    return bool(own & set(model.embedding.independent)) or -1 in model.embedding.independent


def refuse_curved(model: Model, law: object) -> None:
    """Refuse joints where d(θ_d − θ)/dt ≠ θ̇_d − θ̇."""
    curved = [joint.name for joint in model.joints if not joint.kind.flat and _is_driven(model, joint)]
    if curved:
        raise ModelError(
            f"{model.name} turns on quaternions ({', '.join(curved)}), whose rates are not those of the coordinates; "
            f"{type(law).__name__} needs that they are. InverseDynamicsControl does not."
        )


def row(*parts: Any) -> Array:
    """Parts (…, n) side by side on their last axis, their leading axes broadcast; floats or traced numbers."""
    arrays = [traced(x) if is_traced(np.asanyarray(x)) else np.asarray(x, dtype=float) for x in parts]
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    except ValueError:
        raise ShapeError(
            f"The leading axes of the reference's parts, {', '.join(str(x.shape) for x in arrays)}, do not broadcast."
        ) from None
    joined = np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays], axis=-1)
    return traced(joined) if is_traced(joined) else joined


def joint_row(model: Model, q: Any, *rates: Any) -> Array:
    """A reference [q; v; …] with zeros for the rates that are None."""
    given = [np.zeros(model.nv) if x is None else model.checked(x, model.nv, "the reference's rates") for x in rates]
    return row(model.checked_q(q, "the reference's q"), *given)


def entries(array: Any, size: int, what: str) -> Array:
    """A part of a reference, (…, size); floats or traced numbers."""
    found = np.asanyarray(array)
    if found.shape[-1:] != (size,):
        raise ShapeError(f"{what} has shape {found.shape}; this law needs (…, {size}).")
    return found


def check_arguments(model: Model, q: Any, v: Any, reference: Any, *sizes: int) -> list[Array]:
    """q (…, nq), v (…, nv) and the parts of a reference, as they were given to a law."""
    q, v, parts = model.checked_q(q), model.checked(v, model.nv, "v"), split(reference, *sizes)
    leading_axes({"q": q, "v": v, "the reference": np.asanyarray(reference)})
    return [q, v, *parts]


def split(reference: Any, *sizes: int) -> list[Array]:
    """The parts of a reference (…, Σ sizes)."""
    array = entries(reference, sum(sizes), "The reference")
    edges = np.cumsum((0, *sizes))
    return [array[..., a:b] for a, b in pairwise(edges)]


def joint_error(model: Model, q: np.ndarray, target: np.ndarray) -> Array:
    """q_d ⊖ q, (…, nv): a difference; of quaternions 2 sin(θ/2) about the axis of the turn that is left."""
    if model.embedding is not None:
        return model.embedding.independent_rates(joint_error(model.tree, q, target))
    if all(joint.kind.flat for joint in model.joints):
        return target - q
    parts = []
    for body in model.bodies:
        own, modes = body.joint.q_slice, body.mode_q_slice
        parts.append(_one_error(body.joint.kind.flat, q[..., own], target[..., own]))
        parts += [target[..., modes] - q[..., modes]] if body.modes else []
    return row(*parts)


def _one_error(flat: bool, q: np.ndarray, target: np.ndarray) -> np.ndarray:
    if flat:
        return target - q
    back = conjugate(q[..., -4:])
    turn = multiply(back, target[..., -4:])
    turn = traced(turn) if is_traced(turn) else turn
    angular = 2.0 * np.sign(turn[..., 3:] + SMALLEST) * turn[..., :3]  # a half turn is led one way
    if q.shape[-1] == 4:
        return angular
    shift = times(from_quaternion(back), target[..., :3] - q[..., :3])
    return np.concatenate([angular, shift], axis=-1)


def pose_row(pose: Any) -> Array:
    """A pose (…, 4, 4) as a reference has it, (…, 12)."""
    pose = np.asanyarray(pose)
    if pose.shape[-2:] != (4, 4):
        raise ShapeError(f"A pose has shape (…, 4, 4); this one has {pose.shape}.")
    return row(pose[..., :3, :3].reshape(*pose.shape[:-2], 9), pose[..., :3, 3])


def turn_between(pose: np.ndarray, target: np.ndarray) -> tuple[Array, Array]:
    """2 sin θ n (…, 3), world axes, and 1 + tr = 4 cos²(θ/2) (…) of the turn θ n of a pose (…, 4, 4) into a row's."""
    wanted = target[..., :9].reshape(*target.shape[:-1], 3, 3)
    turn = np.matmul(wanted, transposed(pose[..., :3, :3]))
    return axial(turn), 1.0 + turn[..., 0, 0] + turn[..., 1, 1] + turn[..., 2, 2]


def pose_error(pose: np.ndarray, target: np.ndarray) -> Array:
    """[2 sin(θ/2) n; x_d − x], (…, 6), world axes, θ n turning R into R_d: of a pose (…, 4, 4) from a row (…, 12)."""
    sine, cosine = turn_between(pose, target)
    angular = sine / np.sqrt(np.maximum(cosine, TINY))[..., None]
    return np.concatenate([angular, target[..., 9:] - pose[..., :3, 3]], axis=-1)
