"""The robot as one body: momentum, energy, composite inertia, centre of mass."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from phistar.array_types import Array, ArrayLike
from phistar.backends.choice import compilable
from phistar.backends.recorded import Recorded
from phistar.model import Model
from phistar.spatial import mass_moment, skew
from phistar.stated import is_surrounded, states

HALF = Fraction(1, 2)
SWEPT = 4  # vectors of a composite inertia: its ten numbers


@states(lambda s: s.E @ s.phi @ (s.M @ s.V + s.E_phi @ s.S @ s.v))
def momentum(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Angular and linear momentum of the robot about the world's origin.

    EφMV, and EφℰφSθ̇ of spinning rotors.

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.

    Returns
    -------
    (…, 6)
        [kg m²/s; kg m/s], angular part first, in world axes.

    Examples
    --------
    >>> ps.momentum(ps.planar_chain(1), [0], [1]).round(3) + 0.0
    array([0.   , 0.   , 0.334, 0.   , 0.5  , 0.   ])
    """
    return momentum.evaluate(model, q, {"v": v})


@states(lambda s: HALF * (s.V.T @ s.M @ s.V + s.v.T @ s.A @ s.v) + s.V.T @ s.E_phi @ s.S @ s.v)
def kinetic_energy(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Kinetic energy of the robot, armature included.

    ½(V*MV + θ̇*Aθ̇), and V*ℰφSθ̇ of spinning rotors.

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.

    Returns
    -------
    (…)
        Energy [J].

    Examples
    --------
    >>> float(ps.kinetic_energy(ps.planar_chain(2), [0, 0], [1, 0]).round(3))
    1.334
    """
    return kinetic_energy.evaluate(model, q, {"v": v})


@states(lambda s: s.E @ s.phi @ s.M @ s.phi.T @ s.E.T, matrix=True)
def composite_inertia(model: Model, q: ArrayLike) -> Array:
    """Spatial inertia of the whole robot as one rigid body about the world's origin.

    EφMφ*E* (R87 eq. 28).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    (…, 6, 6)
        [[I, m p̃], [−m p̃, m 1]], angular part first.

    Examples
    --------
    >>> ps.composite_inertia(ps.planar_chain(2), [0, 0])[3:, 3:]
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    return composite_inertia.evaluate(model, q)


def center_of_mass(model: Model, q: ArrayLike) -> Array:
    """Centre of mass of the robot in the world.

    Read off the m·p̃ block of the composite inertia (R87 eq. 33).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    (…, 3)
        Position [m].

    Examples
    --------
    >>> ps.center_of_mass(ps.planar_chain(2), [0, 0])
    array([1., 0., 0.])
    """
    return _center_of_mass(model, q)


def _is_written(sums: Recorded, model: Model) -> bool:
    """Whether a sum over the links is straight-line code: of rigid ones, also where they are many."""
    rigid = not model.is_flexible and model.embedding is None
    return rigid and (compilable(model) or sums.is_written(model, SWEPT))


def _mass_center(model: Model, q: ArrayLike) -> tuple[Array]:
    whole = composite_inertia(model, q)
    return (mass_moment(whole) / whole[..., 3:4, 3],)


_center_of_mass = Recorded(
    "center_of_mass",
    ("q",),
    ("center",),
    _mass_center,
    lambda model: ((3,),),
    lambda model: _is_written(_center_of_mass, model),
    vanishes=False,
)


def potential_energy(model: Model, q: ArrayLike) -> Array:
    """Potential energy of the robot in its gravity; zero with the centre of mass at the world's origin.

    −m g·p.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    (…)
        Energy [J].

    Examples
    --------
    >>> arm = ps.planar_chain(2, gravity=(0, -9.81, 0))
    >>> float(ps.potential_energy(arm, [np.pi / 2, 0]).round(3))
    19.62
    """
    return _potential_energy(model, q)


def _weight_lifted(model: Model, q: ArrayLike) -> tuple[Array]:
    return (-model.total_mass * np.matmul(center_of_mass(model, q), model.gravity),)


_potential_energy = Recorded(
    "potential_energy",
    ("q",),
    ("energy",),
    _weight_lifted,
    lambda model: ((),),
    lambda model: _is_written(_potential_energy, model),
    vanishes=False,
)


@states(lambda s: s.E @ s.phi @ (s.M @ s.phi.T @ s.H.T + s.E_phi @ s.S), matrix=True, whole=is_surrounded)
def centroidal_map(model: Model, q: ArrayLike) -> Array:
    """Map from joint rates to the robot's momentum about its centre of mass.

    The stated EφMφ*H* gives momentum about the world's origin; it is moved to the centre of mass, axes as the world's.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    (…, 6, nv)
        Angular rows first [kg m², kg m, kg].

    Examples
    --------
    >>> ps.centroidal_map(ps.planar_chain(2), [0, 0]).round(3)[[2, 4]]
    array([[0.668, 0.334],
           [2.   , 0.5  ]])
    """
    about_origin = centroidal_map.evaluate(model, q)
    center = center_of_mass(model, q)
    return np.concatenate(
        [about_origin[..., :3, :] - skew(center) @ about_origin[..., 3:, :], about_origin[..., 3:, :]], axis=-2
    )


@states(lambda s: s.E @ s.phi @ s.M @ s.phi.T @ s.H.T, matrix=True, whole=is_surrounded)
def center_of_mass_jacobian(model: Model, q: ArrayLike) -> Array:
    """Velocity of the centre of mass per joint rate.

    The linear rows of EφMφ*H*, over the robot's mass.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].

    Returns
    -------
    (…, 3, nv)
        In world axes [m/rad, 1].

    Examples
    --------
    >>> ps.center_of_mass_jacobian(ps.planar_chain(2), [0, 0]) + 0.0
    array([[0.  , 0.  ],
           [1.  , 0.25],
           [0.  , 0.  ]])
    """
    return center_of_mass_jacobian.evaluate(model, q)[..., 3:, :] / model.total_mass
