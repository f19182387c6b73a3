"""The joint forces as a linear function of the links' inertial parameters: τ = Hφ(Mα + b) = HφY π, Y memoryless."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from phistar.backends.interpret import run
from phistar.backends.links import bias_force, links_at
from phistar.model import Model
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import GIVEN, lower, lower_all


def regressor(model: Model, q: Any, v: Any, a: Any) -> np.ndarray:
    """HφY, (…, nv, 10·bodies): made as (Y*φ*H*)*, so that nv columns travel along the links, not ten a link."""
    links, (motions, axes) = links_at(model, q), _programs()
    lift = np.concatenate([np.zeros(3), -model.gravity])[:, None]
    given = {GIVEN["v"]: np.asarray(v)[..., None], GIVEN["qdd"]: np.asarray(a)[..., None], GIVEN["a_g"]: lift}
    names, fields = motions.result_names, run(motions, links, given)
    reach = run(axes, links, {"x": np.eye(model.nv)})[axes.result_names["y"]]
    unit = replace(links, inertias=np.broadcast_to(np.eye(10)[:, None, :], (10, len(model.bodies), 10)))
    blocks = []
    for k in range(len(model.bodies)):
        own = slice(6 * k, 6 * k + 6)
        velocity, alpha = (fields[names[x]][..., None, own, :] for x in ("V", "alpha"))
        by_parameter = (np.matmul(unit.mass(k), alpha) + bias_force(unit.mass(k), velocity))[..., 0]  # Y*, (…, 10, 6)
        blocks.append(np.matmul(np.swapaxes(reach[..., own, :], -1, -2), np.swapaxes(by_parameter, -1, -2)))
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks))
    return np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in blocks], axis=-1)


@cache
def _programs() -> tuple[Program, Program]:
    """V and α = φ*(H*θ̈ + a + E*a_g) (KJR92 eqs. 41, 45); φ*H*, what each joint does to each link."""
    s = Symbols()
    alpha = s.phi.T @ (s.H.T @ s.qdd + s.a + s.E.T @ s.a_g)
    return lower_all({"V": s.V, "alpha": alpha}), lower(s.phi.T @ s.H.T, matrix=True)
