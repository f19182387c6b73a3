"""Joint forces of the contacts of a motion: τ = Hφf of their forces and moments on the bodies."""

from __future__ import annotations

import numpy as np

from phistar.backends.links.wide import wide_links
from phistar.dynamics.frame_motion import frame_poses
from phistar.errors import ModelError, ShapeError
from phistar.model import Model
from phistar.plant.body_motions import joint_forces
from phistar.sim.trajectory import Contacts, Trajectory


def contact_torques(run: Trajectory) -> np.ndarray:
    """(T, nv): J*λ of `run.contacts`, sample by sample."""
    model, own = run.model, run.contacts
    if run.q.ndim != 2:
        raise ShapeError(f"{run.name} is a batch, whose contacts were not kept; ps.simulate keeps them.")
    if not own.pairs:
        return np.zeros((len(run.t), model.nv))
    if own.bodies is None or own.nodes is None:
        raise ModelError(f"{run.name} was saved by an earlier release, which did not keep the bodies of contacts.")
    wrenches = _wrenches(own)
    return joint_forces(model)(run.q, _on_links(model, run.q, wrenches))


def _wrenches(own: Contacts) -> dict[tuple[int, int], np.ndarray]:
    """[moment; force] (T, 6) about the world's origin on each body that is touched, by its number and its node."""
    assert own.bodies is not None and own.nodes is not None
    made: dict[tuple[int, int], np.ndarray] = {}
    whole = np.concatenate([own.moment + np.cross(own.point, own.force), own.force], axis=-1)
    for number, (both, nodes) in enumerate(zip(own.bodies.tolist(), own.nodes.tolist(), strict=True)):
        total = np.where((own.pair == number)[..., None], whole, 0.0).sum(axis=1)
        for place, sign in ((both[0], nodes[0]), 1.0), ((both[1], nodes[1]), -1.0):
            if place[0] >= 0:
                made[place] = made.get(place, 0.0) + sign * total
    return made


def _on_links(model: Model, q: np.ndarray, wrenches: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
    """The wrenches as forces on links, of a rigid body at its origin and in its axes: (T, Σ 6 + modes)."""
    poses = frame_poses(model, q, tuple(model.bodies[body].name for body in sorted({body for body, _ in wrenches})))
    starts = np.cumsum([0, *(6 + body.modes for body in model.bodies)])
    made, links = np.zeros((len(q), starts[-1])), wide_links(model, q) if model.is_flexible else None
    for (body, node), wrench in wrenches.items():
        pose = poses[model.bodies[body].name]
        turn, origin = pose[:, :3, :3], pose[:, :3, 3]
        if links is not None and node >= 0:
            at = links.node(body, node)
            turn, origin = turn @ at.turn, origin + np.einsum("tij,tj->ti", turn, at.place)
        moment = wrench[:, :3] - np.cross(origin, wrench[:, 3:])
        local = np.concatenate([np.einsum("tji,tj->ti", turn, x) for x in (moment, wrench[:, 3:])], axis=-1)
        if links is not None:
            local = np.einsum("...iw,...i->...w", links.motion_map(body, node), local)
        made[:, starts[body] : starts[body + 1]] += local
    return made
