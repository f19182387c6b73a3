"""Colours of the pixels that triangles cover: lit from one side, with gloss and soft shadows, as compiled loops."""

from __future__ import annotations

from math import floor, sqrt

import numpy as np

from phistar.backends.code.native import Arrays
from phistar.backends.native_door import bind_call

# `shade_numbers`: light, the way to the eye, the middle of both, axes of the shadow's map, its corner, cells a metre,
# how much higher what hides must be, how far points are lifted off their surface
LIGHT, EYE, HALFWAY, AXES, CORNER, SCALE, HIGHER, LIFTED = 0, 3, 6, 9, 18, 20, 21, 22
NUMBERS = 23
FRAGMENTS, CELLS, GROUND = range(
    3
)  # `shade_sizes`; cells along a side (0: no shadows), the first triangle of the ground
RIM, CLEAR = 0.35, 0.7  # of the ground: how much of its radius fades out, how opaque it is
HIDDEN = 0.75  # of the light that a shadow takes


def dot_number(m: Arrays, at: int, x: float, y: float, z: float) -> float:
    return m.shade_numbers[at] * x + m.shade_numbers[at + 1] * y + m.shade_numbers[at + 2] * z


def hides(m: Arrays, column: int, row: int, height: float) -> float:
    return 0.2 if m.shadow_map[row * m.shade_sizes[CELLS] + column] > height else 0.0


def shadow_at(m: Arrays, x: float, y: float, z: float) -> float:
    """Share of the light that is kept from a point, softened over neighbouring cells."""
    cells = m.shade_sizes[CELLS]
    if cells == 0:
        return 0.0
    across = (dot_number(m, AXES, x, y, z) - m.shade_numbers[CORNER]) * m.shade_numbers[SCALE]
    along = (dot_number(m, AXES + 3, x, y, z) - m.shade_numbers[CORNER + 1]) * m.shade_numbers[SCALE]
    height = dot_number(m, AXES + 6, x, y, z) + m.shade_numbers[HIGHER]
    most = float(cells) - 2.0
    column, row = floor(min(max(across + 4.0, 1.0), most)), floor(min(max(along + 4.0, 1.0), most))
    total = hides(m, column, row, height) + hides(m, column - 1, row, height) + hides(m, column + 1, row, height)
    return total + hides(m, column, row - 1, height) + hides(m, column, row + 1, height)


def opacity(m: Arrays, t: int, x: float, y: float, z: float) -> float:
    """1; of the ground, two triangles a square, less, and 0 at its rim."""
    first = m.shade_sizes[GROUND]
    if t < first:
        return 1.0
    square = first + 2 * ((t - first) // 2)
    away, side = 0.0, 0.0
    for i in range(3):
        a, b, c = m.shade_corners[square, i], m.shade_corners[square, 3 + i], m.shade_corners[square, 6 + i]
        place = x if i == 0 else y if i == 1 else z
        away += (place - 0.5 * (a + c)) * (place - 0.5 * (a + c))
        side += (b - a) * (b - a)
    return CLEAR * min(max((1.0 - sqrt(away) / (0.5 * sqrt(side))) / RIM, 0.0), 1.0)


def shade(m: Arrays, f: int) -> None:
    t, pixel = m.fragment_owner[f], m.fragment_pixel[f]
    a, b, c = m.fragment_weight[f, 0], m.fragment_weight[f, 1], m.fragment_weight[f, 2]
    nx = a * m.shade_normals[t, 0] + b * m.shade_normals[t, 3] + c * m.shade_normals[t, 6]
    ny = a * m.shade_normals[t, 1] + b * m.shade_normals[t, 4] + c * m.shade_normals[t, 7]
    nz = a * m.shade_normals[t, 2] + b * m.shade_normals[t, 5] + c * m.shade_normals[t, 8]
    size = max(sqrt(nx * nx + ny * ny + nz * nz), 1e-12)
    if dot_number(m, EYE, nx, ny, nz) < 0.0:  # meshes may have odd normals
        size = -size
    nx, ny, nz = nx / size, ny / size, nz / size
    x = a * m.shade_corners[t, 0] + b * m.shade_corners[t, 3] + c * m.shade_corners[t, 6]
    y = a * m.shade_corners[t, 1] + b * m.shade_corners[t, 4] + c * m.shade_corners[t, 7]
    z = a * m.shade_corners[t, 2] + b * m.shade_corners[t, 5] + c * m.shade_corners[t, 8]
    lit = min(max(dot_number(m, LIGHT, nx, ny, nz), 0.0), 1.0)
    off = m.shade_numbers[LIFTED]
    lit *= 1.0 - HIDDEN * shadow_at(m, x + off * nx, y + off * ny, z + off * nz)
    gloss = 0.0
    if lit > 0.2:
        near = min(max(dot_number(m, HALFWAY, nx, ny, nz), 0.0), 1.0)
        near = near * near * near * near * near
        near = near * near
        gloss = near * near * near  # the thirtieth power
    bright = 0.46 + 0.10 * nz + 0.50 * lit
    for i in range(3):
        m.shaded[pixel, i] = min(max(m.shade_colors[t, i] * bright + 0.10 * gloss, 0.0), 1.0)
    m.shaded[pixel, 3] = opacity(m, t, x, y, z)


def shade_all(m: Arrays) -> None:
    for f in range(m.shade_sizes[FRAGMENTS]):
        shade(m, f)


def shaded_pixels(tables: dict[str, np.ndarray]) -> np.ndarray:
    """RGBA (pixels, 4) from 0 to 1, of the tables above; `shaded` is filled."""
    bind_call((dot_number, hides, shadow_at, opacity, shade, shade_all), tables, {})()
    return tables["shaded"]
