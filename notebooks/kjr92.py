# %% [markdown]
# # Operational space control, recursively
#
# Kreutz-Delgado, Jain and Rodriguez, *Recursive Formulation of Operational Space Control*, 1992 (KJR92). The tip of an arm behaves as a mass $\Lambda(0)$ pushed by $F_c(0)$, with Coriolis force $c(0)$ and weight $g(0)$; the paper gives all of them by $O(n)$ recursions. The library is compared with explicit matrices in NumPy, which `by_hand.py` makes from axes, lengths and masses without calling it. Read $H^*$ in (17) as $6n \times n$, and the left side of (46) as $\dot J\dot\theta$.

# %%
import matplotlib.pyplot as plt
import numpy as np
from by_hand import chain_matrices, riccati, tip_first

import phistar as ps

arm = ps.chain(7)
rng = np.random.default_rng(1)
q, v = rng.uniform(-1, 1, size=(2, 7))
A = ps.algebra(arm, frames=["tip"])
by = chain_matrices(arm, q, v)  # links from the tip on, world axes


def agree(name, a, b, within=1e-9):
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max(), 1e-300)
    print(f"{name}: agree to {far:.0e}")
    assert far < within


def in_world(operator):
    """An operator between links as the paper stacks it, in world axes; the library works in those of the links."""
    return by.axes @ tip_first(operator.dense(q)) @ by.axes.T


# %% [markdown]
# ## §1 Coordinates of the task (eqs. 1-5)
#
# $\beta(0) = [\omega; \dot x]$ belongs to any coordinates $y$ of the tip by $\beta = \Pi\dot y$ (1). For roll, pitch and yaw, with $\Pi$ written out and $\dot y$ by differences:


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
J = (by.H @ by.phi @ by.B).T[:, ::-1]  # explicitly; the library counts joints from the base
agree("(1)", Pi @ (ahead - behind) / (2 * h), (J @ v)[:3], 1e-8)

# %% [markdown]
# ## §2 Operational space dynamics (eqs. 6-16)
#
# By definition: $\Omega(0) = J\mathcal M^{-1}J^*$ (11), $\Lambda(0) = \Omega(0)^{-1}$ (12), $c(0) = \Lambda(0)(J\mathcal M^{-1}\mathcal C - \dot J\dot\theta)$ (14), $g(0) = \Lambda(0)J\mathcal M^{-1}\mathcal G$ (15), from the explicit matrices of $\mathcal M\ddot\theta + \mathcal C + \mathcal G = T$ (6):

# %%
a_g = np.concatenate([np.zeros(3), -arm.gravity])
mass = (by.H @ by.phi @ by.M @ by.phi.T @ by.H.T)[::-1, ::-1]
C = (by.H @ by.phi @ (by.M @ by.phi.T @ by.a + by.b))[::-1]
G_load = (by.H @ by.phi @ by.M @ by.phi.T @ by.E.T @ a_g)[::-1]
drift = by.B.T @ by.phi.T @ by.a + by.a0  # J̇θ̇
Lambda = np.linalg.inv(J @ np.linalg.solve(mass, J.T))
c = Lambda @ (J @ np.linalg.solve(mass, C) - drift)
g = Lambda @ J @ np.linalg.solve(mass, G_load)
space = ps.operational_space(arm, q, v, "tip")
agree("(11), (12) Λ(0)", space.inertia, Lambda)
agree("(14) c(0)", space.coriolis, c)
agree("(15) g(0)", space.gravity, g)

# %% [markdown]
# (6) with $\beta = J\dot\theta$ (7), (9) and $\dot\beta = J\ddot\theta + \dot J\dot\theta$ (8) is (10); times $\Lambda$ it is (13): the tip moves by $\Lambda\dot\beta + c + g = F$ (2), with $T = J^*F$ (3). The controller $F_c = \Lambda u + c + g$ (4), or (16), makes it $\dot\beta = u$ (5):

