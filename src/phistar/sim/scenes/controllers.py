"""[controller] of a scene: the laws that a file can name, and the limits of the joints' forces.

none               no forces
hold               every robot where it starts, by springs and dampers at its motors, with gravity carried
inverse_dynamics   robots through configurations: `goals`, by part, one or several, in `duration` or the least time
grapple            two arms capture a body; its settings are those of `phistar.capture`
wd89               two arms follow one trajectory to it (WD89 §4); settings as in `phistar.capture.baseline`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.compiled import compile
from phistar.control.joint_laws import InverseDynamicsControl
from phistar.control.sampled import SampledController
from phistar.control.trajectories import JointTrajectory, joint_trajectory
from phistar.dynamics import forward_kinematics, gravity_load, jacobian
from phistar.errors import FileError, PhistarError
from phistar.io.packages import Folders
from phistar.loops.closure import closures, loop_frames
from phistar.model import Free, Model
from phistar.model.names import unknown
from phistar.model.parts import CoupledJoints
from phistar.sim.coordinates import Coordinates
from phistar.sim.scenes.parts import Part, named_file
from phistar.sim.scenes.table import Table

if TYPE_CHECKING:
    from phistar.sim.scenes.scene import Setting

LAWS = ("none", "hold", "inverse_dynamics", "grapple", "wd89")
CAPTURES = ("grapple", "wd89")

Control = Callable[[float, np.ndarray, np.ndarray], Any]  # (t, q, v) → joint forces (nv,)


@dataclass(frozen=True)
class Controlling:
    """The law of a scene, what it is set to, and a limit of the joints' forces where the model has none."""

    law: str
    settings: Mapping[str, Any]
    torque_limit: np.ndarray | None
    where: str


def read_controller(table: Table, folders: Folders) -> Controlling:
    """The [controller] table; a file that it names is looked for in the scene's folder."""
    law = table.text("law", "none", LAWS)
    limit = table.take("torque_limit", None)
    if limit is not None:
        limit = (
            table.vector("torque_limit", None)
            if isinstance(limit, list)
            else np.atleast_1d(table.number("torque_limit"))
        )
        if not (limit > 0.0).all():
            raise table.wrong("torque_limit", "a number greater than 0, or a list of them,")
    if law in CAPTURES:
        own = table.rest()
        own |= {"rules": named_file(table, "rules", folders)} if isinstance(own.get("rules"), str) else {}
        return Controlling(law, own, limit, table.where)
    defaults = {"hold": (400.0, 40.0), "inverse_dynamics": (100.0, 20.0)}.get(law)
    settings: dict[str, Any] = {}
    if defaults:
        settings = {"stiffness": table.number("stiffness", defaults[0], 0.0)}
        settings["damping"] = table.number("damping", defaults[1], 0.0)
    if law == "inverse_dynamics":
        settings["duration"] = table.number("duration", None, 1e-3)
        settings["velocity"] = table.number("velocity", None, 1e-6)
        settings["acceleration"] = table.number("acceleration", None, 1e-6)
        settings["goals"] = table.table("goals").rest()
    table.done()
    return Controlling(law, settings, limit, table.where)


def controller_of(setting: Setting) -> Control | SampledController[Any]:
    """The controller that the file names."""
    law, model, settings = setting.controller.law, setting.model, setting.controller.settings
    if law == "grapple":
        from phistar.capture import from_scene

        return from_scene(model, settings)
    if law == "wd89":
        from phistar.capture.baseline import from_scene as trajectory

        return trajectory(model, settings)
    if law == "none":
        still = np.zeros(model.nv)
        return lambda t, q, v: still
    if law == "hold":
        return _hold(setting)
    return _through(setting)


def check_controller(setting: Setting) -> None:
    """Finds what is wrong with the file's controller, apart from running it."""
    limits, law = effort_limits(setting), setting.controller.law
    if law in ("hold", "inverse_dynamics") and not limits.any():
        raise FileError(
            f"{setting.controller.where}: {law} drives joints with motors, and {setting.name} has none. Free joints, "
            "joints of an MJCF file that no actuator acts on, and joints whose effort limit is 0 have no motor."
        )
    if setting.controller.law == "inverse_dynamics":
        _trajectories(setting)
    elif setting.controller.law in CAPTURES:
        _check_senses(setting, getattr(controller_of(setting), "senses", {}))


