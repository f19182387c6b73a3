"""Draws docs/loops/*.png: what examples/grasp.py, rolling_disc.py and stewart.py do.

Run by the docs build before Sphinx: `python docs/generate_grasps.py [FOLDER]`.
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
    """The names an example leaves behind."""
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def links(model: ps.Model, q: np.ndarray, prefix: str) -> np.ndarray:
    """(joints + 1, 3): the origins of an arm's bodies and its tool."""
    names = [body.name for body in model.bodies if body.name.startswith(prefix)]
    return np.array([ps.forward_kinematics(model, q, name)[:3, 3] for name in (*names, f"{prefix}tool")])


def carrying(folder: Path) -> None:
    """The two arms and the bar at two times, the path, and the squeeze."""
    made = example("grasp")
    model, run, grasp = made["model"], made["run"], made["grasp"]
    figure = plt.figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    for t, shade in ((0.0, 1.0), (1.0, 0.4)):
        q = run.q[np.argmin(np.abs(run.t - t))]
        for prefix, color in (("left_", COOL), ("right_", WARM)):
            base = np.array([[-0.95 if prefix == "left_" else 0.95, 0, 0]])
            left.plot(*np.concatenate([base, links(model, q, prefix)]).T, color=color, alpha=shade, lw=3)
        ends = np.array([ps.forward_kinematics(model, q, grasp.ends(name)[0])[:3, 3] for name in grasp.contacts])
        left.plot(*ends.T, color=INK, alpha=shade, lw=4)
    left.plot(*made["bar"][:, :3, 3].T, color=INK, lw=1)
    left.set_box_aspect((2.2, 1, 1.2), zoom=1.2)
    left.set(xlim=(-1.1, 1.1), ylim=(-0.5, 0.5), zlim=(0, 1.2), xlabel="x [m]", ylabel="y [m]")
    left.view_init(18, -72)
    total = np.linalg.norm(made["forces"][:, :, 3:], axis=-1)
    right.plot(run.t, total[:, 0], color=COOL, label="whole, left hand")
    right.plot(run.t, total[:, 1], color=WARM, label="whole, right hand")
    right.plot(run.t, made["squeezing"][:, 0], color=INK, lw=2.5, label="squeeze along the bar")
    right.set(xlabel="time [s]", ylabel="force [N]", ylim=(0, None))
    finish(figure, folder / "carrying.png")


def box(folder: Path) -> None:
    """A box that fingertips carry: where it goes, and what each hand and the worst tip do."""
    made = example("carried_box")
    model, plan, q, t = made["model"], made["plan"], made["q"], made["times"]
    figure = plt.figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    for at, shade in ((0, 0.35), (len(t) // 2, 0.6), (-1, 1.0)):
        for prefix, color in (("left_", COOL), ("right_", WARM)):
            start = made["BASES"][prefix[:-1]].translation[None]
            left.plot(*np.concatenate([start, links(model, q[at], prefix)]).T, color=color, alpha=shade, lw=3)
        corners = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
        pose = ps.forward_kinematics(model, q[at], "box")
        seen = corners @ pose[:3, :3].T + pose[:3, 3]
        for i, j in ((a, b) for a in range(8) for b in range(a) if bin(a ^ b).count("1") == 1):
            left.plot(*seen[[i, j]].T, color=INK, alpha=shade, lw=1.2)
    left.set_box_aspect((2.2, 1, 1.2), zoom=1.2)
    left.set(xlim=(-1.0, 1.0), ylim=(-0.5, 0.5), zlim=(0, 1.1), xlabel="x [m]", ylabel="y [m]")
    left.view_init(18, -72)
    for side, color in (("left", COOL), ("right", WARM)):
        right.plot(t, made["held"][side], color=color, label=f"{side} hand presses", ls="-" if side == "left" else "--")
    right.plot(t, plan.pressing.min(axis=1), color=INK, label="the tip that presses least")
    right.set(xlabel="time [s]", ylabel="normal force [N]", ylim=(0, None))
    finish(figure, folder / "carried_box.png")


def rolling(folder: Path) -> None:
    """The disc's path on the floor with its rim drawn, and its lean and energy."""
    made = example("rolling_disc")
    model, run, radius = made["model"], made["run"], made["RADIUS"]
    poses = ps.forward_kinematics(model, run.q, "disc")
    figure = plt.figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    around = np.linspace(0, 2 * np.pi, 60)
    rim = radius * np.stack([np.cos(around), np.sin(around), 0 * around])
    for k in range(0, len(run.t), 25):
        left.plot(*(poses[k, :3, :3] @ rim + poses[k, :3, 3:]), color=COOL, lw=1, alpha=0.25 + 0.75 * k / len(run.t))
    d = poses[:, :3, 2]
    lowest = poses[:, :3, 3] + radius * (d[:, 2:] * d - [0, 0, 1]) / np.sqrt(1 - d[:, 2:] ** 2)
    left.plot(*lowest.T, color=WARM, lw=2)
    left.set(xlabel="x [m]", ylabel="y [m]")
    left.set_aspect("equal")
    left.view_init(35, -60)
    right.plot(run.t, np.rad2deg(np.arcsin(np.abs(d[:, 2]))), color=COOL, label="lean [°]")
    right.plot(run.t, made["pressing"], color=WARM, label="normal force [N]")
    right.plot(run.t, run.energy, color=INK, label="energy [J]")
    right.set(xlabel="time [s]", ylim=(0, None))
    finish(figure, folder / "rolling_disc.png")


def platform(folder: Path) -> None:
    """The platform at two poses, and its legs' travel and forces on the way."""
    made = example("stewart")
    model, q, t = made["model"], made["q"], made["t"]
    figure = plt.figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    for k, shade in ((0, 0.3), (20, 1.0)):
        seats = np.array([ps.forward_kinematics(model, q[k], f"seat{i}")[:3, 3] for i in range(6)])
        for foot, seat in zip(made["feet"], seats, strict=True):
            left.plot(*np.stack([foot, seat]).T, color=COOL, lw=3, alpha=shade)
        left.plot(*np.concatenate([seats, seats[:1]]).T, color=WARM, lw=3, alpha=shade)
    left.plot(*np.concatenate([made["feet"], made["feet"][:1]]).T, color=INK, lw=2)
    left.set(xlabel="x [m]", ylabel="y [m]")
    left.set_aspect("equal")
    for i in range(6):
        right.plot(t, made["holding"][:, i], label=f"leg {i}")
    right.set(xlabel="time [s]", ylabel="leg force that holds the pose [N]")
    finish(figure, folder / "stewart.png")


def finish(figure: Any, path: Path) -> None:
    for axes in figure.axes:
        if axes.name == "3d":
            axes.set_title("z up, in m", fontsize=9, color=INK)
        else:
            axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=9)
            axes.grid(color=PALE, lw=0.5)
            axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0]) if arguments else ROOT / "docs" / "loops"
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (carrying, box, rolling, platform):
        draw(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
