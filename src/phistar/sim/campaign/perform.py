"""One run of a campaign, in whatever process: its row, and the files worth keeping. No failure leaves it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from phistar.errors import PhistarError
from phistar.sim.campaign.campaign_plan import Plan
from phistar.sim.campaign.run_rows import Row, of_chance, of_summary
from phistar.sim.campaign.sampling import Point, UnitPoint
from phistar.sim.trajectory import Stopped, Trajectory

GOOD = ("reached", "completed")
ENDED = (*GOOD, "aborted", "failed")  # the others are stopped, refused, broken and died
ABORTED = "aborted"  # the phase of a controller that has given up, all safe


class Done(NamedTuple):
    """A row, and files by name."""

    row: Row
    files: Mapping[str, bytes]


def perform(plan: Plan, run: int, point: Point | None = None) -> Done:
    """The run: its task reached, or completed where it has none; aborted by its controller, or failed at its task;
    stopped on the way; refused, where what was drawn cannot be; broken, by a mistake in phistar or in a controller."""
    seed, result, began = plan.seed_of(run), None, time.thread_time()
    try:
        result = plan.scene_of(run, point).run(seed)
    except Stopped as stopped:
        result, outcome, reason = stopped.result, "stopped", str(stopped)
    except PhistarError as error:
        outcome, reason = "refused", str(error)
    except Exception as error:  # one run must not end the others
        outcome, reason = "broken", f"{type(error).__name__}: {error}"
    else:
        outcome, reason = _verdict(result.summary)
    spent = time.thread_time() - began
    found = {} if result is None else of_summary(result.summary, spent)
    row = _row(plan, run, point, outcome, reason, found)
    kept = result is not None and (plan.keep == "all" or (plan.keep == "failed" and outcome not in GOOD))
    return Done(row, _files(result) if kept else {})


def _verdict(summary: Mapping[str, Any]) -> tuple[str, str | None]:
    """The outcome of a run to its end, and why it is no good one: what led the controller to give up, or what the task
    misses."""
    reached, phases = summary.get("reached"), summary.get("phases") or []
    if reached is None or reached:
        return ("completed" if reached is None else "reached"), None
    last = phases[-1]["name"] if phases else ""
    if last == ABORTED:
        return "aborted", "; ".join(str(phase["reason"]) for phase in phases[-3:])
    return "failed", f"{summary.get('missing') or 'the task was not done'}{f', in phase {last}' if last else ''}"


def row_of_crash(plan: Plan, run: int, point: Point | None, reason: str) -> Done:
    """The row of a run that took its process with it."""
    return Done(_row(plan, run, point, "died", reason, {}), {})


def _row(plan: Plan, run: int, point: Point | None, outcome: str, reason: str | None, found: Row) -> Row:
    seed, cell = plan.seed_of(run), plan.cells[run % len(plan.cells)]
    first: Row = {"run": run, "seed": seed, "outcome": outcome, "reason": reason}
    varied = {f"varied.{place}": value for place, value in cell.items()}
    try:
        source = np.random.default_rng(seed) if point is None else UnitPoint(point)
        chance = of_chance(plan.scene_of(run), source)
    except PhistarError:  # refused for that very reason
        chance = {}
    return first | {name: value for name, value in found.items() if name not in first} | varied | chance


def _files(result: Any) -> Mapping[str, bytes]:
    assert isinstance(result, Trajectory)
    with tempfile.TemporaryDirectory() as folder:
        return {path.name: path.read_bytes() for path in map(Path, result.save(folder))}
