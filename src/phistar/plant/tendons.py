"""Tendons: one length that is a function of the joints, and forces along it.

L = Σ c q over joints (MuJoCo calls it fixed), or the length of a string through frames, Σ |p(i+1) − p(i)|/d, where d is
2 behind a pulley. A force f along it gives the joints τ = J*f with J = ∂L/∂q; it pulls where f < 0. A thrust, a wrench
fixed in a frame, has no length and the same J*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from phistar.errors import ModelError
from phistar.model import Model
from phistar.model.names import unknown

INFINITE = (-np.inf, np.inf)


@dataclass(frozen=True)
class JointTerm:
    """`factor` times the coordinate of a joint."""

    joint: str
    factor: float


@dataclass(frozen=True)
class Stretch:
    """The straight way between the origins of two frames, times `share`."""

    start: str
    end: str
    share: float = 1.0


@dataclass(frozen=True)
class Thrust:
    """[moment; force] at a frame's origin and in its axes, for a force of 1."""

    frame: str
    wrench: tuple[float, ...]


Term = JointTerm | Stretch | Thrust


@dataclass(frozen=True)
class Tendon:
    """A length over joints or frames, with what acts along it by itself.

    `stiffness` pulls it back into `rest`, an interval in which it is slack; `limits` stop it as joints are stopped;
    `held` is the length that it is held at, as rigidly as a closure. Names are those of the plant's model, or of the
    robot's own where `robot` says whose.
    """

    name: str
    terms: tuple[Term, ...]
    stiffness: float = 0.0
    damping: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    limits: tuple[float, float] = INFINITE
    friction: float = 0.0
    held: float | None = None
    robot: str = ""

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping", "friction"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ModelError(f"The tendon '{self.name}' needs {name} ≥ 0; it was given {getattr(self, name)!r}.")
        for name in ("rest", "limits"):
            low, high = getattr(self, name)
            if not low <= high:
                raise ModelError(
                    f"The tendon '{self.name}' has {name} from {low!r} to {high!r}; give the smaller first."
                )

    def with_prefix(self, prefix: str) -> Tendon:
        """The tendon with a robot's own names made those of the plant's model."""
        return replace(self, terms=tuple(_with_prefix(term, prefix) for term in self.terms), robot="")


def _with_prefix(term: Term, prefix: str) -> Term:
    match term:
        case JointTerm():
            return replace(term, joint=prefix + term.joint)
        case Stretch():
            return replace(term, start=_frame(term.start, prefix), end=_frame(term.end, prefix))
        case Thrust():
            return replace(term, frame=_frame(term.frame, prefix))


def _frame(name: str, prefix: str) -> str:
    return name if name == "world" else prefix + name


def check_tendon(model: Model, tendon: Tendon) -> None:
    """Refuse names that the model has not, and joints without a single coordinate."""
    for term in tendon.terms:
        if isinstance(term, JointTerm):
            if term.joint not in model.joint_indices:
                raise unknown("joint", term.joint, list(model.joint_indices), model.name)
            if model.joints[model.joint_indices[term.joint]].nq != 1:
                raise ModelError(f"The tendon '{tendon.name}' runs over '{term.joint}', which has several coordinates.")
            continue
        frames = (term.start, term.end) if isinstance(term, Stretch) else (term.frame,)
        for frame in frames:
            if frame != "world" and frame not in model.frames:
                raise unknown("frame", frame, ["world", *model.frames], model.name)
