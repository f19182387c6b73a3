# %% [markdown]
# # Kalman filtering, smoothing, and robot dynamics
#
# Rodriguez, *Kalman Filtering, Smoothing, and Recursive Robot Arm Forward and Inverse Dynamics*, 1987 (R87). Forward dynamics is a Kalman filter from the tip to the base, and a smoother back. The library is compared with the paper's recursions in NumPy on explicit matrices (`by_hand.py`, which does not call it), and with a Kalman smoother that knows nothing of robots. Misprints are corrected: $\omega\times(\omega\times p)$ in (7) and (9), $z^+(k-1)$ in (36), the transposes of (68) and (83) as in (82), in (26) the outer index on the right is $i$, in (78) the sum over $i$ ends at $N$.

# %%
import matplotlib.pyplot as plt
import numpy as np
from by_hand import chain_matrices, cross, riccati, tip_first

import phistar as ps
from phistar import estimation
from phistar.estimation import planar_chain

N = 8
arm = ps.chain(N)
rng = np.random.default_rng(4)
q, v, tau = rng.uniform(-1, 1, size=(3, N))
by = chain_matrices(arm, q, v)  # links 1 … N from the tip, world axes


def agree(name, a, b, within=1e-9):
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max())
    print(f"{name}: agree to {far:.0e}")
    assert far < within


# %% [markdown]
# ## §§II-V Links, forces and accelerations (eqs. 1-15, Fig. 1)
#
# Fig. 1, a chain whose links are counted from the tip, is a drawing without numbers and left out. A link has the inertia $M(k)$ (1), and $\phi(k,m)$ (2) carries forces over it, with the rules (3) of a transition matrix:

# %%
A = ps.algebra(arm)
at, H, M = by.at, by.H, by.M
phi = [np.eye(6), *(by.E_phi[at[k], at[k - 1]] for k in range(1, N))]  # φ(k, k−1)
link = arm.bodies[5]  # the library counts from the base: this is link 3
R = by.axes[at[2], at[2]][:3, :3]
p = R @ link.inertia.com
about_joint = R @ link.inertia.tensor @ R.T - link.inertia.mass * cross(p) @ cross(p)
mp = link.inertia.mass * cross(p)
agree(
    "(1) M(3)",
    by.axes[at[2], at[2]] @ tip_first(A.M.dense(q))[at[2], at[2]] @ by.axes[at[2], at[2]].T,
    np.block([[about_joint, mp], [-mp, link.inertia.mass * np.eye(3)]]),
)
lever = ps.forward_kinematics(arm, q, "joint6")[:3, 3] - ps.forward_kinematics(arm, q, "joint3")[:3, 3]
agree("(2) φ(6, 3), by the vector between the joints", by.phi[at[5], at[2]][:3, 3:], cross(lever))
agree("(3) φ(6, 3) = φ(6, 5)φ(5, 4)φ(4, 3)", by.phi[at[5], at[2]], phi[5] @ phi[4] @ phi[3])

# %% [markdown]
# Velocities run outward by (11), (12), accelerations by (13), (14) with the bias $n$ (15), forces inward by (4)-(6) with the bias $b$ (7), which Newton's and Euler's equations (8)-(10) give. The paper differentiates in the links' axes; here $n$ and $b$ are those of inertial derivatives (KJR92's $a$ and $b$), which belong together in the same way.

# %%
u = v[::-1]
weight = M @ by.phi.T @ by.E.T @ np.concatenate([np.zeros(3), -arm.gravity])
n = [by.a[block] for block in at]
b = [(by.b + weight)[block] for block in at]
wanted = rng.normal(size=N)  # joint accelerations, base to tip


def outward(start, drive, bias):
    """(11)-(14): from the base to the tip, link N first; what comes out counts from the tip."""
    state, found = start, []
    for k in reversed(range(N)):
        state = state + H[k, at[k]] * drive[k] + bias[k]
        found.append(state)
        state = phi[k].T @ state
    return found[::-1]


V = outward(np.zeros(6), u, [np.zeros(6)] * N)
agree("(11), (12)", by.axes @ tip_first(A.V.apply(q, v=v)), np.concatenate(V))
accelerations = outward(np.zeros(6), wanted[::-1], n)
agree("(13)-(15)", accelerations[0], by.phi[:, at[0]].T @ (H.T @ wanted[::-1] + by.a))
x, forces = np.zeros(6), []
for k in range(N):  # (4)-(6); the bias force is that of (7)-(10)
    x = phi[k] @ x + M[at[k], at[k]] @ accelerations[k] + b[k]
    forces.append(x)
