"""Draws docs/estimation/fast.png and writes its tables: what gains by factors and dynamics by scans cost, computed.

Run by the docs build before Sphinx: `python docs/generate_estimation_fast.py [FOLDER]`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar import estimation
from phistar.estimation.chandrasekhar import operations_per_link
from phistar.estimation.scan import associative_scan

ROOT = Path(__file__).resolve().parent.parent
WARM, COOL, GREEN = "#c8553d", "#2d6a8a", "#4c8c5a"
LENGTHS = (10, 30, 100, 300, 1000, 3000, 10_000)


def gains_table() -> list[str]:
    """Operations per link by the rank of P(k+1) − P(k)."""
    lines = ["| rank of P(k+1) − P(k) | Chandrasekhar | Riccati | with armature: Chandrasekhar | Riccati |"]
    lines.append("|---|---|---|---|---|")
    for rank in range(1, 7):
        plain, geared = operations_per_link(rank), operations_per_link(rank, armature=True)
        cells = (plain["chandrasekhar"], plain["riccati"], geared["chandrasekhar"], geared["riccati"])
        lines.append(f"| {rank} | " + " | ".join(str(cell) for cell in cells) + " |")
    return lines


def work_and_depth(n: int) -> tuple[int, int]:
    """Combinations of one scan over n links, and how many of them wait for one another."""
    counted: list[int] = []

    def combine(first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        counted.append(len(first[0]))
        return first

    associative_scan(combine, (np.zeros(n),))
    return sum(counted), len(counted)


def milliseconds(run: Callable[[], Any], enough: float = 0.2) -> float:
    """The best of a few runs, one state."""
    run()
    times: list[float] = []
    while sum(times) < enough and len(times) < 200:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def scan_rows(lengths: tuple[int, ...] = LENGTHS) -> list[tuple[int, int, int, float, float, float]]:
    """Links, combinations, depth, times of scan and sweep in ms, and the relative difference of the accelerations."""
    rows = []
    for n in lengths:
        model = ps.chain(n)
        q, v, tau = np.random.default_rng(0).uniform(-1, 1, size=(3, n))
        scan = lambda: estimation.scanned_forward_dynamics(model, q, v, tau)  # noqa: B023, E731
        sweep = lambda: ps.forward_dynamics(model, q, v, tau)  # noqa: B023, E731
        error = np.abs(scan() - sweep()).max() / np.abs(sweep()).max()
        rows.append((n, *work_and_depth(n), milliseconds(scan), milliseconds(sweep), float(error)))
    return rows


def scan_table(rows: list[tuple[int, int, int, float, float, float]]) -> list[str]:
    lines = ["| links | combinations in a scan | depth of a scan | scans, ms | sweep, ms | ratio | difference |"]
    lines.append("|---|---|---|---|---|---|---|")
    for n, work, depth, scan, sweep, error in rows:
        lines.append(f"| {n} | {work} | {depth} | {scan:.3g} | {sweep:.3g} | {scan / sweep:.0f} | {error:.0e} |")
    return lines


def settling(n: int = 80) -> dict[str, np.ndarray]:
    """‖G(k+1) − G(k)‖ from the tip inward, planar chains at a few equal angles."""
    changes = {}
    for angle in (0.0, 0.3, 1.0):
        gains = estimation.propagated_gains(ps.planar_chain(n), np.full(n, angle)).gains[::-1]
        changes[f"{angle:g} rad at every joint"] = np.linalg.norm(np.diff(gains, axis=0), axis=1)
    return changes


def picture(path: Path, rows: list[tuple[int, int, int, float, float, float]]) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    for (label, change), color in zip(settling().items(), (COOL, GREEN, WARM), strict=True):
        left.semilogy(np.arange(1, len(change) + 1), np.maximum(change, 1e-17), color=color, label=label)
    left.set(
        xlabel="link, tip to base", ylabel="‖G(k+1) − G(k)‖", title="the gain settles (planar chain, equal angles)"
    )
    n, _, _, scan, sweep, _ = (np.array(column) for column in zip(*rows, strict=True))
    right.loglog(n, scan, "o-", color=WARM, label="scans, NumPy")
    right.loglog(n, sweep, "o-", color=COOL, label="ps.forward_dynamics, compiled sweep")
    right.set(xlabel="links", ylabel="ms, one state", title="forward dynamics of one long chain")
    for axis in (left, right):
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "estimation"
    folder.mkdir(parents=True, exist_ok=True)
    rows = scan_rows()
    picture(folder / "fast.png", rows)
    for name, lines in {"gains": gains_table(), "scans": scan_table(rows)}.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
