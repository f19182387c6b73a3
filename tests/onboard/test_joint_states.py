"""JointStates as ROS 2 has them on the wire, and a loop over UDP on loopback that moves as the same loop in Python."""

import socket
import threading

import numpy as np
import pytest

import phistar as ps
from phistar.errors import FileError, ShapeError
from phistar.onboard import JointState, JointStateLink, drive

HOST = "127.0.0.1"


def by_hand():
    """{stamp: 1 s 2 ns, frame_id: "b", name: ["j1"], position: [1.0], velocity: [], effort: [2.0]}, field by field, by
    the rules of CDR (OMG DDS-RTPS): strings with their NUL, doubles on multiples of 8."""
    body = bytes.fromhex("0100000002000000")  # stamp, at 0
    body += bytes.fromhex("0200000062000000")  # "b" and its NUL, padded to 16
    body += bytes.fromhex("01000000030000006a310000")  # one name of 3 bytes, padded to 28
    body += bytes.fromhex("01000000000000000000f03f")  # one position: its double at 32, already a multiple of 8
    body += bytes.fromhex("00000000")  # no velocity, at 40
    body += bytes.fromhex("01000000") + bytes.fromhex("0000000000000040")  # one effort, at 44; its double at 48
    return bytes.fromhex("00010000") + body


def test_a_message_has_the_bytes_of_cdr():
    made = JointState(1.000000002, ("j1",), [1.0], [], [2.0], "b")
    assert made.encode() == by_hand()
    back = JointState.decode(by_hand())
    assert (back.name, back.frame) == (("j1",), "b") and back.stamp == pytest.approx(1.000000002, abs=1e-12)
    assert (back.position.tolist(), back.velocity.tolist(), back.effort.tolist()) == ([1.0], [], [2.0])


def test_messages_of_any_names_come_back_bit_by_bit():
    rng = np.random.default_rng(0)
    for count in range(8):
        names = tuple("a" * int(k) + f"µ{i}" for i, k in enumerate(rng.integers(0, 9, count)))
        sent = JointState(float(count), names, rng.normal(size=count), rng.normal(size=count), (), "base" * count)
        back = JointState.decode(sent.encode())
        assert back.name == names and back.frame == sent.frame
        assert np.array_equal(back.position, sent.position) and np.array_equal(back.velocity, sent.velocity)


def test_damaged_messages_are_refused_whatever_is_cut():
    data = JointState(1.0, ("one", "two"), [1.0, 2.0], [3.0, 4.0]).encode()
    for length in range(len(data)):
        with pytest.raises(FileError, match="JointState"):
            JointState.decode(data[:length])
    with pytest.raises(FileError, match="2 names, but 1 entries of position"):
        JointState.decode(JointState(1.0, ("one", "two"), [1.0]).encode())
    huge = bytearray(data)
    huge[16:20] = b"\xff\xff\xff\xff"
    with pytest.raises(FileError, match="JointState"):
        JointState.decode(bytes(huge))


def law(t, q, v):
    return 30.0 * (np.array([0.4, -0.2]) - q) - 6.0 * v


def moved(model, q, v, tau, h):
    v = v + h * ps.forward_dynamics(model, q, v, tau)
    return q + h * v, v


def robot(model, own, stopped, samples):
    """Sends its state, and moves on by the efforts that come; strangers' datagrams in between."""
    q, v, stamp = np.zeros(2), np.zeros(2), 0
    own.settimeout(20.0)
    while True:
        own.sendto(b"noise", robot.to)
        own.sendto(JointState(stamp, ("second", "first"), q[::-1], v[::-1]).encode(), robot.to)
        message = JointState.decode(own.recv(65_507))
        if message.frame:
            stopped.append((message.frame, message.effort.tolist()))
            return
        samples.append((q, message.effort))
        (q, v), stamp = moved(model, q, v, message.effort, 0.05), stamp + 1


def test_a_loop_over_udp_moves_as_the_same_loop_in_python():
    model = ps.load("planar2")
    moved(model, np.zeros(2), np.zeros(2), np.zeros(2), 0.05)  # compiled before the robot has to answer
    own, stopped, samples = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), [], []
    own.bind((HOST, 0))
    with own, JointStateLink(("first", "second"), (HOST, 0), own.getsockname()) as link:
        robot.to = link.address
        thread = threading.Thread(target=robot, args=(model, own, stopped, samples))
        thread.start()
        run = drive(ps.control.SampledFunction(law, period=0.05), link, 1.0, patience=20)
        thread.join(20.0)
        refused = link.refused
    assert not run.aborted and run.samples == len(samples) > 5
    assert stopped == [("stop: the time is up", [0.0, 0.0])] and refused > 5
    q, v = np.zeros(2), np.zeros(2)
    for there, tau in samples:
        assert np.array_equal(there, q) and np.array_equal(tau, law(0.0, q, v))
        q, v = moved(model, q, v, tau, 0.05)


def test_a_robot_that_never_answers_is_a_reason_to_stop():
    with JointStateLink(("first",), (HOST, 0), (HOST, 9)) as link:
        run = drive(ps.control.SampledFunction(lambda t, q, v: -v, period=0.01), link, 5.0)
    assert run.aborted and run.samples == 0 and "silent for 3 samples" in run.reason


def test_messages_that_come_late_or_lack_a_joint_are_dropped():
    with JointStateLink(("a",), (HOST, 0), (HOST, 9)) as link, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        for message in (JointState(2.0, ("a",), [1.0], [0.0]), JointState(1.0, ("a",), [9.0], [0.0])):
            own.sendto(message.encode(), link.address)
        own.sendto(JointState(3.0, ("b",), [9.0], [0.0]).encode(), link.address)
        newest = link.read(5.0)
        assert newest is not None and newest["q"].tolist() == [1.0]
        assert link.read(0.05) is None and link.refused == 1


def test_addresses_that_are_taken_and_joints_that_are_not_told_apart_are_refused():
    with JointStateLink(("a",), (HOST, 0), (HOST, 9)) as link, pytest.raises(FileError, match="cannot be had"):
        JointStateLink(("a",), link.address, (HOST, 9))
    with pytest.raises(ShapeError, match="different names"):
        JointStateLink(("a", "a"), (HOST, 0), (HOST, 9))