def _check_senses(setting: Setting, senses: Mapping[str, int]) -> None:
    """Every reading that a controller goes by must be there, with as many numbers."""
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
    """The largest force of every joint, (nv,): the model's, or `torque_limit` where it has none; 0 without a motor."""
    driven, given = driven_rates(setting.model), setting.controller.torque_limit
    limits = np.where(driven, setting.model.effort_limits, 0.0)
    if given is None:
        return limits
    if len(given) not in (1, driven.sum()):
        raise FileError(
            f"{setting.controller.where}, torque_limit: one number, or one for each of the {driven.sum()} rates of "
            f"joints with motors was expected; it has {len(given)}."
        )
    own = np.full(len(limits), np.inf)
    own[driven] = given
    return np.where(np.isfinite(limits), limits, own)


def driven_rates(model: Model) -> np.ndarray:
    """Whether each rate has a motor, (nv,): not those of free joints, of joints whose effort is limited to 0 (in MJCF
    all that no actuator acts on), and of joints that a coupling makes follow others."""
    following = {loop.joint_a for loop in model.loops if isinstance(loop, CoupledJoints)}
    driven = np.array(model.effort_limits > 0.0)
    for joint in model.joints:
        if isinstance(joint.kind, Free) or joint.name in following:
            driven[joint.v_slice] = False
    return driven


def by_motors(model: Model, driven: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """(q, T) → joint forces (nv,) at motors alone that do what T does, as far as motors can.

    In a closed chain, forces that differ by A*λ, what its loops can carry, do the same: S u + A*λ = T is solved in the
    least-squares sense, of least size. In a tree it is T at the motors.
    """
    if not model.loops:
        return lambda q, tau: driven * tau
    tree, frames, motors = model.tree, loop_frames(model), np.eye(model.nv)[:, driven]

    def shared(q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        poses = {frame: forward_kinematics(tree, q, frame) for frame in frames}
        made = closures(model, q, poses)
        on_rates = np.broadcast_to(made.on_rates, (made.residual.shape[-1], model.nv))
        moving = np.concatenate([np.zeros((0, model.nv)), *(jacobian(tree, q, frame) for frame in frames)])
        columns = np.concatenate([motors, (made.on_frames @ moving + on_rates).T], axis=-1)
        force = np.zeros(model.nv)
        force[driven] = np.linalg.lstsq(columns, tau, rcond=1e-9)[0][: motors.shape[-1]]
        return force

    return shared


def _hold(setting: Setting) -> Control:
    model, gains, rest = setting.model, setting.controller.settings, setting.start[0]
    driven = driven_rates(model)
    carried = by_motors(model, driven)
    places, rates = Coordinates(model).flat
    curved = [joint for joint in Coordinates(model).curved if driven[joint.v_slice].any()]

    def hold(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Where it was, by springs and dampers, with gravity carried."""
        back = np.zeros(model.nv)  # rest ⊖ q, of what is driven
        back[rates] = rest[places] - q[places]
        for joint in curved:
            back[joint.v_slice] = joint.kind.difference(q[joint.q_slice], rest[joint.q_slice])
        pull = driven * (gains["stiffness"] * back - gains["damping"] * v)
        return pull + carried(q, gravity_load(model.tree, q))

    return hold


def _through(setting: Setting) -> Control:
    """WD89's inverse dynamics along the robots' trajectories; robots without goals stay where they are."""
    model, settings, driven = setting.model, setting.controller.settings, driven_rates(setting.model)
    law = InverseDynamicsControl(model, kp=settings["stiffness"], kd=settings["damping"])
    compiled = compile(law, model, rows={"reference": model.nq + 2 * model.nv})
    paths, shared = _trajectories(setting), by_motors(model, driven)
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
    joints = (np.full(joint.nq, driven[joint.v_slice].any()) for joint in model.joints)
    return np.concatenate([np.zeros(0, bool), *joints])


def _trajectories(setting: Setting) -> list[tuple[np.ndarray, np.ndarray, JointTrajectory]]:
    settings, parts = setting.controller.settings, {part.name: part for part in setting.parts if part.robot}
    model, found = setting.model, []
    options = {name: settings[name] for name in ("duration", "velocity", "acceleration")}
    for name, goals in settings["goals"].items():
        if name not in parts:
            raise unknown("robot", name, parts, setting.name)
        part: Part = parts[name]
        assert part.robot is not None
        joints = [model.joint(f"{name}/{own.name}") for own in part.robot.joints]
        places = np.concatenate([np.arange(model.nq)[joint.q_slice] for joint in joints])
        rates = np.concatenate([np.arange(model.nv)[joint.v_slice] for joint in joints])
        through = goals if isinstance(goals, list) and goals and isinstance(goals[0], list) else [goals]
        try:
            path = joint_trajectory(part.robot, [setting.start[0][places].tolist(), *through], **options)
        except PhistarError as error:
            raise FileError(f"{setting.controller.where}, goals, {name}: {error}") from None
        found.append((places, rates, path))
    return found
