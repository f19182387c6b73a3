# %% [markdown]
# # Kalman filtering, smoothing, and robot dynamics
#
# Rodriguez, *Kalman Filtering, Smoothing, and Recursive Robot Arm Forward and Inverse Dynamics*, 1987 (R87). Forward dynamics is a Kalman filter from the tip to the base, and a smoother back. Where the print is wrong, the corrected equation is used and said: (7), (9): ω×(ω×p); (36): z⁺(k−1); (68), (83): transposes as in (82).

# %%
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar import estimation
from phistar.estimation import planar_chain

arm = ps.chain(8)
rng = np.random.default_rng(4)
q, v, tau = rng.uniform(-1, 1, size=(3, 8))


def agree(name, a, b, within=1e-9):
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max())
    print(f"{name}: agree to {far:.0e}")
    assert far < within


# %% [markdown]
# ## §§II-V Links, forces and accelerations (eqs. 1-15, Fig. 1)
#
# Fig. 1 is a chain whose links are counted from the tip. M(k) and φ(k, m) are (1)-(3); forces run inward by (4)-(6) with the bias force (7), which (8)-(10) derive; velocities run outward by (11), (12), accelerations by (13), (14) with the bias (15). Explicit matrices, links from the tip on, in the inertial convention of accelerations (the paper's λ is differentiated in the links' axes, with b and n to match):

# %%
A = ps.algebra(arm)
at = [slice(6 * k, 6 * k + 6) for k in reversed(range(8))]  # the paper's 1 … N; the library stores the base first
E_phi, Mass, Axes = A.E_phi.dense(q), A.M.dense(q), A.H.dense(q)
phi = [np.eye(6), *(E_phi[at[k], at[k - 1]] for k in range(1, 8))]  # φ(k, k−1)
M = [Mass[block, block] for block in at]
h = [Axes[7 - k, block] for k, block in enumerate(at)]
twist, bias, force = (x.apply(q, v=v) for x in (A.V, A.a, A.b))
weight = Mass @ A.phi.dense(q).T @ A.E.dense(q).T @ np.concatenate([np.zeros(3), -arm.gravity])
n = [bias[block] for block in at]
b = [(force + weight)[block] for block in at]
u = v[::-1]
V = [twist[block] for block in at]
for k in range(7):
    agree(f"(11), (12), link {k + 1}", V[k], phi[k + 1].T @ V[k + 1] + h[k] * u[k])
moment = M[2][:3, 3:]
agree("(1), mp̃ is skew", moment, -moment.T)
agree("(2), (3) φ(6, 3) = φ(6, 5)φ(5, 4)φ(4, 3)", A.phi.dense(q)[at[5], at[2]], phi[5] @ phi[4] @ phi[3])

# %% [markdown]
# ## §VI The two-point boundary-value problem (eqs. 16-21, Table I)
#
# Forces are known at the tip, accelerations at the base; forces run inward, accelerations outward, and the joints couple them.

# %%
problem = estimation.BoundaryValueProblem(arm, q, v)
solution = problem.forward(tau)
for equation, defect in problem.defects(solution).items():
    print(f"{equation}: {np.abs(defect).max():.0e}")

# %% [markdown]
# ## §VII Inverse dynamics and composite bodies (eqs. 22-33)
#
# The elements of the inertia matrix come from composite bodies: r(k) = φ r(k−1) φ\* + M(k), m(k, i) = H φ(k, i) r(i) H\* (28-32). Mass, mass centre and rotational inertia of the composites are the ten parameters of (33).

# %%
outward = np.linalg.inv(np.eye(48) - E_phi).T  # (23)
given = rng.normal(size=8)
links = outward @ (Axes.T @ given + bias)
forces = np.linalg.inv(np.eye(48) - E_phi) @ (Mass @ links + force + weight)  # (24)-(27); Fig. 2 is the order of (26)
agree("(22)-(27), (30), (31)", Axes @ forces, ps.inverse_dynamics(arm, q, v, given))
print(A.mass.algorithm(matrix=True))
bodies = estimation.composite_bodies(arm, q)
print("masses of the composite bodies, base to tip:", bodies.masses.round(3))
r = [M[0]]
for k in range(1, 8):
    r.append(phi[k] @ r[-1] @ phi[k].T + M[k])  # (28), (29)
agree("(33), the mass of each composite body", [x[5, 5] for x in r], np.arange(1, 9) * M[0][5, 5])
agree("(28)-(32)", A.mass.dense(q), ps.mass_matrix(arm, q))

# %% [markdown]
# ## §VIII Forward dynamics (eqs. 34-51)
#
# The filter: states z, covariances P, gains G, innovations e⁻ = τ − Hz, residuals e⁺ = D⁻¹e⁻. The smoother: costates λ, and θ̈ = e⁺ − G\*λ.

# %%
z, P, kept = np.zeros(6), np.zeros((6, 6)), []  # (34), (35); by hand
for k in range(8):
    z, P = phi[k] @ z + b[k], phi[k] @ P @ phi[k].T + M[k]  # (36), (37)
    D = h[k] @ P @ h[k]  # (38)
    G = P @ h[k] / D  # (39)
    e = tau[7 - k] - h[k] @ z  # (40)
    after = P - np.outer(P @ h[k], h[k] @ P) / D  # (43)
    gone = np.eye(6) - np.outer(G, h[k])
    agree(f"(50), (51), joint {k + 1}", gone @ P @ gone.T, gone @ P)
    kept.append((e / D, G, D, P))  # (42)
    z, P = z + G * e + after @ n[k], after  # (41), (43)
