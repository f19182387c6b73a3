"""Two PUMA 560 arms lift a box, swing it aside and tip it, each with three fingertips that only push: which forces?"""

import numpy as np

import phistar as ps

SAMPLES, LASTING, FRICTION, WIDE = 81, 2.0, 0.4, 0.2
SIDES = {"left": -1.0, "right": 1.0}
BASES = {"left": ps.Pose(xyz=(-0.75, 0, 0)), "right": ps.Pose(xyz=(0.75, 0, 0), rpy=(0, 0, np.pi))}
TIPS = 0.05 * np.array([[0, np.cos(x), np.sin(x)] for x in np.pi / 2 + 2 * np.pi / 3 * np.arange(3)])


def hand_on(side):
    """The tool's pose in the box's axes: its z points inward, its x up."""
    inward = -SIDES[side]
    turn = np.column_stack([[0, 0, 1], [0, -inward, 0], [inward, 0, 0]])
    return ps.Pose(xyz=(SIDES[side] * WIDE, 0, 0), rotation=turn)


# Two arms that face each other and a box between them; each fingertip is a loop that can only push.
puma = ps.load("puma560")
puma = puma.replace(joints={j.name: ps.Revolute(j.axis, armature=j.kind.armature_diagonal) for j in puma.joints})
builder, contacts = ps.ModelBuilder("lifters"), []
for side, base in BASES.items():
    builder.attach(puma, placement=base, prefix=f"{side}_")
builder.body("box", joint=ps.Free(), inertia=ps.Inertia(3.0, tensor=np.diag([0.05, 0.06, 0.07])))
for side, outward in SIDES.items():
    for k, tip in enumerate(TIPS):
        seat = ps.Pose(xyz=np.array([outward * WIDE, 0, 0]) + tip)
        builder.frame(f"{side}{k}_seat", "box", seat)
        builder.frame(f"{side}{k}_tip", f"{side}_tool", hand_on(side).inverse @ seat)
        builder.loop(
            f"{side}{k}", f"{side}{k}_seat", f"{side}{k}_tip", ps.loops.PointContact(FRICTION, (outward, 0, 0))
        )
        contacts.append(f"{side}{k}")
model = builder.build(strict=False)


def box_at(t):
    """The box's pose: up by 0.25 m, aside by 0.15 m and back, and tipped by 40 degrees about the line of the hands."""
    x = t / LASTING
    s = x**3 * (10 - 15 * x + 6 * x**2)
    return ps.Pose(xyz=(0, 0.15 * np.sin(np.pi * s), 0.3 + 0.25 * s), rpy=(np.radians(40.0) * s, 0, 0))


# The arms follow by inverse kinematics, each solution the next one's start; rates are differences along the path.
times, placed = np.linspace(0.0, LASTING, SAMPLES), []
bent = {"left": np.array([0.0, 0.9, 2.6, 0.0, 0.8, 0.0]), "right": np.array([0.0, 0.9, 2.6, 0.0, 0.8, 0.0])}
for t in times:
    box = box_at(t)
    for side, base in BASES.items():
        found = ps.control.inverse_kinematics(puma, (base.inverse @ box @ hand_on(side)).matrix, "tool", bent[side])
        assert found.success, (t, side)
        bent[side] = found.q
    turn = np.radians(40.0) * (t / LASTING) ** 3 * (10 - 15 * t / LASTING + 6 * (t / LASTING) ** 2)
    placed.append([*bent["left"], *bent["right"], *box.translation, np.sin(turn / 2), 0, 0, np.cos(turn / 2)])
q, h = np.array(placed), times[1]
ahead = model.difference(q[:-1], q[1:]) / h
v = np.concatenate([np.zeros((1, model.nv)), 0.5 * (ahead[1:] + ahead[:-1]), np.zeros((1, model.nv))])
a = np.concatenate([ahead[:1] / h, (ahead[1:] - ahead[:-1]) / h, -ahead[-1:] / h])
print(f"{len(contacts)} contacts, loops closed to {np.abs(ps.loop_residual(model, q)).max():.0e} m along the path")

# The least forces that carry it, every tip pressing with 2 N or more, no motor above the PUMA's own torques.
effort = np.concatenate([np.tile([97.6, 186.4, 89.4, 24.2, 20.1, 21.3], 2), np.ones(6)])
plan = ps.loops.plan_forces(model, q, v, a, contacts, effort=effort, least_push=2.0)
held = {side: plan.pressing[:, [name.startswith(side) for name in contacts]].sum(axis=1) for side in SIDES}
for side, pressing in held.items():
    print(f"{side} hand presses with {pressing.min():.1f} to {pressing.max():.1f} N")
print(f"friction used: at most {plan.slipping.max():.3f} of what there is; smallest push {plan.pressing.min():.2f} N")
print(f"joint forces: at most {(np.abs(plan.tau[:, :12]) / effort[:12]).max():.2f} of the limits")

# Joint forces and contact forces together make this motion, and none else does: ID(q, v, a) = tau + A*lambda.
left = ps.inverse_dynamics(model.tree, q, v, a) - plan.tau
left -= np.einsum("tij,ti->tj", ps.loops.closure_jacobian(model, q), plan.rows)
print(f"equations of motion to {np.abs(left).max():.0e} N m")
try:
    ps.loops.plan_forces(model, q, v, a, contacts, effort=0.2 * effort)
except ps.InfeasibleError as error:
    print(error)
