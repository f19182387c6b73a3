"""[controller] of a scene: the laws that come along, and the limits of the joints' forces.

none               no forces
hold               every robot where it starts, by springs and dampers at its motors, with gravity carried
inverse_dynamics   robots through configurations: `goals`, by part, one or several, in `duration` or the least time

Others are registered (`registry.py`), or named as package.module:Class where the caller allows a file's code to run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from phistar.compiled import compile
from phistar.control.joint_laws import InverseDynamicsControl
from phistar.control.trajectories import JointTrajectory, joint_trajectory
from phistar.dynamics import forward_kinematics, gravity_load, jacobian
from phistar.errors import FileError, PhistarError
from phistar.io.packages import Folders
from phistar.loops.closure import closures, loop_frames
from phistar.model import Model
from phistar.model.names import unknown
from phistar.plant.scene_schema import ControllerEntry, Entry, Field, Positive
from phistar.plant.scene_sentences import validate_entry
from phistar.sim.coordinates import Coordinates
from phistar.sim.scenes.registry import Law, code_law, law_named, register_law
from phistar.spatial.value import LARGEST

if TYPE_CHECKING:
    from phistar.sim.scenes.scene import Setting

Control = Callable[[float, np.ndarray, np.ndarray], Any]  # (t, q, v) → joint forces (nv,)


@dataclass(frozen=True)
class Controlling:
    """Law of a scene, its factory and its settings."""

    law: str
    maker: Law
    settings: Mapping[str, Any]
    where: str


class HoldEntry(Entry):
    """Settings of `hold`."""

    stiffness: Positive = 400.0
    damping: Positive = 40.0


class InverseDynamicsEntry(Entry):
    """Settings of `inverse_dynamics`."""

    stiffness: Positive = 100.0
    damping: Positive = 20.0
    duration: Annotated[float, Field(ge=1e-3, lt=LARGEST)] | None = None
    velocity: Annotated[float, Field(ge=1e-6, lt=LARGEST)] | None = None
    acceleration: Annotated[float, Field(ge=1e-6, lt=LARGEST)] | None = None
    goals: dict[str, Any] = Field(default={})


def read_controller(entry: ControllerEntry, folders: Folders, code: bool, where: str) -> Controlling:
    """The [controller] table; a file that it names is looked for in the scene's folder."""
    if ":" in entry.law:
        if not code:
            raise FileError(
                f"{where}, law: {entry.law:.100} is Python code, which runs only where that is allowed: "
                "ps.Scene.load(path, code=True), on the command line --allow-code."
            )
        law = code_law(entry.law)
    else:
        law = law_named(entry.law, where)
    return Controlling(entry.law, law, law.read(entry.model_extra or {}, folders, where), where)


def check_controller(setting: Setting) -> None:
    """Check the file's controller without running it."""
    limits, controller = effort_limits(setting), setting.controller
    if controller.maker.drives and not limits.any():
        raise FileError(
            f"{controller.where}: {controller.law} drives joints with motors, and {setting.name} has none. Free "
            "joints, joints of an MJCF file that no actuator acts on, and joints whose effort limit is 0 have no motor."
        )
    _check_senses(setting, getattr(setting.law, "senses", {}))


def _check_senses(setting: Setting, senses: Mapping[str, int]) -> None:
    """Check that every reading a controller uses exists, with the right size."""
    slices = setting.sensing.slices
    for name, size in senses.items():
        if name not in slices:
            raise unknown("sensor", name, slices, setting.name)
        if slices[name].stop - slices[name].start != size:
            raise FileError(
                f"{setting.controller.where}: {setting.controller.law} needs a sensor {name} of {size} numbers; it has "
                f"{slices[name].stop - slices[name].start}."
            )


def effort_limits(setting: Setting) -> np.ndarray:
    """The largest force of every joint that a motor gives, (nv,); 0 without a motor."""
    most = np.zeros(setting.model.nv)
    for actuator in setting.plant.actuators:
        if actuator.kind == "force":
            most[actuator.rate] += actuator.limit
    return most


