"""Contact forces over a path: the least that carry an object, inside friction cones and within motors' limits.

On a path q, v, a of arms and object, joint forces τ and forces λ along the closures' rows A keep

    ID(q, v, a) = τ + A*λ

Rates without a motor, the object's, leave of λ what squeezes and moves nothing: λ = λ_p + P s, P the projector on
internal forces. s is a spline over the path, and of all splines

    least ∫|λ|² with  n·λ ≥ least push,  |t·λ| ≤ μ n·λ at every contact,  |τ| ≤ effort,   at every sample

is one quadratic program. Cones are pyramids of eight sides inside Coulomb's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import linprog

from phistar.array_types import Array
from phistar.dynamics import inverse_dynamics
from phistar.errors import InfeasibleError, ModelError, PhistarError, ShapeError
from phistar.loops.closure import loop_slices, row_count
from phistar.loops.cut import across
from phistar.loops.feasible_rates import closure_jacobian
from phistar.loops.forces import on_frames
from phistar.loops.grasp.contacts import PointContact, SlidingPoint
from phistar.loops.least_quadratic import least_quadratic
from phistar.model import Model
from phistar.short_repr import short_repr

SIDES = 8  # of a friction pyramid, inside the cone
SMALL = 1e-9  # weight of what of s makes no force
CARRIED = 1e-6  # of the load: what contacts may miss of it
DEGREE = 3
FAR = 1e6  # N, of internal forces that are looked at


@short_repr
class ForcePlan(NamedTuple):
    """Forces over T samples of a path. `rows` (T, m) are those along the closures' rows; `forces` {loop: (T, 6)} the
    same on its frame_a, [moment; force] in world axes; `tau` (T, nv) the joint forces; `pressing` (T, k) the normal
    forces of the k contacts, `slipping` (T, k) their tangential forces over μ times these, at most 1."""

    rows: Array
    forces: Mapping[str, Array]
    tau: Array
    pressing: Array
    slipping: Array


class _Cone(NamedTuple):
    """Rows of a contact, its normal in them (r,), tangents (2, r) and μ."""

    name: str
    rows: slice
    normal: np.ndarray
    tangents: np.ndarray
    friction: float


class _Path(NamedTuple):
    """Loads (T, nv) that joint and contact forces share, A (T, m, nv), the motors' rates, and limits of these."""

    load: np.ndarray
    closing: np.ndarray
    driven: np.ndarray
    effort: np.ndarray


