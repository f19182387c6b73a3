"""Draws docs/estimation/*.png and writes its tables.md: what the filters, covariances and counts are, computed.

Run by the docs build before Sphinx: `python docs/generate_estimation.py [FOLDER]`.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar import estimation
from phistar.backends.kernel import Statements, trace_statements
from phistar.backends.programs.derivations import ARTICULATED, AS_WRITTEN, COMPOSITE
from phistar.estimation import planar_chain
from phistar.estimation.acceleration_accuracy import METHODS
from phistar.expression import Expression

ROOT = Path(__file__).resolve().parent.parent
INK, WARM, COOL, PALE, GREEN, GOLD = "#222222", "#c8553d", "#2d6a8a", "#b8c4cc", "#4c8c5a", "#c9a227"
LONGEST_COUNT, TIMED = 24, (2, 3, 4, 5, 6, 8, 10, 13, 16, 20)
LENGTHS = (2, 5, 10, 30, 100, 300, 1000)
CHAINS: dict[str, Callable[[int], ps.Model]] = {"planar": ps.planar_chain, "spatial": ps.chain}


# Duality


def duality(folder: Path) -> None:
    """Accelerations by an outside smoother; sample covariances on their way to the mass matrix."""
    example = runpy.run_path(str(ROOT / "examples" / "estimation.py"))
    model = ps.chain(8)
    q, v, tau = np.random.default_rng(4).uniform(-1, 1, size=(3, 8))
    outside = example["outside_smoother"](estimation.state_space(model, q, v), tau[::-1])
    found = estimation.forward_dynamics(model, q, v, tau, keep=["residuals"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    joints = np.arange(1, 9)
    left.bar(joints - 0.2, found.accelerations, 0.4, color=PALE, label="ps.forward_dynamics")
    left.bar(joints + 0.2, found.residuals, 0.4, color=GOLD, label="residual: joints inboard locked")
    left.plot(joints, outside.smoothing_error[0, ::-1], "x", ms=9, mew=2, color=WARM, label="statsmodels' smoother")
    left.set(xlabel="joint", ylabel="acceleration [rad/s²]", title="a chain of eight links in motion")
    mass, counts = ps.mass_matrix(model, q), np.unique(np.logspace(1, 5.7, 24).astype(int))
    for seed in range(6):
        drawn = estimation.sample_joint_forces(model, q, int(counts[-1]), np.random.default_rng(seed))
        errors = [np.linalg.norm(drawn[:n].T @ drawn[:n] / n - mass) / np.linalg.norm(mass) for n in counts]
        right.loglog(counts, errors, color=COOL, lw=1, alpha=0.7, label="six draws" if seed == 0 else None)
    trace = np.trace(mass)
    expected = np.sqrt((trace**2 + np.sum(mass**2)) / counts) / np.linalg.norm(mass)
    right.loglog(counts, expected, color=INK, ls=":", label="expected: √((tr²ℳ + ‖ℳ‖²)/N) / ‖ℳ‖")
    right.set(xlabel="samples N", ylabel="‖sample covariance − ℳ‖ / ‖ℳ‖", title="white noise on the links")
    finish(figure, folder / "duality.png")


def narrowing(folder: Path, n: int = 14) -> None:
    """The estimate of the force on each link before, during and after the measurements."""
    model = ps.chain(n)
    q = np.random.default_rng(2).uniform(-0.6, 0.6, n)
    known = estimation.covariances(model, q)
    blocks = {
        "r: nothing measured": (estimation.composite_bodies(model, q).inertias, PALE),
        "P⁻: joints outboard measured": (known.predicted, COOL),
        "P⁺: and its own joint": (known.updated, GREEN),
        "S: all joints": (known.smoothed, WARM),
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.7), layout="constrained")
    for axis, part, title in zip(axes, (slice(0, 3), slice(3, 6)), ("moment", "force"), strict=True):
        for label, (block, color) in blocks.items():
            size = np.sqrt(np.trace(block[:, part, part], axis1=1, axis2=2))
            axis.plot(np.arange(1, n + 1), size, marker="o", ms=4, color=color, label=label)
        axis.set(xlabel="link, base to tip", title=f"standard deviation of the {title} on a link", ylim=(0, None))
    finish(figure, folder / "narrowing.png", legends=[axes[0]])


# Fig. 4


def solving(model: ps.Model) -> Expression:
    """ℳ⁻¹T: biases left out, as the paper does."""
    algebra = ps.algebra(model)
    return algebra.mass.inv @ algebra.T


def operations(model: ps.Model, form: str) -> int:
    e = solving(model)
    wanted = Statements((("y", e.node),), e.symbols, e.setting, False, model, {}, form=form)
    return trace_statements(wanted)[0].operations


def nanoseconds(model: ps.Model, form: str, states: int = 2048) -> float:
    """Per state, one thread, the best of many short runs."""
    e = solving(model)
    chosen = replace(e, form=COMPOSITE) if form == COMPOSITE else replace(e.simplify(), form=AS_WRITTEN)
    compiled = ps.compile(chosen, model)
    q, tau = np.random.default_rng(0).uniform(-1, 1, size=(2, states, model.nv))
    out = np.empty((states, model.nv))
    times = []
    for _ in range(40):
        start = time.perf_counter()
        compiled(q, tau, out=out)
        times.append(time.perf_counter() - start)
    return 1e9 * min(times) / states


def crossing(n: Any, smoother: Sequence[float], assembly: Sequence[float]) -> str:
    """The first n from which on the filter is cheaper."""
    better = np.asarray(smoother) < np.asarray(assembly)
    if not better[-1]:
        return f"beyond {n[-1]}"
    last = np.flatnonzero(~better)
    return f"{n[last[-1] + 1] if len(last) else n[0]}"


def figure_4(folder: Path) -> list[str]:
    """The paper's figure with both sums of Table III; our counts; our times."""
    n = np.arange(2, LONGEST_COUNT + 1)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12.5, 4.1), layout="constrained")
    left.plot(n[:10], planar_chain.smoother_flops(n[:10]), color=WARM, label="filter and smoother, 27N")
    left.plot(n[:10], planar_chain.assembly_flops(n[:10]), color=COOL, label="N³/3 + N² + 2N(N + 5)")
    left.plot(
        n[:10],
        planar_chain.assembly_flops(n[:10], shared=True),
        color=COOL,
        ls=":",
        label="… + N(2N + 7), rotation shared",
    )
    left.set(xlabel="links N", ylabel="multiply-add pairs", title="R87, Fig. 4 (planar)")
    for flops, color in ((planar_chain.smoother_flops(n), WARM), (planar_chain.assembly_flops(n), COOL)):
        middle.semilogy(
            n, 2 * flops, color=color, lw=0.8, ls=":", label=None if color == COOL else "the paper's, planar"
        )
    rows = []
    for style, (name, chain) in zip(("--", "-"), CHAINS.items(), strict=True):
        counts = {form: [operations(chain(int(k)), form) for k in n] for form in (ARTICULATED, COMPOSITE)}
        times = {form: [nanoseconds(chain(k), form) for k in TIMED] for form in (ARTICULATED, COMPOSITE)}
        for form, color in ((ARTICULATED, WARM), (COMPOSITE, COOL)):
            short = "filter and smoother" if form == ARTICULATED else "composite bodies, LDL*"
            middle.semilogy(n, counts[form], color=color, ls=style, label=f"{short}, {name}")
            right.semilogy(TIMED, times[form], color=color, ls=style, marker="o", ms=3, label=f"{short}, {name}")
        by_time = crossing(TIMED, times[ARTICULATED], times[COMPOSITE])
        rows.append(f"| {name} | {crossing(n, counts[ARTICULATED], counts[COMPOSITE])} | {by_time} |")
    middle.set(xlabel="links N", ylabel="operations", title="counted on our instructions")
    right.set(xlabel="links N", ylabel="time per state [ns]", title="measured, one thread", xticks=range(4, 21, 4))
    finish(figure, folder / "figure4.png")
    return ["| chain | fewer operations from N = | faster from N = |", "|---|---|---|", *rows]


