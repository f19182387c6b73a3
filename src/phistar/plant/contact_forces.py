"""Contacts of a plant's motion as joint forces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phistar.array_types import Array
from phistar.errors import ModelError

if TYPE_CHECKING:
    from phistar.plant.plant import Plant


def contact_torques(plant: Plant, run: Any) -> Array:
    """Joint forces that the contacts of a motion of this plant exert: `run.contact_torques`.

    Parameters
    ----------
    run : Trajectory
        Of `ps.simulate(plant, …)` or of a scene of this plant, T samples.

    Returns
    -------
    (T, nv)
        In N m, N along sliding joints; of a free body [moment; force] at its origin in its axes.

    Examples
    --------
    >>> import phistar as ps
    >>> plant = ps.Plant()
    >>> plant.add_shape(ps.Plane())
    >>> plant.add_body("ball", ps.Sphere(0.1), inertia=2.0, at=ps.Pose(xyz=(0, 0, 0.1)))
    >>> run = ps.simulate(plant, 1.0)
    >>> float(plant.contact_torques(run)[-1, 3:].max().round(2))
    19.62
    """
    if run.model.key != plant.model.key:
        raise ModelError(f"The motion is of {run.model.name}, which is another system than '{plant.name}'.")
    return run.contact_torques
