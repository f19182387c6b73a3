"""The one schema of files that hold plants and scenes: read, written and described to editors by the same classes.

A plant is parts, shapes, contacts, actuators, sensors and welds; a scene has a clock, a controller, disturbances and a
task beside it, and where a number stands it may say what the number is drawn from (`sim/scenes/chance.py`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from phistar.errors import PhistarError
from phistar.plant.actuators import Kind
from phistar.plant.sensor_kinds import SensorKind
from phistar.spatial.value import LARGEST

try:
    from pydantic import AfterValidator, BaseModel, ConfigDict, Field
except ImportError:
    raise PhistarError("Files of scenes and plants need the package pydantic: pip install 'phistar[sim]'.") from None

FORMAT_VERSION = 1


def _printable(text: str) -> str:
    if not text or any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text):
        raise ValueError("control characters")
    return text


Number = Annotated[float, Field(gt=-LARGEST, lt=LARGEST, allow_inf_nan=False)]
Positive = Annotated[float, Field(ge=0.0, lt=LARGEST, allow_inf_nan=False)]
Text = Annotated[str, AfterValidator(_printable)]
Vector = list[Number]
Two = Annotated[list[Number], Field(min_length=2, max_length=2)]
Three = Annotated[list[Number], Field(min_length=3, max_length=3)]
Four = Annotated[list[Number], Field(min_length=4, max_length=4)]
Six = Annotated[list[Number], Field(min_length=6, max_length=6)]
Pair = Annotated[list[Text], Field(min_length=2, max_length=2)]
Names = list[Text]
Ends = Annotated[list[float], Field(min_length=2, max_length=2)]


class Entry(BaseModel):
    """A table of a file: numbers are numbers, and nothing unknown is passed over. Abstract."""

    model_config = ConfigDict(extra="forbid", strict=True)


class OpenEntry(BaseModel):
    """A table whose other keys belong to what it names, which checks them itself. Abstract."""

    model_config = ConfigDict(extra="allow", strict=True)


class MaterialEntry(Entry):
    """Material of a surface, where materials make the contact law; see `ps.Material`."""

    friction: Number = 0.5
    restitution: Number = 0.0
    margin: Number | None = None
    time_constant: Number = 0.01
    strength: Number | None = None
    damping: Number = 20.0


class PlacedEntry(Entry):
    """An entry with a pose. Abstract."""

    xyz: Three = Field(default=[0.0, 0.0, 0.0], description="Place, m.")
    rpy: Three | None = Field(default=None, description="Roll, pitch and yaw, rad.")
    quaternion: Four | None = Field(default=None, description="In place of rpy: (x, y, z, w), of length one.")


class ShapeEntry(PlacedEntry):
    """A shape: one of box, sphere, cylinder, capsule, ellipsoid, plane, points, and the files hull and pieces."""

    name: Text | None = None
    box: Three | None = Field(default=None, description="Sides, m.")
    sphere: Number | None = Field(default=None, description="Radius, m.")
    cylinder: Two | None = Field(default=None, description="Radius and length, m.")
    capsule: Two | None = Field(default=None, description="Radius and length between the middles of its ends, m.")
    ellipsoid: Three | None = Field(default=None, description="Half axes, m.")
    plane: bool | None = Field(default=None, description="The half-space below z = 0.")
    points: list[Vector] | None = Field(default=None, description="Corners of a convex hull, m.")
    hull: Text | None = Field(default=None, description="A mesh's file, which collides by its convex hull.")
    pieces: Text | None = Field(default=None, description="A mesh's file, cut into convex pieces.")
    scale: Number = Field(default=1.0, description="Of a mesh's file.")
    color: Four | None = Field(default=None, description="Red, green, blue and opacity, each from 0 to 1.")


class PlacedShapeEntry(ShapeEntry):
    """[[shapes]]: a collision shape on a body of the plant, or in the world."""

    body: Text = "world"
    material: MaterialEntry = MaterialEntry()


class OptionsEntry(Entry):
    """Options of `ps.load`."""

    floating: bool | None = None
    strict: bool | None = None
    motors: bool | None = None
    friction: bool | None = None
    gravity: Three | None = None
    loops: Text | None = None
    without: Names | None = None
    packages: Text | Names | None = None


class MotionEntry(Entry):
    """Joint of a part on what carries it; see `ps.Revolute` and `ps.Prismatic`."""

    axis: Three = [0.0, 0.0, 1.0]
    stiffness: Positive = Field(default=0.0, description="Of a spring, N m/rad or N/m.")
    rest: Number = Field(default=0.0, description="Where the spring is slack.")
    damping: Positive = 0.0
    friction: Positive = Field(default=0.0, description="Dry, N m or N.")
    armature: Positive = 0.0
    limits: Two | None = None
    effort: Positive = Field(default=0.0, description="What its motor can give, N m or N; 0: it has none.")
    velocity: Positive | None = Field(default=None, description="How fast the motor may turn, rad/s or m/s.")


class PartEntry(PlacedEntry):
    """[[parts]]: a robot by its file, or by the name of one that comes along; or a body made of shapes."""

    name: Text
    parent: Text = Field(default="world", description="The world, or a frame of a part before: part/frame.")
    robot: Text | None = None
    options: OptionsEntry = OptionsEntry()
    meshes: Literal["hull", "pieces", "none"] | None = Field(
        default=None, description="What stands for a robot's collision meshes."
    )
    q: Vector | None = Field(default=None, description="Coordinates of a robot, or of a part that moves, at the start.")
    v: Vector | None = Field(default=None, description="Its rates at the start.")
    joint: Literal["fixed", "free", "revolute", "prismatic"] = "fixed"
    motion: MotionEntry = MotionEntry()
    mass: Annotated[float, Field(ge=1e-9, lt=LARGEST)] | None = Field(default=None, description="kg.")
    com: Three = Field(default=[0.0, 0.0, 0.0], description="Centre of mass, m.")
    inertia: Vector | None = Field(
        default=None, description="About the centre of mass: Ixx Iyy Izz, or Ixx Ixy Iyy Ixz Iyz Izz, kg m²."
    )
    gyration: Three | None = Field(default=None, description="In place of inertia: radii of gyration, m.")
    spin: Three = Field(default=[0.0, 0.0, 0.0], description="ω of a free body at the start, in its axes, rad/s.")
    velocity: Three = Field(default=[0.0, 0.0, 0.0], description="Its velocity, in its axes, m/s.")
    shapes: list[ShapeEntry] = []
    material: MaterialEntry = MaterialEntry()
    collides: bool = True


class SurfaceEntry(Entry):
    """Contact law of bodies that come near each other; see `ps.Surface`."""

    margin: Any = Field(default=None, json_schema_extra={"type": "number"})
    strength: Any = Field(default=None, json_schema_extra={"type": "number"})
    damping: Any = Field(default=None, json_schema_extra={"type": "number"})
    restitution: Any = Field(default=None, json_schema_extra={"type": "number"})
    friction: Any = Field(default=None, json_schema_extra={"type": "number"})
    bristle_stiffness: Any = Field(default=None, json_schema_extra={"type": "number"})
    bristle_damping: Any = Field(default=None, json_schema_extra={"type": "number"})
    patch: Any = Field(default=None, json_schema_extra={"type": "number"})
    pulls: Any = Field(default=None, json_schema_extra={"type": "boolean"})


class ContactEntry(SurfaceEntry):
    """[[contacts]]: two shapes, bodies or parts that touch, by a law of their own or that of [surface]."""

    between: Pair
    name: Text | None = None


class TendonEntry(Entry):
    """[[tendons]]: the arguments of `plant.add_tendon`; over joints with their factors, or through frames."""

    name: Text
    joints: dict[Text, Number] | None = Field(default=None, description="Factors: the length is Σ factor·q.")
    frames: Names | None = Field(default=None, description="The frames that it runs through, one after the other.")
    stiffness: Number = 0.0
    damping: Number = 0.0
    rest: Number | Two = Field(default=0.0, description="The length at which the spring is slack, or the interval.")
    limits: Ends | None = Field(default=None, description="Shortest and longest length; may be infinite.")
    friction: Number = 0.0
    held: Number | None = Field(default=None, description="The length that it always has.")


class ActuatorEntry(Entry):
    """[[actuators]]: the arguments of `plant.actuate`; with `tendon` in place of `part`, of `plant.actuate_tendon`."""

    part: Text | None = None
    tendon: Text | None = None
    name: Text | None = Field(default=None, description="Of a tendon's actuator; the tendon's name by default.")
    kind: Kind
    joints: Names | None = None
    stiffness: Number = 0.0
    damping: Number = 0.0
    limits: Number | list[float] | None = None
    gear: Number = 1.0
    command_range: Ends | None = None
    delay: Number = 0.0


class SensorEntry(Entry):
    """[[sensors]]: what the controller knows. Which keys a kind has: `scene_sensors.py`; see `ps.Plant.sense`."""

    name: Text | None = None
    kind: SensorKind
    part: Text | None = None
    frame: Text | None = None
    shapes: Names | None = None
    of: Text | None = None
    seen_from: Text | None = None
    noise: Positive | list[Positive] | None = None
    rate_noise: Positive | None = None
    moment_noise: Positive | None = None
    turn_noise: Positive | None = None
    spin_noise: Positive | None = None
    bias: Number | Vector | None = None
    turn_bias: Three | None = None
    rate: Number | None = Field(default=None, description="Readings a second.")
    period: Annotated[float, Field(ge=1e-6, lt=LARGEST)] | None = Field(
        default=None, description="In place of rate, s."
    )
    delay: Annotated[float, Field(ge=0.0, le=10.0)] = Field(default=0.0, description="How late readings come, s.")
    zone: ShapeEntry | None = Field(default=None, description="The shape at a frame that feels a touch.")
    rows: list[int] = Field(default=[], description="Which numbers of the reading it gives; all by default.")


class WeldEntry(Entry):
    """[[welds]]: two frames held together."""

    frames: Pair


class DisturbanceEntry(Entry):
    """[[disturbances]]: a force [moment; force] on a frame, world axes at its origin."""

    frame: Text
    start: Positive = 0.0
    duration: Positive
    force: Six


class TimeEntry(Entry):
    """[time]: how long, how often states are kept, and either a fixed step or the tolerances of a free one."""

    duration: Annotated[float, Field(ge=1e-6, lt=LARGEST)] = 5.0
    sample: Number | None = None
    step: Annotated[float, Field(ge=1e-7, le=0.1)] | None = None
    rtol: Annotated[float, Field(ge=1e-13, le=0.1)] = 1e-6
    atol: Positive = 1e-9
    stop: Names = Field(default=[], description="Phases of the controller that end a run.")
    stop_after: Positive = Field(default=0.0, description="How long after, s.")


class ControllerEntry(OpenEntry):
    """[controller]: the law that drives, and what it is set to."""

    law: Text = "none"
    torque_limit: Number | Vector | None = Field(
        default=None, description="Of joints whose model has no limit: one number, or one for each rate with a motor."
    )


class TaskEntry(OpenEntry):
    """[task]: what a run is to reach, by the name of a task that is registered."""

    kind: Text


class FieldEntry(OpenEntry):
    """[[fields]]: forces on bodies from outside, by the name of a kind that is registered, with its own keys."""

    kind: Text


class PlantEntry(Entry):
    """A plant."""

    format_version: Literal[1]
    name: Text | None = None
    gravity: Three = Field(default=[0.0, 0.0, -9.81], description="m/s².")
    mjcf: Text | None = Field(default=None, description="An MJCF file that the plant begins with.")
    without: Names = Field(default=[], description="Physics of that file that is left out.")
    start: Vector | None = Field(default=None, description="Coordinates of the whole plant that runs begin with.")
    law: Literal["surface", "materials", "none"] | None = Field(
        default=None,
        description="How bodies touch that no [[contacts]] names: as [surface] says (the default without contacts), by "
        "their materials, or not at all (the default with them).",
    )
    parts: list[PartEntry] = []
    shapes: list[PlacedShapeEntry] = []
    surface: SurfaceEntry = SurfaceEntry()
    contacts: list[ContactEntry] | None = Field(default=None, description="Pairs with a law of their own.")
    ignored: list[Pair] = Field(default=[], description="Bodies, or whole parts, that pass through each other.")
    actuators: list[ActuatorEntry] | None = Field(
        default=None, description="Where none are listed, every joint with an effort has a motor that gives its force."
    )
    tendons: list[TendonEntry] = []
    sensors: list[SensorEntry] = []
    welds: list[WeldEntry] = []
    fields: list[FieldEntry] = Field(default=[], description="Forces on bodies from outside, such as orbital gravity.")


class SceneEntry(PlantEntry):
    """A plant with what drives, disturbs and judges it over time."""

    time: TimeEntry = TimeEntry()
    controller: ControllerEntry = ControllerEntry()
    disturbances: list[DisturbanceEntry] = []
    task: TaskEntry | None = None


DRAWN: dict[str, Any] = {
    "DrawnNumber": {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "description": "A random number: between two, or with a mean and a standard deviation.",
        "properties": {
            kind: {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
            for kind in ("uniform", "normal")
        },
    },
    "DrawnVector": {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "description": "A random vector, its length between two numbers; or roll, pitch and yaw of a random turn.",
        "properties": {
            "vector": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
            "turn": {"anyOf": [{"const": True}, {"type": "array", "items": {"type": "number"}}]},
        },
    },
}


def json_schema() -> dict[str, Any]:
    """JSON Schema of a scene's file: every number may be drawn."""
    made = _with_draws(SceneEntry.model_json_schema())
    made["properties"]["extends"] = {"type": "string", "description": "A scene that this one changes."}
    made["required"] = []  # a scene that extends another need not say everything
    made["$defs"] |= DRAWN
    return made


def _with_draws(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_draws(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _with_draws(value) for key, value in schema.items()}
    told = {key: made[key] for key in ("description", "default", "title") if key in made}
    if schema.get("type") == "number":
        return told | {"anyOf": [made, {"$ref": "#/$defs/DrawnNumber"}]}
    if schema.get("type") == "array" and schema.get("minItems") == schema.get("maxItems") == 3:
        return told | {"anyOf": [made, {"$ref": "#/$defs/DrawnVector"}]}
    return made
