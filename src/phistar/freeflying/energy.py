"""Split of a motion into that of the robot as one rigid body and its joints' (RJ2W §4)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.freeflying.free_base import check_free_base
from phistar.identities.two_way_laws import joint_forces, joint_motions
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.stated import states

HALF = Fraction(1, 2)


def whole_mass(s: Symbols) -> Node:
    """π_f r π_f*, RJ2W's r_f(N+1): the robot as one body, as its base sees it."""
    return s.pi_f @ s.r @ s.pi_f.T


def momentum_at_base(s: Symbols) -> Node:
    """π_fφ(MV + ℰφSθ̇)."""
    return s.pi_f @ s.phi @ (s.M @ s.V + s.E_phi @ s.S @ s.v)


def joint_momentum_at_base(s: Symbols) -> Node:
    """π_fφ(rH* + ℰφS)N*: what the joints' rates add to it while the base keeps still."""
    motions, rotors = joint_motions(s)
    return s.pi_f @ s.phi @ (s.r @ motions + rotors)


def wiggle(s: Symbols) -> Node:
    """−r⁻¹(N+1)CRH* (RJ2W eq. 23)."""
    return -(whole_mass(s).inv @ joint_momentum_at_base(s))


@states(lambda s: wiggle(s) @ s.v_i, form=AS_WRITTEN)
def wiggle_velocity(model: Model, q: Any, joint_rates: Any) -> Array:
    """Velocity of the base when only the joints move and the robot has no momentum.

    V_WIGGLE = −r⁻¹(N+1)CRH*θ̇ (RJ2W eq. 23).

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.
    joint_rates : (…, n)
        Rates of the n joint freedoms, without the base's six.

    Returns
    -------
    (…, 6)
        [ω; v] of the base in its own frame.

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> ps.freeflying.wiggle_velocity(robot, q, np.ones(8)).shape
    (6,)
    """
    check_free_base(model)
    return wiggle_velocity.evaluate(model, q, {"v_i": joint_rates})


@states(wiggle, matrix=True, form=AS_WRITTEN)
def wiggle_jacobian(model: Model, q: Any) -> Array:
    """Velocity of the base per joint rate of a robot without momentum.

    −r⁻¹(N+1)CRH*, so that `wiggle_velocity` is this matrix times the joint rates (RJ2W eq. 23).

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.

    Returns
    -------
    (…, 6, n)
        A column [ω; v], in the base's frame, for each of the n joint freedoms.

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> ps.freeflying.wiggle_jacobian(robot, q).shape
    (6, 8)
    """
    check_free_base(model)
    return wiggle_jacobian.evaluate(model, q)


@states(lambda s: s.M_i @ s.v_i)
def joint_momentum(model: Model, q: Any, joint_rates: Any) -> Array:
    """Momenta of the joints' own motion when the base is free.

    ℳ_iθ̇ = (HR̄H* + A)θ̇ by two sweeps, without forming ℳ_i (RJ2W Table 3).

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.
    joint_rates : (…, n)
        Rates of the n joint freedoms, without the base's six.

    Returns
    -------
    (…, n)
        One momentum for each joint freedom [N m s, N s].

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> rates = np.arange(8.0)
    >>> momenta = ps.freeflying.joint_momentum(robot, q, rates)
    >>> bool(np.allclose(momenta, ps.freeflying.mass_matrix(robot, q) @ rates))
    True
    """
    check_free_base(model)
    return joint_momentum.evaluate(model, q, {"v_i": joint_rates})


@states(lambda s: whole_mass(s).inv @ momentum_at_base(s), form=AS_WRITTEN)
def rigid_velocity(model: Model, q: Any, v: Any) -> Array:
    """Velocity at the base of the frozen robot that has the robot's momentum.

    V_RIGID, which together with V_WIGGLE adds up to the base's own velocity (RJ2W eq. 25).

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.
    v : (…, nv)
        Rates, the base's [ω; v] in its own frame first.

    Returns
    -------
    (…, 6)
        [ω; v] in the base's frame.

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> v = np.arange(float(robot.nv))
    >>> wiggle = ps.freeflying.wiggle_velocity(robot, q, v[6:])
    >>> (ps.freeflying.rigid_velocity(robot, q, v) + wiggle).round(9) + 0.0
    array([0., 1., 2., 3., 4., 5.])
    """
    check_free_base(model)
    return rigid_velocity.evaluate(model, q, {"v": v})


@short_repr
class Energy(NamedTuple):
    """Kinetic energy of a free-flying robot in two parts, as `freeflying.energy` returns it.

    Attributes
    ----------
    rigid : (…)
        Of the robot moving as one frozen body [J].
    articulated : (…)
        Of its joints' motion [J].

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> ps.freeflying.energy(robot, q, np.eye(robot.nv)[3]).articulated.round(9) + 0.0
    np.float64(0.0)
    """

    rigid: Array
    articulated: Array


def _articulated_energy(s: Symbols) -> Node:
    forces = joint_forces(s, s.H.T @ s.v, s.E_phi @ s.S @ s.v)
    return HALF * (s.v.T @ (forces + s.A @ s.v))


@states(
    lambda s: {
        "momentum": momentum_at_base(s),
        "velocity": whole_mass(s).inv @ momentum_at_base(s),
        "articulated": _articulated_energy(s),
    },
    form=AS_WRITTEN,
)
def energy(model: Model, q: Any, v: Any) -> Energy:
    """Kinetic energy of the robot as one rigid body, and of its joints' motion.

    ½V_RIGID*r(N+1)V_RIGID and ½θ̇*(HR̄H* + A)θ̇; their sum is the kinetic energy (RJ2W eq. 26).

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.
    q : (…, nq)
        Joint coordinates, the base's pose first.
    v : (…, nv)
        Rates, the base's [ω; v] in its own frame first.

    Returns
    -------
    Energy
        `rigid` and `articulated`, each (…) [J].

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> v = np.arange(float(robot.nv))
    >>> bool(np.isclose(sum(ps.freeflying.energy(robot, q, v)), ps.kinetic_energy(robot, q, v)))
    True
    """
    check_free_base(model)
    made = energy.evaluate_all(model, q, {"v": v})
    return Energy(0.5 * np.sum(made["momentum"] * made["velocity"], axis=-1), made["articulated"])
