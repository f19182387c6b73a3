"""Fields act on bodies that bend node by node: kinematics, power, weight, thrust; derivatives of steps with them."""

import numpy as np
import pytest

import phistar as ps
from phistar.plant.body_motions import BodyMotions, Parts
from phistar.plant.fields import generalized_forces
from tests.plant.test_bending_bodies import boom, plant_of, satellite
from tests.plant.test_step_derivatives import agrees

space = ps.space


class Given:
    """The wrenches it was made with."""

    def __init__(self, wrenches):
        self.given = wrenches

    def wrenches(self, bodies):
        return self.given


def moving(model, seed=0):
    rng = np.random.default_rng(seed)
    q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
    return BodyMotions(model, 0.0, q, rng.normal(size=model.nv))


def tip_of(model, name):
    """The part at a body's tip."""
    number = model.body_indices[name]
    return np.flatnonzero(Parts.of(model).carriers == number)[1 + dict(model.bodies[number].flexible.ends)["tip"]]


def test_parts_stand_and_move_as_frames_at_nodes_do():
    bodies = moving(satellite())
    model, part = bodies.model, tip_of(bodies.model, "right")
    pose = ps.forward_kinematics(model, bodies.q, "right.tip")
    np.testing.assert_allclose(bodies.poses[part], pose, atol=1e-13)
    seen = ps.frame_velocity(model, bodies.q, bodies.v, "right.tip").reshape(2, 3)
    np.testing.assert_allclose(bodies.twists[part].reshape(2, 3), seen @ pose[:3, :3], atol=1e-13)


def test_the_power_of_wrenches_on_parts_is_that_of_the_forces_on_joints_and_modes():
    """⟨τ, θ̇⟩ = Σ⟨f_j, V_j⟩."""
    bodies = moving(satellite())
    wrenches = np.random.default_rng(1).normal(size=bodies.twists.shape)
    force = generalized_forces([Given(wrenches)], bodies)
    assert force @ bodies.v == pytest.approx((wrenches * bodies.twists).sum(), rel=1e-12)


def cantilever():
    """A bar of finite elements with a consistent mass matrix, on a hinge."""
    n, h = 6, 0.2
    nodes = np.stack([h * np.arange(n), np.zeros(n), np.zeros(n)], axis=-1)
    one = 0.3 * h / 6.0 * np.array([[2.0, 1.0], [1.0, 2.0]])
    mass, shapes = np.zeros((n, n)), np.zeros((n, 3, 2))
    for k in range(n - 1):
        mass[k : k + 2, k : k + 2] += one
    shapes[:, 1, 0], shapes[:, 2, 1] = nodes[:, 0] ** 2, nodes[:, 0] ** 2
    body = ps.FlexibleInertia(nodes, shapes, None, [8.0, 9.0], masses=mass, ends={"tip": n - 1})
    b = ps.ModelBuilder("bar", gravity=(0.5, -2.0, -9.81))
    b.body("bar", joint=ps.Revolute(axis=(0, 1, 0)), inertia=body)
    return b.build()


def test_weight_node_by_node_is_gravity():
    heavy = satellite().replace(gravity=(0.5, -2.0, -9.81))
    for model in (heavy, cantilever()):
        bodies = moving(model)
        _, _, masses, centers, _ = bodies.parts
        force = masses[:, None] * (np.swapaxes(bodies.poses[:, :3, :3], 1, 2) @ np.array(model.gravity))
        weight = Given(np.hstack([np.cross(centers, force), force]))
        expected = -ps.gravity_load(model, bodies.q)
        np.testing.assert_allclose(generalized_forces([weight], bodies), expected, atol=1e-11)


def test_thrust_and_sunlight_at_a_tip_act_there():
    model = satellite()
    bodies = moving(model)
    jet = space.Thrusters(model, [space.Thruster("right", (2.0, 0.1, 0.0), (0, 1, 0), 3.0)])
    jet.fire(0.0, [1.0])
    J = ps.jacobian(model, bodies.q, "right.tip")
    pose = ps.forward_kinematics(model, bodies.q, "right.tip")
    push = pose[:3, :3] @ [0, 3.0, 0]
    wrench = np.concatenate([np.cross(pose[:3, :3] @ [0, 0.1, 0], push), push])
    np.testing.assert_allclose(generalized_forces([jet], bodies), J.T @ wrench, atol=1e-12)
    facet = space.Facet("right", 0.5, (0, 0, 1), (2.0, 0.0, 0.0))
    sun = pose[:3, 2]
    light = space.SolarPressure(model, [facet], tuple(sun), pressure=1.0)
    dark = np.concatenate([np.zeros(3), -0.5 * sun])
    np.testing.assert_allclose(generalized_forces([light], bodies), J.T @ dark, atol=1e-12)


def test_gravity_along_an_orbit_pulls_stiff_panels_as_rigid_ones():
    found = []
    for panel in (boom(length=20.0, EI=1e12, axial_inertia=0.5), boom(length=20.0, axial_inertia=0.5).rigid):
        b = ps.ModelBuilder("craft", gravity=(0, 0, 0))
        b.body("bus", joint=ps.Free(), inertia=ps.Inertia(50.0, (0, 0, 0), np.diag([5.0, 6.0, 7.0])))
        b.body("panel", "bus", ps.Revolute(axis=(1, 0, 0)), ps.Pose((0, 0.3, 0), rpy=(0, 0, 0.4)), panel)
        model = b.build()
        q = model.neutral()
        q[:3], q[7] = (100.0, -50.0, 20.0), 0.3
        gravity = space.OrbitalGravity(space.Orbit.circular(altitude=400e3))
        found.append(generalized_forces([gravity], BodyMotions(model, 0.0, q, np.zeros(model.nv)))[:7])
    size = 20.0 / 6.7e6  # of the panel beside the orbit: a rigid body feels gravity and its gradient alone
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=size * np.abs(found[1]).max())


class Air:
    """Drag in proportion to speed and its square, and a pull that depends on the place."""

    def wrenches(self, bodies):
        pull = np.concatenate([np.zeros((len(bodies.poses), 3)), np.sin(bodies.poses[:, :3, 3])], axis=1)
        return 0.1 * pull - 0.02 * bodies.twists * (1.0 + np.abs(bodies.twists))


def test_steps_with_fields_on_bodies_that_bend_are_differentiated():
    plant, rng = plant_of(satellite()), np.random.default_rng(2)
    plant.add_field(Air())
    q = plant.model.integrate(plant.model.neutral(), 0.2 * rng.normal(size=plant.model.nv))
    agrees(plant, plant.state(q, 0.5 * rng.normal(size=plant.model.nv)), eps=1e-5)


def test_a_field_that_forgets_nodes_is_told_the_rows():
    plant = plant_of(satellite())
    plant.add_field(Given(np.zeros((3, 6))))
    with pytest.raises(ps.PhistarError, match="then of each node of bodies that bend"):
        plant.step(plant.state())