# %%
u = rng.normal(size=6)
T = J.T @ (space.inertia @ u + space.coriolis + space.gravity)  # (3), (4), from the library's Λ, c and g
agree("(16)", T, J.T @ Lambda @ (u + J @ np.linalg.solve(mass, C + G_load) - drift))
moved = np.linalg.solve(mass, T - C - G_load)  # (6)
agree("(5), (8)", J @ moved + drift, u)
agree("(7), (9)", ps.frame_velocity(arm, q, v, "tip"), J @ v)
agree("(10)", J @ moved + drift + J @ np.linalg.solve(mass, C + G_load) - drift, J @ np.linalg.solve(mass, T))
agree("(2), (13)", Lambda @ (J @ moved + drift) + c + g, Lambda @ J @ np.linalg.solve(mass, T))

# %% [markdown]
# The section ends with a hint: resolved acceleration at the sample rate, and $\Lambda$, $c$, $g$ at a slower one, to watch over what the arm does. `ps.control.Multirate` is such a law in two rates; here the slow part runs at every tenth sample and keeps what it saw:

# %%
goal = ps.forward_kinematics(arm, q, "tip")
goal[:3, 3] += [0.1, -0.1, 0.1]
tracking = ps.control.ResolvedAccelerationControl(arm, "tip", kp=25)
reference = tracking.reference(goal, posture=q)


def one_sample(q, v, tau):
    step = ps.rollout(arm, q, v, tau[None], 2e-3, 1)
    return step.q[-1], step.v[-1]


two_rates = ps.control.Multirate(
    lambda t, q, v, held: tracking(t, q, v, reference), lambda t, q, v: ps.operational_space(arm, q, v, "tip"), every=10
)
sampled = two_rates.run(one_sample, (q, np.zeros(7)), 2e-3, 400)
left = np.linalg.norm(ps.forward_kinematics(arm, sampled.q[-1], "tip")[:3, 3] - goal[:3, 3])
seen = [np.linalg.eigvalsh(np.linalg.inv(np.linalg.inv(x.inertia)[3:, 3:])) for x in sampled.held]
print(f"{len(sampled.tau)} samples, Λ, c and g at {len(sampled.held)} of them; {1e3 * left:.1f} mm from the goal")
print("its mass by direction went from", seen[0].round(3), "to", seen[-1].round(3), "kg")
again = chain_matrices(arm, sampled.q[390])
J_there = (again.H @ again.phi @ again.B).T[:, ::-1]
mass_there = (again.H @ again.phi @ again.M @ again.phi.T @ again.H.T)[::-1, ::-1]
agree(
    "Λ at the last slow sample",
    np.linalg.inv(sampled.held[-1].inertia),
    J_there @ np.linalg.solve(mass_there, J_there.T),
)

# %% [markdown]
# ## §3.1 Operators of a chain (eqs. 17-37)
#
# Everything follows from $H^*$ (17), $\mathcal E_\phi$ (18) with $\phi(i,j)$ (19), $M$ (20), $B^*$ (21) and $E$ (22). The library's symbols against the explicit ones:

# %%
own = riccati(by)  # (24), (37) link by link, with (25)-(28) and (30)-(33)
K = by.E_phi @ own.G  # (27), (32)
agree("(17) H", tip_first(A.H.dense(q), 1, 6) @ by.axes.T, by.H)
agree("(18), (19) ℰφ", in_world(A.E_phi), by.E_phi)
agree("(20) M", in_world(A.M), by.M)
agree("(21) B", by.axes @ tip_first(A.B.dense(q), 6, 6), by.B)
agree("(22) E", tip_first(A.E.dense(q), 6, 6) @ by.axes.T, by.E)
agree("(23), (36) φ", in_world(A.phi), np.linalg.inv(np.eye(42) - by.E_phi))
agree("(24), (37) P", in_world(A.P), own.P)
agree("(25), (30) D", tip_first(A.D.dense(q), 1, 1), own.D)
agree("(26), (31) G", by.axes @ tip_first(A.G.dense(q), 6, 1), own.G)
agree("(27), (32) K", by.axes @ tip_first(A.K.dense(q), 6, 1), K)
agree("(28), (33) ℰψ", in_world(A.E_psi), own.E_psi)
agree("(29), (35) ψ", in_world(A.psi), own.psi)
W = by.E @ (np.eye(42) - own.G @ by.H)
agree("(34) W", tip_first(A.W.dense(q), 6, 6) @ by.axes.T, W)

