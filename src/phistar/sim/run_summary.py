"""The entries of a run's summary: phases, extremes, and energy and momentum that the books do not explain."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.sim.audit import Audit

if TYPE_CHECKING:
    from phistar.sim.kept_samples import Samples
    from phistar.sim.run_recorder import Recorder

BEGAN = "the run began"


def summary_of(
    recorder: Recorder, reason: str | None, wall: float, samples: Samples, events: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The summary of a run with so many events, and the audit's signals over its samples."""
    audited, signals = _audit(recorder, samples)
    end = float(samples.t[-1])
    summary = {
        "completed": reason is None,
        "reason": reason,
        "phases": _phases(recorder, end),
        "min_distance": recorder.lowest,
        "peak_force": recorder.peak,
        **audited,
        "friction_unsettled": recorder.unsettled[0],
        "friction_change": recorder.unsettled[1],
        "torque_clipped": recorder.driving.clipped,
        "events": events,
        "sim_time": end,
        "wall_time": wall,
    }
    return finite(summary), signals


def finite(value: Any) -> Any:
    """The same, with None for numbers that are not finite: JSON has none."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    return [finite(each) for each in value] if isinstance(value, list) else value


def _phases(recorder: Recorder, end: float) -> list[dict[str, Any]]:
    """Each phase from its switch to the next; its reason is why it began."""
    if not recorder.phases or recorder.phases[0][1] == "":
        return []
    begun = [(time, name, "") for time, name in recorder.phases]
    if recorder.driving.switches:
        begun = begun[:1] + [(switch.time, switch.after, switch.reason) for switch in recorder.driving.switches]
    begun[0] = (*begun[0][:2], BEGAN)
    ends = [*(time for time, _, _ in begun[1:]), end]
    return [
        {"name": name, "start": float(time), "end": float(until), "reason": why}
        for (time, name, why), until in zip(begun, ends, strict=True)
    ]


def _audit(recorder: Recorder, samples: Samples) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Momentum and energy that the books do not explain, and both over the samples."""
    if not recorder.experiment.audit:
        return {}, {}
    world = recorder.world
    audit = world.model.kept("audit", lambda: Audit(world))
    now, work, loss = audit.account(samples.q, samples.v), samples.work, samples.loss
    mechanical = now.kinetic + now.potential
    energy = mechanical + samples.stored
    imbalance = now.free - samples.outside
    drift: float | None = float(np.max(np.abs(imbalance - imbalance[0])))
    one_by_one = recorder.experiment.timing.step is not None
    if not audit.floating.any() or not (one_by_one or not np.any(samples.outside[-1])):
        drift = None  # nothing is free; or forces within steps of high order are not known one by one
    scale = max(float(now.kinetic.max()), float(samples.throughput[-1]), 1e-300)
    residual = (mechanical[-1] - mechanical[0] - (work[-1] - work[0]) + loss[-1] - loss[0]) / scale
    known = one_by_one or recorder.peak == 0.0
    told = {
        "momentum_drift": drift,
        "energy_residual": float(residual) if known else None,
        "energy_change": float(energy[-1] - energy[0]),
        "numerical_loss": float(loss[-1] - loss[0]) if known else None,
    }
    return told, {"energy": energy, "work": work, "momentum": now.momentum}
