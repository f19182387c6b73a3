"""Forward dynamics of chains with local loops beside their spanning trees: states in a batch, and one state at a time.

python benchmarks/multibody/local_loops.py [LOOPS …]      # 10 20 50 100 by default

Thread time, least of many: what a state takes on one core, however loaded the machine is.
"""

import sys
import time

import numpy as np

import phistar as ps
from phistar.loops.forward import closing_choice

STATES = 512
INERTIA = ps.Inertia(1.0, (0.1, 0.02, 0.03), 0.01 * np.eye(3))


def parallelograms(count, axis):
    """Links a on a chain, every other one about `axis`; each carries b with c, and d, which a cut joint joins to c."""
    b, above = ps.ModelBuilder(f"{count} parallelograms"), "world"
    for k in range(count):
        place = ps.Pose(xyz=(0.3, 0.05, 0.0)) if k else ps.Pose()
        b.body(f"a{k}", above, ps.Revolute(axis=axis if k % 2 else (0, 0, 1)), place, INERTIA)
        b.body(f"b{k}", f"a{k}", ps.Revolute(), ps.Pose(), INERTIA)
        b.body(f"c{k}", f"b{k}", ps.Revolute(), ps.Pose(xyz=(0, 0.2, 0)), INERTIA)
        b.body(f"d{k}", f"a{k}", ps.Revolute(), ps.Pose(xyz=(0.3, 0, 0)), INERTIA)
        b.frame(f"e{k}", f"c{k}", ps.Pose(xyz=(0.3, 0, 0)))
        b.frame(f"f{k}", f"d{k}", ps.Pose(xyz=(0, 0.2, 0)))
        b.loop(f"l{k}", f"e{k}", f"f{k}", joint=ps.Revolute())
        above = f"a{k}"
    return b.build()


def fastest(rounds, *arguments):
    best = np.inf
    for _ in range(rounds):
        began = time.thread_time()
        ps.forward_dynamics(*arguments)
        best = min(best, time.thread_time() - began)
    return 1e6 * best


def measured(count, axis):
    model, rng = parallelograms(count, axis), np.random.default_rng(0)
    turn, swing = rng.uniform(-0.5, 0.5, (2, STATES, count))
    q = np.stack([turn, swing, -swing, swing], axis=-1).reshape(STATES, -1)
    v, tau = rng.standard_normal((2, STATES, model.nv))
    found = []
    for robot in (model, model.tree):
        ps.forward_dynamics(robot, q, v, tau)
        found.append(fastest(20, robot, q, v, tau) / STATES)
        found.append(fastest(100, robot, q[0], v[0], tau[0]))
    many, one, tree, tree_one = found
    how = closing_choice(model).schedule
    print(f"{count:5} loops, {how}: {many:7.2f} µs a state, one {one:6.1f} µs; tree {tree:5.2f} and {tree_one:5.1f} µs")
    return many, one


if __name__ == "__main__":
    counts = [int(x) for x in sys.argv[1:]] or [10, 20, 50, 100]
    for title, axis in (("in a plane", (0, 0, 1)), ("in space", (0, 0.6, 0.8))):
        print(title)
        times = [measured(count, axis) for count in counts]
        for a, b, before, after in zip(counts, counts[1:], times, times[1:], strict=False):
            batch, one = ((y / x) ** (np.log(2) / np.log(b / a)) for x, y in zip(before, after, strict=True))
            print(f"  {a} → {b} loops: {batch:.2f} times for a doubling in batches, {one:.2f} one at a time")
