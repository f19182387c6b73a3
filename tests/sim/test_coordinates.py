"""Rates, steps and passive forces of joints, against the model's own, on floats and on traced numbers."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.traces.arrays import sign
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import Tape, finish
from phistar.sim.coordinates import Coordinates
from phistar.sim.passive import Passive
from tests.trees import KINDS, mechanism


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", [*KINDS, None])
@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e-8, 1e-4, 1.0, 3.0])
def test_a_step_is_the_models_own_at_every_angle(kind, scale):
    model, rng = mechanism(5, kind=kind).model, np.random.default_rng(0)
    q, dv = model.random(rng, (20,)), scale * rng.normal(size=(20, model.nv))
    coordinates = Coordinates(model)
    moved = coordinates.unit(coordinates.add(q, dv))
    assert np.abs(moved - model.integrate(q, dv)).max() < 1e-14


@pytest.mark.parametrize("kind", [*KINDS, None])
def test_the_rate_is_the_derivative_of_a_step(kind):
    model, rng = mechanism(5, kind=kind).model, np.random.default_rng(0)
    q, v, h = model.random(rng, (20,)), rng.normal(size=(20, model.nv)), 1e-4
    ahead, back = model.integrate(q, h * v), model.integrate(q, -h * v)
    assert np.abs(Coordinates(model).rate(q, v) - (ahead - back) / (2 * h)).max() < 1e-7


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_traced_steps_are_the_same_numbers(kind):
    model, rng = mechanism(5, kind=kind).model, np.random.default_rng(0)
    coordinates, tape = Coordinates(model), Tape()
    q, dv = tape.inputs((model.nq,)), tape.inputs((model.nv,))
    made = [*coordinates.add(q, dv), *coordinates.rate(q, dv), *coordinates.unit(q)]
    a, b = model.random(rng), rng.normal(size=model.nv)
    expected = np.concatenate([coordinates.add(a, b), coordinates.rate(a, b), coordinates.unit(a)])
    assert np.abs(np.array(replay(finish(tape, made), [*a, *b])) - expected).max() < 1e-14


def worn():
    builder = ps.ModelBuilder("worn")
    rod = ps.Inertia(1.0, (0.5, 0, 0), np.diag([0.1, 0.2, 0.2]))
    first = ps.Revolute(damping=0.3, stiffness=2.0, rest=0.3, friction=(0.4, 0.2))
    second = ps.Planar(damping=[1.0, 2.0, 3.0], stiffness=[0.0, 1.0, 2.0], friction=([1, 2, 3], [0, 1, 5]))
    third = ps.Free(damping=0.1, friction=0.2, stiffness=4.0, rest=[1, 2, 3, 0, 0, 0, 1])
    builder.body("a", parent="world", joint=first, inertia=rod)
    builder.body("b", parent="a", joint=second, inertia=rod)
    builder.body("c", parent="b", joint=third, inertia=rod)
    return builder.build()


def test_passive_forces_are_those_of_joint_friction():
    model, rng = worn(), np.random.default_rng(0)
    q, v = model.random(rng, (50,)), rng.normal(size=(50, model.nv))
    v[rng.random(v.shape) < 0.3] = 0.0
    passive = Passive(model)
    assert np.abs(passive.smooth(q, v) + passive.coulomb(sign(v)) - ps.joint_friction(model, q, v)).max() < 1e-14


def test_the_elastic_force_is_the_gradient_of_the_elastic_energy():
    model, rng, h = worn(), np.random.default_rng(0), 1e-5
    q, passive = 0.3 * rng.normal(size=model.nq), Passive(model)
    q = Coordinates(model).unit(q)
    force = passive.smooth(q, np.zeros(model.nv))
    for i, dv in enumerate(h * np.eye(model.nv)[:4]):  # a twist of the free joint moves all six of its deflections
        change = passive.elastic_energy(model.integrate(q, dv)) - passive.elastic_energy(model.integrate(q, -dv))
        assert abs(force[i] + change / (2 * h)) < 1e-8
