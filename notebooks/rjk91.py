# %% [markdown]
# # A spatial operator algebra for manipulators
#
# Rodriguez, Jain and Kreutz-Delgado, *A Spatial Operator Algebra for Manipulator Modeling and Control*, 1991 (RJK91). The results in the paper's order: each is stated, derived by the library, and compared with explicit matrices. Numbers are for a serial chain of six equal links; links are numbered from the tip in the paper, and in what the library prints.

# %%
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps

arm = ps.chain(6)
rng = np.random.default_rng(0)
q, v, tau = rng.uniform(-1, 1, size=(3, 6))
A = ps.algebra(arm, frames=["tip"])
print(arm)


def agree(name, a, b):
    """How far two ways are apart, relative to the larger."""
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max())
    print(f"{name}: agree to {far:.0e}")
    assert far < 1e-10


# %% [markdown]
# ## §2 The Jacobian operator (eq. 1)
#
# V(0) = Jθ̇ with J = B\*φ\*H\*: relative velocities along the axes, passed outward, read at the tip.

# %%
J = A.B.T @ A.phi.T @ A.H.T
print(J)
print(J.algorithm())
agree("B*φ*H* and ps.jacobian", J.dense(q), ps.jacobian(arm, q, "tip"))
agree("its adjoint, T = J*f(0)", J.T.apply(q, np.ones(6)), ps.jacobian(arm, q, "tip").T @ np.ones(6))

# %% [markdown]
# The operators have block structure: H and M are block diagonal (memoryless), φ is lower triangular (causal).

# %%
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
for axis, (name, operator) in zip(axes, {"H": A.H, "φ": A.phi, "M": A.M, "ℳ": A.mass}.items()):
    matrix = np.abs(operator.dense(q))[::-1, ::-1]  # the paper's numbering, from the tip
    axis.imshow(np.log10(matrix + 1e-3 * matrix.max()), cmap="Blues")
    axis.set(title=f"{name}, {matrix.shape[0]} × {matrix.shape[1]}", xticks=[], yticks=[])
plt.show()

# %% [markdown]
# ## §3 Operator-formulated dynamics (eqs. 2-7)
#
# ℳ = HφMφ\*H\* (3), 𝒞 = Hφ(Mφ\*a + b) (4), J\* = HφB (5). The Newton-Euler factorization *is* the recursion of Luh, Walker and Paul: an outward sweep of accelerations, an inward one of forces.

# %%
mass = A.H @ A.phi @ A.M @ A.phi.T @ A.H.T
agree("eq. 3", mass.dense(q), ps.mass_matrix(arm, q))
still = arm.replace(gravity=(0, 0, 0))
C = ps.bias(still, q, v)
print("𝒞 =", ps.algebra(still).C.derivation())
acceleration = rng.normal(size=6)
agree("eq. 2", ps.mass_matrix(arm, q) @ acceleration + C, ps.inverse_dynamics(still, q, v, acceleration))
print(mass.algorithm())

# %% [markdown]
# Without biases and tip force (2) is ℳθ̈ = T′ (6), and by (3) HφMφ\*H\*θ̈ = T′ (7). The two sweeps by hand, on the operators' explicit matrices:

# %%
H, phi, M = A.H.dense(q), A.phi.dense(q), A.M.dense(q)
alpha = phi.T @ H.T @ acceleration  # outward: accelerations of the links
f_links = phi @ M @ alpha  # inward: forces between them
agree("(6), (7)", H @ f_links, ps.mass_matrix(arm, q) @ acceleration)
agree("(5) J* = HφB", (A.H @ A.phi @ A.B).dense(q), ps.jacobian(arm, q, "tip").T)

# %% [markdown]
# ## §4 Inversion of the mass matrix (eqs. 8-13)
#
# The Riccati equation (8) gives P, and with it D = HPH\*, G = PH\*D⁻¹, K = ℰ_φG, ψ. Lemma 1 is the innovations factorization ℳ = (I + HφK)D(I + HφK)\* (11), lemma 2 the inverse of its factor (12), lemma 3 the inverse of ℳ (13). Lemmas 1 and 2 are among the rules the rewriter is given, lemma 3 is not: it finds it, and each line of the derivation cites the rule it used.

# %%
print(A.mass.inv.derivation())
found = ps.innovations(arm, q)
agree("lemma 1, eq. 11", found.factor @ found.D @ found.factor.T, ps.mass_matrix(arm, q))
agree("lemma 2, eq. 12", found.factor @ found.inverse, np.eye(6))
agree("lemma 3, eq. 13", found.inverse.T @ np.linalg.solve(found.D, found.inverse), np.linalg.inv(mass.dense(q)))

