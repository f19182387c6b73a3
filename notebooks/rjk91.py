# %% [markdown]
# # A spatial operator algebra for manipulators
#
# Rodriguez, Jain and Kreutz-Delgado, *A Spatial Operator Algebra for Manipulator Modeling and Control*, 1991 (RJK91). The results in the paper's order: each is stated, derived by the library, and compared with matrices that are written out in NumPy. `by_hand.py`, beside this notebook, makes them from axes, lengths and masses; it does not call the library. The arm has six links, which the paper counts from the tip, and so does what the library prints.

# %%
import matplotlib.pyplot as plt
import numpy as np
from by_hand import chain_matrices, riccati, shift, tip_first

import phistar as ps

arm = ps.chain(6)
rng = np.random.default_rng(0)
q, v, tau = rng.uniform(-1, 1, size=(3, 6))
A = ps.algebra(arm, frames=["tip"])
by = chain_matrices(arm, q, v)  # H, φ, M, B … as explicit matrices, the paper's link 1 first
print(arm)


def agree(name, a, b, within=1e-10):
    """How far two ways are apart, relative to the larger."""
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max())
    print(f"{name}: agree to {far:.0e}")
    assert far < within


def in_world(operator):
    """An operator between links as the paper stacks it, in world axes; the library works in those of the links."""
    return by.axes @ tip_first(operator.dense(q)) @ by.axes.T


# %% [markdown]
# ## §2 The Jacobian operator (eq. 1)
#
# $V(0) = J\dot\theta$ with $J = B^*\phi^*H^*$: relative velocities along the axes, passed outward, read at the tip. Its adjoint takes a force at the tip to the joints, $T = J^*f(0)$.

# %%
J = A.B.T @ A.phi.T @ A.H.T
print(J)
print(J.algorithm())
explicit_J = (by.H @ by.phi @ by.B).T[:, ::-1]  # the library counts joints from the base
agree("(1) J", J.dense(q), explicit_J)
agree("(1) V(0)", ps.frame_velocity(arm, q, v, "tip"), explicit_J @ v)
agree("T = J*f(0)", J.T.apply(q, np.ones(6)), explicit_J.T @ np.ones(6))

# %% [markdown]
# The operators have block structure: $H$ and $M$ are block diagonal (memoryless), $\phi$ is lower triangular (causal).

# %%
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
shown = {"H": by.H, "φ": by.phi, "M": by.M, "ℳ": by.H @ by.phi @ by.M @ by.phi.T @ by.H.T}
for axis, (name, matrix) in zip(axes, shown.items()):
    axis.imshow(np.log10(np.abs(matrix) + 1e-3 * np.abs(matrix).max()), cmap="Blues", aspect="auto")
    axis.set(title=f"{name}, {matrix.shape[0]} × {matrix.shape[1]}", xticks=[], yticks=[])
plt.show()

# %% [markdown]
# The section ends with what can be made of $J$ by recursions: $JJ^*$, $J^*J$, and, for an arm that is neither redundant nor singular, $(J^*J)^{-1}$. A rate and a torque are different things, so the algebra asks for a metric between them; $U$ and $U_{task}$ are the units.

# %%
agree("JJ*", (A.J @ A.U @ A.J.T).dense(q), explicit_J @ explicit_J.T)
squared = A.J.T @ A.U_task @ A.J
agree("J*J", squared.dense(q), explicit_J.T @ explicit_J)
print(squared.inv.derivation())
agree("(J*J)⁻¹", squared.inv.apply(q, tau), np.linalg.solve(explicit_J.T @ explicit_J, tau), 1e-7)

# %% [markdown]
# ## §3 Operator-formulated dynamics (eqs. 2-7)
#
# In the equations of motion $\mathcal M\ddot\theta + \mathcal C + J^*f(0) = T$ (2) the operators factor: $\mathcal M = H\phi M\phi^*H^*$ (3), $\mathcal C = H\phi(M\phi^*a + b)$ (4), $J^* = H\phi B$ (5). This Newton-Euler factorization *is* the recursion of Luh, Walker and Paul: an outward sweep of accelerations, an inward sweep of forces.

