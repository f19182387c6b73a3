"""Fields on a model that `ps.simulate` integrates to a tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from phistar.array_types import Array
from phistar.model import Model
from phistar.plant.body_motions import BodyMotions
from phistar.plant.fields import Field, generalized_forces


@final
class FieldControl:
    """A control(t, q, v) for `ps.simulate(model, …)` that adds the forces of fields to the joint forces.

    Parameters
    ----------
    model : Model
        Without gravity of its own where `OrbitalGravity` is among the fields.
    fields : sequence of Field
    control : callable, optional
        control(t, q, v) → (nv,): the joints' own forces; none by default.

    Examples
    --------
    >>> model = ps.load("freeflyer", gravity=(0, 0, 0))
    >>> falls = ps.space.OrbitalGravity(ps.space.Orbit.circular(altitude=400e3))
    >>> q, v = model.neutral(), np.zeros(model.nv)
    >>> float(ps.simulate(model, q, v, 1.0, control=ps.space.FieldControl(model, [falls])).t[-1])
    1.0
    """

    def __init__(
        self, model: Model, fields: Sequence[Field], control: Callable[[float, Any, Any], Any] | None = None
    ) -> None:
        self.model, self.fields, self.control = model, tuple(fields), control

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        outside = generalized_forces(self.fields, BodyMotions(self.model, t, np.asarray(q), np.asarray(v)))
        return outside if self.control is None else outside + np.asarray(self.control(t, q, v), dtype=float)
