"""Forward dynamics of twenty links that bend beside a rigid chain of as many rates, in one run: operations and times.

python benchmarks/multibody/bending_chains.py [MODES …]      # 1 4 8 16 by default

The first column of operations is with D⁻¹ as an inverse, the second with D in two stages, modes first; the kernel takes
the fewer. "plain" are beams without second-order displacements.
"""

import sys
import time
from dataclasses import replace

import numpy as np

import phistar as ps
from phistar.backends.programs.derivations import ARTICULATED, FACTORED
from phistar.backends.rolled_kernel import rolled_counts, rolled_plan
from phistar.dynamics import forward_dynamics

LINKS, STATES, ROUNDS = 20, 256, 60


def bending_chain(links: int, modes: int, stiffening: bool = True) -> ps.Model:
    """A chain of beams on revolute joints about x, y, z in turn, each on the tip of the one before."""
    b = ps.ModelBuilder(f"bending {links}x{modes}")
    beam = ps.beam(1.0, (10.0, 12.0), 1.0, modes=modes, axial_inertia=0.01, stiffening=stiffening)
    for k in range(links):
        axis = tuple(float(i == k % 3) for i in range(3))
        above = () if k == 0 else (f"link{k - 1}.tip",)
        b.body(f"link{k}", *above, joint=ps.Revolute(axis=axis), inertia=beam)
    return b.build()


def counted(model: ps.Model) -> list[int]:
    """Operations per state, link by link, with D⁻¹ as an inverse and in two stages."""
    wanted, found = forward_dynamics.statements_for(model, ())[0], []
    for form in (ARTICULATED, FACTORED):
        asked = replace(wanted, form=form)
        plan = rolled_plan(asked)
        assert plan is not None
        found.append(rolled_counts(asked, plan)[0])
    return found


def states(model: ps.Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    q = rng.uniform(-0.05, 0.05, (STATES, model.nq))
    v, tau = 0.1 * rng.standard_normal((2, STATES, model.nv))
    return q, v, tau


def measured(modes: int, stiffening: bool) -> str:
    pair = bending_chain(LINKS, modes, stiffening), ps.chain(LINKS * (modes + 1))
    given, best = [states(model) for model in pair], [np.inf, np.inf]
    for _ in range(ROUNDS):
        for i, (model, (q, v, tau)) in enumerate(zip(pair, given, strict=True)):
            began = time.thread_time()
            ps.forward_dynamics(model, q, v, tau)
            best[i] = min(best[i], time.thread_time() - began)
    inverse, stages = counted(pair[0])
    own, rigid = (1e6 * x / STATES for x in best)
    kind = "stiffening" if stiffening else "plain"
    figures = f"{inverse:8} {stages:8} operations  {own:7.2f} µs  rigid of {pair[1].nv:3} {rigid:5.2f} µs"
    return f"{modes:3} modes {kind:10} {figures}  {own / rigid:5.2f} times"


if __name__ == "__main__":
    for count in [int(x) for x in sys.argv[1:]] or (1, 4, 8, 16):
        for stiff in (True, False):
            print(measured(count, stiff), flush=True)
