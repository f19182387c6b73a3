"""Dynamics with their analytic Jacobians by coordinates, for packages that differentiate programs (`phistar.jax`,
`phistar.torch`).

Derivatives here are taken in the tangent spaces of configurations, (…, nv) numbers; such packages want them by the
entries of q. A step δ in the tangent space is δ = T(q) dq, so that ∂f/∂q = ∂f/∂δ T(q): where q has quaternions, this is
the derivative of f at the quaternion divided by its length, whose change along the quaternion is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from phistar.dynamics import (
    bias,
    center_of_mass,
    center_of_mass_jacobian,
    forward_dynamics,
    forward_kinematics,
    gravity_load,
    inverse_dynamics,
    jacobian,
    kinetic_energy,
    mass_matrix,
    potential_energy,
)
from phistar.errors import ModelError
from phistar.model import Free, Model
from phistar.spatial import from_quaternion, skew


@dataclass(frozen=True)
class Differentiable:
    """A function of a robot and arrays, and its Jacobian by each of them.

    `value(model, *arrays, *frame)` has the shape (…, *shape); `jacobians` gives, for each array of m entries,
    (…, *shape, m). `shape` says how many axes a result of one state has; `arrays` name the arguments, `frame` says
    whether a frame's name follows them.
    """

    value: Callable[..., Any]
    jacobians: Callable[..., tuple[Array, ...]]
    arrays: tuple[str, ...]
    shape: Callable[[Model], tuple[int, ...]]
    frame: bool = False


def tangents_by_coordinates(model: Model, q: Array) -> Array:
    """T(q), (…, nv, nq): the tangent step that a small change of the coordinates makes."""
    if model.embedding is not None:
        raise ModelError(f"{model.name} is in independent rates; differentiate with its tree, {model.name}.tree.")
    in_q, in_v, curved = model.flat
    made = np.zeros((*q.shape[:-1], model.nv, model.nq))
    made[..., in_v, in_q] = 1.0
    for joint in curved:
        own, free = q[..., joint.q_slice], isinstance(joint.kind, Free)
        quaternion = own[..., -4:] / np.linalg.norm(own[..., -4:], axis=-1, keepdims=True)
        vector, scalar = quaternion[..., :3], quaternion[..., 3:]
        first_v, first_q = joint.v_slice.start, joint.q_slice.start + 3 * free
        # q̇ = ½ q ⊗ (ω, 0) has orthogonal columns of length ½: its pseudo-inverse is four times its transpose.
        made[..., first_v : first_v + 3, first_q : first_q + 3] = 2 * (scalar[..., None] * np.eye(3) - skew(vector))
        made[..., first_v : first_v + 3, first_q + 3] = -2 * vector
        if free:
            turn = np.swapaxes(from_quaternion(quaternion), -1, -2)
            made[..., first_v + 3 : first_v + 6, joint.q_slice.start : joint.q_slice.start + 3] = turn
    return made


def _by_coordinates(model: Model, q: Array, tangent: Array) -> Array:
    """∂f/∂δ, (…, rows, nv), as ∂f/∂q, (…, rows, nq)."""
    return np.matmul(tangent, tangents_by_coordinates(model, q))


def _forward(model: Model, q: Array, v: Array, tau: Array) -> tuple[Array, ...]:
    made = forward_dynamics_derivatives(model, q, v, tau)
    return _by_coordinates(model, q, made.dq), made.dv, made.dtau


def _inverse(model: Model, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
    made = inverse_dynamics_derivatives(model, q, v, a)
    return _by_coordinates(model, q, made.dq), made.dv, made.da


def _bias(model: Model, q: Array, v: Array) -> tuple[Array, ...]:
    return _inverse(model, q, v, np.zeros(model.nv))[:2]


def _gravity(model: Model, q: Array) -> tuple[Array, ...]:
    return _inverse(model, q, np.zeros(model.nv), np.zeros(model.nv))[:1]


def _kinetic(model: Model, q: Array, v: Array) -> tuple[Array, ...]:
    """∂(½v*ℳv)/∂q is half of v* ∂(ℳa)/∂q at a = v without velocities and gravity."""
    still = model.replace(gravity=(0.0, 0.0, 0.0))
    change = inverse_dynamics_derivatives(still, q, np.zeros(model.nv), v).dq
    by_q = 0.5 * np.matmul(v[..., None, :], change)
    momentum = np.matmul(mass_matrix(model, q), v[..., None])[..., 0]
    return _by_coordinates(model, q, by_q)[..., 0, :], momentum


def _potential(model: Model, q: Array) -> tuple[Array, ...]:
    return (_by_coordinates(model, q, gravity_load(model, q)[..., None, :])[..., 0, :],)


def _center(model: Model, q: Array) -> tuple[Array, ...]:
    return (_by_coordinates(model, q, center_of_mass_jacobian(model, q)),)


def _pose(model: Model, q: Array, frame: str) -> tuple[Array, ...]:
    """∂R/∂δ = ω̃R and ∂p/∂δ, from the Jacobian's columns [ω; ẋ]."""
    turn, columns = forward_kinematics(model, q, frame)[..., :3, :3], jacobian(model, q, frame)
    made = np.zeros((*columns.shape[:-2], 4, 4, model.nv))
    spins = skew(np.swapaxes(columns[..., :3, :], -1, -2))  # (…, nv, 3, 3)
    made[..., :3, :3, :] = np.moveaxis(np.matmul(spins, turn[..., None, :, :]), -3, -1)
    made[..., :3, 3, :] = columns[..., 3:, :]
    flat = made.reshape(*columns.shape[:-2], 16, model.nv)
    return (_by_coordinates(model, q, flat).reshape(*columns.shape[:-2], 4, 4, model.nq),)


def _rates(model: Model) -> tuple[int, ...]:
    return (model.nv,)


FUNCTIONS: dict[str, Differentiable] = {
    "forward_dynamics": Differentiable(forward_dynamics, _forward, ("q", "v", "tau"), _rates),
    "inverse_dynamics": Differentiable(inverse_dynamics, _inverse, ("q", "v", "a"), _rates),
    "bias": Differentiable(bias, _bias, ("q", "v"), _rates),
    "gravity_load": Differentiable(gravity_load, _gravity, ("q",), _rates),
    "kinetic_energy": Differentiable(kinetic_energy, _kinetic, ("q", "v"), lambda model: ()),
    "potential_energy": Differentiable(potential_energy, _potential, ("q",), lambda model: ()),
    "center_of_mass": Differentiable(center_of_mass, _center, ("q",), lambda model: (3,)),
    "forward_kinematics": Differentiable(forward_kinematics, _pose, ("q",), lambda model: (4, 4), frame=True),
}
"""Those that `phistar.jax` and `phistar.torch` offer under the same names."""
