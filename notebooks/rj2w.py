# %% [markdown]
# # The mass matrix of a free-flying robot, two ways
#
# Rodriguez and Jain, *Two-Way Recursive Decomposition of the Free-Flying Robot Mass Matrix* (RJ2W). When nothing holds the base, a joint feels two composite bodies in series, one on each side of it. Corrections: (18) the diagonal is H(m)r(m)H\*(m); Table 3 counts the diagonal once only when the propagated X are combined first; (38) has φ̃; (12) holds joint by joint, (10), (11); on trees one more term.

# %%
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps

ff = ps.freeflying
link = ps.Inertia(1.0, (0.1, 0.02, 0.03), np.diag([0.02, 0.03, 0.04]))
builder = ps.ModelBuilder("flying chain", gravity=(0, 0, 0))
builder.body("base", joint=ps.Free(), inertia=ps.Inertia(3.0, (0, 0, 0.1), 0.2 * np.eye(3)))
for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]):
    parent = f"link{k}" if k else "base"
    builder.body(f"link{k + 1}", parent, ps.Revolute(axis=axis), ps.Pose(xyz=(0.3, 0.05 * k, 0)), link)
robot = builder.build()
rng = np.random.default_rng(2)
q, v = robot.random(rng), rng.normal(size=robot.nv)
n = ff.joint_count(robot)
A = ps.algebra(robot)
print(robot)


def agree(name, a, b):
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max())
    print(f"{name}: agree to {far:.0e}")
    assert far < 1e-9


def joints(operator):
    """The blocks at the joints that have a link on either side: all but the free one."""
    return operator.dense(q)[6:, 6:]


# %% [markdown]
# ## §2 Shift and transition operators, composite masses (eqs. 1-15)
#
# Forward is the algebra's own inward direction (φ, ℰ_φ, M, r); backward has the letter b.

# %%
identity = np.eye(6 * n)
agree("(6) φ̃ = ℰφφ", joints(A.phi_tilde), joints(A.E_phi @ A.phi))
agree("(6) φ̃_b = ℰφbφ_b", joints(A.phi_b_tilde), joints(A.E_phi_b @ A.phi_b))
forward, backward = joints(A.r), joints(A.r_b)
agree("(14) r⁻¹ = r_f⁻¹ + r_b⁻¹", np.linalg.inv(joints(A.rho)), np.linalg.inv(forward) + np.linalg.inv(backward))
agree("(17) C_f + C_b = I", joints(A.C_f) + joints(A.C_b), identity)

# %% [markdown]
# ## §3 The two-way decomposition (eqs. 16-19, Algorithms 1 and 2)

# %%
kernel = joints(A.rho) + joints(A.C_f) @ joints(A.phi_tilde) @ forward
kernel += joints(A.C_b) @ joints(A.phi_b_tilde) @ backward
H = A.H.dense(q)[6:, 6:]
two_way = H @ kernel @ H.T
agree("(16) HR̄H* and ps.freeflying.mass_matrix", two_way, ff.mass_matrix(robot, q))
whole = ps.mass_matrix(robot, q)
schur = whole[6:, 6:] - whole[6:, :6] @ np.linalg.solve(whole[:6, :6], whole[:6, 6:])
agree("and the Schur complement of the floating-base matrix", two_way, schur)

# %% [markdown]
# A triangle from each direction, and a diagonal:

# %%
parts = {
    "HrH*": H @ joints(A.rho) @ H.T,
    "H C_f φ̃_f r_f H*": H @ joints(A.C_f) @ joints(A.phi_tilde) @ forward @ H.T,
    "H C_b φ̃_b r_b H*": H @ joints(A.C_b) @ joints(A.phi_b_tilde) @ backward @ H.T,
    "ℳ": two_way,
}
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
for axis, (name, matrix) in zip(axes, parts.items()):
    axis.imshow(matrix[::-1, ::-1], cmap="RdBu", vmin=-np.abs(two_way).max(), vmax=np.abs(two_way).max())
    axis.set(title=name, xticks=[], yticks=[])
