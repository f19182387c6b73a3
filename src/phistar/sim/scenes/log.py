"""What is kept of a run while it goes: rows over time, events, extremes, and the books of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.contact.surface import normal_energy
from phistar.sim.motion import Event, Moment
from phistar.sim.scenes.audit import Audit, Books
from phistar.sim.scenes.loop import Continuous, Drive, Sampled
from phistar.sim.scenes.pushes import pushes
from phistar.sim.scenes.scene import Setting

Row = dict[str, Any]


class Log:
    """A run so far. `rows` has one dict a sample, the same names in each."""

    def __init__(self, setting: Setting, law: Continuous | Sampled) -> None:
        self.setting, self.world, self.law = setting, setting.world, law
        self.audit, self.books = Audit(setting.world), Books()
        self.rows: list[Row] = []
        self.events: list[Event] = []
        self.phases: list[tuple[float, str]] = []
        self.nearest, self.lowest, self.peak = np.inf, np.inf, 0.0
        self.unsettled = 0, 0.0  # steps after which friction had not settled, and how much it still changed at most
        fingers = setting.task.finger_pairs(setting.world.pairs) if setting.task else ()
        self.fingers = fingers
        self.gripped = np.ones(len(fingers), dtype=bool)  # of each finger: at every step since the last row
        self._seen: Any = None

    def add(self, moment: Moment, drive: Drive) -> None:
        """A step."""
        step = moment.step
        assert step is not None
        applied = drive.applied
        if self.setting.timing.step is None:  # the mean of a long step's ends
            ends = (moment.time - moment.length, moment.before), (moment.time, moment.state)
            applied = np.mean([drive(time, state.q, state.v) for time, state in ends], axis=0)
        self.books = self.audit.added(self.books, moment, applied)
        if moment.events:
            self.events += moment.events
        if step.unsettled:
            self.unsettled = self.unsettled[0] + 1, max(self.unsettled[1], step.unsettled)
        nearest = step.nearest
        if nearest < self.nearest:
            self.nearest = nearest
            self.lowest = min(self.lowest, nearest)
        for _, part in step.parts or ((0.0, step),):
            if part.forces is not None:
                self.peak = max(self.peak, *part.forces.table[:, 2].tolist())
        if self.fingers and moment.touching is not self._seen:
            self._seen = moment.touching
            self.gripped &= [not own.isdisjoint(moment.touching.pairs) for own in self.fingers]

    def sampled(self, moment: Moment) -> None:
        """A sample of the controller: its phase may be another."""
        phase = self.law.phase
        if not self.phases or self.phases[-1][1] != phase:
            self.phases.append((moment.time, phase))

    def keep(self, moment: Moment, broken: bool = False) -> Row:
        """A row; what is counted between rows begins anew. A law that is broken is not asked again."""
        q, v = moment.state.q, moment.state.v
        now = self.audit.account(q, v)
        mechanical = now.kinetic + now.potential
        row: Row = {"t": moment.time, "q": q, "v": v, "tau": self.law.tau if broken else self.law(moment.time, q, v)}
        row |= {"energy": mechanical + self._stored(moment), "momentum": now.momentum}
        row |= {"mechanical": mechanical, "kinetic": now.kinetic}
        row |= {"work": self.books.work, "throughput": self.books.throughput}
        row["imbalance"] = now.free - self.books.impulse
        row |= self._contacts(moment)
        row |= {"distance": min(self.nearest, moment.ahead.nearest), "gripped": self._touched(moment)}
        if isinstance(self.law, Sampled):
            row |= {"phase": self.law.phase, "facts": self.law.command.facts}
            row["sensed"] = self.law.readings.given(self.law.line)
        self.rows.append(row)
        self.lowest = min(self.lowest, row["distance"])
        self.nearest, self._seen = np.inf, None
        self.gripped = np.ones(len(self.fingers), dtype=bool)
        return row

    def _touched(self, moment: Moment) -> np.ndarray:
        now = [not own.isdisjoint(moment.touching.pairs) for own in self.fingers]
        return self.gripped & np.array(now, dtype=bool)

    def _stored(self, moment: Moment) -> float:
        """The elastic energy of the gaps."""
        if not moment.ahead.slots:
            return 0.0
        chosen = type(self.world.parameters)(*(array[moment.ahead.slot] for array in self.world.parameters))
        return float(np.sum(normal_energy(chosen, moment.ahead.distance)))

    def _contacts(self, moment: Moment) -> Mapping[str, np.ndarray]:
        """Of the contacts that push: pair, point, force on the first shape; and the normal force of every pair."""
        pairs, step = self.world.pairs, moment.step
        if step is None or step.forces is None:
            return {"contact_force": np.zeros(len(pairs.pairs)), **_NO_CONTACTS}
        which, normal = pairs.of_slot[step.gaps.slot], step.forces.table[:, 2]
        on = normal > 0.0
        return {
            "contact_force": np.bincount(which, normal, len(pairs.pairs)),
            "contact_pair": which[on],
            "contact_point": step.gaps.point[on],
            "contact_vector": pushes(step)[on, 3:],
        }


_NO_CONTACTS = {
    "contact_pair": np.zeros(0, int),
    "contact_point": np.zeros((0, 3)),
    "contact_vector": np.zeros((0, 3)),
}