def tables_2_and_3() -> list[str]:
    lines = ["| | adds | multiplies | divides | printed |", "|---|---|---|---|---|"]
    for title, rows in (("Table II, per link", planar_chain.table_2()), ("Table III", planar_chain.table_3())):
        lines.append(f"| **{title}** | | | | |")
        for row in rows:
            mark = "" if row.counted == row.printed else " ← differs"
            lines.append(
                f"| {row.name} | {' | '.join(map(str, row.counted))} | {' '.join(map(str, row.printed))}{mark} |"
            )
    return lines


# Conditioning


def conditioning(folder: Path) -> None:
    """Errors against fifty digits: long, uneven and nearly massless chains; two kinds of right side."""
    cases: dict[str, tuple[Any, Callable[[float], ps.Model]]] = {
        "links": (LENGTHS, lambda n: estimation.graded_chain(int(n))),
        "mass of the tip / mass of the base (50 links)": (
            10.0 ** np.arange(0, 11, 2),
            lambda ratio: estimation.graded_chain(50, ratio),
        ),
        "mass of every second link (50 links)": (
            10.0 ** -np.arange(0, 17, 4.0),
            lambda light: estimation.graded_chain(50, light=light),
        ),
    }
    looks = {
        "plain": ("as printed", PALE, "s"),
        "conventional": ("P symmetric (default)", WARM, "o"),
        "joseph": ("Joseph", GOLD, "^"),
        "square_root": ("square root", GREEN, "v"),
        "cholesky": ("Cholesky of ℳ", COOL, "D"),
    }
    figure, axes = plt.subplots(2, 3, figsize=(12.5, 6.6), layout="constrained", sharey=True)
    for column, (label, (values, made)) in enumerate(cases.items()):
        for row, kind in enumerate(("forces given", "forces made for accelerations of order 1")):
            errors = [_errors(made(value), hard=bool(row)) for value in values]
            for method, (name, color, mark) in looks.items():
                axes[row, column].loglog(
                    values, [e[method] for e in errors], color=color, marker=mark, ms=4, label=name
                )
            axes[row, column].set(title=kind, ylim=(1e-17, 1e-2))
        axes[1, column].set_xlabel(label)
    for axis in axes[:, 0]:
        axis.set_ylabel("relative error of θ̈")
    axes[0, 2].invert_xaxis()
    axes[1, 2].invert_xaxis()
    finish(figure, folder / "conditioning.png", legends=[axes[0, 0]])


