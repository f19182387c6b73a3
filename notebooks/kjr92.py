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
# ## §1 Coordinates of the task (eqs. 1-5)
#
# β(0) = [ω; ẋ] belongs to any coordinates y of the tip by β = Πẏ (1). For roll, pitch and yaw, with Π written out and ẏ by differences; (2)-(5) follow below.


# %%
def angles(pose):
    R = pose[:3, :3]
    return np.array([np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(R[2, 0]), np.arctan2(R[1, 0], R[0, 0])])


h = 1e-6
_, pitch, yaw = angles(ps.forward_kinematics(arm, q, "tip"))
ahead, behind = (angles(ps.forward_kinematics(arm, q + s * h * v, "tip")) for s in (1, -1))
Pi = np.array(
    [
        [np.cos(yaw) * np.cos(pitch), -np.sin(yaw), 0],
        [np.sin(yaw) * np.cos(pitch), np.cos(yaw), 0],
        [-np.sin(pitch), 0, 1],
    ]
)
agree("(1)", Pi @ (ahead - behind) / (2 * h), ps.frame_velocity(arm, q, v, "tip")[:3])

# %% [markdown]
# ## §2 Operational space dynamics (eqs. 6-16)
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
# (6) with (7)-(9) is (10); times Λ it is (13), with Ω(0) of (11): the tip moves by Λβ̇ + c + g = F (2), T = J\*F (3). The controller (4), or (16), makes it β̇ = u (5):

# %%
u = rng.normal(size=6)
T = J.T @ (Lambda @ u + c + g)  # (4)
bias, drift = ps.bias(arm, q, v), ps.jacobian_dot_v(arm, q, v, "tip")
agree("(16)", T, J.T @ Lambda @ (u + J @ np.linalg.solve(mass, bias) - drift))
moved = np.linalg.solve(mass, T - bias)  # (6), solved densely
agree("(5), (8)", J @ moved + drift, u)
agree("(7), (9)", J @ v, ps.frame_velocity(arm, q, v, "tip"))
felt = Lambda @ (J @ moved + drift) + Lambda @ (J @ np.linalg.solve(mass, bias) - drift)
agree("(10)-(13)", felt, Lambda @ J @ np.linalg.solve(mass, T))

# %% [markdown]
# ## §3.1 Operators of a chain (eqs. 17-37)
#
# Everything follows from H\* (17), ℰ_φ (18, 19), M (20), B\* (21) and E (22). In NumPy, from their explicit matrices:

# %%
n6 = 42
H, E_phi, M, B, E = (operator.dense(q) for operator in (A.H, A.E_phi, A.M, A.B, A.E))
phi = np.linalg.inv(np.eye(n6) - E_phi)  # (23), (36)
P = M.copy()
for _ in range(7):  # (24), (37): link by link from the tip
    D = H @ P @ H.T  # (25), (30)
    G = P @ H.T @ np.linalg.inv(D)  # (26), (31)
    E_psi = E_phi @ (np.eye(n6) - G @ H)  # (28), (33)
    P = E_psi @ P @ E_psi.T + M
K, psi = E_phi @ G, np.linalg.inv(np.eye(n6) - E_psi)  # (27), (32); (29), (35)
W = E @ (np.eye(n6) - G @ H)  # (34)
named = {
    "φ": (A.phi, phi),
    "P": (A.P, P),
    "D": (A.D, D),
    "G": (A.G, G),
    "K": (A.K, K),
    "ψ": (A.psi, psi),
    "W": (A.W, W),
}
for name, (ours, by_hand) in named.items():
    agree(f"(23)-(37) {name}", ours.dense(q), by_hand)

# %% [markdown]
# ## §3.2 Dynamics (eqs. 38-51)
#
# (38) J\* = HφB, by (39) from tip to base; (40) and (41) back. (42)-(46) with the biases a of (48) and b of (47):

# %%
a, b, a0 = A.a.apply(q, v=v), A.b.apply(q, v=v), A.a0.apply(q, v=v)
a_g = np.concatenate([np.zeros(3), -arm.gravity])
agree("(38)-(41)", H @ phi @ B, J.T)
agree("(42)", H @ phi @ M @ phi.T @ H.T, mass)
agree("(43)", H @ phi @ (M @ phi.T @ a + b), ps.bias(still, q, v))
agree("(44)", H @ phi @ M @ phi.T @ E.T @ a_g, ps.gravity_load(arm, q))
agree("(45)", H @ phi @ (M @ phi.T @ (a + E.T @ a_g) + b), bias)
agree("(46)", B.T @ phi.T @ a + a0, drift)
factor = np.eye(7) + H @ phi @ K
agree("(49)", factor @ D @ factor.T, mass)
agree("(50), (51)", (np.eye(7) - H @ psi @ K).T @ np.linalg.solve(D, np.eye(7) - H @ psi @ K), np.linalg.inv(mass))

# %% [markdown]
# ## §3.3 Operator identities (eqs. 52-59)

