"""Composite bodies, their ten parameters, and the mass matrix they make (R87 eqs. 28-33)."""

import numpy as np

import phistar as ps
from phistar import estimation
from tests.estimation import r87
from tests.trees import mechanism, relative


def test_composite_bodies_are_the_covariance_of_link_forces_before_any_measurement():
    """r(k) is the k-th diagonal block of φMφ* (28), on trees too."""
    for seed in (5, 9):
        case = mechanism(seed)
        s, n = case.symbols, len(case.model.bodies)
        full = case.dense(s.phi @ s.M @ s.phi.T)
        expected = np.stack([full[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(n)])
        assert relative(estimation.composite_bodies(case.model, case.q).inertias, expected) < 1e-12


def test_the_ten_parameters_follow_their_own_recursion():
    """ρ, C and J as after (33), link by link from the tip; m·p is read for m·ρ, which is printed."""
    model, q, v, _ = r87.arm(6)
    chain, found = r87.Chain(model, q, v), estimation.composite_bodies(model, q)
    mass, moment, tensor = 0.0, np.zeros(3), np.zeros((3, 3))
    for k in range(1, 7):
        turn = chain.phi[k][:3, :3]
        lever = chain.phi[k][:3, 3:] @ turn.T
        L = np.array([lever[2, 1], lever[0, 2], lever[1, 0]])
        center, tensor = turn @ moment / mass if mass else np.zeros(3), turn @ tensor @ turn.T
        body = model.bodies[6 - k].inertia
        tensor = tensor + body.about_origin + mass * (_spread(center + L) - _spread(center))
        moment = mass * (center + L) + body.mass * body.com
        mass = mass + body.mass
        assert np.isclose(found.masses[6 - k], mass)
        assert np.allclose(found.moments[6 - k], moment)
        assert np.allclose(found.centers[6 - k], moment / mass)
        assert np.allclose(found.tensors[6 - k], tensor)


def _spread(x):
    return x @ x * np.eye(3) - np.outer(x, x)


def test_elements_of_the_mass_matrix_are_composite_bodies_seen_from_further_in():
    """(32): m(k, i) = H(k) φ(k,i) r(i) H*(i)."""
    model, q, v, _ = r87.arm(6)
    chain = r87.Chain(model, q, v)
    r = r87.tip_first(estimation.composite_bodies(model, q).inertias)
    mass = np.zeros((6, 6))
    for i in range(1, 7):
        x = r[i] @ chain.H[i].T
        for k in range(i, 7):
            x = chain.phi[k] @ x if k > i else x
            mass[6 - k, 6 - i] = mass[6 - i, 6 - k] = (chain.H[k] @ x).item()
    assert relative(mass, ps.mass_matrix(model, q)) < 1e-12


def test_the_outermost_composite_is_the_whole_robot():
    model = ps.load("puma560")
    q = np.random.default_rng(0).normal(size=(3, 6))
    found = estimation.composite_bodies(model, q)
    assert found.inertias.shape == (3, 6, 6, 6)
    assert np.allclose(found.masses[:, 0], model.total_mass)
