"""The true readings of a scene's sensors: one compiled function of the state for frames, one product for contacts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.kernel import compilable
from phistar.backends.single import single_of
from phistar.compiled import compile
from phistar.contact.pairs import sites
from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.errors import FileError, PhistarError
from phistar.model.names import unknown
from phistar.sim.motion import Moment
from phistar.sim.scenes.mounted import Mounted, inward, mounted
from phistar.sim.scenes.parts import Part
from phistar.sim.scenes.pushes import pushes
from phistar.sim.scenes.sensors import Sensor
from phistar.sim.world import World
from phistar.spatial import cross

POSE, SEEN = 13, 18  # numbers of a pose: as read, and as the compiled function gives it, with a matrix
MOST_PATTERNS = 4096  # of near places that are remembered


class _Pattern(NamedTuple):
    """How the near places push on wrists, (wrists, n), and on tactile shapes, (shapes, n)."""

    wrists: np.ndarray
    tips: np.ndarray


class Sensing:
    """What perfect sensors read at a moment: `read(moment)` (N,), the numbers of `sensors` one after the other, joints,
    wrists, tactile ones, poses. `slices` says where each sensor's are."""

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

    def read(self, moment: Moment) -> np.ndarray:
        """Every sensor's true numbers, (N,)."""
        state, before, step = moment.state, moment.before, moment.step
        out = np.empty(self.size)
        if len(self._places):
            out[self.kinds["joints"]] = np.concatenate((state.q, state.v))[self._places]
        touch = np.zeros(6 * len(self.mounted))
        if step is not None and step.forces is not None and (self.tips or self.mounted):
            pattern = self._pattern(step.gaps.slots)
            if self.mounted:
                touch = (pattern.wrists @ pushes(step)).reshape(-1)
            if self.tips:
                out[self.kinds["tactile"]] = pattern.tips @ step.forces.table[:, 2]
        elif self.tips:
            out[self.kinds["tactile"]] = 0.0
        if self.mounted or self.seen:
            often = 1.0 / moment.length if moment.length > 0.0 else 0.0
            made = self._frames(state.q, state.v, before.q, before.v, np.append(touch, often))
            wrists = self.kinds["wrist"]
            out[wrists] = made[: 6 * len(self.mounted)]
            for number in range(len(self.seen)):
                start = 6 * len(self.mounted) + SEEN * number
                first = self.kinds["pose"].start + POSE * number
                out[first : first + POSE] = _as_read(made[start : start + SEEN].tolist())
        return out

    def _pattern(self, slots: tuple[int, ...]) -> _Pattern:
        found = self._patterns.get(slots)
        if found is None:
            if len(self._patterns) >= MOST_PATTERNS:
                self._patterns.clear()
            pairs = [self.world.pairs.slot_pair(slot) for slot in slots]
            wrists = [[float(each.carries(p.a)) - float(each.carries(p.b)) for p in pairs] for each in self.mounted]
            tips = [[float(name in (p.a.name, p.b.name)) for p in pairs] for name in self.tips]
            found = self._patterns[slots] = _Pattern(
                *(np.array(rows).reshape(-1, len(slots)) for rows in (wrists, tips))
            )
        return found

    def formulas(self, q: Any, v: Any, before_q: Any, before_v: Any, touch: Any) -> Any:
        """(6 wrists + 18 poses,) of floats or traced numbers: of each wrist the wrench of contacts, weight and inertia
        −dp/dt, the change of momentum over the step; of each pose xyz, its matrix, ω and v. `touch` has the contacts'
        wrenches on what is mounted, and one over the step."""
        model, rows = self.world.model, []
        for number, each in enumerate(self.mounted):
            change = (each.momentum(q, v) - each.momentum(before_q, before_v)) * touch[6 * len(self.mounted)]
            whole = touch[6 * number : 6 * number + 6] + each.weight(q) - change
            rows.append(inward(forward_kinematics(model, q, each.frame), whole))
        for of, seen_from in self.seen:
            pose, eye = forward_kinematics(model, q, of), forward_kinematics(model, q, seen_from)
            motion, turning = frame_velocity(model, q, v, of), frame_velocity(model, q, v, seen_from)
            turn, away = np.swapaxes(eye[:3, :3], 0, 1), pose[:3, 3] - eye[:3, 3]
            drift = motion[3:] - turning[3:] - cross(turning[:3], away)
            rows += [np.matmul(turn, away), np.matmul(turn, pose[:3, :3]).reshape(9)]
            rows += [np.matmul(turn, motion[:3] - turning[:3]), np.matmul(turn, drift)]
        return np.concatenate(rows)

    @cached_property
    def _frames(self) -> Any:
        """The formulas, compiled where the model is small enough."""
        model = self.world.model
        if not compilable(model):
            return self.formulas
        rows = {"before_q": model.nq, "before_v": model.nv, "touch": 6 * len(self.mounted) + 1}
        whole = compile(self.formulas, model, rows=rows).kernel.function
        single = single_of(whole)

        def frames(*arrays: np.ndarray) -> np.ndarray:
            made = single(*arrays)
            return whole(*arrays) if made is NotImplemented else made

        return frames


def _as_read(numbers: list[float]) -> tuple[float, ...]:
    """A pose with its matrix as a quaternion whose scalar is not negative (Shepperd's pivots)."""
    x, y, z, xx, xy, xz, yx, yy, yz, zx, zy, zz, *rest = numbers
    trace = xx + yy + zz
    if trace >= max(xx, yy, zz):
        s = 2.0 * sqrt(1.0 + trace)
        turn = (zy - yz) / s, (xz - zx) / s, (yx - xy) / s, 0.25 * s
    elif xx >= yy and xx >= zz:
        s = 2.0 * sqrt(1.0 + xx - yy - zz)
        turn = 0.25 * s, (xy + yx) / s, (xz + zx) / s, (zy - yz) / s
    elif yy >= zz:
        s = 2.0 * sqrt(1.0 - xx + yy - zz)
        turn = (xy + yx) / s, 0.25 * s, (yz + zy) / s, (xz - zx) / s
    else:
        s = 2.0 * sqrt(1.0 - xx - yy + zz)
        turn = (xz + zx) / s, (yz + zy) / s, 0.25 * s, (yx - xy) / s
    if turn[3] < 0.0:
        turn = -turn[0], -turn[1], -turn[2], -turn[3]
    return x, y, z, *turn, *rest
