"""Swing up a double pendulum whose motors are too weak to lift it: multiple shooting with CasADi and IPOPT.

The dynamics are phistar's, replayed on CasADi's symbols. The answer is then checked without CasADi: every interval is
integrated anew, in one batch, by the compiled forward dynamics.
"""

import casadi as ca
import numpy as np

import phistar as ps

DURATION, INTERVALS, STEPS = 3.0, 60, 4  # s, intervals of constant torque, integration steps in each
LIMIT, FASTEST = 3.0, 12.0  # N m, rad/s

rod = ps.Inertia(1.0, com=(0, 0, -0.25), tensor=np.diag([0.02, 0.02, 0.001]))
hinge = ps.Revolute(axis=(0, 1, 0))
builder = ps.ModelBuilder("double_pendulum")
builder.body("upper", joint=hinge, inertia=rod)
builder.body("lower", parent="upper", joint=hinge, placement=ps.Pose(xyz=(0, 0, -0.5)), inertia=rod)
builder.frame("tip", body="lower", placement=ps.Pose(xyz=(0, 0, -0.5)))
model = builder.build()
hanging, upright = np.zeros(4), np.array([np.pi, 0, 0, 0])  # q and v
load = ps.gravity_load(model, [np.pi / 2, 0])
print(f"motors give {LIMIT} N m; to hold the arm out sideways takes {load[0]:.1f} and {load[1]:.1f} N m")


def runge_kutta(rate, x, duration, steps):
    """Steps of the classical method; for arrays and for symbols."""
    h = duration / steps
    for _ in range(steps):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        k4 = rate(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


# The problem: least effort over all motions that the dynamics allow.
acceleration = ps.casadi_function(ps.forward_dynamics, model)
x, tau, h = ca.SX.sym("x", 4), ca.SX.sym("tau", 2), DURATION / INTERVALS
after = runge_kutta(lambda y: ca.vertcat(y[2:], acceleration(y[:2], y[2:], tau)), x, h, STEPS)
step = ca.Function("step", [x, tau], [after])

problem = ca.Opti()
X, U = problem.variable(4, INTERVALS + 1), problem.variable(2, INTERVALS)
problem.subject_to(X[:, 1:] == step.map(INTERVALS)(X[:, :-1], U))
problem.subject_to(X[:, 0] == hanging)
problem.subject_to(X[:, -1] == upright)
problem.subject_to(problem.bounded(-LIMIT, ca.vec(U), LIMIT))
problem.subject_to(problem.bounded(-FASTEST, ca.vec(X[2:, :]), FASTEST))
problem.minimize(h * ca.sumsqr(U))
problem.set_initial(X, np.linspace(hanging, upright, INTERVALS + 1).T)
problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 1000})
solution = problem.solve()
states, torques = np.array(solution.value(X)).T, np.array(solution.value(U)).T
iterations, effort = solution.stats()["iter_count"], solution.value(problem.f)
print(f"IPOPT: {iterations} iterations, effort {effort:.2f} N²m²s, largest torque {np.abs(torques).max():.2f} N m")


# The check: all intervals at once, in finer steps.
def rate(y):
    return np.concatenate([y[:, 2:], ps.forward_dynamics(model, y[:, :2], y[:, 2:], torques)], axis=1)


fine = runge_kutta(rate, states[:-1], h, 10 * STEPS)
defect = np.abs(fine - states[1:]).max()
gained = ps.potential_energy(model, upright[:2]) - ps.potential_energy(model, hanging[:2])
work = np.sum(torques * np.diff(states[:, :2], axis=0))
print(f"largest defect of an interval {defect:.0e}; the motors' work {work:.2f} J lifted the arm by {gained:.2f} J")
assert defect < 1e-2 and abs(work - gained) < 0.01 * gained

for k in range(0, INTERVALS + 1, 6):
    tip = ps.forward_kinematics(model, states[k, :2], "tip")[:3, 3]
    print(f"  t = {k * h:4.2f} s   q = {states[k, 0]:6.2f} {states[k, 1]:6.2f}   tip height {tip[2]:5.2f} m")
