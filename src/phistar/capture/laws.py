"""One law for both arms in every phase: joint forces from a moving frame, the hands' paths in it, and gains.

    T = ID(θ̈_c, −F) + friction(θ̇_c),    θ̈_c = w J⁺(u − J̇θ̇) + θ̈_j,    u = β̇_r + k_d(β_r − β) + k_p e
    F = cap(K e + D(β_r − β)) + push,     θ̇_c = w J⁺(β_r + (k_p/k_d) e + g(F + F_wrist)) + θ̇_j

Phases differ by their gains alone. With u alone it is resolved acceleration (Luh, Walker and Paul 1980), with F alone
impedance about the grip (Hogan 1985); w = 0 leaves the joints to (θ̈_j, θ̇_j). Dry friction is overcome in the direction
in which the joints are to move: towards their reference, and in contact towards the force that is wanted, which the
wrist measures (g, m/s per N), so that forces are right at standstill too. On a free base J is the generalized Jacobian
and ID that of free-flying robots.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from phistar.backends.solve import solve_symmetric
from phistar.capture.robot import Arms, Hand
from phistar.compiled import CompiledFunction, compile
from phistar.control.law import pose_error, row, split
from phistar.dynamics import bias, forward_kinematics, inverse_dynamics, jacobian, jacobian_dot_v
from phistar.freeflying import generalized_jacobian, mass_at_base
from phistar.freeflying import inverse_dynamics as floating_inverse_dynamics
from phistar.model import Model
from phistar.spatial import cross, skew

CARRIER_ROWS = 24  # rotation (9), position, [ω; ẋ] and its rate in the world
PATH_ROWS = 24  # start pose (12), axis (3) in its axes, shift (3) in the frame's, (angle, rate, rate), (s, ṡ, s̈)
SINGULAR = 0.015  # damping of J⁺, in the units of its singular values
SMOOTH = 0.004  # rad/s within which dry friction is blended from one side to the other


@dataclass(frozen=True)
class Gains:
    """Of a phase; angular and linear in turn. The spring across the grip and that along its z axis differ."""

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

    @property
    def row(self) -> np.ndarray:
        return np.array([getattr(self, field.name) for field in fields(self)])


GAIN_ROWS = len(fields(Gains))
ROWS = {
    "carrier": CARRIER_ROWS,
    "left": PATH_ROWS,
    "right": PATH_ROWS,
    "push": 3,  # N: of each hand along its z axis, of both towards each other
    "wrists": 12,
    "joints": 24,  # θ̈_j, θ̇_j
    "gains": GAIN_ROWS,
}
PER_HAND = ("position_error", "angle_error", "speed", "turn_rate", "push", "side", "bend")
MEASURED = (*(f"{hand}_{name}" for hand in ("left", "right") for name in PER_HAND), "limit_margin", "fastest_joint")


def compiled_law(arms: Arms) -> CompiledFunction:
    """law(q, v, carrier, left, right, push, wrists, joints, gains) → tau (12,), grips (24,), measured (…,).

    `grips` are the poses of both, a rotation's rows and a position each; `measured` has the numbers of `MEASURED`.
    """
    model = arms.model

    def law(q, v, carrier, left, right, push, wrists, joints, gains):  # type: ignore[no-untyped-def]
        return _law(arms, q, v, carrier, (left, right), push, wrists, joints, gains)

    return compile(law, model, rows=ROWS)


def _law(
    arms: Arms, q: Any, v: Any, carrier: Any, paths: Any, push: Any, wrists: Any, joints: Any, gains: Any
) -> dict[str, Any]:
    model, (kp, kd, springs, dampers, most, give, task) = arms.model, _gains(gains)
    poses = [forward_kinematics(model, q, hand.grip) for hand in arms.hands]
    jacobians = [jacobian(model, q, hand.grip) for hand in arms.hands]
    apart = poses[1][:3, 3] - poses[0][:3, 3]
    apart = apart / np.sqrt(np.sum(apart * apart, keepdims=True))
    wanted, rates, forces, measured = [], [], [], []
    for number, (hand, pose) in enumerate(zip(arms.hands, poses, strict=True)):
        target, twist, change = reference(carrier, paths[number])
        error, slip = pose_error(pose, target), twist - np.matmul(jacobians[number], v)
        along = pose[:3, 2] * push[number] + apart * push[2] * (1.0 - 2.0 * number)
        pull = _turned(pose, springs * _turned(pose, error, -1), 1) + dampers * slip
        force = _capped(pull, most) + np.concatenate([np.zeros(3), along])
        felt = _at_grip(hand, pose, wrists[6 * number : 6 * number + 6])
        wanted.append(change + kd * slip + kp * error)
        rates.append(twist + kp / (kd + 1e-9) * error + give * (force + felt))
        forces.append(force)
        measured += _measured(error, slip, _turned(pose, felt, -1))
    spread, drift = _joint_map(arms, model, q, v, jacobians)
    both = np.stack([np.concatenate(wanted) - drift, np.concatenate(rates)], axis=-1)
    solved = task * np.matmul(_damped_inverse(spread), both)
    acceleration, rate = solved[:, 0] + joints[:12], solved[:, 1] + joints[12:]
    tau = _inverse_dynamics(arms, model, q, v, acceleration, forces) + _friction(arms, rate)
    grips = [part for pose in poses for part in (pose[:3, :3].reshape(9), pose[:3, 3])]
    measured += _margins(arms, q, v)
    return {"tau": tau, "grips": np.concatenate(grips), "measured": np.concatenate(measured)}


def _measured(error: Any, slip: Any, felt: Any) -> list[Any]:
    """The numbers of `PER_HAND`: felt is what presses on the hand, in its axes at the grip."""

    def length(vector: Any) -> Any:
        return np.sqrt(np.sum(vector * vector, keepdims=True))

    apart = [length(error[3:]), length(error[:3]), length(slip[3:]), length(slip[:3])]
    return [*apart, -felt[5:], length(felt[3:5]), length(felt[:2])]


def _margins(arms: Arms, q: Any, v: Any) -> list[Any]:
    """How far the joints are from their limits, rad, at least; and how fast the fastest of them turns."""
    lower, upper = arms.limits
    angles, rates = q[arms.coordinates], v[arms.driven]
    room, fastest = np.minimum(angles - lower, upper - angles), np.abs(rates)
    least, most = room[:1], fastest[:1]
    for i in range(1, len(lower)):
        least, most = np.minimum(least, room[i : i + 1]), np.maximum(most, fastest[i : i + 1])
    return [least, most]


def reference(carrier: Any, path: Any) -> tuple[Any, Any, Any]:
    """Pose row (12,), twist (6,) and its rate (6,) in the world, of a path in a frame that moves.

    The pose in the frame is (R₀ exp(n a), p₀ + d s); the twist is that of the frame carried to it, and its own.
    """
    turn, place, twist, change = split(carrier, 9, 3, 6, 6)
    start, origin, axis, shift, angles, lengths = split(path, 9, 3, 3, 3, 3, 3)
    turn, start = turn.reshape(3, 3), start.reshape(3, 3)
    spin = _rotation(axis, angles[0])
    arm = np.matmul(turn, origin + shift * lengths[0])
    own_axis, own_shift = np.matmul(turn, np.matmul(start, axis)), np.matmul(turn, shift)
    omega, speed = twist[:3], twist[3:]
    velocity = own_shift * lengths[1]
    angular = omega + own_axis * angles[1]
    linear = speed + cross(omega, arm) + velocity
    angular_rate = change[:3] + own_axis * angles[2] + cross(omega, own_axis * angles[1])
    linear_rate = change[3:] + cross(change[:3], arm) + cross(omega, cross(omega, arm) + 2.0 * velocity)
    linear_rate = linear_rate + own_shift * lengths[2]
    rotation = np.matmul(turn, np.matmul(start, spin))
    pose = np.concatenate([rotation.reshape(9), place + arm])
    return pose, np.concatenate([angular, linear]), np.concatenate([angular_rate, linear_rate])


def _gains(gains: Any) -> tuple[Any, ...]:
    """k_p, k_d, K, D, caps and g as (6,), and w."""
    g = [gains[i] for i in range(GAIN_ROWS)]

    def six(angular: Any, linear: Any, last: Any = None) -> np.ndarray:
        return np.stack([angular, angular, angular, linear, linear, linear if last is None else last])

    most = np.stack([g[9], g[10]])
    return six(g[0], g[1]), six(g[2], g[3]), six(g[4], g[5], g[6]), six(g[7], g[8]), most, six(g[11], g[12]), g[13]


def _rotation(axis: Any, angle: Any) -> Any:
    """exp(n a) for a unit n; the identity where n is zero."""
    tilde = skew(axis)
    return np.eye(3) + np.sin(angle) * tilde + (1.0 - np.cos(angle)) * np.matmul(tilde, tilde)


def _turned(pose: Any, wrench: Any, way: int) -> Any:
    """Both halves (3,) of a spatial vector from a frame's axes to the world's (way 1), or back (−1)."""
    turn = pose[:3, :3] if way > 0 else pose[:3, :3].T
    return np.concatenate([np.matmul(turn, wrench[:3]), np.matmul(turn, wrench[3:])])


def _capped(force: Any, most: Any) -> Any:
    """Each half no longer than its limit."""
    parts = []
    for half, limit in ((force[:3], most[:1]), (force[3:], most[1:])):
        length = np.sqrt(np.sum(half * half, keepdims=True) + 1e-12)
        parts.append(half * np.minimum(1.0, limit / length))
    return np.concatenate(parts)


def _at_grip(hand: Hand, pose: Any, reading: Any) -> Any:
    """What the wrist feels, [moment; force] in its axes, as a wrench at the grip in world axes."""
    back = hand.reach[:3, :3].T
    moment, force = np.matmul(back, reading[:3]), np.matmul(back, reading[3:])
    arm = np.matmul(back, hand.reach[:3, 3])  # from wrist to grip, in grip axes
    return _turned(pose, np.concatenate([moment - cross(arm, force), force]), 1)


def _joint_map(arms: Arms, model: Model, q: Any, v: Any, jacobians: Any) -> tuple[Any, Any]:
    """J (12, 12) of both grips and the accelerations (12,) they have when the joints have none."""
    drift = np.concatenate([jacobian_dot_v(model, q, v, hand.grip) for hand in arms.hands])
    if not arms.free:
        return np.concatenate([own[:, arms.driven] for own in jacobians]), drift
    inner = arms.driven - 6
    spread = np.concatenate([generalized_jacobian(model, q, hand.grip)[:, inner] for hand in arms.hands])
    base = -solve_symmetric(mass_at_base(model, q), bias(model, q, v)[:6, None])[:, 0]  # of q̈ = 0
    return spread, drift + np.concatenate([np.matmul(own[:, :6], base) for own in jacobians])


def _damped_inverse(spread: Any) -> Any:
    """J*(JJ* + s²)⁻¹."""
    size = spread.shape[0]
    square = np.matmul(spread, spread.T) + SINGULAR**2 * np.eye(size)
    return solve_symmetric(square, spread).T


def _inverse_dynamics(arms: Arms, model: Model, q: Any, v: Any, acceleration: Any, forces: Any) -> Any:
    """Joint forces (12,) for joint accelerations (12,) while the hands push with `forces`."""
    loads = {hand.grip: -force for hand, force in zip(arms.hands, forces, strict=True)}
    offset = 6 if arms.free else 0
    place = np.argsort(arms.driven - offset)
    ordered = np.stack([acceleration[i] for i in place])
    if arms.free:
        return floating_inverse_dynamics(model, q, v, ordered, loads)[arms.driven - offset]
    return inverse_dynamics(model, q, v, ordered, loads)[arms.driven]


def _friction(arms: Arms, rate: Any) -> Any:
    """The joint forces (12,) that the joints' friction takes at rates (12,), smoothed about zero."""
    kinds = [next(j for j in arms.model.joints if j.v_slice.start == start).kind for start in arms.driven]
    ahead, back = np.array([np.ravel(kind.friction) for kind in kinds]).T
    viscous = np.array([np.ravel(kind.damping)[0] for kind in kinds])
    scaled = rate / SMOOTH
    way = scaled / np.sqrt(1.0 + scaled * scaled)
    return viscous * rate + 0.5 * (ahead + back) * way + 0.5 * (ahead - back) * way * way
