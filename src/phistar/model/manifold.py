"""The configuration manifold: q ⊕ dv and q₁ ⊖ q₀ joint by joint, and the unit quaternions among the coordinates.

The maps run on floats and on traced numbers alike; machine code for them is made by whom `lazy.PROVIDERS` names.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import groupby
from types import MethodType
from typing import TYPE_CHECKING

import numpy as np

from phistar.errors import ShapeError
from phistar.lazy import provider
from phistar.model.joints import JointKind
from phistar.spatial.vectors import leading_axes

if TYPE_CHECKING:
    from phistar.model.model import Model
    from phistar.model.parts import Body, Joint

OFF_UNIT = 1e-6  # by which a quaternion's length may differ from one


def flat_entries(model: "Model") -> tuple[np.ndarray, np.ndarray, "tuple[Joint, ...]"]:
    """Index arrays of q and v that simply add, of joints and modes, and the joints whose coordinates do not."""
    q, v = np.arange(model.nq), np.arange(model.nv)
    flat = [joint for joint in model.joints if joint.kind.flat]
    bent = [body for body in model.bodies if body.modes]
    in_q = [q[joint.q_slice] for joint in flat] + [q[body.mode_q_slice] for body in bent]
    in_v = [v[joint.v_slice] for joint in flat] + [v[body.mode_slice] for body in bent]
    q_index = np.concatenate([np.zeros(0, int), *in_q])
    v_index = np.concatenate([np.zeros(0, int), *in_v])
    return q_index, v_index, tuple(joint for joint in model.joints if not joint.kind.flat)


def neutral(model: "Model") -> np.ndarray:
    """The configuration at which every joint's frames coincide and no body is bent."""
    parts = [x for body in model.bodies for x in (body.joint.kind.neutral(), np.zeros(body.modes))]
    return np.concatenate([np.zeros(0), *parts])


def random_q(model: "Model", rng: "np.random.Generator", shape: tuple[int, ...]) -> np.ndarray:
    """(*shape, nq), joint after joint; coordinates side by side that are uniform are drawn together, which takes the
    same numbers from the generator as one after the other."""
    made, start = np.empty((*shape, model.nq)), 0
    for part in model.draws:
        if isinstance(part, tuple):
            low, width = part
            drawn = rng.random((len(low), *shape))
            found = [low + width * (np.moveaxis(drawn, 0, -1) if shape else drawn)]
        else:
            found = [part.joint.kind.random(rng, shape)]
            if part.flexible is not None:
                found.append(rng.uniform(-0.05, 0.05, (*shape, part.modes)) / part.flexible.reach)
        for entries in found:
            made[..., start : start + entries.shape[-1]] = entries
            start += entries.shape[-1]
    return made


def draws(model: "Model") -> Iterator["tuple[np.ndarray, np.ndarray] | Body"]:
    """Least values and widths of coordinates that are uniform, one to a joint and without modes; other bodies."""

    def is_one(body: "Body") -> bool:
        plain = type(body.joint.kind).random is JointKind.random
        return plain and body.joint.nq == 1 and body.flexible is None

    for together, bodies in groupby(model.bodies, is_one):
        if together:
            ranges = [body.joint.kind.uniform for body in bodies]
            yield np.concatenate([low for low, _ in ranges]), np.concatenate([width for _, width in ranges])
        else:
            yield from bodies


def apply_map(model: "Model", name: str, given: Mapping[str, np.ndarray]) -> np.ndarray:
    """`integrate` or `difference`: by its formula on traced numbers, else by machine code, which hides the model's own
    method from the next call on."""
    formula, arrays = {"integrate": add_displacement, "difference": between}[name], tuple(given.values())
    if not model.nv or any(x.dtype == object for x in arrays):
        return formula(model, *arrays)
    leading_axes(given)
    slow = MethodType(getattr(type(model), name), model)
    single, door, whole = model.kept(name, lambda: provider("phistar.model").compiled_map(model, name, formula, slow))
    model.__dict__[f"_{name}"], model.__dict__[name] = single, door
    return whole(*arrays)


def add_displacement(model: "Model", q: np.ndarray, dv: np.ndarray) -> np.ndarray:
    """q ⊕ dv, (…, nq)."""
    batch = leading_axes({"q": q, "dv": dv})
    q_index, v_index, curved = model.flat
    result = np.empty((*batch, model.nq), dtype=np.result_type(q, dv))
    result[..., q_index] = q[..., q_index] + dv[..., v_index]
    for joint in curved:
        result[..., joint.q_slice] = joint.kind.integrate(q[..., joint.q_slice], dv[..., joint.v_slice])
    return result


def between(model: "Model", q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """q₁ ⊖ q₀, (…, nv)."""
    batch = leading_axes({"q0": q0, "q1": q1})
    q_index, v_index, curved = model.flat
    result = np.empty((*batch, model.nv), dtype=np.result_type(q0, q1))
    result[..., v_index] = q1[..., q_index] - q0[..., q_index]
    for joint in curved:
        result[..., joint.v_slice] = joint.kind.difference(q0[..., joint.q_slice], q1[..., joint.q_slice])
    return result


def check_units(model: "Model", q: np.ndarray, what: str) -> None:
    """Refuse quaternions whose length is not one. NaN and infinity pass: they spoil their own row."""
    places = model.kept("places of quaternions", lambda: np.array([start for _, start in model.quaternions]))
    every = np.abs(np.square(q[..., places[:, None] + np.arange(4)]).sum(axis=-1) - 1.0)
    if not (every > OFF_UNIT).any():  # of the squares, whose errors are twice as large
        return
    for joint, start in model.quaternions:
        size = np.sqrt(np.sum(np.square(q[..., start : start + 4]), axis=-1))
        off = np.abs(size - 1.0) > OFF_UNIT
        if off.any() and (off & np.isfinite(q[..., start : start + 4]).all(axis=-1)).any():
            worst = float(np.max(np.abs(size[off] - 1.0), initial=0.0))
            raise ShapeError(
                f"The quaternion of {joint!r} in {what} is not of length one, but off by {worst:.3g} (at most "
                f"{OFF_UNIT:g} is taken for rounding); model.normalized({what}) makes it one."
            )


def unit_quaternions(model: "Model", q: np.ndarray) -> np.ndarray:
    """q with its quaternions divided by their lengths."""
    if q.ndim == 1 and q.dtype == float and len(model.quaternions) == 1:  # one robot with a free base
        ((joint, start),) = model.quaternions
        result, size = q.copy(), math.hypot(*q[start : start + 4].tolist())
        if size == 0.0:
            raise _zero_turn(joint)
        result[start : start + 4] /= size
        return result
    result = q.copy()
    for joint, start in model.quaternions:
        part = q[..., start : start + 4]
        size = np.sqrt(np.sum(part * part, axis=-1, keepdims=True))
        if q.dtype != object and np.any(size == 0.0):
            raise _zero_turn(joint)
        result[..., start : start + 4] = part / size
    return result


def _zero_turn(joint: str) -> ShapeError:
    return ShapeError(f"The quaternion of {joint!r} is zero, which is no rotation; give it a length.")
