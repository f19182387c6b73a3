"""Live plots beside the scene: curves over time, phases as bands behind them, and the time that was reached."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import cycle
from typing import Any

import numpy as np

from phistar.model import Model
from phistar.sim.trajectory import Trajectory

POINTS = 600  # a plot is no wider
COLORS = ("#1f6fd6", "#e07b20", "#2a9d6f", "#c43c4d", "#7a5cc0", "#8c6d4f", "#d667a8", "#5f6b78")
BANDS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#eeca3b", "#9d755d")
MOST_CURVES = 8
TITLES = {
    "q": "Joint coordinates (rad, m)",
    "v": "Joint rates (rad/s, m/s)",
    "tau": "Joint forces (N m, N)",
    "contact_force": "Contact forces (N)",
    "energy": "Energy (J)",
    "momentum": "Momentum (N m s, N s)",
    "distance": "Nearest distance (m)",
}


class Plots:
    """Plots of a recording; `show(time)` shades what has passed."""

    def __init__(self, server: Any, recording: Trajectory, first: tuple[str, ...] = ("q", "contact_force", "energy")):
        self.server, self.recording = server, recording
        self.keep = np.unique(np.linspace(0, len(recording.t) - 1, min(POINTS, len(recording.t))).astype(int))
        self.t = recording.t[self.keep].astype(float)
        self.choices = [name for name in TITLES if name in ("q", "v") or name in recording.arrays]
        self.shown_until = -1
        self.plots: list[tuple[Any, Any, list[np.ndarray]]] = []
        self.legends: list[Any] = []
        panel = server.gui.add_panel()
        with panel.add_tab("Plots", icon="chart-line"):
            if recording.phases:
                server.gui.add_html(self._bands_legend())
            for name in first:
                if name in self.choices:
                    self._add(name)
        panel.dock_left()
        panel.set_width(340)

    def _bands_legend(self) -> str:
        return _legend("Phases:", [(name, f"{color}70") for name, color in zip(self._phase_names(), cycle(BANDS))])

    def _add(self, name: str) -> None:
        gui = self.server.gui
        choice = gui.add_dropdown("Plot", [TITLES[each] for each in self.choices], initial_value=TITLES[name])
        curves, labels = self._curves(name)
        plot = plain_plot(gui, None, self._data(curves, 0), self._series(labels))
        place = len(self.plots)
        self.plots.append((choice, plot, curves))
        self.legends.append(gui.add_html(curves_legend(labels)))
        choice.on_update(lambda event: self._choose(place))

    def _choose(self, place: int) -> None:
        choice, plot, _ = self.plots[place]
        name = next((each for each in self.choices if TITLES[each] == choice.value), self.choices[0])
        curves, labels = self._curves(name)
        self.plots[place] = (choice, plot, curves)
        with self.server.atomic():
            self.legends[place].content = curves_legend(labels)
            plot.series = self._series(labels)
            plot.data = self._data(curves, max(self.shown_until, 0))

    def _curves(self, name: str) -> tuple[list[np.ndarray], list[str]]:
        """Return the entries of an array that vary most, and their names."""
        record = self.recording
        table = np.asarray(record.q if name == "q" else record.v if name == "v" else record.arrays[name], dtype=float)
        table = table.reshape(len(table), -1)[self.keep]
        names = self._names(name, table.shape[1])
        table = np.where(np.isfinite(table), table, np.nan)
        spread = np.nan_to_num(np.nanmax(table, axis=0) - np.nanmin(table, axis=0)) if len(table) else []
        most = np.argsort(-np.asarray(spread), kind="stable")[:MOST_CURVES]
        moving = [i for i in most if spread[i] > 0.0]
        most = sorted(moving or most)
        return [table[:, i] for i in most], [names[i] for i in most]

    def _names(self, name: str, count: int) -> list[str]:
        model = self.recording.model
        if name in ("q", "v", "tau"):
            return coordinate_names(model, rates=name != "q")
        if name == "contact_force" and len(self.recording.contacts.pairs) == count:
            return list(self.recording.contacts.pairs)
        if name == "momentum":
            return ["about x", "about y", "about z", "along x", "along y", "along z"][:count]
        return [name] if count == 1 else [f"{name} {i}" for i in range(count)]

    def _data(self, curves: list[np.ndarray], until: int) -> tuple[np.ndarray, ...]:
        bands = [np.where(self._inside(name), 1.0, 0.0) for name in self._phase_names()]
        passed = np.where(np.arange(len(self.t)) <= until, 1.0, 0.0)
        return (self.t, *bands, passed, *curves)

    def _phase_names(self) -> list[str]:
        return list(dict.fromkeys(phase.name for phase in self.recording.phases))

    def _inside(self, name: str) -> np.ndarray:
        inside = np.zeros(len(self.t), bool)
        for phase in self.recording.phases:
            if phase.name == name:
                inside |= (self.t >= phase.start) & (self.t <= phase.end)
        return inside

    def _series(self, labels: list[str]) -> tuple[dict[str, Any], ...]:
        hidden = {"scale": "band", "stroke": "transparent", "points": {"show": False}, "width": 0}
        bands = [
            {**hidden, "label": name, "fill": BANDS[i % len(BANDS)] + "40"}
            for i, name in enumerate(self._phase_names())
        ]
        passed = {**hidden, "label": "passed", "fill": "#00000010"}
        time, *curves = lines(labels)
        return (time, *bands, passed, *curves)

    def show(self, time: float) -> None:
        """Shade everything up to a time; nothing is sent while no new point is reached."""
        until = int(np.searchsorted(self.t, time, side="right")) - 1
        if until == self.shown_until:
            return
        self.shown_until = until
        with self.server.atomic():
            for _, plot, curves in self.plots:
                plot.data = self._data(curves, until)


def lines(labels: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """Series of a time axis and of curves in turn of the colours."""
    thin = {"width": 1.5, "points": {"show": False}}
    return (
        {"label": "t (s)"},
        *({"label": name, "stroke": color, **thin} for name, color in zip(labels, cycle(COLORS))),
    )


def plain_plot(gui: Any, title: str | None, data: tuple[np.ndarray, ...], series: tuple[dict[str, Any], ...]) -> Any:
    """A plot without a legend of its own; room above and beside it, or numbers at its corners are cut."""
    look = {"scales": _scales(), "axes": _axes(), "legend": {"show": False}, "height": 170, "padding": (10, 14, 0, 0)}
    return gui.add_uplot(data=data, series=series, title=title, **look)


def coordinate_names(model: Model, rates: bool = False) -> list[str]:
    """Return a name for every entry of q, or of v."""
    sizes = [(joint.name, joint.nv if rates else joint.nq) for joint in model.joints]
    return [joint if size == 1 else f"{joint} {i}" for joint, size in sizes for i in range(size)]


def _scales() -> dict[str, Any]:
    return {"x": {"time": False, "auto": True}, "y": {"auto": True}, "band": {"auto": False, "range": (0.0, 1.0)}}


def _axes() -> tuple[dict[str, Any], ...]:
    grid = {"stroke": "#e8eaed", "width": 1}
    return ({"scale": "x", "grid": grid, "size": 28}, {"scale": "y", "grid": grid, "size": 48})


def curves_legend(labels: list[str]) -> str:
    return _legend("", list(zip(labels, cycle(COLORS))))


def _legend(title: str, entries: list[tuple[str, str]]) -> str:
    """Names with their colours; names come from files, so they are escaped."""
    square = "display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 .6em;background:"
    words = [
        f'<span style="white-space:nowrap"><span style="{square}{color}"></span>{escape(name)}</span>'
        for name, color in entries
    ]
    return f'<div style="padding:0 .6em .3em .6em;font-size:.75em;line-height:1.5">{title}{" ".join(words)}</div>'