# %% [markdown]
# The Riccati equation (8) with (9) in NumPy alone: ψ(k,k−1) = φ(k,k−1)(I − GH), P = ℰ_ψPℰ_ψ\* + M, from the tip on; and (10), ℰ_ψ = ℰ_φ(I − GH) = ℰ_φ − KH.

# %%
E_phi, P = A.E_phi.dense(q), M.copy()
for _ in range(6):  # each round reaches one link further
    D = H @ P @ H.T
    G = P @ H.T @ np.linalg.inv(D)
    E_psi = E_phi @ (np.eye(36) - G @ H)
    P = E_psi @ P @ E_psi.T + M
agree("(8), P", A.P.dense(q), P)
agree("(9), (10) ℰψ", A.E_psi.dense(q), E_psi)
agree("(10) ℰφ − KH", A.E_psi.dense(q), (A.E_phi - A.K @ A.H).dense(q))

# %% [markdown]
# The claim behind it: ℳ is the covariance of a filtered innovations process. Draw ε with covariance D; y = (I + HφK)ε has ℳ as its covariance, and I − HψK, the Kalman filter, makes it white again.

# %%
noise = rng.normal(size=(200_000, 6)) * np.sqrt(np.diag(found.D))
drawn = noise @ found.factor.T
scale = np.sqrt(np.diag(ps.mass_matrix(arm, q)))
away = np.abs(np.cov(drawn.T) - ps.mass_matrix(arm, q)) / np.outer(scale, scale)
white = drawn @ found.inverse.T
print(f"covariance of y within {away.max():.3f} of ℳ; filtered again it is ε to {np.abs(white - noise).max():.0e}")
assert away.max() < 0.02

# %% [markdown]
# D is diagonal, and no larger than the diagonal of ℳ: behind D(k) the joints further out are free to give way, behind ℳ(k,k) they are locked.

# %%
figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
axis.bar(np.arange(6) - 0.2, np.diag(ps.mass_matrix(arm, q)), 0.4, label="diagonal of ℳ: all other joints locked")
axis.bar(np.arange(6) + 0.2, np.diag(found.D), 0.4, label="D: joints further out free")
axis.set(xlabel="joint, base to tip", ylabel="kg m²", yscale="log")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Algorithm FD (eqs. 14, 15)
#
# Forward dynamics is an inward filter and an outward smoother, O(n). In the paper's last line read λ(k+1) for λ(k+1,k).

# %%
forward = A.mass.inv @ (A.T - A.C - A.g)
print(forward.derivation())
print(forward.algorithm())
expected = np.linalg.solve(ps.mass_matrix(arm, q), tau - ps.bias(arm, q, v))
agree("FD", ps.forward_dynamics(arm, q, v, tau), expected)
free_of_bias = tau - ps.bias(arm, q, v)  # (14); f(0) = 0
by_15 = found.inverse.T @ np.linalg.solve(found.D, found.inverse @ free_of_bias)
agree("(14), (15) in two steps", ps.forward_dynamics_two_step(arm, q, v, tau), by_15)
any_chain = ps.algebra()
abstract = any_chain.mass.inv @ (any_chain.T - any_chain.C - any_chain.g)
for n in (6, 12, 24):
    print(n, "links:", abstract.cost(n).total, "operations")

# %% [markdown]
# ## §5 Lemma 4, and what it is good for (eqs. 16-20)
#
# (I − HψK)Hφ = Hψ (16).

# %%
lemma = (A.I - A.H @ A.psi @ A.K) @ A.H @ A.phi
print(lemma.derivation())
agree("lemma 4", lemma.dense(q), (A.H @ A.psi).dense(q))

# %% [markdown]
# **§5.1** A force exerted by the tip changes the joint accelerations by (17), which lemma 4 shortens to Δθ̈ = −(I − HψK)\*D⁻¹HψBf(0) (18). The recursion starts with ẑ(0) = f(0), ψ(1,0) = φ(1,0).

# %%
change = -(A.mass.inv @ A.J.T @ A.f)
print(change.derivation())
force = rng.normal(size=6)
agree("eq. 18", ps.tip_acceleration_change(arm, q, "tip", force), -np.linalg.solve(mass.dense(q), J.dense(q).T @ force))

# %% [markdown]
# **§5.2** The inertia felt at the tip: Λ⁻¹ = Ω(0) = Jℳ⁻¹J\* = B\*ψ\*H\*D⁻¹HψB (19, 20), by one recursion outward.

