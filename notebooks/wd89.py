# %% [markdown]
# # Space manipulators with contact
#
# Walker and Dionise, *On the Simulation of Space Based Manipulators with Contact*, 1989 (WD89): a world model for closed chains, inverse dynamics by primary joints, contact by the distance of convex shapes, and two PUMA 560 arms that try to grapple a floating object. What the library computes is compared with products of transforms, differences of poses and energies, and the printed formulas in NumPy.

# %%
import matplotlib.pyplot as plt
import numpy as np
from by_hand import chain_matrices, cross, turn

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
# Loops are cut where terminating links then stand; links with several joints get connector links; the whole is a binary tree, Fig. 1(b). Fig. 2, the vectors of one link, and Fig. 3, the distance between two polytopes, are drawings and left out.

# %%
model = ps.load("wd89_fig1")
print(render(binary_tree(model)))

# %% [markdown]
# ## §2.2 Kinematics (eqs. 1-3)
#
# Poses are products of the joints' transforms (1), velocities and accelerations run outward, (2) and (3), at the inertial origin. The paper stacks its six-vectors the other way round; here the angular part is first. By hand: transforms multiplied in NumPy, the recursions, and differences of the poses along a motion of the open tree.


# %%
def transform(body, angle):
    """The placement of a joint and the turn about its axis."""
    made = np.eye(4)
    made[:3, :3] = body.placement.rotation @ turn(body.joint.kind.axis, angle)
    made[:3, 3] = body.placement.translation
    return made


def poses(q):
    found = []
    for k, body in enumerate(model.bodies):
        found.append((found[model.parents[k]] if model.parents[k] >= 0 else np.eye(4)) @ transform(body, q[k]))
    return np.array(found)


def spatial(pose):
    """X of a pose, with the angular part first."""
    R = pose[:3, :3]
    return np.block([[R, np.zeros((3, 3))], [cross(pose[:3, 3]) @ R, R]])


def crossed(v):
    """The matrix of v × (·) between twists."""
    return np.block([[cross(v[:3]), np.zeros((3, 3))], [cross(v[3:]), cross(v[:3])]])


def recursion(q, qd, qdd):
    """Twists (2) and their rates (3) at the inertial origin, and the axes s."""
    twists, rates, axes = [], [], []
    for k, body in enumerate(model.bodies):
        inner = model.parents[k]
        axes.append(spatial(poses(q)[k])[:, :3] @ body.joint.kind.axis)
        twists.append((twists[inner] if inner >= 0 else 0.0) + axes[k] * qd[k])
        rates.append((rates[inner] if inner >= 0 else 0.0) + axes[k] * qdd[k] + crossed(twists[k]) @ axes[k] * qd[k])
    return np.array(twists), np.array(rates), axes


tree = model.tree
rng = np.random.default_rng(0)
place, speed, rate = rng.uniform(-1, 1, (3, tree.nv))
h = 1e-4
now, ahead, behind = (
    poses(place),
    poses(place + h * speed + h * h * rate / 2),
    poses(place - h * speed + h * h * rate / 2),
)
names = [joint.name for joint in tree.joints]
agree("(1), all links", [ps.forward_kinematics(tree, place, name) for name in names], now)
velocities = np.array([ps.frame_velocity(tree, place, speed, name) for name in names])
accelerations = np.array([ps.frame_acceleration(tree, place, speed, rate, name) for name in names])
agree("(2), all links", velocities[:, 3:], (ahead - behind)[:, :3, 3] / (2 * h), 1e-6)
agree("(3), all links", accelerations[:, 3:], (ahead - 2 * now + behind)[:, :3, 3] / h**2, 1e-5)
spins = np.einsum("kij,klj->kil", (ahead - behind)[:, :3, :3] / (2 * h), now[:, :3, :3])
twists, rates, axes = recursion(place, speed, rate)
agree(
    "(1), the last link's X",
    spatial(now[-1]),
    spatial(now[tree.parents[-1]]) @ spatial(transform(tree.bodies[-1], place[-1])),
)
arms = [np.cross(now[k, :3, 3], velocities[k, :3]) for k in range(len(names))]
agree("(2), the recursion", twists, velocities + np.concatenate([0 * velocities[:, :3], arms], axis=1))
spatial_rates = accelerations.copy()  # v̇ at the inertial origin, of a field of velocities that stands still
for k in range(len(names)):
    spin, point = velocities[k, :3], now[k, :3, 3]
    spatial_rates[k, 3:] -= np.cross(accelerations[k, :3], point) + np.cross(spin, velocities[k, 3:])
