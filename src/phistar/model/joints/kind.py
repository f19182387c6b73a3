"""Interface of every kind of joint; one file per kind stands beside this one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from phistar.array_types import Array
from phistar.model.joints.parameters import bound, interval, per_dof, two_sided
from phistar.spatial.value import Value, readonly


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JointKind(Value, ABC):
    """Motion of a child frame in the joint's parent-side frame, with nq coordinates and nv rates.

    Physical parameters, kept as read-only arrays:
    `armature`, `damping`, `stiffness` (nv,): added to the mass matrix's diagonal; −d v; −k difference(rest, q);
    `rest` (nq,): where the spring is slack, neutral by default;
    `friction` (2, nv): Coulomb magnitudes for positive and for negative rates, given as a number or such a pair;
    `limits` (2, nq): lower and upper coordinates; quaternions have none;
    `effort`, `velocity` (nv,): largest magnitudes, infinite by default;
    `gear_ratio`, `rotor_inertia` (nv,): motor turns per joint turn, and the rotor's inertia on the motor side;
    `gyroscopic`: whether the spinning rotor's momentum acts on the links.
    """

    armature: Any = 0.0
    damping: Any = 0.0
    stiffness: Any = 0.0
    rest: Any = None
    friction: Any = 0.0
    limits: Any = None
    effort: Any = None
    velocity: Any = None
    gear_ratio: Any = 1.0
    rotor_inertia: Any = 0.0
    gyroscopic: bool = False

    nq: ClassVar[int]
    nv: ClassVar[int]
    # Half-width, per coordinate, of the range that `random` draws from where there are no limits.
    spread: ClassVar[tuple[float, ...]]
    # Whether the coordinates are a vector space: integrate is addition, v is q̇.
    flat: ClassVar[bool] = True
    # Where in its coordinates a unit quaternion begins, if there is one.
    quaternion_at: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        owner, nv = f"A {type(self).__name__} joint", self.nv
        rest = self.neutral() if self.rest is None else self.rest
        parameters = {
            "armature": per_dof(self.armature, nv, owner, "armature", minimum=0.0),
            "damping": per_dof(self.damping, nv, owner, "damping"),
            "stiffness": per_dof(self.stiffness, nv, owner, "stiffness"),
            "rest": per_dof(rest, self.nq, owner, "rest"),
            "friction": two_sided(self.friction, nv, owner, "friction"),
            "limits": interval(self.limits, self.nq, owner),
            "effort": bound(self.effort, nv, owner, "effort"),
            "velocity": bound(self.velocity, nv, owner, "velocity"),
            "gear_ratio": per_dof(self.gear_ratio, nv, owner, "gear_ratio"),
            "rotor_inertia": per_dof(self.rotor_inertia, nv, owner, "rotor_inertia", minimum=0.0),
            "gyroscopic": bool(self.gyroscopic),
        }
        for name, value in parameters.items():
            object.__setattr__(self, name, value)

    def _shown_fields(self) -> list[str]:
        """The kind's own fields, and the parameters that differ from the default."""
        plain, common = type(self)(), {field.name for field in fields(JointKind)}
        names = [name for name in super()._shown_fields() if name not in common]
        changed = (name for name in super()._shown_fields() if name in common)
        return names + [name for name in changed if not np.array_equal(getattr(self, name), getattr(plain, name))]

    @property
    def armature_diagonal(self) -> Array:
        """A = armature + gear_ratio² rotor_inertia, (nv,)."""
        return readonly(self.armature + self.gear_ratio**2 * self.rotor_inertia)

    @abstractmethod
    def pose(self, q: Any) -> tuple[Array, Array]:
        """(R, p), (…, 3, 3) and (…, 3): the child frame in the parent-side frame; also for traced scalars."""

    @abstractmethod
    def subspace(self, q: Any) -> Array:
        """H*(q), (…, 6, nv): relative twist = H* v, in child axes at the child's origin; (6, nv) where constant."""

    def subspace_rate(self, q: Any, v: Any) -> Array | None:
        """dH*/dt at rates v, as seen in the child frame, (…, 6, nv); None where H* is constant."""
        return None

    def neutral(self) -> Array:
        """The coordinates at which the frames coincide, (nq,)."""
        return np.zeros(self.nq)

    @property
    def uniform(self) -> tuple[Array, Array]:
        """Least value and width, (nq,) each, of coordinates that `random` draws: between the limits; where there are
        none, in ±π for angles and ±1 for lengths."""
        lower, upper = self.limits
        spread = np.array(self.spread)
        low = np.where(np.isfinite(lower), lower, np.minimum(-spread, upper - spread))
        return low, np.where(np.isfinite(upper), upper, np.maximum(spread, lower + spread)) - low

    def random(self, rng: "np.random.Generator", shape: tuple[int, ...] = ()) -> Array:
        """(*shape, nq), uniform between the limits, see `uniform`."""
        low, width = self.uniform
        return low + width * rng.random((*shape, self.nq))

    def integrate(self, q: Any, dv: Any) -> Array:
        """q ⊕ dv, (…, nq): where the constant rate dv leads in unit time."""
        return np.add(q, dv)

    def difference(self, q0: Any, q1: Any) -> Array:
        """q1 ⊖ q0, (…, nv): the rate that leads from q0 to q1 in unit time."""
        return np.subtract(q1, q0)
