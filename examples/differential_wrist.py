"""A differential wrist: two bevel gears on one shaft turn its carrier when they agree, its hand when they do not.

The gears' meshes are couplings of joints; in independent rates they are gone, and the mass matrix is that of two
joints. Prints it beside the one written by hand, and how a torque on one gear alone moves the hand.
"""

import numpy as np

import phistar as ps

RATIO = 1.5  # teeth of the hand's gear over those of the sun's
b = ps.ModelBuilder("wrist", gravity=(0, 0, 0))
b.body("carrier", joint=ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(0.8, (0, 0, 0), 2e-3 * np.eye(3)))
b.body("hand", "carrier", ps.Revolute(axis=(1, 0, 0)), inertia=ps.Inertia(0.5, (0.1, 0, 0), 1e-3 * np.eye(3)))
for side, way in (("left", 1.0), ("right", -1.0)):
    gear = ps.Inertia(0.1, (0, 0, 0), np.diag([2e-4, 3e-4, 2e-4]))
    b.body(side, "carrier", ps.Revolute(axis=(0, 1, 0)), ps.Pose(xyz=(0, 0.05 * way, 0)), gear)
    b.loop(f"{side} mesh", side, "hand", joint=ps.Coupling((0.0, way * RATIO)))
closed = b.build()
model = closed.embedded(independent=["carrier", "hand"])


def motors(left, right):
    """Joint forces of torques between the ground and each gear: a gear turns by the carrier's angle and its own."""
    return model.embedding.independent_forces(model.neutral(), np.array([left + right, 0.0, left, right]))


if __name__ == "__main__":
    mass = ps.mass_matrix(model, model.neutral())
    swing = 2e-3 + 1e-3 + 0.5 * 0.1**2 + 2 * 3e-4
    print(f"independent: {[joint.name for joint in closed.joints[:2]]}; mass matrix\n{np.round(mass, 6)}")
    print(f"  by hand: carrier {swing:.6f}, hand {1e-3 + 2 * RATIO**2 * 3e-4:.6f} kg m²")
    for left, right in ((1.0, 1.0), (1.0, -1.0), (1.0, 0.0)):
        tau = motors(left, right)
        a = ps.forward_dynamics(model, model.neutral(), np.zeros(2), tau)
        print(f"  torques {left:+.0f} and {right:+.0f} N m: forces {np.round(tau, 3)}, accelerations {np.round(a, 1)}")
    law = ps.control.InverseDynamicsControl(model, kp=400.0)
    goal = law.reference(model.integrate(model.neutral(), [0.6, -1.2]), [0.0, 0.0])
    run = ps.simulate(model, model.neutral(), np.zeros(2), 1.0, lambda t, q, v: law(t, q, v, goal))
    print(f"led to pitch {run.q[-1, 0]:.4f} and roll {run.q[-1, 1]:.4f}; gears at {np.round(run.q[-1, 2:], 4)}")
