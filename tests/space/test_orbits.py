"""Orbits: Kepler's laws, conserved quantities, and small motions relative to a circle."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import phistar as ps

space = ps.space
ELLIPSE = space.Orbit((7.0e6, 1e5, -2e5), (300.0, 8.2e3, 1.5e3))
HYPERBOLA = space.Orbit((7.0e6, 0, 0), (0.0, 1.2e4, 1e3))


@pytest.mark.parametrize("orbit", [ELLIPSE, HYPERBOLA], ids=["ellipse", "hyperbola"])
@pytest.mark.parametrize("time", [1.0, 700.0, 5000.0, -900.0])
def test_the_closed_form_is_the_integral_of_gravity(orbit, time):
    round_planet = space.Planet(orbit.planet.mu, orbit.planet.radius)
    found = solve_ivp(
        lambda t, x: [*x[3:], *round_planet.gravity(x[:3])], (0.0, time), [*orbit.position, *orbit.velocity],
        method="DOP853", rtol=1e-13, atol=1e-6,
    ).y[:, -1]  # fmt: skip
    r, v = orbit.at(time)
    np.testing.assert_allclose(r, found[:3], rtol=0, atol=1e-4)
    np.testing.assert_allclose(v, found[3:], rtol=0, atol=1e-7)


def test_energy_and_angular_momentum_stay_and_a_period_closes():
    mu = ELLIPSE.planet.mu
    start = np.linalg.norm(ELLIPSE.velocity) ** 2 / 2 - mu / np.linalg.norm(ELLIPSE.position)
    for time in np.linspace(0, 3 * ELLIPSE.period, 7):
        r, v = ELLIPSE.at(time)
        np.testing.assert_allclose(v @ v / 2 - mu / np.linalg.norm(r), start, rtol=1e-13)
        np.testing.assert_allclose(np.cross(r, v), np.cross(ELLIPSE.position, ELLIPSE.velocity), rtol=1e-12)
    np.testing.assert_allclose(ELLIPSE.at(ELLIPSE.period)[0], ELLIPSE.position, atol=1e-5)


def test_gravity_of_an_oblate_planet_is_the_gradient_of_its_potential():
    """U = μ/r (1 − J₂ (R/r)² (3 sin²φ − 1)/2)."""
    earth, place = space.EARTH, np.array([5.1e6, -3.2e6, 4.4e6])

    def potential(x):
        r = np.linalg.norm(x)
        return earth.mu / r * (1 - earth.j2 * (earth.radius / r) ** 2 * (3 * (x[2] / r) ** 2 - 1) / 2)

    h = 10.0
    slope = [(potential(place + h * e) - potential(place - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(earth.gravity(place), slope, rtol=1e-8)


def test_clohessy_wiltshire_solves_hills_equations():
    n = 1.1e-3
    flow = np.zeros((6, 6))
    flow[:3, 3:], flow[3, 0], flow[5, 2] = np.eye(3), 3 * n**2, -(n**2)
    flow[3, 4], flow[4, 3] = 2 * n, -2 * n
    from scipy.linalg import expm

    for time in (0.0, 10.0, 3000.0):
        np.testing.assert_allclose(space.clohessy_wiltshire(n, time), expm(flow * time), rtol=1e-9, atol=1e-9)


def test_orbits_that_are_none_are_refused():
    with pytest.raises(ps.PhistarError, match="it would be a fall"):
        space.Orbit((7e6, 0, 0), (-100.0, 0, 0))
    with pytest.raises(ps.PhistarError, match="three finite numbers"):
        space.Orbit((7e6, 0), (0.0, 1.0, 0))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ps.PhistarError, match="greater than 0"):
        space.Planet(-1.0, 1.0)
