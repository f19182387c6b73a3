# %% [markdown]
# # Operational space control, recursively
#
# Kreutz-Delgado, Jain and Rodriguez, *Recursive Formulation of Operational Space Control*, 1992 (KJR92). The tip of an arm behaves as a mass Λ(0) pushed by F_c(0), with Coriolis force c(0) and weight g(0); the paper gives all of them by O(n) recursions. In (17) H\* is 6n × n, and in (46) the left side is J̇θ̇.

# %%
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps

arm = ps.chain(7)
rng = np.random.default_rng(1)
q, v = rng.uniform(-1, 1, size=(2, 7))
A = ps.algebra(arm, frames=["tip"])


def agree(name, a, b):
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max(), 1e-300)
    print(f"{name}: agree to {far:.0e}")
    assert far < 1e-9


# %% [markdown]
# ## §2 Operational space dynamics (eqs. 4-15)
#
# By definition, with dense matrices and no algebra: Λ(0) = (Jℳ⁻¹J\*)⁻¹ (12), c(0) = Λ(0)(Jℳ⁻¹𝒞 − J̇θ̇) (14), g(0) = Λ(0)Jℳ⁻¹𝒢 (15).

# %%
still = arm.replace(gravity=(0, 0, 0))
mass, J = ps.mass_matrix(arm, q), ps.jacobian(arm, q, "tip")
Lambda = np.linalg.inv(J @ np.linalg.solve(mass, J.T))
c = Lambda @ (J @ np.linalg.solve(mass, ps.bias(still, q, v)) - ps.jacobian_dot_v(arm, q, v, "tip"))
g = Lambda @ J @ np.linalg.solve(mass, ps.gravity_load(arm, q))
space = ps.operational_space(arm, q, v, "tip")
agree("Λ(0)", space.inertia, Lambda)
agree("c(0)", space.coriolis, c)
agree("g(0)", space.gravity, g)

# %% [markdown]
# ## §3.3 Operator identities (eqs. 52-59)

# %%
phi, psi, H, K, P, D = A.phi, A.psi, A.H, A.K, A.P, A.D
tilde_phi, tilde_psi = phi - A.I, psi - A.I
agree("(52) φKHψ = φ − ψ", (phi @ K @ H @ psi).dense(q), (phi - psi).dense(q))
agree("(53) (I − HψK)Hφ = Hψ", ((A.I - H @ psi @ K) @ H @ phi).dense(q), (H @ psi).dense(q))
agree("(54) ψMφ* = ψP + Pφ̃*", (psi @ A.M @ phi.T).dense(q), (psi @ P + P @ tilde_phi.T).dense(q))
agree("(55) φ̃ = φℰφ", tilde_phi.dense(q), (phi @ A.E_phi).dense(q))
left = psi.T @ H.T @ D.inv @ H @ psi
agree("(56)", left.dense(q), (A.Omega + tilde_psi.T @ A.Omega + A.Omega @ tilde_psi).dense(q))
agree("(57)", A.Omega.dense(q), (A.E_psi.T @ A.Omega @ A.E_psi + H.T @ D.inv @ H).dense(q))
agree("(59)", ((A.I - H.T @ D.inv @ H @ psi @ P) @ A.E.T).dense(q), A.W.T.dense(q))

# %% [markdown]
# (56) is a law of chains: on a tree Ω is not block diagonal where a link has several children. The library knows it as a side condition, and keeps ψ\*H\*D⁻¹Hψ there:

# %%
for setting in ({}, {"tree": True}):
    B = ps.algebra(**setting)
    print(setting or "serial", (B.J @ B.mass.inv @ B.J.T).simplify(matrix=True))

# %% [markdown]
# ## §4.1 The mass operator (eqs. 60, 61)

# %%
statement = A.J @ A.mass.inv @ A.J.T
print(statement.derivation(matrix=True))
print(statement.algorithm(matrix=True))
agree("(60)", statement.dense(q), (A.B.T @ A.Omega @ A.B).dense(q))

# %% [markdown]
# ## §4.2 Coriolis and centrifugal forces (eqs. 62-68)
#
# c(0) = Λ(0){B\*ψ\*[H\*D⁻¹Hψ(Pa + b) − a] − a(0)} (64). On a chain the library finds a form one sweep shorter than the paper's.

# %%
coriolis = A.Lambda @ (A.J @ A.mass.inv @ A.C - A.Jdot_v)
print(coriolis.derivation())
abstract = ps.algebra(tree=True)
print("on a tree:", (abstract.Lambda @ (abstract.J @ abstract.mass.inv @ abstract.C - abstract.Jdot_v)).simplify())

# %% [markdown]
# ## §4.3 Gravity (eqs. 69-74)
#
# g(0) = Λ(0)B\*(φ\*E\* − ψ\*W\*)a_g (71): what falls freely, less what falls with its joints free.

# %%
gravity = A.Lambda @ A.J @ A.mass.inv @ A.g
print(gravity.derivation())
a_g = np.concatenate([np.zeros(3), -arm.gravity])
by_71 = (A.B.T @ (phi.T @ A.E.T - psi.T @ A.W.T)).dense(q) @ a_g
agree("(71)", Lambda @ by_71, g)

# %% [markdown]
# At the end of §4.3 the paper gets c(0) + g(0) from one recursion by putting gravity into the bias accelerations; −J̇θ̇ in (64) must keep a without it, and (68) becomes Ω(0)(c + g) = η(0) − a(0) + a_g.
#
# ## §5 How many sweeps?
#
# Four; three when velocity terms may be late by a sample; two when the tip force may be late too. On a chain the search needs only three with nothing late. These are counts of the programs that would run:

# %%
for serial in (False, True):
    counted = {late: len(program.passes) for late, program in ps.control.control_sweeps(serial).items()}
    print("chain:" if serial else "any tree:", counted)

# %% [markdown]
# The cost grows with n, not with n³:

# %%
lengths = [3, 6, 12, 24, 48, 96]
abstract = ps.algebra()
omega = abstract.J @ abstract.mass.inv @ abstract.J.T
print(omega.cost_polynomial(matrix=True))
ours = [omega.cost(n, matrix=True).total for n in lengths]
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.loglog(lengths, ours, "o-", label="B*ΩB, operations counted")
axis.loglog(lengths, [ours[0] * n / 3 for n in lengths], "--", label="in proportion to n")
axis.set(xlabel="links", ylabel="operations")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## The controller (eq. 4)
#
# T = J\*F_c(0) with F_c(0) = Λ(0)(…) + c(0) + g(0) makes the tip a unit mass on springs, whatever the arm does.

# %%
law = ps.control.OperationalSpaceControl(arm, "tip", kp=25)
goal = ps.forward_kinematics(arm, q, "tip")
goal[:3, 3] += [0.1, -0.1, 0.1]
run = ps.rollout(arm, q, np.zeros(7), dt=2e-3, steps=1500, controller=law, parameters=law.reference(goal, posture=q))
path = ps.forward_kinematics(arm, run.q, "tip")[:, :3, 3]
away = np.linalg.norm(path - goal[:3, 3], axis=1)
print(f"{1e3 * away[0]:.1f} mm away at the start, {1e3 * away[-1]:.4f} mm at the end")
figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
axis.plot(run.t, 1e3 * (path - goal[:3, 3]))
axis.set(xlabel="time [s]", ylabel="x, y, z from the goal [mm]")
plt.show()
