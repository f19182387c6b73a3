"""The one law of all phases, compiled: readings and a moving frame in, joint forces and facts out.

`ps.control.CoordinatedControl` moves the hands; phases differ by its gains alone. Here stand what is around it: the
smoothing of readings, the hands' paths in a frame that moves, the squeeze, and the numbers that rules go by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from phistar.backends.one_state import door
from phistar.capture.hands import Hand
from phistar.capture.paths import CARRIER_ROWS, PATH_ROWS, carry_frame, reference
from phistar.capture.robot import Arms
from phistar.compiled import compile
from phistar.control.coordinated import (
    GAIN_ROWS,
    DrivenJoints,
    FrameReference,
    coordinated_forces,
    finger_forces,
    towards_each_other,
)
from phistar.dynamics import forward_kinematics
from phistar.spatial import cross
from phistar.stated_kernels import runtime_parameters

FINGER_SPRING = 2000.0  # N/m of the servo of a finger that closes,
FINGER_DAMPING = 60.0  # and its damping over its mass, 1/s
PER_HAND = ("position_error", "angle_error", "speed", "turn_rate", "push", "side", "bend")


def measured_names(arms: Arms) -> tuple[str, ...]:
    """The names of what the law measures, in order."""
    return (*(f"{hand.name}_{name}" for hand in arms.hands for name in PER_HAND), "limit_margin", "fastest_joint")


@dataclass(frozen=True)
class LawRows:
    """Lengths of a law's rows, for h hands that n joints move.

    `now` has the frame's coasting (3), the paths' progress (6 each), the push of each hand along its z, N, the weights
    of the hands' pushes on each other, the squeeze of all, N, the joints' progress (6), and of every finger that closes
    how far it is to be closed, m, how fast, m/s, with how much force at most, N, and the push besides, N.
    """

    hands: int
    joints: int
    fingers: int = 0

    @property
    def smooth(self) -> int:
        """Entries of `smooth`: wrists and joint rates."""
        return 6 * self.hands + self.joints

    @property
    def paths(self) -> int:
        return PATH_ROWS * self.hands

    @property
    def way(self) -> int:
        """Entries of `way`: start, end and final rates of the joints."""
        return 3 * self.joints

    @property
    def now(self) -> int:
        return 3 + 6 * self.hands + 2 * self.hands + 1 + 6 + 4 * self.fingers

    @staticmethod
    def of(arms: Arms) -> LawRows:
        return LawRows(len(arms.hands), len(arms.driven_rates), len(arms.slides))


def compiled_law(arms: Arms) -> Callable[..., tuple[np.ndarray, ...]]:
    """law(readings, smooth, carrier, paths, way, gains, smoothing, now) → tau, smooth, grips, measured.

    `readings` are `arms.readings`, one after another; carrier and paths are those of `paths.reference`; see `LawRows`
    for the others; `smoothing` (1,) is what a new reading of wrists and joint rates counts. tau (nv,) are joint forces
    of the scene; grips (12 h,) the poses of the hands, a rotation's rows and a position each; measured has the numbers
    of `measured_names`.
    """
    law, mass = _compile(_Shared(arms.without_mass())), arms.mass
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
        same = self.arms.layout == other.arms.layout and self.arms.scene.nv == other.arms.scene.nv
        same = same and self.arms.slides == other.arms.slides
        return same and np.array_equal(self.arms.sites, other.arms.sites)


@lru_cache(maxsize=8)
def _compile(shared: _Shared) -> Callable[..., Any]:
    law, rows = traceable_law(shared.arms)
    return door(compile(law, shared.arms.model, rows=rows).kernel.function)


def traceable_law(arms: Arms) -> tuple[Callable[..., dict[str, Any]], dict[str, int]]:
    """What `compiled_law` compiles, of floats or traced numbers, and the lengths of its arguments; that of a base that
    floats takes the base's inertia as `mass` (10,) besides."""
    sizes = LawRows.of(arms)
    rows = {"readings": sum(arms.readings.values()), "smooth": sizes.smooth, "carrier": CARRIER_ROWS}
    rows |= {"paths": sizes.paths, "way": sizes.way, "gains": GAIN_ROWS, "smoothing": 1, "now": sizes.now}

    def law(readings, smooth, carrier, paths, way, gains, smoothing, now):  # type: ignore[no-untyped-def]
        return _law(arms, readings, smooth, carrier, paths, way, gains, smoothing, now)

    def floating(readings, smooth, carrier, paths, way, gains, smoothing, now, mass):  # type: ignore[no-untyped-def]
        with runtime_parameters(inertia=arms.inertias(mass)):
            return _law(arms, readings, smooth, carrier, paths, way, gains, smoothing, now)

    return (floating, {**rows, "mass": 10}) if arms.free else (law, rows)


