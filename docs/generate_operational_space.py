"""Writes docs/control/{sweeps.txt, singular.png, monitors.png, trajectory.png, inverse_kinematics.png}.

Run by the docs build before Sphinx: `python docs/generate_operational_space.py [FOLDER]`.
"""

from __future__ import annotations

import runpy
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar.sweeps.algorithm import Algorithm

ROOT = Path(__file__).resolve().parent.parent
INK, WARM, COOL, PALE = "#222222", "#c8553d", "#2d6a8a", "#b8c4cc"
PUMA = ps.load("puma560")
BESIDE = np.array([0.2, -0.7, 0.3, 0.4, 0.9, 0.1])


def sweeps(folder: Path) -> None:
    """KJR92 §5's counts and the two-sweep recursion, from the programs."""
    lines = ["delayed                          any tree   serial chain"]
    tree, chain = ps.control.control_sweeps(), ps.control.control_sweeps(serial=True)
    lines += [f"{name:32} {len(tree[name].passes):8}   {len(chain[name].passes):12}" for name in tree]
    recursion = str(Algorithm(tree["velocity terms and tip force"]))
    (folder / "sweeps.txt").write_text("\n".join([*lines, "", recursion]) + "\n", encoding="utf-8")


def singular(folder: Path) -> None:
    """Through the wrist's singularity: Λ where it exists, and the inverses by choice."""
    bend = np.concatenate([-np.logspace(-0.3, -7, 300), [0.0], np.logspace(-7, -0.3, 300)])
    q = np.broadcast_to(BESIDE, (len(bend), 6)).copy()
    q[:, 4] = bend
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NaN is made on purpose
        plain = ps.operational_space(PUMA, q, 0 * q, "tool")
    choices = {
        "Λ": (plain, INK, 1.2),
        "damping = 1e-3": (ps.operational_space(PUMA, q, 0 * q, "tool", damping=1e-3), WARM, 2.0),
        "truncation = 1e-3": (ps.operational_space(PUMA, q, 0 * q, "tool", truncation=1e-3), COOL, 2.0),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for name, (space, color, width) in choices.items():
        finite = np.where(np.isfinite(space.inertia), space.inertia, 0.0)
        largest = np.linalg.eigvalsh(finite)[:, -1]
        left.plot(bend, np.where(largest > 0, largest, np.nan), color=color, lw=width, label=name)
    left.set(xlabel="joint 5 [rad]", ylabel="greatest eigenvalue [kg, kg m²]", yscale="log")
    left.set_xscale("symlog", linthresh=1e-6)
    left.set_xticks([-1e-1, -1e-3, -1e-5, 0, 1e-5, 1e-3, 1e-1])
    right.semilogy(bend, np.minimum(plain.condition, 1e18), color=INK, label="condition")
    lost = plain.rank < 6
    right.semilogy(bend[lost], np.minimum(plain.condition[lost], 1e18), ".", color=WARM, label="rank 5: refused")
    right.set(xlabel="joint 5 [rad]")
    right.set_xscale("symlog", linthresh=1e-6)
    right.set_xticks([-1e-1, -1e-3, -1e-5, 0, 1e-5, 1e-3, 1e-1])
    finish(figure, folder / "singular.png")


def circle_poses() -> np.ndarray:
    """Nine poses on a circle that the PUMA's tool can follow without turning."""
    angles = np.linspace(0, 2 * np.pi, 9)
    poses = np.stack([ps.forward_kinematics(PUMA, BESIDE, "tool")] * 9)
    poses[:, :2, 3] += 0.15 * np.stack([np.cos(angles) - 1, np.sin(angles)], axis=-1)
    return poses


def monitors(folder: Path) -> None:
    """The monitors of that circle, drawn by `ps.control.plot_monitors`."""
    motion = ps.control.pose_trajectory(circle_poses(), velocity=0.4, acceleration=1.5)
    t = np.linspace(0, motion.duration, 160)
    place, path = BESIDE, []
    for pose in motion(t).pose:
        place = ps.control.inverse_kinematics(PUMA, pose, "tool", place, starts=1).q
        path.append(place)
    ps.control.plot_monitors(PUMA, np.array(path), "tool", t).savefig(folder / "monitors.png", dpi=110)


def trajectory(folder: Path) -> None:
    """Joint waypoints, timed by two kinds of limits."""
    waypoints = np.array([BESIDE, BESIDE + 0.4, BESIDE - [0.5, 0.2, 0.1, 0.3, 0.4, 0.6], BESIDE])
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
    motion = ps.control.joint_trajectory(PUMA, waypoints, velocity=1.2, acceleration=2.0)
    t = np.linspace(-0.2, motion.duration + 0.2, 500)
    titles = ("q [rad]", "θ̇ [rad/s]", "θ̈ [rad/s²]")
    for panel, values, title, limit in zip(panels, motion(t), titles, (None, 1.2, 2.0), strict=True):
        for j, color in enumerate(plt.get_cmap("viridis")(np.linspace(0, 0.85, 6))):
            panel.plot(t, values[:, j], color=color, lw=1.4, label=f"joint {j + 1}")
        for side in (-1, 1) if limit else ():
            panel.axhline(side * limit, color=WARM, lw=0.9, ls="--")
        panel.set(xlabel="time [s]", ylabel=title)
    panels[0].plot(motion.spline.breaks, waypoints, ".", color=INK, markersize=5)
    finish(figure, folder / "trajectory.png", legends=panels[:1])


def inverse_kinematics(folder: Path) -> None:
    """The example's arm, before and after, and the errors it was left with."""
    made = runpy.run_path(str(ROOT / "examples" / "inverse_kinematics.py"))
    model, frame, found, targets = (made[name] for name in ("model", "frame", "found", "targets"))
    figure = plt.figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    names = [*(body.name for body in model.bodies), frame]
    for k in range(0, 40, 8):
        joints = np.array([np.zeros(3), *(ps.forward_kinematics(model, found.q[k], name)[:3, 3] for name in names)])
        left.plot(*joints.T, color=COOL if found.success[k] else WARM, lw=2, marker=".", alpha=0.8)
        left.plot(*targets[k, :3, 3], "x", color=INK)
    left.set_aspect("equal")
    for axis in (left.xaxis, left.yaxis, left.zaxis):
        axis.set_major_locator(plt.MaxNLocator(3))
    left.set_title("arms and targets, in m", fontsize=9)
    errors = np.linalg.norm(found.residual.reshape(-1, 2, 3), axis=-1).max(axis=-1)
    right.hist(np.log10(np.maximum(errors, 1e-17)), bins=np.arange(-17, 1, 0.5), color=COOL)
    right.axvline(-9, color=WARM, lw=1, ls="--", label="tolerance")
    right.set(xlabel="log₁₀ of what is left [m, rad]", ylabel="targets")
    finish(figure, folder / "inverse_kinematics.png", legends=[right])


def finish(figure: plt.Figure, path: Path, legends: object = None) -> None:
    for axes in figure.axes:
        if axes.name != "3d":
            axes.grid(color=PALE, lw=0.5)
            axes.spines[["top", "right"]].set_visible(False)
    for axes in figure.axes if legends is None else legends:
        axes.legend(frameon=False, fontsize=9, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0]) if arguments else ROOT / "docs" / "control"
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (sweeps, singular, monitors, trajectory, inverse_kinematics):
        draw(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
