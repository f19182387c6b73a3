"""A Panda identified from noisy logs: how long a consistent fit takes, what it predicts, and whether its deviations are
true; one thread.

    python benchmarks/identification.py [--logs N]

The arm (seven bodies, fingers fixed) moves along an excitation; joint forces have noise of a percent of each joint's
greatest. The fit starts from a robot whose masses and tensors are wrong by thirty percent. The time is that of all of
`ps.identify.fit`: regressor, compression of 10,000 samples and fit. Deviations are judged on new logs of new noise.
"""

import argparse
import os
import time
from dataclasses import replace

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["PHISTAR_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

import phistar as ps
from phistar.cli.benchmark.robots import FILES
from phistar.identify.consistent import pseudo_inertia
from phistar.identify.parameter_columns import Columns

TERMS, SAMPLES, REPEATS = ("armature", "damping", "friction"), 10_000, 5


def true_robot() -> ps.Model:
    model = FILES["panda"]()
    return model.replace(
        joints={j.name: replace(j.kind, armature=0.05, damping=0.5, friction=0.3) for j in model.joints}
    )


def doubted(model: ps.Model, rng: np.random.Generator) -> ps.Model:
    wrong = {}
    for body in model.bodies:
        mass, tensor = np.exp(0.3 * rng.normal(size=2)) * 1.0
        own = body.inertia
        wrong[body.name] = ps.Inertia(own.mass * mass, own.com, own.tensor * tensor)
    return model.replace(inertias=wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description="A Panda identified from noisy logs")
    parser.add_argument("--logs", type=int, default=20)
    logs, rng = parser.parse_args().logs, np.random.default_rng(0)
    true = true_robot()
    columns, believed = Columns(true, TERMS), doubted(true, rng)
    path = ps.identify.excitation(true, 20.0, samples=SAMPLES, candidates=100, seed=1)
    other = ps.identify.excitation(true, 15.0, samples=3000, candidates=20, seed=9)
    tau, held_out = (columns.table(x.q, x.v, x.a) @ columns.model_values for x in (path, other))
    noise = 0.01 * np.abs(tau).max(axis=0)
    base = ps.identify.base_parameters(true, TERMS).grouping @ columns.model_values
    best, scores, ratios, physical, found = np.inf, [], [], 0, None
    for number in range(max(logs, REPEATS)):
        seen = tau + noise * rng.normal(size=tau.shape)
        began = time.process_time()
        found = ps.identify.fit(believed, path.q, path.v, path.a, seen)
        best = min(best, time.process_time() - began) if number else best
        consistent = found.base.grouping @ np.array(list(found.parameters.values()))
        scores.append((consistent - base) / found.deviations)
        told = found.error(other.q, other.v, other.a, held_out + noise * rng.normal(size=held_out.shape))
        ratios.append(told.rms / noise)
        physical += found.physical
    assert found is not None
    plain = np.linalg.lstsq(
        columns.table(path.q, path.v, path.a).reshape(-1, len(columns.names)), seen.reshape(-1), rcond=1e-9
    )[0]
    bodies = np.linalg.eigvalsh(pseudo_inertia(plain[: 10 * columns.bodies].reshape(-1, 10)))[:, 0]
    print(f"{columns.bodies} bodies, {len(found.base)} base parameters, {SAMPLES} samples: {1e3 * best:.1f} ms a fit")
    print(
        f"all bodies physical in {physical} of {len(ratios)} logs; plain least squares: {int(np.sum(bodies <= 0))} of",
        end="",
    )
    print(f" {len(bodies)} bodies are not")
    print(f"held-out error: at most {np.max(ratios):.3f} of the noise, joint by joint")
    within = np.mean(np.abs(scores) <= 3.0)
    print(f"within three deviations: {100 * within:.2f} % of {np.size(scores)} parameters; spread {np.std(scores):.2f}")


if __name__ == "__main__":
    main()
