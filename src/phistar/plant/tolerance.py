"""A plant to a tolerance: between two samples, steps as long as their error allows."""

from __future__ import annotations

import numpy as np

from phistar.constraints import columns as c
from phistar.errors import ShapeError
from phistar.plant.engine import System
from phistar.plant.session import Session
from phistar.sim.motion import NOTHING, Moment, Motion
from phistar.sim.world import World

FIRST = 1e-3  # s: the first step that is tried


class ToTolerance:
    """Advances a session by extrapolated steps (`sim/extrapolation.py`) whose errors keep rtol and atol. `error` is the
    largest of the last sample in units of the tolerance, `steps` how many there were."""

    def __init__(self, system: System, session: Session, rtol: float, atol: float | None) -> None:
        atol = 1e-3 * rtol if atol is None else atol
        if not (0.0 < rtol < 1.0 and 0.0 <= atol < np.inf):
            raise ShapeError(f"Tolerances are rtol between 0 and 1 and atol of 0 or more; they are {rtol!r}, {atol!r}.")
        self.session, self.motion = session, Motion(World.of(system), None, rtol, atol, session=session)
        self.wanted, self.error, self.steps = FIRST, 0.0, 0

    def advance(self, time: float, length: float) -> None:
        """From a sample to the next."""
        telling, self.session.engine.counts[c.TELLING] = self.session.engine.counts[c.TELLING], 1
        state = self.session.state()
        start = Moment(time, state, NOTHING, np.inf, self.wanted, state)
        self.error, self.steps = 0.0, 0
        try:
            for moment in self.motion.onward(start, [time + length]):
                assert moment.step is not None and moment.step.error is not None
                self.error, self.steps = max(self.error, moment.step.error), self.steps + 1
                self.wanted = moment.wanted
        finally:
            self.session.engine.counts[c.TELLING] = telling
