"""Thirty dominoes in a bow; the first is tipped."""

import numpy as np

import phistar as ps

FILM = {"speed": 0.6}


def motion() -> ps.Trajectory:
    plant = ps.Plant(name="dominoes")
    plant.add_body("ground", ps.Plane(), free=False)
    for k, angle in enumerate(np.linspace(0.0, 1.5 * np.pi, 30)):
        stone = ps.Geometry(
            ps.Box((0.02, 0.08, 0.16)), color=(0.9 - 0.02 * k, 0.3, 0.2 + 0.02 * k, 1.0), role="collision"
        )
        place = ps.Pose(xyz=(0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.081), rpy=(0, 0, angle + np.pi / 2))
        push = (0.0, 2.2, 0.0, 0.18, 0.0, 0.0) if k == 0 else None
        plant.add_body(f"stone{k}", stone, inertia=0.2, at=place, twist=push)
    return ps.simulate(plant, 2.6, step=0.002)
