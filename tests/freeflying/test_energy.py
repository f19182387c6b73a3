"""Rigid and articulated motion apart: energies, the base's wiggle, momenta of joints."""

import numpy as np
import pytest

import phistar as ps
from tests.freeflying.robots import nine_links, state, with_wheels
from tests.trees import relative

ff = ps.freeflying
ROBOTS = pytest.mark.parametrize("model", [nine_links(), with_wheels()], ids=lambda model: model.name)


@ROBOTS
def test_the_energies_add_up_to_the_kinetic_energy(model):
    """RJ2W eq. 26."""
    q, v = state(model)
    parts = ff.energy(model, q, v)
    assert relative(parts.rigid + parts.articulated, ps.kinetic_energy(model, q, v)) < 1e-14
    assert parts.rigid.shape == parts.articulated.shape == (3,)


@ROBOTS
def test_articulated_energy_is_what_the_joints_mass_matrix_says_whatever_the_base_does(model):
    """RJ2W eqs. 24, 27."""
    q, v = state(model)
    rates = v[..., 6:, None]
    expected = 0.5 * (np.swapaxes(rates, -1, -2) @ ff.mass_matrix(model, q) @ rates)[..., 0, 0]
    assert relative(ff.energy(model, q, v).articulated, expected) < 1e-13
    elsewhere = np.concatenate([np.zeros((3, 6)), v[..., 6:]], axis=-1)
    assert relative(ff.energy(model, q, elsewhere).articulated, expected) < 1e-13


@ROBOTS
def test_no_base_velocity_has_less_energy_than_the_wiggle(model):
    """RJ2W identity 2: with V_WIGGLE the energy is the articulated one, and any other base velocity has more."""
    q, v = state(model)
    wiggle = ff.wiggle_velocity(model, q, v[..., 6:])
    best = ps.kinetic_energy(model, q, np.concatenate([wiggle, v[..., 6:]], axis=-1))
    assert relative(best, ff.energy(model, q, v).articulated) < 1e-13
    rng = np.random.default_rng(3)
    for step in rng.normal(size=(5, 3, 6)) * 0.1:
        assert np.all(ps.kinetic_energy(model, q, np.concatenate([wiggle + step, v[..., 6:]], axis=-1)) > best)


@ROBOTS
def test_a_wiggling_robot_has_no_momentum(model):
    q, v = state(model)
    moving = np.concatenate([ff.wiggle_velocity(model, q, v[..., 6:]), v[..., 6:]], axis=-1)
    still = np.concatenate([np.zeros((3, 6)), v[..., 6:]], axis=-1)
    assert np.abs(ps.momentum(model, q, moving)).max() < 1e-13 * np.abs(ps.momentum(model, q, still)).max()


@ROBOTS
def test_rigid_and_wiggle_add_up_to_the_bases_velocity(model):
    """RJ2W eq. 25."""
    q, v = state(model)
    rigid, wiggle = ff.rigid_velocity(model, q, v), ff.wiggle_velocity(model, q, v[..., 6:])
    assert np.abs(rigid + wiggle - v[..., :6]).max() < 1e-13 * np.abs(v).max()
    whole = ff.mass_at_base(model, q)
    energy = 0.5 * (rigid[..., None, :] @ whole @ rigid[..., None])[..., 0, 0]
    assert relative(energy, ff.energy(model, q, v).rigid) < 1e-13


@ROBOTS
def test_the_wiggle_jacobian_and_the_joint_momenta_are_linear_in_the_rates(model):
    q, v = state(model)
    rates = v[..., 6:]
    wiggle = (ff.wiggle_jacobian(model, q) @ rates[..., None])[..., 0]
    assert relative(wiggle, ff.wiggle_velocity(model, q, rates)) < 1e-13
    momenta = (ff.mass_matrix(model, q) @ rates[..., None])[..., 0]
    assert relative(ff.joint_momentum(model, q, rates), momenta) < 1e-13


def test_a_single_body_has_rigid_energy_only():
    builder = ps.ModelBuilder("stone")
    builder.body("stone", joint=ps.Free(), inertia=ps.Inertia(2.0, (0.1, 0, 0), np.diag([0.3, 0.4, 0.5])))
    stone = builder.build()
    q, v = state(stone)
    parts = ff.energy(stone, q, v)
    assert relative(parts.rigid, ps.kinetic_energy(stone, q, v)) < 1e-14
    assert np.abs(parts.articulated).max() == 0.0
    assert ff.joint_count(stone) == 0
