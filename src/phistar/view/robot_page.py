"""A page that simulates a robot: its equations of motion as WebAssembly in one file, to be mailed and played with.

Each step solves M(q) v̇ = T(q, v) + Σ Jᵀf by the O(n) sweeps and goes on by v += hv̇, q = q ⊕ hv. Damping and springs of
the joints are implicit: (M + hB + h²K) v̇ = … is forward dynamics with more armature.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from phistar.dynamics import forward_dynamics, forward_kinematics, joint_friction, mass_matrix_inverse
from phistar.errors import PhistarError
from phistar.export import WebFunction, web_function
from phistar.model import Model
from phistar.model.geometry import Plane
from phistar.sim.scenes.run_folder import whole
from phistar.view.page_templates import render
from phistar.view.report_shapes import GROUND, color_of, triangles, visible_geometry
from phistar.view.stage import body_frames

STEP = 1e-3  # s
STOP_FREQUENCY = 2 * np.pi * 20  # rad/s, of a joint that leans on its stop: well resolved by the step
SAMPLES = 32  # configurations by which the inertia that meets a stop is judged


def simulating_page(model: Model, path: str | os.PathLike[str], q: Any = None, v: Any = None) -> Path:
    """Write a page that simulates a robot: pause it, drag a link with the mouse, resume.

    The page is one file that fetches nothing. Joints have their friction, springs and stops; nothing collides.

    Parameters
    ----------
    model : Model
        A robot of rigid bodies without loops.
    path : path
        The file; it is written whole or not at all.
    q : (nq,), optional
        Where it starts; by default its neutral configuration.
    v : (nv,), optional
        Its rates at the start; by default it is at rest.

    Returns
    -------
    Path

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ps.view.simulating_page(ps.load("planar2"), f"{folder}/robot.html").name
    'robot.html'
    """
    if model.loops or any(body.modes for body in model.bodies):
        what = "loops" if model.loops else "flexible bodies"
        raise PhistarError(
            f"{model.name} has {what}; a page simulates trees of rigid bodies. `phistar simulate` has all."
        )
    start = model.checked_q(model.neutral() if q is None else q)
    rates = model.checked(np.zeros(model.nv) if v is None else v, model.nv, "v")
    if start.ndim > 1 or rates.ndim > 1 or not (np.isfinite(start).all() and np.isfinite(rates).all()):
        raise PhistarError(
            f"A page starts from one state of {model.name}, of finite numbers: q ({model.nq},), v ({model.nv},)."
        )
    made = web_function(step_function(model), model, name="step")
    text = render("simulating.html", _content(model, made, start, rates))
    return whole(Path(path), lambda beside: beside.write_text(text, "utf-8"))


def step_function(model: Model) -> Callable[..., Any]:
    """Build step(q, v, force, h): the next q and v, and the poses of all bodies there, row by row.

    `force` are moment and force on each body at its origin, in world axes; `h` is a step for which damping and springs
    are stable, up to `STEP`.
    """
    frames, stiffened = body_frames(model), _with_implicit_springs(model)
    springs = np.concatenate([np.zeros(0), *(joint.stiffness for joint in model.joints)])
    stops = _stops(model)

    def step(q: Any, v: Any, force: Any, h: Any) -> Any:
        acting = {name: force[6 * i : 6 * i + 6] for i, name in enumerate(frames)}
        passive = joint_friction(model, q, v) - h[0] * springs * v + stops(q, v)
        rates = v + h[0] * forward_dynamics(stiffened, q, v, passive, f_ext=acting)
        place = model.integrate(q, h[0] * rates)
        poses = [forward_kinematics(model, place, name)[:3, :].reshape(-1) for name in frames]
        return place, rates, np.concatenate(poses)

    step.rows = {"force": 6 * len(frames), "h": 1}  # type: ignore[attr-defined]
    return step


def _with_implicit_springs(model: Model) -> Model:
    """The robot with hB + h²K as further armature."""
    more = {
        joint.name: replace(
            joint.kind,
            armature=joint.armature + STEP * np.asarray(joint.damping) + STEP**2 * np.asarray(joint.stiffness),
        )
        for joint in model.joints
    }
    return model.replace(joints=more)


def _stops(model: Model) -> Callable[[Any, Any], Any]:
    """Forces by which stops push back: critically damped springs on the least inertia 1/(ℳ⁻¹)ᵢᵢ that meets them."""
    rng = np.random.default_rng(0)
    samples = np.stack([model.random(rng) for _ in range(SAMPLES)])
    inertia = 1.0 / np.diagonal(mass_matrix_inverse(model, samples), axis1=-2, axis2=-1).max(axis=0)
    sides = [
        (joint.q_slice.start + i, joint.v_slice.start + i, sign, float(joint.limits[end][i]))
        for joint in model.joints
        if joint.nq == joint.nv and joint.limits is not None
        for i in range(joint.nq)
        for end, sign in ((0, -1.0), (1, 1.0))
        if np.isfinite(joint.limits[end][i])
    ]
    if not sides:
        return lambda q, v: np.zeros(model.nv)
    places, rates, signs, limits = (np.array(column) for column in zip(*sides, strict=True))
    spread = np.zeros((model.nv, len(sides)))
    spread[rates, range(len(sides))] = -signs * inertia[rates]

    def stops(q: Any, v: Any) -> Any:
        beyond = signs * (q[places] - limits)
        speed = signs * v[rates]
        touching = 0.5 * (1.0 + np.sign(beyond))
        return spread @ (touching * (STOP_FREQUENCY**2 * beyond + 2 * STOP_FREQUENCY * speed))

    return stops


def _content(model: Model, made: WebFunction, q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
    """Values of the template's placeholders."""
    shapes = [_triangles(model, index) for index in range(-1, len(model.bodies))]
    facts = {
        "step": STEP,
        "q": q.tolist(),
        "v": v.tolist(),
        "bodies": len(model.bodies),
        "counts": [len(corners) for corners, _, _ in shapes],
        "gravity": model.gravity.tolist(),
        "mass": float(sum(body.inertia.mass for body in model.bodies)),
    }
    return {
        "name": model.name,
        "loader": made.loader,
        "facts": json.dumps(facts),
        "module": _base64(made.module),
        "corners": _base64(b"".join(corners.tobytes() for corners, _, _ in shapes)),
        "normals": _base64(b"".join(normals.tobytes() for _, normals, _ in shapes)),
        "colors": _base64(b"".join(colors.tobytes() for _, _, colors in shapes)),
    }


def _triangles(model: Model, body: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners (n, 3), normals (n, 4) in 1/127 and colours (n, 4) in 1/255 of a body, in its axes; −1 is the world."""
    geometry = model.base_geometry if body < 0 else model.bodies[body].geometry
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for each in visible_geometry(geometry):
        surface, turn = triangles(each.shape), each.placement.rotation
        scale = 5.0 if isinstance(each.shape, Plane) else 1.0
        corners = (scale * surface.corners.reshape(-1, 3)) @ turn.T + each.placement.translation
        color = GROUND if isinstance(each.shape, Plane) else color_of(each, body, model)
        parts.append((corners, surface.normals.reshape(-1, 3) @ turn.T, np.tile(color, (len(corners), 1))))
    if not parts:
        return np.zeros((0, 3), np.float32), np.zeros((0, 4), np.int8), np.zeros((0, 4), np.uint8)
    corners, normals, colors = (np.concatenate(field) for field in zip(*parts, strict=True))
    padding = ((0, 0), (0, 1))  # to words of four bytes
    return (
        corners.astype("<f4"),
        np.pad(np.round(127 * normals).astype(np.int8), padding),
        np.pad(np.round(255 * np.clip(colors, 0, 1)).astype(np.uint8), padding),
    )


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