costate, by_hand = np.zeros(6), []  # (44)
for k in reversed(range(8)):
    residual, G, _, _ = kept[k]
    by_hand.append(residual - G @ (costate + n[k]))  # (46)
    costate = costate + n[k] + h[k] * by_hand[-1]  # (47), or (48); (49) is (34) in (16)
    costate = phi[k].T @ costate  # (45)
agree("(35)-(49), by hand", by_hand, ps.forward_dynamics(arm, q, v, tau))
found = estimation.forward_dynamics(arm, q, v, tau, keep=["innovations", "residuals", "gains", "inertias", "costates"])
agree("filter and smoother against ℳ⁻¹(τ − bias)", found.accelerations, ps.forward_dynamics(arm, q, v, tau))
figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
joints = np.arange(1, 9)
axis.bar(joints - 0.2, found.residuals, 0.4, label="residual e⁺, of joint forces to this joint")
axis.bar(joints + 0.2, found.accelerations, 0.4, label="θ̈, after the smoother")
axis.set(xlabel="joint, base to tip", ylabel="rad/s²")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## §IX Similarities to Kalman filtering and Bryson-Frazier smoothing (eqs. 52-68)
#
# (54)-(59) are the filter's estimates and their covariances P and D, (60)-(63) the smoother, (64)-(68) its covariances S and Δ: `estimation.covariances`.
#
# Draw forces on the links with covariance M(k) (53) and let them run to the base by (52); what the joints feel has the mass matrix as its covariance:

# %%
mass = ps.mass_matrix(arm, q)
counts = [100, 1000, 10_000, 100_000]
drawn = estimation.sample_joint_forces(arm, q, counts[-1], rng)
for n in counts:
    far = np.linalg.norm(drawn[:n].T @ drawn[:n] / n - mass) / np.linalg.norm(mass)
    print(f"{n:7} samples: covariance within {far:.3f} of the mass matrix")

# %% [markdown]
# And a program that has never heard of robots, statsmodels' Kalman smoother, finds the accelerations of the arm. (The paper sets the bias accelerations n = 0; a moving arm needs b + Mφ\*n as input.)

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
# The covariance of the costates is Δ, with Δ⁻ = (I−GH)\*Δ⁺(I−GH) + H\*H/D, and ℳ⁻¹ follows from P and Δ element by element.

# %%
known = estimation.covariances(arm, q)
inverse = np.linalg.inv(mass)
agree("closed-form inverse", estimation.closed_form_inverse(arm, q), inverse)
parts = estimation.acceleration_parts(arm, q, v, tau)
agree("(69), the sum", parts.joint_forces + parts.link_forces + parts.link_motions, found.accelerations)
agree("(69)-(80), a¹", parts.joint_forces, inverse @ tau)  # (70)-(72), (73)-(80) are its derivation
at_rest = estimation.acceleration_parts(arm, q, 0 * v, tau)
agree("a² at rest, where the conventions are one", at_rest.link_forces, -inverse @ ps.gravity_load(arm, q))
Delta, variances = np.zeros((6, 6)), []
for k in reversed(range(8)):  # (81), (82), and the diagonal of (83)
    _, G, D, _ = kept[k]
    variances.append(1 / D + G @ Delta @ G)
    gone = np.eye(6) - np.outer(G, h[k])
    Delta = phi[k].T @ (gone.T @ Delta @ gone + np.outer(h[k], h[k]) / D) @ phi[k]
agree("(81)-(83), by hand", variances, np.diag(inverse))
agree("its diagonal: variances of θ̈", known.accelerations[:, 0, 0], np.diag(inverse))
print(ps.algebra().mass.inv.derivation())

# %% [markdown]
# (84) writes P by a mass, a mass centre and an inertia that are matrices: 21 numbers where a composite body has 10. The mass of an articulated body depends on the direction:

# %%
_, _, _, P_inner = kept[-1]
print("the articulated 'mass' of the last body, by direction:", np.linalg.eigvalsh(P_inner[3:, 3:]).round(3))

# %% [markdown]
# ## §XI Physical interpretation
#
# Fig. 3, the filter and the smoother as mirror images, is the algorithm printed above. P is the inertia of the articulated body further out; after a measurement nothing is felt about the free joint: HP⁺ = 0 (printed HP⁻).

# %%
after = (A.H @ (A.P - A.G @ A.D @ A.G.T)).dense(q)
before = (A.H @ A.P).dense(q)
print(f"HP⁻ has entries to {np.abs(before).max():.2f}, HP⁺ to {np.abs(after).max():.0e}")
assert np.abs(after).max() < 1e-12
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
# Operations counted on what the rows do, beside what is printed: every cell is met. The text's total for Table III, 2N(N+5), has one rotation of the mass centre per link more than the rows; shared with the rotation of x(i) it is not needed twice.

# %%
for title, table in (
    ("Table II, the filter", planar_chain.table_2()),
    ("Table III, the inertia matrix", planar_chain.table_3()),
):
    print(f"{title}: additions, multiplications, divisions")
    for row in table:
        print(f"   {row.name:20} counted {row.counted}   printed {row.printed}")
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
# ## §XIV Open questions
#
# The paper closes with a symbolic inverse, with fast algorithms that propagate gains without the Riccati equation, and with JJ\* as an observability Gramian. All are here:

# %%
small = ps.planar_chain(2)
print("ℳ⁻¹ of a planar arm of two links:", ps.symbolic(small, ps.mass_matrix_inverse).latex())
watch = estimation.observability(ps.load("puma560"), np.zeros(6), "tool")
print("a stretched PUMA is observable in", watch.rank, "of 6 directions; strengths", watch.strengths.round(3))
