"""A disc rolls without slipping and wobbles: nonholonomic rows, kept to the last digits."""

import numpy as np

import phistar as ps

FILM = {"speed": 1.0}
RADIUS, MASS = 0.25, 1.3


def disc() -> ps.Model:
    b, across = ps.ModelBuilder("disc"), 0.25 * MASS * RADIUS**2
    look = [ps.Geometry(ps.Cylinder(RADIUS, 0.02), color=(0.8, 0.35, 0.25, 1.0))]
    for angle in (0.0, 2.1, 4.2):
        place = ps.Pose(xyz=(0.16 * np.cos(angle), 0.16 * np.sin(angle), 0))
        look.append(ps.Geometry(ps.Sphere(0.03), place, color=(0.2, 0.2, 0.25, 1.0)))
    b.geometry("world", ps.Geometry(ps.Plane()))
    tensor = np.diag([across, across, 2 * across])
    b.body("disc", joint=ps.Free(), inertia=ps.Inertia(MASS, tensor=tensor), geometry=look)
    b.loop("floor", "world", "disc", ps.loops.RollingDisc(RADIUS, axis=(0, 0, 1)))
    return b.build()


def motion() -> ps.Trajectory:
    model, lean = disc(), np.deg2rad(62)
    turn = ps.Pose(rpy=(0, lean, 0)).rotation
    omega = 4.0 * turn[:, 2] + np.array([0, 0, 1.2])
    lowest = RADIUS * np.array([np.cos(lean), 0, -np.sin(lean)])
    q = np.concatenate([[0, 0, RADIUS * np.sin(lean)], [0, np.sin(lean / 2), 0, np.cos(lean / 2)]])
    v = np.concatenate([turn.T @ omega, turn.T @ -np.cross(omega, lowest)])
    return ps.simulate(model, q, v, 5.0, t_eval=np.linspace(0.0, 5.0, 251))
