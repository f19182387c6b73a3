"""Forward dynamics of twenty links that bend beside a rigid chain of as many rates, in one run: operations and times.

python benchmarks/multibody/bending_chains.py [MODES …]      # 1 4 8 16 by default
python benchmarks/multibody/bending_chains.py --counts [MODES …]      # operations a link alone, of 2 to 32 modes

The first column of operations is with D⁻¹ as an inverse, the second with D in two stages, modes first, the third in
coordinates of the modes in which few of them move the ends; the kernel takes the fewest. "plain" are beams without
second-order displacements; those of more than twenty modes have cosines for shapes.
"""

import sys
import time
from dataclasses import replace

import numpy as np

import phistar as ps
from phistar.backends.programs.derivations import ARTICULATED, DECOUPLED, FACTORED
from phistar.backends.rolled_kernel import rolled_counts, rolled_plan
from phistar.dynamics import forward_dynamics

LINKS, STATES, ROUNDS, MOST = 20, 256, 60, 20


def _beam(modes: int, stiffening: bool) -> ps.FlexibleInertia:
    return ps.beam(1.0, (10.0, 12.0), 1.0, modes=modes, axial_inertia=0.01, stiffening=stiffening)


def cosine_beam(modes: int) -> ps.FlexibleInertia:
    """A plain beam of 1 m and 1 kg whose shapes are 1 − cos((i + ½)πx), by turns along y and z."""
    x = (np.arange(8 * modes) + 0.5) / (8 * modes)
    place, wave = np.append(x, 1.0), np.pi * (np.arange(modes) // 2 + 0.5)
    shapes, turns = np.zeros((2, len(place), 3, modes))
    stiffness, bent = np.zeros((modes, modes)), wave**2 * np.cos(np.outer(x, wave))
    for i in range(modes):
        shapes[:, 1 + i % 2, i] = 1.0 - np.cos(wave[i] * place)
        turns[:, 2 - i % 2, i] = (-1) ** i * wave[i] * np.sin(wave[i] * place)
    for plane, rigidity in enumerate((10.0, 12.0)):
        own = slice(plane, None, 2)
        stiffness[own, own] = rigidity * bent[:, own].T @ bent[:, own] / len(x)
    masses = np.zeros((len(place), 6, 6))
    masses[:-1, 3:, 3:] = np.eye(3) / len(x)
    masses[-1, 0, 0] = 0.005
    nodes = np.stack([place, 0.0 * place, 0.0 * place], axis=-1)
    return ps.FlexibleInertia(nodes, shapes, None, stiffness, masses, rotations=turns, ends={"tip": len(place) - 1})


def bending_chain(links: int, modes: int, stiffening: bool = True) -> ps.Model:
    """A chain of beams on revolute joints about x, y, z in turn, each on the tip of the one before."""
    b = ps.ModelBuilder(f"bending {links}x{modes}")
    beam = cosine_beam(modes) if modes > MOST else _beam(modes, stiffening)
    for k in range(links):
        axis = tuple(float(i == k % 3) for i in range(3))
        above = () if k == 0 else (f"link{k - 1}.tip",)
        b.body(f"link{k}", *above, joint=ps.Revolute(axis=axis), inertia=beam)
    return b.build()


def counted(model: ps.Model) -> list[int]:
    """Operations per state, link by link: with D⁻¹ as an inverse, in two stages, and with few modes at the ends."""
    wanted, found = forward_dynamics.statements_for(model, ())[0], []
    for form in (ARTICULATED, FACTORED, DECOUPLED):
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
    forms = " ".join(f"{x:8}" for x in counted(pair[0]))
    own, rigid = (1e6 * x / STATES for x in best)
    kind = "stiffening" if stiffening else "plain"
    figures = f"{forms} operations  {own:7.2f} µs  rigid of {pair[1].nv:3} {rigid:5.2f} µs"
    return f"{modes:3} modes {kind:10} {figures}  {own / rigid:5.2f} times"


def counts(modes: int) -> str:
    """Operations a link of a plain beam and of one that stiffens, in each form."""
    plain = counted(bending_chain(LINKS, modes, False))
    stiff = counted(bending_chain(LINKS, modes)) if modes <= MOST else []
    told = ["  ".join(f"{x / LINKS:8.0f}" for x in each) for each in (plain, stiff)]
    return f"{modes:3} modes  plain {told[0]}   stiffening {told[1] or '-'}"


if __name__ == "__main__":
    asked = [int(x) for x in sys.argv[1:] if x.isdigit()]
    if "--counts" in sys.argv:
        for count in asked or (2, 4, 6, 8, 12, 16, 20, 32):
            print(counts(count), flush=True)
    else:
        for count in asked or (1, 4, 8, 16):
            for stiff in (True, False):
                print(measured(count, stiff), flush=True)
