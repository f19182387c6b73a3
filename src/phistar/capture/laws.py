"""One law for both arms in every phase: joint forces from a moving frame, the hands' paths in it, and gains.

    T = ID(θ̈_c, −F) + friction(θ̇_c),    θ̈_c = w J⁺(u − J̇θ̇) + (1 − w)θ̈_j,    u = β̇_r + k_d(β_r − β) + k_p e
    F = cap(K e + D(β_r − β)) + push,     θ̇_c = w J⁺(β_r + (k_p/k_d) e + g(F + F_wrist)) + (1 − w)θ̇_j

Phases differ by their gains alone. With u alone it is resolved acceleration (Luh, Walker and Paul 1980), with F alone
impedance about the grip (Hogan 1985); w = 0 leaves the joints to their own path. Dry friction is overcome in the
direction in which the joints are to move: towards their reference, and in contact towards the force that is wanted,
which the wrist measures (g, m/s per N), so that forces are right at standstill too. On a free base J is the generalized
Jacobian and ID that of free-flying robots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from phistar.backends.one_state import door
from phistar.backends.traces.solve import solve_symmetric
from phistar.capture.paths import CARRIER_ROWS, PATH_ROWS, carried, reference
from phistar.capture.robot import BASE, SIDES, Arms, Hand
from phistar.compiled import compile
from phistar.control.law import pose_error
from phistar.dynamics import bias, forward_kinematics, inverse_dynamics, jacobian, jacobian_dot_v
from phistar.freeflying import generalized_jacobian, mass_at_base
from phistar.freeflying import inverse_dynamics as floating_inverse_dynamics
from phistar.spatial import cross
from phistar.stated import runtime_parameters

SMOOTH_ROWS = 24
WAY_ROWS = 36  # of the joints: where from, where to, and their rates there
SINGULAR = 0.015  # damping of J⁺, in the units of its singular values
PER_HAND = ("position_error", "angle_error", "speed", "turn_rate", "push", "side", "bend")
MEASURED = (*(f"{side}_{name}" for side in SIDES for name in PER_HAND), "limit_margin", "fastest_joint")


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
    joint_spring: float = 100.0  # 1/s²
    joint_damping: float = 20.0  # 1/s
    hesitation: float = 0.004  # rad/s within which the side of dry friction is blended from one to the other
    smoothing: float = 1.0  # of the readings of wrists and joint rates: what a new one counts

    @property
    def row(self) -> np.ndarray:
        return np.array([getattr(self, field.name) for field in fields(self)])


GAIN_ROWS = len(fields(Gains))


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
    smoothing: Any

    @staticmethod
    def of(gains: Any) -> _Spread:
        g = [gains[i : i + 1] for i in range(GAIN_ROWS)]

        def six(angular: Any, linear: Any, last: Any = None) -> Any:
            return np.concatenate([angular] * 3 + [linear] * 2 + [linear if last is None else last])

        most = np.concatenate([g[9], g[10]])
        springs, dampers = six(g[4], g[5], g[6]), six(g[7], g[8])
        return _Spread(six(g[0], g[1]), six(g[2], g[3]), springs, dampers, most, six(g[11], g[12]), *g[13:])


NOW = {"coast": 3, "left": 6, "right": 6, "push": 3, "joints": 6}  # rows that change from sample to sample
NOW_ROWS = sum(NOW.values())


def compiled_law(arms: Arms) -> Callable[..., tuple[np.ndarray, ...]]:
    """law(*readings, smooth, carrier, left, right, way, gains, now) → tau, smooth, grips, measured.

    Readings are `arms.readings` in order; carrier and paths are those of `paths.reference`; way (36,) is the joints'.
    `now` (24,) has the carrier's coasting (see `paths.carried`), both paths' progress, the pushes of left and right
    along their z and of both towards each other, N, and the joints' progress (see `_on_way`). tau (nv,) are joint
    forces of the scene; smooth (24,) the wrists and joint rates, smoothed; grips (24,) the poses of both hands, a
    rotation's rows and a position each; measured has the numbers of `MEASURED`.
    """
    law, mass = _compiled(_Shared(arms.without_mass())), arms.mass
    return law if mass is None else lambda *rows: law(*rows, mass)


@dataclass(frozen=True, eq=False)
class _Shared:
    """Arms that have all but the base's inertia in common are controlled by one compiled function."""

    arms: Arms

    def __hash__(self) -> int:
        return hash(self.arms.model)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Shared) or self.arms.model != other.arms.model:
            return False
        return np.array_equal(self.arms.sites, other.arms.sites) and self.arms.scene.nv == other.arms.scene.nv


