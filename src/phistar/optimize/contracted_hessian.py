"""Second derivatives of forward dynamics, contracted with weights: by products of inverse dynamics' own, no tensors.

With ID(q, v, a) = T at a = FD(q, v, T) and μ = ℳ⁻¹w, a direction d = (dq, dv, dT) moves a by a' = a_q dq + a_v dv +
ℳ⁻¹dT, and with [g_q; g_v; g_a] = ∇²(μ*ID)·(dq, dv, a') in O(n) (`ps.inverse_dynamics_hessian_product`)

    ∇²(w*FD)·d = −[g_q + a_q*g_a;  g_v + a_v*g_a;  ℳ⁻¹g_a]

so that the whole Hessian is 3n such products, of all states at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.derivatives import forward_dynamics_derivatives, inverse_dynamics_hessian_product
from phistar.dynamics import forward_dynamics
from phistar.errors import ModelError
from phistar.model import Model, require_tree
from phistar.model.check import check_robot
from phistar.optimize.control_problem import Problem
from phistar.passive_forces import damping, spring_stiffness


def forward_dynamics_hessian(model: Model, q: Any, v: Any, tau: Any, w: Any) -> Array:
    """The Hessian of w*FD(q, v, T) by (δq, δv, δT), symmetric.

    Parameters
    ----------
    model : Model
        A tree whose coordinates add: no joints on quaternions.
    q, v, tau, w : (…, nq), (…, nv), (…, nv), (…, nv)
        State, joint forces, and the weights of the accelerations.

    Returns
    -------
    (…, 3nv, 3nv)

    Examples
    --------
    >>> arm, one = ps.planar_chain(2), np.ones(2)
    >>> made = ps.optimize.forward_dynamics_hessian(arm, [0.1, 0.2], one, one, one)
    >>> made.shape, bool(np.allclose(made, made.T))
    ((6, 6), True)
    """
    check_robot("forward_dynamics_hessian", (model,))
    require_tree(model, "forward_dynamics_hessian")
    if not all(joint.kind.flat for joint in model.joints):
        raise ModelError(f"{model.name} turns on quaternions; second derivatives are of coordinates that add.")
    nv = model.nv
    given = model.checked_q(q), *(model.checked(x, nv, name) for x, name in ((v, "v"), (tau, "tau"), (w, "w")))
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in given))
    place, rates, forces, weights = (np.broadcast_to(x, (*batch, nv)) for x in given)
    slopes = forward_dynamics_derivatives(model, place, rates, forces)
    across = np.concatenate(tuple(slopes), axis=-1)  # a by (q, v, T), (…, nv, 3nv)
    a = forward_dynamics(model, place, rates, forces)
    mu = np.matmul(slopes.dtau, weights[..., None])[..., 0]
    state = [x[..., None, :] for x in (place, rates, a, mu)]
    units = np.eye(3 * nv)
    moved = np.swapaxes(across, -1, -2)  # a' of every unit direction, (…, 3nv, nv)
    here = [np.broadcast_to(x, moved.shape) for x in state]
    dq, dv = (np.broadcast_to(units[:, part], moved.shape) for part in (slice(nv), slice(nv, 2 * nv)))
    made = inverse_dynamics_hessian_product(model, here[0], here[1], here[2], here[3], dq, dv, moved)
    own = np.concatenate([made.dq, made.dv, np.zeros_like(made.dq)], axis=-1)
    found = -(own + np.matmul(made.da, across))
    return 0.5 * (found + np.swapaxes(found, -1, -2))


def add_curvature(problem: Problem, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> None:
    """What the dynamics' own curvature adds to the Hessians of all knots in the sweep, by costates of these knots."""
    sweep, model, n = problem.sweep, problem.model, 2 * problem.model.nv
    nv, w = model.nv, sweep.vector("w")
    by_q, by_v = sweep.table("by_q"), sweep.table("by_v")
    costate, pulls = w[-1, :n].copy(), np.empty((problem.steps, nv))
    for k in range(problem.steps - 1, -1, -1):
        h = problem.h[k]
        lifted = h * costate[:nv] + costate[nv:]  # L* of the costate
        pulls[k] = h * lifted
        costate = w[k, :n] + np.concatenate([costate[:nv] + by_q[k].T @ pulls[k], lifted + by_v[k].T @ pulls[k]])
    curves = forward_dynamics_hessian(model, q, v, problem.transition.forces(q, v, u), pulls)
    inner = np.zeros((3 * nv, n + problem.controls))
    inner[:n, :n], inner[n:, n:] = np.eye(n), problem.actuation
    if problem.passive:
        inner[n:, :nv], inner[n:, nv:n] = -spring_stiffness(model, q[0]), -damping(model)
    sweep.table("W")[:-1] += inner.T @ curves @ inner
