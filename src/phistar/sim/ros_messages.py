"""Four ROS 2 messages as bytes (CDR, little-endian): joint states, transforms, wrenches and rows of numbers.

A message is written down as a flat layout, one code a field, so that each is read as it is written:
t stamp, s text, d float64, D list of float64, S list of texts, x a list of stamped transforms.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from phistar.errors import FileError

HEAD = b"\x00\x01\x00\x00"  # CDR, little-endian
MOST = 1_000_000  # entries of one list

_HEADER = "std_msgs/Header header\n"
_TIME = "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
_STAMP = f"MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n{'=' * 80}\n{_TIME}"
_VECTOR = "MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n"
_TURN = "MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"
_LINE = "=" * 80 + "\n"


class Kind(NamedTuple):
    """A message's name, its definition as ROS 2 writes it, and its layout."""

    name: str
    text: str
    layout: str


JOINT_STATE = Kind(
    "sensor_msgs/msg/JointState",
    f"{_HEADER}string[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n{_LINE}{_STAMP}",
    "tsSDDD",
)
TRANSFORMS = Kind(
    "tf2_msgs/msg/TFMessage",
    f"geometry_msgs/TransformStamped[] transforms\n{_LINE}MSG: geometry_msgs/TransformStamped\n{_HEADER}"
    f"string child_frame_id\ngeometry_msgs/Transform transform\n{_LINE}MSG: geometry_msgs/Transform\n"
    f"geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n{_LINE}{_VECTOR}{_LINE}{_TURN}"
    f"{_LINE}{_STAMP}",
    "x",
)
WRENCH = Kind(
    "geometry_msgs/msg/WrenchStamped",
    f"{_HEADER}geometry_msgs/Wrench wrench\n{_LINE}MSG: geometry_msgs/Wrench\ngeometry_msgs/Vector3 force\n"
    f"geometry_msgs/Vector3 torque\n{_LINE}{_VECTOR}{_LINE}{_STAMP}",
    "tsdddddd",
)
NUMBERS = Kind(
    "std_msgs/msg/Float64MultiArray",
    f"std_msgs/MultiArrayLayout layout\nfloat64[] data\n{_LINE}MSG: std_msgs/MultiArrayLayout\n"
    f"std_msgs/MultiArrayDimension[] dim\nuint32 data_offset\n{_LINE}MSG: std_msgs/MultiArrayDimension\n"
    "string label\nuint32 size\nuint32 stride\n",
    "oD",
)
KINDS = {kind.name: kind for kind in (JOINT_STATE, TRANSFORMS, WRENCH, NUMBERS)}


class Transform(NamedTuple):
    """A frame in another at a time [s]: position (3,) and quaternion (x, y, z, w)."""

    t: float
    parent: str
    child: str
    place: Sequence[float]
    turn: Sequence[float]


def encode(kind: Kind, values: Sequence[Any]) -> bytes:
    """The bytes of a message, of one value for each code of its layout."""
    out = _Writer()
    for code, value in zip(kind.layout, values, strict=True):
        out.write(code, value)
    return HEAD + bytes(out.data)


def decode(kind: Kind, content: bytes) -> list[Any]:
    """The values of a message; whatever does not fit its layout raises FileError."""
    if len(content) < 4 or content[:2] != HEAD[:2]:
        raise FileError(f"a message {kind.name} is not in little-endian CDR")
    source = _Reader(content[4:])
    return [source.read(code) for code in kind.layout]


class _Writer:
    def __init__(self) -> None:
        self.data = bytearray()

    def pack(self, code: str, value: Any) -> None:
        """A number, where its size divides its place."""
        size = struct.calcsize(code)
        self.data += b"\0" * (-len(self.data) % size) + struct.pack(f"<{code}", value)

    def write(self, code: str, value: Any) -> None:
        match code:
            case "t":
                whole = round(float(value) * 1e9)
                self.pack("i", whole // 10**9)
                self.pack("I", whole % 10**9)
            case "s":
                text = str(value).encode() + b"\0"
                self.pack("I", len(text))
                self.data += text
            case "d":
                self.pack("d", float(value))
            case "D":
                numbers = np.asarray(value, dtype="<f8").ravel()
                self.pack("I", len(numbers))
                self.data += b"\0" * (-len(self.data) % 8) if len(numbers) else b""
                self.data += numbers.tobytes()
            case "S":
                self.pack("I", len(value))
                for each in value:
                    self.write("s", each)
            case "o":  # an array's layout: no dimensions, no offset
                self.pack("I", 0)
                self.pack("I", 0)
            case _:
                self.pack("I", len(value))
                for each in value:
                    for part, given in zip("tss", each[:3], strict=True):
                        self.write(part, given)
                    for number in (*each.place, *each.turn):
                        self.pack("d", float(number))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, code: str) -> Any:
        size = struct.calcsize(code)
        self.at += -self.at % size
        return struct.unpack(f"<{code}", self._bytes(size))[0]

    def _bytes(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise FileError("a message ends before what it announces")
        self.at += size
        return self.data[self.at - size : self.at]

    def _count(self, least: int) -> int:
        """Entries of a list, each of some bytes at least."""
        count = self.take("I")
        if count > MOST or count * least > len(self.data) - self.at:
            raise FileError(f"a message announces {count} entries, more than it has room for")
        return count

    def read(self, code: str) -> Any:
        match code:
            case "t":
                return self.take("i") + 1e-9 * self.take("I")
            case "s":
                return self._bytes(self.take("I")).rstrip(b"\0").decode("utf-8", "replace")
            case "d":
                return self.take("d")
            case "D":
                count = self._count(8)
                self.at += -self.at % 8 if count else 0
                return np.frombuffer(self._bytes(8 * count), "<f8").copy()
            case "S":
                return [self.read("s") for _ in range(self._count(4))]
            case "o":
                for _ in range(self._count(12)):
                    self.read("s")
                    self.take("I")
                    self.take("I")
                return self.take("I")
            case _:
                return [self._transform() for _ in range(self._count(64))]

    def _transform(self) -> Transform:
        t, parent, child = (self.read(code) for code in "tss")
        numbers = [self.take("d") for _ in range(7)]
        return Transform(t, parent, child, numbers[:3], numbers[3:])
