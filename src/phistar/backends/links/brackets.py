"""The memoryless operators that the derivative of the Newton-Euler statement is made of, link by link in one frame.

Floats with leading axes, or traced scalars.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.links.values import Links
from phistar.spatial import skew


def bracket(x: np.ndarray) -> np.ndarray:
    """x~ with x~y = [ω×ω_y; ω×v_y + v×ω_y], (…, 6, 1) → (…, 6, 6)."""
    spin, slide = skew(x[..., :3, 0]), skew(x[..., 3:, 0])
    upper = np.concatenate([spin, np.zeros(spin.shape)], axis=-1)
    return np.concatenate([upper, np.concatenate([slide, spin], axis=-1)], axis=-2)


def own_bracket(x: np.ndarray, h: np.ndarray) -> np.ndarray:
    """(H*θ̇)~H*, zero for one axis."""
    return np.matmul(bracket(x), h) if h.shape[-1] > 1 else np.zeros(h.shape[-2:])


def force_bracket(force: np.ndarray) -> np.ndarray:
    """F^ with F^y = y ×* F = [ω×n + v×f; ω×f] for F = [n; f], (…, 6, 1) → (…, 6, 6)."""
    moment, push = -skew(force[..., :3, 0]), -skew(force[..., 3:, 0])
    lower_half = np.concatenate([push, np.zeros(push.shape)], axis=-1)
    return np.concatenate([np.concatenate([moment, push], axis=-1), lower_half], axis=-2)


def coriolis_block(mass: Any, moment: np.ndarray, second: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """𝓑 = [[tr(N) − N, 0], [−p~, 0]], (…, 6, 6), with N = ∫ẋx* dm and p = ∫ẋ dm: 𝓑V = V ×* MV, δ(𝓑V) = 2𝓑δV but for
    what α's change absorbs. Of a link's mass, ∫x dm (…, 3), ∫xx* dm (…, 3, 3) and V (…, 6, 1)."""
    omega, linear = velocity[..., :3, :], velocity[..., 3:, :]
    spin = skew(omega[..., 0])
    n = np.matmul(spin, second) + linear * moment[..., None, :]
    momentum = np.asarray(mass)[..., None, None] * linear + np.matmul(spin, moment[..., None])
    trace = [n[..., i, i] + n[..., j, j] for i, j in ((1, 2), (0, 2), (0, 1))]
    rows = [[trace[i] if i == j else -n[..., i, j] for j in range(3)] for i in range(3)]
    top = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    left = np.concatenate([top, -skew(momentum[..., 0])], axis=-2)
    return np.concatenate([left, np.zeros(left.shape)], axis=-1)


def frame_turn(motions: np.ndarray) -> np.ndarray:
    """[ω~, 0; 0, ω~] of task motions (…, 6m, 1), frame by frame, (…, 6m, 6m)."""
    size = motions.shape[-2]
    rows = []
    for at in range(0, size, 3):
        turn = skew(motions[..., 6 * (at // 6) : 6 * (at // 6) + 3, 0])
        before, after = (np.zeros((*turn.shape[:-1], n)) for n in (at, size - at - 3))
        rows.append(np.concatenate([before, turn, after], axis=-1))
    return np.concatenate(rows, axis=-2)


def frame_sweep(vectors: np.ndarray) -> np.ndarray:
    """[y₁~, 0; y₂~, 0] of [y₁; y₂] at each frame, (…, 6m, 1) → (…, 6m, 6m)."""
    size, rows = vectors.shape[-2], []
    for at in range(0, size, 3):
        turn, column = skew(vectors[..., at : at + 3, 0]), 6 * (at // 6)
        before, after = (np.zeros((*turn.shape[:-1], n)) for n in (column, size - column - 3))
        rows.append(np.concatenate([before, turn, after], axis=-1))
    return np.concatenate(rows, axis=-2)


def axial(block: np.ndarray) -> np.ndarray:
    """The force f with f*m = tr(X m~) for every motion m, (…, 6, 6) → (…, 6, 1)."""
    turn, slide = block[..., :3, :3] + block[..., 3:, 3:], block[..., :3, 3:]
    entries = [x[..., i, j] - x[..., j, i] for x in (turn, slide) for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.stack(entries, axis=-1)[..., None]


def axes_axial(links: Links, k: int, block: np.ndarray) -> np.ndarray | None:
    """t with t*w = tr(X ∂_wH*), (…, r, 6) → (…, r, 1)."""
    if block is None:
        return None
    entries = [links.subspace_rate(k, e) for e in np.eye(block.shape[-2])]
    if any(x is None for x in entries):
        return None
    return np.stack([np.asarray((np.swapaxes(block, -1, -2) * x).sum(axis=(-2, -1))) for x in entries], -1)[..., None]


def root(block: np.ndarray) -> np.ndarray:
    """R, upper triangular with R*R = D, of a positive block (…, r, r)."""
    size, zero = block.shape[-1], 0.0 * block[..., 0, 0]
    found = [[zero] * size for _ in range(size)]
    for i in range(size):
        for j in range(i, size):
            left = block[..., i, j] - sum((found[k][i] * found[k][j] for k in range(i)), zero)
            found[i][j] = np.sqrt(left) if i == j else left / found[i][i]
    return np.stack([np.stack(row, axis=-1) for row in found], axis=-2)
