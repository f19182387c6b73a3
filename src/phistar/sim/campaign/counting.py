"""Campaign statistics: shares with their intervals, failures by reason, quantiles of every number."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from phistar.sim.campaign.perform import ENDED, GOOD
from phistar.sim.campaign.run_rows import Row
from phistar.sim.campaign.sampling import plain

SURE = 1.959963984540054  # standard deviations: 95 % of a normal distribution lie within
QUANTILES = {"min": 0.0, "p05": 0.05, "median": 0.5, "p95": 0.95, "max": 1.0}


def wilson(good: int, count: int) -> tuple[float, float]:
    """(p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n): 95 % interval of a share (Wilson 1927)."""
    if not count:
        return 0.0, 1.0
    share, square = good / count, SURE**2 / count
    middle, reach = share + square / 2, SURE * math.sqrt(share * (1 - share) / count + square / (4 * count))
    low, high = (middle - reach) / (1 + square), (middle + reach) / (1 + square)
    return (0.0 if not good else low), (1.0 if good == count else high)


def share(good: int, count: int) -> Mapping[str, Any]:
    """Share of `good` in `count`, with its 95 % interval."""
    low, high = wilson(good, count)
    return {"count": good, "of": count, "share": good / count if count else None, "low": low, "high": high}


def count_outcomes(rows: Sequence[Row]) -> Mapping[str, Any]:
    """The summary of a campaign: the share that reached its task (None where the scene has none) and that run to the
    end, failures by reason, quantiles of every number, and the real-time factor: simulated by core seconds."""
    outcomes = Counter(row["outcome"] for row in rows)
    asked = any(row.get("reached") is not None for row in rows)
    spent = sum(row.get("core_time") or 0.0 for row in rows)
    simulated = sum(row.get("sim_time") or 0.0 for row in rows)
    return {
        "done": len(rows),
        "reached": share(outcomes["reached"], len(rows)) if asked else None,
        "completed": share(sum(outcomes[each] for each in ENDED), len(rows)),
        "outcomes": dict(outcomes.most_common()),
        "failures": _failures(rows),
        "numbers": _numbers(rows),
        "core_time": spent,
        "real_time_factor": simulated / spent if spent else None,
    }


def by_cell(rows: Sequence[Row]) -> list[Mapping[str, Any]]:
    """The share of good runs for every combination of varied values, in the order of the grid."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name.startswith("varied.")]
    cells: dict[str, list[Row]] = {}
    for row in rows if names else ():
        cells.setdefault(plain({name: row.get(name) for name in names}), []).append(row)
    return [
        {name.removeprefix("varied."): those[0].get(name) for name in names}
        | {"good": share(sum(row["outcome"] in GOOD for row in those), len(those))}
        for those in cells.values()
    ]


def _failures(rows: Sequence[Row]) -> list[Mapping[str, Any]]:
    """Failures grouped by reason, ignoring numbers in it; the first one's seed reproduces it."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["outcome"] not in GOOD:
            reason = re.sub(r"(?<!\w)[-−+]?\d[\d.]*(e[-+]?\d+)?", "…", str(row.get("reason") or "no reason given"))
            groups.setdefault((row["outcome"], reason), []).append(row)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        {
            "outcome": outcome,
            "reason": reason,
            "count": len(those),
            "runs": [row["run"] for row in those],
            "example": {name: those[0][name] for name in ("run", "seed", "reason")},
        }
        for (outcome, reason), those in ordered
    ]


def _numbers(rows: Sequence[Row]) -> Mapping[str, Mapping[str, float]]:
    found = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row[name] for row in rows if row.get(name) is not None]
        if name in ("run", "seed") or any(isinstance(x, bool) or not isinstance(x, int | float) for x in values):
            continue
        finite = np.array(values, dtype=float)
        finite = finite[np.isfinite(finite)]
        if len(finite):
            at = np.quantile(finite, list(QUANTILES.values()))
            found[name] = {"count": len(finite), **dict(zip(QUANTILES, at.tolist()))}
    return found
