"""Contacts of a step, linearized: J*λ as a function of rates and configuration (the implicit function theorem's part).

λ(u, d, bristle): ∂λ/∂u is unsymmetric where a contact slides, since friction's bound follows the normal impulse
(C = μ t̂ ∂λ/∂u). With the configuration change the gap, the point, the normal and both tangents (`place_changes`), and
the screws of the bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phistar.constraints import columns as c
from phistar.constraints.laws import FADE
from phistar.plant.world_screws import RateOrder, across, ad, skew


class Places(NamedTuple):
    """n contacts that act: rows of their table, shapes' bodies (n, 2), changes (n, 7, 6), whether the gap is held."""

    rows: np.ndarray
    bodies: np.ndarray
    changes: np.ndarray
    held: np.ndarray


class ContactPart(NamedTuple):
    """∂(J*λ)/∂v⁺ and ∂(J*λ)/∂δ (R, R), and the wrenches about the world's origin: each contact's (n, 6) on its first
    body, its changes with v⁺ and δ (n, 6, R)."""

    by_rates: np.ndarray
    by_place: np.ndarray
    wrench: np.ndarray
    wrench_by_rates: np.ndarray
    wrench_by_place: np.ndarray


def normal_partials(rows: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """∂λ/∂u and ∂λ/∂d of the normal impulse (n,) each."""
    margin, strength, damping = rows[:, c.MARGIN], rows[:, c.STRENGTH], rows[:, c.DAMPING]
    u, before = rows[:, c.RATE + 2], rows[:, c.GAP] + rows[:, c.OFFSET]
    y, lively = before + h * u, 1.0 - damping * u
    by_gap = np.where((y < margin) & (lively > 0.0), -h * strength * margin / y**2 * lively, 0.0)
    linear, printed = rows[:, c.LINEAR], rows[:, c.PRINTED] > 0.0
    share = (margin - np.where(u < 0.0, y, before)) / (FADE * margin)
    fading = (share > 0.0) & (share < 1.0) & ~printed
    by_gap = by_gap + np.where(fading, h * linear * u / (FADE * margin), 0.0)
    stopped = (linear > 0.0) & ~printed & (rows[:, c.IMPULSE + 2] <= 0.0)
    return -rows[:, c.HESSIAN + 3], np.where(stopped, 0.0, by_gap)


def law_partials(rows: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂λ/∂u (n, 4, 4), ∂λ/∂d (n, 4) and ∂λ/∂(pull of the bristle along t, s) (n, 4, 2); rows t, s, n, about n."""
    count = len(rows)
    by_rate, by_gap, by_pull = np.zeros((count, 4, 4)), np.zeros((count, 4)), np.zeros((count, 4, 2))
    slope, opening = normal_partials(rows, h)
    by_rate[:, 2, 2], by_gap[:, 2] = slope, opening
    firm = h * (rows[:, c.BRISTLE_DAMPING] + h * rows[:, c.BRISTLE])
    limit, friction = rows[:, c.LIMIT], rows[:, c.FRICTION] * (rows[:, c.IMPULSE + 2] > 0.0)
    axes = rows[:, c.TANGENT : c.TANGENT + 6].reshape(-1, 2, 3)
    pull = -h * rows[:, c.BRISTLE, None] * np.einsum("nki,ni->nk", axes, rows[:, c.BENT : c.BENT + 3])
    wanted = pull - firm[:, None] * rows[:, c.RATE : c.RATE + 2]
    size = np.sqrt((wanted**2).sum(axis=1))
    slides = size > limit
    way = np.where(slides[:, None], wanted / np.maximum(size, 1e-300)[:, None], 0.0)
    across = np.eye(2) - way[:, :, None] * way[:, None, :]
    cut = np.where(slides, limit / np.maximum(size, 1e-300), np.where(limit > 0.0, 1.0, 0.0))
    project = cut[:, None, None] * across
    by_rate[:, :2, :2], by_pull[:, :2] = -firm[:, None, None] * project, project
    by_rate[:, :2, 2] = friction[:, None] * way * slope[:, None]
    by_gap[:, :2] = friction[:, None] * way * opening[:, None]
    patch = rows[:, c.PATCH]
    turns = patch > 0.0
    holds = turns & (np.abs(rows[:, c.IMPULSE + 3]) < limit * patch)
    by_rate[:, 3, 3] = np.where(holds, -(patch**2) * firm, 0.0)
    sign = np.where(turns & ~holds, np.sign(rows[:, c.IMPULSE + 3]) * friction * patch, 0.0)
    by_rate[:, 3, 2], by_gap[:, 3] = sign * slope, sign * opening
    return by_rate, by_gap, by_pull


def tangent_changes(axes: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Changes of t, s, n (n, 3, 3, R) from those of n (n, 3, R): t = n × e/|n × e|, s = n × t."""
    normal = axes[:, 2]
    x, y, z = (np.abs(normal[:, i]) for i in range(3))
    first = np.where((y < x) & (y <= z), 1, np.where(z < x, 2, 0))
    axis = np.eye(3)[first]
    raw = across(normal, axis)
    size = np.linalg.norm(raw, axis=1)
    t = axes[:, 0]
    moved = across(np.swapaxes(turn, 1, 2), axis[:, None, :]) / size[:, None, None]  # (n, R, 3)
    moved = moved - t[:, None, :] * np.einsum("ni,nri->nr", t, moved)[..., None]
    sideways = across(np.swapaxes(turn, 1, 2), t[:, None, :]) + across(normal[:, None, :], moved)
    made = np.stack([moved, sideways, np.swapaxes(turn, 1, 2)], axis=1)  # (n, 3, R, 3)
    return np.swapaxes(made, 2, 3)


def contact_part(places: Places, order: RateOrder, screws: np.ndarray, v: np.ndarray, h: float) -> ContactPart:
    """All contacts of a step whose rates are v (R,)."""
    rows, count, total = places.rows, len(places.rows), len(v)
    axes = rows[:, [*range(c.TANGENT, c.TANGENT + 6), *range(c.NORMAL, c.NORMAL + 3)]].reshape(-1, 3, 3)
    point, impulse = rows[:, c.POINT : c.POINT + 3], rows[:, c.IMPULSE : c.IMPULSE + 4].copy()
    impulse[:, 3] *= rows[:, c.PATCH] > 0.0
    masks = [order.moved[places.bodies[:, side]] for side in range(2)]  # (n, R)
    own = [mask[:, None, :] * screws.T for mask in masks]  # (n, 6, R)
    relative = own[0] - own[1]
    base = np.zeros((count, 6, 4))
    base[:, :3, :3], base[:, 3:, :3] = np.swapaxes(across(point[:, None, :], axes), 1, 2), np.swapaxes(axes, 1, 2)
    base[:, :3, 3] = axes[:, 2] * (rows[:, c.PATCH] > 0.0)[:, None]
    jacobian = np.einsum("nik,nir->nkr", base, relative)
    wrench = np.einsum("nik,nk->ni", base, impulse)
    by_rate, by_gap, by_pull = law_partials(rows, h)
    answered = np.einsum("nkl,nlr->nkr", by_rate, jacobian)
    wrench_by_rates = np.einsum("nik,nkr->nir", base, answered)
    by_rates = np.einsum("nir,nis->rs", relative, wrench_by_rates)
    # with the configuration: places, axes, screws
    other = own[1]
    change = np.einsum("nij,njr->nir", places.changes, relative)  # gap, point, normal (n, 7, R)
    gap = np.where(places.held[:, None], 0.0, change[:, 0])
    moved = change[:, 1:4] + other[:, 3:] - skew(point) @ other[:, :3]
    turned = change[:, 4:] - skew(axes[:, 2]) @ other[:, :3]
    axes_by = tangent_changes(axes, turned)  # (n, 3, 3, R)
    base_by = np.zeros((count, 6, 4, total))
    for k in range(3):
        arm = skew(point) @ axes_by[:, k] - skew(axes[:, k]) @ moved
        base_by[:, :3, k], base_by[:, 3:, k] = arm, axes_by[:, k]
    base_by[:, :3, 3] = turned * (rows[:, c.PATCH] > 0.0)[:, None, None]
    carried = _carried(order, screws, masks, v)  # (n, 6, R)
    twist = np.einsum("nir,r->ni", relative, v)
    rates = np.einsum("nikr,ni->nkr", base_by, twist) + np.einsum("nik,nir->nkr", base, carried)
    pulls = (
        -h * rows[:, c.BRISTLE, None, None] * np.einsum("nkir,ni->nkr", axes_by[:, :2], rows[:, c.BENT : c.BENT + 3])
    )
    change_of_impulse = np.einsum("nkl,nlr->nkr", by_rate, rates) + by_gap[:, :, None] * gap[:, None, :]
    change_of_impulse += np.einsum("nkl,nlr->nkr", by_pull, pulls)
    wrench_by_place = np.einsum("nikr,nk->nir", base_by, impulse) + np.einsum("nik,nkr->nir", base, change_of_impulse)
    by_place = np.einsum("nir,nis->rs", relative, wrench_by_place) + _turned_forces(order, screws, masks, wrench)
    return ContactPart(by_rates, by_place, wrench, wrench_by_rates, wrench_by_place)


def _carried(order: RateOrder, screws: np.ndarray, masks: list[np.ndarray], v: np.ndarray) -> np.ndarray:
    """(∂S_a/∂δ_j − ∂S_b/∂δ_j) v, (n, 6, R): ad(s_j) Σ_k before(j, k) s_k v_k over what moves the body."""
    signed = masks[0] - masks[1]
    tails = np.einsum("jk,nk,ki->nji", order.before, signed * v, screws)
    return np.einsum("jab,njb->naj", ad(screws), tails)


def _turned_forces(order: RateOrder, screws: np.ndarray, masks: list[np.ndarray], wrench: np.ndarray) -> np.ndarray:
    """Σ (∂S/∂δ_j)* F, (R, R): entry (k, j) before(j, k) s_k·(ad(s_j)* F)."""
    signed = masks[0] - masks[1]
    forces = np.einsum("jba,nb->nja", ad(screws), wrench)  # ad(s_j)* F
    return np.einsum("jk,nk,ki,nji->kj", order.before, signed, screws, forces)


def contact_free(total: int) -> ContactPart:
    """Zero partials."""
    none, wide = np.zeros((total, total)), np.zeros((0, 6, total))
    return ContactPart(none, none.copy(), np.zeros((0, 6)), wide, wide)
