"""Bodies, joints and sites of a compiled MJCF file, hung into a ModelBuilder.

The body frame after a joint at `pos` p of the body is T ← T · Trans(p) · J(q − ref) · Trans(−p) (MuJoCo's kinematics);
several joints of one body apply in order, each but the last on a massless body of its own. The frame that has a body's
name is MuJoCo's body frame, wherever its joints are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.io.mjcf.compile import Compiled
from phistar.io.mjcf.meshes import pose
from phistar.io.mjcf.mjcf_geometry import geometries
from phistar.io.xml import quote
from phistar.model import Fixed, Free, ModelBuilder, Prismatic, Revolute, Spherical
from phistar.model.joints import JointKind
from phistar.spatial import Inertia, Pose, from_axis_angle


@dataclass(frozen=True)
class Names:
    """Names of the numbered bodies, joints and sites of the compiled model; no two frames alike."""

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    sites: tuple[str, ...]
    frames: set[str]

    def unique(self, name: str) -> str:
        """The name, or the first of name_2, name_3, … that no body or site has; reserves it."""
        return _unused_name(name, self.frames)

    def unused_joint(self, name: str) -> str:
        """The same among joints."""
        return name if name not in self.joints else self.unique(f"{name}_fixed")


def read_names(mj: Any) -> Names:
    """MJCF lets bodies, joints and sites share a name; here a body keeps it, and a site becomes `name_site`."""
    bodies = ["world", *(mj.body(body).name for body in range(1, mj.nbody))]
    frames = {name for name in bodies if name}
    bodies = [name or _unused_name(f"body{number}", frames) for number, name in enumerate(bodies)]
    joints = [mj.joint(joint).name for joint in range(mj.njnt)]
    given = {name for name in joints if name}
    for joint, body in enumerate(mj.jnt_bodyid):  # an only joint is called after its body
        joints[joint] = joints[joint] or _unused_name(
            bodies[body] if mj.body_jntnum[body] == 1 else f"joint{joint}", given
        )
    sites = []
    for site in range(mj.nsite):
        name = mj.site(site).name or f"site{site}"
        sites.append(_unused_name(f"{name}_site" if name in frames else name, frames))
    return Names(tuple(bodies), tuple(joints), tuple(sites), frames)


def _unused_name(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate


def add_tree(builder: ModelBuilder, compiled: Compiled, names: Names) -> None:
    """All bodies in MuJoCo's order, which is depth-first, then the sites."""
    for geometry in geometries(compiled, 0):
        builder.geometry("world", geometry)
    for body in range(1, compiled.mj.nbody):
        try:
            _add_body(builder, compiled, names, body)
        except ModelError as problem:
            raise compiled.refuse(compiled.bodies[body], f"body {quote(names.bodies[body])}: {problem}") from None
    for site, name in enumerate(names.sites):
        placement = pose(compiled.mj.site_pos[site], compiled.mj.site_quat[site])
        builder.frame(name, names.bodies[compiled.mj.site_bodyid[site]], placement)


@dataclass(frozen=True)
class _Joint:
    """A joint at `anchor` of its body; `before` undoes `ref`, so that q is MuJoCo's qpos."""

    name: str
    kind: JointKind
    before: Pose
    anchor: np.ndarray


def _add_body(builder: ModelBuilder, compiled: Compiled, names: Names, body: int) -> None:
    mj, name = compiled.mj, names.bodies[body]
    carrier, start = names.bodies[mj.body_parentid[body]], pose(mj.body_pos[body], mj.body_quat[body])
    *before, last = list(_joints(compiled, names, body)) or [
        _Joint(names.unused_joint(name), Fixed(), Pose(), np.zeros(3))
    ]
    if isinstance(last.kind, Free):
        start = Pose()  # its coordinates are the pose in the world
    for joint in before:
        link, placement = names.unique(f"{name}_{joint.name}"), start @ Pose(xyz=joint.anchor) @ joint.before
        builder.body(link, carrier, joint.kind, placement, joint_name=joint.name, offset=Pose(xyz=-joint.anchor))
        carrier, start = link, Pose()
    builder.body(
        *(name, carrier, last.kind, start @ Pose(xyz=last.anchor) @ last.before),
        *(_inertia(mj, body), geometries(compiled, body)),
        joint_name=last.name,
        offset=Pose(xyz=-last.anchor),
    )


