"""A satellite turns by waving its arm, as a falling cat turns: no thrust, no wheel, no momentum.

The joints run through a closed loop and end where they began; the base does not. The loop is found by optimization
through the CasADi door: the base's velocity is RJ2W's WIGGLE velocity, one statement. The plan is then flown: joint
forces by the two-way inverse dynamics, motion by a rollout that keeps the momentum.
"""

import casadi as ca
import numpy as np

import phistar as ps

DURATION, INTERVALS, HARMONICS = 20.0, 60, 2
TURN = np.radians(25.0)  # wanted, about the base's x axis, in which no joint of the arm turns

builder = ps.ModelBuilder("satellite", gravity=(0, 0, 0))
builder.body("bus", joint=ps.Free(), inertia=ps.Inertia(60.0, (0, 0, 0), np.diag([4.0, 5.0, 5.0])))
parent, place = "bus", (0.4, 0.0, 0.0)
for name, axis in (("shoulder", (0, 0, 1)), ("upper", (0, 1, 0)), ("lower", (0, 1, 0))):
    link = ps.Inertia(2.0 if name == "shoulder" else 8.0, (0.35, 0, 0), np.diag([0.02, 0.4, 0.4]))
    builder.body(name, parent=parent, joint=ps.Revolute(axis=axis), placement=ps.Pose(xyz=place), inertia=link)
    parent, place = name, (0.1, 0.0, 0.0) if name == "shoulder" else (0.8, 0.0, 0.0)
model = builder.build()
n = ps.freeflying.joint_count(model)
rest = np.array([0.0, 0.6, -1.2])

# The plan: θ(t) = rest + Σ a (cos 2πks − 1) + b sin 2πks, with s(t) from 0 to 1, at rest at both ends.


def loop(coefficients, s):
    """θ and dθ/ds of the closed loop, for numbers and for symbols."""
    place, slope = 0 * coefficients[0] + rest, 0 * coefficients[0]
    for k in range(1, HARMONICS + 1):
        a, b, rate = coefficients[2 * k - 2], coefficients[2 * k - 1], 2 * np.pi * k
        place = place + a * (ca.cos(rate * s) - 1) + b * ca.sin(rate * s)
        slope = slope + rate * (b * ca.cos(rate * s) - a * ca.sin(rate * s))
    return place, slope


wiggle = ps.casadi_function(ps.freeflying.wiggle_velocity, model, rows={"joint_rates": n})


def turning(quaternion, angles, rates):
    """½ quaternion ⊗ ω, the base's velocity being that of a robot without momentum."""
    twist = wiggle(ca.vertcat(ca.SX.zeros(3), quaternion, angles), rates)
    x, y, z, w = ca.vertsplit(quaternion)
    a, b, c = ca.vertsplit(twist[:3])
    return 0.5 * ca.vertcat(w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a, -x * a - y * b - z * c)


waves = [ca.SX.sym(f"c{i}", n) for i in range(2 * HARMONICS)]
start, s0, h = ca.SX.sym("q", 4), ca.SX.sym("s"), 1.0 / INTERVALS


def rate(quaternion, s):
    angles, slopes = loop(waves, s)
    return turning(quaternion, angles, slopes)


k1 = rate(start, s0)
k2 = rate(start + h / 2 * k1, s0 + h / 2)
k3 = rate(start + h / 2 * k2, s0 + h / 2)
k4 = rate(start + h * k3, s0 + h)
step = ca.Function("step", [start, s0, *waves], [start + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)])

problem = ca.Opti()
chosen = [problem.variable(n) for _ in waves]
attitude = ca.DM([0, 0, 0, 1])
for i in range(INTERVALS):
    attitude = step(attitude, i * h, *chosen)
problem.subject_to(attitude[:3] == ca.DM([np.sin(TURN / 2), 0, 0]))
for s in np.linspace(0, 1, 21)[1:-1]:
    problem.subject_to(problem.bounded(-2.2, loop(chosen, s)[0], 2.2))
problem.minimize(sum((i // 2 + 1) ** 2 * ca.sumsqr(wave) for i, wave in enumerate(chosen)))
for i, wave in enumerate(chosen[:2]):
    problem.set_initial(wave, [0.8 * (i == 0), 0.8 * (i == 1), 0.3])
problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 500})
solution = problem.solve()
found = [np.array(solution.value(wave)) for wave in chosen]
print(f"IPOPT: {solution.stats()['iter_count']} iterations, largest wave {max(np.abs(w).max() for w in found):.2f} rad")

# The flight: joint forces in the middle of every step, held over it.
STEP = 2e-3
t = np.arange(0.0, DURATION + STEP / 2, STEP / 2)
u = t / DURATION
s, ds, dds = u**3 * (10 - 15 * u + 6 * u**2), 30 * u**2 * (1 - u) ** 2, 60 * u * (1 - u) * (1 - 2 * u)
angles = np.stack([loop(found, x)[0] for x in s])
slopes = np.stack([loop(found, x)[1] for x in s])
bends = (np.stack([loop(found, x + 1e-5)[1] - loop(found, x - 1e-5)[1] for x in s])) / 2e-5
rates = slopes * ds[:, None] / DURATION
faster = (bends * ds[:, None] ** 2 + slopes * dds[:, None]) / DURATION**2
still = np.broadcast_to(model.neutral()[:7], (len(t), 7))  # joint forces do not depend on where the base is
q = np.concatenate([still, angles], axis=1)
v = np.concatenate([ps.freeflying.wiggle_velocity(model, q, rates), rates], axis=1)
tau = ps.freeflying.inverse_dynamics(model, q, v, faster)
controls = np.concatenate([np.zeros((len(t), 6)), tau], axis=1)[1::2]
run = ps.rollout(model, q[0], v[0], controls, dt=STEP, method="midpoint")

turned = 2 * np.arctan2(run.q[:, 3:6] @ np.array([1.0, 0, 0]), run.q[:, 6])
momentum = np.abs(ps.freeflying.momentum(model, run.q[::50], run.v[::50])).max()
print(f"flown: the base turned {np.degrees(turned[-1]):.3f}° about x (wanted {np.degrees(TURN):.0f}°),")
print(
    f"       the joints are back to {np.abs(run.q[-1, 7:] - rest).max():.1e} rad, largest momentum {momentum:.1e} Nms"
)
print(f"       largest joint force {np.abs(tau).max():.2f} Nm")
assert abs(turned[-1] - TURN) < 1e-3
assert np.abs(run.q[-1, 7:] - rest).max() < 1e-3
assert momentum < 1e-10
