"""Draws docs/control/{panda_circle,puma_wall,storage,residuals}.png: what the examples and the laws do.

Run by the docs build before Sphinx: `python docs/generate_control.py [FOLDER]`.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps

ROOT = Path(__file__).resolve().parent.parent
INK, WARM, COOL, PALE = "#222222", "#c8553d", "#2d6a8a", "#b8c4cc"


def circle(folder: Path) -> None:
    """The arm at four times, the tip's circle and the elbow's way; errors and the elbow's distance over time."""
    made = runpy.run_path(str(ROOT / "examples" / "panda_circle.py"))
    model, run, frame = made["model"], made["run"], made["frame"]
    figure = plt.figure(figsize=(10, 4.4), layout="constrained")
    left, right = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    names = [*(body.name for body in model.bodies), frame]
    for k, shade in zip(np.linspace(0, 3 * len(run.t) // 4, 4).astype(int), (0.25, 0.5, 0.75, 1.0), strict=True):
        joints = [ps.forward_kinematics(model, run.q[k], name)[:3, 3] for name in names]
        left.plot(*np.array([np.zeros(3), *joints]).T, color=COOL, lw=2.5, alpha=shade, marker=".")
    for name, color in ((frame, WARM), (made["elbow"], INK)):
        left.plot(*ps.forward_kinematics(model, run.q, name)[:, :3, 3].T, color=color, lw=1.5)
    left.set(xlabel="x [m]", ylabel="y [m]")
    left.set_aspect("equal")
    left.yaxis.set_major_locator(plt.MaxNLocator(3))
    left.view_init(20, -35)
    right.plot(run.t, 1e2 * np.linalg.norm(made["apart"], axis=-1), color=INK, label="elbow's sway [cm]")
    right.plot(run.t, 1e6 * made["error"], color=WARM, label="tip off its circle [µm]")
    right.set(xlabel="time [s]", ylim=(0, None))
    finish(figure, folder / "panda_circle.png")


def wall(folder: Path) -> None:
    """The oval on the wall, and the forces over time."""
    made = runpy.run_path(str(ROOT / "examples" / "puma_wall.py"))
    t, places, force = made["run"].t, made["places"], made["force"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    touching = force[:, 0] > 0
    left.plot(100 * places[~touching, 1], 100 * places[~touching, 2], color=PALE, lw=5, label="on the way to the wall")
    left.plot(100 * places[touching, 1], 100 * places[touching, 2], color=WARM, lw=1.5, label="wiping")
    left.set(xlabel="y [cm]", ylabel="z [cm]", aspect="equal")
    right.plot(t, force[:, 0], color=COOL, label="pressing [N]")
    right.plot(t, np.linalg.norm(force[:, 1:], axis=-1), color=WARM, label="rubbing [N]")
    right.axhline(made["PRESS"], color=INK, lw=0.8, ls=":")
    right.set(xlabel="time [s]", ylim=(0, None))
    finish(figure, folder / "puma_wall.png")


def motion(t: Any) -> tuple[np.ndarray, ...]:
    """A path of six joints, (q, v, a), for a time or a traced number."""
    size, pace = np.array([1.5, 1.2, 1.4, 1.0, 1.2, 0.8]), np.array([2.0, 3.1, 2.6, 3.7, 1.9, 4.1])
    s, c = np.sin(pace * t), np.cos(pace * t)
    return size * s, size * pace * c, -size * pace * pace * s


def followed(law: Any, forces: Callable[..., Any], seconds: float) -> tuple[Any, np.ndarray]:
    """A run from beside the path, and the references along it."""
    q, v, _ = motion(0.0)
    run = ps.simulate(law.model, q + 0.3, v + 1.0, seconds, control=forces, t_eval=np.linspace(0, seconds, 301))
    return run, np.array([law.reference(*motion(t)) for t in run.t])


def storage(folder: Path) -> None:
    """½ s*ℳs with desired and actual velocities in their places, and with Newton and Euler's 𝒞(θ̇, θ̇) instead."""
    model = ps.load("puma560_akb")
    law = ps.control.PassivityControl(model, k=0.3, slope=4)

    def newton_euler(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        rate, change = law.reference_motion(q, v, law.reference(*motion(t)))
        return ps.inverse_dynamics(model, q, v, change) + law.k * (rate - v)

    figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    right = followed(law, lambda t, q, v: law(t, q, v, law.reference(*motion(t))), 3.0)
    wrong = followed(law, newton_euler, 3.0)
    for (run, references), color, label in ((right, COOL, "C(θ, θ̇)θ̇ᵣ"), (wrong, WARM, "C(θ, θ̇)θ̇")):
        axes.plot(run.t, law.storage(run.q, run.v, references), color=color, label=label)
    axes.set(xlabel="time [s]", ylabel="storage ½ s*ℳs [J]", ylim=(0, None))
    finish(figure, folder / "storage.png")


def residuals(folder: Path) -> None:
    """|ν − ν_r| of each joint under decoupled control, beside e^{−ct}."""
    model = ps.load("puma560_akb")
    rates = np.array([4.0, 6.0, 8.0, 10.0, 12.0, 14.0])
    law = ps.control.DecoupledControl(model, rate=rates, slope=4)
    run, references = followed(law, lambda t, q, v: law(t, q, v, law.reference(*motion(t))), 1.0)
    found = np.abs(law.residual(run.q, run.v, references))
    figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    for k, color in enumerate(plt.get_cmap("viridis")(np.linspace(0, 0.85, 6))):
        axes.semilogy(run.t, found[:, k], color=color, lw=2.5, alpha=0.6, label=f"c = {rates[k]:g}/s")
        axes.semilogy(run.t, found[0, k] * np.exp(-rates[k] * run.t), color=INK, lw=0.7, ls="--")
    axes.set(xlabel="time [s]", ylabel="|ν − νᵣ| by joint")
    finish(figure, folder / "residuals.png")


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
    folder = Path(arguments[0]) if arguments else ROOT / "docs" / "control"
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (circle, wall, storage, residuals):
        draw(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
