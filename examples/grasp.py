"""Two PUMA 560 arms carry a bar around a circle and squeeze it by 30 N on the way, with hard closures."""

import numpy as np

import phistar as ps

SQUEEZE, RADIUS, PERIOD = 30.0, 0.08, 2.0

# The arms: Corke's PUMA without its joint friction, one facing the other.
puma = ps.load("puma560")
puma = puma.replace(joints={j.name: ps.Revolute(j.axis, armature=j.kind.armature_diagonal) for j in puma.joints})
builder = ps.ModelBuilder("carriers")
builder.attach(puma, placement=ps.Pose(xyz=(-0.95, 0, 0)), prefix="left_")
builder.attach(puma, placement=ps.Pose(xyz=(0.95, 0, 0), rpy=(0, 0, np.pi)), prefix="right_")
arms = builder.build(strict=False)
angles = np.array([0.3, np.pi / 4, np.pi, 0.4, np.pi / 4 + 0.3, 0.2])
both = np.concatenate([angles, angles])

# The bar reaches from hand to hand; each hand is a loop, closed by a rigid grip.
hands = {side: ps.forward_kinematics(arms, both, f"{side}_tool") for side in ("left", "right")}
span = hands["right"][:3, 3] - hands["left"][:3, 3]
length, middle = np.linalg.norm(span), 0.5 * (hands["right"][:3, 3] + hands["left"][:3, 3])
heading = np.arctan2(span[1], span[0])
placed = ps.Pose(xyz=middle, rpy=(0, 0, heading))
rod = np.diag([0.01, 4.0 * length**2 / 12, 4.0 * length**2 / 12])
builder.body("bar", joint=ps.Free(), inertia=ps.Inertia(4.0, tensor=rod))
for side, hand in hands.items():
    seat = placed.inverse @ ps.Pose(xyz=hand[:3, 3], rotation=hand[:3, :3])
    builder.frame(f"{side}_seat", "bar", seat)
    builder.loop(f"{side}_grip", f"{side}_seat", f"{side}_tool", ps.Fixed())
model = builder.build(strict=False)
q0 = np.concatenate([both, middle, [0, 0, np.sin(heading / 2), np.cos(heading / 2)]])

# The object of the grasp, what it weighs with the arms on it, and whether the contact forces are unique.
grasp = ps.loops.Grasp(model, "bar")
report = ps.loops.grasp_dynamics(grasp, q0, np.zeros(model.nv), np.zeros(model.nv))
print(
    f"{model.name}: {model.nv} rates, {grasp.rows} closure rows of rank {report.rank}, condition {report.condition:.0f}"
)
masses = np.diag(ps.loops.effective_inertia(grasp, q0))[3:]
print(f"the bar's mass along the world's axes with both arms on it: {masses} kg")

# The law: the bar follows the circle; each hand presses along the bar, inward.
law = ps.control.ObjectControl(grasp, kp=400.0, kd=40.0)
inward = {"left": placed.rotation[:, 0], "right": -placed.rotation[:, 0]}
pressing = [np.concatenate([np.zeros(3), -SQUEEZE * hands[side][:3, :3].T @ inward[side]]) for side in hands]
internal = np.concatenate(pressing)  # row forces act on the hands, in the seats' axes
compiled = ps.compile(law, model)


def wanted(t):
    """The bar's pose, twist and acceleration on the circle, x-z, entered and left at rest."""
    s, rate, bend = _smooth(t / PERIOD)
    angle, speed, change = 2 * np.pi * s, 2 * np.pi * rate / PERIOD, 2 * np.pi * bend / PERIOD**2
    outward, along = np.array([np.cos(angle), 0, np.sin(angle)]), np.array([-np.sin(angle), 0, np.cos(angle)])
    pose = placed.matrix.copy()
    pose[:3, 3] += RADIUS * (outward - [1, 0, 0])
    still = np.zeros(3)
    twist = np.concatenate([still, RADIUS * speed * along])
    return pose, twist, np.concatenate([still, RADIUS * (change * along - speed**2 * outward)])


def _smooth(x):
    """Minimum jerk from 0 to 1, and its two derivatives."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10 - 15 * x + 6 * x**2), 30 * x**2 * (1 - x) ** 2, 60 * x * (1 - x) * (1 - 2 * x)


def control(t, q, v):
    return compiled(t, q, v, law.reference(*wanted(t), internal))


run = ps.simulate(model, q0, np.zeros(model.nv), PERIOD, control, rtol=1e-7, atol=1e-9)
bar = ps.forward_kinematics(model, run.q, "bar")
error = np.array([np.abs(bar[k, :3, 3] - wanted(t)[0][:3, 3]).max() for k, t in enumerate(run.t)])
forces = ps.loops.grasp_dynamics(
    grasp, run.q, run.v, np.array([control(t, q, v) for t, q, v in zip(run.t, run.q, run.v, strict=True)])
).forces
inside = ps.loops.internal_forces(grasp, run.q, forces)
squeezing = np.stack([np.sum(inside[:, i, 3:] * bar[:, :3, 0], axis=-1) for i in (0, 1)], axis=-1)
print(f"the bar stays within {error.max():.1e} m of the circle, the loops within {np.abs(run.loop_residual).max():.1e}")
print(
    f"squeeze: {squeezing[:, 0].min():.6f} to {squeezing[:, 0].max():.6f} N at the left hand, {SQUEEZE:g} N asked for"
)