def _joints(compiled: Compiled, names: Names, body: int) -> Iterator[_Joint]:
    mj, kinds = compiled.mj, compiled.mujoco.mjtJoint
    for joint in range(mj.body_jntadr[body], mj.body_jntadr[body] + mj.body_jntnum[body]):
        common, name = _passive(compiled, joint), names.joints[joint]
        anchor, axis = mj.jnt_pos[joint].copy(), mj.jnt_axis[joint].copy()
        reference = float(mj.qpos0[mj.jnt_qposadr[joint]])
        if mj.jnt_type[joint] == kinds.mjJNT_FREE:
            yield _Joint(name, Free(damping=common["damping"]), Pose(), np.zeros(3))  # the rest is refused or left out
        elif mj.jnt_type[joint] == kinds.mjJNT_BALL:
            yield _Joint(name, Spherical(**common, effort=_effort(compiled, joint)), Pose(), anchor)
        elif mj.jnt_type[joint] == kinds.mjJNT_HINGE:
            back = Pose(rotation=from_axis_angle(axis, -reference))
            yield _Joint(name, Revolute(axis=axis, **common, **_scalar(compiled, joint)), back, anchor)
        else:
            back = Pose(xyz=-reference * axis)  # where a slide is along its axis makes no difference
            yield _Joint(name, Prismatic(axis=axis, **common, **_scalar(compiled, joint)), back, np.zeros(3))


def _passive(compiled: Compiled, joint: int) -> dict[str, Any]:
    """Passive parameters of a joint, the same on all its degrees of freedom."""
    mj, dof = compiled.mj, compiled.mj.jnt_dofadr[joint]
    armature, damping = compiled.reflected_inertia
    return {
        "armature": float(mj.dof_armature[dof] + armature[joint]),
        "damping": float(mj.dof_damping[dof] + damping[joint]) if compiled.is_enabled("DAMPER") else 0.0,
        "stiffness": float(mj.jnt_stiffness[joint]) if compiled.is_enabled("SPRING") else 0.0,
        "friction": float(mj.dof_frictionloss[dof]) if compiled.is_enabled("FRICTIONLOSS") else 0.0,
    }


def _scalar(compiled: Compiled, joint: int) -> dict[str, Any]:
    """Further parameters of one-coordinate joints."""
    mj = compiled.mj
    limited = mj.jnt_limited[joint] and compiled.is_enabled("LIMIT")
    return {
        "rest": float(mj.qpos_spring[mj.jnt_qposadr[joint]]),
        "limits": tuple(mj.jnt_range[joint].tolist()) if limited else None,
        "effort": _effort(compiled, joint),
    }


def _effort(compiled: Compiled, joint: int) -> float | None:
    """Largest force of the actuators, by their force and control ranges behind their gears, within the joint's own
    range; 0 where none acts: only the file's own springs, dampers and friction do anything there."""
    most, mj = float(compiled.efforts[joint]), compiled.mj
    if mj.jnt_actfrclimited[joint]:
        most = min(most, float(np.abs(mj.jnt_actfrcrange[joint]).max()))
    return most if np.isfinite(most) else None


def _inertia(mj: Any, body: int) -> Inertia:
    """I_c = R diag(moments) R*, from MuJoCo's principal axes."""
    axes = pose(mj.body_ipos[body], mj.body_iquat[body]).rotation
    tensor = axes @ np.diag(mj.body_inertia[body]) @ axes.T
    return Inertia.unchecked(float(mj.body_mass[body]), mj.body_ipos[body].copy(), (tensor + tensor.T) / 2)
