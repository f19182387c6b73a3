"""Draws docs/estimation/observability.png and writes its ranks.txt: a singular and a redundant arm, in both languages.

Run by the docs build before Sphinx: `python docs/generate_observability.py [FOLDER]`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar import estimation

ROOT = Path(__file__).resolve().parent.parent
INK, WARM, COOL, PALE, GREEN = "#222222", "#c8553d", "#2d6a8a", "#b8c4cc", "#4c8c5a"
WRIST = 4  # joint 5 of the PUMA, which straightens its wrist
BENT = np.array([0.3, 0.4, -0.5, 0.2, 0.6, 0.7])
STRAIGHT = BENT - 0.6 * np.eye(6)[WRIST]
STRETCHED = np.where(np.arange(6) == 2, -np.arctan2(0.4318, 0.0203), BENT)  # tan q₃ = −d₄/a₃
SEVEN = np.array([0.3, -0.4, 0.5, 0.4, -0.3, 0.2, 0.1])


def picture(folder: Path, draws: int = 4000) -> None:
    figure = plt.figure(figsize=(12, 3.9), layout="constrained")
    left, middle = figure.add_subplot(1, 3, 1), figure.add_subplot(1, 3, 2)
    through_the_straight_wrist(left, draws)
    joint_by_joint(middle)
    self_motion(figure.add_subplot(1, 3, 3, projection="3d"))
    figure.savefig(folder / "observability.png", dpi=130)
    plt.close(figure)


def through_the_straight_wrist(panel: Any, draws: int) -> None:
    """1/σ of the weakest direction as the wrist passes through 0: from the Gramian, and measured in both languages."""
    model, angles = ps.load("puma560"), np.radians(np.linspace(-40, 40, 402))  # an even count leaves 0 itself out
    q = np.tile(STRAIGHT, (len(angles), 1))
    q[:, WRIST] = angles
    weakest = estimation.observability(model, q, "tool").strengths[:, -1]
    panel.semilogy(np.degrees(angles), 1 / weakest, color=PALE, lw=5, label="1/σ of the Gramian JJ*")
    rng, some = np.random.default_rng(0), slice(6, None, 26)
    spread, effort = [], []
    for state in q[some]:
        J = ps.jacobian(model, state, "tool")
        direction = estimation.observability(model, state, "tool").directions[:, -1]
        estimates = np.linalg.lstsq(J.T, rng.normal(size=(6, draws)), rcond=None)[0]
        spread.append(np.std(direction @ estimates))
        effort.append(np.linalg.norm(np.linalg.solve(J, direction)))
    at = np.degrees(angles[some])
    panel.semilogy(at, spread, "o", ms=8, mfc="none", mew=1.5, color=WARM, label="scatter of the estimated force")
    panel.semilogy(at, effort, "x", ms=6, mew=1.5, color=COOL, label="joint rates for a unit twist")
    panel.set(xlabel="joint 5 [°]", ylabel="1/σ", title="PUMA 560: one direction is lost", ylim=(None, 3e4))
    panel.legend(frameon=False, loc="upper right", fontsize=8)


def joint_by_joint(panel: Any) -> None:
    """The strengths as readings arrive, tip first: partial sums of the Gramian."""
    rows = ps.jacobian(ps.chain(7), SEVEN, "tip").T[::-1]
    for k in range(1, 8):
        found = np.linalg.svd(rows[:k], compute_uv=False)
        panel.semilogy(np.full(len(found), k), found, "_", ms=16, mew=2.5, color=GREEN if k >= 6 else COOL)
        panel.annotate(f"rank {len(found)}", (k, 4.2), ha="center", fontsize=8, color=INK)
    panel.axvline(6.5, color=PALE, ls="--")
    panel.set(xlabel="joints read, from the tip", ylabel="strengths σ", title="Seven joints: six suffice")
    panel.set(xlim=(0.4, 7.6), ylim=(0.03, 6))


def self_motion(panel: Any) -> None:
    """The chain of seven along its self-motion, the tip kept: small steps, each brought back by least rates."""
    model, names = ps.chain(7), [f"link{k}" for k in range(1, 8)] + ["tip"]
    shapes = [shape for way in (-1.0, 1.0) for shape in _moved(model, SEVEN, way)]
    for q, color, width in [*((q, PALE, 1.5) for q in shapes), (SEVEN, INK, 3.0)]:
        points = np.array([ps.forward_kinematics(model, q, name)[:3, 3] for name in names])
        panel.plot(*points.T, color=color, lw=width, marker="o", ms=3)
    tip = ps.forward_kinematics(model, SEVEN, "tip")[:3, 3]
    panel.plot(*tip[:, None], "o", color=WARM, ms=8)
    panel.set(title="Moving, and the tip does not", xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    panel.set_aspect("equal")
    panel.locator_params(nbins=4)


def _moved(model: ps.Model, q: np.ndarray, way: float, steps: int = 120, length: float = 0.02) -> list[np.ndarray]:
    goal, rate, kept = ps.forward_kinematics(model, q, "tip"), way * np.ones(model.nv), []
    for step in range(1, steps + 1):
        rate = estimation.self_motions(model, q, "tip") @ rate
        rate = rate / np.linalg.norm(rate)
        q = q + length * rate
        for _ in range(3):
            q = q + np.linalg.pinv(ps.jacobian(model, q, "tip")) @ _error(goal, ps.forward_kinematics(model, q, "tip"))
        kept += [q] if step % 20 == 0 else []
    return kept


def _error(goal: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """The remaining rotation, for small angles, and translation."""
    turn = 0.5 * sum(np.cross(pose[:3, k], goal[:3, k]) for k in range(3))
    return np.concatenate([turn, goal[:3, 3] - pose[:3, 3]])


def table(folder: Path) -> None:
    puma = ps.load("puma560")
    arms = [
        ("chain of seven", ps.chain(7), SEVEN, "tip"),
        ("PUMA 560, wrist bent", puma, BENT, "tool"),
        ("PUMA 560, wrist straight", puma, STRAIGHT, "tool"),
        ("PUMA 560, arm stretched", puma, STRETCHED, "tool"),
        ("planar chain of four", ps.planar_chain(4), np.array([0.3, 0.4, 0.5, 0.6]), "tip"),
    ]
    lines = ["| arm | joints read | rank of JJ* | forces unseen = motions lost | readings in surplus = self-motions | "]
    lines[0] += "weakest σ that is seen |"
    lines.append("|---|---|---|---|---|---|")
    for name, model, q, frame in arms:
        found = estimation.observability(model, q, frame)
        surplus = round(float(np.trace(estimation.self_motions(model, q, frame))))
        rank = int(found.rank)
        lines.append(f"| {name} | {model.nv} | {rank} | {6 - rank} | {surplus} | {found.strengths[rank - 1]:.3f} |")
    (folder / "ranks.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "estimation"
    folder.mkdir(parents=True, exist_ok=True)
    picture(folder)
    table(folder)
