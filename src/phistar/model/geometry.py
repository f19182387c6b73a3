"""What a body looks like and what it collides with."""

from abc import ABC
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from phistar.errors import ModelError
from phistar.spatial import Pose
from phistar.spatial.pose import IDENTITY
from phistar.spatial.value import Value, checked_numbers, readonly


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
    """Full lengths along x, y, z, (3,); centred."""

    size: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", _size(self.size, 3, "A box", "size"))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Sphere(Shape):
    """Centred."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", float(_size([self.radius], 1, "A sphere", "radius")[0]))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Cylinder(Shape):
    """Along z, centred; `length` is the full length."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        radius, length = _size([self.radius, self.length], 2, "A cylinder", "radius and length")
        object.__setattr__(self, "radius", float(radius))
        object.__setattr__(self, "length", float(length))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Capsule(Shape):
    """Along z, centred; `length` is that of the cylinder between the two half-spheres."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        radius, length = _size([self.radius, self.length], 2, "A capsule", "radius and length")
        object.__setattr__(self, "radius", float(radius))
        object.__setattr__(self, "length", float(length))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Ellipsoid(Shape):
    """Half-axes along x, y, z, (3,); centred."""

    radii: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "radii", _size(self.radii, 3, "An ellipsoid", "radii"))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Plane(Shape):
    """The half-space z ≤ 0."""


LARGEST_MESH = 256 * 2**20  # bytes of a file

# CoACD's search for cuts: its own settings take up to ten times as long for about as many pieces.
_SEARCH: dict[str, Any] = {"mcts_iterations": 60, "mcts_max_depth": 2, "mcts_nodes": 15, "resolution": 1000}


@final
@dataclass(frozen=True, eq=False, repr=False)
class Polytope(Shape):
    """The convex hull of points, (n, 3)."""

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
        return Polytope(np.asarray(mesh.read().convex_hull.vertices) * mesh.scale)

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
    """A file on disk, by its resolved path; nothing is loaded. `scale` (3,) multiplies its vertices."""

    path: str
    scale: Any = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        scale = np.full(3, self.scale) if np.ndim(self.scale) == 0 else self.scale
        object.__setattr__(self, "path", str(self.path))
        object.__setattr__(self, "scale", readonly(checked_numbers(scale, (3,), "A mesh", "scale")))

    def check_size(self) -> None:
        """Refuses a file that is not there, and one so large that reading it would look like standing still."""
        try:
            size = Path(self.path).stat().st_size
        except (OSError, ValueError) as error:
            raise ModelError(f"The mesh {self.path} cannot be read: {error}.") from None
        if size > LARGEST_MESH:
            raise ModelError(
                f"The mesh {self.path} has {size / 2**20:.0f} MB; {LARGEST_MESH / 2**20:.0f} MB is the most that is "
                "read. Give one with fewer triangles."
            )

    def read(self) -> Any:
        """Its triangles, unscaled, as trimesh has them."""
        self.check_size()
        try:
            import trimesh
        except ImportError:
            raise ModelError("Reading a mesh needs the package trimesh: pip install 'phistar[sim]'.") from None
        try:
            found: Any = trimesh.load(self.path, force="mesh")
        except Exception as error:  # readers of foreign formats raise whatever they like
            raise ModelError(
                f"The mesh {self.path} cannot be read: {str(error) or type(error).__name__:.200}."
            ) from None
        if len(getattr(found, "faces", ())) == 0:
            raise ModelError(f"The mesh {self.path} has no triangles.")
        return found


@final
@dataclass(frozen=True, eq=False, repr=False)
class Geometry(Value):
    """A shape on a body: `placement` in the body's frame, `color` (r, g, b, a) in 0…1, `role` visual or collision."""

    shape: Shape
    placement: Pose = IDENTITY
    name: str = ""
    color: Any = None
    role: str = "visual"

    def __post_init__(self) -> None:
        if self.role not in ("visual", "collision"):
            raise ModelError(f"A geometry's role is 'visual' or 'collision'; it was given {self.role!r}.")
        if not isinstance(self.shape, Shape):
            raise ModelError(f"A geometry needs a shape such as Box or Mesh; it was given {self.shape!r:.200}.")
        if self.color is not None:
            object.__setattr__(self, "color", readonly(checked_numbers(self.color, (4,), "A geometry", "color (rgba)")))

    def moved(self, pose: Pose) -> "Geometry":
        """The same geometry seen from the frame in which `pose` places its frame."""
        if pose.is_identity:
            return self
        return Geometry(self.shape, pose @ self.placement, self.name, self.color, self.role)
