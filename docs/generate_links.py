"""Draws docs/loops/flexible_boom.png, bent.png, spin_up.png, dropped_beam.png, truss.png and differential.png, from the
examples.

Run by the docs build before Sphinx: `python docs/generate_links.py [FOLDER]`.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar.view.bent_surfaces import exaggerate_modes
from phistar.view.report_picture import camera_around, image, solids

ROOT = Path(__file__).resolve().parent.parent
INK, WARM, COOL, PALE = "#222222", "#c8553d", "#2d6a8a", "#b8c4cc"


def example(name: str) -> dict[str, Any]:
    """The names that an example defines."""
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def bent_line(model: ps.Model, q: np.ndarray, body: str, axes: tuple[int, int] = (0, 1)) -> np.ndarray:
    """(n, 2): the nodes of a body that bends, along it, in two axes of the world."""
    own = model.bodies[model.body_index(body)]
    shape, eta, pose = own.flexible, q[own.mode_q_slice], ps.forward_kinematics(model, q, body)
    assert shape is not None
    places = shape.nodes + shape.modes @ eta + 0.5 * np.einsum("naij,i,j->na", shape.second_order, eta, eta)
    order = np.argsort(shape.nodes[:, 0])
    return (places[order] @ pose[:3, :3].T + pose[:3, 3])[:, list(axes)]


def flexible_boom(folder: Path) -> None:
    """The boom at a few times, how far its beams bend, and what is kept."""
    made = example("flexible_boom")
    model = made["boom"](made["beam"])
    run = made["swung"](model)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for time, color in ((0.0, PALE), (1.0, COOL), (2.0, WARM), (3.5, INK)):
        q = run.q[run.index(time)]
        base = ps.forward_kinematics(model, q, "base")
        corners = 0.4 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
        left.plot(*(corners @ base[:2, :2].T + base[:2, 3]).T, color=color, lw=1)
        for k, body in enumerate(("upper", "fore")):
            left.plot(*bent_line(model, q, body).T, color=color, lw=2.5, label=f"{time:g} s" if k == 0 else None)
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="Two beams on a free base", ylim=(-0.7, 2.4))
    left.legend(frameon=False, ncols=2)
    for body, color in (("upper", COOL), ("fore", WARM)):
        own = model.bodies[model.body_index(body)]
        middle.plot(run.t, 1e3 * run.q[:, own.mode_q_slice] @ made["beam"].modes[-1, 1], color=color, label=body)
    middle.set(xlabel="time [s]", ylabel="deflection of the end [mm]", title="Bending")
    middle.legend(frameon=False)
    momenta = np.abs(ps.momentum(model, run.q, run.v)).max(axis=1)
    right.semilogy(run.t, momenta + 1e-17, color=COOL, label="momentum [N s, N m s]")
    right.semilogy(run.t, np.abs(run.energy - run.work) + 1e-17, color=WARM, label="energy − work [J]")
    right.set(xlabel="time [s]", title="What is kept", ylim=(1e-17, 1e-6))
    right.legend(frameon=False)
    figure.savefig(folder / "flexible_boom.png", dpi=130)
    plt.close(figure)


def bent(folder: Path) -> None:
    """The boom as the viewer and the report draw it, its deflection as it is and exaggerated."""
    made = example("flexible_boom")
    model = made["boom"](made["beam"])
    run = made["swung"](model, 1.0)
    factors = (1.0, 5.0, 15.0)
    drawn = [solids(model, exaggerate_modes(model, run.q[-1], factor)) for factor in factors]
    camera = camera_around([solid.corners for solid, _ in drawn], (520, 300), direction=(0.3, -1.0, 1.4))
    figure, axes = plt.subplots(1, len(factors), figsize=(11, 2.4), layout="constrained")
    for axis, factor, (solid, ground) in zip(axes, factors, drawn, strict=True):
        axis.imshow(image(solid, ground, camera, (520, 300)))
        axis.set_title(f"×{factor:g}")
        axis.axis("off")
    figure.savefig(folder / "bent.png", dpi=130)
    plt.close(figure)


def spin_up(folder: Path) -> None:
    """The tip's deflection, with and without second-order displacements."""
    made = example("spin_up")
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    model, plain = made["wing"](True), made["wing"](False)
    run, loose = made["spun"](model, 20.0), made["spun"](plain, 8.5)
    left.plot(run.t, run.v[:, 0], color=INK)
    left.axhline(1.8751**2 * np.sqrt(made["EI"] / made["RHO"]) / made["LENGTH"] ** 2, color=PALE, ls="--")
    left.set(xlabel="time [s]", ylabel="hub [rad/s]", title="The hub passes the first frequency (dashed)")
    right.plot(run.t, made["deflection"](model, run), color=COOL, label="second order")
    right.plot(loose.t, made["deflection"](plain, loose), color=WARM, label="first order: it runs away")
    right.plot(*zip(*made["SEGMENTS"].items(), strict=True), "o", color=INK, mfc="white", label="a hundred segments")
    right.set(xlabel="time [s]", ylabel="tip [m]", ylim=(-1.2, 0.2), title="Kane's beam")
    right.legend(frameon=False)
    figure.savefig(folder / "spin_up.png", dpi=130)
    plt.close(figure)