def _law(
    arms: Arms, readings: Any, smooth: Any, carrier: Any, paths: Any, way: Any, gains: Any, smoothing: Any, now: Any
) -> dict[str, Any]:
    model, sizes, count = arms.model, LawRows.of(arms), len(arms.hands)
    read = _split(arms, readings)
    rates = [read[f"{hand.name}_joints"][len(hand.joints) :] for hand in arms.hands]
    fresh = np.concatenate([*(read[f"{hand.name}_wrist"] for hand in arms.hands), *rates])
    smooth = smooth + smoothing * (fresh - smooth)
    for hand, part in zip(arms.hands, arms.slices, strict=True):
        own = smooth[6 * count + part.start : 6 * count + part.stop]
        read[f"{hand.name}_joints"] = np.concatenate([read[f"{hand.name}_joints"][: len(hand.joints)], own])
    q, v = arms.state(read)
    frame, at = carry_frame(carrier, now[:3]), 3 + 6 * count
    poses = [forward_kinematics(model, q, hand.grip) for hand in arms.hands]
    inward = towards_each_other([pose[:3, 3] for pose in poses], now[at + count : at + 2 * count])
    squeeze, frames, felt = now[at + 2 * count : at + 2 * count + 1], {}, []
    for i, (hand, pose) in enumerate(zip(arms.hands, poses, strict=True)):
        target = reference(frame, paths[PATH_ROWS * i : PATH_ROWS * (i + 1)], now[3 + 6 * i : 9 + 6 * i])
        along = pose[:3, 2] * now[at + i : at + i + 1] + inward[i] * squeeze
        pressed = _at_grip(hand, pose, smooth[6 * i : 6 * i + 6])
        frames[hand.grip] = FrameReference(*target, np.concatenate([np.zeros(3), along]), pressed)
        felt.append(_rotate_back(pose, pressed))
    after = at + 2 * count + 7
    own = _on_way(way, now[after - 6 : after], sizes.joints)
    made = coordinated_forces(DrivenJoints(model, arms.driven_rates), q, v, frames, own, gains)
    measured = [part for each in zip(made.errors, made.lacking, felt, strict=True) for part in _hand_numbers(*each)]
    grips = [part for pose in poses for part in (pose[:3, :3].reshape(9), pose[:3, 3])]
    whole = {
        "tau": _in_scene(arms, made.forces, _jaws(arms, read, now[after:])),
        "smooth": smooth,
        "grips": np.concatenate(grips),
    }
    return {**whole, "measured": np.concatenate([*measured, *_margins(arms, q, v)])}


def _split(arms: Arms, readings: Any) -> dict[str, Any]:
    """The readings by their names."""
    read, start = {}, 0
    for name, size in arms.readings.items():
        read[name] = readings[start : start + size]
        start += size
    return read


def _hand_numbers(error: Any, slip: Any, felt: Any) -> list[Any]:
    """The numbers of `PER_HAND`: felt is what presses on the hand, in its axes at the grip."""

    def length(vector: Any) -> Any:
        return np.sqrt(np.sum(vector * vector, keepdims=True))

    apart = [length(error[3:]), length(error[:3]), length(slip[3:]), length(slip[:3])]
    return [*apart, -felt[5:], length(felt[3:5]), length(felt[:2])]


