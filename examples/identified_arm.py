"""An arm's inertias, friction and motors from its own log: excite it, fit it, see how well it predicts a new motion."""

from dataclasses import replace

import numpy as np

import phistar as ps

believed = ps.chain(6)
motors = {j.name: replace(j.kind, armature=0.05, damping=0.4, friction=0.2) for j in believed.joints}
rng = np.random.default_rng(seed=0)
heavier = {
    b.name: ps.Inertia(b.inertia.mass * np.exp(0.3 * rng.normal()), b.inertia.com, b.inertia.tensor)
    for b in believed.bodies
}
true = believed.replace(joints=motors, inertias=heavier)


def log(path):
    """Motor forces of the true arm along a motion, with a percent of noise."""
    tau = ps.inverse_dynamics(true, path.q, path.v, path.a) + 0.4 * path.v + 0.2 * np.sign(path.v)
    noise = 0.01 * np.abs(tau).max(axis=0)
    return tau + noise * rng.normal(size=tau.shape), noise


path = ps.identify.excitation(believed, 10.0, samples=1000, candidates=60)
tau, noise = log(path)
found = ps.identify.fit(believed, path.q, path.v, path.a, tau)
print(f"{len(found.base)} base parameters, all bodies physical: {found.physical}, not shown: {list(found.unexcited)}")
print(
    f"first joint: damping {found.parameters['joint1.damping']:.2f}, friction {found.parameters['joint1.friction']:.2f}"
)

other = ps.identify.excitation(believed, 7.0, samples=500, candidates=5, seed=3)
forces, noise = log(other)
told = found.error(other.q, other.v, other.a, forces)
before = np.sqrt(np.mean((forces - ps.inverse_dynamics(believed, other.q, other.v, other.a)) ** 2, axis=0))
print(f"error on a new motion: {np.max(told.rms / noise):.2f} times the noise; before: {np.max(before / noise):.0f}")
