"""Explicit matrices of the two-way algebra, from what the symbols mean: each mass is a sum over the links behind it.

Where a link is as another sees it comes from the poses of both in the world, not from a recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from phistar.operators.nodes import Node
from phistar.spatial import force_transform

if TYPE_CHECKING:
    from phistar.backends.dense.definitions import Dense


def transport_between(dense: Dense, k: int, j: int) -> np.ndarray:
    """φ(k,j), (6, 6): a force on link j as link k sees it, for any two links."""
    return np.linalg.inv(force_transform(*dense.poses[k])) @ force_transform(*dense.poses[j])


def backward_shift(dense: Dense) -> np.ndarray:
    parents = dense.model.parents
    return dense.blocks({(k, p): transport_between(dense, k, p) for k, p in enumerate(parents) if p >= 0})


def backward_transition(dense: Dense) -> np.ndarray:
    """φ_b(k,m) for every m between k and the base."""
    pairs = [(k, m) for k in range(dense.n) for m in dense.ancestors(k)]
    return dense.blocks({(k, m): transport_between(dense, k, m) for k, m in pairs})


def siblings(dense: Dense) -> np.ndarray:
    pairs = [(k, s) for brothers in dense.model.children for k in brothers for s in brothers if k != s]
    return dense.blocks({(k, s): transport_between(dense, k, s) for k, s in pairs})


def base_links(dense: Dense) -> np.ndarray:
    return dense.blocks({(k, k): np.eye(6) for k, parent in enumerate(dense.model.parents) if parent < 0})


def tip_links(dense: Dense) -> np.ndarray:
    return dense.blocks({(k, k): np.eye(6) for k, children in enumerate(dense.model.children) if not children})


def base_pick_off(dense: Dense) -> np.ndarray:
    kept = base_links(dense)
    return kept[np.any(kept, axis=1)]


def inner_joints(dense: Dense) -> np.ndarray:
    joints = zip(dense.model.joints, dense.model.parents, strict=True)
    kept = [row for joint, parent in joints if parent >= 0 for row in range(joint.v_slice.start, joint.v_slice.stop)]
    return np.eye(dense.model.nv)[kept]


def mass_seen_from(dense: Dense, mass: Node, k: int, links: list[int]) -> np.ndarray:
    """Σ φ(k,j)M(j)φ*(k,j) over some links."""
    whole, result = dense(mass), np.zeros((6, 6))
    for j in links:
        path = transport_between(dense, k, j)
        result += path @ whole[6 * j : 6 * j + 6, 6 * j : 6 * j + 6] @ path.T
    return result


def parent_mass(dense: Dense, mass: Node) -> np.ndarray:
    parents = dense.model.parents
    return dense.blocks({(k, k): mass_seen_from(dense, mass, k, [p]) for k, p in enumerate(parents) if p >= 0})


def backward_composite(dense: Dense, mass: Node) -> np.ndarray:
    """Every link of the same robot that is not joint k or beyond."""
    entries = {}
    for k in range(dense.n):
        root = dense.ancestors(k)[-1]
        behind = [j for j in range(dense.n) if dense.ancestors(j)[-1] == root and k not in dense.ancestors(j)]
        entries[k, k] = mass_seen_from(dense, mass, k, behind)
    return dense.blocks(entries)


def inverse_total(dense: Dense, mass: Node) -> np.ndarray:
    return np.linalg.inv(dense._r(mass) + backward_composite(dense, mass))


def forward_weight(dense: Dense, mass: Node) -> np.ndarray:
    return backward_composite(dense, mass) @ inverse_total(dense, mass)


def backward_weight(dense: Dense, mass: Node) -> np.ndarray:
    return dense._r(mass) @ inverse_total(dense, mass)


def joint_mass(dense: Dense, mass: Node, armature: Node, rotor: Node | None = None) -> np.ndarray:
    """The Schur complement: the joints' block of the mass matrix less what a base link that gives way takes back."""
    inner, pick, shift = inner_joints(dense), base_pick_off(dense), dense._E_phi()
    reach = np.linalg.inv(np.eye(6 * dense.n) - shift)
    kernel = reach @ dense(mass) @ reach.T
    spin = dense(rotor) if rotor is not None else np.zeros((6 * dense.n, dense.model.nv))
    across = pick @ (kernel @ dense._H().T + reach @ shift @ spin) @ inner.T
    pair = (mass, armature) if rotor is None else (mass, armature, rotor)
    whole = inner @ dense._mass(*pair) @ inner.T
    return whole - across.T @ np.linalg.solve(pick @ kernel @ pick.T, across)


TWO_WAY: dict[str, Callable[..., np.ndarray]] = {
    "E_phi_b": backward_shift,
    "phi_b": backward_transition,
    "E_s": siblings,
    "Pi_f": base_links,
    "Pi_b": tip_links,
    "pi_f": base_pick_off,
    "N": inner_joints,
    "M_b": parent_mass,
    "r_b": backward_composite,
    "q": inverse_total,
    "M_i": joint_mass,
    "rho": lambda dense, mass: backward_weight(dense, mass) @ backward_composite(dense, mass),
    "C_f": forward_weight,
    "C_b": backward_weight,
    "H_f": lambda dense, mass: dense._H() @ forward_weight(dense, mass),
    "H_b": lambda dense, mass: dense._H() @ backward_weight(dense, mass),
}
"""Name of a symbol → its matrix, given the mass it is made from where there is one."""
