"""Joints by hand: a slider for each, and a gizmo that a chosen frame follows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.control.kinematics import inverse_kinematics
from phistar.dynamics import forward_kinematics
from phistar.errors import PhistarError
from phistar.model import Model
from phistar.spatial.rotations import from_quaternion
from phistar.view.numbers import plain
from phistar.view.shapes import wxyz

TURN, LENGTH = np.pi, 1.0  # where a joint has no limits, a slider goes this far
STEP = 1e-3  # rad or m
MOST_SLIDERS = 60
MET = 1e-4  # m and rad: closer than a hand can hold
ITERATIONS = 40  # a drag sends the next target soon; it begins where this one ended
NOTHING = "—"


class Joints:
    """Sliders and gizmo of a model; `changed(q)` is called at every new configuration."""

    def __init__(self, server: Any, model: Model, q: np.ndarray, size: float, changed: Callable[[Any], None]) -> None:
        self.server, self.model, self.q, self.size, self.changed = server, model, q.copy(), size, changed
        self.lock = threading.RLock()
        self.start = q.copy()
        self.gizmo: Any = None
        self.held, self.asked = NOTHING, False
        self.sliders: dict[int, Any] = {}
        gui = server.gui
        with gui.add_folder("Joints"):
            self._sliders(gui)
            gui.add_button("Back to the start").on_click(lambda event: self.set(self.start))
            gui.add_button("Anywhere", hint="A random configuration within the limits").on_click(
                lambda event: self.set(model.random(np.random.default_rng()))
            )
        with gui.add_folder("Inverse kinematics"):
            frames = [frame.name for frame in model.frame_list if frame.body >= 0 and frame.role != "joint"]
            self.frame = gui.add_dropdown("Drag", [NOTHING, *reversed(frames)], initial_value=NOTHING)
            self.frame.on_update(lambda event: self.hold(self.frame.value))
            self.answer = gui.add_markdown("Choose a frame; a gizmo appears that it follows.")

    def _sliders(self, gui: Any) -> None:
        low, high = self.model.lower_limits, self.model.upper_limits
        for joint in self.model.joints:
            if not joint.kind.flat:
                continue  # quaternions do not slide; the gizmo moves these
            for number, at in enumerate(range(joint.q_slice.start, joint.q_slice.stop)):
                if len(self.sliders) == MOST_SLIDERS:
                    return
                reach = LENGTH if type(joint.kind).__name__ == "Prismatic" else TURN
                least = float(low[at]) if np.isfinite(low[at]) else min(-reach, float(self.q[at]))
                most = float(high[at]) if np.isfinite(high[at]) else max(reach, float(self.q[at]))
                least, most = (
                    float(round(np.ceil(least / STEP) * STEP, 3)),
                    float(round(np.floor(most / STEP) * STEP, 3)),
                )
                if most <= least:
                    continue
                value = float(np.clip(self.q[at], least, most))
                label = joint.name if joint.nq == 1 else f"{joint.name} {number}"
                slider = gui.add_slider(label, min=least, max=most, step=STEP, initial_value=value)
                slider.on_update(lambda event, at=at: self._follow_slider(event, at))
                self.sliders[at] = slider

    def set(self, q: Any) -> None:
        """Set the configuration; sliders and gizmo follow."""
        with self.lock:
            self.q = self.model.checked_q(q).copy()
            with self.server.atomic():
                for at, slider in self.sliders.items():
                    slider.value = float(np.clip(self.q[at], slider.min, slider.max))
                if self.gizmo is not None:
                    self._to_gizmo()
            self.changed(self.q)

    def _follow_slider(self, event: Any, at: int) -> None:
        slider = self.sliders[at]
        value = float(slider.value)
        if event.client is None or not np.isfinite(value):
            return
        with self.lock:
            self.q[at] = min(max(value, slider.min), slider.max)
            if self.gizmo is not None:
                self._to_gizmo()
            self.changed(self.q)

    def hold(self, frame: str) -> None:
        """Put the gizmo on a frame; "—", or what is no frame, takes it away."""
        with self.lock:
            if self.gizmo is not None:
                self.gizmo.remove()
                self.gizmo = None
            if frame not in self.model.frames:
                self.answer.content = "Choose a frame; a gizmo appears that it follows."
                return
            self.held = frame
            self.gizmo = self.server.scene.add_transform_controls(
                "/gizmo", scale=0.25 * self.size, line_width=3.0, depth_test=False
            )
            self._to_gizmo()
            self.gizmo.on_update(lambda event: self._follow_gizmo(event))
            self.answer.content = "Drag the arrows and rings."

    def _to_gizmo(self) -> None:
        pose = forward_kinematics(self.model.tree, self.q, self.held)
        self.gizmo.position, self.gizmo.wxyz = pose[:3, 3], wxyz(pose[:3, :3])

    def _follow_gizmo(self, event: Any) -> None:
        """Move the frame to the gizmo's latest pose; poses that arrive while another is solved for are skipped."""
        self.asked = event.client is not None
        while self.asked and self.lock.acquire(blocking=False):
            try:
                self.asked = False
                if self.gizmo is not None:
                    pose = np.eye(4)
                    pose[:3, :3] = from_quaternion(np.roll(self.gizmo.wxyz, -1) / np.linalg.norm(self.gizmo.wxyz))
                    pose[:3, 3] = self.gizmo.position
                    self.reach(pose)
            finally:
                self.lock.release()

    def reach(self, pose: np.ndarray) -> None:
        """Move the chosen frame to a pose, or as near as it can come, from the current configuration."""
        try:
            found = inverse_kinematics(
                self.model.tree, pose, self.held, self.q, tolerance=MET, iterations=ITERATIONS, starts=1
            )
        except PhistarError as error:
            self.answer.content = plain(str(error))
            return
        far = np.linalg.norm(found.residual[3:]) * 1e3
        self.answer.content = "Reached." if found.success else f"{far:.0f} mm away. {plain(str(found.reason))}"
        self.q = np.array(found.q)
        with self.server.atomic():
            for at, slider in self.sliders.items():
                slider.value = float(np.clip(self.q[at], slider.min, slider.max))
        self.changed(self.q)
