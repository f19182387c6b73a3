"""Forces, accelerations and inertia of the joints, each one operator statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.backends.traces.trace import is_traced
from phistar.model import Model, require_tree
from phistar.short_repr import short_repr
from phistar.stated import AS_WRITTEN, is_short, is_short_and_coupled, states

Forces = Mapping[str, ArrayLike] | None  # {frame: (…, 6)} acting on the body, world axes at the frame


@states(lambda s: s.mass @ s.qdd + s.C + s.g - s.load)
def inverse_dynamics(model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: Forces = None) -> Array:
    """Joint forces that give the robot the joint accelerations `a`.

    τ = ℳθ̈ + 𝒞 + 𝒢 − J*f (RJK91 eq. 2), by two sweeps. With loops, those of the spanning tree.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    v : (…, nv)
        Joint rates [rad/s, m/s].
    a : (…, nv)
        Joint accelerations [rad/s², m/s²].
    f_ext : {frame: (…, 6)}, optional
        Forces on the robot, [moment; force] [N m, N] in world axes at the frame.

    Returns
    -------
    (…, nv)
        Joint forces [N m, N].

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> ps.inverse_dynamics(arm, [0, 0], [0, 0], [1, 0]).round(3)
    array([2.668, 0.834])
    """
    return inverse_dynamics.evaluate(model, q, {"v": v, "qdd": a}, f_ext)


@states(lambda s: s.mass.inv @ (s.T - s.C - s.g + s.load), whole=is_short_and_coupled)
def forward_dynamics(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: Forces = None) -> Array:
    """Joint accelerations of the robot under joint forces `tau`.

    θ̈ = ℳ⁻¹(T − 𝒞 − 𝒢 + J*f) (RJK91 eqs. 14, 15), in O(n). With loops, the accelerations that keep every loop closed
    (RJK91 eqs. 21-26).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    v : (…, nv)
        Joint rates [rad/s, m/s].
    tau : (…, nv)
        Joint forces [N m, N].
    f_ext : {frame: (…, 6)}, optional
        Forces on the robot, [moment; force] [N m, N] in world axes at the frame.

    Returns
    -------
    (…, nv)
        Joint accelerations [rad/s², m/s²].

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> ps.forward_dynamics(arm, [0, 0], [0, 0], [1, 0]).round(3)
    array([ 1.708, -4.266])
    """
    if model.loops:
        from phistar.loops.forward import closed_forward_dynamics  # made of this module's statements

        return closed_forward_dynamics(model, q, v, with_load(model, q, tau, f_ext))
    return forward_dynamics.evaluate(model, q, {"v": v, "T": tau}, f_ext)


@states(lambda s: s.J.T @ s.f)
def frame_load(model: Model, q: ArrayLike, f_ext: Forces) -> Array:
    """J*f, (…, nv): the joint forces of forces at frames (RJK91 eq. 2)."""
    return frame_load.evaluate(model, q, {}, f_ext)


def with_load(model: Model, q: ArrayLike, tau: ArrayLike, f_ext: Forces) -> Any:
    """T + J*f, (…, nv)."""
    none = f_ext is None or (isinstance(f_ext, Mapping) and not f_ext)
    return tau if none else np.asarray(tau) + frame_load(model, q, f_ext)


@states(
    lambda s: s.whitening.T @ s.D.inv @ s.whitening @ (s.T - s.H @ s.phi @ (s.M @ s.phi.T @ s.bias + s.b)),
    form=AS_WRITTEN,
)
def forward_dynamics_two_step(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Array:
    """Joint accelerations by Algorithm FD as RJK91 prints it, the biases removed first.

    θ̈ = (I − HψK)*D⁻¹(I − HψK)T′ (RJK91 eqs. 14, 15). `forward_dynamics` is what the laws make of it: one sweep less,
    the biases inside.

    Parameters
    ----------
    model : Model
        Without loops.
    q, v, tau : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and forces.

    Returns
    -------
    (…, nv)
        Joint accelerations [rad/s², m/s²].

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> ps.forward_dynamics_two_step(arm, [0, 0], [0, 0], [1, 0]).round(3)
    array([ 1.708, -4.266])
    """
    require_tree(model, "forward_dynamics_two_step")
    return forward_dynamics_two_step.evaluate(model, q, {"v": v, "T": tau})


@states(lambda s: s.mass, matrix=True)
def mass_matrix(model: Model, q: ArrayLike) -> Array:
    """Mass matrix of the robot, armature included.

    ℳ = HφMφ*H* + A (RJK91 eq. 3).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    (…, nv, nv)
        Symmetric, positive definite [kg m², kg m, kg].

    Examples
    --------
    >>> ps.mass_matrix(ps.planar_chain(2), [0, 0]).round(3)
    array([[2.668, 0.834],
           [0.834, 0.334]])
    """
    return mass_matrix.evaluate(model, q)


@states(lambda s: s.mass.inv, matrix=True, whole=is_short_and_coupled)
def mass_matrix_inverse(model: Model, q: ArrayLike) -> Array:
    """Inverse of the mass matrix, without forming the mass matrix.

    ℳ⁻¹ = (I − HψK)*D⁻¹(I − HψK) (RJK91 lemma 3). With loops, ℳ⁻¹ − ℳ⁻¹A*(Aℳ⁻¹A*)⁺Aℳ⁻¹: what joint forces add to θ̈
    while every loop stays closed.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    (…, nv, nv)

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> (ps.mass_matrix_inverse(arm, [0, 1]) @ ps.mass_matrix(arm, [0, 1])).round(9) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    if model.loops:
        from phistar.loops.closed_response import closed_mass_matrix_inverse  # made of this module's statements

        return closed_mass_matrix_inverse(model, q)
    return mass_matrix_inverse.evaluate(model, q)


