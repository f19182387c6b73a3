"""Where shapes are, and which pairs of them may soon be near: compiled functions of the state for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.code.native import Arrays
from phistar.backends.kernel import compilable
from phistar.backends.native_door import native
from phistar.backends.one_state import one_state
from phistar.contact.pairs import Pairs, Site
from phistar.contact.rounds import BLOCK, OTHER, PLANE, ROUND, ROUNDS, measured
from phistar.dynamics import forward_kinematics, frame_velocity
from phistar.model.geometry import Box, Capsule, Plane, Shape, Sphere
from phistar.spatial.value import digest

FAR = 1e9  # m: the reach of what has none
SITES = PAIRS = 0  # given when the loops are compiled


class Known(NamedTuple):
    """Of s sites: `rotation` (s, 3, 3) and `center` (s, 3); of p pairs, `clear` (p,): no less than this apart."""

    rotation: np.ndarray
    center: np.ndarray
    clear: np.ndarray


class Close(NamedTuple):
    """What is known; the pairs that may come inside their margin, and at what distance that begins (p,); pairs that do,
    with their rows (n, 7): distance, the point midway, the normal from b to a."""

    known: Known
    pairs: list[int]
    horizon: np.ndarray
    ready: list[int]
    rows: np.ndarray


class Motions(NamedTuple):
    """Of the m bodies that can be touched: rotations (9m,), origins (3m,), and [ω; v] there (6m,), world axes."""

    rotations: Any
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

    def motions(self, q: np.ndarray, v: np.ndarray) -> Motions:
        """The bodies at a state."""
        if not self.pairs.bodies:
            return Motions(np.zeros(0), np.zeros(0), np.zeros(0))
        if not compilable(self.pairs.model):
            return Motions(*(np.ascontiguousarray(x).reshape(-1) for x in self._formulas(q, v)))
        return Motions(*self._kernel(q, v))

    def close(self, q: np.ndarray, v: np.ndarray, step: float, before: Known | None) -> Close:
        """The pairs that may be inside their margin before a step's end. A pair that was seen apart (`before`) is not
        looked at again until its bodies could have moved that far."""
        if before is None:
            before = self._unknown
        fixed = self._fixed
        given = (np.array([step]), *self.motions(q, v), *fixed)
        rotation, center, clear, horizon, close, count, ready, rows, *_ = self._near(
            *given, before.rotation.reshape(-1), before.center.reshape(-1), before.clear
        )
        unknown, known = map(int, count.tolist())
        pairs = close[:unknown].astype(int).tolist() if unknown else []
        found = ready[:known].astype(int).tolist() if known else []
        return Close(Known(rotation, center, clear), pairs, horizon, found, rows[:known])

    def _formulas(self, q: Any, v: Any) -> Motions:
        model, frames = self.pairs.model, self.pairs.frames
        poses = [forward_kinematics(model, q, frame) for frame in frames]
        rotations, origins = np.stack([pose[:3, :3] for pose in poses]), np.stack([pose[:3, 3] for pose in poses])
        return Motions(rotations, origins, frame_velocity(model, q, v, frames))

    @cached_property
    def _kernel(self) -> Any:
        model, count = self.pairs.model, len(self.pairs.bodies)
        key = digest([(b.parent, b.joint, b.placement) for b in model.bodies], self.pairs.frames)
        shapes = [(9 * count,), (3 * count,), (6 * count,)]
        return one_state("bodies that can be touched", key, [model.nq, model.nv], shapes, self._formulas)

    @cached_property
    def _fixed(self) -> tuple[np.ndarray, ...]:
        """Of sites: the number of their body, their rotation and place on it, their reach, their kind and sizes (the
        radius and half the length of what is round, half the sides of a box); of pairs: their two sites and their
        margin."""
        every, bodies = self.every, {body: number for number, body in enumerate(self.pairs.bodies)} | {-1: -1}
        columns = (
            [bodies[site.body] for site in every],
            [site.placement.rotation for site in every],
            [site.placement.translation for site in every],
            [min(site.reach, FAR) for site in every],
            [_measures(site.shape)[0] for site in every],
            [_measures(site.shape)[1] for site in every],
            self.numbers,
            [pair.surface.margin for pair in self.pairs.pairs],
        )
        return tuple(np.array(column, dtype=float).reshape(-1) for column in columns)

    @cached_property
    def _unknown(self) -> Known:
        count = len(self.every)
        return Known(np.zeros((count, 3, 3)), np.zeros((count, 3)), np.full(len(self.pairs.pairs), -FAR))

    @cached_property
    def _near(self) -> Any:
        sites, pairs, bodies = len(self.every), len(self.pairs.pairs), len(self.pairs.bodies)
        given = {"numbers": (1,), "rotations": (bodies, 9), "origins": (bodies, 3), "motion": (bodies, 6)}
        given |= {"bodies": (sites,), "turns": (sites, 9), "places": (sites, 3), "reach": (sites,), "kinds": (sites,)}
        given |= {
            "sizes": (sites, 3),
            "pairs": (pairs, 2),
            "margins": (pairs,),
            "was_rotation": (sites, 9),
            "was_center": (sites, 3),
        }
        given |= {"was_clear": (pairs,)}
        made = {"rotation": (sites, 3, 3), "center": (sites, 3), "clear": (pairs,), "horizon": (pairs,)}
        made |= {"close": (pairs,), "count": (2,), "found": (pairs,), "ready": (pairs, 7), "moves": (sites, 2)}
        made |= {"segment": (6,)}
        return native((*ROUNDS, put, near), given, made, {"SITES": sites, "PAIRS": pairs})


def _measures(shape: Shape) -> tuple[int, tuple[float, float, float]]:
    """The kind of a shape, and its sizes."""
    if isinstance(shape, Sphere):
        return ROUND, (shape.radius, 0.0, 0.0)
    if isinstance(shape, Capsule):
        return ROUND, (shape.radius, shape.length / 2, 0.0)
    if isinstance(shape, Box):
        x, y, z = shape.size
        return BLOCK, (x / 2, y / 2, z / 2)
    return (PLANE if isinstance(shape, Plane) else OTHER), (0.0, 0.0, 0.0)


# Loops, compiled as they stand.


def put(m: Arrays, i: int) -> None:
    """Site i in the world, how far any point of it moved since before, and how fast any can move now."""
    body = int(m.bodies[i])
    speed, spin = 0.0, 0.0
    for j in range(9):
        m.rotation[i, j] = m.turns[i, j]
    for j in range(3):
        m.center[i, j] = m.places[i, j]
    if body >= 0:
        for j in range(3):
            arm = 0.0
            for k in range(3):
                arm += m.rotations[body, 3 * j + k] * m.places[i, k]
                total = 0.0
                for l in range(3):
                    total += m.rotations[body, 3 * j + l] * m.turns[i, 3 * l + k]
                m.rotation[i, 3 * j + k] = total
            m.center[i, j] = m.origins[body, j] + arm
        x, y, z = m.center[i, 0], m.center[i, 1], m.center[i, 2]
        x, y, z = x - m.origins[body, 0], y - m.origins[body, 1], z - m.origins[body, 2]
        p, q, r = m.motion[body, 0], m.motion[body, 1], m.motion[body, 2]
        u, v, w = m.motion[body, 3], m.motion[body, 4], m.motion[body, 5]
        u, v, w = u + q * z - r * y, v + r * x - p * z, w + p * y - q * x
        speed, spin = sqrt(u * u + v * v + w * w), sqrt(p * p + q * q + r * r)
    moved, turned = 0.0, 0.0
    for j in range(3):
        moved += (m.center[i, j] - m.was_center[i, j]) * (m.center[i, j] - m.was_center[i, j])
    for j in range(9):
        turned += (m.rotation[i, j] - m.was_rotation[i, j]) * (m.rotation[i, j] - m.was_rotation[i, j])
    size = m.reach[i] if m.kinds[i] != PLANE else 0.0  # a half-space does not turn
    m.moves[i, 0] = sqrt(moved) + size * sqrt(0.5 * turned)
    m.moves[i, 1] = speed + size * spin


def near(m: Arrays) -> None:
    """Sites in the world, and pairs that may be near: by the balls around them, or a ball over a half-space, or by how
    far they were apart and have moved since. Pairs that need no library are measured."""
    for i in range(SITES):
        put(m, i)
    unknown, ready = 0, 0
    for i in range(PAIRS):
        a, b = int(m.pairs[i, 0]), int(m.pairs[i, 1])
        x, y, z = m.center[a, 0] - m.center[b, 0], m.center[a, 1] - m.center[b, 1], m.center[a, 2] - m.center[b, 2]
        apart = sqrt(x * x + y * y + z * z) - m.reach[a] - m.reach[b]
        if m.kinds[b] == PLANE:
            apart = m.rotation[b, 2] * x + m.rotation[b, 5] * y + m.rotation[b, 8] * z - m.reach[a]
        elif m.kinds[a] == PLANE:
            apart = -(m.rotation[a, 2] * x + m.rotation[a, 5] * y + m.rotation[a, 8] * z) - m.reach[b]
        m.clear[i] = max(apart, m.was_clear[i] - m.moves[a, 0] - m.moves[b, 0])
        m.horizon[i] = m.margins[i] + 2.0 * m.numbers[0] * (m.moves[a, 1] + m.moves[b, 1])
        if not m.clear[i] > m.horizon[i]:
            distance = measured(m, ready, a, b)
            if distance > 0.0:
                m.clear[i] = distance
                if distance <= m.horizon[i]:
                    m.found[ready] = i
                    ready += 1
            else:
                m.close[unknown] = i
                unknown += 1
    m.count[0], m.count[1] = unknown, ready
