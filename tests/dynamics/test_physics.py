"""What every mechanism does, whatever its joints: energy, momentum, frames, and joints that are each other's equal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phistar as ps
from tests.trees import mechanism, relative

MODELS = {
    "tree": mechanism(90, serial=False, armature=True, bodies=4, floating=False).model,
    "chain": mechanism(92, serial=True, armature=False, bodies=3, floating=False).model,
    "geared": mechanism(93, serial=False, armature=True, rotors=True, bodies=4, floating=False, kind="revolute").model,
    "floating": mechanism(91, serial=False, armature=False, bodies=4, floating=True, kind="revolute").model,
}
WEIGHTLESS = {
    "plain": MODELS["floating"].replace(gravity=(0, 0, 0)),
    "geared": mechanism(94, armature=True, rotors=True, bodies=4, floating=True, kind="revolute").model.replace(
        gravity=(0, 0, 0), joints={"body0": ps.Free()}
    ),
}
EVERY = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
states = st.integers(0, 2**32 - 1)
STEP = 1e-4


def drawn(model, seed):
    rng = np.random.default_rng(seed)
    return model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)


def rate(model, quantity, q, v, a):
    """d/dt of a quantity of the state, along the motion with accelerations a."""
    ends = [
        quantity(model, model.integrate(q, t * v + t**2 / 2 * a), v + t * a) for t in (-2 * STEP, -STEP, STEP, 2 * STEP)
    ]
    return np.tensordot([1, -8, 8, -1], ends, 1) / (12 * STEP)


def energy(model, q, v):
    return ps.kinetic_energy(model, q, v) + ps.potential_energy(model, q)


@pytest.mark.sampled(2)
@EVERY
@settings(max_examples=30)
@given(seed=states)
def test_the_rate_of_energy_is_the_power_of_the_joint_forces(model, seed):
    q, v, tau = drawn(model, seed)
    a = ps.forward_dynamics(model, q, v, tau)
    scale = max(1.0, abs(float(energy(model, q, v))), float(np.abs(a) @ np.abs(v)))
    assert abs(float(rate(model, energy, q, v, a)) - tau @ v) < 1e-7 * scale


@pytest.mark.parametrize("model", WEIGHTLESS.values(), ids=WEIGHTLESS)
@settings(max_examples=30)
@given(seed=states)
def test_a_free_mechanism_keeps_its_momentum(model, seed):
    q, v, tau = drawn(model, seed)
    tau[:6] = 0.0  # joints push bodies apart, nothing pushes from outside
    a = ps.forward_dynamics(model, q, v, tau)
    assert np.abs(rate(model, ps.momentum, q, v, a)).max() < 1e-7 * max(1.0, np.abs(a).max() * model.total_mass)


@settings(max_examples=30)
@given(seed=states)
def test_gravity_changes_the_momentum_of_a_free_mechanism_by_its_weight(seed):
    model = MODELS["floating"]
    q, v, tau = drawn(model, seed)
    tau[:6] = 0.0
    a = ps.forward_dynamics(model, q, v, tau)
    weight = model.total_mass * model.gravity
    expected = np.concatenate([np.cross(ps.center_of_mass(model, q), weight), weight])
    found = rate(model, ps.momentum, q, v, a)
    assert np.abs(found - expected).max() < 1e-7 * max(1.0, np.abs(a).max() * model.total_mass)


@pytest.mark.sampled(2)
@EVERY
@settings(max_examples=30)
@given(seed=states)
def test_velocity_forces_are_quadratic_and_blind_to_the_direction_of_time(model, seed):
    q, v, _ = drawn(model, seed)
    at_rest = ps.gravity_load(model, q)
    coriolis = ps.bias(model, q, v) - at_rest
    scale = max(1.0, np.abs(coriolis).max())
    assert np.abs(ps.bias(model, q, -v) - at_rest - coriolis).max() < 1e-10 * scale
    assert np.abs(ps.bias(model, q, 3 * v) - at_rest - 9 * coriolis).max() < 1e-9 * scale


@EVERY
@settings(max_examples=15)
@given(seed=states)
def test_turning_and_moving_the_world_changes_no_joint_force(model, seed):
    """Gravity and the base's placement go with the world; run link by link, since each turned model is another one."""
    rng = np.random.default_rng(seed)
    world = ps.Pose(xyz=rng.normal(size=3), rpy=rng.uniform(-3, 3, 3))
    roots = {body.name: world @ body.placement for body in model.bodies if body.parent < 0}
    turned = model.replace(placements=roots, gravity=world.rotation @ model.gravity)
    q, v, a = drawn(model, seed)
    here, there = (statement(m).apply(q, v=v, qdd=a) for m in (model, turned))
    assert relative(here, there) < 1e-11


