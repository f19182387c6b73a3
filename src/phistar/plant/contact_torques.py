"""What the contacts of a motion do to the joints: τ = Hφf of their forces on the bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from phistar.dynamics.frame_motion import frame_poses
from phistar.errors import ModelError
from phistar.plant.fields import joint_forces
from phistar.sim.trajectory import Trajectory

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

BETWEEN = " / "  # the names of a pair of shapes


def contact_torques(plant: Plant, run: Trajectory) -> np.ndarray:
    """Joint forces that the contacts of a motion of this plant exert.

    τ = Hφf, f the forces of `run.contacts` on the bodies at their places: J*λ, sample by sample. At rest
    it is what joint forces and weight leave: `ps.gravity_load(model, q) = run.tau + τ`.

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
    model, own = plant.model, run.contacts
    if model.is_flexible:
        raise ModelError("Contact forces on joints are those of rigid bodies; the plant has bodies that bend.")
    if not own.pairs:
        return np.zeros((len(run.t), model.nv))
    known = {shape.name: shape.body for shape in plant.system.shapes}
    sides = np.array([_bodies(pair, known, plant.name) for pair in own.pairs], dtype=int).reshape(-1, 2)
    touched = sorted({int(body) for body in sides.ravel() if body >= 0})
    poses = frame_poses(model, run.q, tuple(model.bodies[body].name for body in touched))
    wrench = np.zeros((len(run.t), len(model.bodies), 6))
    for body, pose in zip(touched, poses.values(), strict=True):
        turn, origin = pose[:, None, :3, :3], pose[:, None, :3, 3]
        for side, sign in enumerate((1.0, -1.0)):
            on = (own.pair >= 0) & (sides[own.pair, side] == body)
            force = sign * np.where(on[..., None], own.force, 0.0)
            moment = np.cross(own.point - origin, force)
            both = (np.einsum("...ji,...j->...i", turn, x).sum(axis=1) for x in (moment, force))
            wrench[:, body] += np.concatenate(list(both), axis=-1)
    return joint_forces(model)(run.q, wrench.reshape(len(run.t), -1))


def _bodies(pair: str, known: Mapping[str, int], plant: str) -> tuple[int, int]:
    """Bodies of a pair of shapes, the world −1. Names may have the sign between them, too."""
    parts = pair.split(BETWEEN)
    for at in range(1, len(parts)):
        first, second = BETWEEN.join(parts[:at]), BETWEEN.join(parts[at:])
        if first in known and second in known:
            return known[first], known[second]
    raise ModelError(f"The motion has a contact of '{pair}', which the plant '{plant}' does not have.")
