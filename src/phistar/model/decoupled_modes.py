"""Modal coordinates η = Ψη′ of a body that bends in which few modes move its ends.

The nodes that others stand on move by Πη̇, which has six rows each and often fewer that are independent. Where the modal
mass M_mm is constant, η′ can be chosen with ΠΨ = [Π′ 0] and Ψ*M_mmΨ = I: then P_mm = M_mm + Π*XΠ is a small block and
the identity, whatever inertia X the ends carry: its low rank, as zeros. D⁻¹ takes operations in proportion to m.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.sparse.csgraph import connected_components

from phistar.model.flexible import INDEPENDENT, FlexibleInertia

ROUNDED = 1e-13  # of the largest: motions that only rounding makes, or that are combinations of others


@dataclass(frozen=True, eq=False)
class DecoupledModes:
    """The body in coordinates η′, with Ψ and Ψ⁻¹, (m, m)."""

    body: FlexibleInertia
    basis: np.ndarray
    inverse: np.ndarray


@lru_cache(maxsize=64)
def decoupled_modes(body: FlexibleInertia) -> DecoupledModes | None:
    """Coordinates in which few modes move the ends of a body, or None: its modal mass depends on how it is bent, or
    every mode moves the ends in a way of its own."""
    if body.has_quadratic_places or not body.is_point.any():
        return None
    ends = sorted({*np.flatnonzero(~body.is_point).tolist(), *dict(body.ends).values()})
    moved = np.concatenate([body.rotations[ends], body.modes[ends]], axis=1).reshape(-1, body.count)
    moved = np.where(np.abs(moved) > ROUNDED * np.abs(moved).max(initial=0.0), moved, 0.0)
    mass = _constant_mass(body)
    values = np.linalg.eigvalsh(mass)
    if not values[0] > INDEPENDENT * values[-1]:
        return None
    planes = _independent_sets(moved, mass)
    blocks = [_plane_basis(moved[:, own], mass[np.ix_(own, own)]) for own in planes]
    if all(free == 0 for _, _, free in blocks):
        return None
    basis, inverse = np.zeros((2, body.count, body.count))
    still: list[int] = []
    for own, (block, back, free) in zip(planes, blocks, strict=True):
        basis[np.ix_(own, own)], inverse[np.ix_(own, own)] = block, back
        still += own[len(own) - free :].tolist()
    return DecoupledModes(_body_in(body, basis, ends, still), basis, inverse)


def _constant_mass(body: FlexibleInertia) -> np.ndarray:
    """Modal mass of the points of mass."""
    m = body.count
    _, second = body.point_moments
    return np.einsum("aiaj->ij", second[:, 1 : m + 1, :, 1 : m + 1])


def _independent_sets(moved: np.ndarray, mass: np.ndarray) -> list[np.ndarray]:
    """Modes that share neither mass nor a motion of the ends, as the planes of a beam."""
    shown, size = (moved != 0.0).astype(int), np.sqrt(np.diag(mass))
    together = (shown.T @ shown > 0) | (np.abs(mass) > ROUNDED * np.outer(size, size))
    count, label = connected_components(together, directed=False)
    return [np.flatnonzero(label == i) for i in range(count)]


def _plane_basis(moved: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Ψ, Ψ⁻¹, and how many of the last columns do not move the ends; the identity where none is free of that."""
    lower = np.linalg.cholesky(mass)
    plain = np.linalg.solve(lower, moved.T).T  # of mass-orthonormal coordinates
    size = np.linalg.norm(plain, axis=1)
    _, strength, right = np.linalg.svd(plain[size > 0.0] / size[size > 0.0, None])
    rank = int(np.count_nonzero(strength > ROUNDED * strength.max(initial=0.0)))
    free = len(mass) - rank
    if not free:
        return np.eye(len(mass)), np.eye(len(mass)), 0
    basis = np.linalg.solve(lower.T, right.T)
    return basis, basis.T @ mass, free


def _body_in(body: FlexibleInertia, basis: np.ndarray, ends: list[int], still: list[int]) -> FlexibleInertia:
    modes, rotations = body.modes @ basis, body.rotations @ basis
    for shapes in (modes, rotations):
        shapes[np.ix_(ends, range(3), still)] = 0.0  # which rounding leaves next to nothing of
    return FlexibleInertia(
        body.nodes,
        modes,
        None,
        basis.T @ body.modal_stiffness @ basis,
        body.masses,
        rotations,
        None,
        body.damping,
        body.ends,
        body.shared_mass,
    )
