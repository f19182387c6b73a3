# %% [markdown]
# # The mass matrix of a free-flying robot, two ways
#
# Rodriguez and Jain, *Two-Way Recursive Decomposition of the Free-Flying Robot Mass Matrix* (RJ2W). When nothing holds the base, a joint feels two composite bodies in series, one on each side of it. The library is compared with explicit matrices in NumPy, which `by_hand.py` makes from axes, lengths and masses without calling it. Corrections: in (18) the diagonal is $H(m)r(m)H^*(m)$; Table 3 counts the diagonal once only when the propagated $X$ are combined first; (38) has $\tilde\phi$; (12) holds joint by joint, as (10) and (11) say; after (26) the articulated energy is $\frac12\dot\theta^*H\bar RH^*\dot\theta$; trees need one more term.
#
# Fig. 1 is a chain of $N + 1$ links with nothing that holds them, Fig. 2 the two composite bodies that a joint parts it into; neither is drawn again.

# %%
import matplotlib.pyplot as plt
import numpy as np
from by_hand import chain_matrices, shift, tip_first

import phistar as ps

ff = ps.freeflying
link = ps.Inertia(1.0, (0.1, 0.02, 0.03), np.diag([0.02, 0.03, 0.04]))
base = ps.Inertia(3.0, (0, 0, 0.1), 0.2 * np.eye(3))
builder, holding = (ps.ModelBuilder(name, gravity=(0, 0, 0)) for name in ("flying chain", "the same, base held"))
builder.body("base", joint=ps.Free(), inertia=base)
for k, axis in enumerate([(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]):
    place = ps.Pose(xyz=(0.3, 0.05 * k, 0))
    builder.body(f"link{k + 1}", f"link{k}" if k else "base", ps.Revolute(axis=axis), place, link)
    holding.body(f"link{k + 1}", f"link{k}" if k else "world", ps.Revolute(axis=axis), place, link)
holding.frame("tip", "link5", ps.Pose(xyz=(0.3, 0, 0)))
robot, n = builder.build(), 5
rng = np.random.default_rng(2)
angles, v = rng.uniform(-1, 1, n), rng.normal(size=n + 6)
q = np.concatenate([np.zeros(6), [1.0], angles])  # the base at the origin, its axes the world's
A = ps.algebra(robot)
by = chain_matrices(holding.build(), angles)  # joints 1 … N from the tip
print(robot)


def agree(name, a, b, within=1e-9):
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max())
    print(f"{name}: agree to {far:.0e}")
    assert far < within


def joints(operator):
    """An operator at the joints that have a link on either side, as the paper stacks them, in world axes."""
    return by.axes @ tip_first(operator.dense(q)[6:, 6:]) @ by.axes.T


# %% [markdown]
# ## §2 Shift and transition operators, composite masses (eqs. 1-15, Table 2)
#
# Forward is the algebra's own inward direction ($\phi$, $\mathcal E_\phi$, $M$, $r$); backward has the letter $b$. The explicit forward shift is made from the vectors between joints, the backward one from the same vectors turned round:

# %%
identity, at = np.eye(6 * n), by.at
shift_f, shift_b = by.E_phi, np.zeros((6 * n, 6 * n))
for k in range(n - 1):
    shift_b[at[k], at[k + 1]] = np.linalg.inv(by.E_phi[at[k + 1], at[k]])  # φ(k, k+1)
phi_f, phi_b = np.linalg.inv(identity - shift_f), np.linalg.inv(identity - shift_b)
pick_f, pick_b = (
    np.kron(np.diag(np.eye(n)[k]), np.eye(6)) for k in (n - 1, 0)
)  # π_f*π_f at joint N, π_b*π_b at joint 1
agree("(1) ℰφf", joints(A.E_phi), shift_f)
agree("(1) ℰφb", joints(A.E_phi_b), shift_b)
agree("(2), (3) ℰφfℰφb", shift_f @ shift_b, identity - pick_b)
agree("(2) ℰφbℰφf", shift_b @ shift_f, identity - pick_f)
agree("(4), (5) φ_f", joints(A.phi), phi_f)
agree("(4), (5) φ_b", joints(A.phi_b), phi_b)
agree("(5) φ_f, by the vectors themselves", phi_f, by.phi)
tilde_f, tilde_b = shift_f @ phi_f, shift_b @ phi_b
agree("(6), (7) φ̃_f", joints(A.phi_tilde), tilde_f)
agree("(6), (7) φ̃_b", joints(A.phi_b_tilde), tilde_b)

