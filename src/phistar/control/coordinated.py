"""Several frames of one robot at once, stiff or compliant, on a base that is fixed or floats.

    T = ID(θ̈_c, −F) + friction(θ̇_c),    θ̈_c = w J⁺(u − J̇θ̇) + (1 − w)θ̈_j,    u = β̇_r + k_d(β_r − β) + k_p e
    F = cap(K e + D(β_r − β)) + push,     θ̇_c = w J⁺(β_r + (k_p/k_d) e + g(F + F_felt)) + (1 − w)θ̇_j

With u alone it is resolved acceleration (Luh, Walker and Paul 1980), with F alone impedance about the frames (Hogan
1985); w = 0 leaves the joints to their own path. Dry friction is overcome in the direction in which the joints are to
move: towards their reference, and in contact towards the force that is wanted, which is measured (g, m/s per N), so
that forces are right at standstill too. On a free base J is the generalized Jacobian and ID that of free-flying robots.
Joints that the frames leave free follow their own path in the null space of J.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array
from phistar.backends.traces.solve import solve_symmetric
from phistar.control.control_law import (
    POSE_ROWS,
    Controller,
    check_arguments,
    entries,
    pose_error,
    pose_row,
    refuse_loops,
    row,
)
from phistar.dynamics import bias, forward_kinematics, inverse_dynamics, jacobian, jacobian_dot_v
from phistar.errors import ModelError, ShapeError
from phistar.freeflying import generalized_jacobian, mass_at_base
from phistar.freeflying import inverse_dynamics as floating_inverse_dynamics
from phistar.model import Free, Model
from phistar.spatial import times, transposed

SINGULAR = 0.015  # damping of J⁺, in the units of its singular values
FRAME_ROWS = POSE_ROWS + 4 * 6  # of each frame: pose, twist, its rate, push and what is felt


@dataclass(frozen=True)
class CoordinatedGains:
    """Gains of a `CoordinatedControl`; angular and linear in turn. Springs across a frame and along its z differ.

    Examples
    --------
    >>> ps.control.CoordinatedGains(turning=100.0, moving=100.0, turning_rate=20.0, moving_rate=20.0).row.shape
    (18,)
    """

    turning: float = 0.0  # k_p, 1/s²
    moving: float = 0.0
    turning_rate: float = 0.0  # k_d, 1/s
    moving_rate: float = 0.0
    twist_spring: float = 0.0  # K, N m/rad
    side_spring: float = 0.0  # N/m
    push_spring: float = 0.0
    twist_damping: float = 0.0  # D, N m s/rad
    damping: float = 0.0  # N s/m
    most_moment: float = 10.0  # N m
    most_force: float = 40.0  # N
    give_turning: float = 0.0  # g, rad/s per N m
    give: float = 0.0  # m/s per N
    task: float = 1.0  # w
    joint_spring: float = 100.0  # 1/s²
    joint_damping: float = 20.0  # 1/s
    hesitation: float = 0.004  # rad/s within which the side of dry friction is blended from one to the other
    about_z: float = 1.0  # what of the twist's spring and damping is left about the frame's z, which turns little mass

    @property
    def row(self) -> Array:
        """The gains as numbers that a compiled law takes, (18,)."""
        return np.array([getattr(self, each.name) for each in fields(self)])


GAIN_ROWS = len(fields(CoordinatedGains))


class FrameReference(NamedTuple):
    """Reference of a frame: `pose` row (…, 12), `twist` and its rate `change` (…, 6), a `push` (…, 6) that it exerts
    besides, and the wrench `felt` (…, 6) that presses on it; world axes."""

    pose: Any
    twist: Any
    change: Any
    push: Any
    felt: Any


class Coordinated(NamedTuple):
    """Joint forces (…, n), and of each frame the error and the twist it lacks, (…, 6)."""

    forces: Any
    errors: list[Any]
    lacking: list[Any]


@dataclass(frozen=True)
class _Spread:
    """Gains as they are used: (6,) by angular and linear, (1,) others."""

    kp: Any
    kd: Any
    springs: Any
    dampers: Any
    most: Any
    give: Any
    task: Any
    joint_spring: Any
    joint_damping: Any
    hesitation: Any

    @staticmethod
    def of(gains: Any) -> _Spread:
        g = [gains[..., i : i + 1] for i in range(GAIN_ROWS)]

        def six(angular: Any, linear: Any, about: Any = None, along: Any = None) -> Any:
            last = [angular if about is None else angular * about], [linear if along is None else along]
            return np.concatenate([*[angular] * 2, *last[0], *[linear] * 2, *last[1]], axis=-1)

        most = np.concatenate([g[9], g[10]], axis=-1)
        springs, dampers = six(g[4], g[5], g[17], g[6]), six(g[7], g[8], g[17])
        return _Spread(six(g[0], g[1]), six(g[2], g[3]), springs, dampers, most, six(g[11], g[12]), *g[13:17])


class DrivenJoints:
    """The joints of a model that its motors move: all but those of a free base."""

    def __init__(self, model: Model, order: Any = None) -> None:
        self.model = model
        self.free = bool(model.joints) and isinstance(model.joints[0].kind, Free)
        first = 6 if self.free else 0
        own = [joint for joint in model.joints if joint.v_slice.start >= first]
        for joint in own:
            if joint.nv != 1:
                raise ModelError(f"{model.name}: the joint {joint.name} moves in {joint.nv} ways; one was expected.")
        starts = [joint.v_slice.start for joint in own]
        self.rates = np.array(starts if order is None else order, dtype=int)
        by_start = {joint.v_slice.start: joint for joint in own}
        joints = [by_start[start] for start in self.rates.tolist()]
        self.places = np.array([joint.q_slice.start for joint in joints], dtype=int)
        self.inner = self.rates - first
        self.friction = np.array([np.ravel(joint.kind.friction) for joint in joints]).reshape(-1, 2).T
        self.viscous = np.array([np.ravel(joint.kind.damping)[0] for joint in joints])


def coordinated_forces(
    joints: DrivenJoints, q: Any, v: Any, frames: Mapping[str, FrameReference], own: Any, gains: Any
) -> Coordinated:
    """The law itself, of floats or traced numbers: `own` (…, 3, n) are places, rates and accelerations of the joints'
    path, `gains` a row (…, 18) of `CoordinatedGains`."""
    model, g = joints.model, _Spread.of(gains)
    poses = [forward_kinematics(model, q, name) for name in frames]
    jacobians = [jacobian(model, q, name) for name in frames]
    wanted, rates, forces, errors, lacking = [], [], [], [], []
    for pose, moves, at in zip(poses, jacobians, frames.values(), strict=True):
        error, slip = pose_error(pose, at.pose), at.twist - times(moves, v)
        pull = _rotate_halves(
            pose, g.springs * _rotate_halves(pose, error, -1) + g.dampers * _rotate_halves(pose, slip, -1), 1
        )
        force = _limit_halves(pull, g.most) + at.push
        wanted.append(at.change + g.kd * slip + g.kp * error)
        rates.append(at.twist + g.kp / (g.kd + 1e-9) * error + g.give * (force + at.felt))
        forces.append(force)
        errors.append(error)
        lacking.append(slip)
    spread, drift = _joint_map(joints, q, v, list(frames), jacobians)
    both = np.stack([np.concatenate(wanted, axis=-1) - drift, np.concatenate(rates, axis=-1)], axis=-1)
    back = _damped_inverse(spread)
    path = _on_path(joints, q, v, own, g)
    solved, path_part = np.matmul(back, both), path
    if spread.shape[-1] > spread.shape[-2]:  # what the frames leave free
        solved = solved + path - np.matmul(back, np.matmul(spread, path))
    whole = g.task[..., None] * solved + (1.0 - g.task[..., None]) * path_part
    loads = {name: -force for name, force in zip(frames, forces, strict=True)}
    ordered = whole[..., 0][..., np.argsort(joints.inner)]
    dynamics = floating_inverse_dynamics if joints.free else inverse_dynamics
    tau = dynamics(model, q, v, ordered, loads)[..., joints.inner]
    return Coordinated(tau + friction_at(joints, whole[..., 1], g.hesitation), errors, lacking)


def friction_at(joints: DrivenJoints, rate: Any, hesitation: Any) -> Any:
    """The joint forces (…, n) that the joints' friction takes at rates (…, n), smoothed about zero."""
    ahead, back = joints.friction
    scaled = rate / hesitation
    way = scaled / np.sqrt(1.0 + scaled * scaled)
    return joints.viscous * rate + 0.5 * (ahead + back) * way + 0.5 * (ahead - back) * way * way


