"""Where shapes are and how fast they come: one compiled function of the state for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.arrays import traced
from phistar.backends.kernel import compilable, compile_trace
from phistar.backends.single import single_of
from phistar.backends.trace import Scalar, Tape, finish
from phistar.contact.pairs import Pairs, Site
from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.model.geometry import Plane
from phistar.spatial import cross

FAR = 1e9  # m: the reach of what has none


class Placed(NamedTuple):
    """Of s sites: `rotation` (s, 3, 3), `center` (s, 3); of p pairs: a `bound` (p,) below their distance, and a `speed`
    (p,) that it cannot shrink faster than; of the m bodies that can be touched, `origins` (m, 3) and `motion` (6m,)."""

    rotation: Any
    center: Any
    bound: Any
    speed: Any
    origins: Any
    motion: Any


@dataclass(frozen=True)
class Sites:
    """The shapes of some pairs, each once."""

    pairs: Pairs

    @cached_property
    def every(self) -> tuple[Site, ...]:
        return tuple(dict.fromkeys(site for pair in self.pairs.pairs for site in (pair.a, pair.b)))

    @cached_property
    def numbers(self) -> np.ndarray:
        """(pairs, 2): which sites a pair is of."""
        index = {site: number for number, site in enumerate(self.every)}
        return np.array([(index[pair.a], index[pair.b]) for pair in self.pairs.pairs], dtype=int).reshape(-1, 2)

    def placed(self, q: np.ndarray, v: np.ndarray) -> Placed:
        """All of them at a state."""
        if not self.pairs.bodies:
            return Placed(*(np.zeros(shape) for shape in self._shapes))
        if not compilable(self.pairs.model):
            return self.formulas(q, v)
        whole, single = self._kernel
        made = single(q, v)
        return Placed(*(whole(q, v) if made is NotImplemented else made))

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        count, pairs, bodies = len(self.every), len(self.pairs.pairs), len(self.pairs.bodies)
        return [(count, 3, 3), (count, 3), (pairs,), (pairs,), (bodies, 3), (6 * bodies,)]

    def formulas(self, q: Any, v: Any) -> Placed:
        """The same on floats or traced numbers of one state."""
        model, frames = self.pairs.model, self.pairs.frames
        poses = [forward_kinematics(model, q, frame) for frame in frames]
        motion = frame_velocity(model, q, v, frames)
        turns, centers, speeds = [], [], []
        for site in self.every:
            turn, shift, rate = np.eye(3), np.zeros(3), np.zeros(6)
            if site.body >= 0:
                number = self.pairs.bodies.index(site.body)
                turn, shift = poses[number][:3, :3], poses[number][:3, 3]
                rate = motion[6 * number : 6 * number + 6]
            arm = np.matmul(turn, site.placement.translation)
            turns.append(np.matmul(turn, site.placement.rotation))
            centers.append(shift + arm)
            speeds.append(_bound(site, rate, arm))
        origins = np.stack([pose[:3, 3] for pose in poses])
        bounds = [self._below(turns, centers, a, b) for a, b in self.numbers.tolist()]
        closing = [speeds[a] + speeds[b] for a, b in self.numbers.tolist()]
        return Placed(np.stack(turns), np.stack(centers), np.stack(bounds), np.stack(closing), origins, motion)

    def _below(self, turns: list, centers: list, a: int, b: int) -> Any:
        """Less than the distance of two sites: that of the balls around them, or of a ball from a half-space."""
        for one, other in ((a, b), (b, a)):
            if isinstance(self.every[other].shape, Plane):
                height = np.sum(turns[other][:, 2] * (centers[one] - centers[other]))
                return height - min(self.every[one].reach, FAR)
        apart = centers[a] - centers[b]
        return np.sqrt(np.sum(apart * apart)) - min(self.every[a].reach + self.every[b].reach, FAR)

    @cached_property
    def _kernel(self) -> tuple[Any, Any]:
        """The compiled formulas, and their door for one state."""
        model = self.pairs.model
        store = model.__dict__.setdefault("_kernels", {})
        key = ("sites", self.pairs.frames, self.every, tuple(self.numbers.reshape(-1).tolist()))
        if key not in store:
            tape = Tape()
            made = self.formulas(traced(tape.inputs((model.nq,))), traced(tape.inputs((model.nv,))))
            values = [x for array in made for x in np.asarray(array).reshape(-1)]
            values = [x.item() if isinstance(x, np.ndarray) else x for x in values]
            trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in values])
            title = f"shapes of {model.name}"
            store[key] = compile_trace(trace, [model.nq, model.nv], self._shapes, title, Placed._fields).function
        return store[key], single_of(store[key])


def _bound(site: Site, rate: Any, arm: Any) -> Any:
    """|v + ω × arm| + |ω| reach; a half-space that turns has no bound, and does not turn."""
    linear = rate[3:] + cross(rate[:3], arm)
    reach = site.reach if np.isfinite(site.reach) else 0.0
    return np.sqrt(np.sum(linear * linear)) + reach * np.sqrt(np.sum(rate[:3] * rate[:3]))
