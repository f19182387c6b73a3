"""Motions to a tolerance of 1e-3 against Drake's CENIC: balls that fall on a floor, slide and begin to roll, and a
quadruped that drops on its feet and stands on springs in its joints.

    python benchmarks/cenic.py --drake PYTHON [BALLS …] [quadruped]

PYTHON is an interpreter that has drake; it runs `cenic_peer.py`. Each program is compared with itself at a tolerance a
thousand times smaller: the error is the largest distance between two places of a body, at samples of 50 ms over 1 s.
Times are of the processor, the least of nine runs: here the whole of `ps.simulate`, there AdvanceTo alone; the second
ratio is to all that Drake does from the built diagram to the places. Contact laws differ (a barrier at 10 ms here,
point contact of 1e5 N/m there), so that places are not compared with each other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from contact import quadruped

import phistar as ps

RADIUS, WIDE, SAMPLE, DURATION, TOLERANCE = 0.1, 5, 0.05, 1.0, 1e-3
FEET = ("base", "lf_shank", "rf_shank", "lh_shank", "rh_shank")


class Run(NamedTuple):
    """Seconds of steps alone (of ours, of all), of the whole run, steps, and the places of bodies (T, n, 3)."""

    seconds: float
    whole: float
    steps: int
    places: np.ndarray


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


def sprung_quadruped() -> tuple[ps.Plant, np.ndarray]:
    """The quadruped of `contact.py` with springs in place of its servos."""
    text = quadruped().replace('axis="1 0 0"', 'axis="1 0 0" stiffness="150" damping="5"')
    text = text.replace('axis="0 1 0"', 'axis="0 1 0" stiffness="150" damping="5"')
    text = text[: text.index("<actuator>")] + text[text.index("</actuator>") + len("</actuator>") :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.xml"
        path.write_text(text)
        plant = ps.Plant.load(path)
    return plant, np.zeros(plant.model.nv)


def ours(scene: str, rtol: float) -> Run:
    plant, v = sprung_quadruped() if scene == "quadruped" else balls(int(scene))
    best, run = np.inf, None
    for _ in range(9):
        began = process_time()
        run = ps.simulate(plant, DURATION, v0=v, rtol=rtol, step=SAMPLE)
        best = min(best, process_time() - began)
    assert run is not None
    names = FEET if scene == "quadruped" else [f"b{i}" for i in range(int(scene))]
    bodies = [next(x.name for x in run.model.bodies if name in x.name.split("/")) for name in names]
    places = np.stack([ps.forward_kinematics(run.model, run.q, body)[..., :3, 3] for body in bodies], axis=1)
    return Run(best, best, int(run.signals["steps"].sum()), places)


def theirs(python: str, scene: str, accuracy: float) -> Run:
    command = [python, str(Path(__file__).with_name("cenic_peer.py")), scene, str(accuracy)]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(made.stdout.strip().splitlines()[-1])
    return Run(found["steps_seconds"], found["whole_seconds"], found["steps"], np.array(found["places"]))


def measure(python: str, scene: str) -> str:
    told = []
    for run in (lambda x: ours(scene, x), lambda x: theirs(python, scene, x)):
        made, exact = run(TOLERANCE), run(1e-3 * TOLERANCE)
        told.append((made, float(np.linalg.norm(made.places - exact.places, axis=-1).max())))
    (a, b), (c, d) = told
    name = scene if scene == "quadruped" else f"{scene} balls"
    mine = f"{1e3 * a.seconds:.2f} ms in {a.steps} steps, error {b:.1e} m"
    peer = f"CENIC {1e3 * c.seconds:.2f} ms ({1e3 * c.whole:.2f} in all) in {c.steps} steps, error {d:.1e} m"
    return f"{name}, {DURATION:g} s: {mine}; {peer}; {a.seconds / c.seconds:.2f} x ({a.whole / c.whole:.2f} x)"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scenes", nargs="*", default=["8", "20", "quadruped"], help="a number of balls, or quadruped")
    parser.add_argument("--drake", required=True, help="an interpreter that has drake")
    given = parser.parse_args()
    for scene in given.scenes:
        print(measure(given.drake, scene), flush=True)


if __name__ == "__main__":
    main()