needed = np.array([H[k, at[k]] @ forces[k] for k in range(N)])[::-1]
agree("(4)-(10)", ps.inverse_dynamics(arm, q, v, wanted), needed)
gyro = np.concatenate(
    [np.cross(V[2][:3], about_joint @ V[2][:3]), link.inertia.mass * np.cross(V[2][:3], np.cross(V[2][:3], p))]
)
agree("(7)-(9), the gyroscopic part of b(3)", by.b[at[2]], gyro)

# %% [markdown]
# The same with $b$ and $n$ as (7) and (15) have them. The paper's $\lambda = \alpha - [0;\ \omega\times v]$ is differentiated in the link, and the weight $F$ is a force at the mass centre; torques come out alike, and Newton's and Euler's equations hold as (8) and (9) have them, with (10).

# %%
own_n, own_b = [], []
for k in range(N):
    before, turning = V[k] - H[k, at[k]] * u[k], H[k, at[k]][:3] * u[k]  # V⁺(k), by (12)
    own_n.append(np.concatenate([np.cross(before[:3], turning), np.cross(before[3:], turning)]))  # (15)
    (w, slide), block = np.split(V[k], 2), M[at[k], at[k]]
    m, I, lever = block[5, 5], block[:3, :3], np.array([block[2, 4], block[0, 5], block[1, 3]]) / block[5, 5]
    F = m * arm.gravity
    moment = np.cross(w, I @ w) + m * np.cross(lever, np.cross(w, slide)) - np.cross(lever, F)
    own_b.append(np.concatenate([moment, m * np.cross(w, np.cross(w, lever)) + m * np.cross(w, slide) - F]))  # (7)
own_accelerations = outward(np.zeros(6), wanted[::-1], own_n)  # (13), (14)
x, own_forces = np.zeros(6), []
for k in range(N):  # (4)-(6)
    x = phi[k] @ x + M[at[k], at[k]] @ own_accelerations[k] + own_b[k]
    own_forces.append(x)
agree("(4)-(7), (13)-(15) as printed", [H[k, at[k]] @ own_forces[k] for k in range(N)], needed[::-1])
spun = [np.concatenate([np.zeros(3), np.cross(x[:3], x[3:])]) for x in V]
agree("λ = α − [0; ω × v]", own_accelerations, np.array(accelerations) - spun)
(w, slide), (w_dot, slide_dot), m = V[2].reshape(2, 3), own_accelerations[2].reshape(2, 3), link.inertia.mass
F, (T_in, F_in), (T_out, F_out) = m * arm.gravity, own_forces[2].reshape(2, 3), -own_forces[1].reshape(2, 3)  # (10)
carried = slide_dot + np.cross(w, slide)
agree(
    "(8), Euler's equation of link 3",
    about_joint @ w_dot + np.cross(w, about_joint @ w) + m * np.cross(p, carried),
    T_in + np.cross(p, F) + T_out + phi[2][:3, 3:] @ F_out,
)
agree("(9), Newton's", m * (np.cross(w_dot, p) + np.cross(w, np.cross(w, p)) + carried), F + F_in + F_out)

# %% [markdown]
# ## §VI The two-point boundary-value problem (eqs. 16-21, Table I)
#
# Forces are known at the tip, accelerations at the base; forces run inward (16), (17), accelerations outward (18), (19), and the joints couple them (20), with the ends (21). Table I says what is what in estimation:
#
# | estimation | | robot dynamics |
# |---|---|---|
# | states | $x(k)$ | spatial forces |
# | costates | $\lambda(k)$ | spatial accelerations |
# | measurements | $\tau(k)$ | active joint moments |
# | transition matrix | $\phi(k,k-1)$ | spatial Jacobian |
# | covariance of the process error | $M(k)$ | spatial inertia |
# | known input | $b(k)$ | spatial bias force |
# | state-to-output map | $H(k)$ | map of the state to the joint's axis |

# %%
problem = estimation.BoundaryValueProblem(arm, q, v)
solution = problem.forward(tau)
for equation, defect in problem.defects(solution).items():
    print(f"{equation}: {np.abs(defect).max():.0e}")
shifts = np.eye(6 * N) - by.E_phi
whole = np.block(
    [
        [shifts, -M, np.zeros((6 * N, N))],  # (16), (17)
        [np.zeros((6 * N, 6 * N)), shifts.T, -H.T],  # (18), (19), (21)
        [H, np.zeros((N, 6 * N)), np.zeros((N, N))],  # (20)
    ]
)
solved = np.linalg.solve(whole, np.concatenate([by.b + weight, by.a, tau[::-1]]))
agree("(16)-(21) as one linear system", ps.forward_dynamics(arm, q, v, tau), solved[-N:][::-1])