agree("(3), the recursion", rates, spatial_rates)
agree("(2), their spins", velocities[:, :3], np.stack([spins[:, 2, 1], spins[:, 0, 2], spins[:, 1, 0]], axis=1), 1e-6)

# %% [markdown]
# ## §2.3 Constraints (eqs. 4-9)
#
# The mechanism has three degrees of freedom; the primary joints are $q_5$, $q_7$ and $q_3$. All other joints are functions of them, $q = U(Q)$ (4), with rates $\dot q = E\dot Q$ (5) and accelerations $\ddot q = E\ddot Q + \dot E\dot Q$ (6), $E = \partial U/\partial Q$ (7). The loop equations (8) and (9) say that both ways to a cut joint end at the same place:

# %%
guess = ps.assemble(model, model.neutral())
print("joints:", names, "freedom:", ps.loops.loop_report(model, guess).freedom)
primary = [name for name in names if name in ("joint3", "joint5", "joint7")]
machine = ps.loops.PrimaryJoints(model, primary, guess=guess)
Q = np.array([guess[model.joint(name).q_slice][0] for name in primary])
Qd, Qdd = np.array([0.3, -0.2, 0.4]), np.array([0.5, 0.1, -0.3])
path = machine.derivatives(Q, Qd, Qdd)
closed = poses(path[0])
for loop in model.loops:
    ends = []
    for name in (loop.frame_a, loop.frame_b):
        frame = model.frame(name)
        fixed = np.eye(4)
        fixed[:3, :3], fixed[:3, 3] = frame.placement.rotation, frame.placement.translation
        ends.append((closed[frame.body] if frame.body >= 0 else np.eye(4)) @ fixed)
    print(f"(8), (9), {loop.name}: the two ways end {np.abs(ends[0][:3, 3] - ends[1][:3, 3]).max():.0e} m apart")
    assert np.abs(ends[0][:3, 3] - ends[1][:3, 3]).max() < 1e-9
h = 1e-5
ahead, behind = (machine.configuration(Q + s * h * Qd + 0.5 * h * h * Qdd) for s in (1, -1))
agree("(5), by differences", (ahead - behind) / (2 * h), path[1], 1e-6)
agree("(6), by differences", (ahead - 2 * path[0] + behind) / h**2, path[2], 1e-3)
columns = [(machine.configuration(Q + h * x) - machine.configuration(Q - h * x)) / (2 * h) for x in np.eye(3)]
E = np.stack(columns, axis=1)
agree("(4), (7): E by differences of U", E @ Qd, path[1], 1e-6)

# %% [markdown]
# ## §2.4 Dynamics (eqs. 10-12)
#
# Inverse dynamics in three steps: joint motions from $Q$; the forces $\rho$ as if the loops were open, the inertial forces $F$ (10), added up from the tips (11), along the axes (12); $\tau = E^T\rho$. There is no friction here, $\eta = 0$. Lagrange's equations know nothing of any of it: kinetic and potential energy by differences of the poses, and their derivatives by differences again.


# %%
def joint_forces(q, qd, qdd):
    """ρ by (1)-(3) and (10)-(12), in NumPy; the weight is what the external forces F^e hold up."""
    placed, twists, rates, axes = poses(q), *recursion(q, qd, qdd)
    total = []
    for k, body in enumerate(model.bodies):
        out = np.linalg.inv(spatial(placed[k]))
        inertia = out.T @ body.inertia.matrix @ out  # at the inertial origin
        center = (placed[k] @ np.append(body.inertia.com, 1.0))[:3]
        weight = body.inertia.mass * np.concatenate([np.cross(center, model.gravity), model.gravity])
        total.append(inertia @ rates[k] - crossed(twists[k]).T @ inertia @ twists[k] - weight)  # (10)
    for k in reversed(range(len(total))):  # (11)
        if model.parents[k] >= 0:
            total[model.parents[k]] = total[model.parents[k]] + total[k]
    return np.array([axes[k] @ total[k] for k in range(len(total))])  # (12)