# %%
mass = A.H @ A.phi @ A.M @ A.phi.T @ A.H.T
explicit_mass = shown["ℳ"][::-1, ::-1]
agree("(3)", mass.dense(q), explicit_mass)
still = arm.replace(gravity=(0, 0, 0))
explicit_C = (by.H @ by.phi @ (by.M @ by.phi.T @ by.a + by.b))[::-1]
agree("(4)", ps.bias(still, q, v), explicit_C)
agree("(5)", (A.H @ A.phi @ A.B).dense(q), explicit_J.T)
acceleration, force = rng.normal(size=6), rng.normal(size=6)
needed = ps.inverse_dynamics(still, q, v, acceleration) + ps.jacobian(arm, q, "tip").T @ force
agree("(2)", needed, explicit_mass @ acceleration + explicit_C + explicit_J.T @ force)
print(mass.algorithm())

# %% [markdown]
# Without biases and tip force (2) is $\mathcal M\ddot\theta = T'$ (6), and by (3) $H\phi M\phi^*H^*\ddot\theta = T'$ (7). The two sweeps link by link, as the paper prints them, in NumPy:

# %%
alpha, f = np.zeros((8, 6)), np.zeros((7, 6))  # α(n+1) = 0 and f(0) = 0; entry k is link k
for k in range(6, 0, -1):
    outward = by.phi[by.at[k], by.at[k - 1]].T @ alpha[k + 1] if k < 6 else 0.0
    alpha[k] = outward + by.H[k - 1, by.at[k - 1]] * acceleration[6 - k]
for k in range(1, 7):
    inward = by.phi[by.at[k - 1], by.at[k - 2]] @ f[k - 1] if k > 1 else 0.0
    f[k] = inward + by.M[by.at[k - 1], by.at[k - 1]] @ alpha[k]
moments = [by.H[k - 1, by.at[k - 1]] @ f[k] for k in range(6, 0, -1)]
agree("(6), (7)", mass.apply(q, acceleration), moments)

# %% [markdown]
# ## §4 Inversion of the mass matrix (eqs. 8-13)
#
# The Riccati equation (8) with $\psi(k,k-1) = \phi(k,k-1)(I - GH)$ (9) gives $P$ from the tip on, and with it $D = HPH^*$, $G = PH^*D^{-1}$, $K = \mathcal E_\phi G$; stacked, $\mathcal E_\psi = \mathcal E_\phi(I - GH) = \mathcal E_\phi - KH$ (10).

# %%
filtered = riccati(by)  # (8), (9) link by link, in NumPy
agree("(8) P", in_world(A.P), filtered.P)
agree("(9) ψ(k, k−1)", in_world(A.E_psi), filtered.E_psi)
agree("(10) ℰφ − KH", in_world(A.E_phi - A.K @ A.H), by.E_phi - filtered.K @ by.H)
print("(10), both forms:", (A.E_phi - A.K @ A.H).equals(A.E_phi @ (A.I - A.G @ A.H)))

# %% [markdown]
# Lemma 1 is the innovations factorization $\mathcal M = (I + H\phi K)D(I + H\phi K)^*$ (11), lemma 2 the inverse of its factor, $(I + H\phi K)^{-1} = I - H\psi K$ (12), lemma 3 the inverse of $\mathcal M$, $(I - H\psi K)^*D^{-1}(I - H\psi K)$ (13). Lemmas 1 and 2 are among the rules that the rewriter is given. Lemma 3 is not: the rewriter finds it, and each line of the derivation cites the rule that was used.

# %%
print(A.mass.inv.derivation())
found = ps.innovations(arm, q)
factor = (np.eye(6) + by.H @ by.phi @ filtered.K)[::-1, ::-1]
white = (np.eye(6) - by.H @ filtered.psi @ filtered.K)[::-1, ::-1]
D = filtered.D[::-1, ::-1]
agree("(11) the factor", found.factor, factor)
agree("(11) lemma 1", found.factor @ found.D @ found.factor.T, explicit_mass)
agree("(12) lemma 2", found.inverse, white)
agree("(12) and NumPy's inverse", found.inverse, np.linalg.inv(factor))
agree("(13) lemma 3", A.mass.inv.dense(q), np.linalg.inv(explicit_mass))

