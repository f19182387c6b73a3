"""Visual and collision geometry of bodies."""

from abc import ABC
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from phistar.errors import ModelError
from phistar.spatial import Pose
from phistar.spatial.pose import IDENTITY
from phistar.spatial.value import Value, checked_numbers, digest, readonly


class Shape(Value, ABC):
    """Abstract: a shape about its own origin."""


def _size(value: Any, count: int, owner: str, what: str) -> np.ndarray:
    numbers = checked_numbers(value, (count,), owner, what)
    if (numbers < 0.0).any():
        raise ModelError(f"{owner} needs {what} ≥ 0; it was given {numbers.tolist()}.")
    return readonly(numbers)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Box(Shape):
    """A box, centred.

    Parameters
    ----------
    size : (3,)
        Full lengths along x, y, z [m].

    Examples
    --------
    >>> ps.Box((0.4, 0.2, 0.1)).size
    array([0.4, 0.2, 0.1])
    """

    size: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _size(self.size, 3, "A box", "size"))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Sphere(Shape):
    """A ball, centred.

    Parameters
    ----------
    radius : float
        [m].

    Examples
    --------
    >>> ps.Sphere(0.1).radius
    0.1
    """

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", float(_size([self.radius], 1, "A sphere", "radius")[0]))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Cylinder(Shape):
    """A cylinder along z, centred.

    Parameters
    ----------
    radius, length : float
        Radius and full length [m].

    Examples
    --------
    >>> ps.Cylinder(0.1, 0.5).length
    0.5
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        radius, length = _size([self.radius, self.length], 2, "A cylinder", "radius and length")
        object.__setattr__(self, "radius", float(radius))
        object.__setattr__(self, "length", float(length))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Capsule(Shape):
    """A capsule along z, centred.

    Parameters
    ----------
    radius, length : float
        Radius, and length of the cylinder between the two half-spheres [m].

    Examples
    --------
    >>> ps.Capsule(0.1, 0.5).radius
    0.1
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        radius, length = _size([self.radius, self.length], 2, "A capsule", "radius and length")
        object.__setattr__(self, "radius", float(radius))
        object.__setattr__(self, "length", float(length))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Ellipsoid(Shape):
    """An ellipsoid, centred.

    Parameters
    ----------
    radii : (3,)
        Half-axes along x, y, z [m].

    Examples
    --------
    >>> ps.Ellipsoid((0.3, 0.2, 0.1)).radii
    array([0.3, 0.2, 0.1])
    """

    radii: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "radii", _size(self.radii, 3, "An ellipsoid", "radii"))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Plane(Shape):
    """The half-space z ≤ 0.

    Examples
    --------
    >>> floor = ps.Geometry(ps.Plane(), role="collision")
    """


# CoACD's search for cuts: its own settings take up to ten times as long for about as many pieces.
_SEARCH: dict[str, Any] = {"mcts_iterations": 60, "mcts_max_depth": 2, "mcts_nodes": 15, "resolution": 1000}


