"""Limits and dry friction of a model's joints as rows, scaled by the inertia that each joint moves."""

from __future__ import annotations

import numpy as np

from phistar.errors import ModelError
from phistar.model import Model
from phistar.plant.single_rows import SingleRow, dry_row, limit_row
from phistar.spatial import skew

MARGIN = 1e-3  # rad or m: where a joint's stop begins to push
TIME = 0.01  # s: how fast it gives
BRISTLE_TIME = 1e-3  # s: the time constant of dry friction's bristle


def check_curved_joints(model: Model) -> None:
    """Refuse springs and dry friction of free joints: the step has them of joints that turn or slide about a point."""
    for joint in model.joints:
        acts = np.any(joint.kind.stiffness) or np.any(joint.kind.friction)
        if not joint.kind.flat and joint.nv != 3 and acts:
            raise ModelError(
                f"The joint '{joint.name}' of {model.name} is {type(joint.kind).__name__.lower()} and has a spring or "
                "dry friction, which a plant cannot give it. Take three prismatic joints and a spherical one."
            )


def joint_rows(model: Model, q: np.ndarray) -> list[SingleRow]:
    """A row for every stop and for every rate with dry friction; the inertia is that at q."""
    wanted = [j for j in model.joints if (j.kind.flat and np.isfinite(j.kind.limits).any()) or np.any(j.kind.friction)]
    wanted = [j for j in wanted if j.kind.flat or j.nv == 3]
    if not wanted:
        return []
    inertia, rows = joint_inertias(model, q), []
    for joint in wanted:
        for k in range(joint.nv):
            rate, place = joint.v_slice.start + k, joint.q_slice.start + k
            mass = float(inertia[rate])
            for upper, end in enumerate(joint.kind.limits[:, k] if joint.kind.flat else ()):
                if np.isfinite(end):
                    strength = mass * MARGIN / TIME**2
                    rows.append(limit_row(rate, place, float(end), bool(upper), MARGIN, strength))
            forward, backward = joint.kind.friction[:, k]
            if forward > 0.0 or backward > 0.0:
                rows.append(dry_row(rate, place, forward, backward, mass / BRISTLE_TIME**2, mass / BRISTLE_TIME))
    return rows


def joint_inertias(model: Model, q: np.ndarray) -> np.ndarray:
    """The diagonal of ℳ (nv,) without modes of bodies that bend: what each joint moves, as composite bodies
    S* (Σ φM φ*) S + A (RJK91 eq. 16). In NumPy: it is asked once, and compiles nothing."""
    whole, found = [np.array(body.inertia.matrix) for body in model.bodies], np.zeros(model.nv)
    for body in reversed(range(len(model.bodies))):
        joint, parent = model.joints[body], model.parents[body]
        turn, place = (np.asarray(x, dtype=float) for x in joint.kind.pose(q[joint.q_slice]))
        motion = np.asarray(joint.kind.subspace(q[joint.q_slice]), dtype=float).reshape(6, -1)
        found[joint.v_slice] = np.einsum("ik,ij,jk->k", motion, whole[body], motion) + joint.kind.armature_diagonal
        if parent >= 0:
            at, carrier = model.bodies[body].placement, model.bodies[parent].flexible
            place = at.rotation @ place + at.translation
            if carrier is not None and model.bodies[body].node >= 0:
                place = place + carrier.nodes[model.bodies[body].node]
            turn = at.rotation @ turn
            carried = np.zeros((6, 6))  # [ω; v] at the parent's origin to that at the body's
            carried[:3, :3] = carried[3:, 3:] = turn.T
            carried[3:, :3] = -turn.T @ skew(place)
            whole[parent] += carried.T @ whole[body] @ carried
    return found