def by_motors(model: Model, driven: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """(q, T) → joint forces (nv,) at motors alone that do what T does, as far as motors can.

    In a closed chain, forces that differ by A*λ, what its loops can carry, do the same: S u + A*λ = T is solved in the
    least-squares sense, of least size. In a tree it is T at the motors.
    """
    if not model.loops:
        return lambda q, tau: driven * tau
    tree, frames, motors = model.tree, loop_frames(model), np.eye(model.nv)[:, driven]

    def share(q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        poses = {frame: forward_kinematics(tree, q, frame) for frame in frames}
        made = closures(model, q, poses)
        on_rates = np.broadcast_to(made.on_rates, (made.residual.shape[-1], model.nv))
        moving = np.concatenate([np.zeros((0, model.nv)), *(jacobian(tree, q, frame) for frame in frames)])
        columns = np.concatenate([motors, (made.on_frames @ moving + on_rates).T], axis=-1)
        force = np.zeros(model.nv)
        force[driven] = np.linalg.lstsq(columns, tau, rcond=1e-9)[0][: motors.shape[-1]]
        return force

    return share


def _hold(setting: Setting, gains: Mapping[str, Any]) -> Control:
    model, rest = setting.model, setting.start[0]
    driven = effort_limits(setting) > 0.0
    carried = by_motors(model, driven)
    places, rates = Coordinates(model).flat
    curved = [joint for joint in Coordinates(model).curved_joints if driven[joint.v_slice].any()]

    def hold(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Hold the starting posture by springs and dampers, with gravity compensated."""
        back = np.zeros(model.nv)  # rest ⊖ q, of what is driven
        back[rates] = rest[places] - q[places]
        for joint in curved:
            back[joint.v_slice] = joint.kind.difference(q[joint.q_slice], rest[joint.q_slice])
        pull = driven * (gains["stiffness"] * back - gains["damping"] * v)
        return pull + carried(q, gravity_load(model.tree, q))

    return hold


def _through(setting: Setting, settings: Mapping[str, Any]) -> Control:
    """WD89's inverse dynamics along the robots' trajectories; robots without goals stay where they are."""
    model, driven = setting.model, effort_limits(setting) > 0.0
    law = InverseDynamicsControl(model, kp=settings["stiffness"], kd=settings["damping"])
    compiled = compile(law, model, rows={"reference": model.nq + 2 * model.nv})
    paths, shared = _trajectories(setting, settings), by_motors(model, driven)
    rest, at_motors = setting.start[0], _places(model, driven)

    def through(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        wanted = [np.where(at_motors, rest, q), np.where(driven, 0.0, v), np.zeros(model.nv)]
        for places, rates, path in paths:
            point = path(min(t, path.duration))
            wanted[0][places], wanted[1][rates], wanted[2][rates] = point.q, point.v, point.a
        return shared(q, compiled(t, q, v, np.concatenate(wanted)))

    return through


def _places(model: Model, driven: np.ndarray) -> np.ndarray:
    """Whether each coordinate belongs to a joint with a motor, (nq,)."""
    found = np.zeros(model.nq, bool)
    for joint in model.joints:
        found[joint.q_slice] = driven[joint.v_slice].any()
    return found


def _trajectories(
    setting: Setting, settings: Mapping[str, Any]
) -> list[tuple[np.ndarray, np.ndarray, JointTrajectory]]:
    robots, found = {name: each for name, each in setting.plant.robots.items() if not each.bare}, []
    options = {name: settings[name] for name in ("duration", "velocity", "acceleration")}
    for name, goals in settings["goals"].items():
        if name not in robots:
            raise unknown("robot", name, robots, setting.name)
        view = setting.plant[name]
        through = goals if isinstance(goals, list) and goals and isinstance(goals[0], list) else [goals]
        try:
            path = joint_trajectory(view.model, [view.q(setting.start[0]).tolist(), *through], **options)
        except PhistarError as error:
            raise FileError(f"{setting.controller.where}, goals, {name}: {error}") from None
        found.append((view.places, view.rates, path))
    return found


def _none(setting: Setting, settings: Mapping[str, Any]) -> None:
    return None


def _checker(kind: type[Entry]) -> Callable[[Mapping[str, Any], Folders, str], Mapping[str, Any]]:
    return lambda settings, folders, where: validate_entry(kind, settings, where).model_dump()


register_law("none", Law(_checker(Entry), _none))
register_law("hold", Law(_checker(HoldEntry), _hold, drives=True))
register_law("inverse_dynamics", Law(_checker(InverseDynamicsEntry), _through, drives=True))
