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
shift_f, shift_b = joints(A.E_phi), joints(A.E_phi_b)  # (1)
ends = [np.kron(np.diag(np.eye(n)[k]), np.eye(6)) for k in (n - 1, 0)]  # picked off at the tip, at the base
agree("(2), (3) forward and back", shift_f @ shift_b, identity - ends[0])
agree("(2), (3) back and forward", shift_b @ shift_f, identity - ends[1])
agree("(4), (5) φ_f = (I − ℰφf)⁻¹", joints(A.phi), np.linalg.inv(identity - shift_f))
agree("(4), (5) φ_b = (I − ℰφb)⁻¹", joints(A.phi_b), np.linalg.inv(identity - shift_b))
agree("(7)", joints(A.phi_tilde), joints(A.phi) - identity)
agree("(6) φ̃ = ℰφφ", joints(A.phi_tilde), joints(A.E_phi @ A.phi))
agree("(6) φ̃_b = ℰφbφ_b", joints(A.phi_b_tilde), joints(A.E_phi_b @ A.phi_b))
forward, backward = joints(A.r), joints(A.r_b)
mass_f, mass_b = joints(A.M), joints(A.M_b)
agree("(14) r⁻¹ = r_f⁻¹ + r_b⁻¹", np.linalg.inv(joints(A.rho)), np.linalg.inv(forward) + np.linalg.inv(backward))
agree("(13), (15) r = r_f(r_f + r_b)⁻¹r_b", joints(A.rho), forward @ np.linalg.solve(forward + backward, backward))
agree("(17) C_f + C_b = I", joints(A.C_f) + joints(A.C_b), identity)
agree("Table 2, r_f", forward, shift_f @ forward @ shift_f.T + mass_f)
agree("Table 2, (34) r_b", backward, shift_b @ backward @ shift_b.T + mass_b)

# %% [markdown]
# The masses of one link about its two joints (8, 9) are one matrix moved (10, 11). By cubes of equal mass in place of the integral, for a rod of 1 kg and 0.3 m along x:

# %%
cells = (np.arange(2000) + 0.5) / 2000 * 0.3


def spatial_mass(points, about):
    total = np.zeros((6, 6))
    for x in points:
        p = np.array([x - about, 0.0, 0.0])
        cross = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
        move = np.block([[np.eye(3), cross], [np.zeros((3, 3)), np.eye(3)]])
        total += move[:, 3:] @ move[:, 3:].T / len(points)
    return total


inner, outer = spatial_mass(cells, 0.0), spatial_mass(cells, 0.3)
lever = np.array([[0, 0, 0], [0, 0, 0.3], [0, -0.3, 0]])  # the cross product with (−0.3, 0, 0)
across = np.block([[np.eye(3), lever], [np.zeros((3, 3)), np.eye(3)]])
agree("(8)-(11)", across @ inner @ across.T, outer)
moved = shift_b @ mass_f @ shift_b.T  # (12): but for the block that comes from outside the stack, (10) joint by joint
inside = np.abs(np.diag(moved)) > 0
agree("(10)-(12), joint by joint", moved[np.ix_(inside, inside)], mass_b[np.ix_(inside, inside)])

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
# Algorithm 1, (18) with its diagonal corrected and (19), in NumPy:

# %%
by_hand = np.zeros((n, n))
blocks = [slice(6 * k, 6 * k + 6) for k in range(n)]
weights = joints(A.C_f)
for m in range(n):
    X = forward[blocks[m], blocks[m]] @ H[m, blocks[m]]
    by_hand[m, m] = H[m, blocks[m]] @ weights[blocks[m], blocks[m]] @ X
    for k in reversed(range(m)):  # towards the base, which the library counts first
        X = shift_f[blocks[k], blocks[k + 1]] @ X
        by_hand[k, m] = by_hand[m, k] = H[k, blocks[k]] @ weights[blocks[k], blocks[k]] @ X
agree("Algorithm 1, (18), (19)", by_hand, two_way)

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
V = A.V.apply(q, v=v)  # (21): velocities of all links, the base's first
agree("(20)", 0.5 * V @ A.M.dense(q) @ V, ps.kinetic_energy(robot, q, v))
agree("(22)", 0.5 * v @ whole @ v, ps.kinetic_energy(robot, q, v))
agree("(23)", ff.wiggle_velocity(robot, q, v[6:]), -np.linalg.solve(whole[:6, :6], whole[:6, 6:] @ v[6:]))
fixed = joints(A.phi) @ mass_f @ joints(A.phi).T  # R, the kernel with the base held
C = A.E_phi.dense(q)[:6, 6:]  # from the joints to the base
at_base = A.r.dense(q)[:6, :6]
reduced = fixed - fixed @ C.T @ np.linalg.solve(at_base, C @ fixed)
agree("(27), (28)", reduced, kernel)
inverse_f, inverse_b = np.linalg.inv(forward), np.linalg.inv(backward)
both = inverse_f @ joints(A.phi_tilde) @ forward + inverse_b @ joints(A.phi_b_tilde) @ backward
agree("(29)", joints(A.rho) @ (identity + both), kernel)
q_sum = np.linalg.inv(forward + backward)
agree("(31)", q_sum, shift_f.T @ q_sum @ shift_f + C.T @ np.linalg.solve(at_base, C))
left = (identity - forward @ q_sum) @ joints(A.phi_tilde) @ forward
agree("(30)", forward - forward @ q_sum @ forward + left + left.T, kernel)
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
Lower = np.tril(np.ones((3, 3)), -1)
r_f, r_b = np.diag([1.0, 2, 3]), np.diag([3.0, 2, 1])  # (39) at x = 1, 2, 3 of ℓ = 4
r, C_f, C_b = r_f @ r_b / 4, r_b / 4, r_f / 4  # (41), (42)
agree(
    "(38) with tildes, (41), (42)",
    r + C_f @ Lower @ r_f + C_b @ Lower.T @ r_b,
    np.array([[3, 2, 1], [2, 4, 2], [1, 2, 3]]) / 4,
)

# %% [markdown]
# Drawn: white noise (37) summed (35) and tied down at both ends (36).

# %%
steps = rng.normal(size=(200_000, 4))
walks = np.cumsum(steps, axis=1)
tied = walks[:, :3] - walks[:, 3:] * np.array([1, 2, 3]) / 4
print(np.cov(tied.T).round(2))
assert np.abs(np.cov(tied.T) - np.array([[3, 2, 1], [2, 4, 2], [1, 2, 3]]) / 4).max() < 0.02

# %% [markdown]
# ## §6 Trees
#
# Figs. 1 and 2 (the chain and its two composite bodies) are in words above; Table 1 is (16) with Algorithms 1 and 2, Table 3 is Algorithm 2. Table 4 lists the links beyond each joint of the tree of Fig. 3, which is the bundled `rj2w_tree`. The extension is not only a relabelling: joints on different branches need −C_bφ_bℰ_sφr, with ℰ_s from a link to its siblings. On the paper's tree of nine links:

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
