"""The parts of a model: bodies, joints, frames, loops. Indices are into `model.bodies`; −1 is the world."""

from dataclasses import dataclass
from typing import Any, final

from phistar.model.geometry import Geometry
from phistar.model.joints import Coupling, CutKind, JointKind
from phistar.spatial import Inertia, Pose
from phistar.spatial.value import Value

WORLD = "world"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Joint(Value):
    """A named joint and its place in q and v; everything else (`axis`, `pose`, `limits`, …) is its kind's."""

    name: str
    kind: JointKind
    body: int
    q_slice: slice
    v_slice: slice

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "kind":  # not yet restored, when unpickling
            raise AttributeError(name)
        return getattr(self.kind, name)

    @property
    def nq(self) -> int:
        """Coordinates."""
        return self.kind.nq

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.kind.nv


@final
@dataclass(frozen=True, eq=False, repr=False)
class Body(Value):
    """A moving body. Its frame is the joint's child frame; `placement` is the joint's parent-side frame in the parent.

    The inertia and geometry include those of the links fixed to it, in the body's frame.
    """

    name: str
    parent: int
    joint: Joint
    placement: Pose
    inertia: Inertia
    geometry: tuple[Geometry, ...] = ()


@final
@dataclass(frozen=True, eq=False, repr=False)
class Frame(Value):
    """A named place on a body; `role` is "link", "joint" (at its child's side) or "frame" (added)."""

    name: str
    body: int
    placement: Pose
    role: str = "frame"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Loop(Value):
    """A cut joint: frame_b moves in frame_a as this joint allows, its parent-side frame at frame_a."""

    name: str
    frame_a: str
    frame_b: str
    joint: JointKind | CutKind

    @property
    def rows(self) -> int:
        """Equations it imposes: 6 − nv for a joint of the tree's kinds."""
        return self.joint.rows if isinstance(self.joint, CutKind) else 6 - self.joint.nv


@final
@dataclass(frozen=True, eq=False, repr=False)
class CoupledJoints(Value):
    """A coupling: q of joint_a is a polynomial of q of joint_b, or (joint_b is None) a constant."""

    name: str
    joint_a: str
    joint_b: str | None
    joint: Coupling

    @property
    def rows(self) -> int:
        """One equation."""
        return self.joint.rows