@lru_cache(maxsize=8)
def _compiled(shared: _Shared) -> Callable[..., Any]:
    arms = shared.arms
    rows = {**arms.readings, "smooth": SMOOTH_ROWS, "carrier": CARRIER_ROWS, "left": PATH_ROWS, "right": PATH_ROWS}
    rows |= {"way": WAY_ROWS, "gains": GAIN_ROWS, "now": NOW_ROWS}

    def held(left_joints, right_joints, left_wrist, right_wrist, smooth, carrier, left, right, way, gains, now):  # type: ignore[no-untyped-def]
        read = left_joints, right_joints, left_wrist, right_wrist
        return _law(arms, read, {}, smooth, carrier, (left, right), way, gains, now)

    def floating(  # type: ignore[no-untyped-def]
        left_joints, right_joints, left_wrist, right_wrist, base, smooth, carrier, left, right, way, gains, now, mass
    ):
        read = left_joints, right_joints, left_wrist, right_wrist
        with runtime_parameters(inertia=arms.inertias(mass)):
            return _law(arms, read, {BASE: base}, smooth, carrier, (left, right), way, gains, now)

    if arms.free:
        return door(compile(floating, arms.model, rows={**rows, "mass": 10}).kernel.function)
    return door(compile(held, arms.model, rows=rows).kernel.function)


def _law(
    arms: Arms, read: Any, base: Any, smooth: Any, carrier: Any, paths: Any, way: Any, gains: Any, now: Any
) -> dict[str, Any]:
    model, g = arms.model, _Spread.of(gains)
    fresh = np.concatenate([*read[2:], read[0][6:], read[1][6:]])
    smooth = smooth + g.smoothing * (fresh - smooth)
    joints = [np.concatenate([read[i][:6], smooth[12 + 6 * i : 18 + 6 * i]]) for i in (0, 1)]
    q, v = arms.state({"left_joints": joints[0], "right_joints": joints[1], **base})
    frame, progress, push = carried(carrier, now[:3]), (now[3:9], now[9:15]), now[15:18]
    poses = [forward_kinematics(model, q, hand.grip) for hand in arms.hands]
    jacobians = [jacobian(model, q, hand.grip) for hand in arms.hands]
    apart = poses[1][:3, 3] - poses[0][:3, 3]
    apart = apart / np.sqrt(np.sum(apart * apart, keepdims=True))
    wanted, rates, forces, measured = [], [], [], []
    for i, (hand, pose) in enumerate(zip(arms.hands, poses, strict=True)):
        target, twist, change = reference(frame, paths[i], progress[i])
        error, slip = pose_error(pose, target), twist - np.matmul(jacobians[i], v)
        along = pose[:3, 2] * push[i : i + 1] + apart * push[2:] * (1.0 - 2.0 * i)
        pull = _turned(pose, g.springs * _turned(pose, error, -1), 1) + g.dampers * slip
        force = _capped(pull, g.most) + np.concatenate([np.zeros(3), along])
        pressed = _at_grip(hand, pose, smooth[6 * i : 6 * i + 6])
        wanted.append(change + g.kd * slip + g.kp * error)
        rates.append(twist + g.kp / (g.kd + 1e-9) * error + g.give * (force + pressed))
        forces.append(force)
        measured += _measured(error, slip, _turned(pose, pressed, -1))
    spread, drift = _joint_map(arms, q, v, jacobians)
    both = np.stack([np.concatenate(wanted) - drift, np.concatenate(rates)], axis=-1)
    solved = g.task * np.matmul(_damped_inverse(spread), both)
    own = (1.0 - g.task) * _on_way(arms, q, v, way, now[18:], g)
    tau = _inverse_dynamics(arms, q, v, solved[:, 0] + own[:, 0], forces)
    tau = tau + _friction(arms, solved[:, 1] + own[:, 1], g.hesitation)
    grips = [part for pose in poses for part in (pose[:3, :3].reshape(9), pose[:3, 3])]
    measured += _margins(arms, q, v)
    whole = {"tau": _in_scene(arms, tau), "smooth": smooth, "grips": np.concatenate(grips)}
    return {**whole, "measured": np.concatenate(measured)}


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


