# %% [markdown]
# # Kalman filtering, smoothing, and robot dynamics
#
# Rodriguez, *Kalman Filtering, Smoothing, and Recursive Robot Arm Forward and Inverse Dynamics*, 1987 (R87). Forward dynamics is a Kalman filter from the tip to the base, and a smoother back. Where the print is wrong, the corrected equation is used and said: (7), (9): ω×(ω×p); (36): z⁺(k−1); (68), (83): transposes as in (82); Table III sums to N(2N+7).

# %%
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar import estimation
from phistar.estimation import planar

arm = ps.chain(8)
rng = np.random.default_rng(4)
q, v, tau = rng.uniform(-1, 1, size=(3, 8))


def agree(name, a, b, within=1e-9):
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max())
    print(f"{name}: agree to {far:.0e}")
    assert far < within


# %% [markdown]
# ## §VI The two-point boundary-value problem (eqs. 16-21)
#
# Forces are known at the tip, accelerations at the base; forces run inward, accelerations outward, and the joints couple them.

# %%
problem = estimation.BoundaryValueProblem(arm, q, v)
solution = problem.forward(tau)
for equation, defect in problem.defects(solution).items():
    print(f"{equation}: {np.abs(defect).max():.0e}")

# %% [markdown]
# ## §VII Inverse dynamics and composite bodies (eqs. 22-34)
#
# The elements of the inertia matrix come from composite bodies: r(k) = φ r(k−1) φ\* + M(k), m(k, i) = H φ(k, i) r(i) H\* (27-31). Mass, mass centre and rotational inertia of the composites are (33), (34).

# %%
A = ps.algebra(arm)
print(A.mass.algorithm(matrix=True))
bodies = estimation.composite_bodies(arm, q)
print("masses of the composite bodies, base to tip:", bodies.masses.round(3))
agree("(27)-(31)", A.mass.dense(q), ps.mass_matrix(arm, q))

# %% [markdown]
# ## §VIII Forward dynamics (eqs. 35-47)
#
# The filter: states z, covariances P, gains G, innovations e⁻ = τ − Hz, residuals e⁺ = D⁻¹e⁻. The smoother: costates λ, and θ̈ = e⁺ − G\*λ.

# %%
found = estimation.forward_dynamics(arm, q, v, tau, keep=["innovations", "residuals", "gains", "inertias", "costates"])
agree("filter and smoother against ℳ⁻¹(τ − bias)", found.accelerations, ps.forward_dynamics(arm, q, v, tau))
figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
joints = np.arange(1, 9)
axis.bar(joints - 0.2, found.residuals, 0.4, label="residual e⁺: joints nearer the base locked")
axis.bar(joints + 0.2, found.accelerations, 0.4, label="θ̈, after the smoother")
axis.set(xlabel="joint, base to tip", ylabel="rad/s²")
axis.legend(frameon=False)
plt.show()

# %% [markdown]
# ## §IX Similarities to Kalman filtering and Bryson-Frazier smoothing (eqs. 48-68)
#
# Draw forces on the links with covariance M(k); what the joints feel has the mass matrix as its covariance (51):

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
# ## §X The closed-form inverse of the inertia matrix (eqs. 69-83)
#
# The covariance of the costates is Δ, with Δ⁻ = (I−GH)\*Δ⁺(I−GH) + H\*H/D, and ℳ⁻¹ follows from P and Δ element by element.

# %%
known = estimation.covariances(arm, q)
inverse = np.linalg.inv(mass)
agree("closed-form inverse", estimation.closed_form_inverse(arm, q), inverse)
agree("its diagonal: variances of θ̈", known.accelerations[:, 0, 0], np.diag(inverse))
print(ps.algebra().mass.inv.derivation())

# %% [markdown]
# ## §XI Physical interpretation
#
# P is the inertia of the articulated body further out; after a measurement nothing is felt about the free joint: HP⁺ = 0 (printed HP⁻).

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
# ## §XII The planar chain: Tables II and III, Fig. 4 (eqs. 84-88)
#
# Operations counted on what the rows do, beside what is printed. Two cells of the tables cannot be met by counting: the state update needs 4 additions (printed 5), and Table III sums to N(2N+7).

# %%
for title, table in (("Table II, the filter", planar.table_2()), ("Table III, the inertia matrix", planar.table_3())):
    print(f"{title}: additions, multiplications, divisions")
    for row in table:
        print(f"   {row.name:20} counted {row.counted}   printed {row.printed}")
lengths = np.arange(1, 13)
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.plot(lengths, planar.smoother_flops(lengths), "o-", label="filter and smoother, O(N)")
axis.plot(lengths, planar.assembly_flops(lengths), "s-", label="inertia matrix and solve")
axis.plot(lengths, planar.assembly_flops(lengths, printed=True), ":", label="the same as printed, 2N(N+5)")
axis.set(xlabel="links N", ylabel="operations", title="Fig. 4")
axis.legend(frameon=False)
plt.show()
print("the filter is cheaper from N =", lengths[planar.smoother_flops(lengths) < planar.assembly_flops(lengths)][0])

# %% [markdown]
# ## §XIV Open questions
#
# The paper closes with a symbolic inverse, with fast algorithms that propagate gains without the Riccati equation, and with JJ\* as an observability Gramian. All are here:

# %%
small = ps.planar_chain(2)
print(ps.symbolic(small).latex()[:200], "…")
watch = estimation.observability(ps.load("puma560"), np.zeros(6), "tool")
print("a stretched PUMA is observable in", watch.rank, "of 6 directions; strengths", watch.strengths.round(3))
