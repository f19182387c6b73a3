"""Draws the pictures of docs/simulation/contact.md: orders, a bouncing ball, Painlevé's rod, the tippe top.

Run by the docs build before Sphinx: `python docs/generate_contact.py [FOLDER]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar.contact.surface import Surface, normal_force
from phistar.plant.course_columns import TIME
from phistar.plant.session import PlantState
from phistar.sim.extrapolation import Extrapolation
from phistar.sim.motion import Motion
from phistar.sim.world import World

ROOT = Path(__file__).resolve().parent.parent
INK, WARM, COOL, PALE = "#222222", "#c8553d", "#2d6a8a", "#b8c4cc"
BALL = ps.Inertia(1.0, (0, 0, 0), np.eye(3) * 0.004)


def on_a_floor(joint: ps.Joint, inertia: ps.Inertia, geometry: ps.Geometry, surface: Surface) -> World:
    builder = ps.ModelBuilder("scene")
    floor = ps.Geometry(ps.Plane(), name="floor", role="collision")
    builder.body("ground", "world", geometry=[floor])
    builder.body("body", "world", joint, inertia=inertia, geometry=[geometry])
    plant = ps.Plant(name="scene")
    plant.add(builder.build(), "scene")
    plant.default_contact(None)
    plant.contact("body", "floor", surface)
    return World(plant.system)


def ball(surface: Surface) -> World:
    return on_a_floor(ps.Prismatic(axis=(0, 0, 1)), BALL, ps.Geometry(ps.Sphere(0.1), role="collision"), surface)


def free(world: World, rtol: float = 1e-6) -> Motion:
    return Motion(world, lambda t, q, v: np.zeros(world.model.nv), rtol=rtol, atol=1e-3 * rtol)


def law(folder: Path) -> None:
    """The normal force over the gap, coming and leaving."""
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    gaps = np.linspace(2e-4, 2.5e-3, 500)
    for rate, color, name in (
        (-0.01, WARM, "comes at 10 mm/s"),
        (0.0, INK, "rests"),
        (0.01, COOL, "leaves at 10 mm/s"),
    ):
        for pulls, style in ((False, "-"), (True, ":")):
            force = normal_force(Surface(pulls=pulls), gaps, np.full_like(gaps, rate))
            axes.plot(1e3 * gaps, force, style, color=color, lw=1.3, label=None if pulls else name)
    axes.axhline(0.0, color=PALE, lw=0.8, zorder=0)
    axes.set(xlabel="gap [mm]", ylabel="normal force [N]", ylim=(-4, 30), title="Dotted: as WD89 prints it")
    axes.legend(frameon=False)
    figure.savefig(folder / "law.png", dpi=130)
    plt.close(figure)


def extrapolated(world: World, state: PlantState, count: int) -> float:
    """Where a swing of 0.02 s ends, by long steps of one length."""
    session = world.session()
    session.load(state)
    steps = Extrapolation(session, 1e3, 0.02 / count, rows=(5, 5))
    steps.begin(0.0, 0.02 / count)
    while steps.numbers[TIME] < 0.02:
        steps.advance(0.02, each=False)
    return float(session.state().q[0])


def orders(folder: Path) -> None:
    """Errors of a swing inside the margin against the steps' length, and of a bounce against the tolerance."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    world = ball(Surface(damping=0.0))
    start = world.start([0.1012], [0.0])
    exact, counts = extrapolated(world, start, 320), np.array([10, 20, 40, 80, 400, 2000])
    short = [abs(list(free(world).fixed(start, 0.0, [0.02], 0.02 / n))[-1].state.q[0] - exact) for n in counts]
    long = [abs(extrapolated(world, start, n) - exact) for n in counts[:4]]
    left.loglog(0.02 / counts, short, "o-", color=WARM, label="fixed steps")
    left.loglog(0.02 / counts[:4], long, "o-", color=COOL, label="extrapolated")
    left.loglog(0.02 / counts, short[-1] * counts[-1] / counts, color=PALE, zorder=0)
    left.loglog(0.02 / counts[:4], long[0] * (counts[0] / counts[:4]) ** 5.0, color=PALE, zorder=0, label="orders 1, 5")
    left.set(xlabel="step [s]", ylabel="error after a swing [m]")
    left.legend(frameon=False)
    world = ball(Surface(damping=2.0, strength=500.0))
    start, tolerances = world.start([0.202], [0.0]), 10.0 ** -np.arange(3, 10)
    ends = [list(free(world, rtol).moments(start, 0.0, [0.3])) for rtol in (*tolerances, 1e-12)]
    errors = [abs(each[-1].state.q[0] - ends[-1][-1].state.q[0]) for each in ends[:-1]]
    right.loglog(tolerances, errors, "o-", color=COOL, label="error after a bounce [m]")
    right.loglog(tolerances, errors[3] * tolerances / tolerances[3], color=PALE, label="in proportion", zorder=0)
    for rtol, error, each in zip(tolerances, errors, ends, strict=False):
        right.annotate(str(len(each)), (rtol, error), textcoords="offset points", xytext=(6, -10), fontsize=7)
    right.set(xlabel="rtol (numbers: steps taken)")
    right.legend(frameon=False)
    figure.savefig(folder / "orders.png", dpi=130)
    plt.close(figure)


