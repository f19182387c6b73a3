"""A Stewart platform: every leg as a function of the plate's pose, through closed loops (WD89's primary joints)."""

import numpy as np

import phistar as ps

FILM = {"speed": 1.0}
HEIGHT = 0.8
STEEL, BLUE, PLATE = (0.3, 0.33, 0.38, 1.0), (0.25, 0.5, 0.75, 1.0), (0.92, 0.6, 0.2, 1.0)


def ring(radius: float, spread: float) -> np.ndarray:
    """Six points in pairs around a circle."""
    angles = np.deg2rad([120 * k + side * spread for k in range(3) for side in (-1, 1)])
    return radius * np.stack([np.cos(angles), np.sin(angles), np.zeros(6)], axis=-1)


def platform() -> ps.Model:
    b = ps.ModelBuilder("stewart")
    plate = ps.Geometry(ps.Cylinder(0.42, 0.05), color=PLATE)
    base = ps.Geometry(ps.Cylinder(0.7, 0.04), ps.Pose(xyz=(0, 0, -0.03)), color=STEEL)
    b.geometry("world", base)
    mass = ps.Inertia(8.0, tensor=np.diag([0.25, 0.25, 0.5]))
    b.body("platform", joint=ps.Free(), placement=ps.Pose(xyz=(0, 0, HEIGHT)), inertia=mass, geometry=[plate])
    half = ps.Inertia(1.0, (0, 0, 0.15), np.diag([0.02, 0.02, 0.001]))
    for k, (foot, ball) in enumerate(zip(ring(0.6, 10.0), ring(0.35, 50.0), strict=True)):
        aim = ball + np.array([0, 0, HEIGHT]) - foot
        z = aim / np.linalg.norm(aim)
        x = np.cross((0, 1, 0), z) / np.linalg.norm(np.cross((0, 1, 0), z))
        placed = ps.Pose(xyz=foot, rotation=np.stack([x, np.cross(z, x), z], axis=-1))
        tube = ps.Geometry(ps.Cylinder(0.035, 0.45), ps.Pose(xyz=(0, 0, 0.225)), color=STEEL)
        b.body(f"lower{k}", joint=ps.Universal(), placement=placed, inertia=half, geometry=[tube])
        rod = ps.Geometry(ps.Cylinder(0.02, 0.7), ps.Pose(xyz=(0, 0, -0.35)), color=BLUE)
        slide = ps.Pose(xyz=(0, 0, float(np.linalg.norm(aim))))
        b.body(f"upper{k}", f"lower{k}", ps.Prismatic((0, 0, 1)), slide, half, [rod], joint_name=f"leg{k}")
        b.frame(f"seat{k}", "platform", ps.Pose(xyz=ball))
        b.loop(f"ball{k}", f"seat{k}", f"upper{k}", ps.Spherical())
    return b.build()


def motion() -> ps.Trajectory:
    model, t = platform(), np.linspace(0.0, 4.0, 201)
    half = 0.5 * np.stack([0.3 * np.sin(np.pi * t), 0.3 * np.sin(np.pi * t + 1.2) - 0.28, 0.0 * t], axis=-1)
    place = np.stack([0.12 * np.sin(np.pi * t), 0.1 * (np.cos(np.pi * t) - 1), 0.1 * np.sin(2 * np.pi * t)], axis=-1)
    turn = np.concatenate([half, np.sqrt(1.0 - np.sum(half**2, axis=-1, keepdims=True))], axis=-1)
    q = ps.loops.PrimaryJoints(model, ["platform"]).configuration(np.concatenate([place, turn], axis=-1))
    return ps.Trajectory(model, t, q, np.zeros((len(t), model.nv)), name="stewart")
