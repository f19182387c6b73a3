"""Inverse kinematics of a seven-axis arm: many poses at once, what is out of reach, and a straight line to follow."""

import numpy as np

import phistar as ps

# An arm of seven turning joints, 0.3 m from one to the next, axes alternating: one more than a pose needs.
builder, parent = ps.ModelBuilder("seven_axes"), "world"
for k in range(7):
    joint = ps.Revolute(axis=((0, 0, 1), (0, 1, 0))[k % 2], limits=(-2.6, 2.6), velocity=2.0)
    place = ps.Pose(xyz=(0, 0, 0.3 if k else 0.0))
    inertia = ps.Inertia(2.0, (0, 0, 0.15), np.diag([0.02, 0.02, 0.004]))
    builder.body(f"link{k + 1}", parent, joint=joint, placement=place, inertia=inertia)
    parent = f"link{k + 1}"
builder.frame("tip", body=parent, placement=ps.Pose(xyz=(0.05, 0, 0.2)))
model, frame = builder.build(), "tip"

# Two hundred poses that can be reached, and one that cannot.
rng = np.random.default_rng(seed=0)
targets = ps.forward_kinematics(model, model.random(rng, (200,)), frame)
found = ps.control.inverse_kinematics(model, targets, frame)
error = np.linalg.norm(found.residual[found.success], axis=-1).max()
print(f"{found.success.sum()} of 200 poses reached, to {error:.0e}; {found.iterations.mean():.0f} steps on average")
for reason in sorted(set(found.reason[~found.success])):
    print(f"  not reached: {reason}")

beyond = np.eye(4)
beyond[:3, 3] = (2.5, 0.0, 0.5)
print(f"A pose beyond reach: {ps.control.inverse_kinematics(model, beyond, frame, starts=3).reason}")

# Along a straight line, each pose from the last solution: the motion stays continuous.
q = np.array([0.3, 0.6, -0.2, 0.9, 0.4, 0.7, 0.0])
start = ps.forward_kinematics(model, q, frame)
end = start.copy()
end[:3, 3] += (0.1, -0.3, 0.15)
line = ps.control.pose_trajectory([start, end], velocity=0.3, acceleration=1.0)
path = []
for pose in line(np.linspace(0, line.duration, 50)).pose:
    q = ps.control.inverse_kinematics(model, pose, frame, q, starts=1).q
    path.append(q)
steps = np.abs(np.diff(path, axis=0)).max()
print(f"A line of {line.duration:.2f} s, limited by {line.limited_by}; the largest step of a joint is {steps:.3f} rad")

# The same way in joint coordinates, as fast as the joints may turn.
motion = ps.control.joint_trajectory(model, [path[0], path[-1]])
fastest = np.abs(motion(np.linspace(0, motion.duration, 500)).v).max()
print(f"From end to end in {motion.duration:.2f} s, limited by {motion.limited_by}: {fastest:.3f} rad/s")
