"""A slider-crank engine, both ways: driven by gas through RJK91's closed loop, and the torque of an even turn by
WD89's primary joint. Prints the piston's stroke, the side force on its wall, and that the two ways agree.
"""

import numpy as np

import phistar as ps

CRANK, ROD, FLYWHEEL, SPEED = 0.04, 0.14, 0.02, 2 * np.pi * 25
z = ps.Revolute(axis=(0, 0, 1))

b = ps.ModelBuilder("slider_crank", gravity=(0, 0, 0))
b.body("crank", joint=z, inertia=ps.Inertia(1.5, (0, 0, 0), FLYWHEEL * np.eye(3)))
slender = 0.4 * ROD**2 / 12 * np.diag([1e-2, 1.0, 1.0])
b.body("rod", "crank", z, ps.Pose(xyz=(CRANK, 0, 0)), ps.Inertia(0.4, (ROD / 3, 0, 0), slender))
b.body("piston", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(0.5, (0, 0, 0), 2e-4 * np.eye(3)))
b.frame("rod_end", "rod", ps.Pose(xyz=(ROD, 0, 0)))
b.loop("wrist_pin", "rod_end", "piston", joint=z)
model = b.build()

# Kinematics of a whole turn: every joint as a function of the crank's angle.
engine = ps.loops.PrimaryJoints(model, ["crank"], guess=[0.3, -0.4, CRANK + ROD])
angles = np.linspace(0, 2 * np.pi, 361)[:, None]
motion = engine.motion(angles, np.full((361, 1), SPEED), np.zeros((361, 1)))
stroke = np.ptp(motion.q[:, 2])
print(f"{model.name}: the piston's stroke is {1e3 * stroke:.1f} mm, twice the crank; {SPEED / 2 / np.pi * 60:.0f} rpm")

# What an even turn asks of the motor: inertia alone, positive and negative in turn, nothing over a whole turn.
torque = engine.inverse_dynamics(angles, np.full((361, 1), SPEED), np.zeros((361, 1)))[:, 0]
mean = np.trapezoid(torque, angles[:, 0]) / (2 * np.pi)
print(f"  an even turn needs {torque.min():.2f} … {torque.max():.2f} N m, {mean:.1e} N m on average")

# The two ways agree: with that torque, the closed loop turns evenly.
tau = np.zeros((361, 3))
tau[:, 0] = torque
found = ps.forward_dynamics(model, motion.q, motion.v, tau)
print(f"  RJK91's closed loop under it accelerates as WD89's by {np.abs(found - motion.a).max():.1e} of {SPEED**2:.0f}")

side = ps.constraint_forces(model, motion.q, motion.v, tau)["wrist_pin"][:, 4]
print(f"  the rod pushes the piston sideways by up to {np.abs(side).max():.1f} N")


def gas(t, q, v):
    """Pressure pushes the piston in on its way in; a load brakes the crank."""
    return [-0.05 * v[0], 0.0, -900.0 if v[2] < 0.0 else 0.0]


q0 = ps.assemble(model, [0.3, -0.4, CRANK + ROD], locked=["crank"])
v0 = ps.loops.assemble_velocity(model, q0, [20.0, 0.0, 0.0], locked=["crank"])
run = ps.simulate(model, q0, v0, 1.0, gas, rtol=1e-8, t_eval=np.linspace(0, 1, 2001))
turns = run.q[-1, 0] / (2 * np.pi)
gap = np.abs(run.loop_residual).max()
print(f"Under gas for a second: {turns:.1f} turns, {run.v[-1, 0]:.0f} rad/s at the end, the pin closed to {gap:.0e}")
