"""Beams of four modes beside rigid segments with springs in Pinocchio and in MuJoCo: four motions in one plane.

    OPENBLAS_NUM_THREADS=1 python benchmarks/multibody/segments.py [SEGMENTS [MOTION …]]      # 200, all four

A pendulum that falls, Kane's beam that spins up, and the rod of a slider-crank and of a four-bar whose crank turns as
told. The peers say what inverse dynamics and mass matrix of the segments are; their motion is taken by the implicit
midpoint rule, the far pin held at the level of its velocity. Half as many segments give the order of what is left,
which is extrapolated.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from segmented_motions import MOTIONS, Motion

SLIGHT = 1e-12  # kg and kg m² of what is told to move, and about axes that nothing turns about


@dataclass(frozen=True)
class Rods:
    """Rods in a plane on two slides (massless) and hinges: where each hinge is on the rod before it, and the masses."""

    offsets: np.ndarray
    lengths: np.ndarray
    springs: np.ndarray
    density: float
    tip_mass: float

    @property
    def size(self) -> int:
        return 2 + len(self.lengths)


def rods_of(motion: Motion, count: int) -> Rods:
    """A hinge at the root and between segments, or of a clamped beam in the middle of each: a spring a segment."""
    size = motion.length / count
    halves = [0.5 * size, *[size] * (count - 1), 0.5 * size]
    lengths = np.array(halves if motion.clamped else [size] * count)
    springs = np.full(len(lengths), motion.EI / size)
    springs[0] = 0.0  # the root's hinge is free, or told to turn
    return Rods(np.array([0.0, *lengths[:-1]]), lengths, springs, motion.mass_per_length, motion.tip_mass)


class InPinocchio:
    """The rods' joint forces of a motion, with their slopes by acceleration, place and rate."""

    def __init__(self, rods: Rods, gravity: float) -> None:
        self.model = pin.Model()
        self.model.gravity.linear = np.array([0.0, -gravity, 0.0])
        parent = self.model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "x")
        parent = self.model.addJoint(parent, pin.JointModelPY(), pin.SE3.Identity(), "y")
        for k, (offset, length) in enumerate(zip(rods.offsets, rods.lengths, strict=True)):
            mass = rods.density * length
            side = mass * length**2 / 12
            inertia = pin.Inertia(mass, np.array([0.5 * length, 0, 0]), np.diag([SLIGHT, side, side]))
            parent = self.model.addJoint(
                parent, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array([offset, 0, 0])), f"j{k}"
            )
            self.model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        tip = pin.SE3(np.eye(3), np.array([rods.lengths[-1], 0, 0]))
        self.model.appendBodyToJoint(parent, pin.Inertia(rods.tip_mass, np.zeros(3), np.zeros((3, 3))), tip)
        self.data = self.model.createData()

    def forces(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
        pin.computeRNEADerivatives(self.model, self.data, q, v, a)
        mass = np.triu(self.data.M) + np.triu(self.data.M, 1).T
        return self.data.tau, mass, self.data.dtau_dq, self.data.dtau_dv


class InMujoco:
    """The same in MuJoCo, whose bias forces come without slopes: Newton's steps take mass and springs alone."""

    def __init__(self, rods: Rods, gravity: float) -> None:
        spec, slide = mujoco.MjSpec(), mujoco.mjtJoint.mjJNT_SLIDE
        spec.option.gravity = [0.0, -gravity, 0.0]
        small = {"mass": SLIGHT, "ipos": [0, 0, 0], "inertia": [SLIGHT] * 3, "explicitinertial": True}
        parent = spec.worldbody
        for axis in ([1, 0, 0], [0, 1, 0]):
            parent = parent.add_body(**small)
            parent.add_joint(type=slide, axis=axis)
        for offset, length in zip(rods.offsets, rods.lengths, strict=True):
            mass = rods.density * length
            side = mass * length**2 / 12
            parent = parent.add_body(
                pos=[offset, 0, 0], mass=mass, ipos=[0.5 * length, 0, 0], inertia=[1e-3 * side, side, side],
                explicitinertial=True,
            )  # fmt: skip
            parent.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
        parent.add_body(**{**small, "mass": rods.tip_mass + SLIGHT}, pos=[rods.lengths[-1], 0, 0])
        self.model = spec.compile()
        self.data, self.none = mujoco.MjData(self.model), np.zeros((rods.size, rods.size))

    def forces(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
        self.data.qpos[:], self.data.qvel[:] = q, v
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)
        mass = np.zeros_like(self.none)
        mujoco.mj_fullM(self.model, self.data, mass)
        return mass @ a + self.data.qfrc_bias, mass, self.none, self.none


def places(rods: Rods, q: np.ndarray) -> np.ndarray:
    """The hinges and the tip, (size − 1, 2)."""
    angle = np.cumsum(q[2:])
    steps = np.stack([np.cos(angle), np.sin(angle)], axis=-1) * rods.lengths[:, None]
    return q[:2] + np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])


