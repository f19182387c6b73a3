"""Derivatives of places of contact by the poses of the shapes: the narrow phase, differentiated.

Gap, point and normal of a place follow a twist of its first shape, the second at rest, by six directions; a twist of
the second is that of both, which turns and moves the place, less that of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from phistar.backends.code.native import Arrays
from phistar.backends.code.native_dual import changes, value_functions
from phistar.constraints.columns import CONTACTS, POINT, SHAPE_A, SHAPE_B
from phistar.geometry.box_pairs import BOX_PAIRS
from phistar.geometry.broad_phase import meet_plane, meet_shape
from phistar.geometry.contact_report import pair_law
from phistar.geometry.hull_pairs import HULL_PAIRS
from phistar.geometry.round_pairs import ROUND_PAIRS
from phistar.geometry.shape_columns import HALFSPACE, KIND

VARYING = (
    *("placed", "frame", "segment", "polygon", "corners", "ray", "nearest", "simplex", "far", "lone", "edge", "trial"),
    *("normal", "closest", "touching", "apart", "middle"),
)
PLACE_CHANGE = 42  # gap, point and normal along six directions


def report_d(
    m: Arrays, a: int, b: int, gap: float, x: float, y: float, z: float, nx: float, ny: float, nz: float,
    gap_d: float, x_d: float, y_d: float, z_d: float, nx_d: float, ny_d: float, nz_d: float,
) -> None:  # fmt: skip
    """The changes of a place go to the contact that stands there, of its pair's, of which `direction` has the first."""
    for c in range(m.direction[1], m.counts[CONTACTS]):
        if m.contact_wholes[c, SHAPE_A] != a or m.contact_wholes[c, SHAPE_B] != b:
            return
        away = abs(m.contacts[c, POINT] - x) + abs(m.contacts[c, POINT + 1] - y) + abs(m.contacts[c, POINT + 2] - z)
        if away < 1e-10:
            at = 7 * m.direction[0]
            m.place_changes[c, at], m.place_changes[c, at + 1] = gap_d, x_d
            m.place_changes[c, at + 2], m.place_changes[c, at + 3] = y_d, z_d
            m.place_changes[c, at + 4], m.place_changes[c, at + 5] = nx_d, ny_d
            m.place_changes[c, at + 6] = nz_d


def twist_shape(m: Arrays, s: int, direction: int, size: float) -> None:
    """`placed_d` of a shape along a unit twist [ω; v] at the world's origin, or none of it (size 0)."""
    x = size if direction == 0 else 0.0
    y = size if direction == 1 else 0.0
    z = size if direction == 2 else 0.0
    for j in range(4):
        first = 9 if j == 3 else j
        step = 1 if j == 3 else 3
        a, b, c = m.placed[s, first], m.placed[s, first + step], m.placed[s, first + 2 * step]
        m.placed_d[s, first] = y * c - z * b
        m.placed_d[s, first + step] = z * a - x * c
        m.placed_d[s, first + 2 * step] = x * b - y * a
    if direction >= 3:
        m.placed_d[s, 6 + direction] += size


def change_places(m: Arrays) -> None:
    """`place_changes` of every contact, pair by pair: contacts of a pair stand one after the other."""
    a, b = -1, -1
    for c in range(m.counts[CONTACTS]):
        if m.contact_wholes[c, SHAPE_A] != a or m.contact_wholes[c, SHAPE_B] != b:
            a, b = m.contact_wholes[c, SHAPE_A], m.contact_wholes[c, SHAPE_B]
            m.direction[1] = c
            for direction in range(6):
                m.direction[0] = direction
                twist_shape(m, a, direction, 1.0)
                if m.shape_wholes[b, KIND] == HALFSPACE:
                    meet_plane_d(m, a, b)
                else:
                    meet_shape_d(m, a, b)
            twist_shape(m, a, 0, 0.0)


def meet_plane_d(m: Arrays, a: int, b: int) -> None:
    """`meet_plane`, differentiated: made by `place_change_loops`."""
    raise NotImplementedError


def meet_shape_d(m: Arrays, a: int, b: int) -> None:
    """`meet_shape`, differentiated: made by `place_change_loops`."""
    raise NotImplementedError


@cache
def place_change_loops() -> tuple[Callable[..., Any], ...]:
    """The loops of `change_places`, which comes last; made where they are wanted, since most runs want none."""
    pairs = (*ROUND_PAIRS, *BOX_PAIRS, *HULL_PAIRS, meet_plane, meet_shape)
    made = changes(pairs, {"report": "report_d"}, VARYING)
    return pair_law, *value_functions(pairs), report_d, *made, twist_shape, change_places