def plan_forces(
    model: Model,
    q: Any,
    v: Any,
    a: Any,
    contacts: Sequence[str],
    *,
    effort: Any = None,
    least_push: float = 0.0,
    knots: int = 12,
) -> ForcePlan:
    """Contact and joint forces along a path of arms and what they hold: the least that keep every contact.

    Parameters
    ----------
    model : Model
        Arms, an object on a `Free` joint, and a loop for every contact, which the path keeps closed. Loops that are not
        named among the `contacts` hold from both sides.
    q, v, a : (T, nq), (T, nv), (T, nv)
        The path: coordinates, rates and accelerations at T samples.
    contacts : list of loop names
        `PointContact` or `SlidingPoint` loops, which push only, each inside its own friction cone.
    effort : (nv,) or float, optional
        Greatest joint forces; by default the model's own. Free joints have no motor.
    least_push : float
        Of every contact's normal force, N: what is kept against disturbances.
    knots : int
        Coefficients of the spline that internal forces are, in each direction: more follow the path closer, fewer are
        smoother.

    Returns
    -------
    ForcePlan

    Raises
    ------
    InfeasibleError
        Where no forces keep the contacts: which limit is missed, at which sample, and by how much at least.

    Examples
    --------
    >>> builder = ps.ModelBuilder("two fingers")
    >>> still = ps.Inertia(1.0, (0, 0, 0), np.eye(3))
    >>> for name, x, way in (("left", -0.1, 1.0), ("right", 0.1, -1.0)):
    ...     finger = builder.body(name, joint=ps.Prismatic((way, 0, 0)), placement=ps.Pose((x, 0, 0)), inertia=still)
    >>> block = builder.body("block", joint=ps.Free(), inertia=still)
    >>> for name, x, way in (("left", -0.1, -1.0), ("right", 0.1, 1.0)):
    ...     for k, z in enumerate((-0.02, 0.02)):
    ...         side = builder.frame(f"{name}{k} side", "block", ps.Pose((x, 0, z)))
    ...         tip = builder.frame(f"{name}{k} tip", name, ps.Pose((0, 0, z)))
    ...         touch = ps.loops.PointContact(0.5, normal=(way, 0, 0))
    ...         loop = builder.loop(f"{name}{k}", f"{name}{k} side", f"{name}{k} tip", touch)
    >>> model = builder.build(strict=False)
    >>> q, rest = np.tile(model.neutral(), (5, 1)), np.zeros((5, model.nv))
    >>> plan = ps.loops.plan_forces(model, q, rest, rest, ["left0", "left1", "right0", "right1"], least_push=1.0)
    >>> bool(plan.pressing.min() > 4.9), bool(plan.slipping.max() <= 1.0 + 1e-6)  # 9.8 N on four points, friction 0.5
    (True, True)
    """
    cones, path = [_cone(model, name) for name in _contact_names(contacts)], _path(model, q, v, a, effort)
    base, inner = _carrying(model, path)
    basis = _basis(len(base), knots)
    G, h, said = _limits(model, path, cones, base, float(least_push))
    moved = np.einsum("tk,tij->tikj", basis, inner).reshape(*inner.shape[:2], -1)  # λ by the coefficients, (T, m, K m)
    rows = np.einsum("tri,tij->trj", G, moved).reshape(-1, moved.shape[-1])
    H = np.einsum("tij,tik->jk", moved, moved) / len(base) + SMALL * np.eye(moved.shape[-1])
    found = least_quadratic(H, np.zeros(len(H)), rows, h.reshape(-1))
    if found is None:
        raise InfeasibleError(_worst_violation(np.matmul(G, inner), h, said))
    forces = base + moved @ found
    tau = np.where(path.driven, path.load - np.einsum("tij,ti->tj", path.closing, forces), 0.0)
    pressing = np.stack([forces[:, c.rows] @ c.normal for c in cones], axis=-1)
    sideways = [np.linalg.norm(forces[:, c.rows] @ c.tangents.T, axis=-1) for c in cones]
    most = [np.maximum(c.friction * p, 1e-300) for c, p in zip(cones, pressing.T, strict=True)]
    slipping = np.stack([s / m for s, m in zip(sideways, most, strict=True)], axis=-1)
    return ForcePlan(forces, on_frames(model, np.asarray(q, dtype=float), forces), tau, pressing, slipping)


def _contact_names(contacts: Sequence[str]) -> list[str]:
    names = [contacts] if isinstance(contacts, str) else list(contacts)
    if not names or len(set(names)) < len(names):
        raise ModelError(f"The contacts must be named once each, and there must be some; {names} were given.")
    return names


def _cone(model: Model, name: str) -> _Cone:
    joint, rows = model.loop(name).joint, loop_slices(model)[name]
    if isinstance(joint, SlidingPoint):
        return _Cone(name, rows, np.ones(1), np.zeros((0, 1)), 0.0)
    if isinstance(joint, PointContact):
        return _Cone(name, rows, joint.normal, np.array(across(joint.normal)), joint.friction)
    raise ModelError(
        f"The contact '{name}' is a {type(joint).__name__}, which holds from both sides; forces are planned inside the "
        "cones of a PointContact or a SlidingPoint. Give a face by the points at its corners."
    )


def _path(model: Model, q: Any, v: Any, a: Any, effort: Any) -> _Path:
    place, rates = model.checked_q(q), (model.checked(x, model.nv, name) for x, name in ((v, "v"), (a, "a")))
    velocity, acceleration = rates
    shapes = place.shape[:-1], velocity.shape[:-1], acceleration.shape[:-1]
    if (
        place.ndim != 2
        or len(set(shapes)) > 1
        or not all(np.isfinite(x).all() for x in (place, velocity, acceleration))
    ):
        raise ShapeError(f"A path is q, v and a of T samples each, finite; their leading axes are {shapes}.")
    driven = np.ones(model.nv, dtype=bool)
    for joint in model.joints:
        driven[joint.v_slice] = joint.nv < 6
    try:
        limits = (
            model.effort_limits if effort is None else np.broadcast_to(np.asarray(effort, dtype=float), (model.nv,))
        )
    except (TypeError, ValueError):
        raise ShapeError(f"effort is one number or ({model.nv},); it was given {effort!r:.100}.") from None
    if not (limits[driven] > 0.0).all():
        raise ShapeError("Greatest joint forces must be positive.")
    load = inverse_dynamics(model.tree, place, velocity, acceleration)
    return _Path(load, closure_jacobian(model, place), driven, limits)


