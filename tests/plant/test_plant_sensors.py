"""Sensors of a plant: true readings follow mechanics, noise comes from the seed, controllers get what has arrived."""

import numpy as np
import pytest

import phistar as ps
from tests.plants import plant_of

MASS, ARM = 2.0, 0.5


def pendulum(gravity=(0, 0, -9.81)):
    """A hinge about y at the origin, a mass at ARM along x of its body, and a tool beyond."""
    builder = ps.ModelBuilder("hinge", gravity=gravity)
    builder.body(
        "link",
        parent="world",
        joint=ps.Revolute(axis=(0, 1, 0)),
        inertia=ps.Inertia(MASS, (ARM, 0, 0), np.eye(3) * 0.01),
    )
    builder.frame("tip", body="link", placement=ps.Pose(xyz=(1.0, 0, 0)))
    plant = ps.Plant(gravity=gravity)
    plant.add(builder.build(), "arm")
    return plant


def test_joint_and_frame_readings_are_the_state():
    plant = pendulum()
    for kind, of in (("joint_position", "arm"), ("joint_velocity", "arm/link"), ("frame_twist", "arm/tip")):
        plant.sense(kind, of, name=kind)
    plant.sense("frame_pose", "arm/tip", name="pose")
    run = ps.simulate(plant, 0.1, step=0.01)
    np.testing.assert_array_equal(run.signals["sensed/joint_position"], run.q)
    np.testing.assert_array_equal(run.signals["sensed/joint_velocity"], run.v)
    twist = ps.frame_velocity(plant.model, run.q, run.v, "arm/tip")
    np.testing.assert_allclose(run.signals["sensed/frame_twist"], twist, atol=1e-14)
    pose = ps.forward_kinematics(plant.model, run.q, "arm/tip")
    np.testing.assert_allclose(run.signals["sensed/pose"][:, :3], pose[:, :3, 3], atol=1e-14)


def test_an_imu_at_rest_feels_the_ground_and_one_in_free_fall_feels_nothing():
    plant = plant_of([ps.Box([0.2, 0.2, 0.2])], [(0, 0, 0.1002)])
    plant.sense("imu", "b0/body", name="imu")
    run = ps.simulate(plant, 0.5)
    np.testing.assert_allclose(run.signals["sensed/imu"][-1], [0, 0, 0, 0, 0, 9.81], atol=1e-4)
    falling = plant_of([ps.Box([0.2, 0.2, 0.2])], [(0, 0, 100.0)], floor=False)
    falling.sense("imu", "b0/body", name="imu")
    np.testing.assert_allclose(ps.simulate(falling, 0.1).signals["sensed/imu"][1:], 0.0, atol=1e-9)


def test_a_swinging_pendulum_pulls_at_its_joint_as_newton_and_euler_say():
    plant = pendulum()
    plant.sense("force_torque", "arm/link", name="wrist")
    h = 1e-5
    run = ps.simulate(plant, 0.02, step=h)
    q, v = run.q[-1, 0], run.v[-1, 0]
    alpha = (run.v[-1, 0] - run.v[-2, 0]) / h
    along, across = -MASS * ARM * v**2 + MASS * 9.81 * np.sin(q), MASS * ARM * alpha
    turn = ps.forward_kinematics(plant.model, run.q[-1], "arm/link")[:3, :3]
    weight = turn.T @ np.array([0, 0, -9.81 * MASS])
    expected = np.array([-MASS * ARM * v**2 - weight[0], 0.0, -across - weight[2]])
    np.testing.assert_allclose(run.signals["sensed/wrist"][-1, 3:], expected, atol=2e-2 * abs(along))
    np.testing.assert_allclose(run.signals["sensed/wrist"][-1, 1], 0.0, atol=1e-3)  # a free hinge gives no moment


def test_contacts_of_a_body_bear_its_weight():
    plant = plant_of([ps.Box([0.2, 0.2, 0.2])], [(0, 0, 0.1002)])
    plant.sense("contact_force", "b0", name="feet")
    run = ps.simulate(plant, 0.5)
    np.testing.assert_allclose(run.signals["sensed/feet"][-1], [0, 0, 0, 0, 0, 9.81], atol=1e-6)


