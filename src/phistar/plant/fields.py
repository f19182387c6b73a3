"""Forces that act on bodies from outside, body by body: a fluid, a support against weight, whatever a user writes.

f(k) is a wrench at the origin of body k and in its axes, of bodies that bend one at each node; the joints feel τ = Hφf,
and a field may depend on the twists V = φ*H*θ̇ (KJR92 eqs. 17, 24). Both are statements of the algebra, compiled for the
plant's model (`body_motions.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from phistar.errors import ModelError, ShapeError
from phistar.plant.body_motions import BodyMotions, joint_forces

if TYPE_CHECKING:
    from phistar.plant.plant import Plant


@runtime_checkable
class Field(Protocol):
    """Wrenches on the parts of a plant, its bodies and the nodes of those that bend, as a function of their motion."""

    def wrenches(self, bodies: BodyMotions) -> np.ndarray:
        """(p, 6): [moment; force] on each part, at its origin and in its axes."""
        ...


def generalized_forces(fields: Sequence[Field], bodies: BodyMotions) -> np.ndarray:
    """τ = Hφf, (nv,): what the joints feel of all fields together."""
    total = np.zeros((len(bodies.parts.carriers), 6))
    for field in fields:
        found = np.asarray(field.wrenches(bodies), dtype=float)
        if found.shape != total.shape or not np.isfinite(found).all():
            raise ShapeError(
                f"{type(field).__name__}.wrenches gave an array of shape {found.shape}; [moment; force] of each body, "
                f"then of each node of bodies that bend, finite numbers of shape {total.shape}, were expected."
            )
        total += found
    return joint_forces(bodies.model)(bodies.q, bodies.on_links(total))


def add_field(plant: Plant, field: Field) -> None:
    """Adds forces that act on the bodies from outside: a fluid, a gravity gradient, one's own.

    Parameters
    ----------
    field : Field
        An object with `wrenches(bodies)`: [moment; force] (p, 6) on each part of `plant.model`, at its origin and
        in its axes, from `bodies.time`, `bodies.poses` (p, 4, 4) and `bodies.twists` (p, 6). Parts are the bodies
        and, behind them, the nodes of those that bend, with `bodies.parts.carriers`, `masses`, `centers` and
        `tensors`. It is asked at the start of every step, of `bodies.step` seconds, and held over it.

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
