"""What a free-flying robot with bending arms keeps: energy and momentum of the boom of `examples/flexible_boom.py`.

python benchmarks/multibody/free_flexible.py            # 1,000 s at 1 ms by the method that keeps both
python benchmarks/multibody/free_flexible.py --adaptive # also 10 s by ps.simulate at rtol = 1e-12
"""

# pyright: reportMissingImports=false

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import phistar as ps

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from flexible_boom import boom

STEP, PIECE = 1e-3, 5000


def start(modes):
    """A boom without damping, whirling and ringing."""
    b = boom(ps.beam(length=2.0, EI=(60.0, 90.0), mass_per_length=1.5, modes=modes, axial_inertia=0.01))
    v = 0.3 * np.random.default_rng(0).standard_normal(b.nv)
    for body in b.bodies:
        v[body.mode_slice] *= 0.1
    return b, b.neutral(), v


def energy(model, q, v):
    """Kinetic and elastic."""
    total = ps.kinetic_energy(model, q, v)
    for body in model.bodies:
        if body.flexible is not None:
            eta = q[..., body.mode_q_slice]
            total = total + 0.5 * np.sum((eta @ body.flexible.modal_stiffness) * eta, axis=-1)
    return total


def long_run(duration, modes=2):
    """Largest relative errors of energy and momentum, and the energy's trend over the whole, by `midpoint`."""
    model, q, v = start(modes)
    e0, p0, seen, moved = energy(model, q, v), ps.momentum(model, q, v), [], 0.0
    began = time.perf_counter()
    for _ in range(round(duration / (STEP * PIECE))):
        run = ps.rollout(model, q, v, dt=STEP, steps=PIECE, method="midpoint")
        seen.append(energy(model, run.q[::50], run.v[::50]) / e0 - 1.0)
        moved = max(moved, np.abs(ps.momentum(model, run.q[::50], run.v[::50]) - p0).max() / np.abs(p0).max())
        q, v = run.q[-1], run.v[-1]
    errors = np.concatenate(seen)
    trend = np.polyfit(np.linspace(0.0, 1.0, len(errors)), errors, 1)[0]
    print(
        f"midpoint, {duration:g} s at {STEP:g} s, {model.nv} rates: energy within {np.abs(errors).max():.1e}, its "
        f"trend {trend:.1e} over all, momentum within {moved:.1e} ({time.perf_counter() - began:.0f} s)"
    )


def adaptive(duration=10.0, rtol=1e-12, modes=4):
    """The same by ps.simulate."""
    model, q, v = start(modes)
    began = time.perf_counter()
    run = ps.simulate(model, q, v, duration, rtol=rtol, atol=1e-2 * rtol, t_eval=np.linspace(0, duration, 101))
    momenta = ps.momentum(model, run.q, run.v)
    drift = np.abs(run.energy / run.energy[0] - 1.0).max()
    moved = np.abs(momenta - momenta[0]).max() / np.abs(momenta[0]).max()
    print(
        f"adaptive, {duration:g} s at rtol {rtol:g}, {model.nv} rates: energy within {drift:.1e}, momentum within "
        f"{moved:.1e} ({time.perf_counter() - began:.0f} s)"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1000.0)
    parser.add_argument("--adaptive", action="store_true")
    given = parser.parse_args()
    long_run(given.seconds)
    if given.adaptive:
        adaptive()