def towards_each_other(places: Sequence[Any], weights: Any = None) -> list[Any]:
    """Forces (…, 3) on points (…, 3) that squeeze what is between them and move nothing: each towards the weighted
    middle of all, of mean size 1. Their sum and their moment vanish, whatever the points and the weights (…, h), by
    default equal; where all weights are zero, so are the forces."""
    own = [1.0] * len(places) if weights is None else [weights[..., i : i + 1] for i in range(len(places))]
    total = sum(own[1:], own[0]) + 1e-24
    middle = sum((w * place for w, place in zip(own[1:], places[1:], strict=True)), own[0] * places[0]) / total
    ways = [w * (middle - place) for w, place in zip(own, places, strict=True)]
    lengths = [np.sqrt(np.sum(way * way, axis=-1, keepdims=True) + 1e-24) for way in ways]
    mean = sum(lengths[1:], lengths[0]) / float(len(places))
    return [way / mean for way in ways]


def finger_forces(
    closed: Any, rates: Any, wanted: Any, wanted_rates: Any, most: Any, push: Any, gains: tuple[Any, Any, Any]
) -> Any:
    """Forces (…, k) that close fingers: cap(K(c_d − c) + D(ċ_d − ċ)) + viscous ċ + push.

    `closed` (…, k) is how far they are closed, m, `wanted` how far they are to be, each with its rate; the servo's part
    is no more than `most` N, and the drag of the slides is overcome only as far as the finger does move as it is to,
    so that one that meets something presses no harder; `push` N it presses besides. `gains` are the spring K, the
    damping D and the viscous friction of the slides, (k,) each.
    """
    spring, damping, viscous = gains
    servo = spring * (wanted - closed) + damping * (wanted_rates - rates)
    size = np.abs(wanted_rates)
    along = np.minimum(np.maximum(rates, 0.5 * (wanted_rates - size)), 0.5 * (wanted_rates + size))
    return np.minimum(np.maximum(servo, -most), most) + viscous * along + push


