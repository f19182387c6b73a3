"""The readings of a scene's sensors: one product for contacts, and one compiled function of the state for all else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.traces.arrays import is_traced, sign, traced
from phistar.contact.pairs import sites
from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.errors import FileError, PhistarError
from phistar.model import Model
from phistar.model.names import unknown
from phistar.sim.motion import Moment
from phistar.sim.scenes.kernels import kernel, moving
from phistar.sim.scenes.mounted import Mounted, inward, mounted
from phistar.sim.scenes.parts import Part
from phistar.sim.scenes.sensors import Sensor
from phistar.sim.world import World
from phistar.spatial import cross, multiply

POSE = 13  # numbers of a pose
TINY, TIE = 1e-300, 1e-9
MOST_PATTERNS = 4096  # of pairs that meet, which are remembered


class _Pattern(NamedTuple):
    """How pairs that meet push on wrists, (wrists, n), and on tactile shapes, (shapes, n)."""

    wrists: np.ndarray
    tips: np.ndarray


class Sensing:
    """What sensors read at a moment: (N,), the numbers of `sensors` one after the other, joints, wrists, tips, poses;
    `slices` says where each sensor's are."""

    def __init__(self, world: World, parts: tuple[Part, ...], sensors: Sequence[Sensor]) -> None:
        self.world, self.parts = world, parts
        self.sensors = tuple(s for kind in ("joints", "wrist", "tactile", "pose") for s in sensors if s.kind == kind)
        self.slices: dict[str, slice] = {}
        self.coordinates: dict[str, int] = {}  # of the numbers of a sensor of joints, how many are q
        self.kinds: dict[str, slice] = {}
        self.mounted: list[Mounted] = []
        self.joints, self.tips, self.seen = [np.zeros(0, int)], [], []
        end = 0
        for kind in ("joints", "wrist", "tactile", "pose"):
            first = end
            for sensor in self.of_kind(kind):
                end = self._prepared(sensor, end)
            self.kinds[kind] = slice(first, end)
        self.size = end
        self._places = np.concatenate(self.joints)
        self._patterns: dict[tuple[int, ...], _Pattern] = {}

    def of_kind(self, kind: str) -> list[Sensor]:
        return [sensor for sensor in self.sensors if sensor.kind == kind]

    def _prepared(self, sensor: Sensor, start: int) -> int:
        """The end of the sensor's numbers, after what it is of was found."""
        try:
            size = getattr(self, f"_{sensor.kind}")(sensor)
        except FileError:
            raise
        except PhistarError as error:
            raise FileError(f"{sensor.where}: {error}") from None
        self.slices[sensor.name] = slice(start, start + size)
        return start + size

    def _joints(self, sensor: Sensor) -> int:
        model, parts = self.world.model, {part.name: part for part in self.parts}
        part = parts.get(sensor.of[0])
        if part is None:
            raise unknown("part", sensor.of[0], parts, model.name)
        joints = []
        if part.robot is not None:
            joints = [model.joint(f"{part.name}/{own.name}") for own in part.robot.joints]
        elif part.free:
            joints = [model.joints[model.body_index(part.name)]]
        if not joints:
            raise FileError(f"{sensor.where}, part: {part.name} has no joints to sense.")
        q, v = np.arange(model.nq), model.nq + np.arange(model.nv)
        chosen = np.concatenate([*(q[joint.q_slice] for joint in joints), *(v[joint.v_slice] for joint in joints)])
        self.joints.append(chosen)
        self.coordinates[sensor.name] = sum(joint.nq for joint in joints)
        return len(chosen)

    def _wrist(self, sensor: Sensor) -> int:
        self.mounted.append(mounted(self.world.model, self.parts, sensor.of[0], sensor.where))
        return 6

    def _tactile(self, sensor: Sensor) -> int:
        known = [site.name for site in sites(self.world.model)]
        for name in sensor.of:
            if name not in known:
                raise unknown("collision shape", name, known, self.world.model.name)
        self.tips += sensor.of
        return len(sensor.of)

    def _pose(self, sensor: Sensor) -> int:
        for frame in sensor.of:
            self.world.model.frame(frame)
        self.seen.append(sensor.of)
        return POSE

    def read(self, moment: Moment, bias: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Every sensor's numbers with two errors added, (N,) each; a pose is turned by the vectors that stand first in
        the place of its quaternion."""
        state, before, step = moment.state, moment.before, moment.step
        if not self.size:
            return np.zeros(0)
        touch, tips = self._untouched
        if step is not None and len(step.pair):
            pattern = self._pattern(tuple(step.pair.tolist()))
            if self.mounted:
                touch = (pattern.wrists @ step.impulse).reshape(-1) / moment.length
            if self.tips:
                tips = pattern.tips @ step.normal
        often = np.array([1.0 / moment.length if moment.length > 0.0 else 0.0])
        return self._readings(state.q, state.v, before.q, before.v, touch, tips, often, bias, noise)

    @cached_property
    def _untouched(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(max(6 * len(self.mounted), 1)), np.zeros(max(len(self.tips), 1))

    def _pattern(self, numbers: tuple[int, ...]) -> _Pattern:
        found = self._patterns.get(numbers)
        if found is None:
            if len(self._patterns) >= MOST_PATTERNS:
                self._patterns.clear()
            pairs = [self.world.pairs.pairs[number] for number in numbers]
            wrists = [[float(each.carries(p.a)) - float(each.carries(p.b)) for p in pairs] for each in self.mounted]
            tips = [[float(name in (p.a.name, p.b.name)) for p in pairs] for name in self.tips]
            found = self._patterns[numbers] = _Pattern(
                *(np.array(rows, dtype=float).reshape(len(rows), len(numbers)) for rows in (wrists, tips))
            )
        return found

    @cached_property
    def moving(self) -> Model:
        return moving(self.world.model)

    def formulas(
        self, q: Any, v: Any, before_q: Any, before_v: Any, touch: Any, tips: Any, often: Any, bias: Any, noise: Any
    ) -> Any:
        """(N,) of floats or traced numbers of one state. Of each wrist the wrench of contacts, `touch`, of weight and
        of inertia, −dp/dt, the change of momentum over the step times `often`, one over it; `tips` are normal forces.
        """
        model, rows = self.moving, [np.concatenate([q, v])[self._places]]
        for number, each in enumerate(self.mounted):
            change = (each.momentum(model, q, v) - each.momentum(model, before_q, before_v)) * often[0]
            whole = touch[6 * number : 6 * number + 6] + each.weight(model, q, self.world.model.gravity) - change
            rows.append(inward(forward_kinematics(model, q, each.frame), whole))
        plain = len(self._places) + 6 * len(self.mounted)
        error = bias + noise
        rows = [np.concatenate(rows) + error[:plain]]
        if self.tips:
            rows.append(np.maximum(tips + error[plain : plain + len(self.tips)], 0.0))
        start = plain + len(self.tips)
        for of, seen_from in self.seen:
            pose, eye = forward_kinematics(model, q, of), forward_kinematics(model, q, seen_from)
            motion, turning = frame_velocity(model, q, v, of), frame_velocity(model, q, v, seen_from)
            turn, away = np.swapaxes(eye[:3, :3], 0, 1), pose[:3, 3] - eye[:3, 3]
            drift = motion[3:] - turning[3:] - cross(turning[:3], away)
            wrong = multiply(small_turn(noise[start + 3 : start + 6]), small_turn(bias[start + 3 : start + 6]))
            rows += [np.matmul(turn, away) + error[start : start + 3]]
            rows += [upright(multiply(wrong, quaternion(np.matmul(turn, pose[:3, :3]))))]
            rates = np.concatenate([np.matmul(turn, motion[:3] - turning[:3]), np.matmul(turn, drift)])
            rows += [rates + error[start + 7 : start + 13]]
            start += POSE
        return np.concatenate(rows)

    @cached_property
    def _readings(self) -> Any:
        """The formulas, compiled."""
        model, (touch, tips) = self.world.model, self._untouched
        rows = {"before_q": model.nq, "before_v": model.nv, "touch": len(touch), "tips": len(tips), "often": 1}
        rows |= {"bias": self.size, "noise": self.size}
        carried = tuple((each.frame, each.pieces) for each in self.mounted)
        about = carried, tuple(self.seen), len(self.tips), self._places.tobytes(), tuple(model.gravity.tolist())
        return kernel(self.formulas, self.moving, rows, *about)


# Quaternions without branches, of floats or traced numbers.


def small_turn(vector: Any) -> Any:
    """The quaternion of a rotation vector."""
    angle = np.sqrt(np.sum(vector * vector, keepdims=True) + TINY)
    return np.concatenate([vector * (np.sin(0.5 * angle) / angle), np.cos(0.5 * angle)])


def quaternion(rotation: Any) -> Any:
    """The unit quaternion of R: the row of 4 q q* whose diagonal entry is largest, made unit (Shepperd 1978)."""
    if all(isinstance(entry, float) for entry in np.asarray(rotation).flat):  # traced, of what never turns
        rotation = np.asarray(rotation, dtype=float)
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = ([rotation[i, j] for j in range(3)] for i in range(3))
    rows = [
        [1.0 + xx - yy - zz, xy + yx, xz + zx, zy - yz],
        [xy + yx, 1.0 - xx + yy - zz, yz + zy, xz - zx],
        [xz + zx, yz + zy, 1.0 - xx - yy + zz, yx - xy],
        [zy - yz, xz - zx, yx - xy, 1.0 + xx + yy + zz],
    ]
    table = np.stack([np.stack(row) for row in rows])
    sizes = np.stack([table[i, i] + TIE * i for i in range(4)])  # no two are as large
    sizes = traced(sizes) if is_traced(sizes) else sizes
    largest = np.maximum(np.maximum(sizes[0], sizes[1]), np.maximum(sizes[2], sizes[3]))
    row = np.matmul(0.5 + 0.5 * sign(np.asarray(sizes - largest + 0.5 * TIE)), table)
    return row / np.sqrt(np.sum(row * row, keepdims=True))


def upright(turn: Any) -> Any:
    """The same rotation's quaternion whose scalar is not negative."""
    return turn * sign(np.asarray(turn[3:] + TINY))