# %% [markdown]
# The mass of one link about its two joints, (8) and (9), is one matrix moved, (10) and (11). By the integral itself, for a rod of 1 kg and 0.3 m along $x$, cut in 2000 pieces:

# %%
pieces = (np.arange(2000) + 0.5) / 2000 * 0.3


def spatial_mass(about):
    moved = [shift(np.array([x - about, 0.0, 0.0]))[:, 3:] for x in pieces]  # φ(k, x)B
    return sum(m @ m.T for m in moved) / len(pieces)


rod = ps.Inertia(1.0, (0.15, 0, 0), np.diag([0, 0.3**2 / 12, 0.3**2 / 12]))
across = shift(np.array([-0.3, 0, 0]))  # from the outer joint to the inner
agree("(8), the integral and the library's matrix of a rod", spatial_mass(0.0), rod.matrix, 1e-6)
agree("(9), (10)", spatial_mass(0.3), across @ spatial_mass(0.0) @ across.T)
agree("(8), (11)", spatial_mass(0.0), np.linalg.inv(across) @ spatial_mass(0.3) @ np.linalg.inv(across).T)

# %% [markdown]
# Of the robot: $M_b(k-1)$ is link $k$ seen from joint $k-1$, and $M_b(N)$ is the base, link $N + 1$, which stands outside the stack, so that (12) lacks it.

# %%
mass_f, mass_b = by.M, shift_b @ by.M @ shift_b.T
base_at_joint = np.linalg.inv(by.E[:, at[-1]])  # φ(N, N+1)
mass_b[at[-1], at[-1]] = base_at_joint @ base.matrix @ base_at_joint.T
agree("M_f", joints(A.M), mass_f)
agree("(10)-(12) M_b", joints(A.M_b), mass_b)
r_f, r_b = np.zeros_like(mass_f), np.zeros_like(mass_f)
for k in range(n):  # Table 2, forward
    r_f[at[k], at[k]] = mass_f[at[k], at[k]]
    if k:
        step = shift_f[at[k], at[k - 1]]
        r_f[at[k], at[k]] += step @ r_f[at[k - 1], at[k - 1]] @ step.T
for k in reversed(range(n)):  # Table 2, backward
    r_b[at[k], at[k]] = mass_b[at[k], at[k]]
    if k < n - 1:
        step = shift_b[at[k], at[k + 1]]
        r_b[at[k], at[k]] += step @ r_b[at[k + 1], at[k + 1]] @ step.T
agree("Table 2, r_f", joints(A.r), r_f)
agree("Table 2, r_b", joints(A.r_b), r_b)
r = r_f @ np.linalg.inv(r_f + r_b) @ r_b
agree("(13) r = r_b(r_f + r_b)⁻¹r_f", joints(A.rho), r_b @ np.linalg.inv(r_f + r_b) @ r_f)
agree("(13), (15) r = r_f(r_f + r_b)⁻¹r_b", joints(A.rho), r)
agree("(14), (15) r⁻¹ = r_f⁻¹ + r_b⁻¹", np.linalg.inv(r), np.linalg.inv(r_f) + np.linalg.inv(r_b))

# %% [markdown]
# ## §3 The two-way decomposition (eqs. 16-19, Tables 1 and 3, Algorithms 1 and 2)
#
# Table 1 is the result: $\mathcal M = H\bar RH^*$ with $\bar R = r + C_f\tilde\phi_fr_f + C_b\tilde\phi_br_b$ (16) and the weights (17), identity 1 of the paper. Compared with the definition: the mass matrix of the floating robot, the base eliminated.

