"""The ends of joints: where limits are, how near they are, and who is beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.contact.surface import Surface
from phistar.errors import ModelError
from phistar.model import Model

STOP = Surface(margin=0.01, strength=500.0, damping=200.0, friction=0.0)  # in rad and N m, or m and N


@dataclass(frozen=True)
class JointStops:
    """The s coordinates that have limits, and their 2s stops: the lower ones, then the upper ones."""

    model: Model

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
    def table(self) -> np.ndarray:
        """(2s, 4): of every stop the index into q and into v, the sign, and the limit with it."""
        places, rates, lower, upper = self._ends
        way = np.concatenate([np.ones(len(places)), -np.ones(len(places))])
        return np.stack([np.tile(places, 2), np.tile(rates, 2), way, np.concatenate([lower, -upper])], axis=-1)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the joint of each stop."""
        places, names = self._ends[0], []
        for place in places.tolist():
            names.append(next(j.name for j in self.model.joints if j.q_slice.start <= place < j.q_slice.stop))
        return (*names, *names)

    def room(self, q: Any) -> Any:
        """(2s,): how far each stop is; floats or traced numbers."""
        table = self.table
        return table[:, 2] * q[table[:, 0].astype(int)] - table[:, 3]

    def chosen(self, stops: tuple[int, ...]) -> tuple[tuple[int, float], ...]:
        """Of some stops: the index into v, and 1 at a lower limit, −1 at an upper one."""
        return tuple((int(rate), way) for _, rate, way, _ in self.table[np.array(stops, dtype=int)].tolist())

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