def _rotate_halves(pose: Any, vector: Any, direction: int) -> Any:
    """Rotate both halves (3,) of a spatial vector from a frame's axes to the world's (1), or back (−1)."""
    turn = pose[..., :3, :3] if direction > 0 else transposed(pose[..., :3, :3])
    return row(times(turn, vector[..., :3]), times(turn, vector[..., 3:]))


def _limit_halves(force: Any, most: Any) -> Any:
    """Each half no longer than its limit."""
    parts = []
    for half, limit in ((force[..., :3], most[..., :1]), (force[..., 3:], most[..., 1:])):
        length = np.sqrt(np.sum(half * half, axis=-1, keepdims=True) + 1e-12)
        parts.append(half * np.minimum(1.0, limit / length))
    return np.concatenate(parts, axis=-1)


def _joint_map(joints: DrivenJoints, q: Any, v: Any, frames: list[str], jacobians: Any) -> tuple[Any, Any]:
    """J (…, 6f, n) of all frames and the accelerations (…, 6f) they have when the joints have none."""
    model = joints.model
    drift = np.concatenate([jacobian_dot_v(model, q, v, name) for name in frames], axis=-1)
    if not joints.free:
        return np.concatenate([own[..., joints.rates] for own in jacobians], axis=-2), drift
    spread = np.concatenate([generalized_jacobian(model, q, name)[..., joints.inner] for name in frames], axis=-2)
    pressed = bias(model, q, v)[..., :6, None]
    base = -solve_symmetric(mass_at_base(model, q), pressed)[..., 0]  # momentum is kept
    return spread, drift + np.concatenate([times(own[..., :6], base) for own in jacobians], axis=-1)


def _damped_inverse(spread: Any) -> Any:
    """J*(JJ* + s²)⁻¹."""
    square = np.matmul(spread, transposed(spread)) + SINGULAR**2 * np.eye(spread.shape[-2])
    return transposed(solve_symmetric(square, spread))


