"""Inverse kinematics of random reachable poses: how many are met, and how many a second; one thread.

    python benchmarks/inverse_kinematics.py [--poses N]

Poses are those of coordinates drawn evenly between the joints' limits, so that each has a solution within them; a pose
counts as met when its error is below 1e-9 m and rad, which is computed anew. Along a path every solution starts from
the one before; the greatest step of a joint is printed beside the path's own.
"""

import argparse
import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["PHISTAR_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

import phistar as ps
from phistar.control.pose_search import pose_gap

ROBOTS = {"panda": "panda_hand_tcp", "ur5": "tool0", "puma560": "tool"}
REPEATS = 5


def random_poses(name: str, count: int) -> None:
    model, frame = ps.load(name).tree, ROBOTS[name]
    targets = ps.forward_kinematics(model, model.random(np.random.default_rng(0), (count,)), frame)
    found, best = ps.control.inverse_kinematics(model, targets[:64], frame), np.inf
    for _ in range(REPEATS):
        began = time.process_time()
        found = ps.control.inverse_kinematics(model, targets, frame)
        best = min(best, time.process_time() - began)
    error = np.linalg.norm(pose_gap(ps.forward_kinematics(model, found.q, frame), targets).reshape(-1, 2, 3), axis=-1)
    inside = np.all((found.q >= model.lower_limits) & (found.q <= model.upper_limits), axis=-1)
    met = np.mean((error.max(axis=-1) <= 1e-9) & inside)
    print(f"{name}: {100 * met:.2f} % of {count} poses met within the limits, {count / best:,.0f} poses/s", end="")
    print(f", {found.iterations.mean():.1f} steps and {found.starts.mean():.2f} starts a pose")


def path(name: str) -> None:
    """A circle of the tool, a millimetre and a half from one pose to the next."""
    model, frame = ps.load(name).tree, ROBOTS[name]
    q = model.neutral()
    q[:7] = [0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8]
    poses = np.repeat(ps.forward_kinematics(model, q, frame)[None], 1000, axis=0)
    angle = np.linspace(0.0, 2.0 * np.pi, 1000)
    poses[:, 1, 3] += 0.2 * np.sin(angle)
    poses[:, 2, 3] += 0.2 * (np.cos(angle) - 1.0)
    met, steps = 0, []
    for pose in poses:
        found = ps.control.inverse_kinematics(model, pose, frame, q, starts=1)
        steps.append(np.abs(found.q - q).max())
        q, met = found.q, met + bool(found.success)
    print(f"{name}, a circle of 0.2 m in 1000 poses: {met} met, no joint steps more than {max(steps):.4f} rad")


def main() -> None:
    parser = argparse.ArgumentParser(description="Inverse kinematics of random reachable poses")
    parser.add_argument("--poses", type=int, default=20_000)
    count = parser.parse_args().poses
    for name in ROBOTS:
        random_poses(name, count)
    path("panda")


if __name__ == "__main__":
    main()
