"""How a step q' = q ⊕ w, w = h v', moves coordinates that do not add: to first and to second order.

With deviations δ of q and ω of w, and x~y = [x, y] of the joint's group (rotations or rigid motions),

    δq' = log(exp(−w) exp(δ) exp(w + ω)) = Xδ + Yω + ½[Xδ, Yω] + ½ Y'(w; ω)ω + …
    X = exp(−w~),   Y = ∫₀¹ exp(−s w~) ds = Σ (−w~)ⁿ/(n + 1)!
"""

from __future__ import annotations

import numpy as np

from phistar.model import Model
from phistar.spatial import skew

TERMS = 24  # of the series in w~: exact to rounding for turns of up to three radians a step


def step_slopes(model: Model, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X and Y, (N, c, c), of displacements w (N, c) of the first c rates; identities where coordinates add."""
    carried = np.broadcast_to(np.eye(moved.shape[1]), (*moved.shape, moved.shape[1])).copy()
    spread = carried.copy()
    for own in _curved_rates(model):
        back = -bracket(moved[:, own])
        series = _series(back)
        cut = (slice(None), own, own)
        spread[cut], carried[cut] = series, np.eye(back.shape[-1]) + back @ series
    return carried, spread


def step_curvature(model: Model, moved: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The second derivatives of weights (N, c) times δq', by δ and ω, and by ω twice, (N, c, c) each."""
    mixed, twice = np.zeros((2, *moved.shape, moved.shape[1]))
    carried, spread = step_slopes(model, moved)
    for own in _curved_rates(model):
        cut, weight = (slice(None), own, own), weights[:, own]
        size = weight.shape[1]
        unit = np.eye(size)
        brackets = np.stack([bracket(axis[None])[0] for axis in unit])  # [eᵢ, ·]
        turned = np.einsum("na,iab->nib", weight, brackets)  # λ*[eᵢ, e_b]
        mixed[cut] = 0.5 * np.swapaxes(carried[cut], -1, -2) @ turned @ spread[cut]
        pair = np.zeros((len(moved), size, 2 * size, 2 * size))  # f([[A, B], [0, A]]) has f's derivative along B
        pair[..., :size, :size] = pair[..., size:, size:] = -bracket(moved[:, own])[:, None]
        pair[..., :size, size:] = -brackets
        changes = _series(pair)[..., :size, size:]  # Y'(w; eᵢ)
        along = np.einsum("na,niab->nib", weight, changes)
        twice[cut] = 0.5 * (along + np.swapaxes(along, -1, -2))
    return mixed, twice


def _curved_rates(model: Model) -> list[slice]:
    return [joint.v_slice for joint in model.joints if not joint.kind.flat]


def _series(x: np.ndarray) -> np.ndarray:
    """Σ xⁿ/(n + 1)! of matrices."""
    unit = np.eye(x.shape[-1])
    made = np.broadcast_to(unit, x.shape)
    for k in range(TERMS, 1, -1):
        made = unit + x @ made / k
    return made


def bracket(x: np.ndarray) -> np.ndarray:
    """x~ of rotations (…, 3) or twists (…, 6), angular part first: x~y = [x, y]."""
    if x.shape[-1] == 3:
        return skew(x)
    spin, slide, nothing = skew(x[..., :3]), skew(x[..., 3:]), np.zeros((*x.shape[:-1], 3, 3))
    upper, lower = np.concatenate([spin, nothing], axis=-1), np.concatenate([slide, spin], axis=-1)
    return np.concatenate([upper, lower], axis=-2)
