"""Andrews' squeezing mechanism: seven bodies in the plane, three closures, driven for 0.03 s.

IFToMM's A03. Parameters, start and reference solution: the test set for IVP solvers (F. Mazzia and C. Magherini,
release 2.4, problem "Andrews' squeezing mechanism"), after W. Schiehlen (ed.), Multibody Systems Handbook, 1990.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import phistar as ps

from .iftomm import Problem

# β, Θ, γ, Φ, δ, Ω, ε
START = np.array(
    [
        *(-0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885),
        *(0.487364979543842550, -0.222668390165885885, 1.23054744454982119),
    ]
)
REFERENCE = np.array(
    [
        *(0.1581077119629904e2, -0.1575637105984298e2, 0.4082224013073101e-1, -0.5347301163226948),
        *(0.5244099658805304, 0.5347301163226948, 0.1048080741042263e1),
    ]
)
A, B, C = (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0), np.array([0.014, 0.072])
D, E, RR, SS, ZT, ZF, U = 0.028, 0.02, 0.007, 0.035, 0.04, 0.02, 0.04
SPRING, SLACK, DRIVE = 4530.0, 0.07785, 0.033
SD, SC = 0.02, 0.018


def _body(mass: float, com: tuple[float, float], inertia: float) -> ps.Inertia:
    return ps.Inertia(mass, (*com, 0.0), np.diag([0.6 * inertia, 0.6 * inertia, inertia]))


def andrews() -> Problem:
    """The mechanism with its three closures at one point; q is in the order β, Θ, γ, δ, Φ, ε, Ω of its tree."""
    z = ps.Revolute(axis=(0, 0, 1))
    b = ps.ModelBuilder("A03 Andrews", gravity=(0, 0, 0))
    b.body("crank", joint=z, inertia=_body(0.04325, (0.00092, 0), 2.194e-6))
    b.body("arm", "crank", z, ps.Pose(xyz=(RR, 0, 0)), _body(0.00365, (-0.0115, 0), 4.410e-7))
    b.body("lever", joint=z, placement=ps.Pose(xyz=B), inertia=_body(0.02373, (0.01043, -0.01874), 5.255e-6))
    b.body("left", joint=z, placement=ps.Pose(xyz=A), inertia=_body(0.07050, (0.02308, 0.00916), 1.169e-5))
    b.body("left finger", "left", z, ps.Pose(xyz=(ZT, 0, 0)), _body(0.00706, (0, -(E - 0.01421)), 5.667e-7))
    b.body("right", joint=z, placement=ps.Pose(xyz=A), inertia=_body(0.05498, (0.00449, -0.01228), 1.912e-5))
    b.body("right finger", "right", z, ps.Pose(xyz=(0, -U, 0)), _body(0.00706, (ZF - 0.01421, 0), 5.667e-7))
    points = {"arm": (-D, 0, 0), "lever": (0, -SS, 0), "left finger": (0, -E, 0), "right finger": (ZF, 0, 0)}
    for name, point in points.items():
        b.frame(f"F {name}", name, ps.Pose(xyz=point))
    for name in list(points)[1:]:
        b.loop(name, "F arm", f"F {name}", joint=z)
    order = [0, 1, 2, 4, 3, 6, 5]

    def measure(run: Any) -> dict[str, float]:
        return {"error of the angles [rad]": float(np.max(np.abs(run.q[-1] - REFERENCE[order])))}

    return Problem(b.name, b.build(), START[order], np.zeros(7), 0.03, measure, _driven)


def _driven(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The drive's moment on the crank, and the spring from C to the lever's point D."""
    sine, cosine = np.sin(q[2]), np.cos(q[2])
    reach = np.array([SD * cosine + SC * sine, SD * sine - SC * cosine])
    stretch = reach + np.array(B[:2]) - C
    length = np.linalg.norm(stretch)
    pull = -SPRING * (length - SLACK) / length * stretch
    return np.array([DRIVE, 0.0, reach[0] * pull[1] - reach[1] * pull[0], 0.0, 0.0, 0.0, 0.0])
