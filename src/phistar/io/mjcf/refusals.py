"""MJCF features that change masses, motion or passive forces and that no model here can express.

Each is refused by name, with its line and the way to do without it; limits that no joint here can have are counted for
the warnings.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from phistar.errors import FileError
from phistar.io.mjcf.compile import Compiled
from phistar.io.mjcf.supported_tendons import wraps
from phistar.io.xml import quote

KINDS = {
    "fluid": "forces of a fluid",
    "gravcomp": "bodies held up against gravity",
    "springs": "springs that are not linear or of free joints",
    "dampers": "dampers that are not linear",
    "armature": "armatures of free joints",
    "friction": "dry friction of free joints",
    "tendons": "tendons with forces or inertia",
    "actuators": "armatures and dampers of actuators on something else than one joint",
    "equalities": "equality constraints of more than two joints or bodies",
}
Refusal = tuple[Any, str, str]  # an element of the spec, the kind of thing, and what is wrong with it


def check_without(without: Collection[str]) -> None:
    """Refuse unknown kinds of things to leave out."""
    for kind in [without] if isinstance(without, str) else without:
        if kind not in KINDS:
            raise FileError(f"without names {quote(str(kind))}; what can be left out is {', '.join(KINDS)}.")


def other_physics(compiled: Compiled, without: Collection[str]) -> Counter[str]:
    """Refuse what a model cannot express, but for kinds that the caller wants to do `without`: these are counted."""
    left_out: Counter[str] = Counter()
    for check in (_fluid, _bodies, _joints, _tendons, _actuators):
        for element, kind, sentence in check(compiled):
            if kind not in without:
                raise refusal(compiled, element, kind, sentence)
            left_out[f"{KINDS[kind]}, as asked for,"] += 1
    return left_out


def refusal(compiled: Compiled, element: Any, kind: str, sentence: str) -> FileError:
    """The refusal of one thing, with the way to load the mechanism all the same."""
    way = f"{sentence}; without=[{kind!r}] loads the mechanism without it, on the command line --without {kind}."
    return FileError(f"{compiled.document.origins[0][0]}: {way}") if element is None else compiled.refuse(element, way)


def _fluid(compiled: Compiled) -> Iterator[Refusal]:
    option, ellipsoids = compiled.mj.opt, bool(compiled.mj.geom_fluid[:, 0].any())
    if not ((option.density or option.viscosity) and compiled.has_passive_forces):
        return
    told = f"<option> fills the world with a fluid (density {option.density:g}, viscosity {option.viscosity:g})"
    if not compiled.document.plant:
        yield None, "fluid", f"{told}, whose forces a model cannot express and a plant can: ps.Plant.load keeps them"
    elif ellipsoids:
        yield None, "fluid", f"{told} that acts on geoms as ellipsoids (fluidshape); a plant has boxes of bodies alone"


def _bodies(compiled: Compiled) -> Iterator[Refusal]:
    for body in compiled.spec.bodies if not compiled.document.plant else ():
        if compiled.mj.body_gravcomp[body.id] and compiled.has_passive_forces:
            told = f"body {quote(body.name)} is held up against gravity (gravcomp)"
            yield body, "gravcomp", f"{told}, which a model cannot express and a plant can: ps.Plant.load keeps it"


def _joints(compiled: Compiled) -> Iterator[Refusal]:
    mj, free = compiled.mj, compiled.mujoco.mjtJoint.mjJNT_FREE
    for joint in compiled.spec.joints:
        name, dof = quote(joint.name), mj.jnt_dofadr[joint.id]
        springs, dampers = compiled.is_enabled("SPRING"), compiled.is_enabled("DAMPER")
        if springs and mj.jnt_plasticadr[joint.id] >= 0:
            yield (
                joint,
                "springs",
                f"the spring of joint {name} yields (springyield), and a model's springs are elastic",
            )
        if springs and mj.jnt_stiffnesspoly[joint.id].any():
            yield joint, "springs", f"the spring of joint {name} is not linear (stiffness with several coefficients)"
        if dampers and mj.dof_dampingpoly[dof].any():
            yield joint, "dampers", f"the damper of joint {name} is not linear (damping with several coefficients)"
        if mj.jnt_type[joint.id] != free:
            continue
        # MuJoCo's rates of a free joint are in world axes and a model's in the body's: only linear damping is the same.
        if springs and mj.jnt_stiffness[joint.id]:
            yield joint, "springs", f"the free joint {name} has a spring (stiffness), which a model cannot express"
        if mj.dof_armature[dof]:
            yield joint, "armature", f"the free joint {name} has an armature, which a model cannot express"
        if compiled.is_enabled("FRICTIONLOSS") and mj.dof_frictionloss[dof]:
            yield (
                joint,
                "friction",
                f"the free joint {name} has dry friction (frictionloss), which a model cannot express",
            )


def _tendons(compiled: Compiled) -> Iterator[Refusal]:
    """Tendons with forces: a model has none, a plant those that are linear and run straight from site to site."""
    mj, plant = compiled.mj, compiled.document.plant
    forces = {
        "stiffness": (mj.tendon_stiffness, mj.tendon_stiffnesspoly, "SPRING"),
        "damping": (mj.tendon_damping, mj.tendon_dampingpoly, "DAMPER"),
        "frictionloss": (mj.tendon_frictionloss, mj.tendon_frictionloss, "FRICTIONLOSS"),
        "armature": (mj.tendon_armature, mj.tendon_armature, None),
    }
    for tendon in compiled.spec.tendons:
        for attribute, (linear, more, flag) in forces.items():
            if (linear[tendon.id] or more[tendon.id].any()) and (flag is None or compiled.is_enabled(flag)):
                told = f"tendon {quote(tendon.name)} has {attribute}"
                if not plant:
                    told = f"{told}, and a model has no tendons; a plant has: ps.Plant.load keeps them"
                    yield tendon, "tendons", told
                elif wraps(compiled, tendon.id):
                    yield tendon, "tendons", f"{told} and wraps around geoms; a plant's run straight between sites"
                elif attribute == "armature" or (more is not linear and more[tendon.id].any()):
                    yield tendon, "tendons", f"{told} that is {'an inertia' if more is linear else 'not linear'}"


def _actuators(compiled: Compiled) -> Iterator[Refusal]:
    """Actuators that add inertia or damping to other than one joint of one coordinate."""
    mj, dampers = compiled.mj, compiled.is_enabled("DAMPER")
    for actuator in compiled.spec.actuators:
        number, name = actuator.id, quote(actuator.name)
        damping = dampers and (mj.actuator_damping[number] or mj.actuator_dampingpoly[number].any())
        if (damping or mj.actuator_armature[number]) and compiled.driven_joints[number] < 0:
            told = f"actuator {name} adds armature or damping to something else than a hinge or slide joint"
            yield actuator, "actuators", told
        if damping and mj.actuator_dampingpoly[number].any():
            yield actuator, "dampers", f"the damping of actuator {name} is not linear (several coefficients)"


def unknown_limits(compiled: Compiled) -> Counter[str]:
    """Limits that are left out, tendons, which do nothing but limit once those with forces are refused, and what moves
    mocap bodies: without it they are bodies without joints, as MuJoCo has them at the start."""
    mj, kinds = compiled.mj, compiled.mujoco.mjtJoint
    balls = mj.jnt_limited.astype(bool) & (mj.jnt_type == kinds.mjJNT_BALL)
    uneven = mj.jnt_actfrclimited.astype(bool) & (mj.jnt_actfrcrange[:, 0] != -mj.jnt_actfrcrange[:, 1])
    one_way = sum(low != -high for low, high in (drive.force_range for drive in compiled.drives))
    pulling = 0 if compiled.document.plant else one_way
    counts = {
        "limits of ball joints": balls.sum(),
        "smaller limits of forces that differ in the two directions": uneven.sum() + pulling,
        "tendons": 0 if compiled.document.plant else mj.ntendon,
        "limits of tendons": 0 if compiled.document.plant else mj.tendon_limited.sum(),
        "motions that mocap bodies, fixed where the file puts them, are given from outside": mj.nmocap,
    }
    return Counter({kind: int(count) for kind, count in counts.items() if count})
