"""The nearest of many triangles at each pixel: a depth buffer, as loops that are compiled."""

from __future__ import annotations

from math import floor

import numpy as np

from phistar.backends.code.native import Arrays
from phistar.backends.native_door import bind_call

TRIANGLES, WIDTH, HEIGHT = range(3)  # `raster_sizes`
EDGE = 1e-9  # how far outside a triangle a pixel's centre may lie, as a part of its weights
SLIM = 1e-12  # pixels²: triangles of less area are not seen


def clamp(x: float, most: int) -> int:
    """The whole number not above x, from 0 to `most`; x may be far outside."""
    if not x > 0.0:
        return 0
    if x >= float(most):
        return most
    return floor(x)


def cover(m: Arrays, t: int) -> None:
    """A triangle's pixels: those whose centres lie in it and where it is as near as what was seen before."""
    width, height = m.raster_sizes[WIDTH], m.raster_sizes[HEIGHT]
    ax, ay = m.raster_flat[t, 0], m.raster_flat[t, 1]
    bx, by = m.raster_flat[t, 2] - ax, m.raster_flat[t, 3] - ay
    cx, cy = m.raster_flat[t, 4] - ax, m.raster_flat[t, 5] - ay
    area = bx * cy - cx * by
    if not abs(area) > SLIM:
        return
    low_x, high_x = min(0.0, min(bx, cx)) + ax, max(0.0, max(bx, cx)) + ax
    low_y, high_y = min(0.0, min(by, cy)) + ay, max(0.0, max(by, cy)) + ay
    first, last = clamp(low_x + 0.5, width), clamp(high_x + 0.5, width)
    top, bottom = clamp(low_y + 0.5, height), clamp(high_y + 0.5, height)
    depth = m.raster_depth[t, 0]
    second, third = m.raster_depth[t, 1] - depth, m.raster_depth[t, 2] - depth
    for y in range(top, bottom):
        down = float(y) + 0.5 - ay
        for x in range(first, last):
            along = float(x) + 0.5 - ax
            b, c = (along * cy - down * cx) / area, (down * bx - along * by) / area
            if b >= -EDGE and c >= -EDGE and b + c <= 1.0 + EDGE:
                far, pixel = depth + b * second + c * third, y * width + x
                if far >= m.raster_best[pixel]:
                    m.raster_best[pixel], m.raster_owner[pixel] = far, t
                    m.raster_weight[pixel, 0], m.raster_weight[pixel, 1] = b, c


def cover_all(m: Arrays) -> None:
    for t in range(m.raster_sizes[TRIANGLES]):
        cover(m, t)


def nearest(flat: np.ndarray, depth: np.ndarray, width: int, height: int) -> tuple[np.ndarray, ...]:
    """Nearest of triangles (t, 3, 2) in pixels with depths (t, 3), growing towards the eye, at each pixel covered:
    pixel numbers, triangle numbers, weights of its corners (f, 3), depths."""
    count, pixels = len(flat), width * height
    tables = {
        "raster_sizes": np.array([count, width, height], np.int64),
        "raster_flat": np.ascontiguousarray(flat, dtype=float).reshape(-1, 6) if count else np.zeros((1, 6)),
        "raster_depth": np.ascontiguousarray(depth, dtype=float).reshape(-1, 3) if count else np.zeros((1, 3)),
        "raster_best": np.full(pixels, -np.inf),
        "raster_owner": np.full(pixels, -1, np.int64),
        "raster_weight": np.zeros((pixels, 2)),
    }
    bind_call((clamp, cover, cover_all), tables, {})()
    pixel = np.flatnonzero(tables["raster_owner"] >= 0)
    b, c = tables["raster_weight"][pixel].T
    return pixel, tables["raster_owner"][pixel], np.stack([1.0 - b - c, b, c], axis=1), tables["raster_best"][pixel]
