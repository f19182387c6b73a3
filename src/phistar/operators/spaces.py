"""The spaces that operators map between. Each has a dual: power is the pairing of a space with its dual."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from phistar.operators.interned import Unique


@dataclass(frozen=True, eq=False)
class Space(Unique):
    """A stack of blocks over the links, joints, task frames, base or closures of a mechanism."""

    name: str
    over: str
    dual_name: str
    frames: tuple[str, ...] | None = None

    @cached_property
    def place(self) -> str:
        return str(self)

    @cached_property
    def dual(self) -> Space:
        return Space(self.dual_name, self.over, self.name, self.frames)

    def __str__(self) -> str:
        return self.name if self.frames is None else f"{self.name}[{', '.join(self.frames)}]"


FORCES = Space("Forces", "links", "Motions")  # ⊕ R⁶: [moment; force] of every link
MOTIONS = FORCES.dual  # ⊕ R⁶: [ω; v] of every link
TORQUES = Space("Torques", "joints", "Rates")  # ⊕ R^r(k)
RATES = TORQUES.dual
NORMAL = Space("Normal", "joints", "Normal")  # ⊕ R^r(k): rates and joint forces in units of D^½, its own dual
INNER_TORQUES = Space("InnerTorques", "inner", "InnerRates")  # ⊕ R^r(k) of the joints between links
INNER_RATES = INNER_TORQUES.dual
ROOT_FORCES = Space("RootForces", "root", "RootMotions")  # R⁶ at the base link, in its axes
ROOT_MOTIONS = ROOT_FORCES.dual
BASE_FORCES = Space("BaseForces", "base", "BaseMotions")  # R⁶ at the inertial frame
BASE_MOTIONS = BASE_FORCES.dual
CLOSURE_FORCES = Space("ClosureForces", "closures", "ClosureMotions")
CLOSURE_MOTIONS = CLOSURE_FORCES.dual
PARAMETERS = Space("Parameters", "parameters", "ParameterPowers")  # ⊕ R¹⁰: mass, mass·com, inertia of every body
SCALARS = Space("Scalars", "scalars", "Scalars")  # the domain of a vector


RANKS = {f"rank {rank}": rank for rank in range(1, 65)}
"""Rows of the spaces R¹ … R⁶⁴, by what they are over: operators of low rank pass through them."""


def coordinates(rank: int) -> Space:
    """R^rank, its own dual."""
    return Space(f"R{rank}", f"rank {rank}", f"R{rank}")


def task_forces(frames: tuple[str, ...] | None = None) -> Space:
    """⊕ R⁶ at the chosen frames, in world axes."""
    return Space("TaskForces", "task", "TaskMotions", frames)
