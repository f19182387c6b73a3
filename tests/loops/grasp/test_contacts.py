"""Contacts as cut joints: their rows are what they say, and bodies on them move as mechanics knows."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import phistar as ps
from phistar.loops.cut import cut_rows
from phistar.loops.grasp.contacts import (
    PointContact,
    RollingDisc,
    RollingSphere,
    SlidingLine,
    SlidingPoint,
    SoftFinger,
)
from phistar.sim.coordinates import Coordinates
from phistar.spatial import exp, to_quaternion

HOLONOMIC = [  # and how many of its rows bind positions
    (SoftFinger((1, 2, 3)), 3),
    (PointContact(0.5, (1, 0, 1)), 3),
    (SlidingPoint((1, 2, 2)), 1),
    (SlidingLine((0, 1, 1), (1, 1, 0)), 2),
    (RollingSphere(0.3, (1, 2, 2)), 1),
    (RollingDisc(0.4, (1, 0, 1), (0, 1, 2)), 1),
]


@pytest.mark.parametrize(("kind", "count"), HOLONOMIC, ids=lambda x: type(x).__name__)
def test_rows_are_the_rates_of_values_and_drifts_those_of_rates(kind, count):
    """Along a smooth motion: ġ = G(ω, ṗ) where the row has a value, and d(G(ω, ṗ))/dt = G(ω̇, p̈) + second."""
    rng, h = np.random.default_rng(0), 1e-6
    turn = exp(rng.normal(size=3))
    p, speed, gain = rng.normal(size=(3, 3))
    omega, change = rng.normal(size=(2, 3))

    def at(t):
        """Pose and rates; ω is constant but for its rate, seen from frame_a."""
        w = omega + t * change
        r = exp(t * omega + 0.5 * t * t * change) @ turn  # exact to O(t³) in R, and so to O(t²) in what follows
        return cut_rows(kind, r, p + t * speed + 0.5 * t * t * gain, w, speed + t * gain), w, speed + t * gain

    def rate(t):
        rows, w, u = at(t)
        return rows.by_turn @ w + rows.by_shift @ u

    now, _, _ = at(0.0)
    values = (at(h)[0].value - at(-h)[0].value) / (2 * h)
    holonomic = np.abs(values) > 0.0
    assert holonomic.sum() == count
    np.testing.assert_allclose(values[holonomic], rate(0.0)[holonomic], rtol=1e-7, atol=1e-8)
    bent = (rate(h) - rate(-h)) / (2 * h)
    np.testing.assert_allclose(bent, now.by_turn @ change + now.by_shift @ gain + now.second, rtol=1e-6, atol=1e-6)
    assert len(now.value) == kind.rows


def test_a_sphere_rolls_down_a_slope_at_five_sevenths_of_gravity():
    tilt, radius, mass = 0.3, 0.2, 1.7
    b = ps.ModelBuilder("ball", gravity=(9.81 * np.sin(tilt), 0, -9.81 * np.cos(tilt)))
    b.body("ball", joint=ps.Free(), inertia=ps.Inertia(mass, tensor=np.eye(3) * 0.4 * mass * radius**2))
    b.loop("floor", "world", "ball", RollingSphere(radius))
    model = b.build()
    q = model.neutral()
    q[2] = radius
    a = ps.forward_dynamics(model, q, np.zeros(6), np.zeros(6))
    speed = 5.0 / 7.0 * 9.81 * np.sin(tilt)
    np.testing.assert_allclose(a, [0, speed / radius, 0, speed, 0, 0], atol=1e-12)
    np.testing.assert_allclose(
        ps.constraint_forces(model, q, np.zeros(6), np.zeros(6))["floor"][3:],
        [2.0 / 7.0 * mass * 9.81 * np.sin(tilt), 0, -mass * 9.81 * np.cos(tilt)],
        atol=1e-11,
    )


RADIUS, DISC_MASS, GRAVITY = 0.25, 1.3, 9.81
ACROSS, ALONG = 0.25 * DISC_MASS * RADIUS**2, 0.5 * DISC_MASS * RADIUS**2  # moments of a thin disc


@cache
def disc():
    b = ps.ModelBuilder("disc", gravity=(0, 0, -GRAVITY))
    b.body("disc", joint=ps.Free(), inertia=ps.Inertia(DISC_MASS, tensor=np.diag([ACROSS, ACROSS, ALONG])))
    b.loop("floor", "world", "disc", RollingDisc(RADIUS))
    return b.build()


def leaning(lean, spin, turning, tilting=0.0):
    """The disc's axis leans by `lean` from the vertical; it spins about its axis and turns about the vertical."""
    r = exp([0.0, lean, 0.0])  # the axis d = R z leans towards x; the lowest point is on that side
    q = np.concatenate([[0, 0, RADIUS * np.sin(lean)], to_quaternion(r)])
    omega = spin * r[:, 2] + turning * np.array([0, 0, 1.0]) + tilting * np.array([0, 1.0, 0])
    reach = RADIUS * np.array([np.cos(lean), 0, -np.sin(lean)])
    velocity = -np.cross(omega, reach)
    return q, np.concatenate([r.T @ omega, r.T @ velocity])


