# %% [markdown]
# # Space manipulators with contact
#
# Walker and Dionise, *On the Simulation of Space Based Manipulators with Contact*, 1989 (WD89): a world model for closed chains, inverse dynamics by primary joints, contact by the distance of convex shapes, and two PUMA 560 arms that try to grapple a floating object. The reference acceleration is Q̈_r = Q̈_d + K_dQ̇_e + K_pQ_e (dots are lost in print).

# %%
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar.capture.baseline import TrajectorySettings
from phistar.model.wd89 import binary_tree, render
from phistar.sim.motion import Motion
from phistar.sim.world import World
from phistar.view.report_picture import camera_around, image, solids


def agree(name, a, b, within=1e-9):
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max())
    print(f"{name}: agree to {far:.0e}")
    assert far < within


# %% [markdown]
# ## §2.1 The world model: Fig. 1
#
# Fig. 2, the vectors of one link, and Fig. 3, the distance between two polytopes, are drawings and left out. Loops are cut where terminating links then stand; links with several joints get connector links; the whole is a binary tree. The loop equations (8) and (9) are its last lines.

# %%
model = ps.load("wd89_fig1")
print(render(binary_tree(model)))

# %% [markdown]
# ## §2.2, 2.3 Kinematics and constraints (eqs. 1-9)
#
# The mechanism has three degrees of freedom; the primary joints are q₅, q₇ and q₃. All other joints are functions of them, q = U(Q) (4), with rates q̇ = EQ̇ (5) and accelerations q̈ = EQ̈ + ĖQ̇ (6).

# %%
guess = ps.assemble(model, model.neutral())
print("joints:", [joint.name for joint in model.joints], "freedom:", ps.loops.loop_report(model, guess).freedom)
names = [joint.name for joint in model.joints]
primary = [name for name in names if name in ("joint3", "joint5", "joint7")]
machine = ps.loops.PrimaryJoints(model, primary, guess=guess)
Q = np.array([guess[model.joint(name).q_slice][0] for name in primary])
Qd, Qdd = np.array([0.3, -0.2, 0.4]), np.array([0.5, 0.1, -0.3])
path = machine.derivatives(Q, Qd, Qdd)
print(f"loops closed to {np.abs(ps.loop_residual(model, path[0])).max():.0e} m")
h = 1e-5
ahead, behind = (machine.configuration(Q + s * h * Qd + 0.5 * h * h * Qdd) for s in (1, -1))
agree("(5), by differences", (ahead - behind) / (2 * h), path[1], 1e-6)
agree("(6), by differences", (ahead - 2 * path[0] + behind) / h**2, path[2], 1e-3)
columns = [(machine.configuration(Q + h * x) - machine.configuration(Q - h * x)) / (2 * h) for x in np.eye(3)]
E = np.stack(columns, axis=1)  # (7), ∂U/∂Q
agree("(7) EQ̇", E @ Qd, path[1], 1e-6)
tree = model.tree
S = ps.algebra(tree)
V = S.V.apply(path[0], v=path[1])  # (2); connectors, which have no joint, are frames here
for k, joint in enumerate(tree.joints):
    pose = ps.forward_kinematics(tree, path[0], joint.name)  # (1), the product of the joints' transforms
    spin = pose[:3, :3] @ V[6 * k : 6 * k + 3]
    own = ps.frame_velocity(tree, path[0], path[1], joint.name)[:3]
    agree(f"(1), (2), {joint.name}", spin, own)

# %% [markdown]
# ## §2.4 Dynamics (eqs. 10-12)
#
# Inverse dynamics in three steps: joint motions from Q, the forces ρ as if the loops were open, τ = E\*ρ. It agrees with RJK91's closed chains, which have no primary joints at all.

# %%
tau = machine.inverse_dynamics(Q, Qd, Qdd)
print("τ =", tau.round(4))
H, phi, M = S.H.dense(path[0]), S.phi.dense(path[0]), S.M.dense(path[0])
lift = S.E.dense(path[0]).T @ np.concatenate([np.zeros(3), -model.gravity])
motion = phi.T @ (H.T @ path[2] + S.a.apply(path[0], v=path[1]) + lift)  # (3), gravity as a lift of the base
inertial = M @ motion + S.b.apply(path[0], v=path[1])  # (10)
rho = H @ phi @ inertial  # (11), (12); no friction
agree("(3), (10)-(12) and τ = E*ρ", E.T @ rho, tau, 1e-6)
carried = np.zeros(model.nv)  # τ at the primary joints, nothing at the others
carried[[model.joint(name).v_slice.start for name in primary]] = tau
agree("and by RJK91's closed chain", ps.forward_dynamics(model, path[0], path[1], carried), path[2])
mass = machine.mass_matrix(Q)
agree("H(Q) is symmetric", mass, mass.T)

# %% [markdown]
# ## §2.5 Contact
#
# f_c = K_p(ε − d)/d − K_dḋ for d < ε. As printed it jumps at d = ε and pulls on what leaves; here damping fades in and the force ends at zero. `Surface(pulls=True)` is the printed law.