# %% [markdown]
# ## §VII Inverse dynamics and composite bodies (eqs. 22-33)
#
# $\lambda$ is a sum over joints further in (23), $x$ one over links further out (24), together (25); with the order of summation changed, (26) and Fig. 2, it is (27), and $M(u)a + V = \tau$ (22) with the entries (30) and the bias (31). The sums as the paper has them:

# %%
r_sum = [
    sum(by.phi[at[k], at[j]] @ M[at[j], at[j]] @ by.phi[at[k], at[j]].T for j in range(k + 1)) for k in range(N)
]  # (28)
r = [M[at[0], at[0]]]
for k in range(1, N):
    r.append(phi[k] @ r[-1] @ phi[k].T + M[at[k], at[k]])  # (29)
agree("(28), (29)", r, r_sum)


def kernel(k, i):
    """r(k, i), the table before (28)."""
    return by.phi[at[k], at[i]] @ r[i] if i <= k else r[k] @ by.phi[at[i], at[k]].T


drive = [H[i, at[i]] * wanted[N - 1 - i] + n[i] for i in range(N)]
by_25 = [
    sum(
        by.phi[at[k], at[j]] @ M[at[j], at[j]] @ by.phi[at[i], at[j]].T @ drive[i]
        for j in range(k + 1)
        for i in range(j, N)
    )
    for k in range(N)
]
by_27 = [sum(kernel(k, i) @ drive[i] for i in range(N)) for k in range(N)]
agree("(23)-(27): both orders of summation", by_25, by_27)
bias_sum = [sum(by.phi[at[k], at[i]] @ b[i] for i in range(k + 1)) for k in range(N)]
by_30 = [H[k, at[k]] @ (by_27[k] + bias_sum[k]) for k in range(N)]
agree("(22), (27), (30), (31)", ps.inverse_dynamics(arm, q, v, wanted), by_30[::-1])

# %% [markdown]
# The inertia matrix by composite bodies, (32): a column starts with $r(i)H^T(i)$ and is handed inward. Mass, mass centre and rotational inertia of the composites are the ten parameters of (33).

# %%
inertia = np.zeros((N, N))
for i in range(N):  # (32)
    state = r[i] @ H[i, at[i]]
    for k in range(i, N):
        state = state if k == i else phi[k] @ state
        inertia[k, i] = inertia[i, k] = H[k, at[k]] @ state
agree("(32)", ps.mass_matrix(arm, q), inertia[::-1, ::-1])
print(A.mass.algorithm(matrix=True))
bodies = estimation.composite_bodies(arm, q)
agree("(33), the mass of each composite body", bodies.masses[::-1], [x[5, 5] for x in r])
center = [np.array([x[2, 4], x[0, 5], x[1, 3]]) / x[5, 5] for x in r]
agree(
    "(33), r has the form that ten parameters give",
    [x[:3, 3:] for x in r],
    [-cross(-c) * x[5, 5] for c, x in zip(center, r)],
)
level = [c0 * m0 for c0, m0 in zip(center, [x[5, 5] for x in r])]
levers = [np.array([phi[k][2, 4], phi[k][0, 5], phi[k][1, 3]]) for k in range(N)]
handed = [
    level[k - 1]
    + levers[k] * r[k - 1][5, 5]
    + np.array([M[at[k], at[k]][2, 4], M[at[k], at[k]][0, 5], M[at[k], at[k]][1, 3]])
    for k in range(1, N)
]
agree("after (33), the mass centre from link to link", level[1:], handed)

# %% [markdown]
# ## §VIII Forward dynamics (eqs. 34-51)
#
# With $x = z + P\lambda$ (34) the problem falls into a filter and a smoother. The filter, (35)-(43): states $z$, inertias $P$, gains $G$, innovations $e^- = \tau - Hz$, residuals $e^+ = e^-/D$. The smoother, (44)-(47): costates $\lambda$, and $a = e^+ - G^T(\lambda^+ + n)$.


# %%
def inward_filter(b, n):
    """(35)-(43)."""
    z, P, kept = np.zeros(6), np.zeros((6, 6)), []  # (35)
    for k in range(N):
        h = H[k, at[k]]
        z, P = phi[k] @ z + b[k], phi[k] @ P @ phi[k].T + M[at[k], at[k]]  # (36), (37)
        D = h @ P @ h  # (38)
        G = P @ h / D  # (39)
        e = tau[N - 1 - k] - h @ z  # (40)
        updated = P - np.outer(P @ h, h @ P) / D  # (43)
        kept.append({"z": z, "P": P, "P+": updated, "D": D, "G": G, "e-": e, "e+": e / D, "h": h})  # (42)
        z, P = z + G * e + updated @ n[k], updated  # (41)
        kept[-1]["z+"] = z
    return kept


