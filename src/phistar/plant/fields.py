"""Forces that act on bodies from outside, body by body: a fluid, a support against weight, whatever a user writes.

f(k) is a wrench at the origin of body k and in its axes; the joints feel τ = Hφf, and a field may depend on the twists
V = φ*H*θ̇ (KJR92 eqs. 17, 24). Both are statements of the algebra, compiled for the plant's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from phistar.compiled import compile
from phistar.dynamics.frame_motion import frame_poses
from phistar.errors import ModelError, ShapeError
from phistar.expression import algebra
from phistar.model import Model

if TYPE_CHECKING:
    from phistar.plant.plant import Plant


@dataclass(frozen=True)
class BodyMotions:
    """Every body of a plant at one instant: `time` [s], coordinates `q` (nq,) and rates `v` (nv,); what fields give is
    held for `step` seconds, or for no time at all."""

    model: Model
    time: float
    q: np.ndarray
    v: np.ndarray
    step: float = 0.0

    @cached_property
    def poses(self) -> np.ndarray:
        """(n, 4, 4): each body's frame in the world."""
        names = tuple(body.name for body in self.model.bodies)
        return np.stack(list(frame_poses(self.model, self.q, names).values()))

    @cached_property
    def twists(self) -> np.ndarray:
        """(n, 6): V = φ*H*θ̇, [ω; v] of each body's origin in its own axes."""
        return _twists(self.model)(self.q, self.v)[_rigid_rows(self.model)]


@runtime_checkable
class Field(Protocol):
    """Wrenches on the bodies of a plant as a function of their motion."""

    def wrenches(self, bodies: BodyMotions) -> np.ndarray:
        """(n, 6): [moment; force] on each body, at its origin and in its axes."""
        ...


def generalized_forces(fields: Sequence[Field], bodies: BodyMotions) -> np.ndarray:
    """τ = Hφf, (nv,): what the joints feel of all fields together."""
    model, total = bodies.model, np.zeros((len(bodies.model.bodies), 6))
    for field in fields:
        found = np.asarray(field.wrenches(bodies), dtype=float)
        if found.shape != total.shape or not np.isfinite(found).all():
            raise ShapeError(
                f"{type(field).__name__}.wrenches gave an array of shape {found.shape}; [moment; force] of each body, "
                f"finite numbers of shape {total.shape}, were expected."
            )
        total += found
    _refuse_on_bending(model, total)
    links = np.zeros(sum(6 + body.modes for body in model.bodies))
    links[_rigid_rows(model)] = total
    return joint_forces(model)(bodies.q, links)


def add_field(plant: Plant, field: Field) -> None:
    """Adds forces that act on the bodies from outside: a fluid, a gravity gradient, one's own.

    Parameters
    ----------
    field : Field
        An object with `wrenches(bodies)`: [moment; force] (n, 6) on each body of `plant.model`, at its origin and
        in its axes, from `bodies.time`, `bodies.poses` (n, 4, 4) and `bodies.twists` (n, 6). It is asked at the
        start of every step, of `bodies.step` seconds, and held over it.

    Examples
    --------
    >>> import phistar as ps, numpy as np
    >>> class Drag:
    ...     def wrenches(self, bodies):
    ...         return -0.5 * bodies.twists
    >>> plant = ps.Plant()
    >>> plant.add(ps.load("planar2"), "arm")
    >>> plant.add_field(Drag())
    """
    if not isinstance(field, Field):
        raise ModelError(f"A field has a method wrenches(bodies); {type(field).__name__} has none.")
    plant.fields = (*plant.fields, field)
    plant.invalidate()


def _refuse_on_bending(model: Model, wrenches: np.ndarray) -> None:
    for body, wrench in zip(model.bodies, wrenches, strict=True):
        if body.modes and wrench.any():
            raise ModelError(
                f"A field acts on '{body.name}', which bends: a wrench at its frame does not say what its modes feel. "
                "Have the field act on a rigid body at one of its ends, and give no wrench here."
            )


def _rigid_rows(model: Model) -> np.ndarray:
    """(n, 6): where the motions of the bodies' own frames stand in link space, after their modes'."""
    ends = np.cumsum([6 + body.modes for body in model.bodies])
    return ends[:, None] + np.arange(-6, 0)


def _twists(model: Model) -> Any:
    A = algebra(model.tree)
    return model.kept(("plant", "twists"), lambda: compile(A.phi.T @ A.H.T, model.tree))


def joint_forces(model: Model) -> Any:
    """Hφ, compiled: joint forces of forces on the links, of a rigid body a wrench at its origin and in its axes."""
    A = algebra(model.tree)
    return model.kept(("plant", "joint_forces"), lambda: compile(A.H @ A.phi, model.tree))
