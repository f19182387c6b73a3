"""A rigid body that nothing turns: Euler's equations against Jacobi's elliptic functions."""

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import phistar as ps

MOMENTS = np.array([1.0, 2.0, 2.6])


def body() -> ps.Model:
    builder = ps.ModelBuilder("tumbling", gravity=(0, 0, 0))
    builder.body("stone", joint=ps.Free(), inertia=ps.Inertia(2.0, (0, 0, 0), np.diag(MOMENTS)))
    return builder.build()


def exact(spins: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, float]:
    """ω(t), (…, 3), from ω(0) = (ω₁, 0, ω₃), and its period (Landau and Lifshitz, Mechanics, §37)."""
    one, two, three = MOMENTS
    energy, momentum = np.sum(MOMENTS * spins**2), np.sum((MOMENTS * spins) ** 2)  # 2E and L²
    assert momentum > two * energy  # turns about the third axis
    rate = np.sqrt((three - two) * (momentum - energy * one) / (one * two * three))
    modulus = (two - one) * (energy * three - momentum) / ((three - two) * (momentum - energy * one))
    sn, cn, dn, _ = ellipj(rate * t, modulus)
    sizes = [
        np.sqrt((energy * three - momentum) / (one * (three - one))) * cn,
        np.sqrt((energy * three - momentum) / (two * (three - two))) * sn,
        np.sqrt((momentum - energy * one) / (three * (three - one))) * dn,
    ]
    return np.stack(sizes, axis=-1), 4.0 * ellipk(modulus) / rate


@pytest.mark.parametrize("spins", [(1.0, 0.0, 0.9), (0.3, 0.0, 1.5), (1.0, 0.0, 0.81)], ids=["wide", "narrow", "flips"])
def test_the_torque_free_body_follows_the_elliptic_functions(spins):
    model, spins = body(), np.array(spins)
    _, period = exact(spins, np.zeros(1))
    times = np.linspace(0.0, 2.0 * period, 21)
    expected, _ = exact(spins, times)
    v0 = np.concatenate([spins, [0.1, -0.2, 0.3]])
    run = ps.simulate(model, model.neutral(), v0, times[-1], rtol=1e-12, atol=1e-13, t_eval=times)
    turning = run.v[:, :3]
    assert np.abs(turning - expected).max() < 1e-9
    momentum = ps.freeflying.momentum(model, run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-9
    axes = np.stack([ps.forward_kinematics(model, q, "stone")[:3, :3] for q in run.q])
    assert np.abs((axes @ (MOMENTS * turning)[..., None])[..., 0] - MOMENTS * spins).max() < 1e-9


def test_a_long_rollout_of_it_keeps_the_energy_bounded():
    """No joints to give the energy to: the symmetric method alone keeps it, and the momentum is exact."""
    model = body()
    v0 = np.array([1.0, 0.0, 0.81, 0.0, 0.0, 0.0])
    run = ps.rollout(model, model.neutral(), v0, dt=5e-3, steps=40_000, method="midpoint")
    energy = ps.kinetic_energy(model, run.q[::10], run.v[::10])
    error = energy / energy[0] - 1.0
    assert np.abs(error).max() < 1e-4
    assert np.abs(error[-400:]).max() < 1.1 * np.abs(error[:400]).max() + 1e-12
    momentum = ps.freeflying.momentum(model, run.q[::10], run.v[::10])
    assert np.abs(momentum - momentum[0]).max() < 1e-13 * np.abs(momentum[0]).max()