kept = inward_filter(b, n)
costate = np.zeros(6)  # (44)
for k in reversed(range(N)):
    now = kept[k]
    acceleration = now["e+"] - now["G"] @ (costate + n[k])  # (46)
    gone = np.eye(6) - np.outer(now["G"], now["h"])
    by_48 = gone.T @ (costate + n[k]) + now["h"] * now["e+"]
    inner = costate + n[k] + now["h"] * acceleration  # (47)
    now.update({"a": acceleration, "λ+": costate, "λ-": inner, "gone": gone, "by 48": by_48})
    costate = phi[k].T @ inner  # (45)
by_filter = [x["a"] for x in reversed(kept)]
agree("(35)-(47)", ps.forward_dynamics(arm, q, v, tau), by_filter)
agree("(34) x = z + Pλ", solved[: 6 * N], np.concatenate([x["z"] + x["P"] @ x["λ-"] for x in kept]))
agree("(48)", [x["by 48"] for x in kept], [x["λ-"] for x in kept])
agree(
    "(49), which is (34) in (16)",
    [x["z"] + x["P"] @ x["λ-"] for x in kept[1:]],
    [
        phi[k] @ (kept[k - 1]["z"] + kept[k - 1]["P"] @ kept[k - 1]["λ-"]) + M[at[k], at[k]] @ kept[k]["λ-"] + b[k]
        for k in range(1, N)
    ],
)
agree("(50)", [x["gone"] @ x["P"] for x in kept], [x["P+"] for x in kept])
agree("(51), the Joseph form", [x["gone"] @ x["P"] @ x["gone"].T for x in kept], [x["P+"] for x in kept])
found = estimation.forward_dynamics(arm, q, v, tau, keep=["innovations", "residuals", "gains", "inertias", "costates"])
agree("(40) of the library", found.innovations[::-1].ravel(), [x["e-"] for x in kept])
agree("(42) of the library", found.residuals[::-1].ravel(), [x["e+"] for x in kept])
figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
joints = np.arange(1, N + 1)
axis.bar(joints - 0.2, found.residuals, 0.4, label="residual e⁺, before the smoother")
axis.bar(joints + 0.2, found.accelerations, 0.4, label="acceleration, after the smoother")
axis.set(xlabel="joint, base to tip", ylabel="rad/s²")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## §IX Similarities to Kalman filtering and Bryson-Frazier smoothing (eqs. 52-68)
#
# Let forces be random: $x(k) = \phi x(k-1) + w(k)$, $\tau = Hx$ (52), with white noise of mean $b$ and covariance $M$ (53). Then the filter's states are conditional means, (54) and (59), the innovations (55) have the covariance $D$ (57), and $P^-$ (56), $P^+$ (58) are covariances of what is not yet known. As one Gaussian in NumPy, conditioned on the joint forces that are measured:

# %%
joint = by.phi @ M @ by.phi.T  # covariance of all link forces together, before anything is measured
mean = by.phi @ (by.b + M @ by.phi.T @ by.a + weight)  # n = 0 in this section, so b + Mφ*n stands for b


def conditioned(measured):
    """Mean and covariance of the link forces once the joints 1 … measured are known."""
    seen = H[:measured]
    gain = joint @ seen.T @ np.linalg.inv(seen @ joint @ seen.T) if measured else np.zeros((6 * N, 0))
    return mean + gain @ (tau[::-1][:measured] - seen @ mean), joint - gain @ seen @ joint


expected = [conditioned(k) for k in range(N + 1)]
known = estimation.covariances(arm, q)
world = [by.axes[block, block] for block in at]


def library(blocks):
    """Blocks of the library, base first and in link axes, as the paper has them."""
    return [R @ x @ R.T for R, x in zip(world, blocks[::-1])]


