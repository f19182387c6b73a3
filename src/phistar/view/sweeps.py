"""Seeing the algebra: forward dynamics as it runs over a robot, the filter inward and the smoother outward.

Inward, each link in turn gets P(k), the inertia of itself and all that hangs on it by free joints: an ellipsoid at its
origin, long where a push there meets much mass. Outward, each link in turn gets its acceleration.
"""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.estimation import forward_dynamics as filtered
from phistar.expression import algebra
from phistar.model import Model
from phistar.view.guard import address_of, close_server
from phistar.view.joint_sliders import Joints
from phistar.view.marks import ellipsoids
from phistar.view.numbers import plain
from phistar.view.pictures import operator_picture
from phistar.view.shapes import wxyz
from phistar.view.viewer import repeat, set_up

PREDICTED, ACCELERATION = (240, 140, 30), (215, 60, 50)
FOUND = (60, 120, 200)  # links that the filter has passed
STEPS_A_SECOND = 1.5
INTRODUCTION = "θ̈ = ℳ⁻¹(T − 𝒞 − 𝒢), with no joint forces: what the robot does when it is let go."
INWARD = """**Filter, inward: {name}** ({step} of {count})

P(k) = Σ φ(k, j) P⁺(j) φ*(k, j) + M(k), over the links j that hang on it

D(k) = H P H* + A = {inertia}

P⁺(k) = P − G D G*, G = P H* D⁻¹

The ellipsoid is the mass that a push at the link's origin meets: {least:.3g} to {most:.3g} kg."""
OUTWARD = """**Smoother, outward: {name}** ({step} of {count})

θ̈(k) = D⁻¹e − K* α(parent) = {rate}

α(k) = φ*(k, parent) α(parent) + H* θ̈(k)

The arrow is the acceleration of the link's origin, {size:.3g} m/s²."""


@dataclass(frozen=True)
class SweepResult:
    """Results of the two sweeps over n links, in world axes: `mass` (n, 3, 3) that a push at each origin meets and its
    `acceleration` (n, 3); of the joints, `joint_inertia` D and `joint_acceleration`."""

    poses: np.ndarray
    mass: np.ndarray
    acceleration: np.ndarray
    joint_inertia: tuple[np.ndarray, ...]
    joint_acceleration: tuple[np.ndarray, ...]


def sweep_forward_dynamics(model: Model, q: np.ndarray, poses: np.ndarray) -> SweepResult:
    """Run both sweeps of forward dynamics at rest and without joint forces; poses (n, 4, 4) of the links."""
    still = np.zeros(model.nv)
    found = filtered(model, q, still, still, keep=["inertias", "joint_inertias", "costates", "accelerations"])
    turn = poses[:, :3, :3]
    mass = turn @ _push_inertia(found.inertias) @ np.swapaxes(turn, -1, -2)
    rates = found.accelerations
    return SweepResult(
        poses,
        mass,
        (turn @ found.costates[:, 3:, None])[..., 0],
        tuple(found.joint_inertias[i][: joint.nv, : joint.nv] for i, joint in enumerate(model.joints)),
        tuple(rates[joint.v_slice] for joint in model.joints),
    )


def _push_inertia(inertia: np.ndarray) -> np.ndarray:
    """P_vv − P_vω P_ωω⁻¹ P_ωv, (n, 3, 3): the inertia that a force at the origin of a freely turning link meets."""
    turning, mixed, moving = inertia[:, :3, :3], inertia[:, :3, 3:], inertia[:, 3:, 3:]
    return moving - np.swapaxes(mixed, -1, -2) @ np.linalg.pinv(turning, rcond=1e-9, hermitian=True) @ mixed


