"""Draws docs/time/{swing_up,spheres,pose_filter}.png: what the examples of the chapter do.

Run by the docs build before Sphinx: `python docs/generate_time.py [FOLDER]`.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps

ROOT = Path(__file__).resolve().parent.parent
INK, WARM, COOL, PALE = "#222222", "#c8553d", "#2d6a8a", "#b8c4cc"


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def swing_up(folder: Path) -> None:
    """The acrobot at every tenth knot, and the motions of robots that start elsewhere."""
    made = example("swing_up")
    model, found = made["model"], made["found"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for k in range(0, 201, 10):
        joints = [np.zeros(3), *(ps.forward_kinematics(model, found.q[k], name)[:3, 3] for name in ("lower", "tip"))]
        left.plot(*np.array(joints)[:, [0, 2]].T, color=COOL, alpha=0.15 + 0.85 * k / 200, lw=2, marker=".")
    left.set(xlabel="x [m]", ylabel="z [m]", aspect="equal")
    for run, color, name in ((made["loose"], PALE, "without gains"), (made["held"], WARM, "with its gains")):
        lines = right.plot(run.t, run.q[:40, :, 0].T, color=color, lw=0.8)
        lines[0].set_label(name)
    right.plot(found.t, found.q[:, 0], color=INK, lw=1.5, label="the plan")
    right.set(xlabel="time [s]", ylabel="shoulder [rad]", ylim=(-3, 6))
    finish(figure, folder / "swing_up.png")


def spheres(folder: Path) -> None:
    """The tool's way past the spheres, and how far it is from the nearest surface over time."""
    made = example("reach_among_spheres")
    figure = plt.figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    turn, height = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 25), np.linspace(0.0, np.pi, 13))
    ball = np.stack([np.cos(turn) * np.sin(height), np.sin(turn) * np.sin(height), np.cos(height)])
    for center, radius in made["spheres"]:
        left.plot_wireframe(*(np.reshape(center, (3, 1, 1)) + radius * ball), color=PALE, lw=0.6)
    for motion, color, name in ((made["straight"], COOL, "free"), (made["found"], WARM, "past the spheres")):
        tool = ps.forward_kinematics(made["arm"], motion.q, made["tool"])[:, :3, 3]
        gaps = [np.linalg.norm(tool - center, axis=-1) - radius for center, radius in made["spheres"]]
        left.plot(*tool.T, color=color, lw=2.2)
        right.plot(motion.t, 100.0 * np.min(gaps, axis=0), color=color, lw=1.8, label=name)
    left.view_init(elev=18, azim=215)
    left.locator_params(nbins=4)
    left.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", aspect="equal")
    right.axhline(0.0, color=INK, lw=0.8, ls=":")
    right.set(xlabel="time [s]", ylabel="tool to the nearest sphere [cm]")
    finish(figure, folder / "spheres.png")


def pose_filter(folder: Path) -> None:
    """Spin and moments of inertia as they become known, with three standard deviations."""
    made = example("satellite_pose_filter")
    times, found, truth = made["times"], made["found"], made["run"].v[::10, :3]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for i, color in enumerate((WARM, COOL, INK)):
        spread = 3.0 * np.sqrt([x.covariance[9 + i, 9 + i] for x in found])
        away = np.array([x.spin[i] for x in found]) - truth[:, i]
        left.plot(times, np.degrees(away), color=color, lw=1.2, label=f"ω{'₁₂₃'[i]}")
        left.fill_between(times, -np.degrees(spread), np.degrees(spread), color=color, alpha=0.12)
    left.set(xlabel="time [s]", ylabel="error of the spin [°/s]", ylim=(-8, 8))
    for i, color in enumerate((WARM, COOL)):
        mean, spread = (np.array(x) for x in zip(*((y.moments[i], y.covariance[12 + i, 12 + i] ** 0.5) for y in found)))
        right.plot(times, mean, color=color, lw=1.2, label=f"J{'₁₂'[i]} over the mean")
        right.fill_between(times, mean - 3 * spread, mean + 3 * spread, color=color, alpha=0.12)
        right.axhline(made["moments"][i] / made["moments"].mean(), color=color, lw=0.8, ls=":")
    right.set(xlabel="time [s]", ylim=(0.4, 1.8))
    finish(figure, folder / "pose_filter.png")


def finish(figure: Any, path: Path) -> None:
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        if axis.get_legend_handles_labels()[1]:
            axis.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "time"
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (swing_up, spheres, pose_filter):
        draw(folder)


if __name__ == "__main__":
    main()
