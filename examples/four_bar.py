"""A crank-rocker four-bar: told with a cut joint, assembled, its rank and forces read, turned by a motor, kept closed.

Prints what the simulation says of itself: the closure's residual, the energy's balance, rank and condition.
"""

import numpy as np

import phistar as ps

CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.9, 0.7, 0.8
z = ps.Revolute(axis=(0, 0, 1))


def rod(length):
    """A slender rod of 2 kg a metre along x."""
    mass = 2.0 * length
    return ps.Inertia(mass, (length / 2, 0, 0), mass * length**2 / 12 * np.diag([1e-3, 1.0, 1.0]))


b = ps.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
b.body("crank", joint=z, inertia=rod(CRANK))
b.body("coupler", "crank", z, ps.Pose(xyz=(CRANK, 0, 0)), rod(COUPLER))
damped = ps.Revolute(axis=(0, 0, 1), damping=0.05)
b.body("rocker", "world", damped, ps.Pose(xyz=(GROUND, 0, 0)), rod(ROCKER))
b.frame("coupler_end", "coupler", ps.Pose(xyz=(COUPLER, 0, 0)))
b.frame("rocker_end", "rocker", ps.Pose(xyz=(ROCKER, 0, 0)))
b.loop("pin", "coupler_end", "rocker_end", joint=z)
model = b.build()

ways = ps.loops.assemblies(model, [0.8, 0.2, 1.5], locked=["crank"])
q0 = ways[0]
v0 = ps.loops.assemble_velocity(model, q0, [2.0, 0.0, 0.0], locked=["crank"])
report = ps.loops.loop_report(model, q0)
print(f"{model.name}: {len(ways)} ways to close it with the crank at {q0[0]:g} rad; q = {np.round(q0, 4)}")
print(f"  the pin has {report.rows} equations of rank {report.rank}: {report.freedom} degree of freedom is left")

still = ps.constraint_forces(model, q0, v0, np.zeros(3))["pin"]
print(f"  on the coupler the pin exerts {np.round(still[3:5], 3)} N, and nothing out of the plane: {still[5]:.1g} N")


def motor(t, q, v):
    """Brings the crank to 6 rad/s."""
    return [0.8 * (6.0 - v[0]), 0.0, 0.0]


run = ps.simulate(model, q0, v0, 4.0, motor)
balance = run.energy - run.work - run.energy[0]
gap, rate = np.abs(run.loop_residual).max(), np.abs(run.loop_rate).max()
print(f"Four seconds, {len(run.t)} steps, {run.q[-1, 0] / (2 * np.pi):.2f} turns of the crank:")
print(f"  the pin stays closed to {gap:.1e} m and rad, its rates to {rate:.1e}")
print(f"  energy less work keeps to {np.ptp(balance):.1e} J; the motor did {run.work[-1]:.3f} J, damping included")
print(f"  rank {run.loop_rank.min()} throughout, condition at most {run.loop_condition.max():.1f}")

many = ps.rollout(model, np.tile(q0, (200, 1)), v0 * np.linspace(0, 1, 200)[:, None], dt=1e-3, steps=1000)
print(f"200 of them for a second in one kernel: closed to {np.abs(ps.loop_residual(model, many.q)).max():.1e}")
