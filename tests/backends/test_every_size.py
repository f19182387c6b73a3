"""Every statement compiles for every robot, short or long, and is its definition's value: no size is an edge."""

import numpy as np
import pytest

import phistar as ps
from tests.trees import relative

TOLERANCE = 1e-9
FRAMES = 7


def robot(bodies, rotors=False):
    """A chain that branches near its end, with a frame on every fifth link."""
    builder, rng = ps.ModelBuilder(f"robot{bodies}{'r' * rotors}"), np.random.default_rng(bodies)
    motor = {"gear_ratio": 5.0, "rotor_inertia": 0.01, "gyroscopic": True} if rotors else {}
    for k in range(bodies):
        parent = "world" if not k else f"b{k - 1 if k < bodies - 3 else bodies - 4}"
        place = ps.Pose(xyz=0.2 * rng.normal(size=3), rpy=rng.normal(size=3))
        inertia = ps.Inertia(1.0 + rng.random(), 0.1 * rng.normal(size=3), np.diag([0.2, 0.3, 0.25]))
        builder.body(f"b{k}", parent, ps.Revolute(axis=rng.normal(size=3), **motor), place, inertia)
    for f in range(FRAMES):
        builder.frame(f"f{f}", f"b{bodies - 1 - 5 * f}", ps.Pose(xyz=(0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6)))
    return builder.build()


def named(count):
    return [f"f{f}" for f in range(count)]


def closing(model):
    return ps.algebra(model, named(2), Q=np.hstack([np.eye(6)[:5], -np.eye(6)[:5]]))


MATRICES = {
    "phi": lambda m: ps.algebra(m).phi,
    "phi*": lambda m: ps.algebra(m).phi.T,
    "psi": lambda m: ps.algebra(m).psi,
    "P": lambda m: ps.algebra(m).P,
    "D": lambda m: ps.algebra(m).D,
    "G": lambda m: ps.algebra(m).G,
    "H phi": lambda m: ps.algebra(m).H @ ps.algebra(m).phi,
    "phi* H*": lambda m: ps.algebra(m).phi.T @ ps.algebra(m).H.T,
    "mass": lambda m: ps.algebra(m).mass,
    "2 mass": lambda m: 2 * ps.algebra(m).mass,
    "mass⁻¹": lambda m: ps.algebra(m).mass.inv,
    "2 mass⁻¹": lambda m: 2 * ps.algebra(m).mass.inv,
    "J of 7": lambda m: ps.algebra(m, named(7)).J,
    "mobility of 1": lambda m: mobility(ps.algebra(m, named(1))),
    "mobility of 7": lambda m: mobility(ps.algebra(m, named(7))),
    "Lambda of 4": lambda m: mobility(ps.algebra(m, named(7)[::2])).inv,  # six joints or more between them
    "Q J mass⁻¹ J* Q*": lambda m: closing(m).Q @ mobility(closing(m)) @ closing(m).Q.T,
    "composite": lambda m: ps.algebra(m).E @ ps.algebra(m).r,
}
VECTORS = {
    "mobility of 1 times x": lambda m: mobility(ps.algebra(m, named(1))),
    "mobility of 7 times x": lambda m: mobility(ps.algebra(m, named(7))),
    "phi times x": lambda m: ps.algebra(m).phi,
    "mass⁻¹ times x": lambda m: ps.algebra(m).mass.inv,
    "Q J times x": lambda m: closing(m).Q @ closing(m).J,
}


def mobility(a):
    return a.J @ a.mass.inv @ a.J.T


def cases(statements):
    for name in statements:
        for bodies in (40, 41, 100):
            yield pytest.param(name, bodies, marks=[pytest.mark.slow] if bodies != 41 else [])


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "bodies"), list(cases(MATRICES)))
def test_every_operator_compiles_as_a_matrix(name, bodies):
    model = robot(bodies)
    expression = MATRICES[name](model)
    found = ps.compile(expression, model, matrix=True)
    q = model.random(np.random.default_rng(1), shape=(2,))
    assert relative(found(q)[1], expression.dense(q[1])) < TOLERANCE


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "bodies"), list(cases(VECTORS)))
def test_every_operator_compiles_as_its_action_on_a_vector(name, bodies):
    model = robot(bodies)
    expression = VECTORS[name](model)
    found = ps.compile(expression, model)
    rng = np.random.default_rng(1)
    q = model.random(rng, shape=(2,))
    matrix = expression.dense(q[1])
    x = rng.normal(size=(2, matrix.shape[1]))
    assert relative(found(q, x)[1], matrix @ x[1]) < TOLERANCE


@pytest.mark.parametrize("bodies", [41, pytest.param(100, marks=pytest.mark.slow)])
def test_derivatives_know_geared_rotors_at_every_size(bodies):
    model, rng = robot(bodies, rotors=True), np.random.default_rng(2)
    q, v, tau, d = model.random(rng), *rng.normal(size=(3, model.nv))
    found, step = ps.forward_dynamics_derivatives(model, q, v, tau), 1e-4
    at = [ps.forward_dynamics(model, q + e * d, v + e * d, tau) for e in (-step, step)]
    assert relative((found.dq + found.dv) @ d, (at[1] - at[0]) / (2 * step)) < 1e-5


@pytest.mark.parametrize("bodies", [6, 41])
def test_the_statements_of_derivatives_compile(bodies):
    model, rng = ps.chain(bodies), np.random.default_rng(2)
    q, v, a = model.random(rng), *rng.normal(size=(2, model.nv))
    compiled = ps.compile(ps.inverse_dynamics_derivatives.statement, model, matrix=True)
    assert relative(compiled(q, v, a), ps.inverse_dynamics_derivatives(model, q, v, a).dq) < TOLERANCE


@pytest.mark.parametrize("bodies", [41, pytest.param(100, marks=pytest.mark.slow)])
def test_a_law_around_forward_dynamics_compiles_at_every_size(bodies):
    model, rng = ps.chain(bodies), np.random.default_rng(2)
    law = ps.compile(lambda q, v: ps.forward_dynamics(model, q, v, -2.0 * v), model)
    q, v = model.random(rng), rng.normal(size=model.nv)
    assert relative(law(q, v), ps.forward_dynamics(model, q, v, -2.0 * v)) < TOLERANCE
