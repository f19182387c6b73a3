# %% [markdown]
# # Links of any width: bodies that bend, loops in independent rates, prescribed joints
#
# The laws of the papers never mention 6: they hold for any link space ⊕R^{w(k)}. A body with m modes is a link of width 6 + m, the links along a loop are one compound link, and the statements stay as they are.

# %%
import matplotlib.pyplot as plt
import numpy as np

import phistar as ps
from phistar.view.report_picture import picture

rng = np.random.default_rng(0)


def agree(name, a, b):
    a, b = np.asarray(a), np.asarray(b)
    far = np.abs(a - b).max() / max(np.abs(a).max(), np.abs(b).max())
    print(f"{name}: agree to {far:.0e}")


# %% [markdown]
# ## A beam
#
# Modes by Ritz's method: βL of a clamped beam, against the roots of cos βL cosh βL = −1.

# %%
beam = ps.beam(length=1.0, EI=(20.0, 30.0), mass_per_length=1.0, modes=4)
plane = ps.beam(length=1.0, EI=(1.0, 1e4), mass_per_length=1.0, modes=4)
print(np.sqrt(plane.frequencies).round(6), "books: 1.875104, 4.694091, 7.854757, 10.995541")

# %% [markdown]
# ## An arm of two beams
#
# V̄ = [η̇; V]: the mass matrix factors as ever (RJK91 lemma 1), and its inverse is what forward dynamics takes (lemma 2).

# %%
b = ps.ModelBuilder("arm", gravity=(0, 0, -9.81))
b.body("upper", joint=ps.Revolute(axis=(0, 1, 0)), inertia=beam)
b.body("fore", "upper.tip", ps.Revolute(axis=(0, 1, 0)), inertia=beam)
b.frame("tool", "fore.tip")
arm = b.build()
A = ps.algebra(arm, frames="tool")
q, v, tau = arm.random(rng), rng.normal(size=arm.nv), rng.normal(size=arm.nv)
agree(
    "ℳ and its factors",
    A.mass.dense(q),
    (A.I + A.H @ A.phi @ A.K).dense(q) @ A.D.dense(q) @ (A.I + A.H @ A.phi @ A.K).dense(q).T,
)
agree("Jℳ⁻¹J* and its sweep", (A.J @ A.mass.inv @ A.J.T).dense(q), ps.mobility(arm, q, "tool"))
a = ps.forward_dynamics(arm, q, v, tau)
agree("ID(FD)", ps.inverse_dynamics(arm, q, v, a), tau)
A.mass.inv.derivation()

# %% [markdown]
# ## It falls
#
# From the horizontal, at rest; deflections drawn as they are, and five times as large.

# %%
run = ps.simulate(arm, arm.neutral(), np.zeros(arm.nv), 0.5, rtol=1e-8, t_eval=np.linspace(0, 0.5, 51))
print(f"energy keeps to {np.abs(run.energy - run.energy[0]).max():.0e} J")
fig, axes = plt.subplots(1, 2, figsize=(9, 3))
for axis, factor in zip(axes, (1.0, 5.0), strict=True):
    axis.imshow(picture(arm, run.q[20], exaggeration=factor))
    axis.set_title(f"0.2 s, deflection ×{factor:g}")
    axis.axis("off")
plt.show()

# %% [markdown]
# ## Modes of the whole
#
# Hanging straight down; what pulls it back are its weight and its stiffness.

# %%
hanging = arm.neutral()
hanging[0] = np.pi / 2
found = ps.modes(arm, hanging)
print("Hz:", (found.frequencies / (2 * np.pi)).round(3))

# %% [markdown]
# ## A loop as one link
#
# Constraint embedding (Jain 2012): crank, coupler and rocker are a link of width 18 with one rate, and no multiplier is left.

# %%
z, rod = ps.Revolute(axis=(0, 0, 1)), ps.Inertia(0.4, (0.25, 0, 0), np.diag([1e-5, 8e-3, 8e-3]))
b = ps.ModelBuilder("four-bar", gravity=(0, -9.81, 0))
b.body("crank", joint=z, inertia=rod)
b.body("coupler", "crank", z, ps.Pose(xyz=(0.5, 0, 0)), rod)
b.body("rocker", joint=z, placement=ps.Pose(xyz=(0.4, 0, 0)), inertia=rod)
b.frame("end", "coupler", ps.Pose(xyz=(0.4, 0, 0)))
b.frame("pin", "rocker", ps.Pose(xyz=(0.5, 0, 0)))
b.loop("window", "end", "pin", joint=z)
closed = b.build()
start = np.array([1.2, -1.2, 1.2])
model = closed.embedded(q=start)
rate = np.array([0.7])
free = ps.forward_dynamics(model, start, rate, np.zeros(1))
full = ps.forward_dynamics(closed, start, model.embedding.full_rates(start, rate), np.zeros(3))
agree("one rate, and multipliers", model.embedding.full_accelerations(start, rate, free), full)
print(ps.innovations(model, start).D, ps.mass_matrix(model, start))

# %% [markdown]
# ## Its operational space as a statement
#
# Ω_c = Jℳ⁻¹J\* − Jℳ⁻¹A\*(Aℳ⁻¹A\*)⁺Aℳ⁻¹J\* (RJK91 eq. 26 and §6), for loops that are closed by forces.

# %%
chain = ps.loops.closed_chain(closed, start, frames="coupler")
agree("Ω_c and the function", chain.mobility.dense(start)[:6, :6], ps.mobility(closed, start, "coupler"))
chain.mobility.simplify()

# %% [markdown]
# ## Joints that move as told
#
# RJK91's lemma 3 with the free joints' H: the first joint is prescribed, the second swings.

# %%
moved = ps.hybrid_dynamics(arm, q, v, tau, prescribed={"upper": 0.5})
print("prescribed:", moved.accelerations[0], " force that does it:", moved.forces[0].round(6))
agree("forces of the others", moved.forces[1:], tau[1:])
agree("and it is inverse dynamics", ps.inverse_dynamics(arm, q, v, moved.accelerations), moved.forces)