# %% [markdown]
# The claim behind it: $\mathcal M$ is the covariance of a filtered innovations process. Draw $\varepsilon$ with covariance $D$; then $y = (I + H\phi K)\varepsilon$ has $\mathcal M$ as its covariance, and the Kalman filter $I - H\psi K$ makes it white again. Both recursions are those of the paper, from tip to base, run on 200,000 draws at once:

# %%
noise = rng.normal(size=(200_000, 6)) * np.sqrt(np.diag(filtered.D))  # ε(1) … ε(n)
drawn, white_again = np.zeros_like(noise), np.zeros_like(noise)
z, kept = np.zeros((200_000, 6)), np.zeros((200_000, 6))
for k in range(6):
    if k > 0:
        gain = filtered.K[by.at[k], k - 1]
        z = z @ by.phi[by.at[k], by.at[k - 1]].T + np.outer(noise[:, k - 1], gain)
        kept = kept @ filtered.E_psi[by.at[k], by.at[k - 1]].T + np.outer(drawn[:, k - 1], gain)
    drawn[:, k] = z @ by.H[k, by.at[k]] + noise[:, k]  # y(k) = H(k)ẑ(k) + ε(k)
    white_again[:, k] = drawn[:, k] - kept @ by.H[k, by.at[k]]  # ε(k) = y(k) − H(k)ẑ(k)
scale = np.sqrt(np.diag(explicit_mass))
away = np.abs(np.cov(drawn[:, ::-1].T) - ps.mass_matrix(arm, q)) / np.outer(scale, scale)
print(f"covariance of y within {away.max():.3f} of ℳ; filtered, it is ε to {np.abs(white_again - noise).max():.0e}")
assert away.max() < 0.02

# %% [markdown]
# $D$ is diagonal, and nowhere larger than the diagonal of $\mathcal M$: behind $D(k)$ the joints further out are free to give way, behind $\mathcal M(k,k)$ they are locked.

# %%
figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
joints = np.arange(1, 7)
axis.bar(joints - 0.2, np.diag(explicit_mass), 0.4, label="diagonal of ℳ: all other joints locked")
axis.bar(joints + 0.2, np.diag(found.D), 0.4, label="D: joints further out free")
axis.set(xlabel="joint, base to tip", ylabel="kg m²", yscale="log")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Algorithm FD (eqs. 14, 15)
#
# Forward dynamics in two steps: the biases are taken off, $T' = T - H\phi(M\phi^*a + b + Bf(0))$ (14), then $\ddot\theta = (I - H\psi K)^*D^{-1}(I - H\psi K)T'$ (15), an inward filter and an outward smoother. In the paper's last line read $\lambda(k+1)$ for $\lambda(k+1,k)$. The library's own form has the biases inside and needs no first step.

# %%
gravity = by.H @ by.phi @ by.M @ by.phi.T @ by.E.T @ np.concatenate([np.zeros(3), -arm.gravity])
remaining = tau - explicit_C - gravity[::-1] - explicit_J.T @ force  # (14)
by_15 = white.T @ np.linalg.solve(D, white @ remaining)
exact = np.linalg.solve(explicit_mass, remaining)
agree("(14), (15) in two steps", by_15, exact)
agree("ps.forward_dynamics_two_step", ps.forward_dynamics_two_step(arm, q, v, tau - explicit_J.T @ force), exact)
forward = A.mass.inv @ (A.T - A.C - A.g - A.J.T @ A.f)
print(forward.derivation())
print(forward.algorithm())
agree("the form found", forward.apply(q, v=v, T=tau, f=force), exact)
any_chain = ps.algebra()
abstract = any_chain.mass.inv @ (any_chain.T - any_chain.C - any_chain.g)
for n in (6, 12, 24):
    print(n, "links:", abstract.cost(n).total, "operations")

# %% [markdown]
# ## §5 Lemma 4, and what it is good for (eqs. 16-20)
#
# $(I - H\psi K)H\phi = H\psi$ (16).

