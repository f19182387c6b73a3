"""Links at a configuration as programs ask for them: blocks of w(k) rows, w = 6 where nothing bends.

What a kind of links does more cheaply than with its blocks, rigid ones with rotation and offset, say, it says itself;
here everything is said with the block ℰφ(p,k) that crosses a joint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from phistar.backends.links.formulas import FORMULAS
from phistar.backends.links.two_velocities import TwoMotions
from phistar.errors import StatementError
from phistar.spatial import transposed
from phistar.sweeps import ir

Block = Any  # an array (…, rows, columns), a pose, or None
OF_BLOCKS = ("diagonal", "root", "without")  # memoryless functions of blocks of any size


class Mechanism(ABC):
    """Abstract. Links at a configuration; blocks are (…, rows, columns), one that is zero by structure is None."""

    is_fused: ClassVar[bool] = False
    """Whether Mα + b and φ*α + a(k) cost less together than apart."""

    # Blocks

    @property
    @abstractmethod
    def parents(self) -> tuple[int, ...]:
        """The link that each link hangs on; −1 for the world."""

    @property
    @abstractmethod
    def rates(self) -> tuple[slice, ...]:
        """Slice of v with the rates of each link."""

    @property
    def frames(self) -> tuple[str, ...]:
        """The task frames."""
        return ()

    @abstractmethod
    def width(self, k: int) -> int:
        """w(k)."""

    def parameters(self, k: int) -> int:
        """Number of inertial parameters of link k."""
        raise refusal("inertial parameters")

    @abstractmethod
    def crossing(self, k: int) -> np.ndarray:
        """ℰφ(p,k), (…, w(p), w(k)); of a link on the world, E(k), (…, 6, w(k))."""

    @abstractmethod
    def subspace(self, k: int) -> np.ndarray:
        """H*(k), (…, w, r)."""

    @abstractmethod
    def armature(self, k: int) -> np.ndarray:
        """A(k), (r, r)."""

    @abstractmethod
    def mass(self, k: int) -> np.ndarray:
        """M(k), (…, w, w)."""

    def rotor(self, k: int) -> np.ndarray:
        """S(k), (…, w, r)."""
        raise refusal("S")

    def basis(self, k: int, inverse: bool) -> np.ndarray:
        """Ψ or Ψ⁻¹ of the rates of link k, (r, r)."""
        raise refusal("other coordinates of their rates")

    # Memoryless functions

    @abstractmethod
    def bias_force(self, k: int, mass: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """b(k), (…, w, 1)."""

    @abstractmethod
    def bias_acceleration(self, k: int, velocity: np.ndarray, above: Any, v: np.ndarray) -> np.ndarray:
        """a(k), (…, w, 1); `above` is the parent's velocity."""

    def apply(self, function: str, k: int, arguments: list[Block], above: Callable[[str], Block]) -> Block:
        """A memoryless function of blocks; `above` gives the parent's velocities, by their fields."""
        if function == "bias_acceleration":
            velocity, v = arguments
            return self.bias_acceleration(k, velocity, above("V"), v)
        if function == "reference_acceleration":
            velocity, v, reference, v_r = arguments
            motion = TwoMotions(velocity, v, reference, v_r, above("V"), above("Vᵣ"))
            return self.reference_acceleration(k, motion)
        if function == "reference_force":
            return self.reference_force(k, *arguments)
        if function == "bias_force":
            return self.bias_force(k, *arguments)
        if function == "parameter_forces":
            return None if any(x is None for x in arguments) else self.parameter_forces(k, *arguments)
        if function in OF_BLOCKS:
            return FORMULAS[function](None, k, *arguments)
        raise refusal(function.replace("_", " "))

    def reference_acceleration(self, k: int, motion: TwoMotions) -> np.ndarray:
        """a_r(k), (…, w, 1)."""
        raise refusal("accelerations of a reference velocity")

    def reference_force(self, k: int, mass: np.ndarray, velocity: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """b_r(k), (…, w, 1)."""
        raise refusal("forces of a reference velocity")

    def parameter_forces(self, k: int, velocity: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Y*(k), (…, parameters, w): Mα + b for each inertial parameter of link k that is one, the others zero."""
        raise refusal("forces of inertial parameters")

    def inertial_force(self, mass: np.ndarray, velocity: np.ndarray, alpha: Block) -> np.ndarray:
        """Mα + b, where both are fused."""
        raise NotImplementedError(type(self).__name__)

    def carry_acceleration(self, k: int, velocity: np.ndarray, alpha: Block) -> np.ndarray:
        """φ*α and what of a(k) the way from the parent's origin adds to it, where both are fused."""
        raise NotImplementedError(type(self).__name__)

    # φ acting: columns are (…, w, c)

    @cached_property
    def _crossings(self) -> dict[int, np.ndarray]:
        return {}

    def _across(self, k: int) -> np.ndarray:
        if k not in self._crossings:
            self._crossings[k] = self.crossing(k)
        return self._crossings[k]

    def _carrier_width(self, k: int) -> int:
        return self.width(self.parents[k]) if self.parents[k] >= 0 else 6

    def keep_crossing(self, k: int, block: np.ndarray) -> None:
        """Let ℰφ(p,k) be a block that is known."""
        self._crossings[k] = block

    def carry(self, act: str, k: int, x: np.ndarray, outward: bool = False) -> np.ndarray:
        """What is at link k, seen at its parent; `outward`, what is at the parent, seen at link k. Acts are those of
        programs (`Move`)."""
        match act, outward:
            case (ir.FORCE, False):
                return np.matmul(self._across(k), x)
            case (ir.MOTION, True):
                return np.matmul(transposed(self._across(k)), x)
            case (ir.INERTIA | ir.CARRIED, False):
                return np.matmul(self.carry(ir.FORCE, k, x), transposed(self._across(k)))
            case (ir.COMPLIANCE, True):
                return np.matmul(self.carry(ir.MOTION, k, x, True), self._across(k))
        raise StatementError(
            f"Two-way forms go back over φ, but between links {self.width(k)} and {self._carrier_width(k)} wide ℰφ has "
            "no inverse: a motion of the link does not tell how a body that bends, or a compound link, moves inside. "
            "Take the one-way form (ps.mass_matrix, ps.inverse_dynamics, ps.freeflying.generalized_jacobian and the "
            "like hold), or model.rerooted(base) for another base that rigid bodies lead to."
        )

    def to_base(self, k: int, x: np.ndarray) -> np.ndarray:
        """Ex: a force at a link on the world seen there."""
        return self.carry(ir.FORCE, k, x)

    def from_base(self, k: int, x: np.ndarray) -> np.ndarray:
        """E*x: a motion of the world seen at a link on it."""
        return self.carry(ir.MOTION, k, x, True)

    # Where links and task frames are

    @abstractmethod
    def pose(self, k: int, above: Any) -> Any:
        """Pose of link k, given its parent's."""

    @abstractmethod
    def link_of(self, frame: str) -> int:
        """The link that a frame is on; −1 for the world."""

    @abstractmethod
    def frame_pose(self, frame: str, pose: Any) -> tuple[np.ndarray, np.ndarray]:
        """A frame in the world, (R, p), given its link's pose."""

    @abstractmethod
    def frame_motion(self, frame: str, pose: Any) -> np.ndarray:
        """B*, (…, 6, w): the motion of a frame in world axes from its link's."""

    @abstractmethod
    def frame_bias(self, frame: str, pose: Any, velocity: np.ndarray) -> np.ndarray:
        """a(0), (…, 6, 1): what is left of a frame's acceleration when its link's velocity does not change."""

    def to_frame(self, frame: str, pose: Any, x: np.ndarray) -> np.ndarray:
        """B*x."""
        return np.matmul(self.frame_motion(frame, pose), x)

    def from_frame(self, frame: str, pose: Any, x: np.ndarray) -> np.ndarray:
        """Bx."""
        return np.matmul(transposed(self.frame_motion(frame, pose)), x)


def refusal(what: str) -> StatementError:
    """Error for a statement that links of any width lack."""
    return StatementError(
        f"Bodies that bend and compound links do not have {what}, which this statement takes; a rigid model does."
    )
