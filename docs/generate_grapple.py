"""Draws the timeline of docs/simulation/grapple.md: one capture on a free base, its phases, forces and errors.

Run by the docs build before Sphinx: `python docs/generate_grapple.py [FOLDER]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps

ROOT = Path(__file__).resolve().parent.parent
INK, WARM, COOL, PALE = "#222222", "#c8553d", "#2d6a8a", "#b8c4cc"
SEED = 104
SHADES = ("#eef2f4", "#dfe7eb")


def timeline(folder: Path) -> None:
    """Phases as bands; fingers, wrists, errors and the object's motion over time."""
    result = ps.Scene.load("grapple-free").run(SEED)
    t, arrays = result.arrays["t"], result.arrays
    figure, axes = plt.subplots(3, 1, figsize=(8, 7), sharex=True, layout="constrained")
    for number, phase in enumerate(result.summary["phases"]):
        end = t[-1] if phase["end"] is None else phase["end"]
        for axis in axes:
            axis.axvspan(phase["start"], end, color=SHADES[number % 2], lw=0)
        if end - phase["start"] > 0.3:
            place = 0.5 * (phase["start"] + end)
            axes[0].text(place, 1.03, phase["name"], transform=axes[0].get_xaxis_transform(), ha="center", fontsize=8)
    led = next(phase["start"] for phase in result.summary["phases"] if phase["name"] == "approach") + 0.05
    for side, color in (("left", COOL), ("right", WARM)):
        for number in (1, 2, 3):
            name = f"{side} fingers" if number == 1 else None
            axes[0].plot(t, arrays[f"facts/{side}_tip{number}"], color=color, lw=0.7, alpha=0.8, label=name)
        axes[0].plot(t, arrays[f"facts/{side}_push"], color=color, lw=1.4, label=f"{side} wrist")
        error = np.where(t > led, 1e3 * arrays[f"facts/{side}_position_error"], np.nan)
        axes[1].semilogy(t, error, color=color, lw=1.0, label=f"{side} hand")
    axes[2].plot(t, np.degrees(arrays["facts/object_spin"]), color=INK, lw=1.0, label="spin, °/s")
    axes[2].plot(t, 1e3 * arrays["facts/object_speed"], color=PALE, lw=1.0, label="speed, mm/s")
    for axis, label in zip(axes, ("N", "mm from the path", "the object, from the base"), strict=True):
        axis.set_ylabel(label)
        axis.legend(loc="upper left", frameon=False, fontsize=8)
    axes[1].set_ylim(1e-2, 1e2)
    axes[2].set_xlabel("time, s")
    axes[2].set_xlim(t[0], t[-1])
    figure.savefig(folder / "grapple_timeline.png", dpi=120)
    plt.close(figure)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "simulation"
    folder.mkdir(parents=True, exist_ok=True)
    timeline(folder)


if __name__ == "__main__":
    main()
