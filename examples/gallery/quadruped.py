"""A quadruped is dropped, lands on its feet, and its servos bring it to a stand."""

import numpy as np

import phistar as ps

FILM = {"speed": 0.4}
STANCE = (0.0, 0.8, -1.6)


def quadruped() -> ps.Model:
    """A trunk on four legs of three joints."""
    b = ps.ModelBuilder("quadruped")
    trunk = ps.Geometry(ps.Box((0.7, 0.26, 0.14)), color=(0.95, 0.62, 0.18, 1.0), role="collision")
    b.body("trunk", joint=ps.Free(), inertia=ps.Inertia(10.0, tensor=np.diag([0.2, 0.4, 0.5])), geometry=[trunk])
    hub, rod = ps.Inertia(0.3, tensor=2e-3 * np.eye(3)), ps.Inertia(0.5, (0, 0, -0.12), 4e-3 * np.eye(3))
    dark, light, foot = (0.2, 0.22, 0.26, 1.0), (0.6, 0.64, 0.7, 1.0), (0.1, 0.1, 0.1, 1.0)
    for k, (x, y) in enumerate(((0.3, 0.15), (0.3, -0.15), (-0.3, 0.15), (-0.3, -0.15))):
        swing, bend = ps.Revolute(axis=(1, 0, 0)), ps.Revolute(axis=(0, 1, 0))
        ball = ps.Geometry(ps.Sphere(0.05), color=dark, role="visual")
        b.body(f"hip{k}", "trunk", swing, ps.Pose(xyz=(x, y, 0)), hub, [ball])
        bar = ps.Geometry(ps.Capsule(0.028, 0.22), ps.Pose(xyz=(0, 0, -0.125)), color=light, role="visual")
        b.body(f"thigh{k}", f"hip{k}", bend, ps.Pose(), rod, [bar])
        toe = ps.Geometry(ps.Sphere(0.03), ps.Pose(xyz=(0, 0, -0.25)), f"toe{k}", foot, "collision")
        shin = ps.Geometry(ps.Capsule(0.02, 0.22), ps.Pose(xyz=(0, 0, -0.125)), color=dark, role="visual")
        sole = ps.Geometry(ps.Sphere(0.03), ps.Pose(xyz=(0, 0, -0.25)), color=foot, role="visual")
        b.body(f"shank{k}", f"thigh{k}", bend, ps.Pose(xyz=(0, 0, -0.25)), rod, [shin, sole, toe])
    return b.build()


def motion() -> ps.Trajectory:
    model = quadruped()
    start = model.neutral()
    start[2], start[7:] = 0.75, np.tile(STANCE, 4)
    start[3:5] = 0.07, -0.05  # leaning a little
    plant = ps.Plant(name="landing")
    plant.add_body("ground", ps.Plane(), free=False)
    plant.add(model, name="dog", q=model.normalized(start))
    names = [f"{part}{k}" for k in range(4) for part in ("hip", "thigh", "shank")]
    plant.actuate("dog", "position", names, stiffness=180.0, damping=6.0)
    return ps.simulate(plant, 1.6, step=0.002, control=lambda *_: np.tile(STANCE, 4))