# %%
C_f, C_b = r_b @ np.linalg.inv(r_f + r_b), r_f @ np.linalg.inv(r_f + r_b)
agree("(17) C_f", joints(A.C_f), C_f)
agree("(17) C_b", joints(A.C_b), C_b)
agree("(17) C_f + C_b = I", C_f + C_b, identity)
agree("(17) C_f = r r_f⁻¹", C_f, r @ np.linalg.inv(r_f))
H, C = by.H, by.E  # C = [0 … 0 φ(N+1, N)]
fixed = phi_f @ mass_f @ phi_f.T  # R, the kernel with the base held
at_base = base.matrix + C @ fixed @ C.T  # r_f(N+1)
floating = np.block([[at_base, C @ fixed @ H.T], [H @ fixed @ C.T, H @ fixed @ H.T]])
eliminated = H @ fixed @ H.T - H @ fixed @ C.T @ np.linalg.solve(at_base, C @ fixed @ H.T)
kernel = r + C_f @ tilde_f @ r_f + C_b @ tilde_b @ r_b
agree("(16), Table 1", H @ kernel @ H.T, eliminated)
agree("ps.freeflying.mass_matrix", ff.mass_matrix(robot, q)[::-1, ::-1], eliminated)

# %% [markdown]
# Algorithm 1, (18) with its diagonal corrected and (19), and Algorithm 2, which is Table 3 with the local term added once:

# %%
by_algorithm = np.zeros((n, n))
for m in range(n):
    X = r_f[at[m], at[m]] @ H[m, at[m]]  # (18)
    for k in range(m, n):
        X = X if k == m else shift_f[at[k], at[k - 1]] @ X  # (19)
        by_algorithm[k, m] = by_algorithm[m, k] = H[k, at[k]] @ C_f[at[k], at[k]] @ X
agree("Algorithm 1, (18), (19)", by_algorithm, eliminated)
printed = [H[m, at[m]] @ r_f[at[m], at[m]] @ H[m, at[m]] for m in range(n)]
print("the diagonal as (18) prints it is off by", np.abs(printed - np.diag(eliminated)).max().round(3))
alpha = rng.normal(size=n)
X_f, X_b = np.zeros((n, 6)), np.zeros((n, 6))  # what is handed on, before the local term
for k in range(1, n):
    X_f[k] = shift_f[at[k], at[k - 1]] @ (X_f[k - 1] + r_f[at[k - 1], at[k - 1]] @ H[k - 1, at[k - 1]] * alpha[k - 1])
for k in reversed(range(n - 1)):
    X_b[k] = shift_b[at[k], at[k + 1]] @ (X_b[k + 1] + r_b[at[k + 1], at[k + 1]] @ H[k + 1, at[k + 1]] * alpha[k + 1])
T = [
    H[k, at[k]] @ (C_f[at[k], at[k]] @ X_f[k] + C_b[at[k], at[k]] @ X_b[k] + r[at[k], at[k]] @ H[k, at[k]] * alpha[k])
    for k in range(n)
]
agree("Algorithm 2, Table 3", T, eliminated @ alpha)
agree(
    "ps.freeflying.inverse_dynamics",
    ff.inverse_dynamics(robot, q, np.zeros(n + 6), alpha[::-1])[::-1],
    eliminated @ alpha,
)
moved = ff.forward_dynamics(robot, q, v, ff.inverse_dynamics(robot, q, v, alpha))
agree("and back, in motion", moved[6:], alpha)

# %% [markdown]
# A triangle from each direction, and a diagonal:

# %%
parts = {
    "HrH*": H @ r @ H.T,
    "H C_f φ̃_f r_f H*": H @ C_f @ tilde_f @ r_f @ H.T,
    "H C_b φ̃_b r_b H*": H @ C_b @ tilde_b @ r_b @ H.T,
    "ℳ": eliminated,
}
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
for axis, (name, matrix) in zip(axes, parts.items()):
    axis.imshow(matrix, cmap="RdBu", vmin=-np.abs(eliminated).max(), vmax=np.abs(eliminated).max())
    axis.set(title=name, xticks=[], yticks=[])
