"""Steps of a world as they are told: what met, with which impulses, which joints were at their stops, and the books."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from phistar.constraints import columns as c
from phistar.plant.session import Session
from phistar.sim.world import World

NOBODY = np.zeros(0, dtype=int)
NO_FLOATS = np.zeros((0, c.MET_FLOATS))
NO_PLACES, NO_SHAPES = np.zeros((0, c.PLACE_FLOATS)), np.zeros((0, 2), dtype=int)
NO_STOPS: Mapping[int, float] = {}


class Places(NamedTuple):
    """The n places of contact in the last part of a step: their pairs (n,), points, forces and moments of soft patches
    on the first shapes of their pairs, (n, 3) each, world axes, and the forces along their normals (n,)."""

    pair: np.ndarray
    point: np.ndarray
    force: np.ndarray
    moment: np.ndarray
    normal: np.ndarray


class Step(NamedTuple):
    """A step of `length` seconds, as it is told.

    The k pairs that met in it: their numbers `pair` (k,), and rows `met` of `constraints.columns`, impulses on the
    first shape of each. `place` are rows of its last part, with the numbers of their two shapes `place_shapes`; see
    `places_in`. `nearest` is the smallest gap at its end, ∞
    where nothing is near; `residual` by which part of the impulses the solve missed, `unsettled` the same, 0 where it
    met its tolerance; `part` the length of the step's last part, to which impulses of rows belong; `stops` the forces
    of the joints' stops that push, N or N m, by their numbers in `World.stops`. Energy changed by `work` − `loss`, the
    momentum of what floats by `outside` (6,). Of a step that was extrapolated from several, contacts are those of the
    last, and `error` is its error in units of the tolerance. Of several steps that are told as one `count` is their
    number, `error` the largest, and all else that of the last.
    """

    length: float
    pair: np.ndarray
    met: np.ndarray
    place_shapes: np.ndarray
    place: np.ndarray
    nearest: float
    unsettled: float
    stops: Mapping[int, float]
    work: float
    loss: float
    outside: np.ndarray
    part: float = 0.0
    residual: float = 0.0
    error: float | None = None
    count: int = 1

    @property
    def impulse(self) -> np.ndarray:
        """(k, 6): [moment; force] times time on the first shapes of the pairs, about the world's origin."""
        return self.met[:, c.MET_IMPULSE : c.MET_IMPULSE + 6]

    @property
    def normal(self) -> np.ndarray:
        """(k,): forces along the normals in the step's last part, N."""
        return self.met[:, c.MET_LAST]

    @property
    def peak(self) -> float:
        """The largest force of one place on the way, N."""
        return float(self.met[:, c.MET_PEAK].max()) if len(self.met) else 0.0

    def places_in(self, world: World) -> Places:
        """The places of contact of a step of a world."""
        chosen, (number, sign) = self.place[:, c.PLACE_LENGTH] > 0.0, world.pair_numbers
        rows, (a, b) = self.place[chosen], self.place_shapes[chosen].T
        often = 1.0 / rows[:, c.PLACE_LENGTH]
        signed = (often * sign[a, b])[:, None]
        force = rows[:, c.PLACE_IMPULSE : c.PLACE_IMPULSE + 3] * signed
        moment = rows[:, c.PLACE_TURN : c.PLACE_TURN + 3] * signed
        point, normal = rows[:, c.PLACE_POINT : c.PLACE_POINT + 3], rows[:, c.PLACE_NORMAL] * often
        return Places(number[a, b], point, force, moment, normal)


def last_step(world: World, session: Session, length: float) -> Step:
    """The last step of a session."""
    engine = session.engine
    counts, numbers, tables = engine.counts.tolist(), engine.numbers.tolist(), engine.tables
    pair, met, place_shapes, place = NOBODY, NO_FLOATS, NO_SHAPES, NO_PLACES
    if counts[c.MET]:
        number, sign = world.pair_numbers
        a, b = tables["met_shapes"][: counts[c.MET]].T
        pair, met = number[a, b], tables["met"][: counts[c.MET]].copy()
        met[:, c.MET_IMPULSE : c.MET_IMPULSE + 6] *= sign[a, b][:, None]
        place_shapes = tables["place_shapes"][: counts[c.PLACES]].copy()
        place = tables["places"][: counts[c.PLACES]].copy()
    stops = NO_STOPS
    if counts[c.STOPPED]:
        pushes = tables["rows"][world.stops[0], c.ROW_IMPULSE] / numbers[c.STEP]
        stops = {i: float(pushes[i]) for i in np.flatnonzero(pushes > 0.0).tolist()}
    nearest = numbers[c.NEAREST] if numbers[c.NEAREST] < 1e299 else np.inf
    unsettled = numbers[c.RESIDUAL] if counts[c.FAILED] else 0.0
    outside = engine.numbers[c.OUTSIDE : c.OUTSIDE + 6].copy()
    books = numbers[c.WORK], numbers[c.LOSS], outside, numbers[c.STEP], numbers[c.RESIDUAL]
    return Step(length, pair, met, place_shapes, place, nearest, unsettled, stops, *books)
