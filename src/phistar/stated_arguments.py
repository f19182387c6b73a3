"""Arguments of stated functions: arrays of the right shape, and forces by frame as one vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.backends.links.link_sizes import space_sizes
from phistar.errors import ShapeError
from phistar.model import Model
from phistar.spatial.vectors import leading_axes


def checked_arguments(
    model: Model, q: Any, vectors: Mapping[str, Any], frames: tuple[str, ...]
) -> tuple[np.ndarray, dict[str, Any]]:
    """Arrays of the right shape, under the names that programs use."""
    from phistar.operators.meanings import GIVEN  # and with it the algebra

    check_names(model, frames)
    q = model.checked_q(q)
    given = {GIVEN[name]: model.checked(x, _rows(model, name, frames), SHOWN[name]) for name, x in vectors.items()}
    leading_axes({"q": q} | {SHOWN[name]: given[GIVEN[name]] for name in vectors})
    return q, given


def check_names(model: Model, frames: tuple[str, ...]) -> None:
    """Refuse frames that the robot has not."""
    for name in frames:
        model.frame(name)


def _rows(model: Model, name: str, frames: tuple[str, ...]) -> int:
    """Entries of a vector that statements are given, by its name."""
    match name:
        case "a_b":
            return 6
        case "f" | "u" | "a0_delayed":
            return 6 * len(frames)
        case "v_i" | "qdd_i":
            return space_sizes(model, frames)["inner"]
        case "F" | "a_delayed" | "b_delayed" | "f_delayed":
            return space_sizes(model, frames)["links"]
        case _:
            return model.nv


SHOWN = {"v": "v", "a_b": "the acceleration of the base", "qdd": "a", "T": "tau", "f": "the force"}
SHOWN |= {"v_ref": "v_ref", "u": "the task acceleration", "F": "the feedback forces"}
SHOWN |= {"R": "the weights", "L": "which rates are driven"}
SHOWN |= {f"{name}_delayed": f"the delayed {name}" for name in ("a", "b", "a0", "f")}
SHOWN |= {"v_i": "joint_rates", "qdd_i": "a (the joints' entries only)"}
"""What the public functions call the vectors."""


def external_forces(model: Model, f_ext: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """External forces by frame as one stacked vector."""
    if not isinstance(f_ext, Mapping):
        raise ShapeError("f_ext must map frame names to forces (…, 6), e.g. {'tool': [0, 0, 0, 0, 0, -10]}.")
    forces = [model.checked(force, 6, f"f_ext[{name!r}]") for name, force in f_ext.items()]
    try:
        shape = np.broadcast_shapes(*(force.shape for force in forces))
    except ValueError:
        shapes = ", ".join(f"{name}: {force.shape}" for name, force in zip(f_ext, forces, strict=True))
        raise ShapeError(
            f"The external forces ({shapes}) do not broadcast; make their leading axes equal, or 1."
        ) from None
    return tuple(f_ext), np.concatenate([np.broadcast_to(force, shape) for force in forces], axis=-1)


def broadcast_state(model: Model, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """q and v with common leading axes."""
    q, v = model.checked_q(q), model.checked(v, model.nv, "v")
    if q.shape[:-1] == v.shape[:-1]:
        return q, v
    batch = leading_axes({"q": q, "v": v})
    return np.broadcast_to(q, (*batch, model.nq)), np.broadcast_to(v, (*batch, model.nv))
