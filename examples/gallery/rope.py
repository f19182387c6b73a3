"""A rope of sixty links falls over a beam: one tree of 60 joints in contact, in linear time."""

import numpy as np

import phistar as ps

FILM = {"speed": 0.5}
LINKS, LENGTH, RADIUS = 60, 0.05, 0.014


def rope() -> ps.Model:
    """Links on hinges in turns across and upright, the first one free."""
    b, parent, place = ps.ModelBuilder("rope"), "world", ps.Pose(xyz=(-1.2, 0, 1.03))
    rod = ps.Inertia(0.05, (LENGTH / 2, 0, 0), 1e-5 * np.diag([0.5, 1.2, 1.2]))
    along = ps.Pose(xyz=(LENGTH / 2, 0, 0), rpy=(0, np.pi / 2, 0))
    for k in range(LINKS):
        shade = 0.35 + 0.4 * (k % 6 < 3)
        look = ps.Geometry(ps.Capsule(RADIUS, LENGTH), along, f"link{k}", (shade, 0.55 * shade, 0.2, 1.0), "collision")
        joint = ps.Revolute(axis=(0, 1, 0) if k % 2 else (0, 0, 1), damping=2e-4) if k else ps.Free()
        b.body(f"link{k}", parent, joint, place, rod, [look])
        parent, place = f"link{k}", ps.Pose(xyz=(LENGTH, 0, 0))
    return b.build()


def motion() -> ps.Trajectory:
    plant = ps.Plant(name="rope")
    plant.add_body("ground", ps.Plane(), free=False)
    beam = ps.Geometry(ps.Box((0.3, 0.8, 0.2)), color=(0.45, 0.5, 0.56, 1.0), role="collision")
    plant.add_body("beam", beam, at=ps.Pose(xyz=(0, 0, 0.9)), free=False)
    plant.add(rope(), name="rope")
    plant.default_contact(ps.Surface(friction=0.15))
    return ps.simulate(plant, 2.4, step=0.002)
