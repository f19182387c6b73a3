"""Trees in a plant: damping, limits, friction and servo gains are implicit; momentum of what floats is kept."""

import numpy as np
import pytest

import phistar as ps
from tests.plants import run


def hinge(arm=0.0, moment=1e-3, **joint):
    builder = ps.ModelBuilder("hinge")
    inertia = ps.Inertia(1.0, (arm, 0, 0), np.eye(3) * moment)
    builder.body("link", parent="world", joint=ps.Revolute(axis=(0, 1, 0), **joint), inertia=inertia)
    plant = ps.Plant()
    plant.add(builder.build(), "hinge")
    return plant


def test_damping_far_beyond_what_explicit_steps_bear_is_backward_eulers():
    plant = hinge(damping=5.0)
    first = plant.step(plant.state(v=[10.0]), h=0.002)
    np.testing.assert_allclose(first.v, 10.0 / (1.0 + 0.002 * 5.0 / 1e-3), rtol=1e-12)


def test_a_spring_far_beyond_what_explicit_steps_bear_comes_to_rest():
    plant = hinge(stiffness=1e5, damping=1.0)
    assert np.abs(run(plant, 500, state=plant.state(q=[0.1]))[-1].q).max() < 1e-6


def test_a_joint_never_passes_its_limits():
    plant = hinge(arm=0.3, limits=(-0.5, 0.5))
    states = run(plant, 800, state=plant.state(v=[12.0]))
    angles = np.array([state.q[0] for state in states])
    assert angles.max() < 0.5 and angles.min() > -0.5 and angles[-1] > 0.498 and abs(states[-1].v[0]) < 1e-9


def test_dry_friction_holds_up_to_its_bound_without_creep():
    for bound, holds in ((3.0, True), (2.9, False)):  # the weight turns with 0.3·9.81 = 2.943 N m
        plant = hinge(arm=0.3, friction=bound)
        states = run(plant, 500)
        assert (abs(states[-1].q[0] - states[100].q[0]) < 1e-9) == holds


def test_servo_gains_may_be_as_large_as_one_likes_and_forces_stay_within_limits():
    plant = hinge(arm=0.3)
    plant.actuate("hinge", "position", stiffness=1e6, damping=2e5, limits=4.0)
    states = run(plant, 2500, command=[0.7])
    weight = 0.3 * 9.81 * np.cos(0.7)
    np.testing.assert_allclose(states[-1].q[0] - 0.7, weight / 1e6, rtol=1e-2)
    turning = (states[1].v[0] - 0.0) / 0.002 * (1e-3 + 0.09)
    np.testing.assert_allclose(turning, 4.0 + 0.3 * 9.81, rtol=1e-9)


def test_a_velocity_servo_holds_a_rate_and_a_motor_gives_its_force():
    plant = hinge()
    plant.actuate("hinge", "velocity", damping=10.0)
    np.testing.assert_allclose(run(plant, 400, command=[3.0])[-1].v, 3.0, rtol=1e-6)
    plant = hinge()
    plant.actuate("hinge", "force", limits=0.5)
    np.testing.assert_allclose(run(plant, 1, command=[9.0])[-1].v, 0.5 / 1e-3 * 0.002)


def test_a_free_flyer_that_moves_its_arms_keeps_its_momentum():
    model = ps.load("freeflyer")
    plant = ps.Plant(gravity=(0, 0, 0))
    plant.add(model, "craft", collides=False)
    v = np.random.default_rng(0).normal(size=plant.model.nv) * 0.3
    states = run(plant, 100, state=plant.state(v=v))
    before, after = (ps.momentum(plant.model, state.q, state.v) for state in (states[0], states[-1]))
    np.testing.assert_allclose(after, before, atol=1e-12 * np.abs(before).max() * 10)
    assert np.abs(states[-1].v - v).max() > 1e-3


def test_the_view_of_a_robot_has_its_own_model_and_entries():
    plant = ps.Plant()
    plant.add(ps.load("planar2"), "left")
    plant.add(ps.load("planar3"), "right", at=ps.Pose(xyz=(3, 0, 0)))
    state = plant.state(q=np.arange(5.0))
    assert plant["right"].q(state).tolist() == [2.0, 3.0, 4.0] and plant["left"].model.nv == 2
    with pytest.raises(ps.PhistarError, match="middle"):
        plant["middle"]


def test_plants_of_all_sizes_share_one_compiled_step():
    """Its code knows the row lengths of tables and nothing else of a plant; to compile it takes seconds."""

    def row_lengths(model):
        plant = ps.Plant()
        plant.add(model, "robot")
        plant.add_shape(ps.Sphere(0.1), f"robot/{model.bodies[-1].name}")
        tables = plant.session.engine.tables
        return {name: table.shape[1] for name, table in tables.items() if table.ndim == 2}

    same = row_lengths(ps.chain(1))
    for model in (ps.chain(3), ps.load("puma560"), ps.load("puma560", floating=True)):
        assert row_lengths(model) == same


def test_a_joint_that_follows_another_gets_no_motor_unless_it_is_named():
    b = ps.ModelBuilder("gripper")
    for name in ("left", "right"):
        b.body(name, "world", ps.Prismatic(axis=(1, 0, 0), effort=5.0), inertia=ps.Inertia(1.0))
    b.loop("mimic", "right", "left", joint=ps.Coupling((0.0, 1.0)))
    for named, driven in ((None, ["hand/left"]), (["right"], ["hand/right"])):
        plant = ps.Plant()
        plant.add(b.build(), "hand")
        plant.actuate("hand", "force", named)
        assert [actuator.joint for actuator in plant.actuators] == driven


@pytest.mark.parametrize("limits", [[], [1.0, 2.0, 3.0], [[1.0, 2.0]]])
def test_limits_of_another_count_than_the_driven_rates_are_refused(limits):
    plant = ps.Plant()
    plant.add("planar2", "arm")
    with pytest.raises(ps.ModelError, match="one for each of the 2 rates"):
        plant.actuate("arm", "force", limits=limits)
    assert plant.nu == 0
