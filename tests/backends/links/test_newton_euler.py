"""Accelerations and inertial forces by the acceleration of points are the sums of the papers' terms."""

from functools import partial

import numpy as np

import phistar as ps
from phistar.backends.links.formulas import carry_acceleration, inertial_force, point_acceleration
from phistar.backends.links.values import bias_acceleration, bias_force, links_at, outward
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import Tape, finish
from tests.trees import KINDS, mechanism

RNG = np.random.default_rng(7)


def motions(*shape):
    return RNG.normal(size=(*shape, 6, 1))


def test_inertial_forces_are_the_mass_times_acceleration_and_the_bias():
    """Mα + b, for batches of motions that broadcast."""
    turn = ps.Pose(rpy=RNG.normal(size=3)).rotation
    mass = ps.Inertia(1.3, RNG.normal(size=3), turn @ np.diag([1.0, 1.2, 0.9]) @ turn.T).matrix
    velocity, alpha = motions(4, 1), motions(3)
    expected = mass @ alpha + bias_force(mass, velocity)
    assert np.allclose(inertial_force(mass, velocity, alpha), expected, rtol=0, atol=1e-12)


def test_a_carried_point_has_the_parents_acceleration_and_the_bias():
    """φ*α + a(k) on every kind of joint."""
    for kind in KINDS:
        m = mechanism(60, kind=kind, bodies=2, serial=True)
        links, velocity = links_at(m.model, m.q), [motions(), motions()]
        v = RNG.normal(size=(m.model.joints[1].nv, 1))
        velocity[1] = outward(links.rotation[1], links.offset[1], velocity[0]) + links.subspace[1] @ v
        alpha = motions()
        expected = outward(links.rotation[1], links.offset[1], alpha) + bias_acceleration(links, 1, velocity[1], v)
        found = carry_acceleration(links.path(1), velocity[0], alpha)
        found = found + bias_acceleration(links, 1, velocity[1], v, reaching=False)
        assert np.allclose(found, expected, rtol=0, atol=1e-12), kind


def test_a_body_that_turns_steadily_needs_no_angular_acceleration():
    """In a trace, where ω̇ is zero by structure: Mα + b and R*(a + ω × (ω × p)) are the same numbers, in fewer products
    than with ω̇."""
    turn = ps.Pose(rpy=RNG.normal(size=3)).rotation
    mass = ps.Inertia(1.3, RNG.normal(size=3), turn @ np.diag([1.0, 1.2, 0.9]) @ turn.T).matrix
    velocity, alpha, offset = motions(), motions(), RNG.normal(size=3)
    alpha[:3] = 0.0
    tape = Tape()
    omega, linear = (np.concatenate([tape.inputs((3, 1)), np.full((3, 1), 0.0)]) for _ in range(2))
    steady = np.concatenate([linear[3:], linear[:3]])
    given = [*velocity[:3, 0], *alpha[3:, 0]]
    for function in (partial(inertial_force, mass), partial(carry_acceleration, ((turn, offset),))):
        entries = function(omega, steady).reshape(-1)
        found = np.array(replay(finish(tape, list(entries)), given), dtype=float)
        assert np.allclose(found, function(velocity, alpha)[:, 0], rtol=0, atol=1e-12)
    assert finish(tape, list(inertial_force(mass, omega, steady).reshape(-1))).counts()["mul"] <= 14 + 12 + 9 + 3


def test_points_accelerate_as_differences_say():
    """a + Ux is the second derivative of a point of a body that turns and moves."""
    velocity, alpha, x, h = motions(), motions(), RNG.normal(size=3), 1e-4
    place = [_place(velocity, alpha, x, t) for t in (-h, 0.0, h)]
    second = (place[0] - 2 * place[1] + place[2]) / h**2
    assert np.allclose(alpha[3:, 0] + point_acceleration(velocity, alpha) @ x, second, atol=1e-6)


def _place(velocity, alpha, x, t):
    """R(t)x + p(t) with ω(0), ω̇(0), v(0) and the acceleration of the origin as given; R by its series to t²."""
    turn = t * velocity[:3, 0] + t * t / 2 * alpha[:3, 0]
    rotation = ps.Pose(rotation=_exponential(turn)).rotation
    return rotation @ x + t * velocity[3:, 0] + t * t / 2 * alpha[3:, 0]


def _exponential(w):
    angle = np.linalg.norm(w)
    s = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return np.eye(3) if angle == 0 else np.eye(3) + np.sin(angle) / angle * s + (1 - np.cos(angle)) / angle**2 * s @ s