# %%
inverse = A.J @ A.mass.inv @ A.J.T
print(inverse.derivation(matrix=True))
print(inverse.algorithm(matrix=True))
space = ps.operational_space(arm, q, v, "tip")
agree("eq. 20", space.inertia @ inverse.dense(q), np.eye(6))

# %% [markdown]
# ## §5.3 A closed chain (eqs. 21-26)
#
# Two arms whose tips are joined, Fig. 1: forces (21) and accelerations (22) agree at the cut, each arm moves by (23), f(0) = Λ_c(α₂f(0) − α₁f(0)), Λ_c⁻¹ = Λ₁⁻¹ + Λ₂⁻¹ (26). After (25) read J̇₁θ̇₁. The library does it for any tree and any closures; here is the paper's case: by hand from the free arms, as the statement of two robots that (26) is, and by `ps.forward_dynamics` of a model with a loop.

# %%
builder = ps.ModelBuilder("closed", gravity=(0, 0, 0))
builder.attach(still, "world", ps.Pose(), prefix="one/")
builder.attach(still, "world", ps.Pose(xyz=(1.5, 0, 0), rpy=(0, 0, np.pi)), prefix="two/")
builder.loop("c", "one/tip", "two/tip", joint=ps.Fixed())
pair = builder.build()
start = ps.assemble(pair, rng.uniform(-0.8, 0.8, 12))
rates = ps.loops.assemble_velocity(pair, start, rng.normal(size=12))
torques = rng.normal(size=12)

tree = pair.tree
free = ps.forward_dynamics(tree, start, rates, torques)  # θ̈_f of both arms, eq. 24
tips = ["one/tip", "two/tip"]
jacobians = [ps.jacobian(tree, start, tip) for tip in tips]
tip_free = [j @ free + ps.jacobian_dot_v(tree, start, rates, tip) for j, tip in zip(jacobians, tips)]  # eq. 25
weights = [ps.mobility(tree, start, tip) for tip in tips]  # Λ⁻¹ of each arm, in O(n)
f = np.linalg.solve(weights[0] + weights[1], tip_free[1] - tip_free[0])  # eq. 26
change = ps.force_response(tree, start, np.zeros(12), {tips[0]: f, tips[1]: -f})
agree("eq. 26", free + change, ps.forward_dynamics(pair, start, rates, torques))
moved = ps.ModelBuilder("two", gravity=(0, 0, 0))
moved.attach(still, "world", ps.Pose(xyz=(1.5, 0, 0), rpy=(0, 0, np.pi)))
arms = {"one": still, "two": moved.build()}
both = ps.algebra(arms, frames="tip")  # (26) as it is printed: the statement of two robots, each with its own sweeps
inverse_inertias = [x.J @ x.mass.inv @ x.J.T for x in (both.one, both.two)]
closed = (inverse_inertias[0] + inverse_inertias[1]).inv
frees = [x.J @ x.mass.inv @ (x.T - x.C) + x.Jdot_v for x in (both.one, both.two)]
stated = closed @ (frees[1] - frees[0])
print("Λ_c =", closed.simplify())
halves = {"one": slice(0, 6), "two": slice(6, 12)}
given = {name: {"v": rates[at], "T": torques[at]} for name, at in halves.items()}
agree("eq. 26, stated", stated.apply({name: start[at] for name, at in halves.items()}, **given), f)
met = [frees[0] + inverse_inertias[0] @ stated, frees[1] - inverse_inertias[1] @ stated]
print("the tips then move alike, eq. 22:", "proved" if met[0].equals(met[1]).proved else "not proved")
closure = jacobians[0] - jacobians[1]  # explicitly: Newton's equations and (22) in one system
drift = ps.jacobian_dot_v(tree, start, rates, tips[0]) - ps.jacobian_dot_v(tree, start, rates, tips[1])
system = np.block([[ps.mass_matrix(tree, start), -closure.T], [closure, np.zeros((6, 6))]])
solved = np.linalg.lstsq(system, np.concatenate([torques - ps.bias(tree, start, rates), -drift]), rcond=None)[0]
agree("and the whole system solved", solved[:12], ps.forward_dynamics(pair, start, rates, torques))

# %% [markdown]
# ## §6 Diagonalized dynamics
#
# With the innovations ε = D^(−½)(I − HψK)T and ν = D^(½)(I + HφK)\*θ̇ (φ, where the paper prints ψ) the equations of motion are ν̇ + μ(θ, ν) = ε: the mass matrix has become the identity.

