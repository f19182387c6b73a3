"""Order and units of every argument and result of a traced function, as lines of plain ASCII."""

from __future__ import annotations

from collections.abc import Iterable

from phistar.backends.code.c import plain
from phistar.model import Free, Helical, Model, Planar, Prismatic, Revolute, Spherical, Universal
from phistar.recording import Recording

_QUATERNION = tuple((f"quaternion {axis}", "1") for axis in "xyzw")
_COORDINATES = {
    Revolute: (("angle", "rad"),),
    Prismatic: (("displacement", "m"),),
    Helical: (("angle", "rad"),),
    Universal: (("first angle", "rad"), ("second angle", "rad")),
    Spherical: _QUATERNION,
    Planar: (("x", "m"), ("y", "m"), ("angle", "rad")),
    Free: (*((axis, "m") for axis in "xyz"), *_QUATERNION),
}
_ANGULAR, _LINEAR = "rad", "m"
_RATES = {
    Revolute: (("about its axis", _ANGULAR),),
    Prismatic: (("along its axis", _LINEAR),),
    Helical: (("about its axis", _ANGULAR),),
    Universal: (("about its first axis", _ANGULAR), ("about its second axis", _ANGULAR)),
    Spherical: tuple((f"about {axis} of the child", _ANGULAR) for axis in "xyz"),
    Planar: (("along x", _LINEAR), ("along y", _LINEAR), ("about the normal", _ANGULAR)),
    Free: (
        *((f"about {axis} of the body", _ANGULAR) for axis in "xyz"),
        *((f"along {axis} of the body", _LINEAR) for axis in "xyz"),
    ),
}
_ORDERED_AS_V = {
    "v": "joint rates, in rad/s or m/s",
    "a": "joint accelerations, in rad/s^2 or m/s^2",
    "tau": "joint forces, in N m or N",
    "qdd": "joint accelerations, in rad/s^2 or m/s^2",
    "T": "joint forces, in N m or N",
    "w": "weights of the joint forces",
    "dq": "the direction's part in the tangent space of q, in rad or m",
    "dv": "the direction's part in v, in rad/s or m/s",
    "da": "the direction's part in a, in rad/s^2 or m/s^2",
}
_FORCE = "x, y, z of the moment in N m, then of the force in N, in world axes at the frame's origin"
_MOTION = "x, y, z of the angular, then of the linear part, in world axes at the frame's origin"
_FORCES = "joint forces in N m or N, in the order of v"
_ACCELERATIONS = "joint accelerations in rad/s^2 or m/s^2, in the order of v"
_RESULTS = {
    "inverse_dynamics": _FORCES,
    "forward_dynamics": _ACCELERATIONS,
    "tip_acceleration_change": _ACCELERATIONS,
    "mass_matrix": "rows joint forces, columns joint accelerations, both in the order of v; SI units",
    "mass_matrix_inverse": "rows joint accelerations, columns joint forces, both in the order of v; SI units",
    "bias": _FORCES,
    "gravity_load": _FORCES,
    "jacobian": f"columns in the order of v; rows {_MOTION}, in rad/s and m/s per unit rate",
    "jacobian_dot_v": f"{_MOTION}, in rad/s^2 and m/s^2",
    "operational_space": f"rows and columns {_MOTION}; SI units",
    "innovations": "rows and columns in the order of v; SI units",
    "momentum": "angular momentum about the world's origin in N m s, then linear momentum in N s, world axes",
    "kinetic_energy": "in J",
    "potential_energy": "in J",
    "center_of_mass": "x, y, z in the world, in m",
    "composite_inertia": "spatial inertia about the world's origin, angular part first; kg m^2, kg m, kg",
    "inverse_dynamics_derivatives": "rows joint forces, columns by the tangent of q, by v, by a; in the order of v",
    "forward_dynamics_derivatives": "rows joint accelerations, columns by the tangent of q, by v, by tau; order of v",
    "linearize": "d/dt of (tangent of q, v) = A (tangent of q, v) + B tau, each part in the order of v; SI units",
    "regressor": "rows joint forces in the order of v; columns per body in the order of its joint below: mass, "
    "mass*com (3), Ixx Ixy Iyy Ixz Iyz Izz about the body's origin",
    "inverse_dynamics_hessian_product": "in the order of v; SI units",
    "forward_kinematics": "homogeneous transform of the frame in the world: rotation, and translation in m",
}
_ORDERS = {
    "joints": "in the order of v",
    "links": "six per body in the order of its joint below, angular part first, in the body's axes at its origin",
    "task": f"six per frame: {_MOTION}",
    "base": "angular part first, in world axes at the world's origin",
    "closures": "in the order of the closures",
    "scalars": "a number",
}


