"""Closed chains: the IFToMM benchmark problems with their measures, digits, and two arms against Pinocchio.

python benchmarks/loops.py [--quick]
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import partial

import numpy as np
from multibody.andrews import andrews
from multibody.exact import exact_motion
from multibody.iftomm import bricard, governor, n_four_bar, pendulum
from multibody.two_arms import Peer, compared, seconds, states, two_arms

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
        "\nTwo arms of n links holding one thing, microseconds a state: phistar in batches, one thread, and Pinocchio's"
    )
    print("constraintDynamics, called from Python state by state; medians of processor time, calls taken in turn")
    head = f"  {'n':>5} {'phistar':>10} {'per link':>9} {'pinocchio':>10} {'ratio':>7} {'quartiles':>13}"
    print(f"{head} {'difference':>11}")
    for n in lengths:
        print(f"  {n:5} {_line(n)}", flush=True)


def _line(n: int) -> str:
    model, batch = two_arms(n), max(64, min(512, 20000 // n))
    state = states(n, batch)
    rows = list(zip(*(x[: max(4, batch // 16)] for x in state), strict=True))

    def ours() -> np.ndarray:
        return ps.forward_dynamics(model, *state)

    peer, absent = None, "too large" if 2 * n > LARGEST_PEER else "not there"
    if 2 * n <= LARGEST_PEER:
        with suppress(ImportError):
            peer = Peer(model)
    if peer is None:
        ours()
        own = float(np.median([seconds(ours) for _ in range(15)])) / batch
        return f"{1e6 * own:10.2f} {1e6 * own / (2 * n):9.4f} {absent:>10}"
    found = compared(ours, partial(peer.each, rows))
    own, theirs = found.ours / batch, found.theirs / len(rows)
    low, middle, high = (x * batch / len(rows) for x in found.quartiles)
    want, got = np.array([peer(*row) for row in rows]), ours()[: len(rows)]
    sizes = np.max(np.abs(want), axis=-1)
    apart = np.median(np.max(np.abs(got - want), axis=-1) / sizes)
    times = f"{1e6 * own:10.2f} {1e6 * own / (2 * n):9.4f} {1e6 * theirs:10.1f}"
    return f"{times} {middle:7.1f} {low:6.1f} {high:6.1f} {apart:11.1e}"


if __name__ == "__main__":
    os.environ["PHISTAR_THREADS"] = "1"  # as many as Pinocchio uses
    quick = "--quick" in sys.argv[1:]
    if not quick:
        problems()
    digits()
    arms((6, 12) if quick else (6, 12, 25, 50, 100, 200, 400, 600))
