"""The two-way mass matrix and inverse dynamics of a free-flying robot (RJ2W Algorithms 1 and 2, corrected).

Whatever moves at the joints, X_f gathers from the tips inward and X_b from the base outward; at each joint the two are
weighted by how much mass is on either side:

    X_f = φ(r y + f),   X_b = φ_b(ℰφ_b(r_b y − f) − ℰ_s X_f),   T = H_f X_f + H_b X_b.

y are accelerations given to the links by joints, f forces of the links. Of a chain the two sweeps are independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.programs.program import AS_WRITTEN
from phistar.dynamics import Forces
from phistar.freeflying.free_base import base_name, base_rotation, check_free_base
from phistar.identities.two_way import joint_forces
from phistar.model import Model
from phistar.operators.nodes import Node, zero
from phistar.operators.spaces import FORCES, SCALARS
from phistar.operators.symbols import Symbols
from phistar.stated import states


@states(lambda s: s.M_i, matrix=True)
def mass_matrix(model: Model, q: Any) -> np.ndarray:
    """ℳ_i = HR̄H* + A, (…, n, n): the joints' mass matrix when the base is free (RJ2W eqs. 16, 27, Algorithm 1)."""
    check_free_base(model)
    return mass_matrix.evaluate(model, q)


def _external(s: Symbols) -> Node:
    return s.B @ s.f if s.frames else zero(SCALARS, FORCES)


def _inverse_dynamics(s: Symbols) -> Node:
    y = s.H.T @ s.N.T @ s.qdd_i + s.a
    f = s.b + s.E_phi @ (s.b_r + s.S @ s.N.T @ s.qdd_i) - _external(s)
    return s.N @ (joint_forces(s, y, f) + s.A @ s.N.T @ s.qdd_i)


@states(_inverse_dynamics, form=AS_WRITTEN)
def inverse_dynamics(model: Model, q: Any, v: Any, a: Any, f_ext: Forces = None, thrust: Any = None) -> np.ndarray:
    """HR̄(H*θ̈ + a) and what forces on the links leave over, (…, n): joint forces for joint accelerations a (…, n), with
    a base that nothing holds (RJ2W Algorithm 2). v (…, nv) has the base's velocity too; gravity is not felt.

    `thrust` (…, 6) is a [moment; force] on the base in its axes. What a base that is to move as wanted needs besides,
    `ps.inverse_dynamics` tells: the first six of its joint forces are the thrust.
    """
    check_free_base(model)
    forces = with_thrust(model, q, f_ext, thrust)
    return inverse_dynamics.evaluate(model, q, {"v": v, "qdd_i": a}, forces)


def with_thrust(model: Model, q: Any, f_ext: Forces, thrust: Any) -> Forces:
    """External forces with that of the thrusters among them, in world axes."""
    if thrust is None:
        return f_ext
    turn = base_rotation(model, model.checked(q, model.nq, "q"))
    wrench = model.checked(thrust, 6, "thrust")[..., None]
    turned = np.concatenate([np.matmul(turn, wrench[..., :3, :]), np.matmul(turn, wrench[..., 3:, :])], axis=-2)[..., 0]
    name, given = base_name(model), dict(f_ext or {})
    return given | {name: turned + given[name] if name in given else turned}
