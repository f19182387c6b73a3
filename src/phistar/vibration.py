"""Natural frequencies and mode shapes of a mechanism about an equilibrium."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.derivatives import linearize
from phistar.dynamics import forward_dynamics, mass_matrix
from phistar.errors import InfeasibleError
from phistar.loops import closure_jacobian
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.passive_forces import spring_and_damper_forces
from phistar.short_repr import short_repr
from phistar.spatial.vectors import leading_axes

STILL = 1e-6  # rad or m from an equilibrium: farther, a state is not one
RIGID = 1e-10  # of the largest ω²: below it, rounding
EMPTY = 1e-9  # of the largest singular value: below it, a combination of closures asks for nothing
CONSERVATIVE = 1e-6  # of K: above it, what is not symmetric is no rounding


@short_repr
class Modes(NamedTuple):
    """Natural frequencies and mode shapes of small undamped motions, slowest first.

    q ⊕ shapes[:, i] ε cos(frequencies[i] t).

    Parameters
    ----------
    frequencies : (…, k)
        [rad/s]: 0 where nothing pulls back, NaN where the equilibrium is unstable.
    shapes : (…, nv, k)
        With ψ*ℳψ = 1.
    squares : (…, k)
        ω² [rad²/s²], negative where unstable. k is nv, with loops the freedom they leave.

    Examples
    --------
    >>> ps.modes(ps.planar_chain(1, gravity=(9.81, 0, 0)), [0.0]).shapes.shape
    (1, 1)
    """

    frequencies: Array
    shapes: Array
    squares: Array


def modes(model: Model, q: Any, tau: Any = None) -> Modes:
    """Natural frequencies and mode shapes about an equilibrium.

    Kψ = ω²ℳψ with K = −ℳ ∂θ̈/∂q at rest, springs and gravity included; with loops, over the deviations that keep them
    closed, the closing forces' own stiffness included. Damping and dry friction are left out.

    Parameters
    ----------
    model
        The mechanism.
    q
        (…, nq), where it stays at rest.
    tau
        (…, nv), constant joint forces that hold it there besides its springs; none by default.

    Returns
    -------
    Modes
        Frequencies in rad/s, slowest first, and shapes.

    Raises
    ------
    InfeasibleError
        Where the mechanism would not stay at rest, or where the forces that hold it have no potential.

    Examples
    --------
    >>> import numpy as np
    >>> import phistar as ps
    >>> b = ps.ModelBuilder("pendulum", gravity=(0, 0, -9.81))
    >>> b.body("bob", joint=ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(1.0, (0, 0, -2.0), np.zeros((3, 3))))
    >>> float(np.round(ps.modes(b.build(), [0.0]).frequencies[0] ** 2, 3))  # g/l
    4.905
    """
    check_robot("modes", (model,))
    q = model.checked_q(q)
    tau = model.checked(np.zeros(model.nv) if tau is None else tau, model.nv, "tau")
    batch = leading_axes({"q": q, "tau": tau})
    q, tau = np.broadcast_to(q, (*batch, model.nq)), np.broadcast_to(tau, (*batch, model.nv))
    found = [_modes_at(model, q[index], tau[index]) for index in np.ndindex(*batch)]
    if len({len(each.squares) for each in found}) > 1:
        raise InfeasibleError(f"The loops of {model.name} leave different freedoms at these q; ask for one at a time.")
    if not found:
        return Modes(np.zeros((*batch, model.nv)), np.zeros((*batch, model.nv, model.nv)), np.zeros((*batch, model.nv)))
    return Modes(*(np.reshape(part, (*batch, *np.shape(part)[1:])) for part in zip(*found, strict=True)))


def _modes_at(model: Model, q: np.ndarray, tau: np.ndarray) -> Modes:
    rest = np.zeros(model.nv)
    slope = linearize(model, q, rest, tau).A[model.nv :, : model.nv]
    _require_equilibrium(model, q, tau, slope)
    free = _free_directions(model, q)
    mass = free.T @ mass_matrix(model, q) @ free
    stiffness = -mass @ (free.T @ slope @ free)
    across = np.abs(stiffness - stiffness.T).max(initial=0.0)
    if across > CONSERVATIVE * np.abs(stiffness).max(initial=0.0):
        raise InfeasibleError(
            f"The forces that hold {model.name} have no potential (its stiffness is unsymmetric by {across:.3g} of "
            f"{np.abs(stiffness).max():.3g}), so it has no normal modes; ps.linearize has its motion."
        )
    lower = np.linalg.cholesky(mass)
    half = np.linalg.solve(lower, 0.5 * (stiffness + stiffness.T))
    squares, turned = np.linalg.eigh(np.linalg.solve(lower, half.T))
    shapes = np.asarray(free @ np.linalg.solve(lower.T, turned), dtype=np.float64)
    squares = np.where(np.abs(squares) <= RIGID * np.abs(squares).max(initial=0.0), 0.0, squares)
    return Modes(np.sqrt(np.where(squares < 0.0, np.nan, squares)), shapes, squares)


def _free_directions(model: Model, q: np.ndarray) -> np.ndarray:
    """Orthonormal joint rates that keep every loop closed, (nv, k)."""
    if not model.loops:
        return np.eye(model.nv)
    _, sizes, directions = np.linalg.svd(closure_jacobian(model, q))
    rank = int(np.sum(sizes > EMPTY * sizes.max(initial=0.0)))
    return directions[rank:].T


def _require_equilibrium(model: Model, q: np.ndarray, tau: np.ndarray, slope: np.ndarray) -> None:
    """Refuse a q that is farther than STILL (rad, m) from one where nothing moves, as far as ∂θ̈/∂q says."""
    rest = np.zeros(model.nv)
    moves = forward_dynamics(model, q, rest, tau + spring_and_damper_forces(model, q, rest))
    if not np.abs(moves).max(initial=0.0) <= STILL * np.abs(slope).max(initial=0.0):
        worst = int(np.argmax(np.abs(moves)))
        at = worst if model.embedding is None else model.embedding.independent[worst]
        names = (joint.name for joint in model.joints if joint.v_slice.start <= at < joint.v_slice.stop)
        joint = next(names, f"rate {worst}")  # a mode, or a combination of joints' rates
        raise InfeasibleError(
            f"{model.name} does not stay at rest at this q: '{joint}' would accelerate by {moves[worst]:.3g}. Modes "
            "are about an equilibrium: give the joint forces that hold it there as `tau` (ps.gravity_load and the "
            "springs' forces, if motors do), or a q where it hangs still."
        )