plt.show()

# %% [markdown]
# ## §4 Rigid and wiggle (eqs. 20-34)
#
# The kinetic energy (20) with the velocities (21) is the quadratic form (22). Of all base velocities the wiggle (23) has the least energy, (24); any other is rigid plus wiggle (25), and the energies add (26). Identity 4 is the mass matrix (27) with the kernel (28).

# %%
theta, V_base = v[6:][::-1], v[:6]
V = phi_f.T @ (H.T @ theta + C.T @ V_base)  # (21); the base's axes are the world's here
explicit_energy = 0.5 * V @ mass_f @ V + 0.5 * V_base @ base.matrix @ V_base
state = np.concatenate([V_base, theta])
agree("(20), (21)", ps.kinetic_energy(robot, q, v), explicit_energy)
agree("(22)", 0.5 * state @ floating @ state, explicit_energy)
wiggle = -np.linalg.solve(at_base, C @ fixed @ H.T @ theta)
agree("(23)", ff.wiggle_velocity(robot, q, v[6:]), wiggle)
energy = ff.energy(robot, q, v)
agree("(24)", energy.articulated, 0.5 * theta @ eliminated @ theta)
rigid = V_base - wiggle
agree("(25)", ff.rigid_velocity(robot, q, v), rigid)
agree("(26)", energy.rigid + energy.articulated, explicit_energy)
agree("(26), the rigid part", energy.rigid, 0.5 * rigid @ at_base @ rigid)
agree("(27), (28)", fixed - fixed @ C.T @ np.linalg.solve(at_base, C @ fixed), kernel)
others = []
for step in 0.3 * rng.normal(size=(200, 6)):
    tried = np.concatenate([wiggle + step, theta])
    others.append(0.5 * tried @ floating @ tried)
print("the least of 200 other base velocities has", f"{min(others) / energy.articulated:.3f} times the energy")
assert min(others) > energy.articulated

# %% [markdown]
# Identities 5 to 9: (29) is (16) with $r$ in front; it follows from (30) with $q = (r_f + r_b)^{-1}$, for which (31) is a recursion, from (32) and (33), and (34) is Table 2.

# %%
q_sum = np.linalg.inv(r_f + r_b)
inverse_f, inverse_b = np.linalg.inv(r_f), np.linalg.inv(r_b)
agree("(29)", r @ (identity + inverse_f @ tilde_f @ r_f + inverse_b @ tilde_b @ r_b), kernel)
left = (identity - r_f @ q_sum) @ tilde_f @ r_f
agree("(30)", (r_f - r_f @ q_sum @ r_f) + left + left.T, kernel)
agree("(31)", q_sum, shift_f.T @ q_sum @ shift_f + C.T @ np.linalg.solve(at_base, C))
agree("(32)", r + C_f @ tilde_f @ r_f + r_f @ tilde_f.T @ C_f.T, kernel)
agree("(33)", r_f @ tilde_f.T @ C_f.T, C_b @ tilde_b @ r_b)
agree("(34)", r_b, shift_b @ r_b @ shift_b.T + mass_b)
a = ps.algebra()
for name, sides in {
    "(16)": (
        a.rho + a.C_f @ a.phi_tilde @ a.r + a.C_b @ a.phi_b_tilde @ a.r_b,
        a.rho + a.C_f @ a.phi_tilde @ a.r + a.r @ a.phi_tilde.T @ a.C_f.T,
    ),
    "(33)": (a.r @ a.phi_tilde.T @ a.C_f.T, a.C_b @ a.phi_b_tilde @ a.r_b),
    "(34)": (a.r_b, a.E_phi_b @ a.r_b @ a.E_phi_b.T + a.M_b),
}.items():
    print(name, "proved" if sides[0].equals(sides[1]).proved else "NOT PROVED")

# %% [markdown]
# ## §5 The Brownian bridge (eqs. 35-42)
#
# Beads on a line: masses are variances, and the mass matrix is the covariance of Brownian motion tied down at both ends. Identity 10, (38) with tildes, gives the kernel (40) from (39), (41) and (42):