# %%
epsilon, strength, damping = 2e-3, 15.0, 200.0
d = np.linspace(1e-4, 2.2e-3, 400)
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for rate, color in ((-0.01, "C0"), (0.01, "C1")):
    printed = np.where(d < epsilon, strength * (epsilon - d) / d - damping * rate, 0.0)
    axis.plot(1e3 * d, printed, color=color, label=f"as printed, ḋ = {1e3 * rate:+.0f} mm/s")
axis.axhline(0, color="0.7", lw=0.8)
axis.set(xlabel="distance [mm]", ylabel="force [N]", ylim=(-5, 30))
axis.legend(frameon=False)
plt.show()
pull = strength * (epsilon - 1.8e-3) / 1.8e-3 - damping * 0.01
print(f"at 1.8 mm and 10 mm/s apart the printed law pulls with {-pull:.2f} N")

# %% [markdown]
# ## §2.5 The step
#
# Steps are limited by the change of joints and by the predicted time of collision (ε − d)/ḋ. A ball on a floor:

# %%
plant = ps.Plant(name="ball")
plant.add_body("ground", ps.Geometry(ps.Plane(), name="floor", role="collision"), free=False)
plant.add_body("ball", ps.Sphere(0.1), inertia=1.0)
plant.default_contact(ps.Surface(restitution=0.6, strength=1e4))
world = World(plant.system)
motion = Motion(world, lambda t, q, v: np.zeros(6), rtol=1e-6)
times, heights = [], []
for moment in motion.moments(world.start([0, 0, 0.5, 0, 0, 0, 1], np.zeros(6)), 0.0, stops=np.linspace(0.02, 1.2, 60)):
    times.append(moment.time)
    heights.append(moment.state.q[2] - 0.1)
steps = np.diff(times)
print(f"{len(times)} steps, from {steps.min():.0e} to {steps.max():.0e} s; nearest {1e3 * min(heights):.2f} mm")
figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
axis.plot(times, heights, ".-")
axis.set(xlabel="time [s]", ylabel="gap [m]")
plt.show()

# %% [markdown]
# ## §3 Control
#
# The inverse dynamics controller: τ = H(Q)Q̈_r + C, by the same recursion with the reference acceleration in place of the true one. One PUMA follows a path; the paper's settling time in the approach is about one second:

# %%
arm = ps.load("puma560", friction=False)
gains = TrajectorySettings(1.0)  # settling in one second, as the paper reports
law = ps.control.InverseDynamicsControl(arm, kp=gains.kp, kd=gains.kd)
start, goal = np.array([0.2, -0.7, 0.3, 0.4, 0.9, 0.1]), np.array([0.6, -0.4, 0.1, 0.2, 0.6, 0.4])
line = ps.control.joint_trajectory(arm, [start, goal], velocity=1.0, acceleration=3.0)
run = ps.rollout(arm, start + 0.05, np.zeros(6), dt=1e-3, steps=1500, controller=law.following(line))
error = np.abs(run.q - np.array([line(min(t, line.duration)).q for t in run.t])).max(axis=1)
print(f"an error of {error[0]:.2f} rad at the start has fallen to 2% after {run.t[error > 0.02 * error[0]][-1]:.2f} s")

# %% [markdown]
# ## §4 The grapple
#
# Two PUMA 560 arms on a base, three fingers each, and a floating object. Fig. 4, drawn by the library from the bundled scene:

# %%
scene = ps.Scene.load("grapple").setting(0)
solid, ground = solids(scene.model, scene.start[0])
size = (640, 360)
plt.figure(figsize=(8, 4.5))
plt.imshow(image(solid, ground, camera_around([solid.corners], size, direction=(1.7, -0.8, 0.9)), size))
plt.axis("off")
plt.show()
print(scene.model)

# %% [markdown]
# "The controller was not successful in obtaining a stable grappling of the object." One cause is in the grasp itself. Six frictionless points push along the normals of two opposite faces; what they can push is a matrix of wrenches [p × n; n], and its rank says how many motions they resist. Friction, or three radial grooves of 45° in each face with the paper's frictionless law, give the missing directions.

# %%
angles = np.array([0, 2, 4]) * np.pi / 3
points = [
    (np.array([0.07 * np.cos(a), side * 0.2, 0.07 * np.sin(a)]), np.array([0.0, -side, 0.0]))
    for side in (-1.0, 1.0)
    for a in angles
]


def wrench(point, way):
    return np.concatenate([np.cross(point, way), way])


flat = [wrench(p, n) for p, n in points]
rubbing = [wrench(p, way) for p, _ in points for way in np.eye(3)]
grooved = []
for p, n in points:
    across = np.cross(n, p - p[1] * np.array([0, 1.0, 0]))
    across /= np.linalg.norm(across)
    grooved += [wrench(p, (n + side * across) / np.sqrt(2)) for side in (-1, 1)]
for name, wrenches in (("flat, frictionless", flat), ("flat, with friction", rubbing), ("grooves", grooved)):
    print(f"{name}: {len(wrenches)} directions of push, rank {np.linalg.matrix_rank(np.array(wrenches))} of 6")

# %% [markdown]
# The other cause is one law for three phases: what settles in a second strikes hard at contact. The controller of the paper is `phistar.capture.baseline`; `examples/wd89_failure.py` repeats its failure, and the page *The grapple of 1989* has the table of both controllers on flat faces without and with friction and on grooves. `phistar run grapple` is the task with a controller that changes with the phase, and holds.
