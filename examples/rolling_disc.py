"""A disc rolls on the floor, wobbling: nonholonomic rows, kept to the last digits, with its energy to tell."""

import numpy as np

import phistar as ps

RADIUS, MASS = 0.25, 1.3

builder = ps.ModelBuilder("disc")
across = 0.25 * MASS * RADIUS**2
builder.body("disc", joint=ps.Free(), inertia=ps.Inertia(MASS, tensor=np.diag([across, across, 2 * across])))
builder.frame("rim", "disc", ps.Pose(xyz=(RADIUS, 0, 0)))
builder.loop("floor", "world", "disc", ps.loops.RollingDisc(RADIUS, axis=(0, 0, 1)))  # its axis, in its own frame
model = builder.build()

# It leans by 20° from upright, spins about its axis and turns about the vertical; the lowest point stands still.
lean = np.deg2rad(70)
turn = ps.Pose(rpy=(0, lean, 0)).rotation
omega = 5.0 * turn[:, 2] + np.array([0, 0, 0.8])
lowest = RADIUS * np.array([np.cos(lean), 0, -np.sin(lean)])
q0 = np.concatenate([[0, 0, RADIUS * np.sin(lean)], [0, np.sin(lean / 2), 0, np.cos(lean / 2)]])
v0 = np.concatenate([turn.T @ omega, turn.T @ -np.cross(omega, lowest)])

run = ps.simulate(model, q0, v0, 4.0, t_eval=np.linspace(0.0, 4.0, 401))
force = ps.constraint_forces(model, run.q, run.v, np.zeros(model.nv))["floor"][..., 3:]  # on the floor
pressing, gripping = -force[:, 2], np.linalg.norm(force[:, :2], axis=-1)
travelled = np.sum(np.linalg.norm(np.diff(run.q[:, :2], axis=0), axis=-1))
axis = ps.forward_kinematics(model, run.q, "disc")[:, :3, 2]
print(
    f"in {run.t[-1]:g} s the disc rolls {travelled:.2f} m and leans between "
    f"{np.rad2deg(np.arcsin(np.abs(axis[:, 2]))).min():.1f}° and {np.rad2deg(np.arcsin(np.abs(axis[:, 2]))).max():.1f}°"
)
print(
    f"height kept to {np.abs(run.loop_residual).max():.0e} m, no slip to {np.abs(run.loop_rate).max():.0e} m/s, "
    f"energy to {np.ptp(run.energy) / run.energy[0]:.0e}"
)
needed = (gripping / pressing).max()
print(
    f"it presses with {pressing.min():.1f} to {pressing.max():.1f} N and needs a friction coefficient of {needed:.2f}"
)
