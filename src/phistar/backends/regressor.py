"""The joint forces as a linear function of the links' inertial parameters: τ = Hφ(Mα + b) = HφY π, Y memoryless."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel
from phistar.backends.links.values import links_at
from phistar.backends.programs.interpret import run
from phistar.backends.rolled.columns import column_by_column
from phistar.backends.rolled.plan import Plan
from phistar.backends.rolled_kernel import compile_plan
from phistar.model import Model
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import Call, Field, Program, Statement, Sweep, Times
from phistar.sweeps.lower import GIVEN, lower_all


def regressor(model: Model, q: Any, v: Any, a: Any) -> np.ndarray:
    """HφY, (…, nv, 10·bodies): made as (Y*φ*H*)*, so that nv columns travel along the links, not ten a link."""
    lift = np.concatenate([np.zeros(3), -model.gravity])[:, None]
    given = {GIVEN["v"]: np.asarray(v)[..., None], GIVEN["qdd"]: np.asarray(a)[..., None], GIVEN["a_g"]: lift}
    made = regression()
    found = run(made, links_at(model, q), {**given, made.columns[0]: np.eye(model.nv)})
    return np.swapaxes(found[made.result_names["y"]], -1, -2)


def compile_regressor(model: Model) -> Kernel:
    """The same for a long mechanism: a joint's row of it after the other."""
    plan = column_by_column(Plan(regression(), 0))
    assert plan is not None
    return compile_plan(plan, model, (), "regressor")


@cache
def regression() -> Program:
    """The program of Y*φ*H*: V and α = φ*(H*θ̈ + a + E*a_g) (KJR92 eqs. 41, 45) make Y; φ*H* is what each joint does to
    each link. In the axes of the bodies, whose parameters are meant."""
    s = Symbols()
    alpha = s.phi.T @ (s.H.T @ s.qdd + s.a + s.E.T @ s.a_g)
    made = lower_all({"V": s.V, "alpha": alpha, "reach": s.phi.T @ s.H.T}, matrix=True)
    names = made.result_names
    seen = {public: Call("motion_in_body", (Field(names[public]),)) for public in names}
    more = (
        Statement("Y*", Call("parameter_forces", (seen["V"], seen["alpha"]))),
        Statement("y", Times(Field("Y*"), seen["reach"])),
    )
    *before, last = made.sweeps
    sweeps = (*before, Sweep(last.direction, (*last.statements, *more)))
    return replace(made, sweeps=sweeps, outputs=(("y", "parameters"),), results=(("y", "y"),), matrices=("y",))
