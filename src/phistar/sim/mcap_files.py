"""MCAP logs with ROS 2 messages: a motion written as joint states, transforms and wrenches, and any such log read.

/joint_states  sensor_msgs/JointState: joints with one coordinate, and one name a rate of planar and universal ones
/free_joints   the same for joints with quaternions: rates and forces alone; their poses are in /tf
/tf            tf2_msgs/TFMessage: every body in the world
/contact/PAIR  geometry_msgs/WrenchStamped: what contacts of a pair do to its first body, about the world's origin
/signal/NAME   std_msgs/Float64MultiArray: everything else that the motion has kept
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phistar import safe_files
from phistar.dynamics.frame_motion import frame_poses
from phistar.errors import FileError, ShapeError
from phistar.model import Model
from phistar.sim.ros_messages import JOINT_STATE, KINDS, NUMBERS, TRANSFORMS, WRENCH, Kind, Transform, decode, encode
from phistar.sim.trajectory import Trajectory
from phistar.spatial import from_quaternion, to_quaternion

LARGEST = 512 * 2**20  # bytes of a file, and of a chunk when it is unpacked
MOST_MESSAGES = 5_000_000


@dataclass(frozen=True)
class JointLog:
    """Joint states of one topic: times `t` (T,), names, and position, velocity and effort (T, n); NaN where a message
    had none."""

    t: np.ndarray
    names: tuple[str, ...]
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray

    def __repr__(self) -> str:
        return f"<JointLog: {len(self.names)} joints, {len(self.t)} samples>"


@dataclass(frozen=True)
class Series:
    """Numbers over time: times `t` (T,) and `values` (T, n)."""

    t: np.ndarray
    values: np.ndarray

    def __repr__(self) -> str:
        return f"<Series: {self.values.shape[1:]} numbers, {len(self.t)} samples>"


@dataclass(frozen=True)
class McapLog:
    """Messages of a log that are read, by topic: `joints` (JointLog), `transforms` ((parent, child) →
    Series of [x y z, qx qy qz qw]), `wrenches` (Series of [moment; force]), `signals` (Series)."""

    joints: Mapping[str, JointLog]
    transforms: Mapping[tuple[str, str], Series]
    wrenches: Mapping[str, Series]
    signals: Mapping[str, Series]

    def __repr__(self) -> str:
        counts = (len(self.joints), len(self.transforms), len(self.wrenches), len(self.signals))
        return "<McapLog: joints of {} topics, {} transforms, {} wrenches, {} signals>".format(*counts)

    def trajectory(self, model: Model, topic: str = "/joint_states") -> Trajectory:
        """The motion of a model: joints by their names in `topic`, those with quaternions by their bodies' poses."""
        if topic not in self.joints:
            known = ", ".join(self.joints) or "none"
            raise FileError(f"The log has no joint states on {topic!r}; the topics that have some are: {known}.")
        return _trajectory(self, model, self.joints[topic])


def write_mcap(motion: Trajectory, path: str | os.PathLike[str]) -> Path:
    """Write a motion as an MCAP log that Foxglove, rosbag2 and PlotJuggler read.

    Parameters
    ----------
    motion : Trajectory
        One motion; of a batch take `motion.member(k)`.
    path : path
        NAME.mcap; needs the package mcap: pip install 'phistar[mcap]'.

    Returns
    -------
    Path

    Examples
    --------
    >>> import phistar as ps, tempfile, pathlib
    >>> model = ps.load("planar2")
    >>> run = ps.simulate(model, [0.3, 0.2], [0.0, 0.0], 0.1)
    >>> path = ps.write_mcap(run, pathlib.Path(tempfile.mkdtemp(), "run.mcap"))
    >>> ps.read_mcap(path).trajectory(model).q.shape == run.q.shape
    True
    """
    if motion.q.ndim != 2:
        raise ShapeError(f"A log is of one motion; this has q of shape {motion.q.shape}: take motion.member(k).")
    _library()
    from mcap.writer import CompressionType, Writer

    out = io.BytesIO()
    writer = Writer(out, compression=CompressionType.LZ4)
    writer.start("ros2", "phistar")
    channels: dict[str, int] = {}
    schemas: dict[str, int] = {}
    for topic, kind, t, values in _messages(motion):
        if kind.name not in schemas:
            schemas[kind.name] = writer.register_schema(kind.name, "ros2msg", kind.text.encode())
        if topic not in channels:
            channels[topic] = writer.register_channel(topic, "cdr", schemas[kind.name])
        stamp = round(t * 1e9)
        writer.add_message(channels[topic], log_time=stamp, publish_time=stamp, data=encode(kind, values))
    writer.finish()
    Path(path).write_bytes(out.getvalue())
    return Path(path)


