"""The Brownian bridge is a free-flying robot (RJ2W §5): its covariance is the robot's mass matrix.

Beads of mass ρΔ slide on a line, each in the one before; nothing holds the first. Left of joint k the beads weigh
r_f = ρx, right of it r_b = ρ(ℓ − x) (eq. 39), as the covariances of Brownian motion from either end; the mass matrix is
that of Brownian motion tied down at both ends (eq. 38). Run with a file name to draw it: brownian_bridge.py bridge.png
"""

import sys
from fractions import Fraction

import numpy as np

import phistar as ps

DENSITY = 2.0  # ρ


def beads(joints: int, length: float) -> ps.Model:
    """joints + 1 beads on a line, all at the same place: only their masses matter."""
    mass = DENSITY * length / (joints + 1)
    bead = ps.Inertia(mass, (0, 0, 0), np.eye(3))
    builder = ps.ModelBuilder("bridge")
    builder.body("bead0", joint=ps.Free(), inertia=bead)
    for k in range(joints):
        builder.body(f"bead{k + 1}", parent=f"bead{k}", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=bead)
    return builder.build()


def along_the_line(model: ps.Model, symbol: str) -> np.ndarray:
    """A symbol's matrix at the joints, in the one direction that moves; joint 1 is the paper's, furthest out."""
    whole = getattr(ps.algebra(model), symbol).dense(model.neutral())
    return whole[9::6, 9::6][::-1, ::-1]  # the force along x of every bead but the first


def fractions(matrix: np.ndarray) -> str:
    rows = ["  ".join(f"{Fraction(float(x)).limit_denominator(100)!s:>4}" for x in row) for row in matrix]
    return "\n".join(f"    {row}" for row in rows)


# Three samples of a bridge of length 4Δ: the matrices of equations (40) to (42), in units of ρΔ.
small = beads(3, 4.0)
covariance = ps.freeflying.mass_matrix(small, small.neutral())[::-1, ::-1] / DENSITY
expected = np.array([[3, 2, 1], [2, 4, 2], [1, 2, 3]]) / 4
print("R̄ =", fractions(covariance), sep="\n")
printed = {
    "r": np.diag([1, 2, 3]),
    "r_b": np.diag([3, 2, 1]),
    "rho": np.diag([3 / 4, 1, 3 / 4]),
    "C_f": np.diag([3 / 4, 1 / 2, 1 / 4]),
    "C_b": np.diag([1 / 4, 1 / 2, 3 / 4]),
    "phi_tilde": np.tril(np.ones((3, 3)), -1),
    "phi_b_tilde": np.triu(np.ones((3, 3)), 1),
}
for symbol, matrix in printed.items():
    scale = DENSITY if symbol in ("r", "r_b", "rho") else 1.0
    assert np.allclose(along_the_line(small, symbol) / scale, matrix, atol=1e-15), symbol
assert np.allclose(covariance, expected, atol=1e-15)
print("r_f, r_b, r, C_f, C_b, φ̃_f and φ̃_b are those of (41) and (42)")

# A finer bridge: Brownian motions tied down at both ends (35)-(37), sampled, and what they vary by.
LENGTH, JOINTS, SAMPLES = 1.0, 39, 20_000
fine = beads(JOINTS, LENGTH)
mass = ps.freeflying.mass_matrix(fine, fine.neutral())[::-1, ::-1]
step = LENGTH / (JOINTS + 1)
noise = np.random.default_rng(0).normal(scale=np.sqrt(DENSITY * step), size=(SAMPLES, JOINTS + 1))
walk = np.cumsum(noise, axis=1)
places = step * np.arange(1, JOINTS + 1)
bridges = walk[:, :-1] - places / LENGTH * walk[:, -1:]
sampled = bridges.T @ bridges / SAMPLES
exact = DENSITY * (np.minimum.outer(places, places) - np.outer(places, places) / LENGTH)
print(f"the mass matrix is ρ(min(x, y) − xy/ℓ) to {np.abs(mass - exact).max():.1e}")
print(f"{SAMPLES} bridges vary by it to {np.abs(sampled - mass).max() / mass.max():.3f} of its largest entry")
assert np.allclose(mass, exact, atol=1e-13)
assert np.abs(sampled - mass).max() < 0.05 * mass.max()


def draw(path: str) -> None:
    """Sampled bridges between plus and minus the mass matrix's diagonal, and the covariance with three places."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    x = np.concatenate([[0.0], places, [LENGTH]])
    ends = np.zeros((SAMPLES, 1))
    left.plot(x, np.hstack([ends, bridges, ends])[:40].T, color="tab:blue", alpha=0.25, linewidth=0.8)
    spread = np.concatenate([[0.0], np.sqrt(np.diag(mass)), [0.0]])
    left.fill_between(x, -2 * spread, 2 * spread, color="tab:orange", alpha=0.25, label="±2√(mass matrix's diagonal)")
    left.set(xlabel="x", ylabel="X(x)", title="sampled Brownian bridges")
    left.legend(loc="upper right", fontsize=8)
    for index, color in ((7, "tab:blue"), (19, "tab:green"), (31, "tab:red")):
        right.plot(places, mass[index], color=color, label=f"row of the mass matrix, x = {places[index]:.1f}")
        right.plot(places, sampled[index], ".", color=color, markersize=4)
    right.set(xlabel="y", ylabel="E X(x)X(y)", title="covariance: mass matrix (lines), samples (dots)")
    right.set_ylim(top=0.68)
    right.legend(loc="upper center", fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__" and len(sys.argv) > 1:
    draw(sys.argv[1])
