"""Problems A01 to A05 of the IFToMM library of computational benchmark problems, with their measures of accuracy.

The library: M. González, D. Dopico, U. Lugrís, J. Cuadrado, "A benchmarking system for MBS simulation software",
Multibody System Dynamics 16 (2006) 179-190. Its measures are the drift of the mechanical energy and the distance of a
point from the reference motion. Andrews' mechanism is also in the test set for IVP solvers (F. Mazzia, C. Magherini,
University of Bari, release 2.4), whose parameters and reference solution at t = 0.03 s are used here.

`python benchmarks/multibody/iftomm.py` prints A01 and A04, by multipliers and in independent rates; all problems are
in `benchmarks/loops.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import phistar as ps

BRICARD = Path(__file__).resolve().parents[2] / "tests" / "data" / "iftomm" / "A04_bricard_P3.csv"
Z = ps.Revolute(axis=(0, 0, 1))


@dataclass(frozen=True)
class Problem:
    """A mechanism, where it starts, and what its run is measured by: name of a figure → its value."""

    name: str
    model: ps.Model
    q0: np.ndarray
    v0: np.ndarray
    duration: float
    measure: Callable[[Any], dict[str, float]]
    control: Callable[[float, np.ndarray, np.ndarray], Any] | None = None
    t_eval: np.ndarray | None = None

    def run(self, rtol: float = 1e-10, atol: float = 1e-12) -> tuple[Any, dict[str, float]]:
        """The simulation and its figures; energy is in joule, relative to its greatest change of form."""
        run = ps.simulate(self.model, self.q0, self.v0, self.duration, self.control, rtol, atol, self.t_eval)
        figures = {
            "energy drift [J]": float(np.max(np.abs(run.energy - run.work - run.energy[0]))),
            "loop residual": float(np.max(np.abs(run.loop_residual), initial=0.0)),
            "condition": float(np.max(run.loop_condition, initial=1.0)),
        }
        return run, figures | self.measure(run)

    def in_independent_rates(self) -> Problem:
        """The same with the mechanism's loops embedded."""
        made = self.model.embedded(q=self.q0)
        rates = made.embedding.independent_rates(self.v0)
        return replace(self, name=f"{self.name} in independent rates", model=made, v0=rates)


def rod(length: float, mass: float = 1.0, section: float = 0.0) -> ps.Inertia:
    """A bar along x from its joint, with a square section."""
    across = mass * (length**2 + section**2) / 12
    along = max(mass * section**2 / 6, 1e-9)
    return ps.Inertia(mass, (length / 2, 0, 0), np.diag([along, across, across]))


def pendulum() -> Problem:
    """A01: a point mass of 1 kg on a bar of 1 m, from rest at (−1, 0). Here free in the plane, the bar a closure."""
    b = ps.ModelBuilder("A01 pendulum", gravity=(0, -9.81, 0))
    slide = [ps.Prismatic(axis=(1, 0, 0)), ps.Prismatic(axis=(0, 1, 0))]
    b.body("x", joint=slide[0])
    b.body("mass", "x", slide[1], inertia=ps.Inertia(1.0, (0, 0, 0), np.zeros((3, 3))))
    b.loop("bar", "world", "mass", joint=ps.Distance(1.0))
    period = 2.3678419475762373  # of the exact solution, an elliptic integral

    def measure(run: Any) -> dict[str, float]:
        return {"error after four periods [m]": float(np.linalg.norm(run.q[-1] - [-1.0, 0.0]))}

    return Problem("A01 pendulum", b.build(), np.array([-1.0, 0.0]), np.zeros(2), 4 * period, measure)


def n_four_bar(windows: int = 2) -> Problem:
    """A02: N windows of bars of 1 m and 1 kg, upright, the top pushed at 1 m/s. With all bars in one line there are
    N + 1 degrees of freedom. All uprights turn alike: one pendulum, which is solved by itself for reference."""
    b = ps.ModelBuilder(f"A02 {windows}-four-bar", gravity=(0, -9.81, 0))
    for k in range(windows + 1):
        b.body(f"upright{k}", joint=Z, placement=ps.Pose(xyz=(k, 0, 0)), inertia=rod(1.0))
        b.frame(f"top{k}", f"upright{k}", ps.Pose(xyz=(1, 0, 0)))
    for k in range(windows):
        b.body(f"bar{k}", f"top{k}", Z, inertia=rod(1.0))
        b.frame(f"end{k}", f"bar{k}", ps.Pose(xyz=(1, 0, 0)))
        b.loop(f"window{k}", f"end{k}", f"top{k + 1}", joint=Z)
    q0 = np.concatenate([np.full(windows + 1, np.pi / 2), np.full(windows, -np.pi / 2)])
    v0 = np.concatenate([np.full(windows + 1, -1.0), np.full(windows, 1.0)])
    times = np.linspace(0.0, 10.0, 201)
    inertia, moment = (windows + 1) / 3 + windows, (windows + 1) / 2 + windows
    alone = ps.simulate(_pendulum_of(inertia, moment), [np.pi / 2], [-1.0], 10.0, rtol=1e-13, atol=1e-14, t_eval=times)

    def measure(run: Any) -> dict[str, float]:
        tops = [np.stack([np.cos(q), np.sin(q)], -1) for q in (run.q[:, 0], alone.q[:, 0])]
        return {
            "error of B0 [m]": float(np.max(np.abs(tops[0] - tops[1]))),
            "singular passages": float(np.sum(np.diff(np.sign(np.sin(run.q[:, 0]))) != 0)),
        }

    return Problem(b.name, b.build(), q0, v0, 10.0, measure, t_eval=times)


