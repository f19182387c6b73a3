"""The parts of a model: bodies, joints, frames, loops. Indices are into `model.bodies`; −1 is the world."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from phistar.model.flexible import FlexibleInertia
from phistar.model.geometry import Geometry
from phistar.model.joints import Coupling, CutKind, JointKind
from phistar.spatial import Inertia, Pose
from phistar.spatial.value import Value, digest

WORLD = "world"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Joint(Value):
    """A named joint and its place in q and v; everything else (`axis`, `pose`, `limits`, …) is its kind's."""

    name: str
    kind: JointKind
    body: int
    q_slice: "slice[int, int, None]"
    v_slice: "slice[int, int, None]"

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

    The inertia and geometry include those of the links fixed to it, in the body's frame. A body that bends has its
    `flexible` inertia; `inertia` is then the unbent one's, and its modes stand in q and v after its joint's entries.
    `node` is the parent's node that carries it, at which `placement` is; −1 for the parent's own frame.
    """

    name: str
    parent: int
    joint: Joint
    placement: Pose
    inertia: Inertia
    geometry: tuple[Geometry, ...] = ()
    flexible: FlexibleInertia | None = None
    node: int = -1

    @property
    def modes(self) -> int:
        """Number of modal coordinates."""
        return 0 if self.flexible is None else self.flexible.count

    @property
    def mode_slice(self) -> slice:
        """Slice of v with its modes, after its joint's entries."""
        return slice(self.joint.v_slice.stop, self.joint.v_slice.stop + self.modes)

    @property
    def mode_q_slice(self) -> slice:
        """Slice of q with its modal coordinates."""
        return slice(self.joint.q_slice.stop, self.joint.q_slice.stop + self.modes)

    @property
    def rates(self) -> range:
        """Number of entries in v: the joint's, then the modes'."""
        return range(self.joint.v_slice.start, self.mode_slice.stop)

    @property
    def coordinates(self) -> range:
        """Number of entries in q: the joint's, then the modes'."""
        return range(self.joint.q_slice.start, self.mode_q_slice.stop)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Frame(Value):
    """A named place on a body; `role` is "link", "joint" (at its child's side) or "frame" (added).

    On a body that bends it is in the axes of a `node`, or with −1 in the body's own.
    """

    name: str
    body: int
    placement: Pose
    role: str = "frame"
    node: int = -1

    @cached_property
    def content_digest(self) -> bytes:
        """As of old where no node is named, so that what was compiled for rigid robots is found."""
        content = self._content()
        return digest(type(self).__name__, content if self.node >= 0 else content[:-1])


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