def _turned(pose: Any, vector: Any, direction: int) -> Any:
    """Both halves (3,) of a spatial vector from a frame's axes to the world's (1), or back (−1)."""
    turn = pose[:3, :3] if direction > 0 else np.swapaxes(pose[:3, :3], 0, 1)
    return np.concatenate([np.matmul(turn, vector[:3]), np.matmul(turn, vector[3:])])


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


def _joint_map(arms: Arms, q: Any, v: Any, jacobians: Any) -> tuple[Any, Any]:
    """J (12, 12) of both grips and the accelerations (12,) they have when the joints have none."""
    model = arms.model
    drift = np.concatenate([jacobian_dot_v(model, q, v, hand.grip) for hand in arms.hands])
    if not arms.free:
        return np.concatenate([own[:, arms.driven] for own in jacobians]), drift
    inner = arms.driven - 6
    spread = np.concatenate([generalized_jacobian(model, q, hand.grip)[:, inner] for hand in arms.hands])
    base = -solve_symmetric(mass_at_base(model, q), bias(model, q, v)[:6, None])[:, 0]  # momentum is kept
    return spread, drift + np.concatenate([np.matmul(own[:, :6], base) for own in jacobians])


def _damped_inverse(spread: Any) -> Any:
    """J*(JJ* + s²)⁻¹."""
    square = np.matmul(spread, np.swapaxes(spread, 0, 1)) + SINGULAR**2 * np.eye(spread.shape[0])
    return np.swapaxes(solve_symmetric(square, spread), 0, 1)


def _on_way(arms: Arms, q: Any, v: Any, way: Any, progress: Any, g: _Spread) -> Any:
    """θ̈_j = θ̈_d + k_d(θ̇_d − θ̇) + k_p(θ_d − θ) and θ̇_j = θ̇_d + (k_p/k_d)(θ_d − θ), (12, 2).

    θ_d = θ₀ + (θ₁ − θ₀)s + θ̇₁ e; progress has s, ṡ, s̈, e, ė, ë.
    """
    start, shift, last = way[:12], way[12:24] - way[:12], way[24:]
    s = [progress[i : i + 1] for i in range(6)]
    error = start + shift * s[0] + last * s[3] - q[arms.coordinates]
    rate = shift * s[1] + last * s[4]
    change = shift * s[2] + last * s[5] + g.joint_damping * (rate - v[arms.driven]) + g.joint_spring * error
    return np.stack([change, rate + g.joint_spring / g.joint_damping * error], axis=-1)


def _inverse_dynamics(arms: Arms, q: Any, v: Any, acceleration: Any, forces: Any) -> Any:
    """Joint forces (12,) for joint accelerations (12,) while the hands push with `forces`."""
    loads = {hand.grip: -force for hand, force in zip(arms.hands, forces, strict=True)}
    inner = arms.driven - (6 if arms.free else 0)
    ordered = acceleration[np.argsort(inner)]
    dynamics = floating_inverse_dynamics if arms.free else inverse_dynamics
    return dynamics(arms.model, q, v, ordered, loads)[inner]


def _friction(arms: Arms, rate: Any, hesitation: Any) -> Any:
    """The joint forces (12,) that the joints' friction takes at rates (12,), smoothed about zero."""
    ahead, back = np.array([np.ravel(kind.friction) for kind in arms.kinds]).T
    viscous = np.array([np.ravel(kind.damping)[0] for kind in arms.kinds])
    scaled = rate / hesitation
    way = scaled / np.sqrt(1.0 + scaled * scaled)
    return viscous * rate + 0.5 * (ahead + back) * way + 0.5 * (ahead - back) * way * way


def _in_scene(arms: Arms, tau: Any) -> Any:
    """Joint forces (12,) as those of the scene, (nv,): zero where nothing drives."""
    whole: list[Any] = [np.zeros(1)] * arms.scene.nv
    for i, site in enumerate(arms.sites[1].tolist()):
        whole[site] = tau[i : i + 1]
    return np.concatenate(whole)
