"""A free body on its manifold: errors there and back, tumbling that keeps momentum and energy, errors as they grow."""

import numpy as np
import pytest

from phistar.estimation.body_kernels import errors_between, flow
from phistar.estimation.free_body import ERRORS, FreeBody, rotation_vector, tensor
from phistar.estimation.sigma_points import slopes, small_displacements
from phistar.spatial import times
from phistar.spatial.rotations import exp


@pytest.fixture
def bodies():
    rng = np.random.default_rng(0)
    six = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0]) + 0.1 * rng.normal(size=(5, 6))
    turn, misturn = exp(rng.normal(size=(5, 3))), exp(0.1 * rng.normal(size=(5, 3)))
    place, velocity, spin = rng.normal(size=(3, 5, 3))
    return FreeBody(turn, place, velocity, spin, six, 0.1 * rng.normal(size=(5, 3)), misturn, 0.1 * place)


def after(body, seconds, steps, fall=0.0):
    for _ in range(steps):
        body = body.later(seconds / steps, fall)
    return body


def test_errors_lead_there_and_back(bodies):
    e = 0.3 * np.random.default_rng(1).normal(size=(5, ERRORS))
    np.testing.assert_allclose(bodies.away(bodies.moved(e)), e, atol=1e-14)


def test_bodies_are_rows(bodies):
    for one, other in zip(FreeBody.of(bodies.row), bodies, strict=True):
        np.testing.assert_array_equal(one, other)


def test_tumbling_keeps_momentum_and_energy_and_errs_by_the_fourth_power_of_a_step(bodies):
    end = after(bodies, 1.0, 400)

    def kept(x):
        momentum = times(tensor(x.inertia), x.spin)
        drift = x.velocity + times(x.turn, np.cross(x.spin, x.com))
        energy = np.sum(momentum * x.spin, axis=-1, keepdims=True)
        return np.concatenate([times(x.turn, momentum), energy, drift], axis=-1)

    np.testing.assert_allclose(kept(end), kept(bodies), atol=1e-10)
    errors = [np.abs(end.away(after(bodies, 1.0, steps))).max() for steps in (10, 20)]
    assert errors[1] < errors[0] / 12 and errors[1] < 1e-7


def test_the_mass_centre_falls(bodies):
    fall = np.array([0.0, 0.0, -9.81])
    free, falling = after(bodies, 0.5, 20), after(bodies, 0.5, 20, fall)
    np.testing.assert_allclose(falling.place - free.place, np.broadcast_to(0.125 * fall, (5, 3)), atol=1e-12)
    np.testing.assert_allclose(falling.velocity - free.velocity, np.broadcast_to(0.5 * fall, (5, 3)), atol=1e-12)


def test_errors_grow_as_the_transition_says(bodies):
    h = 1e-5
    ends = bodies.moved(small_displacements((5, ERRORS))).later(h)
    found = slopes(bodies.later(h).away(ends))
    np.testing.assert_allclose((bodies.transition(h) - found) / h, 0.0, atol=1e-4)


def test_a_rotation_vector_is_that_of_the_turn():
    w = np.random.default_rng(3).normal(size=(50, 3))
    w *= np.minimum(1.0, 3.0 / np.linalg.norm(w, axis=-1, keepdims=True))
    np.testing.assert_allclose(rotation_vector(exp(w)), w, atol=1e-12)


def test_machine_code_flows_and_compares_bodies_as_the_formulas_do():
    rng, fall = np.random.default_rng(8), np.array([0.1, -0.2, -1.0])
    turn, misturn = exp(rng.normal(size=(2, 5, 3)))
    six = np.array([1.3, 0.1, 1.0, 0.05, -0.1, 0.7]) + 0.05 * rng.normal(size=(5, 6))
    place, velocity, spin, com, shift = rng.normal(size=(5, 5, 3))
    body = FreeBody(turn, place, velocity, spin, six, com, misturn, shift)
    later = body.later(0.05, fall).later(0.05, fall)
    np.testing.assert_allclose(flow(body, 0.1, 2, fall).row, later.row, rtol=0, atol=1e-13)
    np.testing.assert_allclose(errors_between(body, later), body.away(later), rtol=0, atol=1e-13)
