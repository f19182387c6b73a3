"""Momentum and its conservation: the centre-of-mass frame, what a tool does on a free base, and motions without
reaction."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.programs.program import AS_WRITTEN
from phistar.errors import UnknownNameError
from phistar.freeflying.energy import momentum_at_base, whole_mass, wiggle, wiggle_jacobian
from phistar.freeflying.free_base import base_position, base_rotation, check_free_base
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.spatial import cross, mass_moment, times, transposed
from phistar.stated import states


def _generalized_jacobian(s: Symbols) -> Node:
    return s.B.T @ s.phi.T @ (s.H.T @ s.N.T + s.pi_f.T @ wiggle(s))


@states(_generalized_jacobian, matrix=True, form=AS_WRITTEN)
def generalized_jacobian(model: Model, q: Any, frame: str) -> np.ndarray:
    """B*φ*(H*N* + π_f*V_WIGGLE), (…, 6, n): [ω; ẋ] of a frame, in world axes, per joint rate of a robot without
    momentum, its base giving way (Umetani and Yoshida's generalized Jacobian, by RJ2W eq. 23)."""
    check_free_base(model)
    return generalized_jacobian.evaluate(model, q, frames=(frame,))


@states(momentum_at_base, form=AS_WRITTEN)
def _momentum_at_base(model: Model, q: Any, v: Any) -> np.ndarray:
    return _momentum_at_base.evaluate(model, q, {"v": v})


@states(whole_mass, matrix=True, form=AS_WRITTEN)
def mass_at_base(model: Model, q: Any) -> np.ndarray:
    """π_f r π_f*, (…, 6, 6): the robot as one body at its base, in the base's axes; RJ2W's r_f(N+1)."""
    check_free_base(model)
    return mass_at_base.evaluate(model, q)


def center_of_mass_in_base(whole: np.ndarray) -> np.ndarray:
    """(…, 3), read off the m·p̃ block of the mass at the base (R87 eq. 33)."""
    return mass_moment(whole) / whole[..., 3:4, 3]


class CenterOfMassFrame(NamedTuple):
    """In world axes: where the centre of mass is and how fast, (…, 3) each; the inertia of the frozen robot about it,
    (…, 3, 3); the angular momentum about it and the angular velocity of the frozen robot that has it, (…, 3) each."""

    position: np.ndarray
    velocity: np.ndarray
    inertia: np.ndarray
    angular_momentum: np.ndarray
    angular_velocity: np.ndarray


def center_of_mass_frame(model: Model, q: Any, v: Any) -> CenterOfMassFrame:
    """The frame that no joint force can move: read off π_f r π_f* and π_fφMV, so that it does not matter how far from
    the world's origin the robot is."""
    check_free_base(model)
    whole, moved = np.asarray(mass_at_base(model, q)), np.asarray(_momentum_at_base(model, q, v))
    q = model.checked(q, model.nq, "q")
    turn, mass = base_rotation(model, q), whole[..., 3:4, 3]
    arm = center_of_mass_in_base(whole)
    linear = moved[..., 3:]
    spin = moved[..., :3] - cross(arm, linear)
    outer = arm[..., :, None] * arm[..., None, :]
    across = np.sum(arm * arm, axis=-1, keepdims=True)[..., None] * np.eye(3) - outer
    inertia = whole[..., :3, :3] - mass[..., None] * across
    world_spin, world_inertia = times(turn, spin), np.matmul(np.matmul(turn, inertia), transposed(turn))
    return CenterOfMassFrame(
        base_position(model, q) + times(turn, arm),
        times(turn, linear) / mass,
        world_inertia,
        world_spin,
        _solved(world_inertia, world_spin),
    )


def _solved(inertia: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """I⁻¹L by the cross products of I's columns, on floats and on traced numbers."""
    x, y, z = (inertia[..., :, i] for i in range(3))
    rows = [cross(y, z), cross(z, x), cross(x, y)]
    volume = np.sum(x * rows[0], axis=-1)
    return np.stack([np.sum(row * spin, axis=-1) / volume for row in rows], axis=-1)


def momentum(model: Model, q: Any, v: Any) -> np.ndarray:
    """[L; p], (…, 6), in world axes about the centre of mass: what stays the same while nothing pushes the robot."""
    frame = center_of_mass_frame(model, q, v)
    return np.concatenate([frame.angular_momentum, model.total_mass * frame.velocity], axis=-1)


ROWS = {"attitude": slice(0, 3), "pose": slice(0, 6)}


def reaction_null_space(model: Model, q: Any, keep: str = "attitude", tolerance: float = 1e-9) -> np.ndarray:
    """1 − W⁺W, (…, n, n): joint rates put through it leave the base of a robot without momentum as it is, its attitude
    or its whole `pose`; W are those rows of the wiggle Jacobian. Directions that move the base less than `tolerance`
    times the strongest count as free of reaction."""
    if keep not in ROWS:
        raise UnknownNameError(f"reaction_null_space keeps 'attitude' or 'pose' of the base; {keep!r} is neither.")
    rows = wiggle_jacobian(model, q)[..., ROWS[keep], :]
    return np.eye(rows.shape[-1]) - np.matmul(np.linalg.pinv(rows, rcond=tolerance), rows)