# %% [markdown]
# ## §3.2 Dynamics (eqs. 38-51)
#
# $J^* = H\phi B$ (38), by (39) from tip to base; $\beta = B^*\phi^*H^*\dot\theta$ (40) by (41) from base to tip. (42)-(46) with the biases $b$ of (47) and $a$ of (48):

# %%
still = arm.replace(gravity=(0, 0, 0))
f, moments = np.zeros(6), []
for k in range(7):  # (39): f(0) = F_c(0) is handed on from link to link
    f = by.B[by.at[0]] @ u if k == 0 else by.E_phi[by.at[k], by.at[k - 1]] @ f
    moments.append(by.H[k, by.at[k]] @ f)
agree("(38), (39)", A.J.T.apply(q, u), moments[::-1])
V = np.zeros(6)
for k in reversed(range(7)):  # (41)
    V = (by.E_phi[by.at[k + 1], by.at[k]].T @ V if k < 6 else 0.0) + by.H[k, by.at[k]] * v[6 - k]
agree("(40), (41)", ps.frame_velocity(arm, q, v, "tip"), by.B[by.at[0]].T @ V)
agree("(42)", ps.mass_matrix(arm, q), mass)
agree("(43)", ps.bias(still, q, v), C)
agree("(44)", ps.gravity_load(arm, q), G_load)
agree("(45)", ps.bias(arm, q, v), (by.H @ by.phi @ (by.M @ by.phi.T @ (by.a + by.E.T @ a_g) + by.b))[::-1])
agree("(46)", ps.jacobian_dot_v(arm, q, v, "tip"), drift)
agree("(47) b", by.axes @ tip_first(A.b.apply(q, v=v)), by.b)
agree("(48) a", by.axes @ tip_first(A.a.apply(q, v=v)), by.a)
factor, white = np.eye(7) + by.H @ by.phi @ K, np.eye(7) - by.H @ own.psi @ K
agree("(49)", ps.mass_matrix(arm, q)[::-1, ::-1], factor @ own.D @ factor.T)
agree("(50)", white, np.linalg.inv(factor))
agree("(51)", ps.mass_matrix_inverse(arm, q)[::-1, ::-1], white.T @ np.linalg.solve(own.D, white))

# %% [markdown]
# ## §3.3 Operator identities (eqs. 52-59)
#
# Each is proved by the library and evaluated with the explicit matrices.

# %%
H, phi, psi, P, D, E_phi, E_psi = by.H, by.phi, own.psi, own.P, own.D, by.E_phi, own.E_psi
tilde_phi, tilde_psi = phi - np.eye(42), psi - np.eye(42)
HDH = H.T @ np.linalg.inv(D) @ H
Omega = np.zeros((42, 42))
for k in reversed(range(7)):  # (58)
    Omega[by.at[k], by.at[k]] = HDH[by.at[k], by.at[k]]
    if k < 6:
        step = E_psi[by.at[k + 1], by.at[k]]
        Omega[by.at[k], by.at[k]] += step.T @ Omega[by.at[k + 1], by.at[k + 1]] @ step
I, gram = A.I, A.psi.T @ A.H.T @ A.D.inv @ A.H @ A.psi
identities = {
    "(52)": (A.phi @ A.K @ A.H @ A.psi, A.phi - A.psi, phi @ K @ H @ psi, phi - psi),
    "(52), second": (A.psi @ A.K @ A.H @ A.phi, A.phi - A.psi, psi @ K @ H @ phi, phi - psi),
    "(53)": ((I - A.H @ A.psi @ A.K) @ A.H @ A.phi, A.H @ A.psi, white @ H @ phi, H @ psi),
    "(54)": (A.psi @ A.M @ A.phi.T, A.psi @ A.P + A.P @ A.phi_tilde.T, psi @ by.M @ phi.T, psi @ P + P @ tilde_phi.T),
    "(55)": (A.phi_tilde, A.phi @ A.E_phi, tilde_phi, phi @ E_phi),
    "(56)": (
        gram,
        A.Omega + A.psi_tilde.T @ A.Omega + A.Omega @ A.psi_tilde,
        psi.T @ HDH @ psi,
        Omega + tilde_psi.T @ Omega + Omega @ tilde_psi,
    ),
    "(57)": (A.Omega, A.E_psi.T @ A.Omega @ A.E_psi + A.H.T @ A.D.inv @ A.H, Omega, E_psi.T @ Omega @ E_psi + HDH),
    "(59)": ((I - A.H.T @ A.D.inv @ A.H @ A.psi @ A.P) @ A.E.T, A.W.T, (np.eye(42) - HDH @ psi @ P) @ by.E.T, W.T),
}
for name, (left, right, one, other) in identities.items():
    print(name, left, "=", right, "proved" if left.equals(right).proved else "NOT PROVED")
    agree(f"   {name} in NumPy", one, other)
