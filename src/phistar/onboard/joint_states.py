"""ROS 2's sensor_msgs/JointState as bytes (CDR, little-endian), and joint states over UDP as a robot's connection."""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.errors import FileError, ShapeError
from phistar.onboard.datagrams import Datagrams

LITTLE_ENDIAN = b"\x00\x01\x00\x00"  # the encapsulation header of CDR; alignment counts from after it


class JointState(NamedTuple):
    """A message sensor_msgs/JointState; position, velocity and effort have an entry per name, or none.

    Attributes
    ----------
    stamp : float
        s.
    name : tuple of str
    position, velocity, effort : arrays
    frame : str

    Examples
    --------
    >>> sent = ps.onboard.JointState(1.5, ("shoulder",), position=[0.3])
    >>> ps.onboard.JointState.decode(sent.encode()).name
    ('shoulder',)
    """

    stamp: float
    name: tuple[str, ...]
    position: Any = ()
    velocity: Any = ()
    effort: Any = ()
    frame: str = ""

    def encode(self) -> bytes:
        """The message as a datagram has it."""
        nanoseconds = round(self.stamp * 1e9)
        body = bytearray(struct.pack("<iI", nanoseconds // 10**9, nanoseconds % 10**9))
        _put_text(body, self.frame)
        _pad(body, 4)
        body += struct.pack("<I", len(self.name))
        for text in self.name:
            _put_text(body, text)
        for field in (self.position, self.velocity, self.effort):
            numbers = np.asarray(field, dtype="<f8").ravel()
            _pad(body, 4)
            body += struct.pack("<I", len(numbers))
            if len(numbers):
                _pad(body, 8)
                body += numbers.tobytes()
        return LITTLE_ENDIAN + bytes(body)

    @staticmethod
    def decode(data: bytes) -> JointState:
        """The message of a datagram; what is none is refused with what is wrong with it."""
        if data[:4] != LITTLE_ENDIAN:
            raise FileError(
                f"A JointState begins with the bytes 00 01 00 00 (CDR, little-endian); not {data[:4].hex()}."
            )
        reader = _Reader(data[4:])
        try:
            seconds, nanoseconds = struct.unpack("<iI", reader.take(8, 4))
            frame = reader.text()
            names = tuple(reader.text() for _ in range(reader.count()))
            position, velocity, effort = (np.frombuffer(reader.numbers(reader.count()), dtype="<f8") for _ in range(3))
        except (struct.error, UnicodeDecodeError, IndexError):
            raise FileError(f"A JointState of {len(data)} bytes ends before its content does, or is damaged.") from None
        for what, field in (("position", position), ("velocity", velocity), ("effort", effort)):
            if len(field) not in (0, len(names)):
                raise FileError(f"A JointState has {len(names)} names, but {len(field)} entries of {what}.")
        return JointState(seconds + 1e-9 * nanoseconds, names, position, velocity, effort, frame)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int, align: int = 1) -> bytes:
        self.at += -self.at % align
        if size < 0 or self.at + size > len(self.data):
            raise IndexError(size)
        self.at += size
        return self.data[self.at - size : self.at]

    def count(self) -> int:
        found = struct.unpack("<I", self.take(4, 4))[0]
        if found > len(self.data):
            raise IndexError(found)
        return found

    def text(self) -> str:
        return self.take(self.count()).rstrip(b"\0").decode("utf-8")

    def numbers(self, count: int) -> bytes:
        return self.take(8 * count, 8) if count else b""


def _pad(body: bytearray, align: int) -> None:
    body += bytes(-len(body) % align)


def _put_text(body: bytearray, text: str) -> None:
    _pad(body, 4)
    encoded = text.encode("utf-8") + b"\0"
    body += struct.pack("<I", len(encoded)) + encoded


class JointStateLink:
    """A robot at the other end of UDP: it sends its joint states, and is sent JointStates with efforts.

    The readings are `q` and `v`, in the order of `joints`. A message older than the last is dropped; one that is no
    JointState, or lacks a joint, is counted in `refused` and dropped, so that strangers' datagrams stop nothing. At the
    end the robot is sent zero efforts, with the reason as the message's frame.

    Parameters
    ----------
    joints : sequence of str
        Names as the robot sends them, in the order of the controller's model.
    local, remote : (str, int)
        Addresses; port 0 of `local` is any free one (`link.address` has it).

    Examples
    --------
    >>> with ps.onboard.JointStateLink(["shoulder"], ("127.0.0.1", 0), ("127.0.0.1", 9)) as link:
    ...     link.read(0.0) is None
    True
    """

    def __init__(self, joints: Sequence[str], local: tuple[str, int], remote: tuple[str, int]) -> None:
        self.joints, self.refused, self._last = tuple(joints), 0, -np.inf
        if not self.joints or len(set(self.joints)) < len(self.joints):
            raise ShapeError(f"A link needs joints with different names; it was given {list(joints)!r:.200}.")
        self._datagrams = Datagrams(local, remote)
        self.address = self._datagrams.address

    def __enter__(self) -> JointStateLink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._datagrams.close()

    def read(self, timeout: float) -> Mapping[str, Array] | None:
        """The newest q and v, waited for so many seconds at most."""
        newest, until = None, time.perf_counter() + timeout
        while True:
            left = 0.0 if newest is not None else max(until - time.perf_counter(), 0.0)
            data = self._datagrams.receive(left)
            if data is None:
                return newest
            newest = self._readings(data) or newest

    def write(self, tau: Array) -> None:
        self._send(JointState(time.time(), self.joints, effort=tau))

    def stop(self, reason: str) -> None:
        self._send(JointState(time.time(), self.joints, effort=np.zeros(len(self.joints)), frame=f"stop: {reason}"))

    def _send(self, message: JointState) -> None:
        self._datagrams.send(message.encode())

    def _readings(self, data: bytes) -> Mapping[str, Array] | None:
        try:
            message = JointState.decode(data)
            places = [message.name.index(joint) for joint in self.joints]
            if not len(message.position) or not len(message.velocity):
                raise ValueError("no positions or velocities")
        except (FileError, ValueError):
            self.refused += 1
            return None
        if message.stamp < self._last:
            return None
        self._last = message.stamp
        return {"q": message.position[places], "v": message.velocity[places]}
