"""A mast of four-bars in independent rates: each window is one compound link, and the mast has a rate a window.

Prints what is compound, compares with multipliers, folds the mast under a control law and tells how closed it stays.
"""

import numpy as np

import phistar as ps

z = ps.Revolute(axis=(0, 0, 1), damping=0.02)
rod = ps.Inertia(0.4, (0.25, 0, 0), np.diag([1e-5, 8e-3, 8e-3]))


def mast(windows=4):
    """Crank, coupler and rocker upon one another; the coupler of each window carries the next."""
    b, parent, at = ps.ModelBuilder("mast", gravity=(0, -9.81, 0)), "world", 0.0
    for k in range(windows):
        b.body(f"crank{k}", parent, z, ps.Pose(xyz=(at, 0, 0)), rod)
        b.body(f"coupler{k}", f"crank{k}", z, ps.Pose(xyz=(0.5, 0, 0)), rod)
        b.body(f"rocker{k}", parent, z, ps.Pose(xyz=(at + 0.4, 0, 0)), rod)
        b.frame(f"end{k}", f"coupler{k}", ps.Pose(xyz=(0.4, 0, 0)))
        b.frame(f"pin{k}", f"rocker{k}", ps.Pose(xyz=(0.5, 0, 0)))
        b.loop(f"window{k}", f"end{k}", f"pin{k}", joint=z)
        parent = f"coupler{k}"
    return b.build()


closed = mast()
upright = np.tile([np.pi / 2 - 0.2, 0.2 - np.pi / 2, np.pi / 2 - 0.2], 4)
model = closed.embedded(independent=[f"crank{k}" for k in range(4)], q=upright)


def fold(t, q, v):
    """Gravity carried, and each crank led 0.9 rad away, one way and the other."""
    target = upright[::3] + 0.9 * np.array([1, -1, 1, -1]) * min(t, 1.0)
    return ps.gravity_load(model, q) + 30.0 * (target - q[::3]) - 6.0 * v


if __name__ == "__main__":
    print(f"{closed.name}: {closed.nv} joints, {len(closed.loops)} loops; {model.nv} independent rates")
    v = np.array([0.4, -0.3, 0.2, 0.1])
    maps, tau = model.embedding, np.zeros(closed.nv)
    a = ps.forward_dynamics(model, upright, v, maps.independent_forces(upright, tau))
    full = ps.forward_dynamics(closed, upright, maps.full_rates(upright, v), tau)
    off = np.abs(maps.full_accelerations(upright, v, a) - full).max()
    print(f"  against multipliers: {off:.1e} of {np.abs(full).max():.1f} rad/s²")
    run = ps.simulate(model, upright, np.zeros(4), 2.0, fold, rtol=1e-8)
    print(f"two seconds of folding, {len(run.t)} steps: closed to {np.abs(run.loop_residual).max():.1e} m and rad")
