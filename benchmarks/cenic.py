"""Motions to a tolerance of 1e-3 against Drake's CENIC: balls that fall on a floor, slide and begin to roll.

    python benchmarks/cenic.py --drake PYTHON [balls …]

PYTHON is an interpreter that has drake; it runs `cenic_peer.py`. Each program is compared with itself at a tolerance a
thousand times smaller: the error is the largest distance between two places of a ball, at samples of 50 ms over 1 s.
Times are of the processor, the least of three runs. Contact laws differ (a barrier at 10 ms here, point contact of
1e5 N/m there), so that places are not compared with each other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from time import process_time

import numpy as np

import phistar as ps

RADIUS, WIDE, SAMPLE, DURATION, TOLERANCE = 0.1, 5, 0.05, 1.0, 1e-3


def balls(count: int) -> tuple[ps.Plant, np.ndarray]:
    """The plant, and the rates that it starts with."""
    plant, moment = ps.Plant(), 0.4 * RADIUS**2
    plant.add_shape(ps.Plane())
    for i in range(count):
        inertia = ps.Inertia(1.0, (0, 0, 0), moment * np.eye(3))
        at = ps.Pose(xyz=(0.5 * (i % WIDE), 0.5 * (i // WIDE), 0.2))
        plant.add_body(f"b{i}", ps.Sphere(RADIUS), inertia=inertia, at=at, material=ps.Material(friction=0.5))
    v = np.zeros(plant.model.nv)
    v[3::6] = 0.2 + 0.3 * np.arange(count) / count
    return plant, v


def ours(count: int, rtol: float) -> tuple[float, np.ndarray]:
    plant, v = balls(count)
    best, run = np.inf, None
    for _ in range(3):
        began = process_time()
        run = ps.simulate(plant, DURATION, v0=v, rtol=rtol, step=SAMPLE)
        best = min(best, process_time() - began)
    assert run is not None
    return best, run.q.reshape(len(run.t), count, 7)[..., :3]


def theirs(python: str, count: int, accuracy: float) -> tuple[float, np.ndarray]:
    command = [python, str(Path(__file__).with_name("cenic_peer.py")), str(count), str(accuracy)]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(made.stdout.strip().splitlines()[-1])
    return found["seconds"], np.array(found["places"])


def measure(python: str, count: int) -> str:
    told = []
    for run in (lambda x: ours(count, x), lambda x: theirs(python, count, x)):
        (seconds, places), (_, exact) = run(TOLERANCE), run(1e-3 * TOLERANCE)
        told.append((seconds, float(np.linalg.norm(places - exact, axis=-1).max())))
    (a, b), (c, d) = told
    return f"{count} balls, {DURATION:g} s: {a:.3f} s, error {b:.1e} m; CENIC {c:.3f} s, error {d:.1e} m; {a / c:.2f} x"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("balls", nargs="*", type=int, default=[8, 20])
    parser.add_argument("--drake", required=True, help="an interpreter that has drake")
    given = parser.parse_args()
    for count in given.balls or [8, 20]:
        print(measure(given.drake, count), flush=True)


if __name__ == "__main__":
    main()
