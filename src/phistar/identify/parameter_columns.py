"""Parameters in which joint forces are linear: inertias of bodies; armature, damping, friction, offsets of joints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.derivatives import regressor
from phistar.errors import ModelError, PhistarError
from phistar.model import Model, require_rigid, require_tree

INERTIAL = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
OF_JOINTS = ("armature", "damping", "friction", "offset")


@dataclass(frozen=True, eq=False)
class Columns:
    """τ = Y(q, v, a) π: π stacks ten numbers of each body (`Inertia.parameters`), then of each kind of `terms` one
    number for each joint rate."""

    model: Model
    terms: tuple[str, ...]

    def __post_init__(self) -> None:
        require_tree(self.model, "identification")
        require_rigid(self.model, "identification")
        if not self.model.nv:
            raise ModelError(f"{self.model.name} has no joints whose forces could tell anything.")
        for term in self.terms:
            if term not in OF_JOINTS:
                raise PhistarError(f"Joints have no {term!r} to identify; there are {', '.join(OF_JOINTS)}.")

    @cached_property
    def names(self) -> list[str]:
        """Each parameter's name, as "link3.mass" or "joint2.damping"."""
        rates = [name for joint in self.model.joints for name in _rates(joint.name, joint.nv)]
        bodies = [f"{body.name}.{name}" for body in self.model.bodies for name in INERTIAL]
        return [*bodies, *(f"{rate}.{term}" for term in self.terms for rate in rates)]

    @property
    def bodies(self) -> int:
        return len(self.model.bodies)

    def table(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Y, (…, nv, p)."""
        unit = np.eye(self.model.nv)
        own = (value[..., None] * unit for value in self.term_values(v, a))
        return np.concatenate([regressor(self.model, q, v, a), *own], axis=-1)

    def term_values(self, v: np.ndarray, a: np.ndarray) -> list[np.ndarray]:
        """Factor of each term's parameter in the force of its own joint, (…, nv)."""
        made: dict[str, Any] = {"armature": a, "damping": v, "friction": np.sign(v), "offset": np.ones_like(v)}
        return [made[term] for term in self.terms]

    def known_forces(self, a: np.ndarray) -> np.ndarray:
        """Joint forces that are not fitted: those of the model's armature, where it is none of the terms."""
        return 0.0 * a if "armature" in self.terms else self.model.armature * a

    @cached_property
    def model_values(self) -> np.ndarray:
        """π (p,) as the model has it; offsets are zero."""
        model = self.model
        of_joints = {"armature": model.armature, "offset": np.zeros(model.nv)}
        of_joints["damping"] = model.gather(lambda kind: kind.damping)
        of_joints["friction"] = model.gather(lambda kind: kind.friction.mean(axis=0))
        inertias = [body.inertia.parameters for body in model.bodies]
        return np.concatenate([*inertias, *(of_joints[term] for term in self.terms)])

    @cached_property
    def is_nonnegative(self) -> np.ndarray:
        """Parameters (p,) of joints that cannot be negative."""
        of_joints = [np.full(self.model.nv, term != "offset") for term in self.terms]
        return np.concatenate([np.zeros(10 * self.bodies, bool), *of_joints])


def _rates(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]
