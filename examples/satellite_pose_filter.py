"""A tumbling satellite seen ten times a second, with a centimetre and a degree of noise: where it is, how it spins, and
what its moments of inertia are to each other."""

import numpy as np

import phistar as ps
from phistar.spatial.rotations import exp

moments = np.array([130.0, 100.0, 70.0])
builder = ps.ModelBuilder("satellite", gravity=(0, 0, 0))
builder.body("satellite", joint=ps.Free(), inertia=ps.Inertia(200.0, (0, 0, 0), np.diag(moments)))
model = builder.build()
run = ps.rollout(model, model.neutral(), [0.4, 0.7, 0.2, 0.02, 0.0, -0.01], dt=0.01, steps=1500)

rng = np.random.default_rng(seed=0)
times, poses = run.t[::10], ps.forward_kinematics(model, run.q[::10], "satellite")
seen = poses.copy()
seen[:, :3, 3] += 0.01 * rng.normal(size=(len(times), 3))
seen[:, :3, :3] = poses[:, :3, :3] @ exp(np.radians(1.0) * rng.normal(size=(len(times), 3)))

body = ps.estimation.PoseFilter(position_noise=0.01, rotation_noise=np.radians(1.0), spin=1.0, speed=0.1)
found = body.run(times, seen)
for k in (10, 50, len(times) - 1):
    spin, truth = found[k].spin, run.v[10 * k, :3]
    angle = np.degrees(np.arccos(spin @ truth / np.linalg.norm(spin) / np.linalg.norm(truth)))
    ratios = found[k].moments / found[k].moments[2]
    print(f"{times[k]:4.1f} s: spin axis {angle:.2f}° off, J₁/J₃ {ratios[0]:.2f}, J₂/J₃ {ratios[1]:.2f}")
print(f"truth: J₁/J₃ {moments[0] / moments[2]:.2f}, J₂/J₃ {moments[1] / moments[2]:.2f}")
