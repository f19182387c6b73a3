"""A heavy ball runs into a wall of bricks: thirty-six boxes, friction, one convex problem a step."""

import phistar as ps

FILM = {"speed": 0.5}
CLAY, PALE = (0.76, 0.38, 0.26, 1.0), (0.85, 0.62, 0.48, 1.0)


def motion() -> ps.Trajectory:
    plant = ps.Plant(name="wall")
    plant.add_body("ground", ps.Plane(), free=False)
    for row in range(8):
        for column in range(5 - row % 2):
            x = 0.2 * column + 0.1 * (row % 2) - 0.4
            brick = ps.Geometry(ps.Box((0.198, 0.1, 0.1)), color=CLAY if row % 2 else PALE, role="collision")
            plant.add_body(f"brick{row}_{column}", brick, inertia=1.2, at=ps.Pose(xyz=(x, 0, 0.051 + 0.101 * row)))
    ball = ps.Geometry(ps.Sphere(0.13), color=(0.2, 0.24, 0.3, 1.0), role="collision")
    plant.add_body("ball", ball, inertia=12.0, at=ps.Pose(xyz=(0.05, -0.9, 0.42)), twist=(0, 0, 0, 0, 5.0, 1.2))
    return ps.simulate(plant, 1.3, step=0.001)
