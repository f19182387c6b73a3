"""Model: an immutable mechanism, a tree of moving bodies with frames on it and loops across it."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from phistar.array_types import Array, IntArray
from phistar.errors import ModelError, ShapeError, UnknownNameError
from phistar.model.geometry import Geometry
from phistar.model.joints import CutKind, JointKind
from phistar.model.manifold import apply_map, check_units, draws, flat_entries, neutral, random_q, unit_quaternions
from phistar.model.names import unknown
from phistar.model.notebook_html import model_html
from phistar.model.parts import WORLD, Body, CoupledJoints, Frame, Joint, Loop
from phistar.spatial import Inertia, Pose
from phistar.spatial.inertia import MASSLESS
from phistar.spatial.pose import IDENTITY
from phistar.spatial.value import Value, checked_numbers, digest, readonly
from phistar.spatial.vectors import real_numbers, symbols

if TYPE_CHECKING:
    from phistar.loops.embedding import Embedding
    from phistar.model.rerooted import Rerooted

WORLD_FRAME = Frame(WORLD, -1, IDENTITY, "link")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Model(Value):
    """A mechanism: bodies on joints, named frames, loops and gravity; immutable, compared by its content.

    Made by a `ModelBuilder` or `ps.load`. Bodies stand after their parents; `joints[i]` carries `bodies[i]`.

    Parameters
    ----------
    name : str
    bodies : tuple of Body
    frame_list : tuple of Frame
        What `frames` maps by name.
    loops : tuple of Loop or CoupledJoints
    gravity : (3,)
        In world axes [m/s²].
    warnings : tuple of str
        What its file had that was taken as it is, or left out.
    base_inertia, base_geometry
        Of links fixed to the world.
    embedding
        How a mechanism with loops is one in independent rates, see `embedded`.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> arm.nq, arm.nv, list(arm.frames)[-1]
    (6, 6, 'tool')
    >>> moon = arm.replace(gravity=(0, 0, -1.62))
    """

    name: str
    bodies: tuple[Body, ...]
    frame_list: tuple[Frame, ...]
    loops: tuple[Loop | CoupledJoints, ...] = ()
    gravity: Array = (0.0, 0.0, -9.81)  # type: ignore[assignment]  # made an array below
    warnings: tuple[str, ...] = ()
    base_inertia: Inertia = MASSLESS
    base_geometry: tuple[Geometry, ...] = ()
    embedding: "Embedding" = None  # type: ignore[assignment]  # None where rates are those of a tree

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", readonly(checked_numbers(self.gravity, (3,), "A model", "gravity")))

    def __repr__(self) -> str:
        parts = f"{len(self.bodies)} bodies, nq={self.nq}, nv={self.nv}, {len(self.frames)} frames"
        return f"<Model {self.name!r}: {parts}, {len(self.loops)} loops, {self.total_mass:.6g} kg>"

    def _repr_html_(self) -> str:
        return model_html(self)

    @cached_property
    def key(self) -> bytes:
        """A digest of the mechanism (all but geometry and warnings), the same in every process."""
        bodies = [(body.name, body.parent, body.joint, body.placement, body.inertia) for body in self.bodies]
        bent = [(k, body.flexible, body.node) for k, body in enumerate(self.bodies) if body.modes or body.node >= 0]
        parts = (self.name, bodies, self.frame_list, self.loops, self.gravity)
        more = [part for part in (bent, self.embedding) if part]
        return digest("phistar model 1", *parts, *more)

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
        return sum(body.joint.nq + body.modes for body in self.bodies)

    @cached_property
    def nv(self) -> int:
        """Degrees of freedom: entries of v, a and tau."""
        if self.embedding is not None:
            return self.embedding.count
        return sum(body.joint.nv + body.modes for body in self.bodies)

    @cached_property
    def is_flexible(self) -> bool:
        """Whether any body bends."""
        return any(body.modes for body in self.bodies)

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
        """The spanning tree: the same model without its loops."""
        if self.embedding is not None:
            return self.embedding.closed.tree
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
            ends = [each for each in self.frame_list if each.node >= 0 and each.name.endswith(f".{name}")]
            if len(ends) == 1:  # the tip of the one body that bends
                return ends[0]
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

    def gather(self, read: Callable[[JointKind], np.ndarray], of_modes: float = 0.0) -> np.ndarray:
        """Concatenate a parameter of all joints, after each that of its body's modes."""
        parts = [x for body in self.bodies for x in (read(body.joint.kind), np.full(body.modes, of_modes))]
        return readonly(np.concatenate([np.zeros(0), *parts]))

    @cached_property
    def armature(self) -> Array:
        """A's diagonal, armature + gear_ratio² rotor_inertia, (nv,)."""
        found = self.gather(lambda kind: kind.armature_diagonal)
        return found if self.embedding is None else self.embedding.armature(found)

    @cached_property
    def lower_limits(self) -> Array:
        """(nq,), −∞ where there is none."""
        return self.gather(lambda kind: kind.limits[0], -np.inf)

    @cached_property
    def upper_limits(self) -> Array:
        """(nq,), ∞ where there is none."""
        return self.gather(lambda kind: kind.limits[1], np.inf)

    @cached_property
    def effort_limits(self) -> Array:
        """(nv,), ∞ where there is none."""
        found = self.gather(lambda kind: kind.effort, np.inf)
        return found if self.embedding is None else self.embedding.limits(found)

    @cached_property
    def velocity_limits(self) -> Array:
        """(nv,), ∞ where there is none."""
        found = self.gather(lambda kind: kind.velocity, np.inf)
        return found if self.embedding is None else self.embedding.limits(found)

    # The configuration manifold

    def neutral(self) -> Array:
        """(nq,): every joint's frames coincide, and no body is bent."""
        return self._neutral.copy()

    @cached_property
    def _neutral(self) -> Array:
        return neutral(self)

    def random(self, rng: Any, shape: tuple[int, ...] = ()) -> Array:
        """(*shape, nq) from a NumPy Generator (or a seed): uniform between limits, see the joint kinds;
        modes bend their bodies by up to some centimetres."""
        rng = np.random.default_rng(rng)
        if self.embedding is not None:
            return self.embedding.random(rng, shape)
        return random_q(self, rng, shape)

    @cached_property
    def draws(self) -> tuple[Any, ...]:
        """Rules by which `random` draws the coordinates: least values and widths of uniform ones, or a body."""
        return tuple(draws(self))

    @cached_property
    def flat(self) -> tuple[IntArray, IntArray, tuple[Joint, ...]]:
        """Index arrays of q and v that simply add, and the joints whose coordinates do not."""
        return flat_entries(self)

    @cached_property
    def quaternions(self) -> tuple[tuple[str, int], ...]:
        """The joints that have a unit quaternion (x, y, z, w), and where in q it begins."""
        joints = [(joint, joint.kind.quaternion_at) for joint in self.joints]
        return tuple((joint.name, joint.q_slice.start + place) for joint, place in joints if place is not None)

    def integrate(self, q: Any, dv: Any) -> Array:
        """Configuration q ⊕ dv, (…, nq) ⊕ (…, nv) → (…, nq), reached from q at constant rates dv in unit time."""
        made = self._integrate(q, dv)  # of callers who hold this method, which the model's own door hides
        if made is not NotImplemented:
            return made
        q, dv = self.checked_q(q), self.checked(dv, self.nv, "dv")
        if self.embedding is not None:
            return self.embedding.integrated(q, dv)
        return apply_map(self, "integrate", {"q": q, "dv": dv})

    def difference(self, q0: Any, q1: Any) -> Array:
        """Rates q₁ ⊖ q₀, (…, nv), that lead from q0 to q1 in unit time: integrate(q0, q₁ ⊖ q₀) = q1, as rotations."""
        made = self._difference(q0, q1)
        if made is not NotImplemented:
            return made
        q0, q1 = self.checked_q(q0, "q0"), self.checked_q(q1, "q1")
        if self.embedding is not None:
            return self.embedding.independent_rates(self.tree.difference(q0, q1))
        return apply_map(self, "difference", {"q0": q0, "q1": q1})

    @staticmethod
    def _integrate(q: Any, dv: Any) -> Any:  # hidden by the entry for one state, once that is kept on the model
        return NotImplemented

    _difference = _integrate

    def normalized(self, q: Any) -> Array:
        """Configuration (…, nq) with its quaternions, of any length but zero, divided by their lengths."""
        return unit_quaternions(self, self.checked(q, size=self.nq, what="q"))

    def checked_q(self, q: Any, what: str = "q") -> Array:
        """A configuration as float64, (…, nq), its quaternions of length one; else a sentence. Traced numbers stay
        what they are."""
        numbers = self.checked(q, self.nq, what)
        if self.quaternions and numbers.dtype != object:
            check_units(self, numbers, what)
        return numbers

    def checked(self, array: Any, size: int, what: str) -> Array:
        """The array as float64 with `size` entries on its last axis; else a ShapeError that says so.

        Traced numbers stay what they are.
        """
        try:
            numbers = real_numbers(np.asarray(array))
        except (TypeError, ValueError):
            found = symbols(array)
            if found is None:
                raise ShapeError(
                    f"{what} must be an array of real numbers of shape (…, {size}) for {self.name}."
                ) from None
            numbers = found
        if numbers.shape[-1:] != (size,):
            raise ShapeError(f"{what} has shape {numbers.shape}; {self.name} needs (…, {size}).")
        return numbers

    def kept(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return a value made once and cached on this model: compiled functions, tables. The cache is no
        part of the model's content."""
        store = self.__dict__.setdefault("_kernels", {})
        if key not in store:
            try:
                store[key] = make()
            except ZeroDivisionError as error:
                raise import_module("phistar.model.check").explain_division(self, error) from None
        return store[key]

    # Changed copies

    def embedded(self, independent: Sequence[str] | None = None, q: Any = None, *, null_space: bool = False) -> "Model":
        """The same mechanism in independent rates: the links along a loop are one compound link (Jain 2012).

        q stays as it is, closed; v, a and tau have an entry per independent rate, link after link, and statements about
        trees hold. `model.embedding` has the maps: `full_rates(q, v)`, `full_accelerations(q, v, a)`,
        `independent_rates(v)` and `independent_forces(q, tau)`. Joints named in `independent` are so; others are chosen
        by pivots at `q`, assembled, neutral by default. With `null_space`, v are combinations of rates, orthonormal and
        free at q: they hold where no choice of joints does.
        """
        made = import_module("phistar.loops.embedding")  # loops are made of dynamics, which come after models
        return made.embed(self, independent, q, null_space)

    def with_loop(self, name: str, frame_a: str, frame_b: str | None, joint: JointKind | CutKind) -> "Model":
        """The same mechanism with one more loop, as `ModelBuilder.loop` closes it.

        Parameters
        ----------
        name, frame_a, frame_b, joint
            The loop's own name, and the frames that the cut joint joins. For a `Coupling` the driven and the driving
            joint; `frame_b` is then None where the driven one is held at a constant.

        Examples
        --------
        >>> import phistar as ps
        >>> arm = ps.load("planar2")
        >>> held = arm.with_loop("pin", list(arm.frames)[-1], "world", ps.Revolute(axis=(0, 0, 1)))
        >>> held.without("pin") == arm
        True
        """
        from phistar.model.spanning import with_loop  # it changes models, so it cannot be imported above

        return with_loop(self, name, frame_a, frame_b, joint)

    def without(self, *loops: str) -> "Model":
        """The same mechanism without the loops of these names; without any of its loops it is `tree`."""
        from phistar.model.spanning import without_loops  # it changes models, so it cannot be imported above

        return without_loops(self, loops)

    def rerooted(self, body: str) -> "Rerooted":
        """The same free-flying robot with another body as its base, and the maps of q, v and accelerations to it."""
        from phistar.model.rerooted import reroot  # it changes models, so it cannot be imported above

        return reroot(self, body)

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
        from phistar.model.builder import rebuild_model  # the builder makes models, so it cannot be imported above

        model = self
        if inertias or joints or placements:
            model = rebuild_model(self, inertias or {}, joints or {}, placements or {})
        if name is not None and not name:
            raise ModelError("A model needs a name; it was given an empty one.")
        changes = {"name": name, "gravity": gravity}
        return model._with(**{key: value for key, value in changes.items() if value is not None})
