"""Compose a mechanism from parts: two PUMA 560 arms on a satellite, and a walk on its configuration manifold."""

import numpy as np

import phistar as ps

arm = ps.load("puma560", gravity=(0, 0, 0))

builder = ps.ModelBuilder("two_arms", gravity=(0, 0, 0))
builder.body("satellite", joint=ps.Free(), inertia=ps.Inertia(200.0, tensor=np.diag([60.0, 60.0, 80.0])))
builder.attach(arm, parent="satellite", placement=ps.Pose(xyz=(0.6, 0, 0)), prefix="left_")
builder.attach(arm, parent="satellite", placement=ps.Pose(xyz=(-0.6, 0, 0), rpy=(0, 0, np.pi)), prefix="right_")
# Corke's PUMA has links whose published inertias no body can have: strict=False keeps them, with a warning.
model = builder.build(strict=False)
print(model)

for joint in model.joints:
    kind, body = type(joint.kind).__name__, model.bodies[joint.body].name
    print(f"  {joint.name:14} {kind:9} q[{joint.q_slice.start}:{joint.q_slice.stop}] moves {body}")
for warning in model.warnings:
    print(f"  warning: {warning}")

# q holds the satellite's position and quaternion, v its twist: they add by `integrate`, not by +.
rng = np.random.default_rng(seed=0)
q = model.random(rng, shape=(1000,))
v = rng.standard_normal((1000, model.nv))
moved = model.integrate(q, 0.1 * v)
assert np.allclose(np.linalg.norm(moved[:, 3:7], axis=-1), 1.0)
print(f"difference undoes integrate to {np.abs(model.difference(q, moved) - 0.1 * v).max():.0e} on 1000 states")
