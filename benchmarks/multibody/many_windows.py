"""Forward dynamics of masts of four-bars in independent rates beside their spanning trees, in one run.

python benchmarks/multibody/many_windows.py [WINDOWS …]      # 10 100 1000 by default
"""

# pyright: reportMissingImports=false

import sys
import time
from pathlib import Path

import numpy as np

import phistar as ps

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from four_bar_truss import mast

STATES, ROUNDS = 512, 100


def fastest(pairs):
    """The least time of each of some calls, taken by turns, s."""
    best = [np.inf] * len(pairs)
    for _ in range(ROUNDS):
        for i, (function, arguments) in enumerate(pairs):
            began = time.perf_counter()
            function(*arguments)
            best[i] = min(best[i], time.perf_counter() - began)
    return best


def measured(windows):
    closed = mast(windows)
    q = np.tile([np.pi / 2 - 0.2, 0.2 - np.pi / 2, np.pi / 2 - 0.2], windows)
    model, rng = closed.embedded(q=q), np.random.default_rng(0)
    many = np.tile(q, (STATES, 1))
    pairs = [
        (ps.forward_dynamics, (robot, many, *rng.standard_normal((2, STATES, robot.nv))))
        for robot in (model, closed.tree)
    ]
    for function, arguments in pairs:
        function(*arguments)
    own, tree = (1e6 * t / STATES for t in fastest(pairs))
    print(f"{windows:5} four-bars: {own:8.2f} µs a state, spanning tree {tree:8.2f} µs, {own / tree:.2f} times")


if __name__ == "__main__":
    for count in [int(x) for x in sys.argv[1:]] or (10, 100, 1000):
        measured(count)