def _messages(motion: Trajectory) -> Iterator[tuple[str, Kind, float, list[Any]]]:
    """Topic, kind, time and values of every message, in the order of time."""
    model, flat, curved = motion.model, _flat_joints(motion.model), _curved_joints(motion.model)
    names, places, rates = flat
    bodies = [body.name for body in model.bodies]
    poses = np.stack(list(frame_poses(model, motion.q, tuple(bodies)).values()), axis=1) if bodies else np.zeros((0,))
    wrenches = _contact_wrenches(motion)
    signals = {name: np.asarray(x).reshape(len(motion.t), -1) for name, x in motion.signals.items()
               if np.shape(x)[:1] == (len(motion.t),)}  # fmt: skip
    tau = np.zeros_like(motion.v) if motion.tau is None else np.asarray(motion.tau)
    for k, t in enumerate(np.asarray(motion.t).tolist()):
        yield "/joint_states", JOINT_STATE, t, [t, "", names, motion.q[k, places], motion.v[k, rates], tau[k, rates]]
        if curved[0]:
            yield "/free_joints", JOINT_STATE, t, [t, "", curved[0], [], motion.v[k, curved[1]], tau[k, curved[1]]]
        if bodies:
            frames = [
                Transform(t, "world", name, pose[:3, 3].tolist(), to_quaternion(pose[:3, :3]).tolist())
                for name, pose in zip(bodies, poses[k], strict=True)
            ]
            yield "/tf", TRANSFORMS, t, [frames]
        for name, rows in wrenches.items():
            yield f"/contact/{name}", WRENCH, t, [t, "world", *rows[k, 3:], *rows[k, :3]]
        for name, rows in signals.items():
            yield f"/signal/{name}", NUMBERS, t, [None, rows[k]]


def _flat_joints(model: Model) -> tuple[list[str], list[int], list[int]]:
    """Names, coordinates and rates of joints whose rates are those of their coordinates."""
    names, places, rates = [], [], []
    for joint in model.joints:
        if joint.kind.flat:
            names += [joint.name] if joint.nv == 1 else [f"{joint.name}:{k}" for k in range(joint.nv)]
            places += range(joint.q_slice.start, joint.q_slice.stop)
            rates += range(joint.v_slice.start, joint.v_slice.stop)
    return names, places, rates


def _curved_joints(model: Model) -> tuple[list[str], list[int]]:
    """Names and numbers of the rates of joints with quaternions."""
    joints = [joint for joint in model.joints if not joint.kind.flat]
    names = [f"{joint.name}:{k}" for joint in joints for k in range(joint.nv)]
    return names, [k for joint in joints for k in range(joint.v_slice.start, joint.v_slice.stop)]


def _contact_wrenches(motion: Trajectory) -> dict[str, np.ndarray]:
    """[moment; force] (T, 6) of each pair of shapes on its first, about the world's origin."""
    contacts = motion.contacts
    made = {name.replace(" / ", "/"): np.zeros((len(motion.t), 6)) for name in contacts.pairs}
    rows = list(made.values())
    for k, m in np.argwhere(np.asarray(contacts.pair) >= 0):
        force = contacts.force[k, m]
        moment = contacts.moment[k, m] + np.cross(contacts.point[k, m], force)
        rows[contacts.pair[k, m]][k] += np.concatenate([moment, force])
    return made


