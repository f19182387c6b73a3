"""Swing up an acrobot: two links, one motor, at the elbow. Optimal control finds the motion, its gains hold it."""

import numpy as np

import phistar as ps

rod = ps.Inertia(1.0, com=(0, 0, -0.5), tensor=np.diag([1 / 12, 1 / 12, 1e-3]))
hinge = ps.Revolute(axis=(0, 1, 0))
builder = ps.ModelBuilder("acrobot")
builder.body("upper", joint=hinge, inertia=rod)
builder.body("lower", parent="upper", joint=hinge, placement=ps.Pose(xyz=(0, 0, -1.0)), inertia=rod)
builder.frame("tip", body="lower", placement=ps.Pose(xyz=(0, 0, -1.0)))
model = builder.build()

upright, o = [np.pi, 0.0], ps.optimize
problem = o.problem(
    model,
    [0.0, 0.0],
    dt=0.02,
    steps=200,
    actuated=["lower"],
    running=[o.control(0.1), o.joint_position(upright, 0.1)],
    terminal=[o.joint_position(upright, 1e3), o.joint_velocity(1e2)],
)
found = problem.solve(iterations=500, tolerance=1e-7)
print(f"{found.reason}: {found.iterations} iterations, cost {found.cost:.3f}, at most {np.abs(found.u).max():.1f} N m")
print(f"ends {np.abs(found.q[-1] - upright).max():.3f} rad from upright, at {np.abs(found.v[-1]).max():.2f} rad/s")

# Two hundred robots that start a little elsewhere: with the motion's own gains, and without.
rng = np.random.default_rng(seed=0)
starts = 0.02 * rng.normal(size=(200, 2))
around = found.q, found.v, found.tau
held = ps.rollout(model, starts, np.zeros(2), dt=0.02, method="euler", feedback=found.gains, around=around)
loose = ps.rollout(model, starts, np.zeros(2), found.tau, dt=0.02, method="euler")
for name, run in (("with gains", held), ("without", loose)):
    away = np.abs(run.q[:, -1] - found.q[-1]).max(axis=-1)
    print(f"{name}: {np.mean(away < 0.1):.0%} end within 0.1 rad of the plan")
