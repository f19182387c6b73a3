"""Joint forces of the contacts of a motion: τ = Hφf of their forces on the bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from phistar.backends.links.wide import WideLinks, wide_links
from phistar.dynamics.frame_motion import frame_poses
from phistar.errors import ModelError
from phistar.plant.fields import joint_forces
from phistar.plant.tree_kernels import Place
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
    if not own.pairs:
        return np.zeros((len(run.t), model.nv))
    known = {shape.name: (shape.body, shape.node) for shape in plant.system.shapes}
    sides = [_places(pair, known, plant.name) for pair in own.pairs]
    links, made = wide_links(model, run.q), []
    poses = frame_poses(model, run.q, tuple(body.name for body in model.bodies))
    for number, body in enumerate(model.bodies):
        total = np.zeros((len(run.t), 6 + body.modes))
        for place in sorted({place for side in sides for place in side if place[0] == number}):
            turn, origin = _node_axes(links, place, poses[body.name])
            wrench = np.zeros((len(run.t), 6))
            for side, sign in enumerate((1.0, -1.0)):
                on = np.array([both[side] == place for both in sides])[own.pair] & (own.pair >= 0)
                force = sign * np.where(on[..., None], own.force, 0.0)
                moment = np.cross(own.point - origin[:, None], force)
                both = (np.einsum("tji,tcj->ti", turn, x) for x in (moment, force))
                wrench += np.concatenate(list(both), axis=-1)
            total += np.einsum("...iw,...i->...w", links.held_at(*place), wrench)
        made.append(total)
    return joint_forces(model)(run.q, np.concatenate(made, axis=-1))


def _node_axes(links: WideLinks, place: Place, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Axes (T, 3, 3) and origins (T, 3) in the world of a node, or with −1 of its body."""
    turn, origin = pose[:, :3, :3], pose[:, :3, 3]
    if place[1] < 0:
        return turn, origin
    node = links.node(*place)
    return turn @ node.turn, origin + np.einsum("tij,tj->ti", turn, node.place)


def _places(pair: str, known: Mapping[str, Place], plant: str) -> tuple[Place, Place]:
    """Bodies and nodes of a pair of shapes, the world −1. Names may have the sign between them, too."""
    parts = pair.split(BETWEEN)
    for at in range(1, len(parts)):
        first, second = BETWEEN.join(parts[:at]), BETWEEN.join(parts[at:])
        if first in known and second in known:
            return known[first], known[second]
    raise ModelError(f"The motion has a contact of '{pair}', which the plant '{plant}' does not have.")
