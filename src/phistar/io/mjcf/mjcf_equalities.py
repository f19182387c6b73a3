"""Equality constraints of a compiled MJCF file as cut joints and couplings, held exactly where MuJoCo's are soft."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from phistar.io.mjcf.compile import Compiled
from phistar.io.mjcf.meshes import pose
from phistar.io.mjcf.mjcf_tree import Names
from phistar.io.mjcf.refusals import KINDS, refusal
from phistar.io.mjcf.supported_tendons import is_affine_equality
from phistar.io.xml import quote
from phistar.model import Coupling, Fixed, ModelBuilder, Spherical
from phistar.spatial import Pose


def add_loops(builder: ModelBuilder, compiled: Compiled, names: Names, lenient: bool = False) -> Counter[str]:
    """Those that are active, each with its name; gives how many of each kind were left out. `lenient` leaves out those
    that no loop here can be, too."""
    mj, kinds, left_out = compiled.mj, compiled.mujoco.mjtEq, Counter[str]()
    taken = Counter(mj.equality(number).name for number in range(mj.neq))
    for element in compiled.spec.equalities:
        number = element.id
        if not mj.eq_active0[number] or not compiled.is_enabled("EQUALITY"):
            left_out["inactive equality constraints"] += 1
            continue
        name = mj.equality(number).name or _default_name(number, taken)
        match kinds(int(mj.eq_type[number])):
            case kinds.mjEQ_CONNECT | kinds.mjEQ_WELD if _is_rigid(compiled, number):
                left_out["equality constraints within one rigid body"] += 1
            case kinds.mjEQ_CONNECT | kinds.mjEQ_WELD:
                _add_closure(builder, compiled, names, name, number)
            case kinds.mjEQ_JOINT:
                _add_coupling(builder, compiled, names, name, number)
            case kinds.mjEQ_TENDON if joints_of_tendon(compiled, number):
                _add_tendon(builder, compiled, names, name, number)
            case kinds.mjEQ_TENDON if compiled.document.plant and is_affine_equality(compiled, number):
                pass  # a row of the plant's step
            case _ if lenient:
                left_out[f"{KINDS['equalities']}, as asked for,"] += 1
            case kind:
                told = f"the equality constraint {quote(name)} (<{kind.name[5:].lower()}>) ties together more than two"
                raise refusal(compiled, element, "equalities", f"{told} joints or bodies, which no loop here can")
    return left_out


def _default_name(number: int, taken: Counter[str]) -> str:
    name = f"equality{number}"
    while name in taken:
        name += "_"
    return name


def _bodies(compiled: Compiled, number: int) -> list[int]:
    """The two bodies of a connect or weld, which may be given by sites."""
    mj, ends = compiled.mj, [int(compiled.mj.eq_obj1id[number]), int(compiled.mj.eq_obj2id[number])]
    return [int(mj.site_bodyid[site]) for site in ends] if _is_by_sites(compiled, number) else ends


def _is_by_sites(compiled: Compiled, number: int) -> bool:
    return int(compiled.mj.eq_objtype[number]) == int(compiled.mujoco.mjtObj.mjOBJ_SITE)


def _is_rigid(compiled: Compiled, number: int) -> bool:
    mj = compiled.mj
    first, second = mj.body_weldid[_bodies(compiled, number)]
    first, second = (0 if mj.body_mocapid[body] >= 0 else body for body in (first, second))  # mocap: fixed here
    return bool(first == second)


def _add_closure(builder: ModelBuilder, compiled: Compiled, names: Names, name: str, number: int) -> None:
    """connect: two points meet, a ball joint. weld: two frames meet (without torquescale only their points)."""
    mj = compiled.mj
    weld = mj.eq_type[number] == compiled.mujoco.mjtEq.mjEQ_WELD
    if _is_by_sites(compiled, number):
        ends = [names.sites[mj.eq_obj1id[number]], names.sites[mj.eq_obj2id[number]]]
    else:
        ends = [names.unique(f"{name}_a"), names.unique(f"{name}_b")]
        placements = _placements(mj.eq_data[number], weld)
        for end, body, placement in zip(ends, _bodies(compiled, number), placements, strict=True):
            builder.frame(end, names.bodies[body], placement)
    builder.loop(name, ends[0], ends[1], joint=Fixed() if weld and mj.eq_data[number, 10] else Spherical())


def _placements(data: np.ndarray, weld: bool) -> tuple[Pose, Pose]:
    """MuJoCo's eq_data. connect: anchor on each body; weld: anchor on the second, then the second in the first."""
    if weld:
        return pose(data[3:6], data[6:10]), Pose(xyz=data[:3].copy())
    return Pose(xyz=data[:3].copy()), Pose(xyz=data[3:6].copy())


def _add_coupling(builder: ModelBuilder, compiled: Compiled, names: Names, name: str, number: int) -> None:
    """y − y₀ = a₀ + a₁ (x − x₀) + … with the joints' reference values: multiplied out."""
    mj, data = compiled.mj, compiled.mj.eq_data[number]
    driven, driver = int(mj.eq_obj1id[number]), int(mj.eq_obj2id[number])
    start = _reference(mj, driven)
    if driver < 0:
        builder.loop(name, names.joints[driven], None, joint=Coupling((start + data[0],)))
        return
    polynomial = Polynomial(data[:5])(Polynomial([-_reference(mj, driver), 1.0])) + start
    coefficients = np.zeros(5)
    coefficients[: len(polynomial.coef)] = polynomial.coef
    builder.loop(name, names.joints[driven], names.joints[driver], joint=Coupling(coefficients))


def joints_of_tendon(compiled: Compiled, number: int) -> dict[int, float]:
    """Joint → coefficient, where a fixed tendon of one or two joints is held at a constant; else nothing."""
    mj, tendon = compiled.mj, int(compiled.mj.eq_obj1id[number])
    path = slice(mj.tendon_adr[tendon], mj.tendon_adr[tendon] + mj.tendon_num[tendon])
    fixed = (mj.wrap_type[path] == compiled.mujoco.mjtWrap.mjWRAP_JOINT).all()
    terms = {int(joint): float(c) for joint, c in zip(mj.wrap_objid[path], mj.wrap_prm[path], strict=True) if c}
    alone = mj.eq_obj2id[number] < 0 and len(set(mj.wrap_objid[path])) == mj.tendon_num[tendon]
    return terms if fixed and alone and len(terms) <= 2 else {}


def _add_tendon(builder: ModelBuilder, compiled: Compiled, names: Names, name: str, number: int) -> None:
    """c₁q₁ + c₂q₂ = L₀ + a₀: a coupling of the two joints of the tendon."""
    mj, tendon = compiled.mj, int(compiled.mj.eq_obj1id[number])
    length = float(mj.tendon_length0[tendon] + mj.eq_data[number, 0])
    (driven, c_1), *rest = joints_of_tendon(compiled, number).items()
    coefficients = [length / c_1, *(-c_2 / c_1 for _, c_2 in rest)]
    driver = names.joints[rest[0][0]] if rest else None
    builder.loop(name, names.joints[driven], driver, joint=Coupling(coefficients))


def _reference(mj: Any, joint: int) -> float:
    return float(mj.qpos0[mj.jnt_qposadr[joint]])