def _pendulum_of(inertia: float, moment: float) -> ps.Model:
    """θ̈ = −moment g cos θ / inertia, as a bar with armature."""
    b = ps.ModelBuilder("pendulum", gravity=(0, -9.81, 0))
    armature = inertia - moment
    if armature < 0.0:  # a mass nearer to the axis has less inertia for the same moment
        reach = inertia / moment
        mass, armature = moment / reach, 0.0
    else:
        reach, mass = 1.0, moment
    b.body("bar", joint=ps.Revolute(armature=armature), inertia=ps.Inertia(mass, (reach, 0, 0), np.zeros((3, 3))))
    return b.build()


def bricard() -> Problem:
    """A04: five rods, six revolute joints, overconstrained with one degree of freedom; from rest, gravity along −y."""
    points = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1.0]])
    axes = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.0]])
    b = ps.ModelBuilder("A04 Bricard", gravity=(0, -9.81, 0))
    parent, at = "world", np.zeros(3)
    for k in range(5):
        along = points[k + 1] - points[k]
        across = (1.0 + 0.1**2) / 12
        tensor = across * np.eye(3) + (0.1**2 / 6 - across) * np.outer(along, along)
        place = ps.Pose(xyz=points[k] - at)
        b.body(f"rod{k}", parent, ps.Revolute(axis=axes[k]), place, ps.Inertia(1.0, along / 2, tensor))
        parent, at = f"rod{k}", points[k]
    b.frame("P5", "rod4", ps.Pose(xyz=points[5] - points[4]))
    b.frame("ground", "world", ps.Pose(xyz=points[5]))
    b.loop("closure", "ground", "P5", joint=ps.Revolute(axis=axes[5]))
    model, table = b.build(), np.loadtxt(BRICARD, delimiter=",", skiprows=1)

    def measure(run: Any) -> dict[str, float]:
        p3 = ps.forward_kinematics(model, run.q, "rod3")[:, :3, 3]
        report = ps.loops.loop_report(model, run.q)
        return {"error of P3 [m]": float(np.max(np.abs(p3 - table[:, 1:]))), "rank": float(np.max(report.rank))}

    return Problem(b.name, model, np.zeros(5), np.zeros(5), float(table[-1, 0]), measure, t_eval=table[:, 0])


def governor() -> Problem:
    """A05: a flyball governor turning at 2π rad/s, 5 kg at the ends of its rods. Its couplers, which the library makes
    of springs of 8e5 N/m and dampers of 4e4 N s/m to be stiff, are rigid here: two distances of 0.5 m."""
    b = ps.ModelBuilder("A05 governor", gravity=(0, 0, -9.81))
    shaft = ps.Inertia(0.3, (0, 0, 0.5), 0.3 / 12 * np.diag([1.0001, 1.0001, 2e-4]))
    b.body("shaft", joint=Z, inertia=shaft)
    slider = ps.Inertia(3.0, (0, 0, 0), 3.0 / 6 * 0.01 * np.eye(3))
    b.body("slider", "shaft", ps.Prismatic(axis=(0, 0, 1)), ps.Pose(xyz=(0, 0, 0.5)), slider)
    for side, turn in ((1, np.pi / 6), (-1, np.pi - np.pi / 6)):
        arm = rod(1.0, 0.3, 0.01) + ps.Inertia(5.0, (1.0, 0, 0), np.zeros((3, 3)))
        place = ps.Pose(xyz=(0.05 * side, 0, 1.0), rpy=(0, turn, 0))
        b.body(f"rod{side}", "shaft", ps.Revolute(axis=(0, 1, 0)), place, arm)
        b.frame(f"middle{side}", f"rod{side}", ps.Pose(xyz=(0.5, 0, 0)))
        b.frame(f"edge{side}", "slider", ps.Pose(xyz=(0.05 * side, 0, 0)))
        b.loop(f"coupler{side}", f"edge{side}", f"middle{side}", joint=ps.Distance(0.5))

    def measure(run: Any) -> dict[str, float]:
        spins = [ps.momentum(run_model, q, v)[2] for q, v in ((run.q[0], run.v[0]), (run.q[-1], run.v[-1]))]
        return {"drift of spin [Nms]": float(abs(spins[1] - spins[0])), "s at the end [m]": 0.5 + float(run.q[-1, 1])}

    run_model = b.build()
    return Problem(b.name, run_model, np.zeros(4), np.array([2 * np.pi, 0, 0, 0]), 10.0, measure)


if __name__ == "__main__":
    for problem in (pendulum(), bricard()):
        for each in (problem, problem.in_independent_rates()):
            print(each.name, {name: f"{value:.2g}" for name, value in each.run()[1].items()}, flush=True)
