"""Drive of each joint in a motion: the control's force, prescribed, locked, or passive.

Of a prescribed joint the control's entries are accelerations; of a locked one they are not asked for, and of a passive
one they do not act. What prescribed and locked joints need is found by hybrid dynamics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.errors import ModelError
from phistar.hybrid import HybridDynamics, hybrid_dynamics, joint_rates
from phistar.model import Joint, Model


@dataclass(frozen=True, eq=False)
class Drives:
    """The joints of a model that are not driven by force: names, each once."""

    model: Model
    prescribed: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()
    passive: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        named = [*self.prescribed, *self.locked, *self.passive]
        for name in named:
            self.model.joint(name)
            if named.count(name) > 1:
                raise ModelError(f"The joint '{name}' is driven in two ways; name it once, in one of them.")
            joint_rates(self.model, name)

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The joints of each way."""
        return self.prescribed, self.locked, self.passive

    @property
    def any(self) -> bool:
        """Whether some joint is not driven by force."""
        return bool(self.prescribed or self.locked or self.passive)

    @property
    def is_prescribed(self) -> np.ndarray:
        """(nv,) of bool: the rates that move as told."""
        return self._mask((*self.prescribed, *self.locked))

    def _mask(self, names: Sequence[str]) -> np.ndarray:
        found = np.zeros(self.model.nv, dtype=bool)
        for name in names:
            found[joint_rates(self.model, name)] = True
        return found

    def check(self, v: np.ndarray) -> None:
        """Refuse a start at which locked joints move."""
        for name in self.locked:
            own = v[..., joint_rates(self.model, name)]
            if np.any(own):
                raise ModelError(f"The joint '{name}' is locked, but starts with the rate {np.ravel(own).tolist()}.")

    def forces(self, control: np.ndarray) -> np.ndarray:
        """The control's joint forces, (…, nv): zero where it says accelerations, or nothing."""
        if not self.any:
            return control
        return control * np.where(self._mask((*self.prescribed, *self.locked, *self.passive)), 0.0, 1.0)

    def prescribed_accelerations(self, other: Model, control: np.ndarray) -> np.ndarray:
        """The accelerations of prescribed joints as entries of the rates of another choice, (nv of the other,)."""
        if other is self.model or other.embedding is None:
            return control
        result = np.zeros(other.nv)
        for name in self.prescribed:
            result[joint_rates(other, name)] = control[joint_rates(self.model, name)]
        return result

    def accelerations(self, q: Any, v: Any, forces: Any, control: Any) -> HybridDynamics:
        """θ̈ and the joint forces of all joints under forces (…, nv), passive ones among them."""
        joints: list[Joint] = [self.model.joint(name) for name in (*self.prescribed, *self.locked)]
        told = {
            joint.name: control[..., joint_rates(self.model, joint.name)]
            if joint.name in self.prescribed
            else np.zeros(joint.nv)
            for joint in joints
        }
        return hybrid_dynamics(self.model, q, v, forces, told)
