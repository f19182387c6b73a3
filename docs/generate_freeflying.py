"""Writes docs/freeflying: pictures of three examples and of a long flight, the recursions, and operation counts.

Run by the docs build before Sphinx: `python docs/generate_freeflying.py [FOLDER]`.
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
COUNTED = (3, 6, 10, 20)


def cat(folder: Path) -> None:
    """The falling cat: joints through a closed loop, the base turned at its end."""
    made = runpy.run_path(str(ROOT / "examples" / "free_flying_cat.py"))
    run, turned = made["run"], made["turned"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for k, (name, color) in enumerate((("shoulder", INK), ("upper", WARM), ("lower", COOL))):
        left.plot(run.t, np.degrees(run.q[:, 7 + k]), color=color, label=name)
    left.set(xlabel="time [s]", ylabel="joint angle [°]", title="The arm goes round and comes back")
    left.legend(frameon=False)
    right.plot(run.t, np.degrees(turned), color=WARM)
    right.axhline(np.degrees(made["TURN"]), color=PALE, linestyle="--")
    right.set(xlabel="time [s]", ylabel="base about x [°]", title="The base does not")
    figure.savefig(folder / "cat.png", dpi=120)
    plt.close(figure)


def zero_reaction(folder: Path) -> None:
    """The base's attitude on the same line, with and without care."""
    made = runpy.run_path(str(ROOT / "examples" / "free_flying_zero_reaction.py"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    labels = {False: ("without care for the base", WARM), True: ("in the reaction null space", COOL)}
    for careful, (label, color) in labels.items():
        run = made["runs"][careful]
        left.plot(run.t, made["turned"][careful], color=color, label=label)
        places = ps.forward_kinematics(made["model"], run.q, "tool")[:, :2, 3]
        right.plot(*places.T, color=color, lw=2)
    left.set(xlabel="time [s]", ylabel="base turned by [°]", title="Attitude of the satellite")
    left.legend(frameon=False, loc="center", bbox_to_anchor=(0.5, 0.2))
    right.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="Path of the tool")
    figure.savefig(folder / "zero_reaction.png", dpi=120)
    plt.close(figure)


def flight(folder: Path) -> None:
    """Momentum and energy of a tumbling tree over a minute, by two methods of the same step."""
    model = ps.load("rj2w_tree", gravity=(0, 0, 0))
    rng = np.random.default_rng(1)
    q, v = model.random(rng), rng.normal(size=model.nv) * 0.4
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for method, color in (("rk4", WARM), ("midpoint", COOL)):
        run = ps.rollout(model, q, v, dt=2e-3, steps=30_000, method=method)
        t, q_some, v_some = run.t[::100], run.q[::100], run.v[::100]
        momentum, energy = ps.momentum(model, q_some, v_some), ps.kinetic_energy(model, q_some, v_some)
        apart = np.linalg.norm(momentum - momentum[0], axis=-1) / np.linalg.norm(momentum[0])
        axes[0].semilogy(t, apart + 1e-18, color=color, label=method)
        axes[1].semilogy(t, np.abs(energy / energy[0] - 1.0) + 1e-18, color=color, label=method)
    for axis, title in zip(axes, ("Drift of the momentum", "Error of the energy"), strict=True):
        axis.set(xlabel="time [s]", ylabel="relative", title=title)
        axis.legend(frameon=False)
    figure.savefig(folder / "flight.png", dpi=120)
    plt.close(figure)


def bridge(folder: Path) -> None:
    made = runpy.run_path(str(ROOT / "examples" / "brownian_bridge.py"))
    made["draw"](str(folder / "bridge.png"))


def recursions(folder: Path) -> None:
    """Algorithm 2 as the program prints it, on a chain and on a tree."""
    shown = []
    for title, algebra in (("On a chain", ps.algebra()), ("On a tree", ps.algebra(tree=True))):
        statement = algebra.expression(ps.freeflying.joint_momentum.nodes(algebra.symbols)["y"])
        shown.append(f"{title}:\n\n{statement.algorithm()}\n")
    (folder / "algorithm.txt").write_text("\n".join(shown), encoding="utf-8")


def counts(folder: Path) -> None:
    """Instructions of the two-way mass matrix, and of the floating one with its Schur complement."""
    measure = runpy.run_path(str(ROOT / "benchmarks" / "freeflying.py"))
    lines = ["| joints | two-way | floating and Schur complement | ratio |", "|---|---|---|---|"]
    for n in COUNTED:
        model = measure["floating_chain"](n)
        ours = measure["instructions"](model, lambda s: s.M_i)
        theirs = measure["instructions"](model, lambda s: s.mass) + measure["schur_operations"](n)
        lines.append(f"| {n} | {ours:,} | {theirs:,} | {theirs / ours:.2f} |")
    (folder / "cost.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for write in (recursions, counts, bridge, flight, cat, zero_reaction):
        write(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "freeflying")