class SweepsView:
    """A robot with the sweeps of its forward dynamics running over it, step by step, and its operators as pictures."""

    def __init__(self, model: Model, q: Any = None, *, host: str = "127.0.0.1", port: int = 0) -> None:
        if not model.joints:
            raise ModelError(f"{model.name} has no joints; there is nothing that sweeps could run over.")
        self.model = model.tree
        self.q = np.array(model.neutral() if q is None else q, dtype=float)
        self.server, self.stage, self.size = set_up(self.model, self.q, host, port, f"{model.name}: the algebra")
        self.lock, self.stopping = threading.RLock(), threading.Event()
        self.inertia_node: Any = None
        self.arrow_node: Any = None
        self._see_through()
        gui = self.server.gui
        with gui.add_folder("Sweeps"):
            gui.add_markdown(INTRODUCTION)
            self.playing = gui.add_checkbox("Play", initial_value=True)
            self.step = gui.add_slider("Step", min=0, max=self.last, step=1, initial_value=0)
            self.words = gui.add_markdown("")
        self.step.on_update(self._on_step)
        self.joints = Joints(self.server, self.model, self.q, self.size, self.on_move)
        self._pictures()
        self.on_move(self.q)

    @property
    def count(self) -> int:
        """Links."""
        return len(self.model.bodies)

    @property
    def last(self) -> int:
        """The last step: every link inward, then every link outward."""
        return 2 * self.count

    @property
    def address(self) -> str:
        """Address of the page."""
        return address_of(self.server)

    def _see_through(self) -> None:
        """Bodies let the ellipsoids show."""
        for path in self.stage.solids:
            node = self.server.scene.get_handle_by_name(path)
            if node is not None and hasattr(node, "opacity"):
                node.opacity = 0.3

    def _pictures(self) -> None:
        """φ, M, P, D and the mass matrix beside the robot."""
        panel = self.server.gui.add_panel()
        with panel.add_tab("Operators", icon="grid-dots"):
            self.picture = self.server.gui.add_image(self._picture(), format="png")
        panel.dock_left()
        panel.set_width(340)

    def _picture(self) -> np.ndarray:
        from matplotlib.image import imread

        A, page = algebra(self.model), io.BytesIO()
        operators = [A.H, A.phi, A.M, A.P, A.D, A.mass]
        operator_picture(operators, self.q, columns=2).savefig(page, format="png", dpi=110)
        page.seek(0)
        return (imread(page)[..., :3] * 255).astype(np.uint8)

    def on_move(self, q: np.ndarray) -> None:
        """A hand moved the joints: everything is swept anew."""
        with self.lock:
            self.q = np.array(q)
            poses = self.stage.poses(self.q)
            self.stage.place(poses)
            self.sweep = sweep_forward_dynamics(self.model, self.q, poses)
            self.draw(int(self.step.value))

    def draw(self, step: int) -> None:
        """The sweeps after so many links: P(k) of those that the filter has reached, then accelerations."""
        with self.lock, self.server.atomic():
            inward, outward = min(step, self.count), max(step - self.count, 0)
            self._inertias(range(self.count - inward, self.count), now=self.count - inward if not outward else None)
            self._accelerations(range(outward))
            self.words.content = self._words(step)

    def _words(self, step: int) -> str:
        if step == 0:
            return "Press play, or move the slider."
        if step <= self.count:
            k = self.count - step
            values = np.linalg.eigvalsh(self.sweep.mass[k])
            inertia = np.array2string(np.squeeze(self.sweep.joint_inertia[k]), precision=4, separator=", ")
            names = {"name": plain(self.model.bodies[k].name), "step": step, "count": self.count}
            return INWARD.format(**names, inertia=inertia, least=values[0], most=values[-1])
        k = step - self.count - 1
        rate = np.array2string(np.squeeze(self.sweep.joint_acceleration[k]), precision=4, separator=", ")
        size = float(np.linalg.norm(self.sweep.acceleration[k]))
        names = {"name": plain(self.model.bodies[k].name), "step": k + 1, "count": self.count}
        return OUTWARD.format(**names, rate=rate, size=size)

    def _inertias(self, links: range, now: int | None) -> None:
        if self.inertia_node is not None:
            self.inertia_node.remove()
            self.inertia_node = None
        if not len(links):
            return
        values, axes = np.linalg.eigh(self.sweep.mass[links.start :])
        axes = axes * np.where(np.linalg.det(axes) < 0.0, -1.0, 1.0)[:, None, None]
        largest = float(np.max(np.linalg.eigvalsh(self.sweep.mass)))
        radii = 0.16 * self.size * np.cbrt(np.maximum(values / largest, 1e-6))  # as a ball's radius goes with its mass
        places = self.sweep.poses[links.start :, :3, 3]
        colors = np.array([PREDICTED if k == now else FOUND for k in links], np.uint8)
        self.inertia_node = ellipsoids(
            self.server.scene, "/marks/inertias", wxyz(axes).astype(np.float32), places, radii, colors, opacity=0.75
        )

    def _accelerations(self, links: range) -> None:
        if self.arrow_node is not None:
            self.arrow_node.remove()
            self.arrow_node = None
        if not len(links):
            return
        largest = max(float(np.max(np.linalg.norm(self.sweep.acceleration, axis=-1))), 1e-9)
        starts = self.sweep.poses[: links.stop, :3, 3]
        ends = starts + self.sweep.acceleration[: links.stop] * (0.35 * self.size / largest)
        thick = 0.007 * self.size
        self.arrow_node = self.server.scene.add_arrows(
            "/marks/accelerations",
            np.stack([starts, ends], axis=1).astype(np.float32),
            np.array(ACCELERATION, np.uint8),
            shaft_radius=thick,
            head_radius=2.2 * thick,
            head_length=5 * thick,
        )

    def _on_step(self, event: Any) -> None:
        if event.client is not None:
            self.playing.value = False
            self.draw(int(min(max(self.step.value, 0), self.last)))

    def tick(self) -> None:
        """The next link, while it plays; from the start when it is through."""
        if self.playing.value:
            step = 0 if self.step.value >= self.last else int(self.step.value) + 1
            self.step.value = step
            self.draw(step)

    def serve(self) -> None:
        """Run until `stop()` or Ctrl-C."""
        try:
            repeat(lambda elapsed: self.tick(), STEPS_A_SECOND, self.stopping)
        finally:
            self.stop()

    def stop(self) -> None:
        """Close the page's server."""
        self.stopping.set()
        close_server(self.server)