# %%
lemma = (A.I - A.H @ A.psi @ A.K) @ A.H @ A.phi
print(lemma.derivation())
agree("(16) lemma 4", (np.eye(6) - by.H @ filtered.psi @ filtered.K) @ by.H @ by.phi, by.H @ filtered.psi)

# %% [markdown]
# **§5.1** A force exerted by the tip changes the joint accelerations by $-\mathcal M^{-1}J^*f(0)$, written out in (17); lemma 4 shortens it to $\Delta\ddot\theta = -(I - H\psi K)^*D^{-1}H\psi Bf(0)$ (18). The recursion starts with $\hat z(0) = f(0)$, $\psi(1,0) = \phi(1,0)$.

# %%
change = -(A.mass.inv @ A.J.T @ A.f)
print(change.derivation())
solved = -np.linalg.solve(explicit_mass, explicit_J.T @ force)
by_17 = -white.T @ np.linalg.solve(D, white @ explicit_J.T @ force)
by_18 = -white.T @ np.linalg.solve(D, (by.H @ filtered.psi @ by.B @ force)[::-1])
agree("(17)", by_17, solved)
agree("(18)", by_18, solved)
agree("ps.tip_acceleration_change", ps.tip_acceleration_change(arm, q, "tip", force), solved)

# %% [markdown]
# **§5.2** The inertia felt at the tip: $\Lambda^{-1} = \Omega(0) = J\mathcal M^{-1}J^*$, written out in (19), by lemma 4 $B^*\psi^*H^*D^{-1}H\psi B$ (20), by one recursion outward.

# %%
inverse = A.J @ A.mass.inv @ A.J.T
print(inverse.derivation(matrix=True))
print(inverse.algorithm(matrix=True))
explicit_mobility = explicit_J @ np.linalg.solve(explicit_mass, explicit_J.T)
hears = by.H @ filtered.psi @ by.B
agree("(19), (20)", hears.T @ np.linalg.solve(filtered.D, hears), explicit_mobility)
agree("Ω(0) of the library", inverse.dense(q), explicit_mobility)
agree("Λ of the library", ps.operational_space(arm, q, v, "tip").inertia, np.linalg.inv(explicit_mobility), 1e-9)

# %% [markdown]
# ## §5.3 A closed chain (eqs. 21-26)
#
# Two arms whose tips are joined, Fig. 1: forces (21) and accelerations (22) agree at the cut, each arm moves by (23), $f(0) = \Lambda_c(\alpha_{2f}(0) - \alpha_{1f}(0))$, $\Lambda_c^{-1} = \Lambda_1^{-1} + \Lambda_2^{-1}$ (26). After (25) read $\dot J_1\dot\theta_1$. Three ways: the statement of two robots that (26) is; `ps.forward_dynamics` of a model with a loop; and Newton's equations of both arms and (22) as one system of explicit matrices.

# %%
moved = ps.ModelBuilder("two", gravity=(0, 0, 0))
moved.attach(still, "world", ps.Pose(xyz=(1.5, 0, 0), rpy=(0, 0, np.pi)))
arms = {"one": still, "two": moved.build()}
builder = ps.ModelBuilder("closed", gravity=(0, 0, 0))
builder.attach(arms["one"], "world", ps.Pose(), prefix="one/")
builder.attach(arms["two"], "world", ps.Pose(), prefix="two/")
builder.loop("c", "one/tip", "two/tip", joint=ps.Fixed())
pair = builder.build()
start = ps.assemble(pair, rng.uniform(-0.8, 0.8, 12))
rates = ps.loops.assemble_velocity(pair, start, rng.normal(size=12))
torques = rng.normal(size=12)
halves = {"one": slice(0, 6), "two": slice(6, 12)}

both = ps.algebra(arms, frames="tip")
inverse_inertias = [x.J @ x.mass.inv @ x.J.T for x in (both.one, both.two)]
closed = (inverse_inertias[0] + inverse_inertias[1]).inv
frees = [x.J @ x.mass.inv @ (x.T - x.C) + x.Jdot_v for x in (both.one, both.two)]  # (24), (25)
stated = closed @ (frees[1] - frees[0])
print("Λ_c =", closed.simplify())
given = {name: {"v": rates[at], "T": torques[at]} for name, at in halves.items()}
f_cut = stated.apply({name: start[at] for name, at in halves.items()}, **given)

