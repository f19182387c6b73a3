"""Loops of a plant that close and open during a run: latches and releases, sample by sample."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from phistar.errors import ModelError
from phistar.plant.plant import Plant
from phistar.plant.session import PlantState, Session
from phistar.sim.topology import Latch, Release, apply_change
from phistar.sim.trajectory import Event


class Changes:
    """The latches and releases of a run that are still to come, and the plant as it is."""

    def __init__(self, plant: Plant, changes: Sequence[Latch | Release]) -> None:
        self.plant, self.waiting = plant, list(changes)
        for change in changes:
            if not isinstance(change, Latch | Release):
                raise ModelError(f"A run changes by ps.Latch and ps.Release; it was given {type(change).__name__}.")
        if changes and any(actuator.delay > 0.0 for actuator in plant.actuators):
            raise ModelError(
                f"The plant '{plant.name}' has actuators that act late, which latches and releases forget."
            )

    def after(self, time: float, session: Session, events: list[Event]) -> Plant | None:
        """The plant from here on, its session at the state after all that is due; None where nothing is."""
        found = None
        while due := [change for change in self.waiting if _is_due(change, time, session)]:
            change = due[0]
            self.waiting.remove(change)
            q, v = _state(session)
            made = apply_change(self.plant.model, change, q, v)
            events.append(made.event(time, change))
            found = copy(self.plant)
            found.invalidate()
            found.__dict__["model"] = made.model  # the parts' own model with other loops
            session = found.session
            session.load(PlantState(made.q, made.v))
            self.plant = found
        return found


def _is_due(change: Latch | Release, time: float, session: Session) -> bool:
    if callable(change.when):
        return float(change.when(time, *_state(session))) <= 0.0
    return change.when <= time + 1e-12


def _state(session: Session) -> tuple[np.ndarray, np.ndarray]:
    engine, model = session.engine, session.model
    return engine.q[: model.nq].copy(), engine.v[: model.nv].copy()