def _errors(model: ps.Model, hard: bool) -> dict[str, float]:
    rng = np.random.default_rng(1)
    q = rng.uniform(-1, 1, model.nv)
    given = rng.normal(size=model.nv)
    tau = ps.inverse_dynamics(model, q, np.zeros(model.nv), given) if hard else given
    return estimation.forward_errors(model, q, tau, [m for m in METHODS if m != "compiled"])


# Symbolic


def puma() -> list[str]:
    """Operations of explicit expressions, both PUMAs."""
    lines = ["| quantity | puma560 (Corke) | puma560_akb (Armstrong) |", "|---|---|---|"]
    for function in ("mass_matrix", "mass_matrix_inverse", "inverse_dynamics", "forward_dynamics"):
        cells = []
        for name in ("puma560", "puma560_akb"):
            counts = ps.symbolic(ps.load(name), getattr(ps, function)).counts
            turns = counts.get("sin", 0) + counts.get("cos", 0)
            products = counts.get("mul", 0) + counts.get("div", 0)
            sums = sum(counts.values()) - turns - products
            cells.append(f"{products + sums} ({products} products, {sums} sums) and {turns} sines and cosines")
        lines.append(f"| `{function}` | {cells[0]} | {cells[1]} |")
    return lines


def finish(figure: Any, path: Path, legends: Iterable[Any] | None = None) -> None:
    for axis in figure.axes:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in figure.axes if legends is None else legends:
        axis.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "estimation"
    folder.mkdir(parents=True, exist_ok=True)
    duality(folder)
    narrowing(folder)
    crossings = figure_4(folder)
    conditioning(folder)
    sections = {"tables": tables_2_and_3(), "crossings": crossings, "puma": puma()}
    for name, lines in sections.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
