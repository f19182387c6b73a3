"""Members of a plant: robots from models, and bodies made of shapes, on the world or on another member's frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phistar.errors import ModelError
from phistar.geometry.shape_records import Material
from phistar.io import load
from phistar.model import Fixed, Free, Geometry, Model, ModelBuilder
from phistar.model.geometry import Box, Shape, Sphere
from phistar.model.joints import JointKind
from phistar.model.names import unknown
from phistar.plant.joint_rows import check_curved_joints
from phistar.spatial import Inertia, Pose
from phistar.spatial.inertia import MASSLESS
from phistar.spatial.pose import IDENTITY
from phistar.spatial.rotations import to_quaternion

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

PLAIN = Material()
WORLD = "world"


class Robot(NamedTuple):
    """A model as it was added: its name, where its world stands on the frame `on`, the material of its shapes, the
    coordinates and rates it starts with, and whether its parts keep their own names in the plant's model."""

    name: str
    model: Model
    at: Pose = IDENTITY
    material: Material = PLAIN
    collides: bool = True
    file: str = ""
    on: str = WORLD
    q: np.ndarray | None = None
    v: np.ndarray | None = None
    bare: bool = False
    loaded_with: Mapping[str, Any] = MappingProxyType({})  # options of a file's part, to be written again

    @property
    def floats(self) -> bool:
        """Whether its first joint is free."""
        return bool(self.model.joints) and isinstance(self.model.joints[0].kind, Free)


def add(
    plant: Plant,
    model: Model | str,
    name: str = "",
    at: Pose = IDENTITY,
    material: Material = PLAIN,
    collides: bool = True,
    on: str = WORLD,
    q: Any = None,
    v: Any = None,
) -> None:
    """Adds a model, its world at `at`; its collision shapes have `material`.

    Parameters
    ----------
    model : Model or path
        A robot or a thing; a body on a Free joint is free. A path is loaded by `ps.load`.
    name : str
        What it is called in the plant: `plant[name]`, and "name/joint" for its joints; "" takes the model's name.
    at : Pose
        Where the model's world is on the frame `on`.
    material : Material
        Friction, restitution and margin of its shapes.
    collides : bool
        Whether its shapes touch anything.
    on : str
        The frame it is mounted on: the plant's world, or "robot/frame" of what was added before.
    q, v : (nq,), (nv,), optional
        Its own coordinates and rates at the start; neutral and at rest by default.
    """
    file, model = (model, load(model)) if isinstance(model, str) else ("", model)
    check_curved_joints(model)
    join(plant, Robot(name or model.name, model, at, material, collides, file, on, q, v))


def add_body(
    plant: Plant,
    name: str,
    shapes: Shape | Geometry | Iterable[Shape | Geometry] = (),
    inertia: Inertia | float = MASSLESS,
    at: Pose = IDENTITY,
    on: str = WORLD,
    free: bool = True,
    twist: Any = None,
    material: Material = PLAIN,
    collides: bool = True,
) -> None:
    """Adds a body made of shapes: one that floats, or one fixed to a frame; one that moves on a joint is a model of its
    own, added by `plant.add`.

    Parameters
    ----------
    name : str
        What the body, its frame and its joint are called in the plant's model.
    shapes : Shape or Geometry, or several
        What it collides with and looks like; a Geometry has a place, a colour and a name of its own.
    inertia : Inertia or float
        In the body's frame; a number is the mass, in kg, of one box or ball at its origin.
    at : Pose
        Where it starts, or where it is fixed, on the frame `on`.
    on : str
        The world, or a frame of what was added before.
    free : bool
        Whether it floats; else it is fixed.
    twist : (6,), optional
        [ω; v] of a free body at the start, in its own axes.
    material : Material
        Friction, restitution and margin of its shapes.
    collides : bool
        Whether its shapes touch anything.

    Examples
    --------
    >>> import phistar as ps
    >>> plant = ps.Plant()
    >>> plant.add_body("ground", ps.Plane(), free=False)
    >>> plant.add_body("ball", ps.Sphere(0.1), inertia=1.0, at=ps.Pose(xyz=(0, 0, 0.5)))
    >>> float(plant["ball"].q(plant.state())[2])
    0.5
    """
    if free:
        q = np.concatenate([at.translation, to_quaternion(np.asarray(at.rotation))])
        add_on_joint(plant, name, Free(), shapes, inertia, IDENTITY, on, q, twist, material, collides)
    else:
        add_on_joint(plant, name, Fixed(), shapes, inertia, at, on, material=material, collides=collides)


