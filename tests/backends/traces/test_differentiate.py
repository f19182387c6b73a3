"""Derivatives of traces: forward and backward give the exact derivatives; zeros cost nothing."""

import numpy as np
import pytest

from phistar.backends.traces.differentiate import adjoints, matrix, tangent_map, tangents, values_of
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import Scalar, Tape, finish
from tests.trees import KINDS, mechanism

POINT = np.array([0.7, -0.4, 1.3])


def recorded():
    """Every operation that has a derivative, a constant output and an output that is an input."""
    tape = Tape()
    x, y, z = tape.inputs((3,))
    return finish(tape, [x * y - z / y, (x * 2.0).sin() * z.cos(), (z * z + 1.0).sqrt(), -x + y.sign() * z, 3.0, y])


def exact(x, y, z):
    root = np.sqrt(z * z + 1)
    return np.array(
        [
            [y, x + z / y**2, -1 / y],
            [2 * np.cos(2 * x) * np.cos(z), 0, -np.sin(2 * x) * np.sin(z)],
            [0, 0, z / root],
            [-1, 0, np.sign(y)],
            [0, 0, 0],
            [0, 1, 0],
        ]
    )


def forward(trace, point):
    seeds = {i: {i: 1.0} for i in range(3)}
    return matrix(tangents(trace, values_of(trace, point), seeds), 3)


def backward(trace, point):
    weights = [{i: 1.0} for i in range(len(trace.outputs))]
    found = adjoints(trace, values_of(trace, point), weights)
    return matrix([found.get(i, {}) for i in range(3)], len(trace.outputs)).T


@pytest.mark.parametrize("mode", [forward, backward])
def test_the_jacobian_of_a_trace_is_exact(mode):
    found = mode(recorded(), POINT).astype(float)
    assert np.allclose(found, exact(*POINT), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("mode", [forward, backward])
def test_the_jacobian_is_itself_recorded(mode):
    tape, trace = Tape(), recorded()
    entries = mode(trace, list(tape.inputs((3,)))).reshape(-1)
    again = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in entries])
    values = np.array(replay(again, POINT), dtype=float).reshape(-1, 3)
    assert np.allclose(values, exact(*POINT), rtol=1e-14, atol=1e-15)


def test_directions_and_weights_that_are_zero_record_nothing():
    tape, trace = Tape(), recorded()
    values = values_of(trace, list(tape.inputs((3,))))
    before = len(tape.code)
    assert tangents(trace, values, {}) == [{}] * 6
    assert adjoints(trace, values, [{}] * 6) == {0: {}, 1: {}, 2: {}}
    assert len(tape.code) == before


def test_one_direction_is_the_jacobian_times_it():
    direction = np.array([0.3, -2.0, 0.5])
    trace = recorded()
    found = tangents(trace, values_of(trace, POINT), {i: {0: x} for i, x in enumerate(direction)})
    assert np.allclose(matrix(found, 1)[:, 0].astype(float), exact(*POINT) @ direction, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tangent_map_is_the_rate_of_integrate(kind):
    m = mechanism(5, kind=kind, bodies=2)
    model, q = m.model, m.q
    found = matrix(tangent_map(model, q), model.nv).astype(float)
    for j, unit in enumerate(np.eye(model.nv)):
        h = 1e-3
        near = model.integrate(q, h * unit) - model.integrate(q, -h * unit)
        far = model.integrate(q, 2 * h * unit) - model.integrate(q, -2 * h * unit)
        assert np.allclose(found[:, j], (8 * near - far) / (12 * h), rtol=0, atol=1e-11)
