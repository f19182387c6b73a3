"""The viewer: a robot to move by hand, or a motion to play, in a page of the browser."""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from phistar.dynamics import forward_kinematics
from phistar.model import Model
from phistar.sim.trajectory import Trajectory
from phistar.view.bent_surfaces import exaggerate_modes
from phistar.view.guard import address_of, close_server, open_server
from phistar.view.joint_sliders import Joints
from phistar.view.marks import Marks
from phistar.view.mode_sliders import ModeSliders
from phistar.view.numbers import ASK, as_markdown, numbers, plain
from phistar.view.plots import Plots
from phistar.view.report_run import one_motion
from phistar.view.stage import Stage
from phistar.view.timeline import Timeline

UPDATES = 30.0  # a second, while playing
PLOT_UPDATES = 6.0
BRAND = (224, 123, 32)
STAND_INS = ("Frames",)  # for a model without a shape that can be drawn


def set_up(model: Model, q: np.ndarray, host: str, port: int, title: str) -> tuple[Any, Stage, float]:
    """A server with the model on its stage, seen whole in the configurations q (…, nq), and how large it is, m."""
    server = open_server(host, port, title)
    stage = Stage(server, model)
    low, high = stage.bounds(stage.poses(q))
    stage.furnish(low, high)
    server.gui.main_panel.dock_right()
    server.gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False, brand_color=BRAND)
    return server, stage, float(np.max(high - low))


