"""A hand pushes a box to a place, through contact: by optimal control first, then by predictive control in the plant.

    python examples/pushed_box.py

The hand does not touch the box at first; the box slides with drag. The derivatives of the plant's own step tell the
solver what touching does.
"""

import numpy as np

import phistar as ps

GOAL = 0.3  # m, that the box is to move


def hand_and_box() -> ps.Plant:
    plant = ps.Plant()
    for name, x, damping in (("hand", -0.201, 0.0), ("box", 0.0, 8.0)):
        builder = ps.ModelBuilder(name)
        slide = ps.Prismatic(axis=(1, 0, 0), damping=damping)
        builder.body(name, joint=slide, inertia=ps.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3)))
        plant.add(builder.build(), name, at=ps.Pose(xyz=(x, 0, 0.1)))
    plant.add_shape(ps.Sphere(0.1), "hand/hand")
    plant.add_shape(ps.Box((0.2, 0.2, 0.2)), "box/box")
    plant.actuate("hand", "force")
    return plant


def main() -> None:
    plant, o = hand_and_box(), ps.optimize
    push = o.problem(
        plant,
        dt=0.02,
        steps=40,
        running=[o.control(1e-2), o.joint_velocity(0.1)],
        terminal=[o.joint_position([GOAL, GOAL], [10.0, 1e3]), o.joint_velocity(1.0)],
    )
    found = push.solve(iterations=30)
    print(f"planned: {found.reason}; the box moves {found.q[-1, 1]:.3f} m, pushed with up to {found.u.max():.1f} N")

    costs = [o.control(1e-2), o.joint_position([GOAL, GOAL], [0.1, 100.0])]
    law = ps.control.ModelPredictiveControl(o.problem(plant, dt=0.02, steps=20, running=costs), iterations=2)
    run = ps.simulate(plant, 0.4, control=law, step=0.02)
    print(f"predictive control in the plant: after 0.4 s the box has moved {run.q[-1, 1]:.3f} m")


if __name__ == "__main__":
    main()