@final
@dataclass(frozen=True, eq=False, repr=False)
class Polytope(Shape):
    """The convex hull of points.

    Parameters
    ----------
    points : (n, 3)
        [m].

    Examples
    --------
    >>> ps.Polytope(np.eye(3).tolist() + [[0, 0, 0]]).points.shape
    (4, 3)
    """

    points: Any

    def __post_init__(self) -> None:
        try:
            points = np.asarray(self.points, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            points = np.zeros((0, 0))
        if points.ndim == 2:
            points = checked_numbers(points, points.shape, "A polytope", "points")
        if points.ndim != 2 or points.shape[1] != 3 or np.linalg.matrix_rank(points - points[:1]) < 3:
            raise ModelError(
                f"A polytope needs four points or more, not all in a plane; it was given {self.points!r:.200}."
            )
        object.__setattr__(self, "points", readonly(points))

    @staticmethod
    def hull(mesh: "Mesh") -> "Polytope":
        """The convex hull of a mesh file; its vertices alone are kept."""
        from scipy.spatial import ConvexHull, QhullError

        vertices = np.asarray(mesh.read().vertices) * mesh.scale
        try:
            return Polytope(vertices[np.sort(ConvexHull(vertices, qhull_options="QbB Pp Qt").vertices)])
        except (QhullError, ValueError, ModelError):
            raise ModelError(f"The mesh {mesh.path} has no convex hull: it is flat, or a line, or a point.") from None

    @staticmethod
    def pieces(mesh: "Mesh") -> tuple["Polytope", ...]:
        """A mesh file cut into convex pieces that fill its hollows to 5% of its size (CoACD); up to a minute."""
        try:
            import coacd  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise ModelError(
                "Cutting a mesh into pieces needs the package coacd: pip install 'phistar[sim]'."
            ) from None
        found = mesh.read()
        coacd.set_log_level("error")
        solid = coacd.Mesh(found.vertices * mesh.scale, found.faces)
        cut = coacd.run_coacd(solid, threshold=0.05, seed=0, decimate=True, max_ch_vertex=256, **_SEARCH)
        if not cut:
            raise ModelError(f"The mesh {mesh.path} cannot be cut into convex pieces: it encloses nothing.")
        return tuple(Polytope(points) for points, _ in cut)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Mesh(Shape):
    """A mesh file on disk, by its path; nothing is loaded before it is shown or touched.

    Parameters
    ----------
    path : str
    scale : (3,)
        Multiplies its vertices.

    Examples
    --------
    >>> ps.Mesh("gripper.stl", scale=(0.001,) * 3).path
    'gripper.stl'
    """

    path: str
    scale: Any = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        scale = np.full(3, self.scale) if np.ndim(self.scale) == 0 else self.scale
        object.__setattr__(self, "path", str(self.path))
        object.__setattr__(self, "scale", readonly(checked_numbers(scale, (3,), "A mesh", "scale")))

    def read(self) -> Any:
        """Triangles of the mesh, unscaled, as trimesh has them; formats and sizes as in `phistar.model.mesh_files`."""
        from phistar.model.mesh_files import read_mesh  # for the few who look at surfaces

        return read_mesh(self.path)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Geometry(Value):
    """A shape on a body.

    Parameters
    ----------
    shape : a shape
        Such as `ps.Box((1, 1, 1))`.
    placement : Pose
        In the body's frame.
    name : str
    color : (4,), optional
        (r, g, b, a), each in 0…1.
    role : "visual" or "collision"
    node : int
        On a body that bends, the node that it is fixed to, as a builder fills it in; −1: it bends with the body, and
        collides as a rigid thing on the node nearest to it.

    Examples
    --------
    >>> ps.Geometry(ps.Sphere(0.1), role="collision").role
    'collision'
    """

    shape: Shape
    placement: Pose = IDENTITY
    name: str = ""
    color: Any = None
    role: str = "visual"
    node: int = -1

    @cached_property
    def content_digest(self) -> bytes:
        """As of old where no node is named, so that what was kept of rigid robots is found."""
        content = self._content()
        return digest(type(self).__name__, content if self.node >= 0 else content[:-1])

    def __post_init__(self) -> None:
        if self.role not in ("visual", "collision"):
            raise ModelError(f"A geometry's role is 'visual' or 'collision'; it was given {self.role!r}.")
        if not isinstance(self.shape, Shape):
            raise ModelError(f"A geometry needs a shape such as Box or Mesh; it was given {self.shape!r:.200}.")
        if self.color is not None:
            object.__setattr__(self, "color", readonly(checked_numbers(self.color, (4,), "A geometry", "color (rgba)")))

    def transformed(self, pose: Pose) -> "Geometry":
        """The same geometry seen from the frame in which `pose` places its frame."""
        if pose.is_identity:
            return self
        return Geometry(self.shape, pose @ self.placement, self.name, self.color, self.role, self.node)

    def on_node(self, pose: Pose, node: int, place: Any) -> "Geometry":
        """The same geometry fixed to a node, which is at `place` when nothing is bent; `pose` is in the node's axes."""
        return replace(self.transformed(Pose(xyz=place) @ pose), node=node)
