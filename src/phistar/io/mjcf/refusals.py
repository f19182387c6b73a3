"""What an MJCF file may hold that changes masses, motion or passive forces and that no model here can express.

Each is refused by name, with the line to change; limits that no joint here can have are counted for the warnings.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from phistar.errors import FileError
from phistar.io.mjcf.compile import Compiled
from phistar.io.xml import quote

Refusal = tuple[Any, str]  # an element of the spec, and what is wrong with it


def refuse_other_physics(compiled: Compiled) -> None:
    """Raises a FileError about the first thing that a model cannot express."""
    _refuse_fluid(compiled)
    for check in (_bodies, _joints, _tendons, _actuators):
        for element, sentence in check(compiled):
            raise compiled.refuse(element, f"{sentence}; take it out to load the mechanism without it.")


def _refuse_fluid(compiled: Compiled) -> None:
    option = compiled.mj.opt
    if (option.density or option.viscosity) and compiled.has_passive_forces:
        raise FileError(
            f"{compiled.document.origins[0][0]}: <option> fills the world with a fluid (density {option.density:g}, "
            f"viscosity {option.viscosity:g}), whose forces a model cannot express; "
            "set both to 0 to load the mechanism without it."
        )


def _bodies(compiled: Compiled) -> Iterator[Refusal]:
    for body in compiled.spec.bodies:
        name = quote(body.name)
        if compiled.mj.body_gravcomp[body.id] and compiled.has_passive_forces:
            yield body, f"body {name} is held up against gravity (gravcomp), which a model cannot express"


def _joints(compiled: Compiled) -> Iterator[Refusal]:
    mj, free = compiled.mj, compiled.mujoco.mjtJoint.mjJNT_FREE
    for joint in compiled.spec.joints:
        name, dof = quote(joint.name), mj.jnt_dofadr[joint.id]
        springs, dampers = compiled.enabled("SPRING"), compiled.enabled("DAMPER")
        if springs and mj.jnt_plasticadr[joint.id] >= 0:
            yield joint, f"the spring of joint {name} yields (springyield), and a model's springs are elastic"
        if springs and mj.jnt_stiffnesspoly[joint.id].any():
            yield joint, f"the spring of joint {name} is not linear (stiffness with several coefficients)"
        if dampers and mj.dof_dampingpoly[dof].any():
            yield joint, f"the damper of joint {name} is not linear (damping with several coefficients)"
        if mj.jnt_type[joint.id] != free:
            continue
        # MuJoCo's rates of a free joint are in world axes and a model's in the body's: only linear damping is the same.
        if springs and mj.jnt_stiffness[joint.id]:
            yield joint, f"the free joint {name} has a spring (stiffness), which a model cannot express"
        if mj.dof_armature[dof]:
            yield joint, f"the free joint {name} has an armature, which a model cannot express"
        if compiled.enabled("FRICTIONLOSS") and mj.dof_frictionloss[dof]:
            yield joint, f"the free joint {name} has dry friction (frictionloss), which a model cannot express"


def _tendons(compiled: Compiled) -> Iterator[Refusal]:
    mj = compiled.mj
    forces = {
        "stiffness": (mj.tendon_stiffness, mj.tendon_stiffnesspoly, "SPRING"),
        "damping": (mj.tendon_damping, mj.tendon_dampingpoly, "DAMPER"),
        "frictionloss": (mj.tendon_frictionloss, mj.tendon_frictionloss, "FRICTIONLOSS"),
        "armature": (mj.tendon_armature, mj.tendon_armature, None),
    }
    for tendon in compiled.spec.tendons:
        for attribute, (linear, more, flag) in forces.items():
            if (linear[tendon.id] or more[tendon.id].any()) and (flag is None or compiled.enabled(flag)):
                yield tendon, f"tendon {quote(tendon.name)} has {attribute}, and a model has no tendons"


def _actuators(compiled: Compiled) -> Iterator[Refusal]:
    """Those that add inertia or damping to something else than one joint of one coordinate."""
    mj, dampers = compiled.mj, compiled.enabled("DAMPER")
    for actuator in compiled.spec.actuators:
        number, name = actuator.id, quote(actuator.name)
        damping = dampers and (mj.actuator_damping[number] or mj.actuator_dampingpoly[number].any())
        if (damping or mj.actuator_armature[number]) and compiled.driven[number] < 0:
            yield actuator, f"actuator {name} adds armature or damping to something else than a hinge or slide joint"
        if damping and mj.actuator_dampingpoly[number].any():
            yield actuator, f"the damping of actuator {name} is not linear (several coefficients)"


def unknown_limits(compiled: Compiled) -> Counter[str]:
    """Limits that are left out, tendons, which do nothing but limit once those with forces are refused, and what moves
    mocap bodies: without it they are bodies without joints, as MuJoCo has them at the start."""
    mj, kinds = compiled.mj, compiled.mujoco.mjtJoint
    balls = mj.jnt_limited.astype(bool) & (mj.jnt_type == kinds.mjJNT_BALL)
    uneven = mj.jnt_actfrclimited.astype(bool) & (mj.jnt_actfrcrange[:, 0] != -mj.jnt_actfrcrange[:, 1])
    counts = {
        "limits of ball joints": balls.sum(),
        "limits of joint forces that differ in the two directions": uneven.sum(),
        "tendons": mj.ntendon,
        "limits of tendons": mj.tendon_limited.sum(),
        "motions that mocap bodies, fixed where the file puts them, are given from outside": mj.nmocap,
    }
    return Counter({kind: int(count) for kind, count in counts.items() if count})
