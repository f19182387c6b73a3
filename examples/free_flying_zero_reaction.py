"""The tool of a free-flying arm goes out along a line and back, and the satellite does not turn.

Joint rates are chosen in the reaction null space (Nenchev and Yoshida): the base's attitude must not move, W_ω θ̇ = 0,
and the tool must, J_g θ̇ = ẋ. A planar arm of four joints has one rate to spare, used to stay near where it began. The
same line without care for the base is flown for comparison. Both by joint forces alone, in rollouts that keep momentum.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import phistar as ps

DURATION, STEP, REACH = 10.0, 2e-3, np.array([-0.2, 0.25])  # s, s, m: there, and back again
LENGTHS, MASSES = (0.6, 0.6, 0.5, 0.3), (8.0, 8.0, 6.0, 3.0)

builder = ps.ModelBuilder("arm_on_satellite", gravity=(0, 0, 0))
builder.body("bus", joint=ps.Free(), inertia=ps.Inertia(80.0, (0, 0, 0), np.diag([8.0, 9.0, 10.0])))
parent, place = "bus", (0.5, 0.0, 0.0)
for k, (length, mass) in enumerate(zip(LENGTHS, MASSES, strict=True)):
    link = ps.Inertia(mass, (length / 2, 0, 0), mass * np.diag([0.002, 0.03, 0.03]))
    builder.body(
        f"link{k}", parent=parent, joint=ps.Revolute(axis=(0, 0, 1)), placement=ps.Pose(xyz=place), inertia=link
    )
    parent, place = f"link{k}", (length, 0.0, 0.0)
builder.frame("tool", parent, ps.Pose(xyz=place))
model, ff = builder.build(), ps.freeflying
home = np.array([1.0, -1.3, -0.9, 0.8])
start = np.concatenate([model.neutral()[:7], home])


def rates(angles: np.ndarray, velocity: np.ndarray, careful: bool) -> np.ndarray:
    """Joint rates that move the tool as wanted, in the base's axes; `careful` of the base's attitude."""
    q = np.concatenate([start[:7], angles])
    rows, wanted = ff.generalized_jacobian(model, q, "tool")[3:5], velocity
    if careful:
        rows, wanted = np.vstack([ff.wiggle_jacobian(model, q)[2], rows]), np.concatenate([[0.0], velocity])
    back = np.linalg.pinv(rows)
    return back @ wanted + (np.eye(4) - back @ rows) @ (0.3 * (home - angles))


def pace(t: float) -> float:
    """Along the line, per second: there in half the time, and back."""
    return np.sin(2 * np.pi * t / DURATION) ** 2 * np.sign(DURATION / 2 - t) * 4 / DURATION


def flown(careful: bool):
    """A plan of the joints, the joint forces for it by the two-way inverse dynamics (where the base is does not matter
    to them), and what they do: held over steps, with their value in the middle."""
    knots = np.linspace(0.0, DURATION, 1001)
    motion = lambda t, angles: rates(angles, REACH * pace(t), careful)  # noqa: E731
    path = solve_ivp(motion, (0.0, DURATION), home, t_eval=knots, max_step=0.1, rtol=1e-7, atol=1e-9)
    plan = CubicSpline(knots, path.y.T)
    t = np.arange(STEP / 2, DURATION, STEP)
    q = np.concatenate([np.broadcast_to(start[:7], (len(t), 7)), plan(t)], axis=1)
    v = np.concatenate([ff.wiggle_velocity(model, q, plan(t, 1)), plan(t, 1)], axis=1)
    tau = ff.inverse_dynamics(model, q, v, plan(t, 2))
    v0 = np.concatenate([ff.wiggle_velocity(model, start, plan(0.0, 1)), plan(0.0, 1)])
    controls = np.concatenate([np.zeros((len(t), 6)), tau], axis=1)
    return ps.rollout(model, start, v0, controls, dt=STEP, method="midpoint")


runs = {careful: flown(careful) for careful in (False, True)}
turned = {careful: np.degrees(2 * np.arcsin(np.abs(run.q[:, 5]))) for careful, run in runs.items()}
for careful, how in ((False, "without care for the base"), (True, "in the reaction null space")):
    print(f"{how:26s}: the base turns up to {turned[careful].max():.2g}°")
places = ps.forward_kinematics(model, runs[True].q, "tool")[:, :2, 3]
missed = np.linalg.norm(places[len(places) // 2] - places[0] - REACH)
print(f"the tool has gone {np.linalg.norm(REACH):.3f} m along its line, to {1e3 * missed:.3f} mm, and comes back")
assert turned[True].max() < 0.01 < 0.5 < turned[False].max()
assert missed < 1e-3
