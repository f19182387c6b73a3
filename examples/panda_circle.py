"""A Panda draws a circle while its elbow moves: operational-space control (KJR92 eq. 4), a posture in the null space.

The law, its moving reference and the robot run as one compiled rollout, the forces held for a millisecond each; then
once more as a differential equation, where only the law's own error is left. Without example-robot-data a chain of
seven joints stands in.
"""

import numpy as np

import phistar as ps

RADIUS, TURN, DURATION, DT = 0.1, 2.0, 4.0, 1e-3  # m, s per turn, s, s
SWAY, PACE = 1.2, 4.0  # rad of the posture's third joint, and s per sway


def arm():
    """Robot, frame at its tip, and where it starts."""
    from phistar.cli.benchmark.robots import ROBOTS, available

    if available("panda"):
        return ROBOTS["panda"](), "panda_hand_tcp", np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.8])
    print("pip install 'phistar[peers]' brings the Panda's file; a chain of seven joints draws the circle instead.")
    return ps.chain(7), "tip", np.array([0.3, -0.5, 0.6, 0.4, -0.7, 0.5, 0.3])


model, frame, rest = arm()
law = ps.control.OperationalSpaceControl(model, frame, kp=400, posture_kp=60)
start = ps.forward_kinematics(model, rest, frame)


def path(t):
    """The pose on the circle, [ω; ẋ] and its rate, and the posture; for a time or a traced number."""
    pace, sway = 2 * np.pi / TURN, 2 * np.pi / PACE
    c, s = np.cos(pace * t), np.sin(pace * t)
    y, z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    place = start[:3, 3] + RADIUS * (s * y + (c - 1.0) * z)
    velocity, change = RADIUS * pace * (c * y - s * z), -RADIUS * pace**2 * (s * y + c * z)
    pose = np.concatenate([np.concatenate([start[:3, :3], place[:, None]], axis=1), start[3:]])
    still = np.zeros(3)
    posture = rest + SWAY * np.sin(sway * t) * np.eye(model.nv)[2]
    return pose, np.concatenate([still, velocity]), np.concatenate([still, change]), posture


def controller(t, q, v):
    """The law, and what friction takes given back to the joints."""
    return law(t, q, v, law.reference(*path(t))) - ps.joint_friction(model, q, v)


def without_sway(t, q, v):
    return law(t, q, v, law.reference(*path(t)[:3], rest)) - ps.joint_friction(model, q, v)


def tip_errors(t, q):
    """Distance from the circle's point, m, at each time."""
    wanted = np.array([path(time)[0][:3, 3] for time in t])
    return np.linalg.norm(ps.forward_kinematics(model, q, frame)[:, :3, 3] - wanted, axis=-1)


v0 = np.linalg.pinv(ps.jacobian(model, rest, frame)) @ path(0.0)[1]  # on the circle from the first moment
steps = round(DURATION / DT)
run = ps.rollout(model, rest, v0, dt=DT, steps=steps, controller=controller)
error = tip_errors(run.t, run.q)
still = ps.rollout(model, rest, v0, dt=DT, steps=steps, controller=without_sway)
elbow = model.bodies[3].name
apart = ps.forward_kinematics(model, run.q, elbow)[:, :3, 3] - ps.forward_kinematics(model, still.q, elbow)[:, :3, 3]
exact = ps.simulate(model, rest, v0, 1.0, control=ps.compile(controller, model), t_eval=np.linspace(0, 1.0, 101))

if __name__ == "__main__":
    print(f"{model.name}: {ps.compile(law).operations} operations for the forces of one state, four sweeps")
    print(f"the tip is on its circle within {1e6 * error.max():.0f} µm with forces held for {1e3 * DT:g} ms,")
    print(f"and within {tip_errors(exact.t, exact.q).max():.0e} m where they are not held;")
    print(
        f"the elbow is up to {100 * np.linalg.norm(apart, axis=-1).max():.0f} cm from where it would be without a sway"
    )
