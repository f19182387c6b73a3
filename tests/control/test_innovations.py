"""ν̇ + μ = ε: the diagonalized equations of motion, and decoupled control in their coordinates (RJK91 §6)."""

import numpy as np
import pytest

import phistar as ps
from phistar.control.innovations import innovation_terms
from tests.control.closed_loop import run, wave
from tests.trees import mechanism, relative

PUMA = ps.load("puma560_akb")
SEEDS = pytest.mark.parametrize("seed", (0, 2, 5))
STEP = 1e-6


@pytest.mark.sampled(6)
@SEEDS
def test_the_kinetic_energy_is_half_the_square_of_the_residuals(seed):
    case = mechanism(seed)
    found = ps.control.diagonalized(case.model, case.q, case.vectors["v"])
    energy = ps.kinetic_energy(case.model, case.q, case.vectors["v"])
    assert abs(0.5 * found.velocity @ found.velocity - energy) < 1e-12 * energy


@pytest.mark.sampled(2)
@SEEDS
def test_the_residuals_change_by_innovations_less_mu(seed):
    """Along the motion that forward dynamics gives, on every kind of joint, tree, armature and rotor."""
    case = mechanism(seed)
    model, q, v, tau = case.model, case.q, case.vectors["v"], case.vectors["T"]
    a = ps.forward_dynamics(model, q, v, tau)
    ahead, behind = (ps.control.diagonalized(model, model.integrate(q, h * v + h * h / 2 * a), v + h * a).velocity
                     for h in (STEP, -STEP))  # fmt: skip
    expected = ps.control.innovations_of_forces(model, q, tau) - ps.control.diagonalized(model, q, v).bias
    assert np.abs((ahead - behind) / (2 * STEP) - expected).max() < 1e-8 * (1 + np.abs(expected).max())


@pytest.mark.sampled(2)
@SEEDS
def test_without_gravity_mu_does_no_work(seed):
    case = mechanism(seed)
    model = case.model.replace(gravity=(0, 0, 0))
    found = ps.control.diagonalized(model, case.q, case.vectors["v"])
    scale = np.linalg.norm(found.velocity) * np.linalg.norm(found.bias) + 1.0
    assert abs(found.velocity @ found.bias) < 1e-12 * scale


@SEEDS
def test_rates_and_forces_come_back(seed):
    case = mechanism(seed)
    model, q, v, tau = case.model, case.q, case.vectors["v"], case.vectors["T"]
    assert relative(ps.control.rates_of_residuals(model, q, ps.control.diagonalized(model, q, v).velocity), v) < 1e-11
    assert (
        relative(ps.control.forces_of_innovations(model, q, ps.control.innovations_of_forces(model, q, tau)), tau)
        < 1e-11
    )


def test_mu_is_made_by_one_sweep_each_way():
    for name in ("drift", "bias"):
        assert [s.direction for s in innovation_terms.statements[name].sweeps] == ["outward", "inward"]
    counts = [innovation_terms.statements["drift"].cost(n).total for n in (10, 20, 40)]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


@pytest.mark.slow
def test_the_diagonalized_equations_integrated_are_the_ordinary_motion():
    """θ̇ = (I − HψK)*D^{-1/2}ν, ν̇ = ε − μ by Runge-Kutta, against a rollout of the same arm under the same forces."""
    q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.array([1.0, -0.5, 0.8, -1.2, 0.6, 2.0])
    tau, dt, steps = np.array([20.0, -30.0, 10.0, 1.0, -1.0, 0.5]), 2e-3, 50

    def rate(q, nu):
        v = ps.control.rates_of_residuals(PUMA, q, nu)
        return v, ps.control.innovations_of_forces(PUMA, q, tau) - ps.control.diagonalized(PUMA, q, v).bias

    x, nu = q, ps.control.diagonalized(PUMA, q, v).velocity
    for _ in range(steps):
        k1 = rate(x, nu)
        k2 = rate(x + dt / 2 * k1[0], nu + dt / 2 * k1[1])
        k3 = rate(x + dt / 2 * k2[0], nu + dt / 2 * k2[1])
        k4 = rate(x + dt * k3[0], nu + dt * k3[1])
        x = x + dt / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        nu = nu + dt / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    found = ps.rollout(PUMA, q, v, np.tile(tau, (steps, 1)), dt)
    assert np.abs(found.q[-1] - x).max() < 1e-9
    assert np.abs(found.v[-1] - ps.control.rates_of_residuals(PUMA, x, nu)).max() < 1e-8


def test_each_residual_falls_to_its_reference_on_its_own():
    rates = np.array([5.0, 8.0, 11.0, 14.0, 17.0, 20.0])
    law, path = ps.control.DecoupledControl(PUMA, rate=rates, slope=6), wave(6, seed=2)
    fast, start = ps.compile(law), path(0.0)
    found = run(PUMA, lambda t, q, v: fast(t, q, v, law.reference(*path(t))), start[0] + 0.2, start[1] - 0.4, steps=300)
    references = np.array([law.reference(*path(t)) for t in found.t])
    residual = law.residual(found.q, found.v, references)
    expected = residual[0] * np.exp(-np.outer(found.t, rates))
    assert np.abs(residual - expected).max() < 1e-6 * np.abs(residual[0]).max()
    squares = np.sum(residual**2, axis=-1)
    assert np.diff(squares).max() <= 0.0
    assert np.abs(references[-1, :6] - found.q[-1]).max() < 0.2 / 2


@pytest.mark.parametrize("batch", [(), (4,)])
def test_a_robot_without_joints_has_no_innovations_and_no_manipulability(batch):
    builder = ps.ModelBuilder("stone")
    builder.body("base", joint=ps.Fixed(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    stone, q = builder.build(), np.zeros((*batch, 0))
    found = ps.control.diagonalized(stone, q, q)
    assert found.velocity.shape == found.bias.shape == (*batch, 0)
    np.testing.assert_array_equal(ps.control.manipulability(stone, q, "base"), np.zeros(batch))
