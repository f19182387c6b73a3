"""Columns of the tables of a step's derivative, and products of screws that its loops share.

Rates stand in the order of the step's nodes, R of them. The columns of `sides` are the changes asked for: R of places,
R of rates before the step, those of the command, and R of forces where they are asked for; `system` is N (R, R).
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import BODIES

# `tangent_counts`: rates, columns, entries of the command, columns of forces (0 or R), whether the state is fresh (its
# overlaps are held), groups of loops, and rows of `axes`: screws of rates, of modes at nodes, and one that is zero
RATES_OF, COLUMNS_OF, ENTRIES_OF, FORCES_OF, FRESH_STATE, GROUPS_OF, SCREWS_OF = range(7)
TANGENT_COUNTS = 7
# `tangent_calls`, a row for every tree: the kernel of ∂ID, address and argument, and that of what bends (0: nothing);
# `bend_rows` of every mode's screw at a node: the row of the first mode there, and where its changes stand in `bends`
DYNAMICS_CALL, BENDING_CALL = 0, 2
TREE_CALLS = 4
# `group_wholes` of every group of loops: its kernel, where its rows and coordinates begin, and how many they are
GROUP_CALL, GROUP_ROWS, GROUP_ROW_COUNT, GROUP_RATES, GROUP_RATE_COUNT, GROUP_OUT = 0, 2, 3, 4, 5, 6
GROUP_WHOLES = 7
# `body_numbers`: mass, centre and tensor about it of every body of a tree
BODY_MASS, BODY_CENTER, BODY_TENSOR = 0, 1, 4
BODY_FLOATS = 13


def still(m: Arrays) -> int:
    """The last row of `axes`, which moves nothing."""
    return m.tangent_counts[SCREWS_OF] - 1


def screw_at(m: Arrays, place: int, j: int) -> int:
    """The row in `axes` of the screw by which a rate moves a place (−1: the world)."""
    at = place if place >= 0 else m.counts[BODIES]
    return m.screw_rows[at * m.tangent_counts[RATES_OF] + j]


def bend_at(m: Arrays, turned: int, by: int) -> int:
    """Where `bends` has the change of a mode's screw by another mode at the same node, by their rows; −1 where the
    rows are no such pair."""
    first = m.tangent_counts[RATES_OF]
    if turned < first or by < first or m.bend_rows[turned - first, 0] != m.bend_rows[by - first, 0]:
        return -1
    if m.bend_rows[turned - first, 0] < 0:
        return -1
    return m.bend_rows[turned - first, 1] + 6 * (by - m.bend_rows[by - first, 0])


def adjoint(m: Arrays, j: int) -> None:
    """`carried` = ad(s) `twisted` of the screw in row j: [ω × x; v × x + ω × y]."""
    a, b, c = m.axes[j, 0], m.axes[j, 1], m.axes[j, 2]
    d, e, f = m.axes[j, 3], m.axes[j, 4], m.axes[j, 5]
    x, y, z = m.twisted[0], m.twisted[1], m.twisted[2]
    u, v, w = m.twisted[3], m.twisted[4], m.twisted[5]
    m.carried[0], m.carried[1], m.carried[2] = b * z - c * y, c * x - a * z, a * y - b * x
    m.carried[3] = e * z - f * y + b * w - c * v
    m.carried[4] = f * x - d * z + c * u - a * w
    m.carried[5] = d * y - e * x + a * v - b * u


def coadjoint(m: Arrays, j: int) -> None:
    """`carried` = ad(s)* `twisted`, a wrench, of the screw in row j: −[ω × x + v × y; ω × y]."""
    a, b, c = m.axes[j, 0], m.axes[j, 1], m.axes[j, 2]
    d, e, f = m.axes[j, 3], m.axes[j, 4], m.axes[j, 5]
    x, y, z = m.twisted[0], m.twisted[1], m.twisted[2]
    u, v, w = m.twisted[3], m.twisted[4], m.twisted[5]
    m.carried[0] = c * y - b * z + f * v - e * w
    m.carried[1] = a * z - c * x + d * w - f * u
    m.carried[2] = b * x - a * y + e * u - d * v
    m.carried[3], m.carried[4], m.carried[5] = c * v - b * w, a * w - c * u, b * u - a * v


SCREWS = (still, screw_at, bend_at, adjoint, coadjoint)
