"""Free bases: which models have one, and its pose."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.link_sizes import space_sizes
from phistar.backends.links.values import spin_of
from phistar.errors import ModelError
from phistar.model import Free, Loop, Model
from phistar.model.check import check_robot
from phistar.spatial import from_quaternion, times


def joint_count(model: Model) -> int:
    """Number of joint freedoms beside those of the free base.

    So many entries have `a`, `tau` and `joint_rates` in this chapter.

    Parameters
    ----------
    model : Model
        A robot whose first body has a free joint.

    Returns
    -------
    int

    Examples
    --------
    >>> robot = ps.load("rj2w_tree")
    >>> q = robot.neutral()
    >>> ps.freeflying.joint_count(robot)
    8
    """
    check_free_base(model)
    return space_sizes(model, ())["inner"]


def check_free_base(model: Model) -> None:
    """Refuse a model that does not float as one piece."""
    check_robot("The function", (model,))
    roots = [body for body in model.bodies if body.parent < 0]
    if len(roots) != 1:
        listed = ", ".join(body.name for body in roots) or "none"
        raise ModelError(
            f"{model.name} has {len(roots)} bodies that hang on the world ({listed}); a free-flying robot has one, its "
            "base. Treat several robots one by one."
        )
    kind = roots[0].joint.kind
    if not isinstance(kind, Free):
        raise ModelError(
            f"{model.name} is not free: its base {roots[0].name} hangs on the world by a {type(kind).__name__} joint. "
            "Load it with floating=True, or give its first body a ps.Free() joint."
        )
    for loop in model.loops:
        if isinstance(loop, Loop) and any(model.frame(end).body < 0 for end in (loop.frame_a, loop.frame_b)):
            raise ModelError(
                f"{model.name} is not free: the loop {loop.name!r} joins {loop.frame_a!r} and {loop.frame_b!r}, one of "
                f"which is on the world. Without it ({model.name}.without({loop.name!r})) it is."
            )
    if np.any(kind.armature_diagonal) or np.any(spin_of(kind)):
        raise ModelError(f"The free joint of {model.name} has armature, but no motor can act between it and the world.")


def base_name(model: Model) -> str:
    """Name of the base link's frame."""
    check_free_base(model)
    return model.bodies[0].name


def base_rotation(model: Model, q: Any) -> Array:
    """Rotation from the base's axes to the world's, (…, 3, 3)."""
    turn = from_quaternion(np.asarray(q)[..., model.joints[0].q_slice][..., -4:])
    return np.matmul(model.bodies[0].placement.rotation, turn)


def base_position(model: Model, q: Any) -> Array:
    """Position of the base's origin in the world, (…, 3)."""
    placed = model.bodies[0].placement
    offset = np.asarray(q)[..., model.joints[0].q_slice][..., :3]
    return placed.translation + times(placed.rotation, offset)