def read_mcap(path: str | os.PathLike[str]) -> McapLog:
    """Read joint states, transforms, wrenches and rows of numbers out of an MCAP log with ROS 2 messages.

    Parameters
    ----------
    path : path
        The file; needs the package mcap: pip install 'phistar[mcap]'. Messages of other kinds are passed over.

    Returns
    -------
    McapLog
        By topic; `log.trajectory(model)` is the motion of a model.

    Examples
    --------
    >>> import phistar as ps, tempfile, pathlib
    >>> run = ps.simulate(ps.load("planar2"), [0.3, 0.2], [0.0, 0.0], 0.1)
    >>> log = ps.read_mcap(ps.write_mcap(run, pathlib.Path(tempfile.mkdtemp(), "run.mcap")))
    >>> log.joints["/joint_states"].names
    ('joint1', 'joint2')
    """
    content = safe_files.read_bytes(path, "a log in MCAP", LARGEST)
    _library()
    found = _Found()
    try:
        for count, (topic, kind, stamp, data) in enumerate(_records(content)):
            if count >= MOST_MESSAGES:
                raise FileError(f"it has more than {MOST_MESSAGES} messages")
            found.add(topic, kind, stamp, data)
        return found.log()
    except Exception as error:  # the reader of a foreign format raises whatever it likes
        raise FileError(f"{path}: the log cannot be read: {str(error) or type(error).__name__:.200}.") from None


def _records(content: bytes) -> Iterator[tuple[str, Kind, float, bytes]]:
    """Topic, kind, time and bytes of every message of a kind that is read."""
    from mcap.records import Channel, Chunk, Message, Schema
    from mcap.stream_reader import StreamReader, breakup_chunk

    schemas: dict[int, Kind] = {}
    channels: dict[int, tuple[str, Kind]] = {}
    for record in StreamReader(io.BytesIO(content), emit_chunks=True, record_size_limit=LARGEST).records:
        for each in breakup_chunk(_unpack(record)) if isinstance(record, Chunk) else [record]:
            if isinstance(each, Schema) and each.name in KINDS:
                schemas[each.id] = KINDS[each.name]
            elif isinstance(each, Channel) and each.message_encoding == "cdr" and each.schema_id in schemas:
                channels[each.id] = each.topic, schemas[each.schema_id]
            elif isinstance(each, Message) and each.channel_id in channels:
                yield *channels[each.channel_id], 1e-9 * each.log_time, each.data


def _unpack(chunk: Any) -> Any:
    """A chunk whose content is no longer than it says and than what is read."""
    if chunk.uncompressed_size > LARGEST:
        raise FileError(f"a chunk would unpack to {chunk.uncompressed_size} bytes; at most {LARGEST} are read")
    if chunk.compression == "lz4":
        import lz4.frame

        data = lz4.frame.LZ4FrameDecompressor().decompress(chunk.data, max_length=chunk.uncompressed_size + 1)
    elif chunk.compression == "zstd":
        try:
            import zstandard
        except ImportError:
            raise FileError("its chunks are packed by zstd: pip install zstandard") from None
        data = zstandard.ZstdDecompressor().stream_reader(chunk.data).read(chunk.uncompressed_size + 1)
    elif not chunk.compression:
        data = chunk.data
    else:
        raise FileError(f"its chunks are packed by {chunk.compression!r:.20}; lz4 and zstd are read")
    if len(data) != chunk.uncompressed_size:
        raise FileError("a chunk unpacks to another length than it says")
    chunk.data, chunk.compression = data, ""
    return chunk


@dataclass
class _Found:
    """Messages gathered by topic."""

    joints: dict[str, list[list[Any]]] = field(default_factory=dict)
    frames: dict[tuple[str, str], list[Transform]] = field(default_factory=dict)
    rows: dict[tuple[str, str], list[tuple[float, np.ndarray]]] = field(default_factory=dict)

    def add(self, topic: str, kind: Kind, stamp: float, data: bytes) -> None:
        values = decode(kind, data)
        if kind is JOINT_STATE:
            self.joints.setdefault(topic, []).append(values)
        elif kind is TRANSFORMS:
            for each in values[0]:
                self.frames.setdefault((each.parent, each.child), []).append(each)
        elif kind is WRENCH:
            self.rows.setdefault(("wrench", topic), []).append((values[0], np.array([*values[5:], *values[2:5]])))
        else:
            self.rows.setdefault(("signal", topic), []).append((stamp, values[1]))

    def log(self) -> McapLog:
        frames = {
            pair: Series(np.array([each.t for each in rows]), np.array([[*each.place, *each.turn] for each in rows]))
            for pair, rows in self.frames.items()
        }
        wrenches, signals = ({topic: _series(topic, rows) for (sort, topic), rows in self.rows.items() if sort == own}
                             for own in ("wrench", "signal"))  # fmt: skip
        return McapLog({topic: _joint_log(rows) for topic, rows in self.joints.items()}, frames, wrenches, signals)