def description(function: Recording) -> list[str]:
    """Every argument and result with its shape, order and units, then the entries of q and of v."""
    model = function.model
    gravity = "an argument" if ("gravity", 3) in function.arguments else f"{_numbers(model.gravity)} m/s^2"
    lines = [f"Robot: {plain(model.name)}. Gravity: {gravity}."]
    if function.frames:
        lines.append(f"Frames: {', '.join(plain(name) for name in function.frames)}.")
    lines += ["Arrays are contiguous; matrices row by row. Results must not overlap arguments.", ""]
    lines += [f"{name}[{size}]: {_argument(function, name)}." for name, size in function.arguments]
    lines += [f"{_shape_text(name, shape)}: {_result(function, shape)}." for name, shape in function.results]
    return [*lines, "", *_entries(model, "q", _COORDINATES), "", *_entries(model, "v", _RATES)]


def _numbers(values: Iterable[float]) -> str:
    return f"({', '.join(f'{x:g}' for x in values)})"


def _argument(function: Recording, name: str) -> str:
    if name == "q":
        return "joint coordinates, listed below"
    if name in _ORDERED_AS_V:
        order = "listed below" if name == "v" else "in the order of v"
        return f"{_ORDERED_AS_V[name]}, {order}"
    if name in ("force", "f", "f_ext"):
        acting = "acting on the body" if name != "force" else "exerted by the body"
        return f"force {acting} at each frame: {_FORCE}"
    known = {
        "x": f"what the operator acts on: {_space(function)}",
        "gravity": "gravity in world axes, in m/s^2",
        "inertia": "per body, in the order of its joint below: mass, mass*com (3), Ixx Ixy Iyy Ixz Iyz Izz about the "
        "body's origin; kg, kg m, kg m^2",
        "t": "time in s",
    }
    return known.get(name, f"as {plain(function.name)} takes it")


def _space(function: Recording, end: int = 0) -> str:
    """The space that a statement maps from or to, and the order of its entries."""
    if function.spaces is None:
        return "SI units"
    space = function.spaces[end]
    return f"{plain(str(space))}, {_ORDERS[space.over]}; SI units"


def _result(function: Recording, shape: tuple[int, ...]) -> str:
    if function.spaces is None:
        return _RESULTS.get(function.name, "SI units")
    return f"rows {_space(function, 1)}; columns {_space(function)}" if len(shape) == 2 else _space(function, 1)


def _shape_text(name: str, shape: tuple[int, ...]) -> str:
    return name + ("".join(f"[{n}]" for n in shape) or "[1]")


def _entries(model: Model, name: str, table: dict) -> list[str]:
    """One line per entry of q or v: its index, joint or mode, meaning and unit."""
    if name == "v" and model.embedding is not None:
        return _independent_entries(model)
    suffix, lines = "/s" if name == "v" else "", []
    for body, joint in zip(model.bodies, model.joints, strict=True):
        places = range(model.nq)[joint.q_slice] if name == "q" else range(model.nv)[joint.v_slice]
        told = table[type(joint.kind)] if joint.nq else []  # a body that bends may be fixed
        for place, (what, unit) in zip(places, told, strict=True):
            lines.append(f"{name}[{place}]: {plain(joint.name)}, {what}, in {unit}{suffix}")
        modes = body.mode_q_slice if name == "q" else body.mode_slice
        for number in range(body.modes):
            lines.append(
                f"{name}[{modes.start + number}]: {plain(body.name)}, mode {number + 1}{suffix.replace('/', ', per ')}"
            )
    return [line.replace(", in 1", ", of unit norm") for line in lines]


def _independent_entries(model: Model) -> list[str]:
    """One line per independent rate: the tree's rate that it is, or the combination's number."""
    tree = dict(enumerate(_entries(model.embedding.closed.tree, "v", _RATES)))
    told = [tree.get(rate, "").partition(": ")[2] for rate in model.embedding.independent]
    return [f"v[{i}]: {text or 'a combination of rates that keeps its loops closed'}" for i, text in enumerate(told)]