def test_noise_is_drawn_from_the_seed_and_readings_come_seldom_and_late():
    plant = pendulum()
    plant.sense("joint_position", "arm", name="noisy", noise=0.1)
    plant.sense("joint_position", "arm", name="seldom", rate=50.0)
    plant.sense("joint_position", "arm", name="late", delay=0.03)
    first, again, other = (ps.simulate(plant, 0.2, step=0.01, seed=seed) for seed in (1, 1, 2))
    noisy = [run.signals["sensed/noisy"] for run in (first, again, other)]
    np.testing.assert_array_equal(noisy[0], noisy[1])
    assert np.all(noisy[0] != noisy[2])
    assert 0.03 < np.std(noisy[0] - first.q) < 0.3
    np.testing.assert_array_equal(first.signals["sensed/seldom"], first.q[np.arange(21) // 2 * 2])
    np.testing.assert_array_equal(first.signals["sensed/late"], first.q[np.maximum(np.arange(21) - 3, 0)])


def test_controllers_get_readings_and_may_be_objects_that_remember():
    plant = pendulum(gravity=(0, 0, 0))
    plant.actuate("arm", "force")
    plant.sense("joint_position", "arm", name="encoder", delay=0.02)

    class Integral:
        period = 0.02

        def reset(self):
            self.total, self.seen = 0.0, []

        def step(self, t, sensed):
            self.seen.append((t, float(sensed["encoder"][0])))
            self.total += 1.0
            return [self.total]

    law = Integral()
    run = ps.simulate(plant, 0.1, control=law, step=0.01)
    np.testing.assert_allclose([t for t, _ in law.seen], 0.02 * np.arange(6), atol=1e-12)
    np.testing.assert_allclose(run.tau[:-1, 0], np.repeat(np.arange(1.0, 6.0), 2))  # from each sample on
    np.testing.assert_array_equal([x for _, x in law.seen], run.signals["sensed/encoder"][::2, 0])
    ps.simulate(plant, 0.1, control=law, step=0.01)
    assert len(law.seen) == 6  # it was reset
    given = []
    ps.simulate(plant, 0.02, control=lambda t, q, v, sensed: given.append(sensed["encoder"]) or [0.0], step=0.01)
    assert len(given) == 3


def test_forces_on_joints_that_nothing_drives_are_refused():
    plant = ps.Plant()
    plant.add(ps.load("planar2"), "arm")
    own = [joint.name for joint in plant["arm"].model.joints]
    plant.actuate("arm", "force", joints=own[:1])
    assert plant.step(plant.state(), [1.0, 0.0]).v.shape == (2,)  # joint forces, none on the passive joint
    with pytest.raises(ps.PhistarError, match=f"arm/{own[1]}.*no actuator.*force of 2"):
        plant.step(plant.state(), [1.0, 2.0])
    with pytest.raises(ps.PhistarError, match=f"arm/{own[1]}.*no actuator"):
        plant.step(plant.state(), {f"arm/{own[1]}": 2.0})
    with pytest.raises(ps.PhistarError, match=r"At t = 0 s.*no actuator"):
        ps.simulate(plant, 0.1, control=lambda t, q, v: [0.0, 1.0])
    with pytest.raises(ps.PhistarError, match="no finite number"):
        plant.step(plant.state(), [np.nan])
    plant.sense("imu", f"arm/{own[1]}", name="often", rate=700.0)  # the controller gets the latest
    assert ps.simulate(plant, 0.1).signals["sensed/often"].shape == (51, 6)
    with pytest.raises(ps.PhistarError, match="whole number of the controller's samples"):
        plant.sense("imu", f"arm/{own[1]}", name="odd", rate=300.0)
        ps.simulate(plant, 0.1, control=lambda t, q, v: [0.0])


@pytest.mark.parametrize(
    "given, match",
    [
        ({"kind": "smell", "of": "arm"}, "kind"),
        ({"kind": "imu", "of": "nowhere"}, "nowhere"),
        ({"kind": "joint_position", "of": "leg"}, "leg"),
        ({"kind": "joint_position", "of": "arm", "noise": -1.0}, "noise"),
        ({"kind": "joint_position", "of": "arm", "rate": 0.0}, "rate"),
        ({"kind": "joint_position", "of": "arm", "delay": -1.0}, "delay"),
        ({"kind": "joint_position", "of": "arm", "name": "a/b"}, "without /"),
    ],
)
def test_sensors_of_nothing_are_refused_in_a_sentence(given, match):
    with pytest.raises(ps.PhistarError, match=match):
        pendulum().sense(**given)