class Viewer:
    """A model on a stage with its panels, served on a port.

    `Viewer(model)` has sliders and a gizmo, `Viewer(trajectory)` a timeline and plots. `serve()` plays until stopped.

    Examples
    --------
    >>> viewer = ps.view.Viewer(ps.load("planar2"))
    >>> viewer.address.startswith("http://")
    True
    >>> viewer.stop()
    """

    def __init__(
        self, shown: Model | Trajectory, q: Any = None, *, host: str = "127.0.0.1", port: int = 0, title: str = ""
    ) -> None:
        recording = one_motion(shown) if isinstance(shown, Trajectory) else None
        model = shown.model if isinstance(shown, Trajectory) else shown
        self.recording, self.model = recording, model
        self.q = np.array(recording.q[0] if recording is not None else model.neutral() if q is None else q, dtype=float)
        self.v = np.array(recording.v[0]) if recording is not None else np.zeros(model.nv)
        self.index, self.picked, self.exaggeration = 0, None, 1.0
        self.lock, self.stopping = threading.RLock(), threading.Event()
        states = self.q if recording is None else recording.thinned(5.0).q
        name = title or (model.name if recording is None else recording.name)
        self.server, self.stage, self.size = set_up(model, states, host, port, name)
        self.stage.clicked = self.pick
        frames = [frame.name for frame in model.frame_list if frame.body >= 0]
        self.marks = Marks(self.stage, self.size, frames[-1] if frames else "world")
        self.timeline: Timeline | None = None
        self.joints: Joints | None = None
        self.plots: Plots | None = None
        self._panels()
        self.update()

    @property
    def address(self) -> str:
        """Address of the page."""
        return address_of(self.server)

    def _panels(self) -> None:
        gui, record = self.server.gui, self.recording
        if record is not None:
            with gui.add_folder("Time"):
                self.timeline = Timeline(gui, float(record.t[0]), float(record.t[-1]), self.go)
                self.phase = gui.add_markdown("")
        with gui.add_folder("Body"):
            self.words = gui.add_markdown(ASK if self.stage.solids else _note_on_missing_shapes(self.model))
        with gui.add_folder("Show", expand_by_default=record is not None):
            on_at_first = (() if record is None else ("Contacts", "Trace")) + (() if self.stage.solids else STAND_INS)
            for kind in Marks.KINDS:
                on = kind in on_at_first
                box = gui.add_checkbox(kind, initial_value=on)
                box.on_update(lambda event, kind=kind, box=box: self.show(kind, bool(box.value)))
                if on:
                    self.marks.show(kind, True)
            frames = [frame.name for frame in self.model.frame_list if frame.body >= 0]
            if frames:
                of = gui.add_dropdown("Trace of", frames, initial_value=self.marks.frame)
                of.on_update(lambda event: self.follow(of.value))
        if self.model.is_flexible:
            self.modes = ModeSliders(
                gui, self.model, self.q if record is None else None, self.exaggerate, self.on_mode_moved
            )
        if record is None:
            self.joints = Joints(self.server, self.model, self.q, self.size, self.on_joints_moved)
        else:
            self.plots = Plots(self.server, record)

    def show(self, kind: str, visible: bool) -> None:
        """Turn one of `Marks.KINDS` on or off."""
        with self.lock:
            self.marks.show(kind, visible)
            self.update()

    def follow(self, frame: str) -> None:
        """Choose the frame whose trace and manipulability are drawn."""
        if frame in self.model.frames:
            with self.lock:
                self.marks.frame = frame
                self.update()

    def pick(self, index: int) -> None:
        """Show the numbers of a body."""
        self.picked = index
        self.update()

    def on_joints_moved(self, q: np.ndarray) -> None:
        """A hand moved the joints."""
        with self.lock:
            self.q = np.array(q)
            self.update()

    def exaggerate(self, factor: float) -> None:
        """Draw deflections of bodies that bend so many times as large."""
        with self.lock:
            self.exaggeration = factor
            self.update()

    def on_mode_moved(self, at: int, value: float) -> None:
        """A hand moved a modal coordinate, entry `at` of q."""
        with self.lock:
            self.q[at] = value
            if self.joints is not None:
                self.joints.q[at] = value
            self.update()

    def go(self, time: float) -> None:
        """Go to a time of the recording."""
        assert self.recording is not None
        with self.lock:
            self.index = self.recording.index(time)
            self.q, self.v = self.recording.q[self.index], self.recording.v[self.index]
            self.update()

    def update(self) -> None:
        """Send what changed; one batch."""
        with self.lock, self.server.atomic():
            seen = exaggerate_modes(self.model, self.q, self.exaggeration)
            poses = self.stage.poses(seen)
            self.stage.place(poses)
            self.stage.bend(seen)
            self.marks.place(self.q, self.v, poses, self._contacts())
            if self.recording is not None:
                self._show_instant()
            if self.picked is not None:
                self.words.content = as_markdown(numbers(self.model, self.picked, self.q, self.v))

    def _show_instant(self) -> None:
        record = self.recording
        assert record is not None
        now = float(record.t[self.index])
        path = record.q[np.unique(np.linspace(0, self.index, min(self.index + 1, 300)).astype(int))]
        if "Trace" in self.marks.seen:
            self.marks.trace(forward_kinematics(self.model.tree, path, self.marks.frame)[..., :3, 3])
        here = [phase.name for phase in record.phases if phase.start <= now <= phase.end]
        self.phase.content = f"**{plain(here[-1])}**" if here else ""
        playing = self.timeline is not None and self.timeline.playing
        if self.plots is not None and (not playing or self._plots_due()):
            self.plots.show(now)

    _plotted = 0.0

    def _plots_due(self) -> bool:
        now = clock.monotonic()
        if now - self._plotted < 1.0 / PLOT_UPDATES:
            return False
        self._plotted = now
        return True

    def _contacts(self) -> tuple[np.ndarray, np.ndarray] | None:
        arrays = self.recording.arrays if self.recording is not None else {}
        if "contact_point" not in arrays or "contact_vector" not in arrays:
            return None
        return arrays["contact_point"][self.index], arrays["contact_vector"][self.index]

    def serve(self) -> None:
        """Play until `stop()` or Ctrl-C."""
        try:
            repeat(self._play, UPDATES, self.stopping)
        finally:
            self.stop()

    def _play(self, elapsed: float) -> None:
        if self.timeline is not None:
            self.timeline.tick(elapsed)

    def stop(self) -> None:
        """Close the page's server."""
        self.stopping.set()
        close_server(self.server)


def _note_on_missing_shapes(model: Model) -> str:
    """Return the note for a model without drawable shapes, with its reader's warnings about meshes."""
    said = [plain(warning.partition(" (")[0] + ".") for warning in model.warnings if "mesh" in warning]
    return "\n\n".join(["No shape of it can be drawn: its frames stand for it.", *said])


def repeat(act: Callable[[float], None], rate: float, stopping: threading.Event) -> None:
    """act(seconds since the last time) so many times a second, until `stopping` is set or Ctrl-C comes."""
    before = clock.monotonic()
    with suppress(KeyboardInterrupt):
        while not stopping.wait(1.0 / rate):
            now = clock.monotonic()
            act(now - before)
            before = now