plt.show()

# %%
wanted = rng.normal(size=n)
still = np.zeros_like(v)
agree("Algorithm 2, T = ℳα", ff.inverse_dynamics(robot, q, still, wanted), two_way @ wanted)
moved = ff.forward_dynamics(robot, q, v, ff.inverse_dynamics(robot, q, v, wanted))
agree("and back, in motion", moved[6:], wanted)

# %% [markdown]
# ## §4 Rigid and wiggle (eqs. 20-28)
#
# The base velocity is that of the frozen robot plus a wiggle by the joints (25); the energies add (26). The articulated energy is ½θ̇\*HR̄H\*θ̇, and no base velocity gives less.

# %%
wiggle, rigid = ff.wiggle_velocity(robot, q, v[6:]), ff.rigid_velocity(robot, q, v)
agree("(25)", wiggle + rigid, v[:6])
energy = ff.energy(robot, q, v)
agree("(26)", energy.rigid + energy.articulated, ps.kinetic_energy(robot, q, v))
agree("(24)", energy.articulated, 0.5 * v[6:] @ two_way @ v[6:])
others = [
    ps.kinetic_energy(robot, q, np.concatenate([wiggle + step, v[6:]])) for step in 0.3 * rng.normal(size=(200, 6))
]
print("the least of 200 other base velocities has", f"{min(others) / energy.articulated:.3f} times the energy")

# %% [markdown]
# ## §4.6 The identities (eqs. 32, 33)

# %%
agree(
    "(33) r_fφ̃_f*C_f* = C_bφ̃_br_b",
    forward @ joints(A.phi_tilde).T @ joints(A.C_f).T,
    joints(A.C_b) @ joints(A.phi_b_tilde) @ backward,
)
agree(
    "(32)",
    kernel,
    joints(A.rho) + joints(A.C_f) @ joints(A.phi_tilde) @ forward + forward @ joints(A.phi_tilde).T @ joints(A.C_f).T,
)

# %% [markdown]
# ## §5 The Brownian bridge (eqs. 35-42)
#
# Beads on a line: masses are variances, and the mass matrix is the covariance of Brownian motion tied down at both ends.

# %%
bead = ps.Inertia(1.0, (0, 0, 0), np.eye(3))
b = ps.ModelBuilder("bridge")
b.body("bead0", joint=ps.Free(), inertia=bead)
for k in range(3):
    b.body(f"bead{k + 1}", f"bead{k}", ps.Prismatic(axis=(1, 0, 0)), inertia=bead)
bridge = b.build()
print(ff.mass_matrix(bridge, bridge.neutral())[::-1, ::-1])
agree("(40)", ff.mass_matrix(bridge, bridge.neutral()), np.array([[3, 2, 1], [2, 4, 2], [1, 2, 3]]) / 4)

# %% [markdown]
# ## §6 Trees
#
# The extension is not only a relabelling: joints on different branches need −C_bφ_bℰ_sφr, with ℰ_s from a link to its siblings. On the paper's tree of nine links:

# %%
tree = ps.load("rj2w_tree")
place = tree.random(np.random.default_rng(0))
T = ps.algebra(tree)


def block(operator):
    return operator.dense(place)[6:, 6:]


without = block(T.rho + T.C_f @ T.phi_tilde @ T.r + T.C_b @ T.phi_b_tilde @ T.r_b)
between = block(T.C_b @ T.phi_b @ T.E_s @ T.phi @ T.r)
H = T.H.dense(place)[6:, 6:]
right = ff.mass_matrix(tree, place)
print(f"without the term: off by {np.abs(H @ without @ H.T - right).max():.2f}, of {np.abs(right).max():.2f}")
agree("with it", H @ (without - between) @ H.T, right)
