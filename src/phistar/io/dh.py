"""Denavit-Hartenberg tables, standard and modified, as models.

One row moves from link frame i−1 to link frame i; S(q) = Rz(θ) Tz(d) is the part that the joint moves:

    standard   T_i = S(q) Tx(a) Rx(α)     the link frame is at the far (distal) end of the link
    modified   T_i = Rx(α) Tx(a) S(q)     the link frame is on the link's own joint (Craig)

The joint adds q + offset to θ (revolute) or to d (prismatic). Turns about z and shifts along z commute, so
S(q) = S(0) J(q) with J(q) = Rz(q) or Tz(q), a joint about z. Body `link{i}` has the table's link frame i as its frame,
`joint{i}` is the frame on its joint's axis, and the last frame, `tool`, is the last link frame times `tool`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.model import Geometry, Model, ModelBuilder, Prismatic, Revolute
from phistar.spatial import Inertia, Pose
from phistar.spatial.pose import IDENTITY
from phistar.spatial.value import checked_numbers

_Z = (0.0, 0.0, 1.0)
_JOINTS = {"revolute": Revolute, "prismatic": Prismatic}
_JOINT_PARAMETERS = (
    *("armature", "damping", "stiffness", "rest", "friction"),
    *("limits", "effort", "velocity", "gear_ratio", "rotor_inertia"),
)


@dataclass(frozen=True, eq=False)
class DHRow:
    """One line of a table: T_i of (a, α, d, θ), with what the link weighs and what its joint can do.

    `com`, `inertia` (3×3, about the centre of mass) and `geometry` are in the row's link frame i. The parameters from
    `armature` on are those of the joint, on the joint's side of the gear. Angles in radians, SI units.
    """

    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    joint: str = "revolute"
    offset: float = 0.0
    mass: float = 0.0
    com: Any = (0.0, 0.0, 0.0)
    inertia: Any = ((0.0, 0.0, 0.0),) * 3
    geometry: Sequence[Geometry] = ()
    armature: float = 0.0
    damping: float = 0.0
    stiffness: float = 0.0
    rest: float | None = None
    friction: float | tuple[float, float] = 0.0
    limits: tuple[float, float] | None = None
    effort: float | None = None
    velocity: float | None = None
    gear_ratio: float = 1.0
    rotor_inertia: float = 0.0


def from_dh(
    rows: Iterable[DHRow | Mapping[str, Any] | Iterable[Any]],
    convention: str = "standard",
    name: str = "dh",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    base: Pose = IDENTITY,
    tool: Pose = IDENTITY,
    base_geometry: Sequence[Geometry] = (),
    strict: bool = False,
) -> Model:
    """Build the serial arm of a Denavit-Hartenberg table.

    T_0^n = base · T_1(q_1) … T_n(q_n) · tool. Bodies are `link1` …, joints `joint1` …, and `tool` is the last frame.

    Parameters
    ----------
    rows : iterable of DHRow, mapping or sequence
        A row for each link [m, rad]: a `DHRow`, a mapping of its fields, or their values in order,
        `(a, alpha, d, theta, …)`.
    convention : "standard" or "modified"
    name : str
    gravity : (3,)
        In world axes [m/s²].
    base, tool : Pose
        The first frame in the world, and the tool in the last frame.
    base_geometry : sequence of Geometry
    strict : bool
        Raise for unphysical inertias, and for a table without masses, instead of telling them in `model.warnings`.

    Returns
    -------
    Model

    Examples
    --------
    >>> arm = ps.from_dh([{"a": 1.0}, {"a": 0.5}], name="elbow")
    >>> ps.forward_kinematics(arm, [0, 0], "tool")[:3, 3]
    array([1.5, 0. , 0. ])
    """
    if not isinstance(convention, str) or convention not in ("standard", "modified"):
        raise ModelError(f"The DH convention is {convention!r:.100}; it must be 'standard' or 'modified'.")
    if not isinstance(rows, Iterable) or isinstance(rows, str | bytes | Mapping):
        raise ModelError(f"A DH table is a list of rows, one for each joint; it was given {rows!r:.80}.")
    table = [_row(given, number) for number, given in enumerate(rows, start=1)]
    if not table:
        raise ModelError("The DH table has no rows; give one row for each joint.")
    builder = ModelBuilder(name, gravity=gravity)
    for shape in base_geometry:
        builder.geometry("world", shape)
    for number, row in enumerate(table, start=1):
        bend = Pose(xyz=(row.a, 0.0, 0.0), rotation=_turn_about_x(row.alpha))  # Tx(a) Rx(α); the two commute
        placement, offset = (bend @ _screw(row), IDENTITY) if convention == "modified" else (_screw(row), bend)
        try:
            _add_link(builder, row, number, base @ placement if number == 1 else placement, offset)
        except ModelError as error:
            raise ModelError(f"Row {number} of the DH table: {error}") from None
    builder.frame("tool", f"link{len(table)}", tool)
    return builder.build(strict=strict)


def _add_link(builder: ModelBuilder, row: DHRow, number: int, placement: Pose, offset: Pose) -> None:
    """Joint i at `placement` in link frame i−1, link frame i at `offset` on its moving side."""
    builder.body(
        f"link{number}",
        parent=f"link{number - 1}" if number > 1 else "world",
        joint=_JOINTS[row.joint](axis=_Z, **{key: getattr(row, key) for key in _JOINT_PARAMETERS}),
        placement=placement,
        offset=offset,
        inertia=Inertia.unchecked(row.mass, row.com, row.inertia),
        geometry=row.geometry,
        joint_name=f"joint{number}",
    )


def _row(given: DHRow | Mapping[str, Any] | Iterable[Any], number: int) -> DHRow:
    """The row as a `DHRow`, with finite numbers and a joint that exists."""
    names = [field.name for field in fields(DHRow)]
    if isinstance(given, DHRow):
        row = given
    elif isinstance(given, Mapping):
        unknown = [str(key) for key in given if key not in names]
        if unknown:
            raise ModelError(f"Row {number} of the DH table has {', '.join(unknown)}; it may have {', '.join(names)}.")
        row = DHRow(**given)
    elif not isinstance(given, Iterable):
        raise ModelError(f"Row {number} of the DH table is {given!r:.80}; a DHRow, mapping or sequence is needed.")
    else:
        entries = list(given)
        if len(entries) > len(names):
            raise ModelError(
                f"Row {number} of the DH table has {len(entries)} entries; it may have up to {len(names)}."
            )
        row = DHRow(*entries)
    if not (isinstance(row.joint, str) and row.joint in _JOINTS):
        raise ModelError(f"Row {number} of the DH table has joint {row.joint!r}; it must be 'revolute' or 'prismatic'.")
    if not isinstance(row.geometry, Iterable):
        raise ModelError(f"Row {number} of the DH table has geometry {row.geometry!r:.80}; a list of shapes is needed.")
    lengths_and_angles = [row.a, row.alpha, row.d, row.theta, row.offset]
    checked_numbers(lengths_and_angles, (5,), f"Row {number} of the DH table", "a, alpha, d, theta and offset")
    return row


def _screw(row: DHRow) -> Pose:
    """S(0) = Rz(θ) Tz(d) where the joint's coordinate q is zero."""
    revolute = row.joint == "revolute"
    theta = row.theta + (row.offset if revolute else 0.0)
    d = row.d + (0.0 if revolute else row.offset)
    cosine, sine = _cosine_and_sine(theta)
    return Pose(xyz=(0.0, 0.0, d), rotation=np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]]))


def _turn_about_x(angle: float) -> np.ndarray:
    cosine, sine = _cosine_and_sine(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])


def _cosine_and_sine(angle: float) -> tuple[float, float]:
    """cos and sin, exact at quarter turns: a twist of π/2 then leaves zeros that compiled code can drop."""
    quarters = 2.0 * float(angle) / np.pi
    if quarters == round(quarters):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[round(quarters) % 4]
    return float(np.cos(angle)), float(np.sin(angle))
