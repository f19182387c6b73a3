"""Tendons of an MJCF file that a plant can have, and their equalities."""

from phistar.io.mjcf.compile import Compiled


def wraps(compiled: Compiled, tendon: int) -> bool:
    """Whether a tendon is bent around a geom on its way."""
    mj, kinds = compiled.mj, compiled.mujoco.mjtWrap
    path = slice(mj.tendon_adr[tendon], mj.tendon_adr[tendon] + mj.tendon_num[tendon])
    around = (int(kinds.mjWRAP_SPHERE), int(kinds.mjWRAP_CYLINDER))
    return any(int(kind) in around for kind in mj.wrap_type[path])


def is_affine_equality(compiled: Compiled, number: int) -> bool:
    """Whether an active equality holds the length of a tendon, or ties two tendons by a straight line."""
    mj = compiled.mj
    if mj.eq_type[number] != int(compiled.mujoco.mjtEq.mjEQ_TENDON):
        return False
    if not mj.eq_active0[number] or not compiled.is_enabled("EQUALITY"):
        return False
    ends = [int(end) for end in (mj.eq_obj1id[number], mj.eq_obj2id[number]) if end >= 0]
    straight = len(ends) == 1 or not mj.eq_data[number, 2:5].any()
    return straight and not any(wraps(compiled, tendon) for tendon in ends)