def _series(topic: str, rows: list[tuple[float, np.ndarray]]) -> Series:
    if len({len(values) for _, values in rows}) > 1:
        raise FileError(f"rows of numbers on {topic:.80} are of different lengths")
    return Series(np.array([t for t, _ in rows]), np.array([values for _, values in rows]))


def _joint_log(rows: list[list[Any]]) -> JointLog:
    """Messages of a topic as one table; joints that a message does not name are NaN in its row."""
    names = list(dict.fromkeys(name for row in rows for name in row[2]))
    number = {name: k for k, name in enumerate(names)}
    tables = np.full((3, len(rows), len(names)), np.nan)
    for k, (_, _, own, *given) in enumerate(rows):
        chosen = [number[name] for name in own]
        for table, values in zip(tables, given, strict=True):
            if len(values) not in (0, len(own)):
                raise FileError(f"a joint state has {len(values)} numbers for {len(own)} joints")
            if len(values):
                table[k, chosen] = values
    return JointLog(np.array([row[0] for row in rows]), tuple(names), *tables)


def _trajectory(log: McapLog, model: Model, joints: JointLog) -> Trajectory:
    names, places, rates = _flat_joints(model)
    missing = [name for name in names if name not in joints.names]
    if missing:
        raise FileError(f"The log has no joint {missing[0]!r} of {model.name}; it has {', '.join(joints.names[:8])}.")
    chosen = [joints.names.index(name) for name in names]
    q = np.tile(model.neutral(), (len(joints.t), 1))
    v, tau = np.zeros((2, len(joints.t), model.nv))
    q[:, places] = joints.position[:, chosen]
    v[:, rates], tau[:, rates] = np.nan_to_num(joints.velocity[:, chosen]), np.nan_to_num(joints.effort[:, chosen])
    for number, joint in enumerate(model.joints):
        if not joint.kind.flat:
            q[:, joint.q_slice] = _curved_coordinates(log, model, number, joints.t)
    free = log.joints.get("/free_joints")
    if free is not None and len(free.t) == len(joints.t):
        own, numbers = _curved_joints(model)
        for name, rate in zip(own, numbers, strict=True):
            if name in free.names:
                at = free.names.index(name)
                v[:, rate], tau[:, rate] = np.nan_to_num(free.velocity[:, at]), np.nan_to_num(free.effort[:, at])
    return Trajectory(model, joints.t, q, v, tau, name=model.name)


def _curved_coordinates(log: McapLog, model: Model, number: int, t: np.ndarray) -> np.ndarray:
    """Coordinates (T, nq) of a free or ball joint by the poses of its bodies in the world, at times t."""
    body, parent = model.bodies[number], model.parents[number]
    own = _poses(log, body.name, t)
    carrier = np.eye(4) if parent < 0 else _poses(log, model.bodies[parent].name, t)
    inside = np.linalg.inv(carrier @ body.placement.matrix) @ own
    joint = model.joints[number]
    turns = np.array([to_quaternion(each[:3, :3]) for each in inside])
    return np.concatenate([inside[:, :3, 3], turns], axis=1) if joint.nq == 7 else turns


def _poses(log: McapLog, body: str, t: np.ndarray) -> np.ndarray:
    """(T, 4, 4): a body's pose in the world at the nearest times of the log."""
    series = log.transforms.get(("world", body))
    if series is None or not len(series.t):
        raise FileError(f"The log has no transform of {body!r} in 'world', by which its joint is known.")
    near = np.abs(series.t[None] - t[:, None]).argmin(axis=1)
    made = np.tile(np.eye(4), (len(t), 1, 1))
    made[:, :3, 3] = series.values[near, :3]
    made[:, :3, :3] = np.array([from_quaternion(row) for row in series.values[near, 3:]])
    return made


def _library() -> None:
    try:
        import mcap  # noqa: F401
    except ImportError:
        raise FileError("MCAP logs need the package mcap: pip install 'phistar[mcap]'.") from None