def statement(model):
    a = ps.algebra(model)
    return a.mass @ a.qdd + a.C + a.g


@EVERY
@settings(max_examples=20)
@given(seed=states)
def test_the_mass_matrix_is_positive_and_kinetic_energy_is_its_form(model, seed):
    q, v, _ = drawn(model, seed)
    mass = ps.mass_matrix(model, q)
    assert np.linalg.eigvalsh(mass).min() > 0
    assert np.isclose(ps.kinetic_energy(model, q, v), v @ mass @ v / 2, rtol=1e-11)


# Joints that are made of others, with massless bodies between

INERTIA = ps.Inertia(1.3, (0.1, -0.2, 0.3), np.diag([1.0, 1.2, 1.4]))
X, Y, Z = np.eye(3)
EQUAL = {
    "universal": ([ps.Universal()], [ps.Revolute(axis=X), ps.Revolute(axis=Y)]),
    "planar": ([ps.Planar()], [ps.Prismatic(axis=X), ps.Prismatic(axis=Y), ps.Revolute(axis=Z)]),
    "helical": ([ps.Helical(axis=Y, pitch=0.0)], [ps.Revolute(axis=Y)]),
    "half helical": ([ps.Helical(axis=Z, pitch=0.3)], [ps.Helical(axis=-Z, pitch=0.3)]),
}


def two_links(joints) -> ps.Model:
    """A revolute base link, then the joints, then a link with mass and another."""
    builder = ps.ModelBuilder("pair")
    builder.body("base", joint=ps.Revolute(axis=(1, 1, 0)), inertia=INERTIA)
    parent, place = "base", ps.Pose(xyz=(0.3, 0.1, -0.2), rpy=(0.4, -0.3, 0.8))
    for number, joint in enumerate(joints):
        inertia = INERTIA if number == len(joints) - 1 else ps.Inertia.zero()
        builder.body(f"part{number}", parent=parent, joint=joint, placement=place, inertia=inertia)
        parent, place = f"part{number}", ps.Pose()
    tool = ps.Revolute(axis=(0, 1, 1))
    builder.body("tool", parent=parent, joint=tool, placement=ps.Pose(xyz=(0, 0.4, 0)), inertia=INERTIA)
    return builder.build()


@pytest.mark.parametrize("name", EQUAL)
def test_a_joint_is_the_joints_it_is_made_of(name):
    one, several = (two_links(joints) for joints in EQUAL[name])
    sign = np.ones(one.nv)
    if name == "half helical":
        sign[1] = -1.0  # the other way about the opposite axis
    rng = np.random.default_rng(0)
    q, v, x = rng.normal(size=(3, one.nv))
    for statement_of in (lambda a: a.mass @ a.qdd + a.C + a.g, lambda a: a.mass.inv @ (a.T - a.C - a.g)):
        here = statement_of(ps.algebra(one)).apply(q, v=v, qdd=x, T=x)
        there = statement_of(ps.algebra(several)).apply(sign * q, v=sign * v, qdd=sign * x, T=sign * x)
        assert relative(here, sign * there) < 1e-11


def test_the_weight_of_a_free_body_is_held_in_body_axes():
    builder = ps.ModelBuilder("stone")
    builder.body("stone", joint=ps.Free(), inertia=INERTIA)
    model = builder.build()
    q = model.random(np.random.default_rng(3))
    turn = ps.forward_kinematics(model, q, "stone")[:3, :3]
    weight = turn.T @ (INERTIA.mass * model.gravity)
    expected = -np.concatenate([np.cross(INERTIA.com, weight), weight])
    assert np.allclose(ps.gravity_load(model, q), expected, atol=1e-12)