agree("(58) Ω, link by link", in_world(A.Omega), Omega)

# %% [markdown]
# (56) is a law of chains: on a tree $\mathcal E_\psi^*\Omega\mathcal E_\psi$ is not block diagonal where a link has several children. The library has this as a side condition, and keeps $\psi^*H^*D^{-1}H\psi$ there:

# %%
for setting in ({}, {"tree": True}):
    other = ps.algebra(**setting)
    print(setting or "serial", (other.J @ other.mass.inv @ other.J.T).simplify(matrix=True))

# %% [markdown]
# ## §4.1 The mass operator (eqs. 60, 61)
#
# $\Omega(0) = B^*\Omega B$ (60), and with (57) and (12) the whole algorithm (61).

# %%
statement = A.J @ A.mass.inv @ A.J.T
print(statement.derivation(matrix=True))
print(statement.algorithm(matrix=True))
agree("(60)", statement.dense(q), by.B.T @ Omega @ by.B)
agree("(61)", A.Lambda.dense(q), np.linalg.inv(by.B.T @ Omega @ by.B))

# %% [markdown]
# ## §4.2 Coriolis and centrifugal forces (eqs. 62-68)
#
# $c(0) = \Lambda(0)\{B^*\psi^*[H^*D^{-1}H\psi(Pa + b) - a] - a(0)\}$ (64), from (62) by (63); without the inverse it is (65). On a chain the library finds a form that is one sweep shorter than the paper's.

# %%
coriolis = A.Lambda @ (A.J @ A.mass.inv @ A.C - A.Jdot_v)
print(coriolis.derivation())
by_62 = by.B.T @ psi.T @ HDH @ psi @ (by.M @ phi.T @ by.a + by.b) - by.B.T @ phi.T @ by.a - by.a0
by_65 = by.B.T @ psi.T @ (HDH @ psi @ (P @ by.a + by.b) - by.a) - by.a0
agree("(62)", Lambda @ by_62, c)
agree("(63)", psi.T @ HDH @ psi @ by.M @ phi.T, psi.T @ HDH @ psi @ P + phi.T - psi.T)
agree("(64), (65)", Lambda @ by_65, c)
agree("the form found", coriolis.apply(q, v=v), c)


def coriolis_by_sweeps(acceleration):
    """(66), (67): z and ξ from tip to base, η back to the tip."""
    z, xi, eta = np.zeros(6), [], np.zeros(6)
    for k, here in enumerate(by.at):
        z = (E_psi[here, by.at[k - 1]] @ z if k else 0.0) + P[here, here] @ acceleration[here] + by.b[here]
        xi.append(HDH[here, here] @ z - acceleration[here])
    for k in reversed(range(7)):
        eta = (E_psi[by.at[k + 1], by.at[k]].T @ eta if k < 6 else 0.0) + xi[k]
    return by.B[by.at[0]].T @ eta


agree("(66)-(68)", np.linalg.solve(by.B.T @ Omega @ by.B, coriolis_by_sweeps(by.a) - by.a0), c)
abstract = ps.algebra(tree=True)
print("on a tree:", (abstract.Lambda @ (abstract.J @ abstract.mass.inv @ abstract.C - abstract.Jdot_v)).simplify())

# %% [markdown]
# ## §4.3 Gravity (eqs. 69-74)
#
# $g(0) = \Lambda(0)B^*(\phi^*E^* - \psi^*W^*)a_g$ (71), from (69) and (70); without the inverse it is (72), by the recursions (73) and (74). The first term is the arm as a rigid body in free fall, the second the arm that falls with its joints free.