def energies(Q, Qd):
    """Kinetic and potential energy, from the poses at neighbouring configurations."""
    h, kinetic, potential = 1e-4, 0.0, 0.0
    here, ahead, behind = (poses(machine.configuration(Q + s * h * Qd)) for s in (0, 1, -1))
    for k, body in enumerate(model.bodies):
        m, com = body.inertia.mass, np.append(body.inertia.com, 1.0)
        velocity = ((ahead[k] - behind[k]) @ com)[:3] / (2 * h)
        spin = here[k, :3, :3].T @ (ahead[k] - behind[k])[:3, :3] / (2 * h)
        omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        kinetic += 0.5 * m * velocity @ velocity + 0.5 * omega @ body.inertia.tensor @ omega
        potential -= m * model.gravity @ (here[k] @ com)[:3]
    return kinetic, potential


def momentum(Q, Qd):
    """∂T/∂Q̇; T is quadratic in the rates, so that a wide difference is exact."""
    return np.array([(energies(Q, Qd + x)[0] - energies(Q, Qd - x)[0]) / 2 for x in np.eye(3)])


h = 1e-4
flow = (momentum(Q + h * Qd, Qd + h * Qdd) - momentum(Q - h * Qd, Qd - h * Qdd)) / (2 * h)
slope = [(np.subtract(*energies(Q + h * x, Qd)) - np.subtract(*energies(Q - h * x, Qd))) / (2 * h) for x in np.eye(3)]
tau = machine.inverse_dynamics(Q, Qd, Qdd)
print("τ =", tau.round(4))
agree("(10)-(12) and Lagrange's equations", tau, flow - np.array(slope), 1e-5)
rho = joint_forces(*path)
agree("τ = E*ρ", tau, E.T @ rho, 1e-6)
by_energy = np.array([[momentum(Q, x) @ y for x in np.eye(3)] for y in np.eye(3)])
agree("H(Q), and the mass matrix of the kinetic energy", machine.mass_matrix(Q), by_energy, 1e-6)
carried = np.zeros(model.nv)  # τ at the primary joints, nothing at the others
carried[[model.joint(name).v_slice.start for name in primary]] = tau
agree("and by RJK91's closed chain", ps.forward_dynamics(model, path[0], path[1], carried), path[2])

# %% [markdown]
# ## §2.5 Contact
#
# $f_c = K_p(\epsilon - d)/d - K_d\dot d$ for $d < \epsilon$. As printed it jumps at $d = \epsilon$ and pulls on what leaves; the library lets damping fade in and ends at zero. `Surface(pulls=True)` is the printed law. A ball of 1 kg meets a floor at 0.1 m/s without gravity; its change of speed in each step is the force that acted:

# %%
epsilon, strength, damping, step = 2e-3, 15.0, 20.0, 1e-5


def meeting(pulls):
    plant = ps.Plant(name="ball", gravity=(0, 0, 0))
    plant.add_body("ground", ps.Geometry(ps.Plane(), name="floor", role="collision"), free=False)
    plant.add_body("ball", ps.Sphere(0.1), inertia=1.0, at=ps.Pose(xyz=(0, 0, 0.1022)), twist=[0, 0, 0, 0, 0, -0.1])
    plant.default_contact(ps.Surface(margin=epsilon, strength=strength, damping=damping, friction=0.0, pulls=pulls))
    run = ps.simulate(plant, 0.035, step=step)
    gap, speed = run.q[1:, 2] - 0.1, run.v[:, 5]
    near = gap < epsilon
    return gap[near], speed[1:][near], (np.diff(speed) / step)[near]


figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for pulls, label in ((True, "as printed"), (False, "as the library has it")):
    gap, speed, force = meeting(pulls)
    axis.plot(1e3 * gap, force, label=label)
    if pulls:
        agree(
            "f_c of the motion and the printed law",
            force[1:],
            strength * (epsilon - gap[1:]) / gap[1:] - damping * speed[1:],
        )
    print(f"{label}: from {force.min():+.2f} to {force.max():.2f} N")
