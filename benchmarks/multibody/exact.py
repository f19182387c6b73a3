"""Closed motion and hybrid dynamics by dense solves in many digits: what accelerations and forces are compared with."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

import phistar as ps
from phistar.backends.traces.symbolic import replay
from phistar.loops.closure import closures, loop_frames
from phistar.recording import Recording, record

from .digits import Digits


def kkt_blocks(model: ps.Model) -> Recording:
    """One state's ℳ, 𝒞 + 𝒢, A and the drift of Aθ̈ as arithmetic, to be run on numbers of any precision."""

    def blocks(q: Any, v: Any) -> dict[str, Any]:
        tree, frames = model.tree, loop_frames(model)
        poses = {f: ps.forward_kinematics(tree, q, f) for f in frames}
        jacobians = {f: ps.jacobian(tree, q, f) for f in frames}
        found = closures(model, q, poses, v, {f: J @ v for f, J in jacobians.items()})
        rows, drift = found.on_rates, found.drift
        for i, f in enumerate(frames):
            own = found.on_frames[..., 6 * i : 6 * i + 6]
            rows, drift = rows + own @ jacobians[f], drift + own @ ps.jacobian_dot_v(tree, q, v, f)
        return {"mass": ps.mass_matrix(tree, q), "bias": ps.bias(tree, q, v), "rows": rows, "drift": drift}

    return record(blocks, model)


def exact_motion(model: ps.Model, q: Any, v: Any, tau: Any, digits: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """θ̈ and λ of [[ℳ, −A*], [A, 0]] [θ̈; λ] = [T − 𝒞 − 𝒢; −ȦΘ̇]."""
    with mpmath.workdps(digits):
        parts = _replayed(kkt_blocks(model), q, v)
        n, m = model.nv, len(parts["rows"])
        whole, right = mpmath.zeros(n + m, n + m), mpmath.zeros(n + m, 1)
        for i, j in np.ndindex(n, n):
            whole[i, j] = parts["mass"][i, j]
        for i, j in np.ndindex(m, n):
            whole[n + i, j], whole[j, n + i] = parts["rows"][i, j], -parts["rows"][i, j]
        for i in range(n):
            right[i] = mpmath.mpf(float(tau[i])) - parts["bias"][i]
        for i in range(m):
            right[n + i] = -parts["drift"][i]
        solved = mpmath.lu_solve(whole, right)
        return np.array([float(x) for x in solved[:n]]), np.array([float(x) for x in solved[n:]])


def exact_partition(
    model: ps.Model, q: Any, v: Any, tau: Any, told: Any, is_told: np.ndarray, digits: int = 50
) -> tuple[np.ndarray, np.ndarray]:
    """θ̈ and T of a tree whose rates `is_told` have the accelerations `told`: ℳ_ff θ̈_f = T_f − 𝒞_f − 𝒢_f − ℳ_fp θ̈_p."""
    blocks = record(lambda q, v: {"mass": ps.mass_matrix(model, q), "bias": ps.bias(model, q, v)}, model)
    with mpmath.workdps(digits):
        parts = _replayed(blocks, q, v)
        mass, bias = parts["mass"], parts["bias"]
        free, moved = np.flatnonzero(~is_told), np.array([mpmath.mpf(float(x)) for x in told * is_told])
        right = np.array([mpmath.mpf(float(x)) for x in tau]) - bias - mass @ moved
        whole = mpmath.matrix(mass[np.ix_(free, free)].tolist())
        moved[free] = list(mpmath.lu_solve(whole, mpmath.matrix(right[free].tolist())))
        return np.array([float(x) for x in moved]), np.array([float(x) for x in mass @ moved + bias])


def _replayed(recording: Recording, q: Any, v: Any) -> dict[str, np.ndarray]:
    """The results of a recording at (q, v), in the digits that are set."""
    values = replay(recording.trace, [Digits(float(x)) for x in (*q, *v)])
    values = [Digits(x).value for x in values]
    parts, start = {}, 0
    for name, shape in recording.results:
        stop = start + int(np.prod(shape))
        parts[name], start = np.array(values[start:stop], dtype=object).reshape(shape), stop
    return parts
