"""A Stewart platform three ways: its legs from its pose, its pose from its legs, and its motion under leg forces."""

import numpy as np

import phistar as ps

HEIGHT, MASS = 0.8, 8.0


def looking(aim):
    """The rotation that takes z to a direction."""
    z = aim / np.linalg.norm(aim)
    x = np.cross((0, 1, 0), z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def ring(radius, spread):
    """Six points in pairs around a circle."""
    angles = np.deg2rad([120 * k + side * spread for k in range(3) for side in (-1, 1)])
    return radius * np.stack([np.cos(angles), np.sin(angles), np.zeros(6)], axis=-1)


# Legs on universal joints with a slide, balls on the platform: 24 rates in the tree, 18 closure rows, 6 freedoms.
feet, balls = ring(0.6, 10.0), ring(0.35, 50.0)
builder = ps.ModelBuilder("stewart")
plate = ps.Inertia(MASS, tensor=np.diag([0.25, 0.25, 0.5]))
builder.body("platform", joint=ps.Free(), placement=ps.Pose(xyz=(0, 0, HEIGHT)), inertia=plate)
half = ps.Inertia(1.0, (0, 0, 0.15), np.diag([0.02, 0.02, 0.001]))
for k, (foot, ball) in enumerate(zip(feet, balls, strict=True)):
    aim = ball + np.array([0, 0, HEIGHT]) - foot
    builder.body(f"lower{k}", joint=ps.Universal(), placement=ps.Pose(xyz=foot, rotation=looking(aim)), inertia=half)
    slide = ps.Pose(xyz=(0, 0, np.linalg.norm(aim)))
    builder.body(f"upper{k}", f"lower{k}", ps.Prismatic((0, 0, 1)), slide, half, joint_name=f"leg{k}")
    builder.frame(f"seat{k}", "platform", ps.Pose(xyz=ball))
    builder.loop(f"ball{k}", f"seat{k}", f"upper{k}", ps.Spherical())
model = builder.build()
report = ps.loops.loop_report(model, model.neutral())
print(f"{model.name}: {model.nv} rates, {report.rows} closure rows of rank {report.rank}, {report.freedom} freedoms")

# With the platform's joint primary, U(Q) is the inverse kinematics; with the legs, the forward kinematics.
by_pose, by_legs = (
    ps.loops.PrimaryJoints(model, ["platform"]),
    ps.loops.PrimaryJoints(model, [f"leg{k}" for k in range(6)]),
)
t = np.linspace(0.0, 2.0, 101)
roll, yaw = 0.15 * np.sin(np.pi * t), 0.2 * np.sin(2 * np.pi * t)
poses = np.stack([0.05 * np.sin(2 * np.pi * t), 0 * t, 0.06 * np.sin(np.pi * t),
                  np.sin(roll / 2) * np.cos(yaw / 2), -np.sin(roll / 2) * np.sin(yaw / 2),
                  np.cos(roll / 2) * np.sin(yaw / 2), np.cos(roll / 2) * np.cos(yaw / 2)], axis=-1)  # fmt: skip
q = by_pose.configuration(poses)
legs = q[:, by_legs.coordinates]
back = by_legs.configuration(legs, guess=q[0])
print(
    f"legs from poses and poses from legs agree to {np.abs(back - q).max():.0e}; loops closed to "
    f"{np.abs(ps.loop_residual(model, q)).max():.0e}"
)

# The leg forces that hold the platform still, by WD89's τ = E*ρ; with them, RJK91's forward dynamics has it rest.
holding = by_legs.inverse_dynamics(legs, np.zeros(6), np.zeros(6), guess=q)
tau = np.zeros((len(t), model.nv))
tau[:, by_legs.rates] = holding
still = ps.forward_dynamics(model, q, np.zeros(model.nv), tau)
print(f"leg forces of {holding.min():.1f} to {holding.max():.1f} N hold it: accelerations {np.abs(still).max():.0e}")

# Released, it falls onto its legs' damping: forward dynamics with hard closures.
tau0 = tau[0] * 0.98
run = ps.simulate(model, q[0], np.zeros(model.nv), 0.5, control=lambda t, q, v: tau0 - 40.0 * v * (tau0 != 0.0))
sunk = run.q[0, 2] - run.q[-1, 2]
kept = np.abs(run.loop_residual).max()
print(f"with 2% less force it sinks by {1000 * sunk:.1f} mm in {run.t[-1]:g} s; loops within {kept:.0e}")
