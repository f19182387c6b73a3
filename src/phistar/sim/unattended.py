"""A robot left to itself: it falls and swings under its weight, with friction in its joints and stops at their limits.

It is made a scene of one part that touches nothing, so that it leaves the files of any run. Loops are closed by
`ps.simulate`; the stops of a robot with loops are springs and dampers, which give way a little.
"""

from __future__ import annotations

import os
import time as clock
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from phistar.dynamics import kinetic_energy, mass_matrix, momentum
from phistar.io import load
from phistar.io.bundled import SOURCES
from phistar.io.packages import Folders
from phistar.loops.assembly import assemble
from phistar.model import Model
from phistar.plant.robot_view import motions_of
from phistar.sim.scenes.scene import Scene
from phistar.sim.scenes.toml import text_of
from phistar.sim.simulate import simulate_unchecked
from phistar.sim.trajectory import Trajectory

SAMPLE = 0.01  # s
NEAR = 0.02  # rad or m: a robot whose neutral place is nearer to a limit starts this far from it
SWING = 200.0  # rad/s: of a joint on the spring of its stop
SOFT = 1.0  # rad/s or m/s: the speed away at which a stop no longer pushes


def simulate_unattended(
    source: str | os.PathLike[str],
    q: Any = None,
    v: Any = None,
    duration: float = 5.0,
    floating: bool = False,
    packages: Sequence[str | os.PathLike[str]] = (),
    progress: Callable[[float], None] | None = None,
    without: Sequence[str] = (),
) -> Trajectory:
    """The motion of a robot file or a bundled robot from q (nq,) and v (nv,) for `duration`; None is at rest in its
    neutral place, moved inside its limits. Raises `Stopped` where it cannot go on."""
    model = load(source, floating=floating, packages=[os.fspath(each) for each in packages], without=without)
    start = resting_place(model) if q is None else model.checked_q(q)
    rates = np.zeros(model.nv) if v is None else model.checked(v, model.nv, "v")
    text = _text(source, model, start, rates, duration, floating, packages, without)
    is_bundled = source in SOURCES
    where = f"the scene of {model.name}" if is_bundled else os.path.abspath(source)
    allowed = Folders.around(Path.cwd() if is_bundled else where, packages).packages
    folder = Path.cwd() if is_bundled else Path(where).parent
    scene = Scene(model.name, tomllib.loads(text), folder, where, text, allowed)
    return _run_with_loops(scene, progress) if model.loops else scene.run(0, progress=progress)


def resting_place(model: Model) -> np.ndarray:
    """The neutral q (nq,), each joint with limits inside them; loops closed."""
    q = model.neutral()
    for joint in model.joints:
        if joint.kind.flat:
            lower, upper = joint.kind.limits
            room = np.minimum(NEAR, np.where(np.isfinite(upper - lower), 0.25 * (upper - lower), NEAR))
            q[joint.q_slice] = np.clip(q[joint.q_slice], lower + room, upper - room)
    return assemble(model, q) if model.loops else q


def _text(
    source: Any,
    model: Model,
    q: np.ndarray,
    v: np.ndarray,
    duration: float,
    floating: bool,
    packages: Sequence[Any],
    without: Sequence[str],
) -> str:
    """The scene, in TOML."""
    robot = source if source in SOURCES else os.path.abspath(source)
    options = {"floating": floating} if floating else {}
    options |= {"packages": [os.path.abspath(each) for each in packages]} if packages else {}
    options |= {"without": list(without)} if without else {}
    part = {"name": model.name, "robot": os.fspath(robot), "q": q.tolist(), "v": v.tolist(), "options": options}
    time = {"duration": float(duration), "sample": min(SAMPLE, duration), "rtol": 1e-7}
    gravity = model.gravity.tolist()
    nothing: list[Any] = []  # touches
    content = {"format_version": 1, "name": model.name, "gravity": gravity, "contacts": nothing}
    return text_of(content | {"time": time, "parts": [part]})


def _run_with_loops(scene: Scene, progress: Callable[[float], None] | None) -> Trajectory:
    """The run of a robot with loops."""
    setting, begun = scene.setting(0), clock.perf_counter()
    model, timing = setting.model, setting.timing
    times = np.linspace(0.0, timing.duration, max(1, round(timing.duration / timing.sample)) + 1)

    stops = _springy_stops(model, setting.start[0])

    def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if progress is not None:
            progress(t)
        return stops(q, v)

    made = simulate_unchecked(model, *setting.start, timing.duration, force, rtol=1e-7, atol=1e-10, t_eval=times)
    tau = np.array([stops(*state) for state in zip(made.q, made.v)])
    signals = {name: made.signals[name] for name in ("energy", "work", "loop_residual")}
    signals["momentum"] = momentum(model, made.q, made.v)
    scale = max(float(np.max(kinetic_energy(model, made.q, made.v))), float(np.max(np.abs(made.work))), 1e-6)
    change = float(made.energy[-1] - made.energy[0])
    summary = {
        "scene": scene.name,
        "seed": 0,
        "completed": True,
        "reason": None,
        "energy_residual": (change - float(made.work[-1])) / scale,
        "energy_change": change,
        "loop_residual": float(np.max(np.abs(made.loop_residual), initial=0.0)),
        "sim_time": timing.duration,
        "wall_time": clock.perf_counter() - begun,
    }
    told = {"name": scene.name, "summary": summary, "source": scene.source, "text": scene.text}
    return replace(made, tau=tau, signals=signals, parts=motions_of(setting.plant), **told)


def _springy_stops(model: Model, start: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """mω²e(1 − v/c), at a joint of inertia m beyond its limit by e, leaving it at speed v: a spring on which it
    swings at ω, which pushes more on the way in than on the way out, and never pulls."""
    inertia, flat = np.diagonal(mass_matrix(model, start)), [joint for joint in model.joints if joint.kind.flat]
    places = np.concatenate([np.arange(model.nq)[joint.q_slice] for joint in flat] or [np.zeros(0, int)])
    rates = np.concatenate([np.arange(model.nv)[joint.v_slice] for joint in flat] or [np.zeros(0, int)])
    lower, upper = np.concatenate([joint.kind.limits for joint in flat] or [np.zeros((2, 0))], axis=-1)
    mass = inertia[rates]

    def force(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau, own, rate = np.zeros(model.nv), q[places], v[rates]
        beyond = np.maximum(lower - own, 0.0) - np.maximum(own - upper, 0.0)
        tau[rates] = mass * SWING**2 * beyond * np.maximum(1.0 - np.sign(beyond) * rate / SOFT, 0.0)
        return tau

    return force