agree("(56) P⁻", library(known.predicted), [expected[k][1][at[k], at[k]] for k in range(N)])
agree("(58) P⁺", library(known.updated), [expected[k + 1][1][at[k], at[k]] for k in range(N)])
agree("(57) D", [x["D"] for x in kept], [H[k] @ expected[k][1] @ H[k] for k in range(N)])
driven = by.b + weight + M @ by.phi.T @ by.a
pure = inward_filter([driven[block] for block in at], [np.zeros(6)] * N)
agree("(52)-(54) z⁻", [x["z"] for x in pure], [expected[k][0][at[k]] for k in range(N)])
agree("(55) innovations", [x["e-"] for x in pure], [tau[N - 1 - k] - H[k] @ expected[k][0] for k in range(N)])
agree("(59) z⁺", [x["z+"] for x in pure], [expected[k + 1][0][at[k]] for k in range(N)])

# %% [markdown]
# The smoother's estimate (60) knows all joint forces. It is $\hat x = z + P\lambda$ (61) with (62), (63), and for the arm it is the force itself. Its covariance $S$ (64) is $P - P\Delta P$ (65) with the covariance $\Delta$ of the costates (66), by (67) and (68) from the base on:

# %%
agree("(60)-(63): the estimate is the force itself", expected[N][0], solved[: 6 * N])
agree("(64), (65) S", library(known.smoothed), [expected[N][1][at[k], at[k]] for k in range(N)])
spread = by.phi.T @ H.T @ np.linalg.inv(inertia)  # λ = φ*H*ℳ⁻¹τ, and τ has the covariance ℳ
costates = spread @ inertia @ spread.T
agree("(66)-(68) Δ⁻", library(known.costates), [costates[at[k], at[k]] for k in range(N)])

# %% [markdown]
# Drawn: forces on the links with covariance $M(k)$ run to the base by (52); what the joints feel has the mass matrix as its covariance.

# %%
drawn = estimation.sample_joint_forces(arm, q, 100_000, rng)
for count in (100, 1000, 10_000, 100_000):
    far = np.linalg.norm(drawn[:count].T @ drawn[:count] / count - inertia[::-1, ::-1]) / np.linalg.norm(inertia)
    print(f"{count:7} samples: covariance within {far:.3f} of the mass matrix")
assert far < 0.02

# %% [markdown]
# And a program that has never heard of robots, statsmodels' Kalman smoother, finds the accelerations of the arm. (The paper sets the bias accelerations $n = 0$; a moving arm needs $b + M\phi^*n$ as input.)

# %%
try:
    from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother
except ImportError:
    print("statsmodels is not installed")
else:
    space = estimation.state_space(arm, q, v)

    def later(x):
        return np.moveaxis(np.concatenate([x[1:], np.zeros_like(x[:1])]), 0, -1)

    start = {"initial_state": space.state_input[0], "initial_state_cov": space.state_covariance[0]}
    smoother = KalmanSmoother(k_endog=1, k_states=6, initialization="known", tolerance=0, **start)
    smoother.bind(np.ascontiguousarray(tau[::-1, None]))
    smoother["design"], smoother["obs_cov"] = np.moveaxis(space.design, 0, -1), space.noise.reshape(1, 1, -1)
    smoother["transition"], smoother["state_cov"] = later(space.transition), later(space.state_covariance)
    smoother["state_intercept"], smoother["selection"] = later(space.state_input), np.eye(6)
    outside = smoother.smooth()
    agree("statsmodels' smoothing error and θ̈", outside.smoothing_error[0, ::-1], found.accelerations, 1e-7)

# %% [markdown]
# ## §X The closed-form inverse of the inertia matrix (eqs. 69-84)
#
# The acceleration has three parts (69), by joint forces, bias forces and bias accelerations, which (70) gives with $c(k)$ and $d(k)$ of (71) and the filter's transition matrix $\psi(k^-,i^+)$ of (72). The derivation solves the filter, (73), (74), and the smoother, (75), (76), puts one into the other (77), changes the order of summation (78), and finds (79) with $\Delta^+$ of (80), for which (81) and (82) are a recursion. Each with explicit matrices, for the part of the joint forces:

# %%
inverse = np.linalg.inv(inertia)
own = riccati(by)
psi = {}  # ψ(k⁻, i⁺), (72)
for i in range(N):
    for k in range(i + 1, N):
        psi[k, i] = phi[k] if k == i + 1 else phi[k] @ kept[k - 1]["gone"] @ psi[k - 1, i]
