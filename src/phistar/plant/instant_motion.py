"""The acceleration of a plant at an instant: what its step tends to as it gets short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.array_types import Array
from phistar.constraints import columns as c
from phistar.dynamics import forward_dynamics
from phistar.errors import PhistarError
from phistar.plant.tendon_rows import TendonRow, tendon_jacobian
from phistar.sim.passive import Passive

if TYPE_CHECKING:
    from phistar.plant.plant import Plant
    from phistar.plant.session import PlantState


def acceleration(plant: Plant, state: PlantState, command: Any = None, force: Any = None) -> Array:
    """Accelerations of the plant's rates at an instant, as far as they are functions of it.

    ℳv̇ = T + τ_passive + τ_tendons + τ_fields − 𝒞 − 𝒢 (RJK91 eq. 17): actuators, springs and dampers of joints and
    tendons, fields and loops. Contact, stops and dry friction are laws of a step and left out.

    Parameters
    ----------
    state : PlantState
        `plant.state(q, v)`, or what a step returned.
    command : (nu,), optional
        As for `plant.step`; None is zero.
    force : (nv,), optional
        Generalized forces from outside.

    Returns
    -------
    (nv,) array

    Examples
    --------
    >>> import phistar as ps
    >>> plant = ps.Plant()
    >>> plant.add(ps.load("planar2"), "arm")
    >>> plant.acceleration(plant.state([0.3, 0.2])).shape
    (2,)
    """
    if any(tendon.held is not None for tendon in plant.tendons):
        raise PhistarError("A tendon of the plant is held, which is a law of its step; take plant.step with a short h.")
    session, model = plant.session, plant.model
    session.load(state)
    session.drive(command, force)
    session.act_fields(0.0)
    session.engine.look(float(session.engine.numbers[c.LENGTH]) or 0.002)
    total = session.engine.force[: model.nv].copy()
    total += Passive(model.tree).smooth(state.q, state.v) + session.drag * state.v
    total += _servo_forces(plant, np.asarray(state.v))
    return forward_dynamics(model, state.q, state.v, total)


def _servo_forces(plant: Plant, v: np.ndarray) -> Array:
    """(nv,): J*f of every servo and of the springs and dampers of tendons, f = K(r − x) + B(r' − ẋ) within bounds."""
    table, total = plant.session.engine.tables, np.zeros(len(v))
    for number, row in enumerate(plant.system.rows):
        if row.law != c.SERVO_LAW:
            continue
        own = table["rows"][number]
        if isinstance(row, TendonRow):
            jacobian = tendon_jacobian(table, row.tendon, len(v))
        else:
            jacobian = np.zeros(len(v))
            jacobian[row.rate] = 1.0
        wanted = own[c.FIRST] * own[c.VALUE] + own[c.SECOND] * (own[c.THIRD] - jacobian @ v)
        total += jacobian * min(max(wanted, own[c.LOW]), own[c.HIGH])
    return total