def _on_path(joints: DrivenJoints, q: Any, v: Any, own: Any, g: _Spread) -> Any:
    """θ̈_j = θ̈_d + k_d(θ̇_d − θ̇) + k_p(θ_d − θ) and θ̇_j = θ̇_d + (k_p/k_d)(θ_d − θ), (…, n, 2)."""
    place, rate, change = own[..., 0, :], own[..., 1, :], own[..., 2, :]
    error = place - q[..., joints.places]
    change = change + g.joint_damping * (rate - v[..., joints.rates]) + g.joint_spring * error
    return np.stack([change, rate + g.joint_spring / g.joint_damping * error], axis=-1)


@final
@dataclass(frozen=True, eq=False)
class CoordinatedControl(Controller):
    """Several frames of one robot that follow moving poses together, stiff or compliant.

    θ̈_c = J⁺(u − J̇θ̇) and F = cap(K e + D(β_r − β)) + push, on a base that is fixed or floats; see the head of
    `phistar.control.coordinated`. With `reference(poses, twists, accelerations, pushes, felt, path)`.

    Parameters
    ----------
    model : Model
        A tree whose joints turn or slide, on the world or on one free joint.
    frames : sequence of str
        The frames that are controlled.
    gains : CoordinatedGains

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> gains = ps.control.CoordinatedGains(side_spring=800.0, push_spring=800.0, damping=300.0)
    >>> law = ps.control.CoordinatedControl(arm, ["tool"], gains)
    >>> law(0.0, q, v, law.reference([ps.forward_kinematics(arm, q, "tool")])).shape
    (6,)
    """

    model: Model
    frames: tuple[str, ...]
    gains: CoordinatedGains = CoordinatedGains()
    joints: DrivenJoints = field(init=False)

    def __post_init__(self) -> None:
        refuse_loops(self.model, self)
        object.__setattr__(self, "frames", tuple(self.frames))
        for name in self.frames:
            self.model.frame(name)
        if not self.frames or len(set(self.frames)) < len(self.frames):
            raise ShapeError(f"CoordinatedControl needs frames, each once; it was given {self.frames!r:.200}.")
        object.__setattr__(self, "joints", DrivenJoints(self.model))

    @property
    def rows(self) -> Mapping[str, int]:
        return {"reference": FRAME_ROWS * len(self.frames) + 3 * len(self.joints.rates)}

    def reference(
        self,
        poses: Any,
        twists: Any = None,
        accelerations: Any = None,
        pushes: Any = None,
        felt: Any = None,
        path: Any = None,
    ) -> Array:
        """(…, 36f + 3n): poses (…, 4, 4), and of each frame (…, 6) its twist, the rate of that, the force it is to
        exert and the one it feels, zero where None; `path` (…, 3, n) of the joints, which the null space follows."""
        count, parts = len(self.frames), []
        if len(poses) != count:
            raise ShapeError(f"CoordinatedControl moves {count} frames; it was given {len(poses)} poses.")
        given = [[np.zeros(6)] * count if each is None else each for each in (twists, accelerations, pushes, felt)]
        for number in range(count):
            parts.append(pose_row(poses[number]))
            parts += [entries(each[number], 6, "A frame's twist or force") for each in given]
        size = len(self.joints.rates)
        own = np.zeros(3 * size) if path is None else np.reshape(path, (*np.shape(path)[:-2], 3 * size))
        return row(*parts, own)

    def __call__(self, t: Any, q: Any, v: Any, reference: Any) -> Array:
        count, size = len(self.frames), len(self.joints.rates)
        sizes = [*[POSE_ROWS, 6, 6, 6, 6] * count, 3 * size]
        q, v, *parts = check_arguments(self.model, q, v, reference, *sizes)
        frames = {name: FrameReference(*parts[5 * i : 5 * i + 5]) for i, name in enumerate(self.frames)}
        own = parts[-1].reshape(*parts[-1].shape[:-1], 3, size)
        made = coordinated_forces(self.joints, q, v, frames, own, self.gains.row).forces
        back = np.argsort(self.joints.rates)
        idle = [np.zeros((*made.shape[:-1], 6))] if self.joints.free else []
        return np.concatenate([*idle, made[..., back]], axis=-1)
