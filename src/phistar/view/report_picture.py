"""Pictures of a model without a browser: triangles projected, the nearest kept, lit, with shadows; PNG bytes."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phistar.model.geometry import Plane
from phistar.model.model import Model
from phistar.view.bent_surfaces import exaggerated, surfaces
from phistar.view.report_shapes import GROUND, color_of, triangles, visible_geometry
from phistar.view.stage import body_poses

LIGHT = np.array([0.35, -0.25, 0.9]) / np.linalg.norm([0.35, -0.25, 0.9])
OVERSAMPLED = 2
SHADOW_SIZE = 700
MOST_FRAGMENTS = 4_000_000
GROUNDS = np.tile(GROUND, (2, 1))


class Solid(NamedTuple):
    """Triangles in the world: corners and normals (t, 3, 3), colours (t, 3)."""

    corners: np.ndarray
    normals: np.ndarray
    color: np.ndarray


@dataclass(frozen=True)
class Camera:
    """Looks at `target` from `direction` (from the target to the eye), and shows `width` metres of it."""

    target: Any
    direction: Any = (1.2, -1.6, 0.9)
    width: float = 2.0
    up: Any = (0.0, 0.0, 1.0)

    @property
    def axes(self) -> np.ndarray:
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
    solid, ground = solids(model, exaggerated(model, np.asarray(q, dtype=float), exaggeration))
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
            made += _bent(model, body, np.asarray(q, dtype=float), turn, place)
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
    return whole, _ground(planes, whole)


def _bent(model: Model, body: int, q: np.ndarray, turn: np.ndarray, place: np.ndarray) -> list[Solid]:
    """The surfaces of a body that bends."""
    made = []
    for surface in model.kept(("surfaces", body), lambda: surfaces(model, body)):
        found = surface.bent(q[model.bodies[body].mode_q_slice])[1]
        color = np.broadcast_to(color_of(surface.geometry, body, model), (len(found.corners), 3))
        made.append(Solid(found.corners @ turn.T + place, found.normals @ turn.T, color))
    return made


def _ground(planes: list[tuple[np.ndarray, np.ndarray]], rest: Solid) -> Solid:
    """Squares about what stands on them; their corners are cut to a disc when they are drawn."""
    made = []
    points = rest.corners.reshape(-1, 3) if len(rest.corners) else np.zeros((1, 3))
    middle, reach = 0.5 * (points.min(axis=0) + points.max(axis=0)), 0.9 * np.ptp(points, axis=0).max() + 0.1
    square = triangles(Plane())
    for rotation, origin in planes:
        center = middle - rotation[:, 2] * ((middle - origin) @ rotation[:, 2])
        made.append(Solid(reach * square.corners @ rotation.T + center, square.normals @ rotation.T, GROUNDS))
    return Solid(*(np.concatenate(field) for field in zip(*made))) if made else Solid(*(np.zeros((0, 3, 3)),) * 3)


def _opacity(point: np.ndarray, owner: np.ndarray, ground: Solid, first: int) -> np.ndarray:
    """1; of the ground, whose triangles are numbered from `first` on, less, and 0 at its rim."""
    out, on = np.ones(len(owner)), owner >= first
    if on.any():
        square = ground.corners[2 * ((owner[on] - first) // 2)]
        center, reach = 0.5 * (square[:, 0] + square[:, 2]), 0.5 * np.linalg.norm(square[:, 1] - square[:, 0], axis=1)
        out[on] = np.clip((1.0 - np.linalg.norm(point[on] - center, axis=1) / reach) / 0.35, 0.0, 1.0) * 0.7
    return out


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
        owner = facing[owner]
        normal = np.einsum("fc,fcx->fx", weight, whole.normals[owner])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        towards = np.einsum("fx,x->f", normal, camera.axes[2])
        normal = np.where(towards[:, None] < 0.0, -normal, normal)
        point = np.einsum("fc,fcx->fx", weight, whole.corners[owner])
        lit = np.clip(normal @ LIGHT, 0.0, 1.0)
        if shadows:
            lit = lit * (1.0 - 0.75 * _shadow(solid, point + 0.004 * camera.width * normal))
        halfway = LIGHT + camera.axes[2]
        gloss = np.clip(normal @ (halfway / np.linalg.norm(halfway)), 0.0, 1.0) ** 30 * (lit > 0.2)
        shade = 0.46 + 0.10 * normal[:, 2] + 0.50 * lit
        out[pixel, :3] = np.clip(whole.color[owner] * shade[:, None] + 0.10 * gloss[:, None], 0.0, 1.0)
        out[pixel, 3] = _opacity(point, owner, ground, len(solid.corners))
    cells = out.reshape(size[1], OVERSAMPLED, size[0], OVERSAMPLED, 4)
    alpha = cells[..., 3].mean(axis=(1, 3))
    weighted = (cells[..., :3] * cells[..., 3:]).sum(axis=(1, 3))
    color = weighted / np.maximum(cells[..., 3].sum(axis=(1, 3)), 1e-9)[..., None]
    return np.round(255 * np.concatenate([color, alpha[..., None]], axis=-1)).astype(np.uint8)


def nearest(flat: np.ndarray, depth: np.ndarray, width: int, height: int) -> tuple[np.ndarray, ...]:
    """Nearest of triangles (t, 3, 2) in pixels with depths (t, 3), growing towards the eye, at each pixel covered:
    pixel numbers, triangle numbers, weights of its corners (f, 3), depths."""
    low = np.clip(np.ceil(flat.min(axis=1) - 0.5), 0, (width, height)).astype(int)
    high = np.clip(np.floor(flat.max(axis=1) - 0.5) + 1, 0, (width, height)).astype(int)
    count = np.prod(np.maximum(high - low, 0), axis=1)
    best = np.full(width * height, -np.inf)
    chosen = np.full(width * height, -1)
    planes = _planes(flat, depth)
    ends = np.searchsorted(np.cumsum(count), np.arange(1, count.sum() // MOST_FRAGMENTS + 2) * MOST_FRAGMENTS) + 1
    begin = 0
    for end in np.minimum(ends, len(count)):
        if end > begin:
            pixel, owner, far = _fragments(planes, low, high, count, np.arange(begin, end), width)
            np.maximum.at(best, pixel, far)
            front = far >= best[pixel]
            chosen[pixel[front]] = owner[front]
            begin = end
    pixel = np.flatnonzero(chosen >= 0)
    owner = chosen[pixel]
    x, y = pixel % width + 0.5, pixel // width + 0.5
    b, c = (planes[owner, k] + planes[owner, k + 1] * x + planes[owner, k + 2] * y for k in (0, 3))
    return pixel, owner, np.stack([1.0 - b - c, b, c], axis=1), best[pixel]


def _planes(flat: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """(t, 9): the weights of the second and third corner and the depth, each as constant, x and y coefficient."""
    a, ab, ac = flat[:, 0], flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]
    area = ab[:, 0] * ac[:, 1] - ac[:, 0] * ab[:, 1]
    inverse = np.divide(1.0, area, out=np.full_like(area, np.nan), where=np.abs(area) > 1e-12)  # NaN: never inside
    b = np.stack([ac[:, 0] * a[:, 1] - ac[:, 1] * a[:, 0], ac[:, 1], -ac[:, 0]], axis=1) * inverse[:, None]
    c = np.stack([ab[:, 1] * a[:, 0] - ab[:, 0] * a[:, 1], -ab[:, 1], ab[:, 0]], axis=1) * inverse[:, None]
    rise = depth[:, 1:] - depth[:, :1]
    along = rise[:, :1] * b + rise[:, 1:] * c
    along[:, 0] += depth[:, 0]
    return np.concatenate([b, c, along], axis=1)


def _fragments(planes, low, high, count, chosen, width) -> tuple[np.ndarray, ...]:
    """Every pixel centre inside a chosen triangle: pixel, triangle, depth."""
    owner = np.repeat(chosen, count[chosen])
    starts = np.cumsum(count[chosen]) - count[chosen]
    place = np.arange(len(owner)) - np.repeat(starts, count[chosen])
    row, column = np.divmod(place, np.maximum(high[:, 0] - low[:, 0], 1)[owner])
    x, y = low[:, 0][owner] + column, low[:, 1][owner] + row
    pixel = y * width + x
    x, y = x + 0.5, y + 0.5
    b, c = (planes[:, k][owner] + planes[:, k + 1][owner] * x + planes[:, k + 2][owner] * y for k in (0, 3))
    inside = np.flatnonzero((b >= -1e-9) & (c >= -1e-9) & (b + c <= 1.0 + 1e-9))
    owner, x, y = owner[inside], x[inside], y[inside]
    return pixel[inside], owner, planes[owner, 6] + planes[owner, 7] * x + planes[owner, 8] * y


def _shadow(solid: Solid, points: np.ndarray) -> np.ndarray:
    """How much of the light is kept from points (f, 3): 0 to 1, softened over neighbouring cells."""
    if not len(solid.corners):
        return np.zeros(len(points))
    axes = Camera(np.zeros(3), LIGHT, up=(0.0, 1.0, 0.0)).axes
    seen = solid.corners[(solid.normals @ LIGHT).max(axis=1) > 0.0] @ axes.T
    low = seen[..., :2].reshape(-1, 2).min(axis=0)
    span = np.ptp(seen[..., :2].reshape(-1, 2), axis=0).max() * 1.02 + 1e-9
    scale = SHADOW_SIZE / span
    pixel, _, _, far = nearest((seen[..., :2] - low) * scale, seen[..., 2], SHADOW_SIZE, SHADOW_SIZE)
    height = np.full((SHADOW_SIZE + 8) ** 2, -np.inf)
    height[(pixel // SHADOW_SIZE + 4) * (SHADOW_SIZE + 8) + pixel % SHADOW_SIZE + 4] = far
    place = points @ axes.T
    cell = np.clip(np.floor((place[:, :2] - low) * scale).astype(int) + 4, 1, SHADOW_SIZE + 6)
    hidden = np.zeros(len(points))
    for dx, dy in ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)):
        hidden += height[(cell[:, 1] + dy) * (SHADOW_SIZE + 8) + cell[:, 0] + dx] > place[:, 2] + 0.002 * span
    return hidden / 5.0


def png(pixels: np.ndarray) -> bytes:
    """(h, w, 4) uint8 as a PNG file."""
    height, width = pixels.shape[:2]
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