t = tau[::-1]
z_73 = [sum((psi[k, i] @ kept[i]["G"] * t[i] for i in range(k)), np.zeros(6)) for k in range(N)]
e_74 = [(t[k] - kept[k]["h"] @ z_73[k]) / kept[k]["D"] for k in range(N)]
agree("(72), (73)", np.concatenate(z_73), own.psi @ own.K @ t)
agree("(74)", e_74, np.linalg.solve(own.D, t - H @ own.psi @ own.K @ t))
lambda_75 = [sum((psi[i, k].T @ kept[i]["h"] * e_74[i] for i in range(k + 1, N)), np.zeros(6)) for k in range(N)]
a_76 = [e_74[k] - kept[k]["G"] @ lambda_75[k] for k in range(N)]
agree("(75)-(77)", a_76, inverse @ t)
plus = [
    sum(
        (psi[i, k].T @ np.outer(kept[i]["h"], kept[i]["h"]) @ psi[i, k] / kept[i]["D"] for i in range(k + 1, N)),
        np.zeros((6, 6)),
    )
    for k in range(N)
]  # (80)
Delta, recursion = np.zeros((6, 6)), [None] * N
for k in reversed(range(N)):
    recursion[k] = Delta  # Δ⁺(k)
    gone, h = kept[k]["gone"], kept[k]["h"]
    Delta = phi[k].T @ (gone.T @ Delta @ gone + np.outer(h, h) / kept[k]["D"]) @ phi[k]  # (82), (81)
agree("(80)-(82)", recursion, plus)
crossed = {(k, i): kept[k]["gone"] @ psi[k, i] for k, i in psi}  # ψ(k⁺, i⁺)
double = [
    sum((psi[i, k].T @ kept[i]["h"] / kept[i]["D"] * (kept[i]["h"] @ z_73[i]) for i in range(k + 1, N)), np.zeros(6))
    for k in range(N)
]
by_79 = [
    plus[k] @ kept[k]["G"] * t[k]
    + plus[k] @ sum((crossed[k, j] @ kept[j]["G"] * t[j] for j in range(k)), np.zeros(6))
    + sum((crossed[j, k].T @ plus[j] @ kept[j]["G"] * t[j] for j in range(k + 1, N)), np.zeros(6))
    for k in range(N)
]
agree("(78), (79)", double, by_79)
c = [1 / kept[k]["D"] + kept[k]["G"] @ plus[k] @ kept[k]["G"] for k in range(N)]  # (71)
d = [kept[k]["G"] @ plus[k] - c[k] * kept[k]["h"] for k in range(N)]
a_1 = [
    c[k] * t[k] + d[k] @ z_73[k] + kept[k]["G"] @ sum((psi[i, k].T @ d[i] * t[i] for i in range(k + 1, N)), np.zeros(6))
    for k in range(N)
]
agree("(70), (71) a¹", a_1, inverse @ t)

# %% [markdown]
# The other two parts of (70), by bias forces and by bias accelerations, with $\Delta^-$ of (82) and $\psi(k^-,i^-)$, $\psi(k^+,i^+)$ as defined below (72). The three add up to the accelerations:

# %%
minus = [
    kept[k]["gone"].T @ plus[k] @ kept[k]["gone"] + np.outer(kept[k]["h"], kept[k]["h"]) / kept[k]["D"]
    for k in range(N)
]
hindered = [plus[k] @ kept[k]["P+"] - np.eye(6) for k in range(N)]
nothing = np.zeros(6)
a_2 = [
    d[k] @ (b[k] + sum((psi[k, i] @ kept[i]["gone"] @ b[i] for i in range(k)), nothing))
    + kept[k]["G"] @ sum((psi[i, k].T @ minus[i] @ b[i] for i in range(k + 1, N)), nothing)
    for k in range(N)
]
a_3 = [
    kept[k]["G"] @ (hindered[k] @ n[k] + sum((crossed[i, k].T @ hindered[i] @ n[i] for i in range(k + 1, N)), nothing))
    + d[k] @ sum((psi[k, i] @ kept[i]["P+"] @ n[i] for i in range(k)), nothing)
    for k in range(N)
]
agree("(70) a²", a_2, -inverse @ H @ by.phi @ np.concatenate(b))
agree("(70) a³", a_3, -inverse @ H @ by.phi @ M @ by.phi.T @ np.concatenate(n))
agree("(69), the sum of the three", np.add(a_1, np.add(a_2, a_3)), by_filter[::-1])

# %% [markdown]
# The library's three parts. The first is the paper's $a^1$ always; the other two are split as in (69) only at rest, where its accelerations and the library's are the same.

# %%
parts = estimation.acceleration_parts(arm, q, v, tau)
agree("(69), the sum", parts.joint_forces + parts.link_forces + parts.link_motions, by_filter)
agree("(69), (70) a¹", parts.joint_forces, a_1[::-1])
at_rest = estimation.acceleration_parts(arm, q, 0 * v, tau)
agree("(70) a² at rest", at_rest.link_forces, -(inverse @ H @ by.phi @ weight)[::-1])
print("(70) a³ at rest:", np.abs(at_rest.link_motions).max())

