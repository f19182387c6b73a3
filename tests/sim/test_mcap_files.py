"""Motions as MCAP logs: what is written is read again; logs that lie are refused."""

import io

import numpy as np
import pytest

import phistar as ps
from phistar.sim.ros_messages import JOINT_STATE, KINDS, Transform, decode, encode

pytest.importorskip("mcap")


def dropped():
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), name="floor")
    plant.add(ps.load("planar2"), "arm", at=ps.Pose(xyz=(0, 0, 2)))
    plant.actuate("arm", "force")
    plant.add_body("ball", ps.Sphere(0.1), inertia=1.0, at=ps.Pose(xyz=(1, 0, 0.101)), twist=[1, 2, 3, 0, 0.1, 0])
    plant.sense("joint_position", "arm", "encoder")
    return ps.simulate(plant, 0.1, control=lambda t, q, v: [0.1, -0.2])


def test_a_motion_with_joints_free_bodies_contacts_and_signals_is_read_as_it_was(tmp_path):
    run = dropped()
    log = ps.read_mcap(ps.write_mcap(run, tmp_path / "run.mcap"))
    again = log.trajectory(run.model)
    for name in ("t", "q", "v", "tau"):
        np.testing.assert_allclose(getattr(again, name), getattr(run, name), atol=1e-9)
    np.testing.assert_array_equal(log.signals["/signal/sensed/encoder"].values, run.signals["sensed/encoder"])
    (topic,) = log.wrenches
    assert "ball" in topic and "floor" in topic
    np.testing.assert_allclose(np.abs(log.wrenches[topic].values[:, 5]), run.contacts.normal[:, 0], atol=1e-9)


def test_another_reader_sees_standard_ros_messages(tmp_path):
    from mcap.reader import make_reader

    content = ps.write_mcap(dropped(), tmp_path / "run.mcap").read_bytes()
    summary = make_reader(io.BytesIO(content)).get_summary()
    assert summary is not None
    kinds = {channel.topic: summary.schemas[channel.schema_id].name for channel in summary.channels.values()}
    assert kinds["/joint_states"] == "sensor_msgs/msg/JointState" and kinds["/tf"] == "tf2_msgs/msg/TFMessage"
    assert {channel.message_encoding for channel in summary.channels.values()} == {"cdr"}


def test_every_message_is_decoded_as_it_was_encoded():
    stamp = 12.345678901
    given = {
        "sensor_msgs/msg/JointState": [stamp, "base", ["a", "bc"], [1.0, 2.0], [], [3.0, 4.0]],
        "tf2_msgs/msg/TFMessage": [[Transform(stamp, "world", "b", [1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0])] * 2],
        "geometry_msgs/msg/WrenchStamped": [stamp, "tool", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "std_msgs/msg/Float64MultiArray": [None, [1.0, 2.0, 3.0]],
    }
    for name, values in given.items():
        found = decode(KINDS[name], encode(KINDS[name], values))
        for one, other in zip(found, values, strict=True):
            if other is not None:
                assert np.all(np.asarray(one, dtype=object) == np.asarray(other, dtype=object)) or np.allclose(
                    one, other
                )


def test_spoiled_logs_are_refused_with_a_sentence(tmp_path):
    content = bytearray(ps.write_mcap(dropped(), tmp_path / "run.mcap").read_bytes())
    random = np.random.default_rng(0)
    path = tmp_path / "spoiled.mcap"
    refused = 0
    for _ in range(200):
        spoiled = bytearray(content)
        for at in random.integers(len(spoiled), size=5):
            spoiled[at] = random.integers(256)
        path.write_bytes(spoiled if random.random() < 0.7 else spoiled[: random.integers(len(spoiled))])
        try:
            ps.read_mcap(path)
        except ps.FileError as error:
            refused += 1
            assert "cannot be read" in str(error)
    assert refused > 20
    with pytest.raises(ps.FileError, match="room for"):
        decode(JOINT_STATE, encode(JOINT_STATE, [0.0, "", [], [], [], []])[:-4] + b"\xff\xff\xff\x0f")


def test_a_log_without_the_models_joints_says_which(tmp_path):
    log = ps.read_mcap(ps.write_mcap(dropped(), tmp_path / "run.mcap"))
    with pytest.raises(ps.FileError, match="no joint 'joint1'"):
        log.trajectory(ps.load("puma560"))
    with pytest.raises(ps.FileError, match="no joint states on"):
        log.trajectory(ps.load("planar2"), topic="/other")
