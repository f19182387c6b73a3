"""The square-root filter: factors of P instead of P, turned by orthogonal matrices alone.

P = WW* never loses its sign, and numbers as different as √1e10 and 1 meet where 1e10 and 1 would. Written in NumPy
beside the algebra: a factor is made by QR, for which sweeps have no term. It is there for hard cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.link_sizes import links_of
from phistar.backends.links.mechanism import Mechanism
from phistar.backends.links.values import has_rotors
from phistar.backends.links.wide import mechanism_at
from phistar.backends.traces.solve import solve
from phistar.errors import ModelError
from phistar.estimation.terms import known_terms
from phistar.model import Model
from phistar.spatial import skew
from phistar.sweeps.ir import FORCE, MOTION


def body_factor(model: Model, k: int) -> Array:
    """F with FF* = M(k) of a rigid body, (6, 6): the inertia's root about the mass centre, and √m carried to the
    origin."""
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


def mass_factor(links: Mechanism, model: Model, k: int) -> Array:
    """F with FF* = M(k) of a link, (…, w, w); of a body that bends, at its η, by the roots of M's eigenvalues: a line
    beam has no inertia about its axis. Compound links have a block a member, and √A of the rates that follow."""
    bodies = links_of(model)[k]
    if len(bodies) == 1 and not model.bodies[bodies[0]].modes and links.width(k) == 6:
        return body_factor(model, bodies[0])
    mass = links.mass(k)
    whole, first = np.zeros(mass.shape), 0
    for body in bodies:
        own = slice(first, first + 6 + model.bodies[body].modes)
        whole[..., own, own] = _root(mass[..., own, own]) if model.bodies[body].modes else body_factor(model, body)
        first = own.stop
    rest = np.arange(first, links.width(k))
    whole[..., rest, rest] = np.sqrt(mass[..., rest, rest])
    return whole


def _root(mass: np.ndarray) -> np.ndarray:
    values, axes = np.linalg.eigh(mass)
    return axes * np.sqrt(np.maximum(values, 0.0))[..., None, :]


def square_root_filter(model: Model, q: Any, given: Mapping[str, Any], frames: tuple[str, ...]) -> dict[str, Array]:
    """Every quantity of `Filtered` by factors of P (R87 eqs. 35-47 in array form)."""
    if has_rotors(model):
        raise ModelError(f"{model.name} has gyroscopic rotors, which the square-root filter leaves out.")
    q, tau = model.checked_q(q), model.checked(given["T"], model.nv, "tau")
    vectors = {name: given[name] for name in ("v", "f") if name in given}
    force, motion = (x[..., None] for x in known_terms(model, q, vectors, frames))
    batch = np.broadcast_shapes(force.shape[:-3], tau.shape[:-1], np.shape(given.get("a_b", np.zeros(6)))[:-1])
    links = mechanism_at(model, np.broadcast_to(q, (*batch, model.nq)))
    widths = [links.width(k) for k in range(len(links.parents))]
    cut = [[np.broadcast_to(x[..., k, :w, :], (*batch, w, 1)) for k, w in enumerate(widths)] for x in (force, motion)]
    factors = [np.broadcast_to(mass_factor(links, model, k), (*batch, w, w)) for k, w in enumerate(widths)]
    steps = _filter(links, factors, cut[0], cut[1], np.broadcast_to(tau, (*batch, model.nv)))
    base = model.checked(given["a_b"], 6, "the acceleration of the base") if "a_b" in given else np.zeros(6)
    return _smoother(links, cut[1], steps, np.broadcast_to(base, (*batch, 6))[..., None])


def _filter(
    links: Mechanism,
    factors: list[np.ndarray],
    force: list[np.ndarray],
    motion: list[np.ndarray],
    tau: np.ndarray,
) -> list[dict[str, np.ndarray]]:
    """Inward: W and z across each link and joint."""
    carried: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in links.parents]
    steps: list[dict[str, np.ndarray]] = [{} for _ in links.parents]
    for k in range(len(links.parents) - 1, -1, -1):
        z = force[k] + sum(state for _, state in carried[k])
        axis = np.swapaxes(links.subspace(k), -1, -2)
        axis = np.broadcast_to(axis, (*tau.shape[:-1], *axis.shape[-2:]))
        factor = np.concatenate([*(x for x, _ in carried[k]), factors[k]], axis=-1)
        step = _update(factor, axis, links.armature(k))
        innovation = tau[..., links.rates[k], None] - np.matmul(axis, z)
        residual = solve(step["D"], innovation)
        after = step["W⁺"]
        state = (
            z + np.matmul(step["G"], innovation) + np.matmul(after, np.matmul(np.swapaxes(after, -1, -2), motion[k]))
        )
        steps[k] = step | {"z": z, "e⁻": innovation, "e⁺": residual}
        if links.parents[k] >= 0:
            carried[links.parents[k]].append((links.carry(FORCE, k, after), links.carry(FORCE, k, state)))
    return steps


def _update(factor: np.ndarray, axis: np.ndarray, armature: np.ndarray) -> dict[str, np.ndarray]:
    """[[√A, HW], [0, W]] made triangular from the right is [[√D, 0], [G√D, W⁺]]."""
    size, batch = axis.shape[-2], factor.shape[:-2]
    noise = np.broadcast_to(np.sqrt(armature), (*batch, size, size))
    top = np.concatenate([noise, np.matmul(axis, factor)], axis=-1)
    bottom = np.concatenate([np.zeros((*batch, factor.shape[-2], size)), factor], axis=-1)
    rows = np.swapaxes(np.concatenate([top, bottom], axis=-2), -1, -2)
    after = np.swapaxes(np.linalg.qr(rows, mode="r"), -1, -2)
    root, gain = after[..., :size, :size], after[..., size:, :size]
    scaled = np.swapaxes(solve(np.swapaxes(root, -1, -2), np.swapaxes(gain, -1, -2)), -1, -2)
    return {"W": factor, "W⁺": after[..., size:, size:], "D": np.matmul(root, np.swapaxes(root, -1, -2)), "G": scaled}


def _smoother(
    links: Mechanism, motion: list[np.ndarray], steps: list[dict[str, np.ndarray]], base: np.ndarray
) -> dict[str, np.ndarray]:
    """Outward: accelerations from residuals, and everything stacked over the links."""
    costates, rates = [], []
    for k, step in enumerate(steps):
        parent = links.parents[k]
        above = links.carry(MOTION, k, costates[parent], True) if parent >= 0 else links.from_base(k, base)
        arriving = above + motion[k]
        rates.append(step["e⁺"] - np.matmul(np.swapaxes(step["G"], -1, -2), arriving))
        costates.append(arriving + np.matmul(links.subspace(k), rates[-1]))
    squares = [[np.matmul(step[w], np.swapaxes(step[w], -1, -2)) for step in steps] for w in ("W", "W⁺")]
    freedoms = max(each.stop - each.start for each in links.rates)
    wide = max(links.width(k) for k in range(len(steps)))
    states = [s["z"] + np.matmul(p, x) for s, p, x in zip(steps, squares[0], costates, strict=True)]
    return {
        "accelerations": _joints(links, rates),
        "innovations": _joints(links, [step["e⁻"] for step in steps]),
        "residuals": _joints(links, [step["e⁺"] for step in steps]),
        "predicted_states": _stack([step["z"] for step in steps], wide, 1)[..., 0],
        "states": _stack(states, wide, 1)[..., 0],
        "costates": _stack(costates, wide, 1)[..., 0],
        "gains": _stack([step["G"] for step in steps], wide, freedoms),
        "inertias": _stack(squares[0], wide, wide),
        "updated_inertias": _stack(squares[1], wide, wide),
        "joint_inertias": _stack([step["D"] for step in steps], freedoms, freedoms),
    }


def _joints(links: Mechanism, blocks: list[np.ndarray]) -> np.ndarray:
    result = np.zeros((*blocks[0].shape[:-2], sum(x.shape[-2] for x in blocks)))
    for rates, block in zip(links.rates, blocks, strict=True):
        result[..., rates] = block[..., 0]
    return result


def _stack(blocks: list[np.ndarray], rows: int, columns: int) -> np.ndarray:
    """A block a link, (…, n, rows, columns), with zeros where another link is wider or has more rates."""
    result = np.zeros((*blocks[0].shape[:-2], len(blocks), rows, columns))
    for k, block in enumerate(blocks):
        result[..., k, : block.shape[-2], : block.shape[-1]] = block
    return result
