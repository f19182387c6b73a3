"""A four-cylinder engine spins up: crank, rods and pistons, four closed loops as functions of one primary joint."""

import numpy as np

import phistar as ps

FILM = {"speed": 0.25}
CRANK, ROD = 0.04, 0.14
IRON, STEEL, PALE = (0.28, 0.3, 0.34, 1.0), (0.55, 0.58, 0.63, 1.0), (0.88, 0.55, 0.25, 1.0)
ALONG = (0, np.pi / 2, 0)


def engine() -> ps.Model:
    b, z = ps.ModelBuilder("engine", gravity=(0, 0, 0)), ps.Revolute(axis=(0, 1, 0))
    turned = [0.0, np.pi, np.pi, 0.0]
    places = [(CRANK * np.cos(a), 0.09 * k, -CRANK * np.sin(a)) for k, a in enumerate(turned)]
    shaft = ps.Geometry(ps.Cylinder(0.014, 0.42), ps.Pose(xyz=(0, 0.135, 0), rpy=(np.pi / 2, 0, 0)), color=IRON)
    webs = [ps.Geometry(ps.Cylinder(0.055, 0.02), ps.Pose(xyz=(x / 2, y, w / 2), rpy=(np.pi / 2, 0, 0)), color=IRON)
            for x, y, w in places]  # fmt: skip
    b.body("crank", joint=z, inertia=ps.Inertia(3.0, tensor=0.02 * np.eye(3)), geometry=[shaft, *webs])
    slender = 0.4 * ROD**2 / 12 * np.diag([1e-2, 1.0, 1.0])
    for k, place in enumerate(places):
        bar = ps.Geometry(ps.Capsule(0.012, ROD), ps.Pose(xyz=(ROD / 2, 0.02, 0), rpy=ALONG), color=STEEL)
        b.body(f"rod{k}", "crank", z, ps.Pose(xyz=place), ps.Inertia(0.4, (ROD / 3, 0, 0), slender), [bar])
        cup = ps.Geometry(ps.Cylinder(0.036, 0.05), ps.Pose(rpy=ALONG), color=PALE)
        stroke, light = ps.Prismatic(axis=(1, 0, 0)), ps.Inertia(0.5, tensor=2e-4 * np.eye(3))
        b.body(f"piston{k}", "world", stroke, ps.Pose(xyz=(0, 0.09 * k, 0)), light, [cup])
        b.frame(f"end{k}", f"rod{k}", ps.Pose(xyz=(ROD, 0, 0)))
        b.loop(f"pin{k}", f"end{k}", f"piston{k}", joint=z)
    return b.build()


def motion() -> ps.Trajectory:
    model, t = engine(), np.linspace(0.0, 1.5, 301)
    guess = model.neutral()
    for k in range(4):
        guess[model.joint(f"piston{k}").q_slice] = ROD + (CRANK if k in (0, 3) else -CRANK)
    crank = 2 * np.pi * t**2  # spins up
    q = ps.loops.PrimaryJoints(model, ["crank"], guess=guess).configuration(crank[:, None])
    return ps.Trajectory(model, t, q, np.zeros((len(t), model.nv)), name="engine")