def _carrying(model: Model, path: _Path) -> tuple[np.ndarray, np.ndarray]:
    """λ_p (T, m) that carries what no motor does, and the projector (T, m, m) on forces that carry nothing."""
    B = np.swapaxes(path.closing[:, :, ~path.driven], -1, -2)
    load = path.load[:, ~path.driven]
    back = np.linalg.pinv(B, rcond=1e-9)
    base = np.matmul(back, load[..., None])[..., 0]
    left = np.linalg.norm(load - np.matmul(B, base[..., None])[..., 0], axis=-1)
    worst = int(np.argmax(left))
    if left[worst] > CARRIED * (1.0 + np.abs(load).max()):
        raise InfeasibleError(
            f"The contacts of {model.name} cannot carry the load of sample {worst}, whatever they push: "
            f"{left[worst]:.3g} N or N m of it are left over."
        )
    return base, np.eye(row_count(model)) - np.matmul(back, B)


def _basis(samples: int, knots: int) -> np.ndarray:
    """(T, K): the spline's shape functions at the samples."""
    count = min(int(knots), samples)
    if count < 1:
        raise PhistarError(f"A path has samples and its forces knots; there are {samples} and {knots}.")
    degree = min(DEGREE, count - 1)
    inner = np.linspace(0.0, 1.0, count - degree + 1)[1:-1]
    places = np.concatenate([np.zeros(degree + 1), inner, np.ones(degree + 1)])
    return BSpline.design_matrix(np.linspace(0.0, 1.0, samples), places, degree).toarray()


def _limits(
    model: Model, path: _Path, cones: list[_Cone], base: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """G (T, r, m) and h (T, r) of G(λ − λ_p) ≤ h, and the name of each of the r."""
    T, m = base.shape
    rows, bounds, said = [], [], []
    for cone in cones:
        push = np.zeros((1, m))
        push[0, cone.rows] = -cone.normal
        rows.append(np.broadcast_to(push, (T, 1, m)))
        bounds.append(np.full((T, 1), -least))
        said.append(f"the push of {cone.name}, N")
        if len(cone.tangents):
            angles = 2.0 * np.pi * (np.arange(SIDES) + 0.5) / SIDES
            ways = np.stack([np.cos(angles), np.sin(angles)], axis=-1) @ cone.tangents
            sides = np.zeros((SIDES, m))
            sides[:, cone.rows] = ways - cone.friction * np.cos(np.pi / SIDES) * cone.normal
            rows.append(np.broadcast_to(sides, (T, SIDES, m)))
            bounds.append(np.zeros((T, SIDES)))
            said += [f"the friction of {cone.name}, N"] * SIDES
    limited = path.driven & np.isfinite(path.effort)
    by_rate = np.swapaxes(path.closing, -1, -2)[:, limited]
    names = [joint.name for joint in model.joints for _ in range(joint.nv)]
    for way in (1.0, -1.0):  # ±(load − A*λ) ≤ effort
        rows.append(-way * by_rate)
        bounds.append(path.effort[limited] - way * path.load[:, limited])
        said += [f"the effort of {name}" for name, own in zip(names, limited, strict=True) if own]
    G, h = np.concatenate(rows, axis=1), np.concatenate(bounds, axis=1)
    return G, h - np.einsum("tri,ti->tr", G, base), said


def _worst_violation(rows: np.ndarray, h: np.ndarray, said: list[str]) -> str:
    """The sample whose limits, `rows` (T, r, m) times its internal forces below h (T, r), are missed most, and which of
    them, where they are missed by as little as can be."""
    size, worst = rows.shape[-1], (0.0, 0, 0)
    for sample, (own, bound) in enumerate(zip(rows, h, strict=True)):
        eased = np.concatenate([own, -np.ones((len(own), 1))], axis=1)
        ends = [(-FAR, FAR)] * size + [(0.0, None)]
        found = linprog(np.eye(size + 1)[size], eased, bound, bounds=ends).x
        if found is not None:
            over = own @ found[:size] - bound
            worst = max(worst, (float(over.max()), sample, int(np.argmax(over))))
    missed, sample, which = worst
    if missed <= CARRIED:
        return "Every sample of this path has contact forces that keep all limits, but no spline does: give more knots."
    return (
        f"No contact forces keep all limits along this path: {said[which]} is missed by {missed:.3g} at least, at "
        f"sample {sample}. More friction, stronger motors, other contacts or a slower path would do."
    )
