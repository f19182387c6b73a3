"""Draws the pictures of docs/simulation/wd89.md and its table, from two captures and the results kept in wd89.json.

Run by the docs build before Sphinx: `python docs/generate_wd89.py [FOLDER]`. The results are made anew by
`python examples/wd89_failure.py --table docs/simulation/wd89.json`.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar.capture.baseline import TrajectorySettings
from phistar.control.joint_laws import InverseDynamicsControl

ROOT = Path(__file__).resolve().parent.parent
INK, WARM, COOL, PALE = "#222222", "#c8553d", "#2d6a8a", "#b8c4cc"
SHOWN = 1  # the seed whose captures are drawn


def example() -> Any:
    spec = importlib.util.spec_from_file_location("wd89_failure", ROOT / "examples" / "wd89_failure.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def settling(folder: Path) -> None:
    """Errors of the joints of one arm that nothing touches, with inertias known and 20% too small."""
    arm = ps.load("puma560", friction=False, gravity=(0, 0, 0))
    light = arm.replace(inertias={body.name: _lighter(body.inertia) for body in arm.bodies})
    goal = np.radians([68, 81, 7, -90, -22, -180])
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for time, color in ((0.5, PALE), (1.0, INK), (2.0, COOL)):
        for known, style in ((arm, "-"), (light, "--")):
            law = InverseDynamicsControl(known, kp=TrajectorySettings(time).kp, kd=TrajectorySettings(time).kd)
            compiled = ps.compile(law, known, rows={"reference": 18})
            row, steps = np.concatenate([goal, np.zeros(12)]), np.linspace(0.0, 2.5, 251)

            def control(t: float, q: Any, v: Any, compiled: Any = compiled, row: Any = row) -> Any:
                return compiled(t, q, v, row)

            run = ps.simulate(arm, goal + 0.1, np.zeros(6), 2.5, control=control, rtol=1e-7, t_eval=steps)
            error = np.abs(run.q - goal).max(axis=-1) / 0.1
            axes.semilogy(steps, error, style, color=color, label=f"settles in {time:g} s" if style == "-" else None)
    axes.axhline(0.02, color=WARM, lw=0.8)
    axes.set(xlabel="time [s]", ylabel="largest joint error, of its start", ylim=(1e-3, 1.3))
    axes.set_title("Approach: dashed, with inertias taken 20% too small")
    axes.legend(frameon=False)
    figure.savefig(folder / "wd89_settling.png", dpi=130)
    plt.close(figure)


def _lighter(inertia: ps.Inertia) -> ps.Inertia:
    return ps.Inertia.unchecked(0.8 * inertia.mass, inertia.com, 0.8 * inertia.tensor)


def sweep(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Peak forces of fingers over the settling time."""
    figure, both = plt.subplots(1, 2, figsize=(8.5, 3.2), sharey=True, layout="constrained")
    for axes, surface in zip(both, example().SWEPT_ON, strict=True):
        own = [row for row in rows if row["law"] == "inverse dynamics" and row["surface"] == surface]
        times = sorted({row["settling"] for row in own})
        for seed in sorted({row["seed"] for row in own if row["settling"] != 1.0}):
            line = sorted((row["settling"], row["peak_force"], row["captured"]) for row in own if row["seed"] == seed)
            axes.plot([x for x, _, _ in line], [y for _, y, _ in line], color=PALE, zorder=0)
            for time, force, held in line:
                axes.plot(time, force, "o" if held else "x", ms=4, color=COOL if held else WARM)
        axes.axhline(60.0, color=INK, lw=0.8, ls=":")
        axes.set(xscale="log", yscale="log", xlabel="settling time of the joints [s]", title=surface)
        axes.set_xticks(times, [f"{time:g}" for time in times], minor=False)
        axes.set_yticks([10, 20, 40, 60, 100, 200], ["10", "20", "40", "60", "100", "200"])
        axes.minorticks_off()
    both[0].set_ylabel("peak force of a finger [N]")
    both[0].plot([], [], "o", ms=4, color=COOL, label="held")
    both[0].plot([], [], "x", ms=4, color=WARM, label="not held")
    both[0].legend(frameon=False)
    figure.savefig(folder / "wd89_sweep.png", dpi=130)
    plt.close(figure)


def failure(folder: Path) -> None:
    """Two captures beside each other: forces of the fingers, and how the object moves against the hands."""
    program = example()
    figure, axes = plt.subplots(3, 2, figsize=(8.5, 6.4), sharex="col", sharey="row", layout="constrained")
    cases = (("flat, no friction", "inverse dynamics"), ("friction", "supervisor"))
    for column, (surface, law) in zip(axes.T, cases, strict=True):
        result = program.simulated(surface, law, SHOWN, duration=24.0)
        time, pairs = result.arrays["t"], result.contacts.pairs
        fingers = [i for i, name in enumerate(pairs) if "finger" in name and "satellite" in name]
        for i in fingers:
            color = COOL if "left" in pairs[i] else WARM
            column[0].plot(time, result.arrays["contact_force"][:, i], color=color, lw=0.9)
        task = program.paper_world(surface, 24.0).setting(SHOWN).task
        twists = task.relative_twists(result.model, result.arrays["q"], result.arrays["v"])
        for hand, color in ((0, COOL), (1, WARM)):
            speed, name = 1e3 * np.linalg.norm(twists[:, hand, 3:], axis=-1), ("left", "right")[hand]
            column[1].semilogy(time, speed, color=color, label=f"against the {name} hand")
            column[2].semilogy(time, np.degrees(np.linalg.norm(twists[:, hand, :3], axis=-1)), color=color)
        for axis, most in ((column[1], 5.0), (column[2], 0.3)):
            axis.axhline(most, color=INK, lw=0.8, ls=":")
        column[0].set_title(f"{law}; {surface}")
        column[2].set_xlabel("time [s]")
    for axis, label in zip(axes[:, 0], ("fingers [N]", "speed [mm/s]", "spin [°/s]"), strict=True):
        axis.set_ylabel(label)
    axes[1, 0].set_ylim(1e-3, 300)
    axes[2, 0].set_ylim(1e-3, 20)
    axes[1, 0].legend(frameon=False)
    figure.savefig(folder / "wd89_failure.png", dpi=130)
    plt.close(figure)


def table(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Held of tried, with the median and the greatest of the peak forces."""
    program = example()
    lines = ["| | " + " | ".join(program.SURFACES) + " |", "|---" * (len(program.SURFACES) + 1) + "|"]
    for law in program.LAWS:
        cells = []
        for surface in program.SURFACES:
            own = [row for row in rows if (row["law"], row["surface"], row["settling"]) == (law, surface, 1.0)]
            forces = [row["peak_force"] for row in own]
            held = sum(row["captured"] for row in own)
            if not own:
                cells.append("not run")
                continue
            cells.append(f"**{held} of {len(own)}**, peak {np.median(forces):.0f} N, at most {max(forces):.0f} N")
        lines.append(f"| {law} | " + " | ".join(cells) + " |")
    (folder / "wd89_table.txt").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "simulation"
    folder.mkdir(parents=True, exist_ok=True)
    results = json.loads((ROOT / "docs" / "simulation" / "wd89.json").read_text("utf-8"))
    settling(folder)
    sweep(folder, results)
    failure(folder)
    table(folder, results)
