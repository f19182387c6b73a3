"""Closed chains: the IFToMM benchmark problems with their measures, digits, and two arms against Pinocchio.

python benchmarks/loops.py [--quick]
"""

from __future__ import annotations

import sys

import numpy as np
from multibody.andrews import andrews
from multibody.exact import exact_motion
from multibody.iftomm import bricard, governor, n_four_bar, pendulum
from multibody.two_arms import Peer, quickest, states, two_arms

import phistar as ps
from phistar.loops.forward import closed_motion

LARGEST_PEER = 420  # degrees of freedom: Pinocchio's data grows with their cube, 4 GB here


def problems() -> None:
    print("IFToMM library of computational benchmark problems (rtol 1e-10)")
    for make in (pendulum, n_four_bar, andrews, bricard, governor):
        problem = make()
        _, figures = problem.run()
        print(f"  {problem.name:16}" + "   ".join(f"{name}: {value:.3g}" for name, value in figures.items()))


def digits() -> None:
    print("\nAgainst a dense solve of the equations of motion in 50 digits, relative")
    for n in (6, 10):
        model = two_arms(n)
        q, v, tau = (x[0] for x in states(n, 1))
        acceleration, forces = exact_motion(model, q, v, tau)
        found = closed_motion(model, q, v, tau)
        errors = [
            np.max(np.abs(a - b)) / np.max(np.abs(b))
            for a, b in ((found.acceleration, acceleration), (found.forces, forces))
        ]
        print(f"  two arms of {n}: accelerations {errors[0]:.1e}, closing forces {errors[1]:.1e}, ", end="")
        print(f"condition {float(found.condition):.3g}")


def arms(lengths: tuple[int, ...]) -> None:
    print(
        "\nTwo arms of n links holding one thing, microseconds a state, phistar in batches (two threads where it pays),"
    )
    print("and Pinocchio's constraintDynamics, called from Python state by state")
    print(f"  {'n':>5} {'phistar':>10} {'per link':>9} {'pinocchio':>10} {'ratio':>7} {'difference':>11}")
    for n in lengths:
        model, batch = two_arms(n), max(64, min(512, 20000 // n))
        q, v, tau = states(n, batch)
        ours = quickest(lambda model=model, state=(q, v, tau): ps.forward_dynamics(model, *state)) / batch
        line = f"  {n:5} {1e6 * ours:10.2f} {1e6 * ours / (2 * n):9.4f}"
        if 2 * n <= LARGEST_PEER:
            try:
                peer = Peer(model)
            except ImportError:
                print(f"{line} {'not there':>10}")
                continue
            theirs = quickest(lambda peer=peer, state=(q[0], v[0], tau[0]): peer(*state))
            want, got = peer(q[0], v[0], tau[0]), ps.forward_dynamics(model, q[0], v[0], tau[0])
            apart = np.max(np.abs(got - want)) / np.max(np.abs(want))
            line += f" {1e6 * theirs:10.1f} {theirs / ours:7.1f} {apart:11.1e}"
        else:
            line += f" {'too large':>10}"
        print(line, flush=True)


if __name__ == "__main__":
    quick = "--quick" in sys.argv[1:]
    if not quick:
        problems()
    digits()
    arms((6, 12) if quick else (6, 12, 25, 50, 100, 200, 400, 600))