# %%
residuals = A.D_root @ (A.I + A.H @ A.phi @ A.K).T @ A.v
nu = residuals.apply(q, v=v)
agree("ν", nu, np.sqrt(np.diag(found.D)) * (found.factor.T @ v))
agree("½ν*ν is the kinetic energy", 0.5 * nu @ nu, ps.kinetic_energy(arm, q, v))
print("ν*ν = θ̇*ℳθ̇:", "proved" if (residuals.T @ residuals).equals(A.v.T @ A.mass @ A.v).proved else "not proved")
h, a = 1e-6, ps.forward_dynamics(arm, q, v, tau)
ahead, behind = (ps.control.diagonalized(arm, q + s * h * v, v + s * h * a) for s in (1, -1))
here = ps.control.diagonalized(arm, q, v)
epsilon = ps.control.innovations_of_forces(arm, q, tau)
rate = (ahead.velocity - behind.velocity) / (2 * h)  # dν/dt, by differences along the motion
print(f"ν̇ + μ = ε: agree to {np.abs(rate + here.bias - epsilon).max() / np.abs(epsilon).max():.0e}")
assert np.abs(rate + here.bias - epsilon).max() < 1e-6 * np.abs(epsilon).max()

# %% [markdown]
# The section names more that is done elsewhere. **Lyapunov control**: C(θ, θ̇)θ̇_r with actual and desired rates apart, so that the storage ½s\*ℳs falls whatever the motion. **JJ\*** and (J\*J)⁻¹ of nonredundant arms by recursions. **Gears**: joints with the full dynamics of their rotors, against a rotor that is a body of its own.

# %%
C = ps.coriolis_matrix(still, q, v)
agree("C(θ, θ̇)θ̇ = 𝒞", C @ v, ps.bias(still, q, v))
law = ps.control.PassivityControl(arm, k=0.05, slope=3.0)
path = ps.rollout(arm, q, v, dt=5e-4, steps=2000, controller=law, parameters=law.reference(np.zeros(6)))
storage = law.storage(path.q, path.v, law.reference(np.zeros(6)))
print(f"½s*ℳs falls from {storage[0]:.2f} to {storage[-1]:.1e} J, never rises: {np.diff(storage).max() < 1e-6}")
JJ = (A.J @ A.U @ A.J.T).dense(q)
agree("JJ*", JJ, ps.jacobian(arm, q, "tip") @ ps.jacobian(arm, q, "tip").T)

# %%
gear, spin = 20.0, 1e-3  # a rotor about the joint's axis, geared 20 times: as an inertia on the axis, and as a body
rod = ps.Inertia(1.0, (0.3, 0, 0), 0.02 * np.eye(3))
geared = ps.ModelBuilder("geared", gravity=(0, 0, 0))
geared.body("rod", joint=ps.Revolute(axis=(0, 0, 1), gear_ratio=gear, rotor_inertia=spin), inertia=rod)
built = ps.ModelBuilder("built", gravity=(0, 0, 0))
built.body("rod", joint=ps.Revolute(axis=(0, 0, 1)), inertia=rod, joint_name="hinge")
rotor = ps.Inertia(1e-9, (0, 0, 0), np.diag([spin, spin, 2 * spin]) / 2)
built.body("rotor", joint=ps.Revolute(axis=(0, 0, 1)), inertia=rotor, joint_name="shaft")
built.loop("gear", "shaft", "hinge", joint=ps.Coupling((0.0, gear)))
one = ps.forward_dynamics(geared.build(), [0.2], [0.0], [1.0])
both = ps.forward_dynamics(built.build(), [0.2, 0.2 * gear], [0.0, 0.0], [1.0, 0.0])
agree("a geared joint and its rotor as a body", one, both[:1])

# %% [markdown]
# **Grasps** (several arms on one object) are `ps.loops.Grasp` and the page *Grasps and contacts*; motion planning and flexible manipulators, which the section also names, are left out of this notebook: the first is not in the paper, the second refers to another.

# %% [markdown]
# ## Appendix: lemma 5
#
# ψ⁻¹ = φ⁻¹ + KH. (In the proof of lemma 1 an equals sign is lost before the second P.)

# %%
print((A.phi.inv + A.K @ A.H).simplify(), "=", A.psi.inv.simplify())
agree("lemma 5", np.linalg.inv(A.psi.dense(q)), np.linalg.inv(A.phi.dense(q)) + (A.K @ A.H).dense(q))
agree("M = P − ℰψPℰψ*", A.M.dense(q), (A.P - A.E_psi @ A.P @ A.E_psi.T).dense(q))