def add_on_joint(
    plant: Plant,
    name: str,
    joint: JointKind,
    shapes: Shape | Geometry | Iterable[Shape | Geometry] = (),
    inertia: Inertia | float = MASSLESS,
    at: Pose = IDENTITY,
    on: str = WORLD,
    q: Any = None,
    v: Any = None,
    material: Material = PLAIN,
    collides: bool = True,
) -> None:
    """Add a body made of shapes on a joint at a place of a frame, under its own name."""
    given = [shapes] if isinstance(shapes, Shape | Geometry) else list(shapes)
    pieces = [each if isinstance(each, Geometry) else Geometry(each, role="collision") for each in given]
    own = [name if len(pieces) == 1 else f"{name}:{number}" for number in range(len(pieces))]
    pieces = [replace(piece, name=piece.name or each) for piece, each in zip(pieces, own, strict=True)]
    if not isinstance(inertia, Inertia):
        inertia = inertia_of(float(inertia), pieces, name)
    builder = ModelBuilder(name, gravity=plant.gravity)
    builder.body(name, WORLD, joint, inertia=inertia, geometry=pieces)
    model = builder.build(strict=False)
    join(plant, Robot(name, model, at, material, collides, on=on, q=q, v=v, bare=True))


def inertia_of(mass: float, shapes: Iterable[Geometry], name: str) -> Inertia:
    """The inertia of a mass that fills one box or ball at the body's origin."""
    pieces = list(shapes)
    shape = pieces[0].shape if len(pieces) == 1 and pieces[0].placement.is_identity else None
    if isinstance(shape, Box):
        square = np.square(shape.size)
        return Inertia(mass, np.zeros(3), np.diag(mass / 12.0 * (np.sum(square) - square)))
    if isinstance(shape, Sphere):
        return Inertia(mass, np.zeros(3), 0.4 * mass * shape.radius**2 * np.eye(3))
    raise ModelError(f"{name}: inertia is missing, and follows from the mass only for one box or ball at the origin.")


def join(plant: Plant, robot: Robot) -> None:
    """Adds a robot after its checks; what is wrong leaves the plant as it was."""
    name, model = robot.name, robot.model
    if model.embedding is not None:
        raise ModelError(
            f"{model.name} is in independent rates, and a plant closes loops by rows of its step; add "
            "model.embedding.closed, with v = model.embedding.full_rates(q, v)."
        )
    if name in plant.robots or name == WORLD:
        raise ModelError(f"The plant already has something called '{name}'; give each its own name.")
    if robot.on != WORLD and robot.on not in plant.model.frames:
        raise unknown("frame", robot.on, [WORLD, *plant.model.frames], plant.name)
    q = None if robot.q is None else model.checked_q(robot.q, f"q of {name}").copy()
    v = None if robot.v is None else model.checked(robot.v, model.nv, f"v of {name}").copy()
    plant.robots[name] = robot._replace(q=q, v=v)
    plant.invalidate()


def starting_state(plant: Plant) -> tuple[np.ndarray, np.ndarray]:
    """q (nq,) and v (nv,) that a plant starts with: its file's, its robots' own, neutral and at rest elsewhere."""
    model = plant.model
    q, v = np.array(model.neutral(), dtype=float), np.zeros(model.nv)
    if plant.start is not None:
        q[: len(plant.start)] = plant.start  # what was added after it was given comes behind
    for name, robot in plant.robots.items():
        if robot.q is not None or robot.v is not None:
            view = plant[name]
            q[view.places] = view.q(q) if robot.q is None else robot.q
            v[view.rates] = view.v(v) if robot.v is None else robot.v
    return q, v


def bodies_of(plant: Plant, name: str) -> set[int]:
    """Numbers of the bodies of a robot, or of the one body "robot/body"; the world is −1."""
    if name in plant.robots:
        prefix = plant.prefix(name)
        return {plant.model.body_indices[prefix + body.name] for body in plant.robots[name].model.bodies}
    if name == WORLD:
        return {-1}
    if name in plant.model.body_indices:
        return {plant.model.body_indices[name]}
    raise unknown("body", name, [*plant.model.body_indices, *plant.robots], plant.name)