# %%
bead = ps.Inertia(1.0, (0, 0, 0), np.eye(3))
beads = ps.ModelBuilder("bridge")
beads.body("bead0", joint=ps.Free(), inertia=bead)
for k in range(3):
    beads.body(f"bead{k + 1}", f"bead{k}", ps.Prismatic(axis=(1, 0, 0)), inertia=bead)
bridge = beads.build()
expected = np.array([[3, 2, 1], [2, 4, 2], [1, 2, 3]]) / 4
agree("(40)", ff.mass_matrix(bridge, bridge.neutral()), expected)
Lower = np.tril(np.ones((3, 3)), -1)
one_f, one_b = np.diag([1.0, 2, 3]), np.diag([3.0, 2, 1])  # (39) at x = 1, 2, 3 of ℓ = 4
one_r, weight_f, weight_b = one_f @ one_b / 4, one_b / 4, one_f / 4  # (41), (42)
agree("(38) with tildes, (41), (42)", one_r + weight_f @ Lower @ one_f + weight_b @ Lower.T @ one_b, expected)

# %% [markdown]
# Drawn: white noise (37) summed up (35), and tied down at both ends (36).

# %%
steps = rng.normal(size=(200_000, 4))  # (37)
walks = np.cumsum(steps, axis=1)  # (35)
tied = walks[:, :3] - walks[:, 3:] * np.array([1, 2, 3]) / 4  # (36)
print(np.cov(tied.T).round(2))
assert np.abs(np.cov(tied.T) - expected).max() < 0.02

# %% [markdown]
# ## §6 Trees (Fig. 3, Table 4)
#
# Table 4 lists the links beyond each joint of the tree of Fig. 3, which is the bundled `rj2w_tree`:

# %%
tree = ps.load("rj2w_tree")
number = {body.name: body.name.removeprefix("link") for body in tree.bodies}
beyond = {k: {k} for k in range(len(tree.bodies))}
for k in reversed(range(1, len(tree.bodies))):
    beyond[tree.parents[k]] |= beyond[k]
for k in sorted(range(1, len(tree.bodies)), key=lambda k: int(number[tree.bodies[k].name])):
    print("joint", number[tree.bodies[k].name], ":", ", ".join(sorted(number[tree.bodies[j].name] for j in beyond[k])))

# %% [markdown]
# The extension to trees is not only a relabelling: joints on different branches need $-C_b\phi_b\mathcal E_s\phi r$, with $\mathcal E_s$ from a link to its siblings. Compared with the floating tree's mass matrix, the base eliminated; that matrix is one of unit twists and kinetic energies, so that the symbols above have no part in it.

# %%
place = tree.random(np.random.default_rng(0))
B = ps.algebra(tree)
units = np.eye(tree.nv)
energies = np.array([ps.kinetic_energy(tree, place, x) for x in units])
whole = np.array(
    [
        [ps.kinetic_energy(tree, place, x + y) - energies[i] - energies[j] for j, y in enumerate(units)]
        for i, x in enumerate(units)
    ]
)
right = whole[6:, 6:] - whole[6:, :6] @ np.linalg.solve(whole[:6, :6], whole[:6, 6:])


def block(operator):
    return operator.dense(place)[6:, 6:]


without = block(B.rho + B.C_f @ B.phi_tilde @ B.r + B.C_b @ B.phi_b_tilde @ B.r_b)
between = block(B.C_b @ B.phi_b @ B.E_s @ B.phi @ B.r)
axes_of_tree = B.H.dense(place)[6:, 6:]
off = axes_of_tree @ without @ axes_of_tree.T - right
print(f"without the term: off by {np.abs(off).max():.2f}, of {np.abs(right).max():.2f}")
agree("with it", axes_of_tree @ (without - between) @ axes_of_tree.T, right, 1e-8)
agree("ps.freeflying.mass_matrix", ff.mass_matrix(tree, place), right, 1e-8)