def tip_jacobian(rods: Rods, q: np.ndarray) -> np.ndarray:
    """(2, size)."""
    found = places(rods, q)
    arm = found[-1] - found[:-1]
    return np.concatenate([np.eye(2), np.stack([-arm[:, 1], arm[:, 0]])], axis=1)


@dataclass(frozen=True)
class Course:
    """Segments of one peer on the way through a motion."""

    motion: Motion
    rods: Rods
    peer: InPinocchio | InMujoco

    def run(self) -> np.ndarray:
        """What the motion looks at, at its times."""
        motion, count = self.motion, len(self.rods.lengths) + 2
        told = 3 if motion.clamped else 2
        q, v, found = np.zeros(count), np.zeros(count), []
        q[:3] = motion.start
        for step in range(round(motion.times[-1] / motion.step)):
            q, v = self._moved(q, v, step * motion.step, slice(told, None), told)
            end = (step + 1) * motion.step
            q[:told], v[:told] = motion.told(end)[0][:told], motion.told(end)[1][:told]
            if any(abs(end - t) < 0.5 * motion.step for t in motion.times):
                found.append(motion.seen(places(self.rods, q), end))
        return np.array(found)

    def _moved(self, q: Any, v: Any, t: float, free: slice, told: int) -> tuple[np.ndarray, np.ndarray]:
        """Take one step of the implicit midpoint rule by Newton's method."""
        h, springs = self.motion.step, np.array([0.0, 0.0, *self.rods.springs])
        given = [x[:told] for x in self.motion.told(t + 0.5 * h)]
        a, force = np.zeros(len(q)), 0.0
        for _ in range(200):
            middle, rate = q + 0.5 * h * (v + 0.5 * h * a), v + 0.5 * h * a
            middle[:told], rate[:told], a[:told] = given
            tau, mass, by_q, by_v = self.peer.forces(middle, rate, a)
            slope = mass + 0.25 * h**2 * (by_q + np.diag(springs)) + 0.5 * h * by_v
            wrong, slope = (tau + springs * middle)[free], slope[free, free]
            held = self._held(middle)
            if held is not None:
                wrong = np.append(wrong - held[free] * force, held @ rate / (0.5 * h))
                slope = np.block([[slope, -held[free, None]], [held[None, free], np.zeros((1, 1))]])
            change = -np.linalg.solve(slope, wrong)
            force = force if held is None else force + change[-1]
            a[free] += change[: len(q) - told]
            if np.abs(change[: len(q) - told]).max() < 1e-9 * max(1.0, np.abs(a[free]).max()):
                break
        return q + h * v + 0.5 * h**2 * a, v + h * a

    def _held(self, q: np.ndarray) -> np.ndarray | None:
        """The direction that the far pin cannot take, by the rates."""
        across = self.motion.across(places(self.rods, q)[-1])
        return None if across is None else across @ tip_jacobian(self.rods, q)


def compared(name: str, count: int) -> None:
    """Print how far a beam's motion is from the segments' of both peers."""
    motion = MOTIONS[name]
    beams = {modes: motion.bent(modes) for modes in (1, 2, 4)}
    kinds: dict[str, Callable[..., Any]] = {"Pinocchio": InPinocchio, "MuJoCo": InMujoco}
    for peer, kind in kinds.items():
        began = time.perf_counter()
        rods = [rods_of(motion, n) for n in (count, count // 2)]
        fine, coarse = (Course(motion, each, kind(each, motion.gravity)).run() for each in rods)
        limit, took = fine + (fine - coarse) / 3.0, time.perf_counter() - began
        print(
            f"{name}: {count} segments in {peer} ({took:.0f} s), m, at {motion.times} s: {np.round(fine, 6).tolist()}"
        )
        for modes, found in beams.items():
            far = [np.abs(found - other).max() / motion.length for other in (fine, limit)]
            print(f"  {modes} modes: {far[0]:.1e} of the length from them, {far[1]:.1e} from their limit", flush=True)


if __name__ == "__main__":
    for each in sys.argv[2:] or MOTIONS:
        compared(each, int(sys.argv[1]) if len(sys.argv) > 1 else 200)
