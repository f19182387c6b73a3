"""The ends of joints: where limits are, how near they are, and who is beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.contact.surface import Surface
from phistar.errors import ModelError
from phistar.model import Model
from phistar.sim.implicit import Stops

STOP = Surface(margin=0.01, strength=500.0, damping=200.0, friction=0.0)  # in rad and N m, or m and N


@dataclass(frozen=True)
class JointStops:
    """The s coordinates that have limits, and their 2s stops: the lower ones, then the upper ones."""

    model: Model
    margin: float

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Indices into q and into v, lower and upper limits."""
        rows = [
            (joint.q_slice.start + i, joint.v_slice.start + i, *joint.kind.limits[:, i])
            for joint in self.model.joints
            if joint.kind.flat
            for i in range(joint.nq)
            if np.isfinite(joint.kind.limits[:, i]).any()
        ]
        table = np.array(rows).reshape(-1, 4).T
        return table[0].astype(int), table[1].astype(int), table[2], table[3]

    @cached_property
    def _both(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of all stops: the index into q, the sign, the limit with it, and the index into v."""
        places, rates, lower, upper = self._ends
        way = np.concatenate([np.ones(len(places)), -np.ones(len(places))])
        return np.concatenate([places, places]), way, np.concatenate([lower, -upper]), np.concatenate([rates, rates])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the joint of each stop."""
        places, names = self._ends[0], []
        for place in places.tolist():
            names.append(next(j.name for j in self.model.joints if j.q_slice.start <= place < j.q_slice.stop))
        return (*names, *names)

    def room(self, q: np.ndarray) -> np.ndarray:
        """(2s,): how far each stop is."""
        places, way, end, _ = self._both
        return way * q[places] - end

    def near(self, room: np.ndarray, v: np.ndarray, step: float) -> tuple[int, ...]:
        """The stops that may be met before a step's end."""
        if not len(room):
            return ()
        _, way, _, rates = self._both
        reached = room + (2.0 * step) * np.minimum(way * v[rates], 0.0) < self.margin
        return tuple(reached.nonzero()[0].tolist()) if reached.any() else ()

    def chosen(self, stops: tuple[int, ...]) -> Stops:
        """Rates and signs of some stops."""
        rates, count = self._ends[1].tolist(), len(self._ends[1])
        return tuple((rates[stop % count], 1.0 if stop < count else -1.0) for stop in stops)

    def check(self, q: np.ndarray) -> None:
        """Refuses a start at or beyond a limit."""
        room = self.room(q)
        outside = [stop for stop in range(len(room)) if not room[stop] > 0.0]
        if outside:
            stop, count = outside[0], len(room) // 2
            place, _, lower, upper = (array[stop % count] for array in self._ends)
            raise ModelError(
                f"The joint {self.names[stop]} starts at {q[place]:.6g}, which is not inside its limits "
                f"{lower:.6g} and {upper:.6g}; start it between them."
            )