by_arm = {name: chain_matrices(arms[name], start[at], rates[at]) for name, at in halves.items()}
masses = [(x.H @ x.phi @ x.M @ x.phi.T @ x.H.T)[::-1, ::-1] for x in by_arm.values()]
biases = [(x.H @ x.phi @ (x.M @ x.phi.T @ x.a + x.b))[::-1] for x in by_arm.values()]
jacobians = [(x.H @ x.phi @ x.B).T[:, ::-1] for x in by_arm.values()]
drifts = [x.B.T @ x.phi.T @ x.a + x.a0 for x in by_arm.values()]
zero = np.zeros((6, 6))
system = np.block(
    [
        [masses[0], zero, -jacobians[0].T],  # (23), with (21)
        [zero, masses[1], jacobians[1].T],
        [jacobians[0], -jacobians[1], zero],  # (22)
    ]
)
right = np.concatenate([torques[:6] - biases[0], torques[6:] - biases[1], drifts[1] - drifts[0]])
solved = np.linalg.solve(system, right)
agree("(26), stated", f_cut, solved[12:], 1e-8)
agree("a model with a loop", ps.forward_dynamics(pair, start, rates, torques), solved[:12], 1e-8)
met = [frees[0] + inverse_inertias[0] @ stated, frees[1] - inverse_inertias[1] @ stated]
print("the tips then move alike, (22):", "proved" if met[0].equals(met[1]).proved else "not proved")

# %% [markdown]
# Fig. 1 of this pair, seen from the side: the closed chain (A), and cut at $c$, where the arms pull at each other with $f(0)$ (B).

# %%
lines = {
    name: np.array(
        [ps.forward_kinematics(arms[name], start[at], f)[:3, 3] for f in [*(f"joint{k}" for k in range(1, 7)), "tip"]]
    )
    for name, at in halves.items()
}
figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained", sharey=True)
for axis, gap, title in zip(axes, (0.0, 0.25), ("A", "B")):
    for (name, line), sign in zip(lines.items(), (-1, 1)):
        axis.plot(line[:, 0] + sign * gap, line[:, 2], "o-", label=f"arm {name}")
        if gap:
            pull = 0.2 * sign * f_cut[[3, 5]] / np.linalg.norm(f_cut[3:])
            axis.annotate(
                "",
                line[-1, [0, 2]] + [sign * gap, 0] - pull,
                line[-1, [0, 2]] + [sign * gap, 0],
                arrowprops={"arrowstyle": "->"},
            )
    axis.set(title=title, xlabel="x [m]", aspect="equal", ylim=(-0.25, 0.5))
axes[0].annotate("c", lines["one"][-1, [0, 2]], xytext=(6, 6), textcoords="offset points")
axes[0].legend(frameon=False, loc="upper left", ncols=2)
plt.show()

# %% [markdown]
# ## §6 Arms that hold a common object
#
# The object's inertia as it is felt while arms hold it is its own and theirs, $M + \sum X^*\Lambda X$, and accelerations and contact forces follow in $O(n) + O(l)$. Two arms and a box of 2 kg between their tips, at rest, pushed by the joints:

# %%
seats = [ps.forward_kinematics(arms[name], start[at], "tip") for name, at in halves.items()]
middle = 0.5 * (seats[0][:3, 3] + seats[1][:3, 3]) + np.array([0, 0, 0.1])
builder = ps.ModelBuilder("carriers", gravity=(0, 0, 0))
for name in arms:
    builder.attach(arms[name], "world", ps.Pose(), prefix=f"{name}/")
builder.body("box", joint=ps.Free(), inertia=ps.Inertia(2.0, tensor=0.05 * np.eye(3)))
for name, seat in zip(arms, seats):
    builder.frame(f"{name}_seat", "box", ps.Pose(xyz=seat[:3, 3] - middle, rotation=seat[:3, :3]))
    builder.loop(f"{name}_grip", f"{name}_seat", f"{name}/tip", ps.Fixed())
