"""A PUMA wipes a wall at constant force: hybrid control of force and position in contact (Khatib 1987, KJR92 eq. 4).

The wall is a stiff spring with friction. The force along its normal is controlled, the rest of the tip's motion follows
an oval on the wall; the law takes the measured force out, so that motion and force do not feel each other.
"""

import numpy as np

import phistar as ps

PRESS, WALL, RUB = 20.0, 2e4, 0.3  # N wanted, N/m of the wall, friction coefficient
DURATION, DT = 4.0, 5e-4
FRAME = "tool"

model = ps.load("puma560_akb")
rest = np.array([0.0, -0.7, 0.5, 0.0, 0.9, 0.0])
start = ps.forward_kinematics(model, rest, FRAME)
surface = start[0, 3] + 0.01  # the wall stands across x, a centimetre ahead
law = ps.control.HybridControl(
    model, FRAME, selection=(0, 0, 0, 1, 0, 0), kp=200, force_mass=20, force_kd=100, posture_kp=0
)  # fmt: skip
wanted = np.array([0, 0, 0, PRESS, 0, 0])


def path(t):
    """Pose, [ω; ẋ] and its rate on an oval, (y, z) = (8 cm sin ωt, 5 cm (cos ωt − 1)); t a time or a traced number."""
    pace, size = np.pi, np.array([0.0, 0.08, 0.05])
    y, z = np.eye(3)[1] * size, np.eye(3)[2] * size
    c, s = np.cos(pace * t), np.sin(pace * t)
    place = start[:3, 3] + s * y + (c - 1.0) * z
    velocity, change = pace * (c * y - s * z), -(pace**2) * (s * y + c * z)
    pose = np.concatenate([np.concatenate([start[:3, :3], place[:, None]], axis=1), start[3:]])
    still = np.zeros(3)
    return pose, np.concatenate([still, velocity]), np.concatenate([still, change])


def contact(q, v):
    """Force of the wall on the tip, [moment; force]: a spring where the tip presses, and friction against sliding."""
    place = ps.forward_kinematics(model, q, FRAME)[..., :3, 3]
    velocity = ps.frame_velocity(model, q, v, FRAME)[..., 3:]
    press = WALL * np.maximum(place[..., 0:1] - surface, 0.0)
    slide = velocity[..., 1:]
    speed = np.sqrt(np.sum(slide * slide, axis=-1, keepdims=True) + 1e-6)  # 1 mm/s: friction without a jump
    none = np.zeros((*press.shape[:-1], 3))
    return np.concatenate([none, -press, -RUB * press * slide / speed], axis=-1)


def arm_at_the_wall(t, q, v):
    """The law's forces and, with them, the wall's as the joints feel it."""
    push = contact(q, v)
    pose, twist, change = path(t)
    return law(t, q, v, law.reference(pose, wanted, -push, twist, change, rest)) + ps.jacobian(model, q, FRAME).T @ push


v0 = np.linalg.solve(ps.jacobian(model, rest, FRAME), path(0.0)[1])
run = ps.rollout(model, rest, v0, dt=DT, steps=round(DURATION / DT), controller=arm_at_the_wall)
places = ps.forward_kinematics(model, run.q, FRAME)[:, :3, 3]
force = -contact(run.q, run.v)[:, 3:]
off = places[:, 1:] - np.array([path(t)[0][1:3, 3] for t in run.t])
touch = run.t[np.argmax(force[:, 0] > 0)]
settled = run.t > touch + 1.0

if __name__ == "__main__":
    print(f"{model.name} touches the wall at {touch:.2f} s and presses {force[:, 0].max():.1f} N at most")
    low, high = force[settled, 0].min(), force[settled, 0].max()
    print(f"a second later it presses between {low:.3f} and {high:.3f} N, {PRESS:g} wanted,")
    print(f"rubs with {np.linalg.norm(force[settled, 1:], axis=-1).mean():.1f} N,")
    print(f"and is on its oval within {1e6 * np.linalg.norm(off[settled], axis=-1).max():.0f} µm")
