"""Writes docs/benchmarks.md, its picture and the table of the front page from benchmarks/results.json; with --readme,
the table in README.md.

Run by the docs build before Sphinx: `python docs/generate_benchmarks.py`. `make bench-results` measures anew.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from phistar.cli.benchmark.plot import svg

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results.json"
TABLE = re.compile(r"(?<=<!-- benchmarks -->\n).*?(?=<!-- end of benchmarks -->)", re.DOTALL)
TITLES = {
    "forward_dynamics": "forward dynamics",
    "inverse_dynamics": "inverse dynamics",
    "mass_matrix": "mass matrix",
    "mass_matrix_inverse": "its inverse",
    "forward_dynamics_derivatives": "derivatives of forward dynamics",
    "operational_space": "operational space",
    "rollout": "a step of a rollout",
}
SHORT = (("ur5", "UR5"), ("panda", "Panda"), ("talos", "Talos, 38 dof"), ("chain100", "chain of 100"))
LEAST_CALL = 1.5  # times as fast as a Python call of Pinocchio's every public function is to be
Facts = dict[str, Any]


def machine(facts: Facts) -> str:
    """Where, when and with what it was measured."""
    known = facts["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items() if version)
    busy = f" The machine was busy (load {known['load']:.1f}): figures are rough." if (known["load"] or 0) > 1 else ""
    return (
        f"Measured {facts['date']} on {known['processor']} ({known['cpu']}), {known['cores']} cores, one thread, "
        f"Python {known['python']}, {versions}.{busy}"
    )


def short_table(facts: Facts) -> str:
    """Times a state and ratios to Pinocchio's, for README.md."""
    found = {(row["function"], row["robot"]): row for row in facts["results"]}
    lines = ["| ns a state (× Pinocchio) | " + " | ".join(title for _, title in SHORT) + " | Pinocchio timed by |"]
    lines.append("|---|" + "---|" * (len(SHORT) + 1))
    for function, title in TITLES.items():
        rows = [found.get((function, robot)) for robot, _ in SHORT]
        if function != "rollout" and any(row and row["pin_cpp_ns"] for row in rows):
            lines.append(f"| {title} | " + " | ".join(map(_cell, rows)) + f" | {_timed(rows)} |")
    return "\n".join(lines) + "\n"


def _timed(rows: list[Facts | None]) -> str:
    """How Pinocchio's time was had: in C++, or through Python where it has no batch call."""
    ways = {row["pin_cpp_is"] for row in rows if row and row["pin_cpp_ns"]}
    return " / ".join("C++, a batch call" if way == "batch call" else "Python, less binding" for way in sorted(ways))


def _cell(row: Facts | None) -> str:
    if not row or not row["pin_cpp_ns"]:
        return ""
    return f"{row['ours_ns']:,.0f} ({_ratio(row['pin_cpp_ratio'])})"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}×" if value >= 10 else f"{value:.1f}×"


def _time(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def tables(facts: Facts) -> str:
    """One table for each function."""
    parts = []
    for function, title in TITLES.items():
        rows = [row for row in facts["results"] if row["function"] == function]
        if not rows:
            continue
        lines = [
            f"## {title.capitalize()}, `ps.{function}`",
            "",
            "| robot | dof | ours, ns | Pinocchio C++ | × | Python call | × | MuJoCo | × | operations | first call |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        for row in rows:
            times = [_time(row["ours_ns"])]
            for peer in ("pin_cpp", "pin_python", "mujoco"):
                times += [_time(row.get(f"{peer}_ns")), _ratio(row.get(f"{peer}_ratio"))]
            counted = "" if row["operations"] is None else f"{row['operations']:,}"
            cells = [row["robot"], str(row["dof"]), *times, counted, f"{row['first_call_s']:.2f} s"]
            lines.append("| " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def calls_table(facts: Facts) -> str:
    """Every public function one state at a time: our time, and how many times a Python call of Pinocchio's takes it."""
    found = {row["robot"]: {call["function"]: call for call in row["calls"]} for row in facts["calls"]}
    lines = ["## One state at a time, ns a call", "", worst_calls(facts), ""]
    lines += ["| function | " + " | × | ".join(found) + " | × |", "|---|" + "---|" * (2 * len(found))]
    for function in dict.fromkeys(name for calls in found.values() for name in calls):
        known = [calls.get(function, {}) for calls in found.values()]
        cells = [text for call in known for text in (_time(call.get("ours_ns")), _ratio(call.get("ratio")))]
        lines.append(f"| {function} | {' | '.join(cells)} |")
    return "\n".join(lines)


def worst_calls(facts: Facts) -> str:
    """The slowest public function of each robot, one state at a time, against Pinocchio's Python call."""
    told = []
    for row in facts["calls"]:
        known = [call for call in row["calls"] if call["ratio"] is not None]
        if known:
            least = min(known, key=lambda call: call["ratio"])
            below = sum(call["ratio"] < LEAST_CALL for call in known)
            told.append(f"{row['robot']} {least['function']} {least['ratio']:.2f}× ({below} of {len(known)})")
    return (
        "One state a call, the slowest of all public functions against Pinocchio's Python call for the same (in "
        f"brackets how many are below {LEAST_CALL}×): {', '.join(told)}."
    )


def short_floats_table(facts: Facts) -> str:
    """float32 against float64, with the bound that is stated and what was lost; nothing of results without it."""
    rows = facts.get("float32", [])
    lines = ["## float32 against float64", "", "| function | robot | float64, ns | float32, ns | × | bound | lost |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in rows:
        digits = ["refused" if row[name] is None else f"{row[name]:.1e}" for name in ("error", "lost")]
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}×"
        cells = [row["function"], row["robot"], _time(row["wide_ns"]), _time(row["short_ns"]), ratio, *digits]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if rows else ""


def page(facts: Facts) -> str:
    notes = "\n".join(f"- {note}" for note in facts["notes"])
    problems = "\n".join(f"- {problem}" for problem in facts["problems"])
    return (
        "\n\n".join(
            [
                "# Benchmarks",
                "Ours and the peers in one run, in turn, one thread against one thread. `make bench` does it on your "
                "machine; `make bench-results` keeps what this page is made of.",
                machine(facts),
                "![Ratios to the peers](benchmarks.svg)",
                tables(facts),
                calls_table(facts),
                short_floats_table(facts),
                f"## What was measured\n\n{notes}",
                f"## Left out\n\n{problems}" if problems else "",
            ]
        ).strip()
        + "\n"
    )


def renewed(readme: str, facts: Facts) -> str:
    """README.md with the table as the results are."""
    measured = f"*{machine(facts)} [All of it](docs/index.md): `make bench`.*"
    text = f"\n{short_table(facts)}\n{worst_calls(facts)}\n\n{measured}\n\n"
    return TABLE.sub(lambda _: text, readme)


def main() -> None:
    facts = json.loads(RESULTS.read_text("utf-8"))
    if "--readme" in sys.argv[1:]:
        path = ROOT / "README.md"
        path.write_text(renewed(path.read_text("utf-8"), facts), "utf-8")
        return
    folder = Path(__file__).parent
    (folder / "benchmarks.md").write_text(page(facts), "utf-8")
    (folder / "benchmarks.svg").write_text(svg(facts), "utf-8")
    (folder / "speed.txt").write_text(short_table(facts), "utf-8")


if __name__ == "__main__":
    main()
