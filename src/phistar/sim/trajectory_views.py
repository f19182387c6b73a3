"""A trajectory shown: one line, a table for notebooks, a labelled dataset, and a figure."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.errors import PhistarError, ShapeError
from phistar.model.names import unknown

if TYPE_CHECKING:
    from phistar.model import Model
    from phistar.sim.trajectory import Trajectory

LONGEST_NAME = 60
MOST_LISTED = 8  # signals and parts in one line
MOST_LINES = 12  # in a figure


def one_line(run: Trajectory) -> str:
    """One short line."""
    batch = " × ".join(map(str, run.q.shape[:-2]))
    parts = [f"{batch + ' motions, ' if batch else ''}{len(run)} samples", _span(run)]
    parts += [f"nq={run.model.nq}, nv={run.model.nv}"]
    parts += [f"signals {_short_list(run.signals)}"] if run.signals else []
    parts += [f"parts {_short_list(run.parts)}"] if run.parts else []
    parts += [f"{len(run.events)} events"] if run.events else []
    return f"<Trajectory {run.name[:LONGEST_NAME]!r}: {', '.join(parts)}>"


def _span(run: Trajectory) -> str:
    return f"t {run.t[0]:.4g} to {run.t[-1]:.4g} s" if len(run) else "no time"


def _short_list(names: Any) -> str:
    shown = [str(name)[:30] for name in list(names)[:MOST_LISTED]]
    return " ".join(shown) + (f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else "")


def as_html(run: Trajectory) -> str:
    """Small HTML table of the arrays: name, shape, least and largest value."""
    rows = "".join(_row(name, array) for name, array in run.arrays.items())
    head = "<tr><th></th><th>shape</th><th>least</th><th>largest</th></tr>"
    told = ", ".join([_span(run), f"{len(run.events)} events", *(f"{p.name} {p.start:.4g} s" for p in run.phases[:9])])
    return f"<b>{escape(run.name[:LONGEST_NAME])}</b><p>{escape(told)}</p><table>{head}{rows}</table>"


def _row(name: str, array: np.ndarray) -> str:
    numbers = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    ends = [f"{float(end):.4g}" for end in (numbers.min(), numbers.max())] if numbers.size else ["", ""]
    cells = "".join(f"<td>{escape(text)}</td>" for text in (name[:LONGEST_NAME], str(array.shape), *ends))
    return f"<tr>{cells}</tr>"


def coordinate_names(model: Model) -> tuple[list[str], list[str]]:
    """Names of all coordinates and of all rates: the joint's, with a number where a joint has several."""
    places, rates = [], []
    for joint in model.joints:
        places += [joint.name if joint.nq == 1 else f"{joint.name}:{k}" for k in range(joint.nq)]
        rates += [joint.name if joint.nv == 1 else f"{joint.name}:{k}" for k in range(joint.nv)]
    return places, rates


def to_xarray(run: Trajectory) -> Any:
    """Implement `Trajectory.to_xarray`."""
    try:
        import xarray
    except ImportError:
        raise PhistarError("to_xarray needs the package xarray: pip install 'phistar[xarray]'.") from None
    places, rates = coordinate_names(run.model)
    batch = [f"batch_{k}" for k in range(run.q.ndim - 2)]
    kinds = {"q": "coordinate", "v": "rate", "tau": "rate", "contact_force": "pair"}
    found = {}
    for name, array in run.arrays.items():
        if name == "t":
            continue
        leading = (
            [*batch, "time"] if name in ("q", "v", "tau") or array.shape[: len(batch)] == run.q.shape[:-2] else ["time"]
        )
        rest = array.ndim - len(leading)
        own = [kinds[name]] if name in kinds else [f"{name}_{k}" for k in range(rest)]
        found[name] = ([*leading, *own], array)
    coordinates = {"time": run.t, "coordinate": places, "rate": rates}
    coordinates |= {"pair": list(run.contacts.pairs)} if run.contacts.pairs else {}
    return xarray.Dataset(found, coordinates, {"name": run.name, "model": run.model.name})


def plot(run: Trajectory, names: tuple[str, ...]) -> Any:
    """Implement `Trajectory.plot`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PhistarError("plot needs the package matplotlib: pip install 'phistar[plot]'.") from None
    chosen = names or tuple(name for name in ("q", "v", "tau") if name in run.arrays)
    if run.q.ndim != 2:
        raise ShapeError(f"plot draws one motion; this trajectory is a batch of {run.q.shape[:-2]}.")
    for name in chosen:
        if name not in run.arrays:
            raise unknown("signal", name, run.arrays, run.name)
    figure = Figure(figsize=(8.0, 2.4 * len(chosen) + 0.6), layout="constrained")
    for axes, name in zip(figure.subplots(len(chosen), 1, sharex=True, squeeze=False)[:, 0], chosen, strict=True):
        _draw(axes, run, name)
    axes.set_xlabel("t, s")
    figure.suptitle(run.name[:LONGEST_NAME])
    return figure


def _draw(axes: Any, run: Trajectory, name: str) -> None:
    array = run.arrays[name].reshape(len(run), -1)
    places, rates = coordinate_names(run.model)
    labels = {"q": places, "v": rates, "tau": rates, "contact_force": list(run.contacts.pairs)}.get(name, [])
    for k in range(min(array.shape[1], MOST_LINES)):
        axes.plot(run.t, array[:, k], label=labels[k] if k < len(labels) else f"{name}:{k}")
    axes.set_ylabel(name)
    if array.shape[1] > 1:
        axes.legend(fontsize="small", ncols=2)
