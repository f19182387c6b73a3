"""The actuators that `plant.actuate` gives to the joints of a robot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import null_space

from phistar.errors import InfeasibleError, ModelError, PhistarError
from phistar.loops.feasible_rates import closure_jacobian
from phistar.model.names import unknown
from phistar.model.parts import CoupledJoints, Joint
from phistar.plant.actuators import AT_ONCE, TOLD, Actuator, Kind
from phistar.plant.joint_rows import joint_inertias
from phistar.plant.members import starting_state

if TYPE_CHECKING:
    from phistar.plant.plant import Plant

INDEPENDENT = 1e-8  # of motions that loops leave, of unit size: below it, a rate follows others


def actuators_of(plant: Plant, robot: str, kind: Kind, given: dict[str, Any]) -> Iterable[Actuator]:
    """One for each rate of the joints that are named, or of all with one rate that no coupling makes follow others."""
    prefix, model = plant.prefix(robot), plant.model
    own = [joint.name for joint in plant.robot(robot).model.joints]
    single = [n for n in own if model.joints[model.joint_indices[prefix + n]].nv == 1]
    following = {loop.joint_a for loop in plant.robot(robot).model.loops if isinstance(loop, CoupledJoints)}
    names = [name for name in single if name not in following]
    if given["joints"] is not None:
        for name in given["joints"]:
            if name not in own:
                raise unknown("joint", name, own, robot)
            if name not in single and kind not in ("force", *TOLD):
                raise ModelError(f"The joint '{name}' has several rates; a servo drives one.")
        names = list(given["joints"])
    limits = given["limits"]
    joints = [model.joints[model.joint_indices[prefix + name]] for name in names]
    rates = [(joint, k) for joint in joints for k in range(joint.nv)]
    if kind in TOLD:
        yield from _prescribed_joints(plant, kind, rates, given)
        return
    if limits is not None and np.shape(limits) not in ((), (1,), (len(rates),)):
        raise ModelError(
            f"{robot}: limits are one number, or one for each of the {len(rates)} rates that are driven; their "
            f"shape is {np.shape(limits)}."
        )
    for number, (joint, k) in enumerate(rates):
        limit = float(joint.kind.effort[k] if limits is None else np.broadcast_to(limits, (len(rates),))[number])
        name = joint.name if joint.nv == 1 else f"{joint.name}:{k}"
        yield Actuator(
            name, kind, joint.name, joint.v_slice.start + k, joint.q_slice.start, given["stiffness"],
            given["damping"], limit, given["gear"], given["command_range"], given["delay"],
        )  # fmt: skip


def _prescribed_joints(
    plant: Plant, kind: Kind, rates: list[tuple[Joint, int]], given: dict[str, Any]
) -> Iterable[Actuator]:
    """Joints that move as told, held by a damping that is large beside what they move."""
    for what in ("stiffness", "damping", "limits"):
        if np.any(given[what]):
            raise ModelError(f"A {kind} joint takes whatever force it needs; it was given {what}.")
    inertia = joint_inertias(plant.model, starting_state(plant)[0])
    for joint, k in rates:
        if not joint.kind.flat:
            raise ModelError(f"The joint '{joint.name}' turns on quaternions, and cannot be {kind} in a plant; fix it.")
        name, rate = joint.name if joint.nv == 1 else f"{joint.name}:{k}", joint.v_slice.start + k
        gains = 0.0, float(inertia[rate]) / AT_ONCE, np.inf
        yield Actuator(name, kind, joint.name, rate, joint.q_slice.start + k, *gains, given["gear"],
                       given["command_range"], given["delay"])  # fmt: skip


def without_contradictions(plant: Plant, actuators: tuple[Actuator, ...]) -> tuple[Actuator, ...]:
    """The actuators, where no joint is told to move in two ways, by itself or through a loop."""
    told = {each.rate: each for each in actuators if each.kind in TOLD}
    for each in actuators:
        if each.rate in told and each is not told[each.rate]:
            kinds = f"{each.kind} and {told[each.rate].kind}"
            raise ModelError(
                f"The joint '{each.joint}' is driven in two ways, {kinds}; one that moves as told has one."
            )
    still, moved = ([x.rate for x in told.values() if (x.kind == "locked") == locked] for locked in (True, False))
    if moved and plant.model.loops:
        free = null_space(closure_jacobian(plant.model, starting_state(plant)[0]))
        left = _rank(free[[*still, *moved]]) - _rank(free[still])
        if left < len(moved):
            names = ", ".join(repr(told[rate].joint) for rate in moved)
            raise InfeasibleError(
                f"Of the {len(moved)} rates that are told to {names}, loops leave {left} independent"
                f"{' beside the joints that are locked' if still else ''}: what one is told contradicts the others. "
                "Leave a joint of the loop free."
            )
    return actuators


def _rank(matrix: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(matrix, tol=INDEPENDENT)) if matrix.size else 0


def actuate(
    plant: Plant,
    robot: str,
    kind: Kind,
    joints: Iterable[str] | None = None,
    stiffness: float = 0.0,
    damping: float = 0.0,
    limits: float | Sequence[float] | None = None,
    gear: float = 1.0,
    command_range: tuple[float, float] = (-np.inf, np.inf),
    delay: float = 0.0,
) -> None:
    """Gives the joints of a robot actuators of one kind; those without one are passive.

    Parameters
    ----------
    robot : str
        The robot's name in the plant.
    kind : {"force", "position", "velocity", "impedance", "prescribed", "locked"}
        What the command is; an impedance takes three numbers: a coordinate, a rate and a force; a prescribed joint its
        acceleration, and a locked one nothing.
    joints : names, optional
        By default all joints with one rate, but those that follow others (mimic joints); of joints with several
        rates, a force drives each rate.
    stiffness, damping : float
        Gains, implicit in the step, in N m/rad and N m s/rad, or N/m and N s/m.
    limits : float or one per joint, optional
        Largest forces; the joints' own effort by default.
    gear : float
        What a command is multiplied by.
    command_range : pair
        The command is cut to it.
    delay : float
        How late it acts, s: a whole number of steps.
    """
    given = {"joints": None if joints is None else tuple(joints), "stiffness": stiffness, "damping": damping}
    given |= {"limits": limits, "gear": gear, "command_range": tuple(command_range), "delay": delay}
    plant.robot(robot)
    plant.drives.append((robot, kind, given))
    plant.invalidate()
    try:
        _ = plant.actuators
    except PhistarError:
        plant.drives.pop()
        plant.invalidate()
        raise
