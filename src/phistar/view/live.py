"""Looking on while a scene runs."""

from __future__ import annotations

import time as clock
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.model import Model
from phistar.view.guard import address_of, close_server
from phistar.view.marks import Marks
from phistar.view.numbers import ASK, as_markdown, numbers
from phistar.view.plots import MOST_CURVES, coordinate_names, curves_legend, lines, plain_plot
from phistar.view.viewer import UPDATES, Viewer, set_up

WINDOW = 600  # states sent that the plots remember
PLOT_EVERY = 5  # of the states that are sent

Contacts = tuple[np.ndarray, np.ndarray]


class Live:
    """A page that receives states as they come, and sends `rate` of them a second at most.

    Between two that are sent a state costs one look at the clock, so that the simulation is not held up.

    Examples
    --------
    >>> arm = ps.load("planar2")
    >>> page = ps.view.Live(arm, arm.neutral())
    >>> page.address.startswith("http://")
    True
    >>> page.stop()
    """

    def __init__(
        self,
        model: Model,
        q: Any,
        *,
        rate: float = UPDATES,
        now: Callable[[], float] = clock.monotonic,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.model, self.period, self.now = model, 1.0 / rate, now
        self.due, self.sent, self.picked = -np.inf, 0, None
        self.before: tuple[float, np.ndarray] = (-np.inf, np.array(q, dtype=float))
        self.server, self.stage, self.size = set_up(model, self.before[1], host, port, model.name)
        self.stage.clicked = self._pick
        self.marks = Marks(self.stage, self.size, "world")
        self.marks.show("Contacts", True)
        gui = self.server.gui
        self.words = gui.add_markdown("Waiting for the first sample.")
        with gui.add_folder("Body"):
            self.body = gui.add_markdown(ASK)
        with gui.add_folder("Show"):
            for kind in ("Contacts", "Centre of mass", "Momentum", "Inertia ellipsoids"):
                box = gui.add_checkbox(kind, initial_value=kind == "Contacts")
                box.on_update(lambda event, kind=kind, box=box: self.marks.show(kind, bool(box.value)))
        self.rows: deque[tuple[float, np.ndarray, float]] = deque(maxlen=WINDOW)
        self._plots()

    @property
    def address(self) -> str:
        """Address of the page."""
        return address_of(self.server)

    def _plots(self) -> None:
        """The first joints that slide or turn, and the sum of the contacts' forces."""
        names = coordinate_names(self.model)
        flat = [at for joint in self.model.joints if joint.kind.flat for at in _places(joint)]
        self.curves = (flat or list(range(self.model.nq)))[:MOST_CURVES]
        labels = [names[at] for at in self.curves]
        panel = self.server.gui.add_panel()
        with panel.add_tab("Plots", icon="chart-line"):
            start = np.zeros(2)
            self.joints = plain_plot(
                self.server.gui, "Joint coordinates (rad, m)", (start, *(start for _ in labels)), lines(labels)
            )
            self.server.gui.add_html(curves_legend(labels))
            self.force = plain_plot(self.server.gui, "Contact forces, summed (N)", (start, start), lines(["force"]))
        panel.dock_left()
        panel.set_width(340)

    def _pick(self, index: int) -> None:
        self.picked = index

    def __call__(self, time: float, q: np.ndarray, contacts: Contacts | None = None) -> None:
        """A configuration at a simulated time, with points and forces of contacts, (n, 3) each, world axes."""
        now = self.now()
        if now < self.due:
            return
        self.due = max(self.due + self.period, now) if np.isfinite(self.due) else now + self.period
        q, (before, last) = np.array(q, dtype=float), self.before
        rates = self.model.difference(last, q) / (time - before) if time > before else np.zeros(self.model.nv)
        self.before = (time, q)
        with self.server.atomic():
            poses = self.stage.poses(q)
            self.stage.place(poses)
            self.stage.bend(q)
            self.marks.place(q, rates, poses, contacts)
            self.words.content = f"**{time:.2f} s**"
            if self.picked is not None:
                self.body.content = as_markdown(numbers(self.model, self.picked, q, rates))
            self._plot(time, q, contacts)
        self.sent += 1

    def _plot(self, time: float, q: np.ndarray, contacts: Contacts | None) -> None:
        force = 0.0 if contacts is None else float(np.sum(np.linalg.norm(contacts[1], axis=-1)))
        self.rows.append((time, q, force))
        if self.sent % PLOT_EVERY or len(self.rows) < 2:
            return
        t = np.array([row[0] for row in self.rows])
        table = np.array([row[1] for row in self.rows])
        self.joints.data = (t, *(table[:, at] for at in self.curves))
        self.force.data = (t, np.array([row[2] for row in self.rows]))

    def replay(self, result: Any) -> None:
        """Show the whole run on the same page once it is over, until Ctrl-C. The page finds it by itself."""
        host, port = self.server.get_host(), self.server.get_port()
        self.stop()
        Viewer(result, host=host, port=port).serve()

    def stop(self) -> None:
        """Close the page's server."""
        close_server(self.server)


def _places(joint: Any) -> range:
    return range(joint.q_slice.start, joint.q_slice.stop)