carriers = builder.build()
place = np.concatenate([start, middle, [0, 0, 0, 1.0]])
grasp = ps.loops.Grasp(carriers, "box")
held = ps.loops.grasp_dynamics(grasp, place, np.zeros(18), np.concatenate([torques, np.zeros(6)]))

levers = [shift(seat[:3, 3] - middle) for seat in seats]  # a force at a seat as it is felt at the box's centre
box = np.diag([0.05] * 3 + [2.0] * 3)
mobilities = [j @ np.linalg.solve(m, j.T) for j, m in zip(jacobians, masses)]
felt = box + sum(x @ np.linalg.inv(w) @ x.T for x, w in zip(levers, mobilities))
frees = [j @ np.linalg.solve(m, t) for j, m, t in zip(jacobians, masses, (torques[:6], torques[6:]))]
pulled = sum(x @ np.linalg.solve(w, a) for x, w, a in zip(levers, mobilities, frees))
agree("effective inertia", ps.loops.effective_inertia(grasp, place), felt, 1e-8)
agree("acceleration of the box", held.object, np.linalg.solve(felt, pulled), 1e-8)

# %% [markdown]
# Contacts need not be rigid: point contacts with friction, soft fingers, sliding and rolling contacts are on the page *Grasps and contacts*.
#
# ## §6 Diagonalized dynamics
#
# With the innovations $\varepsilon = D^{-1/2}(I - H\psi K)T$ and the residuals $\nu = D^{1/2}(I + H\phi K)^*\dot\theta$ ($\phi$, where the paper prints $\psi$) the equations of motion are $\dot\nu + \mu(\theta,\nu) = \varepsilon$: the mass matrix has become the identity.

# %%
residuals = A.D_root @ (A.I + A.H @ A.phi @ A.K).T @ A.v
nu = residuals.apply(q, v=v)
agree("ν", nu, np.sqrt(np.diag(D)) * (factor.T @ v))
agree("½ν*ν is the kinetic energy", 0.5 * nu @ nu, 0.5 * v @ explicit_mass @ v)
print("ν*ν = θ̇*ℳθ̇:", "proved" if (residuals.T @ residuals).equals(A.v.T @ A.mass @ A.v).proved else "not proved")
epsilon = ps.control.innovations_of_forces(arm, q, tau)
agree("ε", epsilon, white @ tau / np.sqrt(np.diag(D)))


def explicit_residuals(q, v):
    links = chain_matrices(arm, q)
    own = riccati(links)
    return np.sqrt(np.diag(own.D)[::-1]) * ((np.eye(6) + links.H @ links.phi @ own.K)[::-1, ::-1].T @ v)


h, here = 1e-6, ps.control.diagonalized(arm, q, v)
a = np.linalg.solve(explicit_mass, tau - explicit_C - gravity[::-1])
rate = (explicit_residuals(q + h * v, v + h * a) - explicit_residuals(q - h * v, v - h * a)) / (2 * h)
agree("ν̇ + μ = ε, ν̇ by differences", rate + here.bias, epsilon, 1e-6)

# %% [markdown]
# ## §6 Lyapunov control
#
# These laws need $\mathcal C(\theta,\dot\theta)\dot\theta_r$ with actual and desired rates apart, which a plain Newton-Euler recursion cannot give; $\dot{\mathcal M} - 2\mathcal C$ is then skew, and the storage $\frac12 s^*\mathcal Ms$ falls whatever the motion.

# %%
C = ps.coriolis_matrix(still, q, v)
agree("C(θ, θ̇)θ̇", C @ v, explicit_C)


def explicit_mass_at(q):
    links = chain_matrices(arm, q)
    return (links.H @ links.phi @ links.M @ links.phi.T @ links.H.T)[::-1, ::-1]


