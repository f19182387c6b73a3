"""Second derivatives of forward dynamics, contracted with weights: from those of inverse dynamics, no tensors.

With ID(q, v, a) = T at a = FD(q, v, T), μ = −ℳ⁻¹w and N = ∇²(μ*ID), whose only blocks are N_qq, N_qv, N_vv and N_aq
(the sums Σᵢ μᵢ∂²IDᵢ are made where the entries are, in one kernel),

    ∇²(w*FD) = [N_qq + N_qa a_q + a_q*N_aq   N_qv + N_qa a_v   N_qa ℳ⁻¹;   ·   N_vv   0;   ·   ·   0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.derivatives import forward_dynamics_derivatives
from phistar.dynamics import forward_dynamics
from phistar.errors import ModelError
from phistar.model import Model, require_tree
from phistar.model.check import check_robot
from phistar.optimize.control_problem import Problem
from phistar.optimize.curved_steps import step_curvature
from phistar.optimize.transition import Transition
from phistar.passive_forces import damping, spring_stiffness
from phistar.second_derivatives import contracted_tensors

CHUNK = 32  # states: what is made of them stays in the caches


def forward_dynamics_hessian(model: Model, q: Any, v: Any, tau: Any, w: Any) -> Array:
    """The Hessian of w*FD(q, v, T) by (δq, δv, δT), symmetric.

    Parameters
    ----------
    model : Model
        A tree; on quaternions δq is the tangent of q ⊕ δ.
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
    nv = model.nv
    given = model.checked_q(q), *(model.checked(x, nv, name) for x, name in ((v, "v"), (tau, "tau"), (w, "w")))
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in given))
    rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in given]
    made = np.zeros((len(rows[0]), 3 * nv, 3 * nv))
    for at in range(0, len(made), CHUNK):
        _fill(model, made[at : at + CHUNK], *(x[at : at + CHUNK] for x in rows))
    return made.reshape(*batch, 3 * nv, 3 * nv)


def _fill(model: Model, made: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray, w: np.ndarray) -> None:
    """The Hessians of some states, in place, whose entries are zero."""
    slopes = forward_dynamics_derivatives(model, q, v, tau)
    mu = np.matmul(slopes.dtau, -w[..., None])[..., 0]
    by_qq, by_qv, by_vv, by_aq = contracted_tensors(model)(q, v, forward_dynamics(model, q, v, tau), mu)
    nv, turned = model.nv, np.swapaxes(by_aq, -1, -2)
    one, two, three = slice(nv), slice(nv, 2 * nv), slice(2 * nv, None)
    bent = np.matmul(turned, slopes.dq)
    np.add(bent, np.swapaxes(bent, -1, -2), out=made[:, one, one])
    made[:, one, one] += by_qq
    np.matmul(turned, slopes.dv, out=made[:, one, two])
    made[:, one, two] += by_qv
    np.matmul(turned, slopes.dtau, out=made[:, one, three])
    made[:, two, one] = np.swapaxes(made[:, one, two], -1, -2)
    made[:, three, one] = np.swapaxes(made[:, one, three], -1, -2)
    made[:, two, two] = by_vv


def add_curvature(problem: Problem, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> None:
    """Add the steps' own curvature to the Hessians of all knots in the sweep, by costates of these knots, which are a
    motion: q (N + 1, nq), v (N + 1, nv), u (N, nu)."""
    sweep, model, at = problem.sweep, problem.model, problem.transition
    if not isinstance(at, Transition):
        raise ModelError("Second derivatives of a plant's step are not there; solve with second_order=False.")
    nv, h, curved = model.nv, problem.h[:, None], at.curved
    rates, lift, states = _step_slopes(problem)
    costates = sweep.vector("w")[:, : 2 * nv].copy()
    back = np.swapaxes(np.concatenate([states, rates], axis=1)[..., : 2 * nv], -1, -2)
    for k in range(problem.steps - 1, -1, -1):
        costates[k] += back[k] @ costates[k + 1]
    places, pulls = costates[1:, :nv], costates[1:, nv:]
    pulls = pulls + np.matmul(np.swapaxes(lift, -1, -2), places[..., None])[..., 0]  # of all that rates move
    curves = forward_dynamics_hessian(model, q[:-1], v[:-1], at.forces(q[:-1], v[:-1], u), h * pulls)
    inner = np.zeros((3 * nv, 2 * nv + problem.controls))
    inner[: 2 * nv, : 2 * nv], inner[2 * nv :, 2 * nv :] = np.eye(2 * nv), problem.actuation
    if problem.passive:
        inner[2 * nv :, :nv], inner[2 * nv :, nv : 2 * nv] = -spring_stiffness(model, q[0]), -damping(model)
    made = inner.T @ curves @ inner
    if curved:
        mixed, twice = step_curvature(model, h * v[1:, :curved], places[:, :curved])
        turned = h[..., None] * rates[:, :curved]
        across = mixed @ turned
        made += np.swapaxes(turned, -1, -2) @ twice @ turned
        made[:, :curved] += across
        made[..., :curved] += np.swapaxes(across, -1, -2)
    sweep.table("W")[:-1] += made


def _step_slopes(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂v' by (δq, δv, δu), ∂δq' by v', and ∂δq' by (δq, δv, δu) of all steps, from the sweep's tables."""
    sweep, nv, h, c = problem.sweep, problem.model.nv, problem.h[:, None, None], problem.sweep.curved
    unit, by_force = np.eye(nv), sweep.table("by_force") @ problem.actuation
    rates = h * np.concatenate([sweep.table("by_q"), sweep.table("by_v"), by_force], axis=-1)
    rates[..., nv : 2 * nv] += unit
    lift, stay = h * unit, np.broadcast_to(unit, (problem.steps, nv, nv)).copy()
    if c:
        lift[:, :c, :c], stay[:, :c, :c] = h * sweep.table("spread"), sweep.table("carried")
    states = lift @ rates
    states[..., :nv] += stay
    return rates, lift, states