axis.axhline(0, color="0.7", lw=0.8)
axis.set(xlabel="distance [mm]", ylabel="force [N]")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## §2.5 The step
#
# Steps are limited by the change of joints and by the predicted time of collision $(\epsilon - d)/\dot d$. A ball that falls on a floor and keeps 0.6 of its speed; when it touches is known from $\sqrt{2h/g}$:

# %%
plant = ps.Plant(name="ball", gravity=(0, 0, -9.81))
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
fall = np.sqrt(2 * (0.4 - 2e-3) / 9.81)  # to the margin of 2 mm
known = fall * np.array([1, 1 + 2 * 0.6, 1 + 2 * 0.6 + 2 * 0.36])
run = plant.simulate(1.0, q0=[0, 0, 0.5, 0, 0, 0, 1], rtol=1e-6)
touches = [event.time for event in run.events if event.what == "touch"]
agree("when it touches, three times", touches[:3], known, 1e-6)
figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
axis.plot(times, heights, ".-")
axis.set(xlabel="time [s]", ylabel="gap [m]")
plt.show()

# %% [markdown]
# ## §3 Control
#
# The inverse dynamics controller is $\tau = H(Q)\ddot Q_r + C$, by the same recursion with the reference acceleration $\ddot Q_r = \ddot Q_d + K_d\dot Q_e + K_pQ_e$ (its dots are lost in print) in place of the true one. One PUMA follows a path; the paper's settling time in the approach is about one second. The torque is compared with the formula on explicit matrices, and the error with the solution of $\ddot e + K_d\dot e + K_pe = 0$.

# %%
arm = ps.load("puma560", friction=False)
arm = arm.replace(joints={j.name: ps.Revolute(j.axis, armature=j.kind.armature_diagonal) for j in arm.joints})
gains = TrajectorySettings(1.0)  # settling in one second, as the paper reports
law = ps.control.InverseDynamicsControl(arm, kp=gains.kp, kd=gains.kd)
start, goal = np.array([0.2, -0.7, 0.3, 0.4, 0.9, 0.1]), np.array([0.6, -0.4, 0.1, 0.2, 0.6, 0.4])
line = ps.control.joint_trajectory(arm, [start, goal], velocity=1.0, acceleration=3.0)
run = ps.rollout(arm, start + 0.05, np.zeros(6), dt=1e-3, steps=1500, controller=law.following(line))
wanted = [line(min(t, line.duration)) for t in run.t]
error = run.q - np.array([x.q for x in wanted])
settled = run.t[np.abs(error).max(axis=1) > 0.02 * 0.05][-1]
print(f"an error of 0.05 rad at the start has fallen to 2% after {settled:.2f} s")
roots = np.roots([1.0, gains.kd, gains.kp]) + np.array([1e-6, -1e-6])  # kept apart where they coincide
weights = np.linalg.solve(np.vander(roots, 2, increasing=True).T, [0.05, 0.0])
decay = (np.exp(np.outer(run.t, roots)) @ weights).real
agree("the error and the solution of its equation", error, np.tile(decay[:, None], 6), 2e-2)
k = 200
reference = wanted[k].a + gains.kd * (wanted[k].v - run.v[k]) + gains.kp * (wanted[k].q - run.q[k])
links = chain_matrices(arm, run.q[k], run.v[k], "tool")
carried = links.phi.T @ (
    links.H.T @ reference[::-1] + links.a + links.E.T @ np.concatenate([np.zeros(3), -arm.gravity])
)
torque = (links.H @ links.phi @ (links.M @ carried + links.b))[::-1] + arm.armature * reference
agree("τ and the explicit matrices of the PUMA", law.following(line)(run.t[k], run.q[k], run.v[k]), torque)

# %% [markdown]
# ## §4 The grapple
#
# Two PUMA 560 arms on a base, three fingers each, and a floating object; where the paper gives it five massless links, a body has a free joint here. Fig. 4, drawn by the library from the bundled scene:

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
# "The controller was not successful in obtaining a stable grappling of the object." One cause is in the grasp itself. Six frictionless points push along the normals of two opposite faces; what they can push is a matrix of wrenches $[p \times n; n]$, and its rank says how many motions they resist. Friction, or three radial grooves of 45° in each face with the paper's frictionless law, give the missing directions.

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