# %% [markdown]
# The inverse itself, by (83), column by column:

# %%
closed = np.zeros((N, N))
for i in range(N):
    closed[i, i] = c[i]
    alpha = recursion[i] @ kept[i]["G"] - c[i] * kept[i]["h"]
    for k in reversed(range(i)):
        alpha = phi[k + 1].T @ alpha
        closed[k, i] = closed[i, k] = kept[k]["G"] @ alpha
        alpha = kept[k]["gone"].T @ alpha
agree("(83)", closed, inverse)
agree("(83) of the library", estimation.closed_form_inverse(arm, q), inverse[::-1, ::-1])
agree("its diagonal: variances of the accelerations", known.accelerations[:, 0, 0], np.diag(inverse)[::-1])
print(ps.algebra().mass.inv.derivation())

# %% [markdown]
# (84) writes $P$ by a mass, a mass centre and an inertia that are $3\times3$ matrices: 21 numbers where a composite body has 10, and nothing is saved, as the paper says. The mass of an articulated body depends on the direction. One step of (84), with the bracket that the print has lost:

# %%
before, here = kept[4]["P+"], kept[5]
rho, Cm, J = before[3:, 3:], before[:3, 3:] @ np.linalg.inv(before[3:, 3:]), before[:3, :3]
arm_lever, own_M = phi[5][:3, 3:], M[at[5], at[5]]
rho_new = rho + own_M[3:, 3:]
Crho_new = (Cm + arm_lever) @ rho + own_M[:3, 3:]
J_new = J + own_M[:3, :3] + (Cm + arm_lever) @ rho @ (Cm + arm_lever).T - Cm @ rho @ Cm.T
agree("(84), propagation", np.block([[J_new, Crho_new], [Crho_new.T, rho_new]]), here["P"])
axis_only = here["h"][:3]
D = axis_only @ J_new @ axis_only
rho_after = rho_new - np.outer(Crho_new.T @ axis_only, axis_only @ Crho_new) / D
agree("(84), update of the mass", rho_after, here["P+"][3:, 3:])
agree(
    "(84), update of the mass centre",
    (np.eye(3) - np.outer(J_new @ axis_only, axis_only) / D) @ Crho_new,
    here["P+"][:3, 3:],
)
agree(
    "(84), update of the inertia", (np.eye(3) - np.outer(J_new @ axis_only, axis_only) / D) @ J_new, here["P+"][:3, :3]
)
print("the articulated 'mass' of link 6 by direction:", np.linalg.eigvalsh(rho_after).round(3), "kg")

# %% [markdown]
# ## §XI Physical interpretation
#
# Fig. 3 shows filter and smoother as mirror images; as text it is the algorithm above, (35)-(43) one way and (44)-(47) back. $P$ is the inertia of the articulated body further out; once a joint is measured, nothing is felt about its free axis: $HP^+ = 0$ (printed $HP^-$). The residual is the acceleration with all joints further in locked, and filter and smoother factor the inverse, $(I - L^*)D^{-1}(I - L)$ with a triangular $L$.

# %%
before_it, after_it = (np.abs([x["h"] @ x[name] for x in kept]).max() for name in ("P", "P+"))
print(f"HP⁻ has entries up to {before_it:.2f}, HP⁺ up to {after_it:.0e}")
assert after_it < 1e-12
agree("the gain is 1 along the axis, HG = I", [x["h"] @ x["G"] for x in kept], np.ones(N))
inboard_locked = [np.linalg.solve(inertia[: k + 1, : k + 1], t[: k + 1])[k] for k in range(N)]
agree("e⁺(k), the joints further in locked", e_74, inboard_locked)
L = H @ own.psi @ own.K
agree("ℳ⁻¹ = (I − L*)D⁻¹(I − L)", (np.eye(N) - L).T @ np.linalg.solve(own.D, np.eye(N) - L), inverse)
size = {
    "r, nothing measured": bodies.inertias,
    "P⁻, joints outboard measured": known.predicted,
    "P⁺, and its own": known.updated,
    "all joints measured": known.smoothed,
}
figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
for label, blocks in size.items():
    axis.plot(joints, np.sqrt(np.trace(blocks[:, 3:, 3:], axis1=1, axis2=2)), "o-", label=label)
axis.set(xlabel="link, base to tip", ylabel="uncertainty of the force")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## §XII The planar chain: Tables II and III, Fig. 4 (eqs. 85, 86)
#
# In the plane $\phi$ and $M$ are $3\times3$ (85), and so is $P$ (86), with six numbers:

# %%
flat = ps.planar_chain(3)
angles, torques = np.array([0.3, -0.5, 0.8]), np.array([0.4, -0.2, 0.1])
heading, P, z, passed = np.cumsum(angles), np.zeros((3, 3)), np.zeros(3), []
for k in range(3):  # link k from the tip, in its own axes: x out of the plane, y along the link towards its inner joint
    body = flat.bodies[2 - k]
    length = (flat.bodies[3 - k].placement.translation if k else flat.frames["tip"].placement.translation)[0]
    m, p = body.inertia.mass, body.inertia.com[0]
    about = body.inertia.tensor[2, 2] + m * p**2
    shift = np.array([[1, 0, length], [0, 1, 0], [0, 0, 1.0]])  # (85), with y pointing outward: l for −l
    mass_3 = np.array([[about, 0, m * p], [0, m, 0], [m * p, 0, m]])  # (85)
    z, P = shift @ z, shift @ P @ shift.T + mass_3  # (86)
    D, G = P[0, 0], P[:, 0] / P[0, 0]
    e = torques[2 - k] - z[0]
    passed.append((shift, G, e / D, k))
    z, P = z + G * e, P - np.outer(P[:, 0], P[0]) / D
    turn = angles[2 - k]  # into the axes of the next link
    R = np.array([[1, 0, 0], [0, np.cos(turn), -np.sin(turn)], [0, np.sin(turn), np.cos(turn)]])
    z, P, passed[-1] = R @ z, R @ P @ R.T, (*passed[-1], R)
costate, by_plane = np.zeros(3), []
for shift, G, residual, _, R in reversed(passed):
    costate = R.T @ costate
    by_plane.append(residual - G @ costate)
    costate = shift.T @ (costate + np.array([by_plane[-1], 0, 0]))
free_of_weight = flat.replace(gravity=(0, 0, 0))
agree(
    "(85), (86): filter and smoother in the plane",
    ps.forward_dynamics(free_of_weight, angles, np.zeros(3), torques),
    by_plane,
)

# %% [markdown]
# Operations counted on what the rows do, beside what is printed: every cell is met. The text's total for Table III, $2N(N+5)$, has one rotation of the mass centre per link more than the rows; shared with the rotation of $x(i)$ it is not needed twice. From $N = 5$ on, as the paper says, the filter is cheaper with either total.

# %%
for title, table in (
    ("Table II, the filter", planar_chain.table_2()),
    ("Table III, the inertia matrix", planar_chain.table_3()),
):
    print(f"{title}: additions, multiplications, divisions")
    for row in table:
        print(f"   {row.name:20} counted {row.counted}   printed {row.printed}")
        assert row.counted == row.printed
lengths = np.arange(1, 13)
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.plot(lengths, planar_chain.smoother_flops(lengths), "o-", label="filter and smoother, O(N)")
axis.plot(lengths, planar_chain.assembly_flops(lengths), "s-", label="inertia matrix and solve")
axis.plot(lengths, planar_chain.assembly_flops(lengths, shared=True), ":", label="the same, one rotation shared")
axis.set(xlabel="links N", ylabel="operations", title="Fig. 4")
axis.legend(frameon=False)
plt.show()
for shared in (False, True):
    cheaper = planar_chain.smoother_flops(lengths) < planar_chain.assembly_flops(lengths, shared=shared)
    print("the filter is cheaper from N =", lengths[cheaper][0], "on" + (", the rotation shared" if shared else ""))

# %% [markdown]
# ## §§XIII, XIV Open questions
#
# The paper closes with a symbolic inverse, with redundancy as observability, and with fast algorithms that propagate gains without the Riccati equation; of the last the page *Fast algorithms tried* tells. The first, by hand for two links, and the second against the singular values of $J$:

# %%
small = ps.planar_chain(2)
formula = ps.symbolic(small, ps.mass_matrix_inverse)
print("ℳ⁻¹ of a planar arm of two links:", formula.latex())
puma = ps.load("puma560")
watch = estimation.observability(puma, np.zeros(6), "tool")
strengths = np.linalg.svd(ps.jacobian(puma, np.zeros(6), "tool"), compute_uv=False)
print("a stretched PUMA is observable in", watch.rank, "of 6 directions; strengths", watch.strengths.round(3))
print(
    "singular values of J:",
    strengths.round(3),
    "rank",
    np.linalg.matrix_rank(ps.jacobian(puma, np.zeros(6), "tool"), tol=1e-9),
)
