"""Pictures of a model without a browser: triangles projected, the nearest kept, lit, with shadows; PNG bytes."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.model.geometry import Plane
from phistar.model.model import Model
from phistar.view.bent_surfaces import exaggerate_modes, surfaces
from phistar.view.raster import nearest
from phistar.view.report_shapes import GROUND, color_of, triangles, visible_geometry
from phistar.view.shading import AXES, CORNER, HIGHER, LIFTED, NUMBERS, SCALE, shaded_pixels
from phistar.view.stage import body_poses

LIGHT = np.array([0.35, -0.25, 0.9]) / np.linalg.norm([0.35, -0.25, 0.9])
OVERSAMPLED = 2
SHADOW_SIZE = 700
GROUNDS = np.tile(GROUND, (2, 1))


class Solid(NamedTuple):
    """Triangles in the world: corners and normals (t, 3, 3), colours (t, 3)."""

    corners: np.ndarray
    normals: np.ndarray
    color: np.ndarray


@dataclass(frozen=True)
class Camera:
    """An orthographic camera: parallel lines stay parallel.

    Parameters
    ----------
    target : (3,)
        The point in the middle of the picture, m.
    direction : (3,)
        From the target to the eye.
    width : float
        How many metres the picture is wide.
    up : (3,)
        What is upwards in it.

    Examples
    --------
    >>> import phistar as ps
    >>> ps.view.Camera((0, 0, 0.5), direction=(1, -1, 0.5), width=2.0).axes.shape
    (3, 3)
    """

    target: Any
    direction: Any = (1.2, -1.6, 0.9)
    width: float = 2.0
    up: Any = (0.0, 0.0, 1.0)

    @property
    def axes(self) -> Array:
        """Rows: right, up, towards the eye."""
        out = np.asarray(self.direction, dtype=float) / np.linalg.norm(self.direction)
        right = np.cross(self.up, out)
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(out, right), out])


def picture(
    model: Model,
    q: Any,
    camera: Camera | None = None,
    size: tuple[int, int] = (560, 400),
    shadows: bool = True,
    exaggeration: float = 1.0,
) -> np.ndarray:
    """RGBA of a model at q, (height, width, 4) uint8, on a transparent ground; without a camera, all of it is shown.
    Deflections of flexible bodies are scaled by `exaggeration`."""
    solid, ground = solids(model, exaggerate_modes(model, np.asarray(q, dtype=float), exaggeration))
    return image(solid, ground, camera or camera_around([solid.corners], size), size, shadows)


def camera_around(corners: list[np.ndarray], size: tuple[int, int], **options: Any) -> Camera:
    """A camera that has all these corners, (t, 3, 3) each, in its picture."""
    points = np.concatenate([each.reshape(-1, 3) for each in corners]) if corners else np.zeros((0, 3))
    if not len(points):
        return Camera(np.zeros(3), **options)
    camera = Camera(np.zeros(3), **options)
    seen = points @ camera.axes.T
    low, high = seen.min(axis=0), seen.max(axis=0)
    span = high - low
    target = (0.5 * (low + high)) @ camera.axes
    return Camera(target, width=max(1.08 * span[0], 1.08 * span[1] * size[0] / size[1], 1e-3), **options)


def solids(model: Model, q: Any) -> tuple[Solid, Solid]:
    """Return the solids of bodies and world, and the ground (planes as wide as the rest needs), in world axes."""
    made: list[Solid] = []
    planes: list[tuple[np.ndarray, np.ndarray]] = []
    bodies = [(-1, model.base_geometry), *((k, body.geometry) for k, body in enumerate(model.bodies))]
    poses = [*body_poses(model)(np.asarray(q, dtype=float)), np.eye(4)]  # the world's, as that of body −1
    for body, geometry in bodies:
        turn, place = poses[body][:3, :3], poses[body][:3, 3]
        if body >= 0 and model.bodies[body].modes:
            made += _bent_solids(model, body, np.asarray(q, dtype=float), turn, place)
            continue
        for each in visible_geometry(geometry):
            rotation, origin = turn @ each.placement.rotation, turn @ each.placement.translation + place
            if isinstance(each.shape, Plane):
                planes.append((rotation, origin))
                continue
            surface = triangles(each.shape)
            color = np.broadcast_to(color_of(each, body, model), (len(surface.corners), 3))
            made.append(Solid(surface.corners @ rotation.T + origin, surface.normals @ rotation.T, color))
    whole = Solid(*(np.concatenate(field) for field in zip(*made))) if made else Solid(*(np.zeros((0, 3, 3)),) * 3)
    return whole, _ground_squares(planes, whole)


def _bent_solids(model: Model, body: int, q: np.ndarray, turn: np.ndarray, place: np.ndarray) -> list[Solid]:
    """The surfaces of a body that bends."""
    made = []
    for surface in model.kept(("surfaces", body), lambda: surfaces(model, body)):
        found = surface.deform(q[model.bodies[body].mode_q_slice])[1]
        color = np.broadcast_to(color_of(surface.geometry, body, model), (len(found.corners), 3))
        made.append(Solid(found.corners @ turn.T + place, found.normals @ turn.T, color))
    return made


def _ground_squares(planes: list[tuple[np.ndarray, np.ndarray]], rest: Solid) -> Solid:
    """Squares about what stands on them; their corners are cut to a disc when they are drawn."""
    made = []
    points = rest.corners.reshape(-1, 3) if len(rest.corners) else np.zeros((1, 3))
    middle, reach = 0.5 * (points.min(axis=0) + points.max(axis=0)), 0.9 * np.ptp(points, axis=0).max() + 0.1
    square = triangles(Plane())
    for rotation, origin in planes:
        center = middle - rotation[:, 2] * ((middle - origin) @ rotation[:, 2])
        made.append(Solid(reach * square.corners @ rotation.T + center, square.normals @ rotation.T, GROUNDS))
    return Solid(*(np.concatenate(field) for field in zip(*made))) if made else Solid(*(np.zeros((0, 3, 3)),) * 3)


def image(solid: Solid, ground: Solid, camera: Camera, size: tuple[int, int], shadows: bool = True) -> np.ndarray:
    """RGBA, (height, width, 4) uint8."""
    whole = Solid(*(np.concatenate(pair) for pair in zip(solid, ground))) if len(ground.corners) else solid
    width, height = (OVERSAMPLED * each for each in size)
    out = np.zeros((height * width, 4))
    if len(whole.corners):
        scale = width / camera.width
        seen = (whole.corners - np.asarray(camera.target)) @ camera.axes.T
        flat = seen[..., :2] * (scale, -scale) + (0.5 * width, 0.5 * height)
        facing = np.flatnonzero((whole.normals @ camera.axes[2]).max(axis=1) > -0.3)  # meshes may have odd normals
        pixel, owner, weight, _ = nearest(flat[facing], seen[facing, :, 2], width, height)
        fragments = {"fragment_pixel": pixel, "fragment_owner": facing[owner], "fragment_weight": weight}
        out = _fragment_colors(fragments, whole, solid, camera, out, shadows)
    cells = out.reshape(size[1], OVERSAMPLED, size[0], OVERSAMPLED, 4)
    alpha = cells[..., 3].mean(axis=(1, 3))
    weighted = (cells[..., :3] * cells[..., 3:]).sum(axis=(1, 3))
    color = weighted / np.maximum(cells[..., 3].sum(axis=(1, 3)), 1e-9)[..., None]
    return np.round(255 * np.concatenate([color, alpha[..., None]], axis=-1)).astype(np.uint8)


def _fragment_colors(
    fragments: dict[str, np.ndarray], whole: Solid, solid: Solid, camera: Camera, out: np.ndarray, shadows: bool
) -> np.ndarray:
    """Colours (pixels, 4) of the fragments; triangles of the ground come after those of `solid`."""
    numbers = np.zeros(NUMBERS)
    halfway = LIGHT + camera.axes[2]
    numbers[:9] = *LIGHT, *camera.axes[2], *(halfway / np.linalg.norm(halfway))
    numbers[LIFTED] = 0.004 * camera.width
    heights = _shadow_map(solid, numbers) if shadows and len(solid.corners) else np.zeros(1)
    count, side = len(fragments["fragment_pixel"]), round(len(heights) ** 0.5) if len(heights) > 1 else 0
    tables = {name: np.ascontiguousarray(x) if len(x) else np.zeros((1, *x.shape[1:]), x.dtype)
              for name, x in fragments.items()}  # fmt: skip
    tables |= {
        "shade_corners": np.ascontiguousarray(whole.corners, dtype=float).reshape(-1, 9),
        "shade_normals": np.ascontiguousarray(whole.normals, dtype=float).reshape(-1, 9),
        "shade_colors": np.ascontiguousarray(whole.color, dtype=float),
        "shade_sizes": np.array([count, side, len(solid.corners)], np.int64),
    }
    return shaded_pixels(tables | {"shade_numbers": numbers, "shadow_map": heights, "shaded": out})


def _shadow_map(solid: Solid, numbers: np.ndarray) -> np.ndarray:
    """Heights towards the light of what it meets first, a map with a rim of four cells; its place into `numbers`."""
    axes = Camera(np.zeros(3), LIGHT, up=(0.0, 1.0, 0.0)).axes
    seen = solid.corners[(solid.normals @ LIGHT).max(axis=1) > 0.0] @ axes.T
    if not len(seen):
        return np.zeros(1)
    low = seen[..., :2].reshape(-1, 2).min(axis=0)
    span = np.ptp(seen[..., :2].reshape(-1, 2), axis=0).max() * 1.02 + 1e-9
    scale, side = SHADOW_SIZE / span, SHADOW_SIZE + 8
    pixel, _, _, far = nearest((seen[..., :2] - low) * scale, seen[..., 2], SHADOW_SIZE, SHADOW_SIZE)
    heights = np.full(side**2, -np.inf)
    heights[(pixel // SHADOW_SIZE + 4) * side + pixel % SHADOW_SIZE + 4] = far
    numbers[AXES : AXES + 9], numbers[CORNER : CORNER + 2] = axes.ravel(), low
    numbers[SCALE], numbers[HIGHER] = scale, 0.002 * span
    return heights


def png(pixels: np.ndarray) -> bytes:
    """(h, w, 4) uint8 as a PNG file."""
    height, width = pixels.shape[:2]
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
