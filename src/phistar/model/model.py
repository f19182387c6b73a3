"""Model: an immutable mechanism, a tree of moving bodies with frames on it and loops across it."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from phistar.errors import ModelError, ShapeError, UnknownNameError
from phistar.model.geometry import Geometry
from phistar.model.joints import JointKind
from phistar.model.names import unknown
from phistar.model.parts import WORLD, Body, CoupledJoints, Frame, Joint, Loop
from phistar.spatial import Inertia, Pose
from phistar.spatial.batches import leading_axes
from phistar.spatial.inertia import MASSLESS
from phistar.spatial.pose import IDENTITY
from phistar.spatial.value import Value, checked_numbers, digest, readonly

if TYPE_CHECKING:
    from phistar.model.rerooted import Rerooted

WORLD_FRAME = Frame(WORLD, -1, IDENTITY, "link")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Model(Value):
    """A mechanism. Bodies stand after their parents; `joints[i]` carries `bodies[i]`. Made by a ModelBuilder or loaded.

    `base_inertia` and `base_geometry` belong to links fixed to the world; `frame_list` is what `frames` maps by name.
    """

    name: str
    bodies: tuple[Body, ...]
    frame_list: tuple[Frame, ...]
    loops: tuple[Loop | CoupledJoints, ...] = ()
    gravity: Any = (0.0, 0.0, -9.81)
    warnings: tuple[str, ...] = ()
    base_inertia: Inertia = MASSLESS
    base_geometry: tuple[Geometry, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", readonly(checked_numbers(self.gravity, (3,), "A model", "gravity")))

    def __repr__(self) -> str:
        parts = f"{len(self.bodies)} bodies, nq={self.nq}, nv={self.nv}, {len(self.frames)} frames"
        return f"<Model {self.name!r}: {parts}, {len(self.loops)} loops, {self.total_mass:.6g} kg>"

    @cached_property
    def key(self) -> bytes:
        """A digest of the mechanism (all but geometry and warnings), the same in every process."""
        bodies = [(body.name, body.parent, body.joint, body.placement, body.inertia) for body in self.bodies]
        return digest("phistar model 1", self.name, bodies, self.frame_list, self.loops, self.gravity)

    # Structure

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The joint of each body, in the same order."""
        return tuple(body.joint for body in self.bodies)

    @cached_property
    def frames(self) -> Mapping[str, Frame]:
        """Name → frame, in the order they were added: every link, joint origin and added frame."""
        return MappingProxyType({frame.name: frame for frame in self.frame_list})

    @cached_property
    def nq(self) -> int:
        """Coordinates in q."""
        return sum(joint.nq for joint in self.joints)

    @cached_property
    def nv(self) -> int:
        """Degrees of freedom: entries of v, a and tau."""
        return sum(joint.nv for joint in self.joints)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """The parent's index of each body; −1 is the world."""
        return tuple(body.parent for body in self.bodies)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The indices of each body's children."""
        lists: list[list[int]] = [[] for _ in self.bodies]
        for index, parent in enumerate(self.parents):
            if parent >= 0:
                lists[parent].append(index)
        return tuple(tuple(items) for items in lists)

    @property
    def is_serial(self) -> bool:
        """Whether every body hangs on the one before it."""
        return self.parents == tuple(range(-1, len(self.bodies) - 1))

    @property
    def total_mass(self) -> float:
        """The mass of the moving bodies."""
        return sum(body.inertia.mass for body in self.bodies)

    @cached_property
    def tree(self) -> "Model":
        """The same model without its loops."""
        return self._with(loops=()) if self.loops else self

    # Names

    @cached_property
    def body_indices(self) -> Mapping[str, int]:
        """Name → index of the moving bodies."""
        return MappingProxyType({body.name: index for index, body in enumerate(self.bodies)})

    @cached_property
    def joint_indices(self) -> Mapping[str, int]:
        """Name → index of the moving joints."""
        return MappingProxyType({joint.name: joint.body for joint in self.joints})

    def frame(self, name: str) -> Frame:
        """The frame of this name; "world" is one always."""
        if not isinstance(name, str):
            raise UnknownNameError(f"A frame is given by its name; {name!r} is not one.")
        if name not in self.frames and name != WORLD:
            raise unknown("frame", name, self.frames, self.name)
        return self.frames.get(name, WORLD_FRAME)

    def body_index(self, name: str) -> int:
        """The index of a moving body; −1 for "world"."""
        if name not in self.body_indices and name != WORLD:
            raise unknown("moving body", name, self.body_indices, self.name)
        return self.body_indices.get(name, -1)

    def loop(self, name: str) -> Loop | CoupledJoints:
        """The loop of this name."""
        for loop in self.loops:
            if loop.name == name:
                return loop
        raise unknown("loop", name, [loop.name for loop in self.loops], self.name)

    def joint(self, name: str) -> Joint:
        """The moving joint of this name."""
        if name not in self.joint_indices:
            raise unknown("moving joint", name, self.joint_indices, self.name)
        return self.joints[self.joint_indices[name]]

    # Joint parameters as arrays

    def _gather(self, read: Callable[[JointKind], np.ndarray]) -> np.ndarray:
        return readonly(np.concatenate([np.zeros(0), *(read(joint.kind) for joint in self.joints)]))

    @cached_property
    def armature(self) -> np.ndarray:
        """A's diagonal, armature + gear_ratio² rotor_inertia, (nv,)."""
        return self._gather(lambda kind: kind.armature_diagonal)

    @cached_property
    def lower_limits(self) -> np.ndarray:
        """(nq,), −∞ where there is none."""
        return self._gather(lambda kind: kind.limits[0])

    @cached_property
    def upper_limits(self) -> np.ndarray:
        """(nq,), ∞ where there is none."""
        return self._gather(lambda kind: kind.limits[1])

    @cached_property
    def effort_limits(self) -> np.ndarray:
        """(nv,), ∞ where there is none."""
        return self._gather(lambda kind: kind.effort)

    @cached_property
    def velocity_limits(self) -> np.ndarray:
        """(nv,), ∞ where there is none."""
        return self._gather(lambda kind: kind.velocity)

    # The configuration manifold

    def neutral(self) -> np.ndarray:
        """(nq,): every joint's frames coincide."""
        return np.concatenate([np.zeros(0), *(joint.kind.neutral() for joint in self.joints)])

    def random(self, rng: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
        """(*shape, nq) from a NumPy Generator (or a seed): uniform between limits, see the joint kinds."""
        rng = np.random.default_rng(rng)
        parts = [joint.kind.random(rng, shape) for joint in self.joints]
        return np.concatenate([np.zeros((*shape, 0)), *parts], axis=-1)

    @cached_property
    def _flat(self) -> tuple[np.ndarray, np.ndarray, tuple[Joint, ...]]:
        """Where q and v simply add (index arrays), and the joints where they do not."""
        q, v = np.arange(self.nq), np.arange(self.nv)
        flat = [joint for joint in self.joints if joint.kind.flat]
        q_index = np.concatenate([np.zeros(0, int), *(q[joint.q_slice] for joint in flat)])
        v_index = np.concatenate([np.zeros(0, int), *(v[joint.v_slice] for joint in flat)])
        return q_index, v_index, tuple(joint for joint in self.joints if not joint.kind.flat)

    def integrate(self, q: Any, dv: Any) -> np.ndarray:
        """q ⊕ dv, (…, nq) ⊕ (…, nv) → (…, nq): the motion of constant rates dv for unit time."""
        q, dv = self.checked(q, self.nq, "q"), self.checked(dv, self.nv, "dv")
        batch = leading_axes({"q": q, "dv": dv})
        q_index, v_index, curved = self._flat
        result = np.empty((*batch, self.nq), dtype=np.result_type(q, dv))
        result[..., q_index] = q[..., q_index] + dv[..., v_index]
        for joint in curved:
            result[..., joint.q_slice] = joint.kind.integrate(q[..., joint.q_slice], dv[..., joint.v_slice])
        return result

    def difference(self, q0: Any, q1: Any) -> np.ndarray:
        """q1 ⊖ q0, (…, nv), with integrate(q0, q1 ⊖ q0) = q1 (as rotations, where there are quaternions)."""
        q0, q1 = self.checked(q0, self.nq, "q0"), self.checked(q1, self.nq, "q1")
        batch = leading_axes({"q0": q0, "q1": q1})
        q_index, v_index, curved = self._flat
        result = np.empty((*batch, self.nv), dtype=np.result_type(q0, q1))
        result[..., v_index] = q1[..., q_index] - q0[..., q_index]
        for joint in curved:
            result[..., joint.v_slice] = joint.kind.difference(q0[..., joint.q_slice], q1[..., joint.q_slice])
        return result

    def checked(self, array: Any, size: int, what: str) -> np.ndarray:
        """The array as float64 with `size` entries on its last axis; else a ShapeError that says so.

        Traced numbers stay what they are.
        """
        try:
            numbers = _real(np.asarray(array))
        except (TypeError, ValueError):
            found = _symbols(array)
            if found is None:
                raise ShapeError(
                    f"{what} must be an array of real numbers of shape (…, {size}) for {self.name}."
                ) from None
            numbers = found
        if numbers.shape[-1:] != (size,):
            raise ShapeError(f"{what} has shape {numbers.shape}; {self.name} needs (…, {size}).")
        return numbers

    def kept(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What is made once for this model and kept on it, as long as it lives: compiled functions, tables. It is no
        part of the model's content."""
        store = self.__dict__.setdefault("_kernels", {})
        if key not in store:
            store[key] = make()
        return store[key]

    # Changed copies

    def rerooted(self, body: str) -> "Rerooted":
        """The same free-flying robot with another body as its base, and the maps of q, v and accelerations to it."""
        from phistar.model.rerooted import rerooted  # it changes models, so it cannot be imported above

        return rerooted(self, body)

    def _with(self, **content: Any) -> "Model":
        return Model(**{field.name: getattr(self, field.name) for field in fields(self)} | content)

    def replace(
        self,
        *,
        name: str | None = None,
        gravity: Any = None,
        inertias: Mapping[str, Inertia] | None = None,
        joints: Mapping[str, JointKind] | None = None,
        placements: Mapping[str, Pose] | None = None,
    ) -> "Model":
        """A changed copy: inertias and placements by body name, joint kinds by joint name."""
        from phistar.model.builder import rebuilt  # the builder makes models, so it cannot be imported above

        model = self
        if inertias or joints or placements:
            model = rebuilt(self, inertias or {}, joints or {}, placements or {})
        if name is not None and not name:
            raise ModelError("A model needs a name; it was given an empty one.")
        changes = {"name": name, "gravity": gravity}
        return model._with(**{key: value for key, value in changes.items() if value is not None})


def _real(array: np.ndarray) -> np.ndarray:
    """As float64. What would lose its meaning (imaginary parts, dates, fields, text that looks like a number) is
    refused, as NumPy's functions refuse it."""
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{array.dtype} is not a kind of real number")
    return array.astype(np.float64, copy=False)


def _symbols(array: Any) -> np.ndarray | None:
    """An array of numbers that are not floats but know sine and cosine, and of floats beside them; else None."""
    try:
        found = np.asarray(array, dtype=object)
    except ValueError:
        return None
    return found if found.size and all(isinstance(x, float | int) or hasattr(x, "sin") for x in found.flat) else None