def dropped_beam(folder: Path) -> None:
    """The beam on its posts at four times, and its tip's height beside twenty segments'."""
    made = example("dropped_beam")
    plant, run = made["dropped"](made["bending"](), 0.3)
    other = made["dropped"](made["segments"](), 0.3)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
    for time, color in ((0.0, PALE), (0.128, COOL), (0.15, WARM), (0.2, INK)):
        line = bent_line(plant.model, run.q[np.searchsorted(run.t, time)], "beam/beam", (0, 2))
        left.plot(*(1e3 * line.T), color=color, lw=2.5, label=f"{1e3 * time:.0f} ms")
    for x in made["POSTS"]:
        left.vlines(1e3 * x, -25.0, 20.0, color=PALE, lw=8)
    left.set(xlabel="x [mm]", ylabel="z [mm]", title="Dropped on two posts", ylim=(-25, 130))
    left.legend(frameon=False, ncol=2, loc="center", bbox_to_anchor=(0.5, 0.63))
    right.plot(other[1].t, 1e3 * made["tip"](*other), color=WARM, lw=1.2, label="twenty segments with springs")
    right.plot(run.t, 1e3 * made["tip"](plant, run), color=COOL, lw=1.6, label="four modes")
    right.set(xlabel="time [s]", ylabel="tip [mm]", title="Its tip")
    right.legend(frameon=False)
    figure.savefig(folder / "dropped_beam.png", dpi=130)
    plt.close(figure)


def truss(folder: Path) -> None:
    """The mast folding, and how closed its windows stay."""
    made = example("four_bar_truss")
    closed, model = made["closed"], made["model"]
    run = ps.simulate(model, made["upright"], np.zeros(4), 2.0, made["fold"], rtol=1e-8)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.0), layout="constrained")
    for time, color in ((0.0, PALE), (0.6, COOL), (2.0, INK)):
        q = run.q[run.index(time)]
        places = {name: ps.forward_kinematics(closed, q, name)[:2, 3] for name in closed.frames}
        for k in range(4):
            corners = [places[f"{part}{k}"] for part in ("crank", "coupler", "end", "rocker")]
            left.plot(*np.array(corners).T, color=color, lw=2, marker="o", ms=4, mfc="white")
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="A mast of four-bars: 12 joints, 4 rates")
    right.semilogy(run.t, np.abs(run.loop_residual).max(axis=1) + 1e-17, color=COOL)
    right.set(xlabel="time [s]", ylabel="loops open by [m, rad]", ylim=(1e-17, 1e-10), title="No drift")
    figure.savefig(folder / "truss.png", dpi=130)
    plt.close(figure)


def differential(folder: Path) -> None:
    """The wrist led to a pitch and a roll: its joints, and the torques of its two gears."""
    made = example("differential_wrist")
    model = made["model"]
    law = ps.control.InverseDynamicsControl(model, kp=100.0)
    goal = law.reference(model.integrate(model.neutral(), [0.6, -1.2]), [0.0, 0.0])
    times = np.linspace(0.0, 1.0, 201)
    control = lambda t, q, v: law(t, q, v, goal)  # noqa: E731
    run = ps.simulate(model, model.neutral(), np.zeros(2), 1.0, control, t_eval=times)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    names = ("carrier", "hand", "left gear", "right gear")
    for i, (name, color) in enumerate(zip(names, (INK, WARM, COOL, PALE), strict=True)):
        left.plot(run.t, run.q[:, i], color=color, label=name)
    left.set(xlabel="time [s]", ylabel="angle [rad]", title="Two rates lead four joints")
    left.legend(frameon=False, loc="center right", bbox_to_anchor=(1.0, 0.42))
    share = 0.5 * np.asarray(run.tau) @ np.array([[1.0, 1.0], [1.0 / made["RATIO"], -1.0 / made["RATIO"]]])
    for i, (name, color) in enumerate((("left motor", COOL), ("right motor", WARM))):
        right.plot(run.t, share[:, i], color=color, label=name)
    right.set(xlabel="time [s]", ylabel="torque [N m]", title="What the two motors give")
    right.legend(frameon=False)
    figure.savefig(folder / "differential.png", dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "loops"
    target.mkdir(parents=True, exist_ok=True)
    for draw in (flexible_boom, bent, spin_up, dropped_beam, truss, differential):
        draw(target)