# %%
phi, psi, H, K, P, D = A.phi, A.psi, A.H, A.K, A.P, A.D
tilde_phi, tilde_psi = phi - A.I, psi - A.I
matrices = {"phi": phi.dense(q), "psi": psi.dense(q), "K": K.dense(q), "P": P.dense(q), "D": D.dense(q)}
agree("(52) φKHψ = φ − ψ", (phi @ K @ H @ psi).dense(q), (phi - psi).dense(q))
agree("(53) (I − HψK)Hφ = Hψ", ((A.I - H @ psi @ K) @ H @ phi).dense(q), (H @ psi).dense(q))
agree("(54) ψMφ* = ψP + Pφ̃*", (psi @ A.M @ phi.T).dense(q), (psi @ P + P @ tilde_phi.T).dense(q))
agree("(55) φ̃ = φℰφ", tilde_phi.dense(q), (phi @ A.E_phi).dense(q))
left = psi.T @ H.T @ D.inv @ H @ psi
agree("(56)", left.dense(q), (A.Omega + tilde_psi.T @ A.Omega + A.Omega @ tilde_psi).dense(q))
agree("(57)", A.Omega.dense(q), (A.E_psi.T @ A.Omega @ A.E_psi + H.T @ D.inv @ H).dense(q))
agree("(59)", ((A.I - H.T @ D.inv @ H @ psi @ P) @ A.E.T).dense(q), A.W.T.dense(q))

# %% [markdown]
# Ω by (58), link by link from the base, in NumPy:

# %%
Omega = np.zeros((42, 42))
for _ in range(7):
    Omega = E_psi.T @ Omega @ E_psi + A.H.dense(q).T @ np.linalg.inv(matrices["D"]) @ A.H.dense(q)
agree("(58)", A.Omega.dense(q), Omega)

# %% [markdown]
# (56) is a law of chains: on a tree Ω is not block diagonal where a link has several children. The library knows it as a side condition, and keeps ψ\*H\*D⁻¹Hψ there:

# %%
for setting in ({}, {"tree": True}):
    other = ps.algebra(**setting)
    print(setting or "serial", (other.J @ other.mass.inv @ other.J.T).simplify(matrix=True))

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
H_, psi_, phi_ = A.H.dense(q), matrices["psi"], matrices["phi"]
HDH = H_.T @ np.linalg.inv(matrices["D"]) @ H_
by_62 = B.T @ psi_.T @ HDH @ psi_ @ (M @ phi_.T @ a + b) - B.T @ phi_.T @ a - a0
by_65 = B.T @ psi_.T @ (HDH @ psi_ @ (matrices["P"] @ a + b) - a) - a0
agree("(62)", Lambda @ by_62, c)
agree("(63)", psi_.T @ HDH @ psi_ @ M @ phi_.T, psi_.T @ HDH @ psi_ @ matrices["P"] + phi_.T - psi_.T)
agree("(64), (65)", Lambda @ by_65, c)


def coriolis_by_sweeps(acceleration):
    """(66), (67): z from tip to base, η back; links stand base first here."""
    blocks = [slice(6 * k, 6 * k + 6) for k in range(7)]
    z, eta = np.zeros((8, 6)), np.zeros((8, 6))
    for k in reversed(range(7)):
        inward = E_psi[blocks[k], blocks[k + 1]] @ z[k + 1] if k < 6 else 0.0
        z[k] = inward + matrices["P"][blocks[k], blocks[k]] @ acceleration[blocks[k]] + b[blocks[k]]
    for k in range(7):
        outward = E_psi[blocks[k - 1], blocks[k]].T @ eta[k - 1] if k > 0 else 0.0
        eta[k] = outward + HDH[blocks[k], blocks[k]] @ z[k] - acceleration[blocks[k]]
    return B[blocks[6]].T @ eta[6]


agree("(66)-(68)", Lambda @ (coriolis_by_sweeps(a) - a0), c)
abstract = ps.algebra(tree=True)
print("on a tree:", (abstract.Lambda @ (abstract.J @ abstract.mass.inv @ abstract.C - abstract.Jdot_v)).simplify())

# %% [markdown]
# ## §4.3 Gravity (eqs. 69-74)
#
# g(0) = Λ(0)B\*(φ\*E\* − ψ\*W\*)a_g (71): what falls freely, less what falls with its joints free.

# %%
gravity = A.Lambda @ A.J @ A.mass.inv @ A.g
print(gravity.derivation())
by_69 = B.T @ psi_.T @ HDH @ psi_ @ M @ phi_.T @ E.T @ a_g
by_70 = B.T @ (phi_.T - psi_.T @ (np.eye(42) - HDH @ psi_ @ matrices["P"])) @ E.T @ a_g
agree("(69)", Lambda @ by_69, g)
agree("(70)", Lambda @ by_70, g)
by_71 = (A.B.T @ (phi.T @ A.E.T - psi.T @ A.W.T)).dense(q) @ a_g
agree("(71)-(74)", Lambda @ by_71, g)

# %% [markdown]
# At the end of §4.3 the paper gets c(0) + g(0) from one recursion by putting gravity into the bias accelerations; −J̇θ̇ in (64) must keep a without it, and (68) becomes Ω(0)(c + g) = η(0) − a(0) + a_g:

# %%
agree("c(0) + g(0) in one go", Lambda @ (coriolis_by_sweeps(a + E.T @ a_g) - a0 + a_g), c + g)

# %% [markdown]
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
# Two rates, which §2 suggests, are `ps.control.Multirate`. T = J\*F_c(0) with F_c(0) = Λ(0)(…) + c(0) + g(0) makes the tip a unit mass on springs, whatever the arm does.

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
