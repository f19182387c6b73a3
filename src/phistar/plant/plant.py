"""A plant: robots, things and the world as one system, with one step."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from phistar.array_types import Array
from phistar.contact.surface import Surface
from phistar.errors import ModelError, PhistarError, ShapeError
from phistar.geometry.shape_records import Material, record_of
from phistar.io.packages import FolderList
from phistar.loops.closure import row_count
from phistar.model import Fixed, Model, ModelBuilder
from phistar.model.geometry import Geometry, Shape
from phistar.model.names import unknown
from phistar.plant.actuators import Actuator, Kind, entries_of
from phistar.plant.collision_groups import WORLD, Masks, Meeting, check_rule, convex, stated_laws
from phistar.plant.contact_forces import contact_torques
from phistar.plant.drives import actuate, actuators_of, without_contradictions
from phistar.plant.engine import System
from phistar.plant.fields import Field, add_field
from phistar.plant.ignored_pairs import ignore_overlaps, read_srdf
from phistar.plant.instant_motion import acceleration
from phistar.plant.joint_rows import check_curved_joints, joint_rows
from phistar.plant.keyframes import Keyframe
from phistar.plant.measurements import sense
from phistar.plant.members import PLAIN, Robot, add, add_body, bodies_of, starting_state
from phistar.plant.mounted_pairs import meeting_of
from phistar.plant.robot_view import RobotView
from phistar.plant.rollouts import rollout, tell_uncompiled, worker_sessions
from phistar.plant.sensor_kinds import Sensor
from phistar.plant.session import PlantState, Session
from phistar.plant.step_derivatives import step_derivatives
from phistar.plant.tendon_doors import actuate_tendon, add_tendon, tendons_of
from phistar.plant.tendon_rows import tendon_rows
from phistar.plant.tendons import Tendon
from phistar.spatial import Pose
from phistar.spatial.pose import IDENTITY

if TYPE_CHECKING:
    from phistar.sim.trajectory import Trajectory


@final
class Plant:
    """Robots, shapes, actuators and constraints as one system with one step.

    v⁺ = argmin ½‖v − v*‖²_A + Σ ℓ(Jv), A = ℳ + hB + h²K tree by tree: contact, joint limits, dry friction and servo
    gains are rows of one convex problem, solved implicitly; impacts with restitution are resolved inside the step.

    Parameters
    ----------
    gravity : (3,)
        In m/s².
    name : str
        What the plant is called.

    Examples
    --------
    >>> import phistar as ps
    >>> plant = ps.Plant()
    >>> plant.add_shape(ps.Plane())
    >>> plant.add(ps.load("planar2"), "arm", at=ps.Pose(xyz=(0, 0, 2)))
    >>> plant["arm"].q(plant.state()).shape
    (2,)
    """

    def __init__(self, gravity: Sequence[float] = (0.0, 0.0, -9.81), name: str = "plant") -> None:
        self.name, self._gravity = name, tuple(float(x) for x in gravity)
        self.robots: dict[str, Robot] = {}
        self.shapes: list[tuple[str, Shape, Pose, Material, str]] = []
        self.drives: list[tuple[str, Kind, dict[str, Any]]] = []
        self.ignored: list[tuple[str, str]] = []
        self.contacts: list[tuple[str, str, Surface]] = []
        self.contact_law: Surface | Literal["materials"] | None = "materials"  # of pairs that `contacts` do not name
        self.welds: list[tuple[str, str]] = []
        self.sensors: tuple[Sensor, ...] = ()
        self.file_sensors = 0  # the first of them, which an MJCF file brings along
        self.fields: tuple[Field, ...] = ()
        self.tendons: tuple[Tendon, ...] = ()
        self.pulls: tuple[Actuator, ...] = ()  # actuators of tendons
        self.masks: list[Masks] = []  # of the shapes that a file has
        self.brought_together: set[frozenset[str]] = set()  # labels of a file's shapes that meet whatever their masks
        self.kept_apart: set[frozenset[str]] = set()
        self.keyframes: dict[str, Keyframe] = {}
        self.motors: tuple[Actuator, ...] = ()  # a file's own
        self.source = ""
        self.without: tuple[str, ...] = ()  # physics of that file that was left out
        self.warnings: tuple[str, ...] = ()  # what a file has and the plant leaves out
        self.start: Array | None = None

    # Building

    add = add
    add_body = add_body

    def add_shape(
        self, shape: Shape, body: str = WORLD, at: Pose = IDENTITY, material: Material = PLAIN, name: str = ""
    ) -> None:
        """Adds a shape that collides to a body, "robot/body", to a frame, or to the world.

        On a body that bends it moves rigidly with one node, the nearest to its place (or that of the frame it is put
        on): its contact forces act there, and on the modes by their shapes at that node.

        Parameters
        ----------
        shape : Shape
            A sphere, capsule, box or plane.
        body, name : str
            The body, or frame of one, that carries it; what it is called.
        at : Pose
            Where it is on that body.
        material : Material
            Friction, restitution and margin.
        """
        record_of(convex(shape))
        self.shapes.append((body, shape, at, material, name))
        self.invalidate()

    actuate = actuate
    sense = sense
    add_field = add_field
    add_tendon = add_tendon
    actuate_tendon = actuate_tendon

    def weld(self, a: str, b: str) -> None:
        """Holds the frames "robot/frame" a and b, of which one may be the world's, together.

        Parameters
        ----------
        a, b : str
            Frames of the plant's model; where they are not together at the start, they are drawn there.
        """
        self.welds.append((a, b))
        self.invalidate()
        try:
            _ = self.model
        except PhistarError:
            self.welds.pop()
            self.invalidate()
            raise

    def ignore(self, a: str, b: str) -> None:
        """Bodies "robot/body", or whole robots, that pass through each other."""
        self.ignored.append((a, b))
        self.invalidate()

    ignore_overlaps = ignore_overlaps
    read_srdf = read_srdf

    def contact(self, a: str, b: str, surface: Surface) -> None:
        """States how two bodies touch, in place of what their materials make.

        Parameters
        ----------
        a, b : str
            Shapes, bodies "robot/body", whole robots, or the world; of several that name the same two, the last counts.
        surface : Surface
            The law in newtons and metres, which scales with nothing: margin, strength, damping, friction, bristles.

        Examples
        --------
        >>> import phistar as ps
        >>> plant = ps.Plant()
        >>> plant.add_shape(ps.Plane())
        >>> plant.add(ps.load("planar2"), "arm", at=ps.Pose(xyz=(0, 0, 2)))
        >>> plant.contact("arm", "world", ps.Surface(margin=0.002, strength=15.0, friction=0.3))
        """
        if not isinstance(surface, Surface):
            raise ModelError(f"plant.contact takes a ps.Surface; it was given {type(surface).__name__}.")
        check_rule(self, a, b)
        self.contacts.append((a, b, surface))
        self.invalidate()

    def default_contact(self, surface: Surface | None) -> None:
        """States how everything touches that `contact` does not name, in place of what materials make.

        Parameters
        ----------
        surface : Surface, optional
            The law of those pairs; None: they pass through each other.
        """
        self.contact_law = surface
        self.invalidate()

    @property
    def gravity(self) -> tuple[float, ...]:
        """The gravitational acceleration (3,) in the world."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Sequence[float]) -> None:
        self._gravity = tuple(float(x) for x in value)
        self.invalidate()

    def invalidate(self) -> None:
        """Drop everything derived from the parts."""
        for name in ("model", "actuators", "meeting", "system", "session", "_workers", "_start"):
            self.__dict__.pop(name, None)

    def robot(self, name: str) -> Robot:
        """A robot as it was added."""
        if name not in self.robots:
            raise unknown("robot", name, list(self.robots), self.name)
        return self.robots[name]

    # What it is

    @cached_property
    def model(self) -> Model:
        """Everything that moves, as one model: names are "robot/body"."""
        builder = ModelBuilder(self.name, gravity=self.gravity)
        for robot in self.robots.values():
            builder.attach(robot.model, robot.on, robot.at, self.prefix(robot.name))
        for number, (a, b) in enumerate(self.welds):
            builder.loop(f"weld{number}", a, b, joint=Fixed())
        for body, shape, at, _, name in self.shapes[len(self.masks) :]:  # to be seen; those of a file are its robot's
            builder.geometry(body, Geometry(shape, at, name, role="visual"))
        return builder.build(strict=False)

    def prefix(self, name: str) -> str:
        """Prefix of the names of a robot's own parts in the plant's model."""
        own = name == self.name and (bool(self.source) or len(self.robots) == 1)  # what an MJCF file brings along
        return "" if own or self.robots[name].bare else f"{name}/"

    def __getitem__(self, name: str) -> RobotView:
        robot = self.robot(name)
        prefix = self.prefix(name)
        bodies = [self.model.bodies[self.model.joint_indices[prefix + joint.name]] for joint in robot.model.joints]
        places, rates = [k for body in bodies for k in body.coordinates], [k for body in bodies for k in body.rates]
        return RobotView(name, robot.model, np.array(places, int), np.array(rates, int))

    @cached_property
    def actuators(self) -> tuple[Actuator, ...]:
        """Actuators in the order of the commands."""
        own = (actuator for drive in self.drives for actuator in actuators_of(self, *drive))
        return without_contradictions(self, (*self.motors, *own, *self.pulls))

    @property
    def nu(self) -> int:
        """Entries of a command."""
        return entries_of(self.actuators)

    @cached_property
    def meeting(self) -> Meeting:
        """Shapes that may touch, whose they are, and which groups of them meet."""
        return meeting_of(self)

    @cached_property
    def system(self) -> System:
        """The tables' source: model, shapes, groups that meet, rows."""
        rows, tendons = [row for actuator in self.actuators if (row := actuator.row)], tendons_of(self)
        shapes = tuple(replace(shape, shape=convex(shape.shape)) for shape in self.meeting.shapes)
        rows = [*rows, *joint_rows(self.model, self._start[0]), *tendon_rows(tendons)]
        return System(self.model, shapes, self.meeting.meets, tuple(rows), stated_laws(self), tendons)

    bodies_of = bodies_of

    # State and step

    @cached_property
    def _start(self) -> tuple[Array, Array]:
        return starting_state(self)

    def state(self, q: Any = None, v: Any = None) -> PlantState:
        """The state that the plant starts in, or as given, without memory of contacts.

        Parameters
        ----------
        q, v : (nq,), (nv,), optional
            Coordinates and rates of `plant.model`.

        Returns
        -------
        PlantState
        """
        model = self.model
        q = self._start[0] if q is None else model.checked_q(q)
        v = self._start[1] if v is None else model.checked(v, model.nv, "v")
        if q.ndim != 1 or v.ndim != 1:
            raise ShapeError("A plant's state is one state: q (nq,) and v (nv,).")
        return PlantState(q.copy(), v.copy())

    @cached_property
    def session(self) -> Session:
        """The plant at work: it holds the state between steps, for one thread at a time."""
        for robot in self.robots.values():
            check_curved_joints(robot.model)
        session = Session(self.system, self.actuators, self.name, self.fields)
        tell_uncompiled(self.name, session.engine.moves)
        return session

    def sessions(self, count: int) -> list[Session]:
        """`count` sessions, one for each thread."""
        return worker_sessions(self, self._workers, count)

    @cached_property
    def _workers(self) -> list[Session]:
        return []

    @property
    def closures(self) -> int:
        """Rows of the loops of its model."""
        return row_count(self.model) if self.model.loops else 0

    def step(self, state: PlantState, command: Any = None, h: float = 0.002, force: Any = None) -> PlantState:
        """The state after a step of h seconds under a command, held over it.

        Parameters
        ----------
        state : PlantState, as `plant.state()` or a step returned it
        command : (nu,), optional
            One entry per actuator, three of an impedance: forces, coordinates or rates, as it says; None is zero.
        h : float
            In s.
        force : (nv,), optional
            Generalized forces from outside, on any rate.

        Returns
        -------
        PlantState

        Examples
        --------
        >>> import phistar as ps
        >>> plant = ps.Plant()
        >>> plant.add(ps.load("planar2"), "arm")
        >>> plant.step(plant.state(), h=0.01).v.shape
        (2,)
        """
        session = self.session
        session.resume(state)
        session.drive(command, force, h)
        session.advance(h)
        return session.state()

    acceleration = acceleration
    rollout = rollout
    contact_torques = contact_torques
    step_derivatives = step_derivatives

    @staticmethod
    def load(path: str | os.PathLike[str], packages: FolderList = (), without: Collection[str] = ()) -> Plant:
        """A plant from a file: MJCF (.xml), or TOML as `plant.save` writes it.

        Parameters
        ----------
        path : path
            The file.
        packages : path or list of paths
            Folders beside the file's own in which the files that it names may lie.
        without : names
            Physics of an MJCF file that a plant has not and that is left out on request: "tendons", "springs", …

        Returns
        -------
        Plant
        """
        from phistar.plant.scene_files import load_plant

        return load_plant(path, packages, without)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plant as TOML; `Plant.load` reads it again."""
        from phistar.plant.scene_files import save_plant

        save_plant(self, path)

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """JSON Schema of a plant's TOML file, for editors that complete and check it.

        Returns
        -------
        dict
            To be written by `json.dump`; a file names it in its first line, `#:schema plant.schema.json`.

        Examples
        --------
        >>> sorted(ps.Plant.json_schema()["properties"])[:3]
        ['actuator', 'contact', 'format_version']
        """
        from phistar.plant.scene_schema import json_schema

        return json_schema()

    def simulate(self, duration: float, **options: Any) -> Trajectory:
        """See `ps.simulate`."""
        from phistar.sim.plant_runs import simulate_plant

        return simulate_plant(self, duration, **options)

    def __repr__(self) -> str:
        return f"<Plant {self.name!r}: {len(self.robots)} robots, nv={self.model.nv}, {self.nu} actuators>"
