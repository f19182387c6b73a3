"""The two-way mass matrix and inverse dynamics of a free-flying robot (RJ2W Algorithms 1 and 2, corrected).

Whatever moves at the joints, X_f gathers from the tips inward and X_b from the base outward; at each joint the two are
weighted by how much mass is on either side:

    X_f = φ(r y + f),   X_b = φ_b(ℰφ_b(r_b y − f) − ℰ_s X_f),   T = H_f X_f + H_b X_b.

y are accelerations given to the links by joints, f forces of the links. Of a chain the two sweeps are independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.dynamics import Forces
from phistar.freeflying.free_base import base_name, base_rotation, check_free_base
from phistar.identities.two_way_laws import joint_forces
from phistar.model import Model
from phistar.operators.nodes import Node, zero
from phistar.operators.spaces import FORCES, SCALARS
from phistar.operators.symbols import Symbols
from phistar.stated import states


@states(lambda s: s.M_i, matrix=True)
def mass_matrix(model: Model, q: Any) -> Array:
    """Mass matrix of the joints when the base is free to move.

    ℳ_i = HR̄H* + A (RJ2W eqs. 16, 27, Algorithm 1).

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.

    Returns
    -------
    (…, n, n)

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> ps.freeflying.mass_matrix(robot, q).shape
    (8, 8)
    """
    check_free_base(model)
    return mass_matrix.evaluate(model, q)


def _external(s: Symbols) -> Node:
    return s.B @ s.f if s.frames else zero(SCALARS, FORCES)


def _inverse_dynamics(s: Symbols) -> Node:
    y = s.H.T @ s.N.T @ s.qdd_i + s.a
    f = s.b + s.E_phi @ (s.b_r + s.S @ s.N.T @ s.qdd_i) - _external(s)
    return s.N @ (joint_forces(s, y, f) + s.A @ s.N.T @ s.qdd_i)


@states(_inverse_dynamics, form=AS_WRITTEN)
def inverse_dynamics(model: Model, q: Any, v: Any, a: Any, f_ext: Forces = None, thrust: Any = None) -> Array:
    """Joint forces for given joint accelerations when nothing holds the base.

    HR̄(H*θ̈ + a) and what forces on the links leave over (RJ2W Algorithm 2, corrected). Gravity accelerates all
    bodies alike and is not felt. To prescribe the base's motion too, take `ps.inverse_dynamics`, whose first six
    entries are the thrust.

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.
    v : (…, nv)
        Rates, the base's [ω; v] in its own frame first.
    a : (…, n)
        Accelerations of the joints, without the base's six.
    f_ext : dict, optional
        External forces {frame: (…, 6)} as in `ps.inverse_dynamics`.
    thrust : (…, 6), optional
        [moment; force] on the base, in its axes.

    Returns
    -------
    (…, n)
        Joint forces.

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> tau = ps.freeflying.inverse_dynamics(robot, q, np.zeros(robot.nv), np.arange(8.0))
    >>> ps.freeflying.forward_dynamics(robot, q, np.zeros(robot.nv), tau)[6:].round(9) + 0.0
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    check_free_base(model)
    forces = with_thrust(model, q, f_ext, thrust)
    return inverse_dynamics.evaluate(model, q, {"v": v, "qdd_i": a}, forces)


def with_thrust(model: Model, q: Any, f_ext: Forces, thrust: Any) -> Forces:
    """External forces with that of the thrusters among them, in world axes."""
    if thrust is None:
        return f_ext
    turn = base_rotation(model, model.checked_q(q))
    wrench = model.checked(thrust, 6, "thrust")[..., None]
    turned = np.concatenate([np.matmul(turn, wrench[..., :3, :]), np.matmul(turn, wrench[..., 3:, :])], axis=-2)[..., 0]
    name, given = base_name(model), dict(f_ext or {})
    return given | {name: turned + given[name] if name in given else turned}
