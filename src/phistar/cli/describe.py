"""A model as plain data (text, numbers, lists), in SI units: what `phistar info` shows and what its --json prints."""

import math
from typing import Any

import numpy as np

from phistar.errors import PhistarError
from phistar.model import Model
from phistar.model.joints import Coupling, CutKind, JointKind
from phistar.model.parts import WORLD, Body, CoupledJoints, Frame, Joint, Loop

AXES = ("axis", "axis1", "axis2", "normal")
PER_DOF = ("armature", "damping", "stiffness", "effort", "velocity")


def describe(model: Model, source: str | None = None) -> dict[str, Any]:
    """Every fact that `info` shows; None stands for "unlimited" and for "unknown"."""
    return {
        "name": model.name,
        "source": source,
        "nq": model.nq,
        "nv": model.nv,
        "mass": float(model.total_mass),
        "gravity": plain(model.gravity),
        "bodies": [_body(model, body) for body in model.bodies],
        "joints": [_joint(model, joint) for joint in model.joints],
        "frames": [_frame(model, frame) for frame in model.frames.values()],
        "loops": [_loop(loop) for loop in model.loops],
        "embedded": _embedding_summary(model),
        "warnings": list(model.warnings),
    }


def _embedding_summary(model: Model) -> dict[str, Any] | None:
    """Summary of `model.embedded()`, or the reason it is refused; None without loops."""
    if not model.loops:
        return None
    try:
        found = model.embedded().embedding
    except PhistarError as error:
        return {"refused": str(error)}
    free = [j.name for j in model.joints if set(range(j.v_slice.start, j.v_slice.stop)) & set(found.independent)]
    links = [[_name(model, body) for body in group.bodies] for group in found.groups if len(group.bodies) > 1]
    return {"nv": found.count, "independent": free, "compound_links": links}


def plain(array: Any) -> Any:
    """Nested lists of floats, with None for what is not finite (JSON has no infinity)."""
    if np.ndim(array):
        return [plain(entry) for entry in array]
    return float(array) if math.isfinite(array) else None


def _name(model: Model, body: int) -> str:
    return model.bodies[body].name if body >= 0 else WORLD


def _body(model: Model, body: Body) -> dict[str, Any]:
    roles = [geometry.role for geometry in body.geometry]
    return {
        "name": body.name,
        "parent": _name(model, body.parent),
        "joint": body.joint.name,
        "mass": float(body.inertia.mass),
        "com": plain(body.inertia.com),
        "inertia_about_com": plain(body.inertia.tensor),
        "visual": roles.count("visual"),
        "collision": roles.count("collision"),
        "frequencies": [] if body.flexible is None else plain(body.flexible.frequencies / (2.0 * math.pi)),
    }


def _joint(model: Model, joint: Joint) -> dict[str, Any]:
    kind = joint.kind
    return {
        "name": joint.name,
        "body": _name(model, joint.body),
        **_kind(kind),
        "nq": joint.nq,
        "nv": joint.nv,
        "q": [joint.q_slice.start, joint.q_slice.stop],
        "v": [joint.v_slice.start, joint.v_slice.stop],
        "lower": plain(kind.limits[0]),
        "upper": plain(kind.limits[1]),
        **{name: plain(getattr(kind, name)) for name in PER_DOF},
        "friction": {"positive": plain(kind.friction[0]), "negative": plain(kind.friction[1])},
        "gear_ratio": plain(kind.gear_ratio),
        "rotor_inertia": plain(kind.rotor_inertia),
    }


def _kind(kind: JointKind | CutKind) -> dict[str, Any]:
    return {
        "kind": type(kind).__name__.lower(),
        "axes": [plain(getattr(kind, name)) for name in AXES if hasattr(kind, name)],
    }


def _frame(model: Model, frame: Frame) -> dict[str, Any]:
    return {
        "name": frame.name,
        "body": _name(model, frame.body),
        "role": frame.role,
        "translation": plain(frame.placement.translation),
        "rotation": plain(frame.placement.rotation),
    }


def _loop(loop: Loop | CoupledJoints) -> dict[str, Any]:
    if isinstance(loop, CoupledJoints):
        ends = {"joint_a": loop.joint_a, "joint_b": loop.joint_b}
    else:
        ends = {"frame_a": loop.frame_a, "frame_b": loop.frame_b}
    facts = {"name": loop.name, **_kind(loop.joint), **ends, "equations": loop.rows}
    if isinstance(loop.joint, Coupling):
        facts["coefficients"] = plain(loop.joint.coefficients)
    return facts
