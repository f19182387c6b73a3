"""What roboticists look for by name: Coriolis matrix, centroidal map, Jacobian of the centre of mass, accelerations."""

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from tests.trees import mechanism, relative

SEEDS = range(6)
STEP = 1e-6


def state(seed):
    """A tree with joints of every kind; q, v and a."""
    made = mechanism(seed)
    rng = np.random.default_rng(seed)
    return made.model, made.q, *rng.normal(size=(2, made.model.nv))


def along(model, q, v, function):
    """d/dt of a function of q, by differences."""
    return (function(model.integrate(q, STEP * v)) - function(model.integrate(q, -STEP * v))) / (2 * STEP)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_coriolis_matrix_gives_the_coriolis_forces_and_a_skew_matrix(seed):
    """C θ̇ = 𝒞, and dℳ/dt − 2C is skew on joints whose rates are those of their coordinates."""
    model, q, v, _ = state(seed)
    C = ps.coriolis_matrix(model, q, v)
    assert relative(C @ v, ps.bias(model, q, v) - ps.gravity_load(model, q)) < 1e-10
    flat = ps.chain(5)
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=(2, 5))
    rate = along(flat, q, v, lambda x: ps.mass_matrix(flat, x)) - 2 * ps.coriolis_matrix(flat, q, v)
    assert np.abs(rate + rate.T).max() < 1e-7 * np.abs(rate).max()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_centroidal_map_gives_momentum_about_the_centre_of_mass(seed):
    model, q, v, _ = state(seed)
    about_origin, center = ps.momentum(model, q, v), ps.center_of_mass(model, q)
    moved = np.concatenate([about_origin[:3] - np.cross(center, about_origin[3:]), about_origin[3:]])
    assert relative(ps.centroidal_map(model, q) @ v, moved) < 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_the_jacobian_of_the_centre_of_mass_gives_its_velocity(seed):
    model, q, v, _ = state(seed)
    rate = along(model, q, v, lambda x: ps.center_of_mass(model, x))
    assert relative(ps.center_of_mass_jacobian(model, q) @ v, rate) < 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_the_acceleration_of_a_frame_is_the_rate_of_its_velocity(seed):
    model, q, v, a = state(seed)
    frame = list(model.frames)[-1]
    ahead, behind = (
        ps.frame_velocity(model, model.integrate(q, s * STEP * v), v + s * STEP * a, frame) for s in (1, -1)
    )
    found = ps.frame_acceleration(model, q, v, a, frame)
    assert relative(found, (ahead - behind) / (2 * STEP)) < 1e-6
    assert relative(found, ps.jacobian(model, q, frame) @ a + ps.jacobian_dot_v(model, q, v, frame)) < 1e-12


def test_they_take_batches_and_are_statements():
    arm = ps.chain(4)
    q, v = np.random.default_rng(0).normal(size=(2, 3, 4))
    assert ps.coriolis_matrix(arm, q, v).shape == (3, 4, 4)
    assert relative(ps.coriolis_matrix(arm, q, v)[1], ps.coriolis_matrix(arm, q[1], v[1])) < 1e-14
    assert ps.centroidal_map(arm, q).shape == (3, 6, 4) and ps.center_of_mass_jacobian(arm, q).shape == (3, 3, 4)
    assert ps.frame_acceleration.statement.show() == "J θ̈ + J̇θ̇"
    assert ps.centroidal_map.statement.show() == "EφMφ*H*"


def test_a_controller_with_a_coriolis_matrix_compiles():
    arm = ps.chain(3)
    law = ps.compile(lambda q, v: ps.coriolis_matrix(arm, q, v) @ v, arm)
    q, v = np.random.default_rng(1).normal(size=(2, 3))
    assert relative(law(q, v), ps.bias(arm, q, v) - ps.gravity_load(arm, q)) < 1e-10


def test_pinocchio_agrees():
    pin = pytest.importorskip("pinocchio")
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    path = next(Path(str(file.locate())).resolve() for file in files if file.name == "ur5_robot.urdf")
    arm, theirs = ps.load(path), pin.buildModelFromUrdf(str(path))
    q, v = np.random.default_rng(3).uniform(-1, 1, size=(2, arm.nv))
    mapped = pin.computeCentroidalMap(theirs, theirs.createData(), q)
    assert relative(ps.centroidal_map(arm, q), np.concatenate([mapped[3:], mapped[:3]])) < 1e-10
    assert (
        relative(ps.center_of_mass_jacobian(arm, q), pin.jacobianCenterOfMass(theirs, theirs.createData(), q)) < 1e-10
    )
    coriolis = pin.computeCoriolisMatrix(theirs, theirs.createData(), q, v)
    assert relative(ps.coriolis_matrix(arm, q, v) @ v, coriolis @ v) < 1e-10