def _margins(arms: Arms, q: Any, v: Any) -> list[Any]:
    """Least distance of the joints from their limits, rad, and the speed of the fastest joint."""
    lower, upper = arms.limits
    angles, rates = q[arms.coordinates], v[arms.driven_rates]
    room, fastest = np.minimum(angles - lower, upper - angles), np.abs(rates)
    least, most = room[:1], fastest[:1]
    for i in range(1, len(lower)):
        least, most = np.minimum(least, room[i : i + 1]), np.maximum(most, fastest[i : i + 1])
    return [least, most]


def _rotate_back(pose: Any, vector: Any) -> Any:
    """Express both halves of a spatial vector in a frame's axes."""
    back = np.swapaxes(pose[:3, :3], 0, 1)
    return np.concatenate([np.matmul(back, vector[:3]), np.matmul(back, vector[3:])])


def _at_grip(hand: Hand, pose: Any, reading: Any) -> Any:
    """Wrist reading, [moment; force] in wrist axes, as a wrench at the grip in world axes."""
    back = hand.reach[:3, :3].T
    moment, force = np.matmul(back, reading[:3]), np.matmul(back, reading[3:])
    arm = np.matmul(back, hand.reach[:3, 3])  # from wrist to grip, in grip axes
    turn = pose[:3, :3]
    return np.concatenate([np.matmul(turn, moment - cross(arm, force)), np.matmul(turn, force)])


def _on_way(way: Any, progress: Any, joints: int) -> Any:
    """θ_d = θ₀ + (θ₁ − θ₀)s + θ̇₁ e, its rate and acceleration, (3, n); progress has s, ṡ, s̈, e, ė, ë."""
    start, shift, last = way[:joints], way[joints : 2 * joints] - way[:joints], way[2 * joints :]
    s = [progress[i : i + 1] for i in range(6)]
    return np.stack(
        [start + shift * s[0] + last * s[3], shift * s[1] + last * s[4], shift * s[2] + last * s[5]], axis=0
    )


def _jaws(arms: Arms, read: Any, wanted: Any) -> list[Any]:
    """Forces of the joints that close jaws, in the order of `arms.slides`, (1,) each."""
    made = []
    for at, hand in zip(range(0, 2 * len(arms.jaws), 2), arms.jaws, strict=True):
        assert hand.jaw is not None
        reading = read[f"{hand.name}_jaw"]
        closed, rates = (hand.jaw.ways * part for part in (reading[:2] - hand.jaw.open, reading[2:]))
        goal, rate, most, push = (
            np.concatenate([wanted[4 * at + i : 4 * at + i + 1], wanted[4 * at + 4 + i : 4 * at + 5 + i]])
            for i in range(4)
        )
        forces = finger_forces(closed, rates, goal, rate, most, push, _finger_gains(arms, at)) * hand.jaw.ways
        made += [forces[:1], forces[1:]]
    return made


def _finger_gains(arms: Arms, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Spring, damping and viscous friction of the two fingers of a jaw, from the slide `number` on, as stiff as their
    mass and the controller's lag allow."""
    slides = arms.slides[number : number + 2]
    masses = np.array([arms.scene.bodies[joint.body].inertia.mass for joint in slides])
    viscous = np.array([float(np.ravel(joint.kind.damping)[0]) for joint in slides])
    damping = FINGER_DAMPING * masses
    return np.minimum(FINGER_SPRING, (viscous + damping) ** 2 / (4.0 * masses)), damping, viscous


def _in_scene(arms: Arms, tau: Any, jaws: list[Any]) -> Any:
    """Joint forces (n,) and those of jaws, as those of the scene, (nv,): zero where nothing drives."""
    whole: list[Any] = [np.zeros(1)] * arms.scene.nv
    for i, site in enumerate(arms.sites[1].tolist()):
        whole[site] = tau[i : i + 1]
    for joint, force in zip(arms.slides, jaws, strict=True):
        whole[joint.v_slice.start] = force
    return np.concatenate(whole)
