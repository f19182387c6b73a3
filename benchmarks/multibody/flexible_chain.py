"""Forward dynamics of twenty beams of four modes beside a rigid chain of as many rates, per state of a batch.

    OPENBLAS_NUM_THREADS=1 python benchmarks/multibody/flexible_chain.py

Prints the operations of both and the ratio of their times, least of 25 each, taken in turn.
"""

import time

import numpy as np

import phistar as ps

STATES, REPEATS = 512, 25


def beams() -> ps.Model:
    """Twenty beams, each on the tip of the one before, turning about y and z in turn."""
    builder, parent, beam = ps.ModelBuilder("beams"), "world", ps.beam(0.5, (20.0, 40.0), 1.0, modes=4)
    for k in range(20):
        builder.body(f"beam{k}", parent, ps.Revolute(axis=(0, 1, 0) if k % 2 else (0, 0, 1)), inertia=beam)
        parent = f"beam{k}.tip"
    return builder.build()


if __name__ == "__main__":
    rng, runs, least = np.random.default_rng(0), [], [np.inf, np.inf]
    for model in (beams(), ps.chain(100)):
        compiled = ps.compile(ps.forward_dynamics.statement, model)
        given = {name: 0.1 * rng.normal(size=(STATES, model.nv)) for name in ("q", "v", "T")}
        runs.append((compiled, [given[name] for name in compiled.inputs]))
        print(f"{model.name}: {model.nv} rates, {compiled.operations} operations")
    for _ in range(REPEATS + 1):
        for number, (compiled, arrays) in enumerate(runs):
            start = time.thread_time()
            compiled(*arrays)
            least[number] = min(least[number], time.thread_time() - start)
    told = " and ".join(f"{1e6 * each / STATES:.2f}" for each in least)
    print(f"a state takes {told} µs: {least[0] / least[1]:.2f} times as long bending")