mass_rate = (explicit_mass_at(q + h * v) - explicit_mass_at(q - h * v)) / (2 * h)
agree("dℳ/dt = C + C*", C + C.T, mass_rate, 1e-7)
law = ps.control.PassivityControl(arm, k=0.05, slope=3.0)
path = ps.rollout(arm, q, v, dt=5e-4, steps=2000, controller=law, parameters=law.reference(np.zeros(6)))
storage = law.storage(path.q, path.v, law.reference(np.zeros(6)))
print(f"½s*ℳs falls from {storage[0]:.2f} to {storage[-1]:.1e} J, never rises: {np.diff(storage).max() < 1e-6}")

# %% [markdown]
# ## §6 Gears and linearization
#
# A geared joint, its rotor as an inertia on the axis, against the rotor as a body of its own with a coupling; and the linearized dynamics against differences of the explicit matrices.

# %%
gear, spin = 20.0, 1e-3
rod = ps.Inertia(1.0, (0.3, 0, 0), 0.02 * np.eye(3))
geared = ps.ModelBuilder("geared", gravity=(0, 0, 0))
geared.body("rod", joint=ps.Revolute(axis=(0, 0, 1), gear_ratio=gear, rotor_inertia=spin), inertia=rod)
built = ps.ModelBuilder("built", gravity=(0, 0, 0))
built.body("rod", joint=ps.Revolute(axis=(0, 0, 1)), inertia=rod, joint_name="hinge")
rotor = ps.Inertia(1e-9, (0, 0, 0), np.diag([spin, spin, 2 * spin]) / 2)
built.body("rotor", joint=ps.Revolute(axis=(0, 0, 1)), inertia=rotor, joint_name="shaft")
built.loop("gear", "shaft", "hinge", joint=ps.Coupling((0.0, gear)))
alone = ps.forward_dynamics(geared.build(), [0.2], [0.0], [1.0])
coupled = ps.forward_dynamics(built.build(), [0.2, 0.2 * gear], [0.0, 0.0], [1.0, 0.0])
agree("a geared joint and its rotor as a body", alone, coupled[:1])
agree("and by hand", alone, [1 / (0.02 + 1.0 * 0.3**2 + gear**2 * spin)])


def explicit_forward(q, v):
    links = chain_matrices(arm, q, v)
    weight = links.E.T @ np.concatenate([np.zeros(3), -arm.gravity])
    torque = links.H @ links.phi @ (links.M @ links.phi.T @ (links.a + weight) + links.b)
    return np.linalg.solve(explicit_mass_at(q), tau - torque[::-1])


slopes = ps.forward_dynamics_derivatives(arm, q, v, tau)
steps = 1e-6 * np.eye(6)
agree(
    "∂θ̈/∂q",
    slopes.dq,
    np.transpose([(explicit_forward(q + s, v) - explicit_forward(q - s, v)) / 2e-6 for s in steps]),
    1e-6,
)
agree(
    "∂θ̈/∂θ̇",
    slopes.dv,
    np.transpose([(explicit_forward(q, v + s) - explicit_forward(q, v - s)) / 2e-6 for s in steps]),
    1e-6,
)

# %% [markdown]
# Left out of this notebook, since the paper only points to other papers for them: flexible manipulators (they are in the notebook *Links of any width*), trees and general graphs (every page of this site), and motion planning by statistical mechanics.
#
# ## Appendix: lemma 5
#
# $\psi^{-1} = \phi^{-1} + KH$. In the proof of lemma 1 an equals sign is lost before the second $P$: $M = P - \mathcal E_\psi P\mathcal E_\psi^* = P - \mathcal E_\phi P\mathcal E_\phi^* + KDK^*$.

# %%
print((A.psi.inv - A.phi.inv - A.K @ A.H).simplify(), "= ψ⁻¹ − φ⁻¹ − KH")
agree("lemma 5", np.linalg.inv(filtered.psi), np.linalg.inv(by.phi) + filtered.K @ by.H)
shifted = filtered.P - by.E_phi @ filtered.P @ by.E_phi.T + filtered.K @ filtered.D @ filtered.K.T
agree("M = P − ℰψPℰψ*", filtered.P - filtered.E_psi @ filtered.P @ filtered.E_psi.T, by.M)
agree("M = P − ℰφPℰφ* + KDK*", shifted, by.M)
