"""Writes docs/accuracy.md from benchmarks/accuracy.json.

Run by the docs build before Sphinx: `python docs/generate_accuracy.py`. `python benchmarks/accuracy.py --keep` measures
anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "accuracy.json"
INTRODUCTION = """# Accuracy

Every function that is made from statements, on ten robots, against the same formula in {digits} digits
(`python benchmarks/accuracy.py`). An entry is the largest error of a result over its largest entry, in units of
2⁻⁵² = 2.2·10⁻¹⁶, the spacing of double-precision numbers: the worst of {states} random states. 1 means that the last
digit may be wrong; 10⁵ means that eleven digits are left. Results of several arrays count as the worst of them.

The last robot is a chain of seven links whose tip weighs ten thousand times as much as each of the others. What
solves for accelerations loses digits there in any library that works in double precision; the second table has
Pinocchio's errors in the same states.
"""


def table(rows: dict[str, dict[str, Any]], key: str) -> str:
    """Return the errors of all functions that have some, a column for each robot."""
    names = [name for name in next(iter(rows.values())) if any(_known(own, name, key) for own in rows.values())]
    lines = ["| | " + " | ".join(rows) + " |", "|---|" + "---|" * len(rows)]
    for name in names:
        cells = [_figure(own[name][key]) if _known(own, name, key) else "" for own in rows.values()]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _known(own: dict[str, Any], name: str, key: str) -> bool:
    return name in own and own[name][key] is not None


def _figure(error: float) -> str:
    return f"{error:.1f}" if error < 10 else f"{error:,.0f}" if error < 1e4 else f"{error:.0e}"


def page(facts: dict[str, Any]) -> str:
    """Return the page."""
    rows = facts["robots"]
    parts = [INTRODUCTION.format(**facts), table(rows, "error"), "## Pinocchio's", table(rows, "pinocchio")]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the page beside the others."""
    facts = json.loads(RESULTS.read_text("utf-8"))
    (Path(__file__).parent / "accuracy.md").write_text(page(facts), "utf-8")


if __name__ == "__main__":
    main()
