"""Log of a run in progress: rows over time, events, extremes, and the books of the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phistar.constraints import columns as c
from phistar.contact.surface import normal_energy
from phistar.plant.session import Session
from phistar.sim.motion import Moment
from phistar.sim.scenes.audit import Audit, Books
from phistar.sim.scenes.scene import Setting
from phistar.sim.scenes.scene_drive import Continuous, Sampled
from phistar.sim.trajectory import Event

Row = dict[str, Any]


class Log:
    """A run so far. `rows` has one dict a sample, the same names in each."""

    def __init__(self, setting: Setting, law: Continuous | Sampled, session: Session) -> None:
        self.setting, self.world, self.law, self.session = setting, setting.world, law, session
        self.audit, self.books = Audit(setting.world), Books()
        self.rows: list[Row] = []
        self.events: list[Event] = []
        self.phases: list[tuple[float, str]] = []
        self.nearest, self.lowest, self.peak = np.inf, np.inf, 0.0
        self.unsettled = 0, 0.0  # steps whose forces had not settled, and by which part of them at most
        self.watches: Sequence[frozenset[int]] = getattr(setting.task, "watches", ())
        self.held = np.ones(len(self.watches), dtype=bool)  # of each set of pairs: at every step since the last row
        self._seen: Any = None

    def add(self, moment: Moment) -> None:
        """Log a step."""
        step = moment.step
        assert step is not None
        self.books = self.books.added(step)
        if moment.events:
            self.events += moment.events
        if step.unsettled:
            self.unsettled = self.unsettled[0] + 1, max(self.unsettled[1], step.unsettled)
        if step.nearest < self.nearest:
            self.nearest = step.nearest
            self.lowest = min(self.lowest, step.nearest)
        if len(step.met):
            self.peak = max(self.peak, step.peak)
        if self.watches and moment.touching is not self._seen:
            self._seen = moment.touching
            self.held &= [not own.isdisjoint(moment.touching.pairs) for own in self.watches]

    def sampled(self, moment: Moment) -> None:
        """Log a controller sample, whose phase may have changed."""
        phase = self.law.phase
        if not self.phases or self.phases[-1][1] != phase:
            self.phases.append((moment.time, phase))

    def keep(self, moment: Moment, broken: bool = False) -> Row:
        """Append a row and reset what is counted between rows; a broken law is not called again."""
        q, v = moment.state.q, moment.state.v
        now = self.audit.account(q, v)
        mechanical = now.kinetic + now.potential
        row: Row = {"t": moment.time, "q": q, "v": v, "tau": self._forces(moment, broken)}
        row |= {"energy": mechanical + self._stored(), "momentum": now.momentum}
        row |= {"mechanical": mechanical, "kinetic": now.kinetic}
        row |= {"work": self.books.work, "throughput": self.books.throughput, "loss": self.books.loss}
        row["imbalance"] = now.free - self.books.impulse
        row |= self._contacts(moment)
        row |= {"distance": min(self.nearest, moment.nearest), "held_contacts": self._touched(moment)}
        if isinstance(self.law, Sampled):
            row |= {"phase": self.law.phase, "facts": self.law.command.facts}
            row["sensed"] = self.law.readings.given(self.law.line)
        self.rows.append(row)
        self.lowest = min(self.lowest, row["distance"])
        self.nearest, self._seen = np.inf, None
        self.held = np.ones(len(self.watches), dtype=bool)
        return row

    def _forces(self, moment: Moment, broken: bool) -> np.ndarray:
        """Joint forces from a sample on, as the controller gives them; those of servos, which led to it."""
        if not self.law.limits.served:
            return self.law.tau if broken else self.law(moment.time, moment.state.q, moment.state.v)
        tau = np.zeros(self.world.model.nv)
        if moment.step is not None:
            self.session.forces(float(self.session.engine.numbers[c.STEP]), tau)
        return tau

    def _touched(self, moment: Moment) -> np.ndarray:
        now = [not own.isdisjoint(moment.touching.pairs) for own in self.watches]
        return self.held & np.array(now, dtype=bool)

    def _stored(self) -> float:
        """The elastic energy of the gaps, K_p(ε ln(ε/d) − (ε − d)) each."""
        engine = self.session.engine
        table = engine.tables["contacts"][: engine.counts[c.CONTACTS]]
        if not len(table):
            return 0.0
        gap = table[:, c.GAP] + table[:, c.OFFSET]
        return float(np.sum(normal_energy(table[:, c.MARGIN], table[:, c.STRENGTH], gap)))

    def _contacts(self, moment: Moment) -> Mapping[str, np.ndarray]:
        """Pair, point and force on the first shape of each pushing contact, and the normal force of every pair."""
        count, step = len(self.world.pairs), moment.step
        if step is None or not len(step.pair):
            return {"contact_force": np.zeros(count), **_NO_CONTACTS}
        places = step.places
        return {
            "contact_force": np.bincount(step.pair, step.normal, count),
            "contact_pair": places.pair,
            "contact_point": places.point,
            "contact_vector": places.force,
        }


_NO_CONTACTS = {
    "contact_pair": np.zeros(0, int),
    "contact_point": np.zeros((0, 3)),
    "contact_vector": np.zeros((0, 3)),
}