# %%
gravity = A.Lambda @ A.J @ A.mass.inv @ A.g
print(gravity.derivation())
agree("(69)", Lambda @ by.B.T @ psi.T @ HDH @ psi @ by.M @ phi.T @ by.E.T @ a_g, g)
agree("(70)", Lambda @ by.B.T @ (phi.T - psi.T @ (np.eye(42) - HDH @ psi @ P)) @ by.E.T @ a_g, g)
agree("(71)", Lambda @ by.B.T @ (phi.T @ by.E.T - psi.T @ W.T) @ a_g, g)
alpha = eta = a_g
for k in reversed(range(7)):  # (73); φ(n+1, n) and ψ(n+1, n) stand in E and W
    alpha = (E_phi[by.at[k + 1], by.at[k]] if k < 6 else by.E[:, by.at[6]]).T @ alpha
    eta = (E_psi[by.at[k + 1], by.at[k]] if k < 6 else W[:, by.at[6]]).T @ eta
agree("(72)-(74)", np.linalg.solve(by.B.T @ Omega @ by.B, by.B[by.at[0]].T @ (alpha - eta)), g)
agree("the form found", gravity.apply(q), g)

# %% [markdown]
# At the end of §4.3 the paper gets $c(0) + g(0)$ from one recursion by putting gravity into the bias accelerations, $\bar a = a + E^*a_g$. But $-\dot J\dot\theta$ in (64) must keep $a$ without it, so that (68) becomes $\Omega(0)(c + g) = \eta(0) - a(0) + a_g$:

# %%
agree("c(0) + g(0) in one go", Lambda @ (coriolis_by_sweeps(by.a + by.E.T @ a_g) - by.a0 + a_g), c + g)

# %% [markdown]
# ## §5 How many sweeps?
#
# Four; three when velocity terms may be late by a sample; two when the tip force may be late too. On a chain the search needs only three with nothing late. These are counts of the programs that would run:

# %%
for serial in (False, True):
    counted = {late: len(program.passes) for late, program in ps.control.control_sweeps(serial).items()}
    print("chain:" if serial else "any tree:", counted)

# %% [markdown]
# The cost grows with $n$, not with $n^3$:

# %%
lengths = [3, 6, 12, 24, 48, 96]
abstract = ps.algebra()
omega = abstract.J @ abstract.mass.inv @ abstract.J.T
print(omega.cost_polynomial(matrix=True))
ours = [omega.cost(n, matrix=True).total for n in lengths]
dense = [n**3 / 3 + 6 * n**2 for n in lengths]  # Cholesky's factors of ℳ and six right sides, ℳ itself not counted
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.loglog(lengths, ours, "o-", label="B*ΩB, operations counted")
axis.loglog(lengths, [ours[0] * n / 3 for n in lengths], "--", label="in proportion to n")
axis.loglog(lengths, dense, ":", label="n³/3 + 6n², J ℳ⁻¹ J* with ℳ given")
axis.set(xlabel="links", ylabel="operations")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## The controller at work (eq. 4)
#
# $T = J^*F_c(0)$ with $u$ from a spring and a damper makes the tip a unit mass on springs, whatever the arm does: the error follows $\ddot e + 2\sqrt{k}\,\dot e + k e = 0$, whose solution from rest is $e_0(1 + \sqrt{k}\,t)e^{-\sqrt{k}\,t}$.

# %%
law = ps.control.OperationalSpaceControl(arm, "tip", kp=25)
run = ps.rollout(arm, q, np.zeros(7), dt=1e-3, steps=2000, controller=law, parameters=law.reference(goal, posture=q))
path = ps.forward_kinematics(arm, run.q, "tip")[:, :3, 3] - goal[:3, 3]
wanted = path[0] * ((1 + 5 * run.t) * np.exp(-5 * run.t))[:, None]
agree("the tip and the solution of the spring's equation", path, wanted, 1e-2)
figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
for k, name in enumerate("xyz"):
    axis.plot(run.t, 1e3 * path[:, k], label=name)
axis.plot(run.t, 1e3 * wanted, "k:", lw=1)
axis.set(xlabel="time [s]", ylabel="from the goal [mm]")
axis.legend(frameon=False)
plt.show()
