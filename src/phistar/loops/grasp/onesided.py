"""One-sided contacts: forces that only push, with Coulomb friction, as a complementarity problem (RJK91 §6).

    0 ≤ γ ⟂ P*(S P γ + w_f + s) ≥ 0,   S = A ℳ⁻¹ A*

Columns of P are the edges of the friction pyramids, w_f the accelerations of the contacts without forces, S their
effective inertia (RJK91 eq. 26) with two-sided closures eliminated. The shift s = μ max(−tₖ·w) along the normals is
found by iteration; with it, slipping contacts move along their surfaces and do not lift off (de Saxcé and Feng 1998),
and Coulomb's law holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.dynamics import Forces, with_load
from phistar.errors import ModelError, PhistarError
from phistar.loops.closure import loop_slices
from phistar.loops.cut import across
from phistar.loops.equations import equations, response_to_forces
from phistar.loops.forces import on_frames
from phistar.loops.grasp.contacts import PointContact, SlidingPoint
from phistar.model import Model
from phistar.short_repr import short_repr
from phistar.stated_arguments import broadcast_state

EDGES = 8  # of a friction pyramid, inside the cone
SLIDES = 1e-9  # m/s: slower contacts stick as long as they can
EMPTY = 1e-11  # of the largest eigenvalue of S
SETTLED, MOST_ROUNDS = 1e-12, 200


@short_repr
class OneSidedMotion(NamedTuple):
    """θ̈ (…, nv); forces {loop: (…, 6)} on its frame_a, world axes; normal acceleration of each one-sided contact
    (…, k), 0 where it stays closed, and its normal force (…, k), 0 where it opens."""

    acceleration: Array
    forces: dict[str, Array]
    opening: Array
    pressing: Array


class _Contact(NamedTuple):
    """Rows of one contact, its normal in them (r,), tangents (k, r) and μ."""

    rows: slice
    normal: Array
    tangents: Array
    friction: float


def one_sided_dynamics(
    model: Model, q: Any, v: Any, tau: Any, one_sided: Sequence[str], f_ext: Forces = None
) -> OneSidedMotion:
    """Motion of a model whose named contacts push but never pull, with Coulomb friction (RJK91 §6).

    0 ≤ γ ⟂ P*(SPγ + w_f + s) ≥ 0, a complementarity problem; a line or a face in contact is given by its corners.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Configuration, rad and m; the contacts closed.
    v, tau : (…, nv)
        Rates, rad/s and m/s, and joint forces, N m and N.
    one_sided : sequence of str
        Names of loops, PointContact or SlidingPoint, that only push; the model's other loops stay closed.
    f_ext : mapping of str to (…, 6), optional
        External forces at frames, [moment; force] in world axes, N m and N.

    Returns
    -------
    OneSidedMotion
        Joint accelerations (…, nv), the loops' forces, and of each contact its normal acceleration and its normal force
        (…, k): one of the two is 0.

    Examples
    --------
    >>> b = ps.ModelBuilder("on the ground")
    >>> b.body("box", joint=ps.Free(), inertia=ps.Inertia(2.0, tensor=0.1 * np.eye(3)))
    >>> b.loop("foot", "world", "box", ps.loops.SlidingPoint())
    >>> box = b.build()
    >>> lift = [0, 0, 0, 0, 0, 10.0]  # 10 N of 19.62 N
    >>> motion = ps.loops.one_sided_dynamics(box, box.neutral(), np.zeros(6), lift, ["foot"])
    >>> motion.pressing.round(2).tolist(), motion.opening.round(2).tolist()
    ([9.62], [-0.0])
    """
    names = [one_sided] if isinstance(one_sided, str) else list(one_sided)
    if len(set(names)) < len(names):
        raise ModelError(f"The one-sided contacts must be named once each; {names} were given.")
    contacts = [_contact(model, name) for name in names]
    if not model.loops:
        raise ModelError(f"{model.name} has no loops, so it has no contacts; ps.forward_dynamics gives its motion.")
    q, v = broadcast_state(model, q, v)
    made = equations(model, q, v, with_load(model, q, tau, f_ext))
    batch = np.broadcast_shapes(made.right.shape[:-1], made.matrix.shape[:-2])
    shapes = made.matrix, made.right, made.rate
    matrix, free, rate = (np.broadcast_to(x, (*batch, *x.shape[x.ndim - n :])) for x, n in zip(shapes, (2, 1, 1)))
    rows, opening, pressing = np.zeros(free.shape), np.zeros((*batch, len(contacts))), np.zeros((*batch, len(contacts)))
    for index in np.ndindex(*batch):
        if np.isfinite(matrix[index]).all() and np.isfinite(free[index]).all():
            rows[index] = _forces(model, matrix[index], free[index], rate[index], contacts)
        else:
            rows[index] = np.nan
        moved = free[index] + matrix[index] @ rows[index]
        opening[index] = [own.normal @ moved[own.rows] for own in contacts]
        pressing[index] = [own.normal @ rows[index][own.rows] for own in contacts]
    acceleration = made.free + response_to_forces(model, q, made.closures, rows)
    return OneSidedMotion(acceleration, on_frames(model, q, rows), opening, pressing)


def _contact(model: Model, name: str) -> _Contact:
    joint, rows = model.loop(name).joint, loop_slices(model)[name]
    if isinstance(joint, SlidingPoint):
        return _Contact(rows, np.ones(1), np.zeros((0, 1)), 0.0)
    if isinstance(joint, PointContact):
        one, two = across(joint.normal)
        angles = 2.0 * np.pi * np.arange(EDGES) / EDGES
        return _Contact(
            rows, joint.normal, np.outer(np.cos(angles), one) + np.outer(np.sin(angles), two), joint.friction
        )
    raise ModelError(
        f"The contact '{name}' is a {type(joint).__name__}, which holds from both sides; a one-sided contact is a "
        "PointContact or a SlidingPoint. Give a line or a face by the points at its corners."
    )


def _forces(model: Model, matrix: Array, free: Array, rate: Array, contacts: list[_Contact]) -> Array:
    """The forces along all rows, (m,), of one state."""
    own = np.concatenate([np.zeros(0, int), *(np.arange(len(free))[x.rows] for x in contacts)])
    rest = np.setdiff1d(np.arange(len(free)), own)
    held = np.linalg.pinv(matrix[np.ix_(rest, rest)], rcond=EMPTY, hermitian=True)
    eliminated = matrix[np.ix_(own, rest)] @ held
    square = matrix[np.ix_(own, own)] - eliminated @ matrix[np.ix_(rest, own)]
    alone = free[own] - eliminated @ free[rest]
    result = np.zeros(len(free))
    result[own] = _pushing(model, square, alone, rate[own], contacts)
    result[rest] = -held @ (free[rest] + matrix[np.ix_(rest, own)] @ result[own])
    return result


def _pushing(model: Model, square: Array, free: Array, rate: Array, contacts: list[_Contact]) -> Array:
    """P γ, with the shift s found by iteration."""
    if not contacts:
        return np.zeros(0)
    starts = np.cumsum([0, *(len(x.normal) for x in contacts)])
    places = [slice(a, b) for a, b in pairwise(starts)]
    slips = [_slipping(own, rate[place]) for own, place in zip(contacts, places, strict=True)]
    edges = np.zeros((len(free), 0))
    for own, place, tangents in zip(contacts, places, slips, strict=True):
        block = np.zeros((len(free), max(len(tangents), 1)))
        block[place] = (own.normal + own.friction * tangents).T if len(tangents) else own.normal[:, None]
        edges = np.concatenate([edges, block], axis=1)
    values, vectors = np.linalg.eigh(square)
    kept = values > EMPTY * max(values.max(initial=0.0), 0.0)
    factor = vectors[:, kept] * np.sqrt(values[kept])
    shift, scale = np.zeros(len(free)), 1.0 + np.abs(free).max(initial=0.0)
    for _ in range(MOST_ROUNDS):
        forces = edges @ _least_change(model, edges.T @ factor, edges.T @ (free + shift), scale)
        moved = square @ forces + free
        wanted = np.zeros(len(free))
        for own, place, tangents in zip(contacts, places, slips, strict=True):
            if len(tangents):
                wanted[place] = own.friction * np.max(-tangents @ moved[place]) * own.normal
        if np.abs(wanted - shift).max(initial=0.0) <= SETTLED * scale:
            return forces
        shift = wanted
    raise PhistarError(
        f"The friction forces of {model.name} do not settle: with so much friction there is no motion of rigid bodies, "
        "or several (Painlevé's paradox). Give less friction, or soften the contact."
    )


def _least_change(model: Model, effect: Array, free: Array, scale: float) -> Array:
    """γ ≥ 0 of the least z with G z + h ≥ 0, z = G*γ: Gauss's principle, in coordinates in which its metric is 1.

    Lawson and Hanson's least distance programming: a least-squares problem with γ ≥ 0.
    """
    from scipy.optimize import nnls

    stacked = np.concatenate([effect, -free[:, None] / scale], axis=1).T
    aim = np.zeros(len(stacked))
    aim[-1] = 1.0
    weights, _ = nnls(stacked, aim)
    distance = 1.0 - stacked[-1] @ weights
    if distance < 1e-14:
        raise PhistarError(
            f"The one-sided contacts of {model.name} press bodies together that nothing can move apart; there is no "
            "motion that keeps them out of each other."
        )
    return scale * weights / distance


def _slipping(contact: _Contact, rate: Array) -> Array:
    """The directions of friction, (k, r): any while the contact sticks, against the slip while it slips."""
    if not len(contact.tangents):
        return contact.tangents
    slip = rate - contact.normal * (contact.normal @ rate)
    speed = np.linalg.norm(slip)
    return -slip[None] / speed if speed > SLIDES else contact.tangents
