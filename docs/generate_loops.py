"""Draws docs/loops/four_bar.png, slider_crank.png, singular.png and modes.png.

The examples, a parallelogram through one line, and the modes of a beam of segments.

Run by the docs build before Sphinx: `python docs/generate_loops.py [FOLDER]`.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps

ROOT = Path(__file__).resolve().parent.parent
INK, WARM, COOL, PALE = "#222222", "#c8553d", "#2d6a8a", "#b8c4cc"


def bars(model: ps.Model, q: np.ndarray) -> np.ndarray:
    """(4, 2): the four joints of the linkage, from the crank's to the rocker's."""
    names = ("crank", "coupler", "rocker_end", "rocker")
    return np.array([ps.forward_kinematics(model, q, name)[:2, 3] for name in names])


def four_bar(folder: Path) -> None:
    """The linkage over a turn with the path of its pin, its rates, and how closed it stays."""
    made = runpy.run_path(str(ROOT / "examples" / "four_bar.py"))
    model, times = made["model"], np.linspace(0.0, 4.0, 801)
    run = ps.simulate(model, made["q0"], made["v0"], 4.0, made["motor"], t_eval=times)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    last = np.searchsorted(run.q[:, 0], run.q[-1, 0] - 2 * np.pi)
    turn = run.q[last:]
    for angle in np.linspace(turn[0, 0], turn[-1, 0], 9)[:-1]:
        left.plot(*bars(model, turn[np.argmin(np.abs(turn[:, 0] - angle))]).T, color=PALE, lw=1.5)
    left.plot(*bars(model, turn[0]).T, color=INK, lw=3, marker="o", mfc="white")
    left.plot(*ps.forward_kinematics(model, turn, "rocker_end")[:, :2, 3].T, color=WARM, lw=2)
    middle_of = ps.forward_kinematics(model, turn, "coupler") @ np.array([0.45, 0.25, 0.0, 1.0])
    left.plot(*middle_of[:, :2].T, color=COOL, lw=2)
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="A turn of the crank")
    middle.plot(run.t, run.v[:, 0], color=INK, label="crank")
    middle.plot(run.t, run.v[:, 2], color=WARM, label="rocker")
    middle.set(xlabel="time [s]", ylabel="rate [rad/s]", title="Rates")
    middle.legend(frameon=False, loc="upper right", bbox_to_anchor=(0.95, 0.95))
    floor = 1e-17
    right.semilogy(run.t, np.abs(run.loop_residual).max(axis=1) + floor, color=COOL, lw=0.8, label="residual [m, rad]")
    balance = np.abs(run.energy - run.work - run.energy[0])
    right.semilogy(run.t, balance + floor, color=WARM, lw=0.8, label="energy − work [J]")
    right.axhline(1e-10, color=PALE, ls="--")
    right.set(xlabel="time [s]", ylim=(1e-17, 1e-6), title="Kept closed, energy accounted")
    right.legend(frameon=False, loc="center right")
    figure.savefig(folder / "four_bar.png", dpi=130)
    plt.close(figure)


def beam(segments: int = 20) -> ps.Model:
    """A clamped beam as rigid segments on springs, L = 1, EI = 10, ρA = 1."""
    b, h = ps.ModelBuilder("beam", gravity=(0, 0, 0)), 1 / segments
    rod = ps.Inertia(h, (h / 2, 0, 0), np.diag([1e-9, h**3 / 12, h**3 / 12]))
    for k in range(segments):
        hinge = ps.Revolute(axis=(0, 0, 1), stiffness=(1 if k else 2) * 10.0 / h)
        b.body(f"s{k}", f"s{k - 1}" if k else "world", hinge, ps.Pose(xyz=(h if k else 0, 0, 0)), rod)
    b.frame("tip", f"s{segments - 1}", ps.Pose(xyz=(h, 0, 0)))
    return b.build()


def modes(folder: Path) -> None:
    """The first four modes of a beam of twenty sprung segments, over their half periods."""
    model = beam()
    found, places = ps.modes(model, np.zeros(model.nv)), [f"s{k}" for k in range(20)] + ["tip"]
    figure, panels = plt.subplots(1, 4, figsize=(11, 2.6), layout="constrained", sharey=True)
    for i, panel in enumerate(panels):
        shape = found.shapes[:, i] / np.abs(np.cumsum(found.shapes[:, i])).max()
        for phase in np.linspace(-1.0, 1.0, 7):
            q = 0.5 * phase * shape
            line = np.array([ps.forward_kinematics(model, q, place)[:2, 3] for place in places])
            outer = abs(phase) == 1.0
            panel.plot(*line.T, color=WARM if phase == 1.0 else COOL if outer else PALE, lw=2 if outer else 1)
        panel.set(xlabel="x [m]", title=f"{found.frequencies[i]:.1f} rad/s", ylim=(-0.5, 0.5))
    panels[0].set_ylabel("y [m]")
    figure.savefig(folder / "modes.png", dpi=130)
    plt.close(figure)


def slider_crank(folder: Path) -> None:
    """The engine at a few angles, the torque and side force of an even turn, and its speed under gas."""
    made = runpy.run_path(str(ROOT / "examples" / "slider_crank.py"))
    model, motion, run = made["model"], made["motion"], made["run"]
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for k in range(0, 360, 45):
        places = [ps.forward_kinematics(model, motion.q[k], name)[:2, 3] for name in ("crank", "rod", "piston")]
        left.plot(
            *np.array(places).T, color=INK if k == 45 else PALE, lw=2.5 if k == 45 else 1.2, marker="o", mfc="white"
        )
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="Crank, rod and piston")
    degrees = np.degrees(made["angles"][:, 0])
    middle.plot(degrees, made["torque"], color=WARM, label="torque [N m]")
    middle.plot(degrees, made["side"] / 10, color=COOL, label="side force [10 N]")
    middle.set(xlabel="crank [°]", title="What an even turn needs", xticks=range(0, 361, 90))
    middle.legend(frameon=False)
    right.plot(run.t, run.v[:, 0], color=INK)
    right.set(xlabel="time [s]", ylabel="crank [rad/s]", title="Under gas")
    figure.savefig(folder / "slider_crank.png", dpi=130)
    plt.close(figure)


def singular(folder: Path) -> None:
    """A parallelogram that turns through the configurations in which all its bars lie in one line."""
    z, rod = ps.Revolute(axis=(0, 0, 1)), ps.Inertia(1.0, (0.5, 0, 0), np.diag([1e-4, 1 / 12, 1 / 12]))
    b = ps.ModelBuilder("parallelogram", gravity=(0, -9.81, 0))
    b.body("crank", joint=z, inertia=rod)
    b.body("coupler", "crank", z, ps.Pose(xyz=(1, 0, 0)), rod)
    b.body("rocker", joint=z, placement=ps.Pose(xyz=(1, 0, 0)), inertia=rod)
    b.frame("coupler_end", "coupler", ps.Pose(xyz=(1, 0, 0)))
    b.frame("rocker_end", "rocker", ps.Pose(xyz=(1, 0, 0)))
    b.loop("pin", "coupler_end", "rocker_end", joint=z)
    model = b.build()
    run = ps.simulate(model, [0.9, -0.9, 0.9], [-6.0, 6.0, -6.0], 3.0, t_eval=np.linspace(0.0, 3.0, 1501))
    figure, axes = plt.subplots(3, 1, figsize=(7, 5.2), sharex=True, layout="constrained")
    axes[0].plot(run.t, np.degrees(run.q[:, 0]), color=INK)
    axes[0].set(ylabel="crank [°]", title="Through the line: where the crank is at a multiple of 180°")
    axes[1].semilogy(run.t, run.loop_condition, color=WARM, lw=1)
    axes[1].set(ylabel="condition")
    axes[2].semilogy(run.t, np.abs(run.loop_residual).max(axis=1) + 1e-17, color=COOL, lw=0.8)
    axes[2].set(ylabel="residual", xlabel="time [s]", ylim=(1e-17, 1e-9))
    for turn in np.arange(np.ceil(run.q[:, 0].min() / np.pi), run.q[:, 0].max() / np.pi):
        for t in run.t[1:][np.diff(np.sign(run.q[:, 0] - turn * np.pi)) != 0]:
            for each in axes:
                each.axvline(t, color=PALE, lw=0.8, zorder=0)
    figure.savefig(folder / "singular.png", dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "loops"
    folder.mkdir(parents=True, exist_ok=True)
    four_bar(folder)
    slider_crank(folder)
    singular(folder)
    modes(folder)