def test_a_disc_in_steady_circular_rolling_keeps_its_lean():
    """For a lean θ and turning rate Ω, the spin ω_d that balances gravity follows from moments about the contact."""
    lean, turning = 1.1, 2.0
    r = exp([0.0, lean, 0.0])

    def toppling(spin):
        _, v = leaning(lean, spin, turning)
        omega, rate = r @ v[:3], turning * np.cross([0, 0, 1.0], r @ v[:3])  # a steady motion turns with Ω
        centre = turning * np.cross([0, 0, 1.0], r @ v[3:])
        reach = RADIUS * np.array([np.cos(lean), 0, -np.sin(lean)])
        tensor = r @ np.diag([ACROSS, ACROSS, ALONG]) @ r.T
        force = DISC_MASS * (centre + np.array([0, 0, GRAVITY]))
        return (tensor @ rate + np.cross(omega, tensor @ omega) - np.cross(reach, force))[1]

    zero, slope = toppling(0.0), toppling(1.0) - toppling(0.0)
    spin = -zero / slope
    assert abs(toppling(spin)) < 1e-12
    q, v = leaning(lean, spin, turning)
    a = ps.forward_dynamics(disc(), q, v, np.zeros(6))
    rate = turning * np.cross([0, 0, 1.0], r @ v[:3])
    np.testing.assert_allclose(r @ a[:3], rate, atol=1e-10)


def test_a_disc_rolls_without_losing_energy_or_slipping():
    model = disc()
    coordinates = Coordinates(model)
    q, v = leaning(1.2, 6.0, 1.0, tilting=0.3)

    def flow(t, x):
        q, v = coordinates.split(x)
        q = coordinates.unit(q)
        return np.concatenate([coordinates.rate(q, v), ps.forward_dynamics(model, q, v, np.zeros(6))])

    run = solve_ivp(flow, (0, 1.0), np.concatenate([q, v]), method="DOP853", rtol=1e-10, atol=1e-12)
    q, v = coordinates.split(run.y.T)
    energy = ps.kinetic_energy(model, q, v) + ps.potential_energy(model, q)
    assert np.ptp(energy) < 1e-8 * energy[0]
    gap, slip = ps.loop_residual(model, coordinates.unit(q), v)
    assert np.abs(gap).max() < 1e-8
    assert np.abs(slip).max() < 1e-8
    assert np.linalg.norm(q[-1, :2] - q[0, :2]) > 0.5  # it went somewhere


def test_a_rolling_disc_is_kept_rolling_by_the_simulator():
    model = disc()
    q, v = leaning(1.3, 5.0, 0.5)
    run = ps.simulate(model, q, v, 1.0)
    assert np.abs(run.loop_residual).max() < 1e-10
    assert np.abs(run.loop_rate).max() < 1e-10
    assert np.ptp(run.energy) < 1e-7 * run.energy[0]


def test_a_soft_finger_resists_turning_and_a_point_does_not():
    b = ps.ModelBuilder("spun", gravity=(0, 0, 0))
    b.body("top", joint=ps.Free(), inertia=ps.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3)))
    turned = {}
    for kind in (SoftFinger(), ps.Spherical()):
        one = ps.ModelBuilder("spun", gravity=(0, 0, 0))
        one.attach(b.build())
        one.loop("tip", "world", "top", kind)
        model = one.build()
        turned[type(kind)] = ps.forward_dynamics(model, model.neutral(), np.zeros(6), [0, 0, 5.0, 0, 0, 0])
    assert abs(turned[SoftFinger][2]) < 1e-12
    assert turned[ps.Spherical][2] > 1.0


def test_impossible_contacts_are_refused_with_sentences():
    with pytest.raises(ps.ModelError, match="radius > 0"):
        RollingSphere(0.0)
    with pytest.raises(ps.ModelError, match="axis"):
        SoftFinger((0, 0, 0))
    with pytest.raises(ps.ModelError, match="RollingDisc"):
        RollingDisc(0.1, axis=(0, 0, 0))
