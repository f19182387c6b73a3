"""Derivatives of a step by the state and the command it starts from, by the implicit function theorem.

r(v⁺, δ, v, u) = 0 is what the step solves: N ∂v⁺ = −∂r, N = ∂r/∂v⁺ = A − ∂(J*λ)/∂v⁺, unsymmetric where contacts slide.
Bristles and whatever else a state remembers are held as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.constraints import columns as c
from phistar.errors import PhistarError
from phistar.plant.batch_loop import MODE, PART_ONLY
from phistar.plant.body_motions import BodyMotions
from phistar.plant.fields import generalized_forces
from phistar.plant.session import PlantState, Session
from phistar.plant.step_tangents import StepTangents
from phistar.short_repr import short_repr

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

APART = 1e-6  # rad, m and their rates: by which fields, functions of whoever wrote them, are differenced


@short_repr
class StepDerivatives(NamedTuple):
    """The state after a step, and its change with x = (δq, v): `state` (2nv, 2nv) = ∂x⁺/∂x and `command` (2nv, nu) =
    ∂x⁺/∂u, in tangent coordinates, q ⊕ δq (`model.integrate`)."""

    after: PlantState
    state: Array
    command: Array


def step_derivatives(plant: Plant, state: PlantState, command: Any = None, h: float = 0.002) -> StepDerivatives:
    """Differentiate a step of the plant: exact, by the implicit function theorem.

    Contact is included, with the change of gaps, normals and points of contact; where one slides, friction's bound
    follows the normal force. Loops, tendons, limits, dry friction, servos, springs, bodies that bend and joints that
    move as told are; fields, which are functions of whoever wrote them, are differenced. What contacts remember
    (bristles) is held fixed.

    Parameters
    ----------
    state : PlantState
        Where the step starts.
    command : (nu,), optional
        As for `plant.step`.
    h : float
        In s.

    Returns
    -------
    StepDerivatives
        `after`, the state that `plant.step` gives; `state` (2nv, 2nv) and `command` (2nv, nu), the change of
        (δq, v) after the step with (δq, v) before it and with the command.

    Raises
    ------
    PhistarError
        Where the step has impacts or is taken in several parts, and for plants with delayed actuators.

    Examples
    --------
    >>> import phistar as ps
    >>> plant = ps.Plant()
    >>> plant.add(ps.load("planar2"), "arm")
    >>> plant.step_derivatives(plant.state([0.3, 0.2]), h=0.01).state.shape
    (4, 4)
    """
    if any(actuator.delay > 0.0 for actuator in plant.actuators):
        raise PhistarError(
            "A step with delayed actuators depends on earlier commands; set delay=0 to differentiate it."
        )
    session, engine = plant.session, plant.session.engine
    outside = session.is_pushed
    session.load(state)
    session.drive(command, h=h)
    session.act_fields(h)
    tangents = _solve_step(session, state, h, outside)
    solved = np.linalg.solve(tangents.system, tangents.sides)
    engine.counts[c.READY] = 1
    engine.serve_step(h)
    if engine.counts[c.IMPACTS] or engine.counts[c.SUBSTEPS] != 1:
        raise PhistarError(
            f"The step at this state has {int(engine.counts[c.IMPACTS])} impacts and "
            f"{int(engine.counts[c.SUBSTEPS])} parts; its derivative is that of one part without impacts: take a "
            "shorter step."
        )
    by_state, by_command, by_force = tangents.finish(solved)
    after = session.state()
    if outside:
        by_state += by_force @ _outer_slopes(session, state, h)
    return StepDerivatives(after, by_state, by_command)


def _solve_step(session: Session, state: PlantState, h: float, forces: bool) -> StepTangents:
    """The engine's step, solved and not moved, with N and its sides."""
    engine = session.engine
    engine.numbers[c.LENGTH], engine.batch[MODE], engine.counts[c.WHOLE] = h, PART_ONLY, 1
    engine.serve()
    engine.check()
    while engine.counts[c.FULL]:
        engine.grow()
        session.load(state)
        engine.batch[MODE] = PART_ONLY
        engine.serve()
    engine.counts[c.WHOLE] = 0
    tangents = StepTangents.of(engine, forces)
    tangents.solve(fresh=not state.memory)
    return tangents


def _outer_slopes(session: Session, state: PlantState, h: float) -> Array:
    """∂T/∂(δq, v) (nv, 2nv) of fields and the drag of free bodies: drag's own, fields' by central differences."""
    model, nv = session.model, session.model.nv
    made = np.zeros((nv, 2 * nv))
    made[:, nv:] = -np.diag(session.drag)
    if session.fields:
        for k, change in enumerate(APART * np.eye(2 * nv)):
            ends = []
            for way in (1.0, -1.0):
                q, v = model.integrate(state.q, way * change[:nv]), state.v + way * change[nv:]
                ends.append(generalized_forces(session.fields, BodyMotions(model, 0.0, q, v, h)))
            made[:, k] += (ends[0] - ends[1]) / (2.0 * APART)
    return made