@states(lambda s: s.C + s.g)
def bias(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Coriolis, centrifugal and gravity forces of the joints: `inverse_dynamics` at zero acceleration.

    𝒞 + 𝒢 = Hφ(Mφ*ā + b) (KJR92 eq. 45).

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.

    Returns
    -------
    (…, nv)
        Joint forces [N m, N].

    Examples
    --------
    >>> arm = ps.planar_chain(2, gravity=(0, -9.81, 0))
    >>> ps.bias(arm, [0, 0], [1, -1]).round(3)
    array([19.62 ,  4.905])
    """
    return bias.evaluate(model, q, {"v": v})


@states(lambda s: s.g)
def gravity_load(model: Model, q: ArrayLike) -> Array:
    """Joint forces that hold the robot still against gravity.

    𝒢 = HφMφ*E*a_g (KJR92 eq. 44).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    (…, nv)
        Joint forces [N m, N].

    Examples
    --------
    >>> arm = ps.planar_chain(2, gravity=(0, -9.81, 0))
    >>> ps.gravity_load(arm, [0, 0])
    array([19.62 ,  4.905])
    """
    return gravity_load.evaluate(model, q)


@states(lambda s: s.C_ref, whole=is_short)
def coriolis_matrix(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Matrix of the Coriolis and centrifugal forces, with dℳ/dt − 2C skew.

    C(θ, θ̇)θ̇ = 𝒞, column by column from the statement of C(θ, θ̇)θ̇ᵣ (RJK91 §6). On joints whose rates are those of
    their coordinates it is Christoffel's.

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.

    Returns
    -------
    (…, nv, nv)

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> C = ps.coriolis_matrix(arm, [0, 1], [1, 2])
    >>> np.allclose(C @ [1, 2], ps.bias(arm, [0, 1], [1, 2]) - ps.gravity_load(arm, [0, 1]))
    True
    """
    q, v, unit = model.checked_q(q), model.checked(v, model.nv, "v"), np.eye(model.nv)
    if is_traced(q, v):  # traced numbers are one state: a column at a time
        return np.stack([coriolis_matrix.evaluate(model, q, {"v": v, "v_ref": x}) for x in unit], axis=-1)
    columns = coriolis_matrix.evaluate(model, q[..., None, :], {"v": v[..., None, :], "v_ref": unit})
    return np.swapaxes(columns, -1, -2)


@short_repr
class Innovations(NamedTuple):
    """ℳ = factor · D · factor*, inverse = factor⁻¹; each (…, nv, nv)."""

    factor: Array
    inverse: Array
    D: Array


@states(lambda s: {"factor": s.factor, "inverse": s.whitening, "D": s.D}, matrix=True)
def innovations(model: Model, q: ArrayLike) -> Innovations:
    """Innovations factorization of the mass matrix.

    ℳ = (I + HφK)D(I + HφK)*, (I + HφK)⁻¹ = I − HψK (RJK91 lemmas 1 and 2).

    Parameters
    ----------
    model : Model
        Without loops.
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    Innovations
        `factor` I + HφK, `inverse` I − HψK and `D`, each (…, nv, nv); D is block diagonal by joints.

    Examples
    --------
    >>> found = ps.innovations(ps.planar_chain(2), [0, 0])
    >>> (found.factor @ found.D @ found.factor.T).round(3)
    array([[2.668, 0.834],
           [0.834, 0.334]])
    """
    require_tree(model, "innovations")
    return Innovations(**innovations.evaluate_all(model, q))


@states(lambda s: s.mass.inv @ (s.T + s.load), whole=is_short_and_coupled)
def force_response(model: Model, q: ArrayLike, tau: ArrayLike, f_ext: Forces = None) -> Array:
    """Joint accelerations that joint forces and forces at frames add.

    ℳ⁻¹(T + J*f) (RJK91 eqs. 14, 18), loops kept closed.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    tau : (…, nv)
        Joint forces [N m, N].
    f_ext : {frame: (…, 6)}, optional
        Forces on the robot, [moment; force] in world axes at the frame.

    Returns
    -------
    (…, nv)
        Added joint accelerations [rad/s², m/s²].

    Examples
    --------
    >>> ps.force_response(ps.planar_chain(2), [0, 0], [1, 0]).round(3)
    array([ 1.708, -4.266])
    """
    if model.loops:
        from phistar.loops.closed_response import closed_response  # made of this module's statements

        return closed_response(model, q, tau, f_ext)
    return force_response.evaluate(model, q, {"T": tau}, f_ext)
