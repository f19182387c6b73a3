"""The square-root filter: factors of P instead of P, turned by orthogonal matrices alone.

P = WW* never loses its sign, and numbers as different as √1e10 and 1 meet where 1e10 and 1 would. Written in NumPy
beside the algebra: a factor is made by QR, for which sweeps have no term. It is there for hard cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.values import Links, has_rotors, inward, links_at, outward
from phistar.backends.traces.solve import solve
from phistar.errors import ModelError
from phistar.estimation.terms import known_terms
from phistar.model import Model
from phistar.spatial import skew


def mass_factor(model: Model, k: int) -> Array:
    """F with FF* = M(k), (6, 6): the inertia's root about the mass centre, and √m carried to the origin."""
    inertia = model.bodies[k].inertia
    values, axes = np.linalg.eigh(inertia.tensor)
    if values[0] < -1e-12 * max(values[-1], 0.0) or inertia.mass < 0:
        raise ModelError(
            f"{model.bodies[k].name} of {model.name} has an indefinite inertia (smallest moment {values[0]:.3g}), "
            'which has no square root; use update="conventional" or "joseph".'
        )
    root = np.sqrt(inertia.mass)
    upper = np.concatenate([axes * np.sqrt(np.maximum(values, 0.0)), root * skew(inertia.com)], axis=1)
    return np.concatenate([upper, np.concatenate([np.zeros((3, 3)), root * np.eye(3)], axis=1)])


def square_root_filter(model: Model, q: Any, given: Mapping[str, Any], frames: tuple[str, ...]) -> dict[str, Array]:
    """Every quantity of `Filtered` by factors of P (R87 eqs. 35-47 in array form)."""
    if has_rotors(model):
        raise ModelError(f"{model.name} has gyroscopic rotors, which the square-root filter leaves out.")
    q, tau = model.checked_q(q), model.checked(given["T"], model.nv, "tau")
    vectors = {name: given[name] for name in ("v", "f") if name in given}
    force, motion = (x[..., None] for x in known_terms(model, q, vectors, frames))
    batch = np.broadcast_shapes(force.shape[:-3], tau.shape[:-1], np.shape(given.get("a_b", np.zeros(6)))[:-1])
    links = links_at(model, np.broadcast_to(q, (*batch, model.nq)))
    force, motion = (np.broadcast_to(x, (*batch, *x.shape[-3:])) for x in (force, motion))
    steps = _filter(links, force, motion, np.broadcast_to(tau, (*batch, model.nv)))
    base = model.checked(given["a_b"], 6, "the acceleration of the base") if "a_b" in given else np.zeros(6)
    return _smoother(links, motion, steps, np.broadcast_to(base, (*batch, 6))[..., None])


def _filter(links: Links, force: np.ndarray, motion: np.ndarray, tau: np.ndarray) -> list[dict[str, np.ndarray]]:
    """Inward: W and z across each link and joint."""
    model, batch = links.model, tau.shape[:-1]
    carried: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in model.bodies]
    steps: list[dict[str, np.ndarray]] = [{} for _ in model.bodies]
    for k in range(len(model.bodies) - 1, -1, -1):
        z = force[..., k, :, :] + sum(state for _, state in carried[k])
        parts = [*(factor for factor, _ in carried[k]), np.broadcast_to(mass_factor(model, k), (*batch, 6, 6))]
        axis = np.swapaxes(links.subspace[k], -1, -2)
        step = _update(np.concatenate(parts, axis=-1), np.broadcast_to(axis, (*batch, *axis.shape[-2:])), links, k)
        innovation = tau[..., model.joints[k].v_slice, None] - np.matmul(axis, z)
        residual = solve(step["D"], innovation)
        after, own = step["W⁺"], motion[..., k, :, :]
        state = z + np.matmul(step["G"], innovation) + np.matmul(after, np.matmul(np.swapaxes(after, -1, -2), own))
        steps[k] = step | {"z": z, "e⁻": innovation, "e⁺": residual}
        if links.parents[k] >= 0:
            moved = [inward(links.rotation[k], links.offset[k], x) for x in (after, state)]
            carried[links.parents[k]].append((moved[0], moved[1]))
    return steps


def _update(factor: np.ndarray, axis: np.ndarray, links: Links, k: int) -> dict[str, np.ndarray]:
    """[[√A, HW], [0, W]] made triangular from the right is [[√D, 0], [G√D, W⁺]]."""
    size, batch = axis.shape[-2], factor.shape[:-2]
    noise = np.broadcast_to(np.sqrt(links.armature(k)), (*batch, size, size))
    top = np.concatenate([noise, np.matmul(axis, factor)], axis=-1)
    bottom = np.concatenate([np.zeros((*batch, 6, size)), factor], axis=-1)
    rows = np.swapaxes(np.concatenate([top, bottom], axis=-2), -1, -2)
    after = np.swapaxes(np.linalg.qr(rows, mode="r"), -1, -2)
    root, gain = after[..., :size, :size], after[..., size:, :size]
    scaled = np.swapaxes(solve(np.swapaxes(root, -1, -2), np.swapaxes(gain, -1, -2)), -1, -2)
    return {"W": factor, "W⁺": after[..., size:, size:], "D": np.matmul(root, np.swapaxes(root, -1, -2)), "G": scaled}


def _smoother(
    links: Links, motion: np.ndarray, steps: list[dict[str, np.ndarray]], base: np.ndarray
) -> dict[str, np.ndarray]:
    """Outward: accelerations from residuals, and everything stacked over the links."""
    model, costates, rates = links.model, [], []
    for k, step in enumerate(steps):
        above = costates[links.parents[k]] if links.parents[k] >= 0 else base
        arriving = outward(links.rotation[k], links.offset[k], above) + motion[..., k, :, :]
        rates.append(step["e⁺"] - np.matmul(np.swapaxes(step["G"], -1, -2), arriving))
        costates.append(arriving + np.matmul(links.subspace[k], rates[-1]))
    squares = [[np.matmul(step[w], np.swapaxes(step[w], -1, -2)) for step in steps] for w in ("W", "W⁺")]
    width = max(joint.nv for joint in model.joints)
    return {
        "accelerations": _joints(rates),
        "innovations": _joints([step["e⁻"] for step in steps]),
        "residuals": _joints([step["e⁺"] for step in steps]),
        "predicted_states": np.stack([step["z"][..., 0] for step in steps], axis=-2),
        "states": np.stack(
            [(s["z"] + np.matmul(p, x))[..., 0] for s, p, x in zip(steps, squares[0], costates)], axis=-2
        ),
        "costates": np.stack([x[..., 0] for x in costates], axis=-2),
        "gains": np.stack([_pad(step["G"], 6, width) for step in steps], axis=-3),
        "inertias": np.stack(squares[0], axis=-3),
        "updated_inertias": np.stack(squares[1], axis=-3),
        "joint_inertias": np.stack([_pad(step["D"], width, width) for step in steps], axis=-3),
    }


def _joints(blocks: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([x[..., 0] for x in blocks], axis=-1)


def _pad(block: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Zeros where another joint has more degrees of freedom."""
    result = np.zeros((*block.shape[:-2], rows, columns))
    result[..., : block.shape[-2], : block.shape[-1]] = block
    return result