def rod(friction: float) -> float:
    """The largest force on the tip of Painlevé's rod in 10 ms, in units of its weight."""
    tip = ps.Geometry(ps.Sphere(1e-3), ps.Pose(xyz=(0, 0, -1.0)), role="collision")
    inertia = ps.Inertia(1.0, (0, 0, 0), np.diag([1 / 3, 1 / 3, 1e-3]))
    hard = Surface(friction=friction, margin=1e-3, strength=1e3, damping=50.0, bristle_stiffness=1e6)
    world, half, lean = on_a_floor(ps.Free(), inertia, tip, hard), np.sqrt(0.5), np.pi / 8
    q = np.array([half, 0, half + 1.99e-3, 0, np.sin(lean), 0, np.cos(lean)])
    turn = ps.forward_kinematics(world.model, q, "body")[:3, :3]
    moments = free(world).fixed(world.start(q, [0, 0, 0, *(turn.T @ [-2.0, 0, 0])]), 0.0, [0.01], 1e-4)
    return max(moment.step.peak for moment in moments if moment.step is not None) / 9.81


def painleve(folder: Path) -> None:
    figure, axes = plt.subplots(figsize=(7, 3.0), layout="constrained")
    frictions = np.linspace(0.6, 2.4, 19)
    axes.semilogy(frictions, [rod(mu) for mu in frictions], "o-", color=INK, ms=3)
    axes.axvline(5 / 3, color=WARM, lw=1)
    axes.text(5 / 3 + 0.02, 1.2, "μ = 5/3: beyond, no sliding motion exists", color=WARM, fontsize=8)
    axes.set(xlabel="friction μ", ylabel="peak force / weight", title="A rod at 45°, its tip pushed ahead at 2 m/s")
    figure.savefig(folder / "painleve.png", dpi=130)
    plt.close(figure)


def tippe_top(folder: Path) -> None:
    radius, low = 0.02, 0.004
    inertia = ps.Inertia(0.02, (0, 0, -low), np.eye(3) * 0.4 * 0.02 * radius**2)
    soft = Surface(friction=0.3, margin=2e-4, strength=0.2, damping=2.0, bristle_stiffness=500, bristle_damping=1)
    world = on_a_floor(ps.Free(), inertia, ps.Geometry(ps.Sphere(radius), role="collision"), soft)
    q = np.array([0, 0, radius + 1e-4, np.sin(0.05), 0, 0, np.cos(0.05)])
    turn = ps.forward_kinematics(world.model, q, "body")[:3, :3]
    moments = list(free(world).fixed(world.start(q, [*(turn.T @ [0, 0, 180.0]), 0, 0, 0]), 0.0, [2.0], 4e-4))[::10]
    states = [moment.state for moment in moments]
    up = np.array([ps.forward_kinematics(world.model, state.q, "body")[2, 2] for state in states])
    moving = [ps.kinetic_energy(world.model, state.q, state.v) for state in states]
    lifted = [ps.potential_energy(world.model, state.q) for state in states]
    time = [moment.time for moment in moments]
    figure, (top, below) = plt.subplots(2, 1, figsize=(7, 4.4), sharex=True, layout="constrained")
    top.plot(time, np.degrees(np.arccos(np.clip(up, -1, 1))), color=INK)
    top.set(ylabel="tilt [°]", title="A tippe top turns over", yticks=(0, 90, 180))
    below.plot(time, 1e3 * np.array(moving), color=WARM, label="kinetic")
    below.plot(time, 1e3 * np.array(lifted), color=COOL, label="potential")
    below.plot(time, 1e3 * (np.array(moving) + lifted), color=INK, lw=1, label="both")
    below.set(ylabel="energy [mJ]", xlabel="time [s]")
    below.legend(frameon=False)
    figure.savefig(folder / "tippe_top.png", dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "simulation"
    folder.mkdir(parents=True, exist_ok=True)
    law(folder)
    orders(folder)
    painleve(folder)
    tippe_top(folder)
