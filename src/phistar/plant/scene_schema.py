"""What a plant's file may say, as typed entries: read, written and described to editors by the same classes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from phistar.contact.surface import Surface
from phistar.errors import FileError, PhistarError
from phistar.geometry.shape_records import Material
from phistar.model.geometry import Box, Capsule, Cylinder, Plane, Polytope, Shape, Sphere
from phistar.model.manifold import OFF_UNIT
from phistar.plant.actuators import Kind
from phistar.plant.sensor_kinds import SensorKind
from phistar.spatial import Pose, from_quaternion, to_quaternion

try:
    from pydantic import BaseModel, ConfigDict, Field, ValidationError
except ImportError:
    raise PhistarError("Files of plants need the package pydantic: pip install 'phistar[sim]'.") from None

FORMAT = 1
Three = Annotated[list[float], Field(min_length=3, max_length=3)]
Pair = Annotated[list[str], Field(min_length=2, max_length=2)]


class Entry(BaseModel):
    """Of any table: numbers are numbers, and nothing unknown is passed over. Abstract."""

    model_config = ConfigDict(extra="forbid", strict=True)


class MaterialEntry(Entry):
    """How a surface touches; see `ps.Material`."""

    friction: float = 0.5
    restitution: float = 0.0
    margin: float | None = None
    time_constant: float = 0.01
    strength: float | None = None
    damping: float = 20.0

    def made(self) -> Material:
        return Material(**self.model_dump())


class PlacedEntry(Entry):
    """What stands somewhere. Abstract."""

    xyz: Three = Field(default=[0.0, 0.0, 0.0], description="Place, m.")
    quaternion: Annotated[list[float], Field(min_length=4, max_length=4)] = Field(
        default=[0.0, 0.0, 0.0, 1.0], description="Orientation (x, y, z, w), of length one."
    )
    material: MaterialEntry = MaterialEntry()

    @property
    def pose(self) -> Pose:
        turn = np.array(self.quaternion)
        if not abs(np.linalg.norm(turn) - 1.0) <= OFF_UNIT:
            raise FileError(f"A quaternion (x, y, z, w) of length one was expected; it is {self.quaternion!r:.100}.")
        return Pose(xyz=self.xyz, rotation=from_quaternion(turn))


class RobotEntry(PlacedEntry):
    """[[robot]]: a robot by its file, or by the name of one that comes along."""

    name: str
    file: str
    collides: bool = True


class ShapeEntry(PlacedEntry):
    """[[shape]]: a collision shape on a body, or in the world; one of sphere, capsule, box, cylinder, plane, hull."""

    body: str = "world"
    name: str = ""
    sphere: float | None = Field(default=None, description="Radius, m.")
    capsule: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="Radius and length between the middles of its ends, m."
    )
    cylinder: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="Radius and length, m."
    )
    box: Three | None = Field(default=None, description="Sides, m.")
    plane: bool | None = Field(default=None, description="The half-space below z = 0.")
    hull: list[Three] | None = Field(default=None, description="Corners of a convex hull, m.")

    def made(self) -> Shape:
        found: list[Shape] = []
        found += [Sphere(self.sphere)] if self.sphere is not None else []
        found += [Capsule(*self.capsule)] if self.capsule else []
        found += [Cylinder(*self.cylinder)] if self.cylinder else []
        found += [Box(self.box)] if self.box else []
        found += [Polytope(np.array(self.hull))] if self.hull else []
        found += [Plane()] if self.plane else []
        if len(found) != 1:
            raise FileError(
                f"A [[shape]] is one of sphere = radius, capsule or cylinder = [radius, length], box = [x, y, z], "
                f"hull = [[x, y, z], …] or plane = true; '{self.name}' has {len(found)} of them."
            )
        return found[0]

    @staticmethod
    def of(shape: Shape) -> dict[str, Any]:
        """The entry's key of a shape, and its numbers."""
        match shape:
            case Sphere(radius=radius):
                return {"sphere": float(radius)}
            case Capsule(radius=radius, length=length):
                return {"capsule": [float(radius), float(length)]}
            case Cylinder(radius=radius, length=length):
                return {"cylinder": [float(radius), float(length)]}
            case Box(size=size):
                return {"box": [float(x) for x in size]}
            case Polytope(points=points):
                return {"hull": np.asarray(points).tolist()}
            case Plane():
                return {"plane": True}
        raise FileError(f"A plant's file has no {type(shape).__name__}; ps.Polytope.hull(mesh) is a mesh's hull.")


class ActuatorEntry(Entry):
    """[[actuator]]: the arguments of `plant.actuate`."""

    robot: str
    kind: Kind
    joints: list[str] | None = None
    stiffness: float = 0.0
    damping: float = 0.0
    limits: float | list[float] | None = None
    gear: float = 1.0
    command_range: Annotated[list[float], Field(min_length=2, max_length=2)] = [-np.inf, np.inf]
    delay: float = 0.0


class SensorEntry(Entry):
    """[[sensor]]: the arguments of `plant.sense`."""

    kind: SensorKind
    of: str
    name: str = ""
    noise: float | list[float] = 0.0
    bias: float | list[float] = 0.0
    rate: float | None = None
    delay: float = 0.0
    rows: list[int] = []


class WeldEntry(Entry):
    """[[weld]]: two frames held together."""

    frames: Pair


class IgnoreEntry(Entry):
    """[[ignore]]: two bodies or robots that pass through each other."""

    bodies: Pair


class ContactEntry(Entry):
    """[[contact]]: how two bodies touch, in place of what their materials make; see `ps.Surface`."""

    bodies: Pair
    margin: float = Surface.margin
    strength: float = Surface.strength
    damping: float = Surface.damping
    restitution: float | None = None
    friction: float = Surface.friction
    bristle_stiffness: float = Surface.bristle_stiffness
    bristle_damping: float = Surface.bristle_damping
    patch: float = Surface.patch
    pulls: bool = False


class PlantEntry(Entry):
    """A plant's file."""

    format_version: Literal[1]
    name: str = "plant"
    gravity: Three = Field(default=[0.0, 0.0, -9.81], description="m/s².")
    mjcf: str | None = Field(default=None, description="An MJCF file that the plant begins with.")
    without: list[str] = Field(default=[], description="Physics of that file that is left out.")
    start: list[float] | None = Field(default=None, description="Coordinates that runs begin with.")
    robot: list[RobotEntry] = []
    shape: list[ShapeEntry] = []
    actuator: list[ActuatorEntry] = []
    sensor: list[SensorEntry] = []
    weld: list[WeldEntry] = []
    ignore: list[IgnoreEntry] = []
    contact: list[ContactEntry] = []


def checked(data: dict[str, Any], path: object) -> PlantEntry:
    """The entries of a file's content; what is missing or of the wrong kind is told with its place."""
    if data.get("format_version") != FORMAT:
        raise FileError(f"{path}: a plant's file has format_version = {FORMAT}.")
    try:
        return PlantEntry.model_validate(data)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        place = "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in first["loc"]).lstrip(".")
        raise FileError(
            f"{path}, {place:.100}: an entry is missing or of the wrong kind: {first['msg'].lower():.150}; it is "
            f"{first['input']!r:.60}."
        ) from None


def placed(pose: Pose) -> dict[str, list[float]]:
    """The keys of a pose."""
    turn = [float(x) for x in to_quaternion(np.asarray(pose.rotation))]
    return {"xyz": [float(x) for x in pose.translation], "quaternion": turn}


def json_schema() -> dict[str, Any]:
    """JSON Schema of a plant's file."""
    return PlantEntry.model_json_schema()
