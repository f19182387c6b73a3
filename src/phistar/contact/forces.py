"""The forces of an implicit step: at places of contact, at stops of joints, and of joints' dry friction, in one solve.

Normal forces are found implicitly, on the gaps at the step's end, by Newton's method that never lets a gap close;
friction of places and of joints follows them, one after the other, each knowing what those before it did (projected
Gauss-Seidel); the two are repeated until neither changes the other. Loops, compiled as they stand.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.code.native import Arrays
from phistar.backends.native_door import native
from phistar.contact.rows import (
    ABOUT,
    ACROSS,
    BENT,
    BENT2,
    GAP,
    GIVE,
    GRIPS,
    LEFT,
    MISSED,
    NV,
    PRESS,
    PULL,
    PULL2,
    ROW,
    ROWS,
    STOPS,
    TINY,
    TOUCH,
    TURN,
    TWIST,
    along,
    answer,
    basis,
    bend,
    place,
    stop_near,
)
from phistar.contact.solving import SOLVING, solve
from phistar.contact.surface import BRISTLE_DAMPING, FRICTION, LAW, MARGIN, PATCH, STIFFNESS

SLOTS = ROOTS = 0  # given when the loops are compiled
SLOWEST = 1e-4  # m/s: no touch counts as slower
RESTS = 1e-9  # rad/s or m/s: what dry friction holds and moves no faster is at rest
MEASURED, HELD, FORCED = 7, 5, 6  # numbers of a place: gap, point, normal; bristle, twist, touch speed; Solved.forces


class Solved(NamedTuple):
    """The rates w (nv,) at the step's end and the momenta (k, 6) of free trees; what slots hold (slots, 5); of near
    places (capacity, 6) forces along two tangents and the normal and about it, the gap left and what Newton's method
    missed of it; forces (s,) of stops; and `report` (2,): how badly it missed at worst, and where rounds
    ran out, by which part of the largest force friction changed last. `axes` (capacity, 9) are the places' tangents and
    normals."""

    w: np.ndarray
    momenta: np.ndarray
    held: np.ndarray
    forces: np.ndarray
    pushes: np.ndarray
    report: np.ndarray
    axes: np.ndarray


def gather(m: Arrays) -> float:
    """Rows and numbers of every near place; 1 where any has friction."""
    h, gripping = m.numbers[0], 0.0
    for i in range(int(m.numbers[1])):
        slot = int(m.slots[i])
        for j in range(9):
            m.surface[i, j] = m.parameters[slot, j]
        basis(m, i)
        place(m, i, slot)
        answer(m, 4 * i + 2, slot)
        m.normals[i, GAP], m.normals[i, TOUCH], m.normals[i, ROW] = m.table[i, 0], m.held[slot, 4], 4 * i + 2
        bend(m, i, slot, h)
        m.grips[i, GRIPS] = 0.0
        if m.surface[i, FRICTION] > 0.0:
            gripping, m.grips[i, GRIPS] = 1.0, 1.0
            answer(m, 4 * i, slot)
            answer(m, 4 * i + 1, slot)
            own, across, about = 0.0, 0.0, 0.0
            for j in range(NV):
                own += m.jacobian[4 * i, j] * m.answers[4 * i, j]
                across += m.jacobian[4 * i + 1, j] * m.answers[4 * i + 1, j]
            across = 0.5 * h * (own + across)
            firm = m.surface[i, BRISTLE_DAMPING] + h * m.surface[i, STIFFNESS]
            m.grips[i, ACROSS], m.grips[i, GIVE] = across, 1.0 / (1.0 + across * firm)
            if m.surface[i, PATCH] > 0.0:
                m.grips[i, GRIPS] = 2.0
                answer(m, 4 * i + 3, slot)
                for j in range(NV):
                    about += m.jacobian[4 * i + 3, j] * m.answers[4 * i + 3, j]
                m.grips[i, ABOUT] = h * about
    return gripping


def begin(m: Arrays, count: int, h: float) -> None:
    """h²G of the normals, the speeds of touching, and gaps to start Newton's method from."""
    for i in range(count):
        row = int(m.normals[i, ROW])
        u = along(m, row)
        touching = m.normals[i, TOUCH]
        m.normals[i, TOUCH] = max(touching if touching > 0.0 else -u, SLOWEST)
        m.normals[i, LEFT] = max(m.normals[i, GAP] + h * u, 0.3 * m.normals[i, GAP])
        m.normals[i, PRESS] = 0.0
        for j in range(i + 1):
            other, total = int(m.normals[j, ROW]), 0.0
            for k in range(NV):
                total += m.jacobian[row, k] * m.answers[other, k]
            m.matrix[i, j] = h * h * total
            m.matrix[j, i] = h * h * total


def keep(m: Arrays, i: int, h: float) -> None:
    """What place i holds, did, and gave to free trees. Bristles follow what really moves, and slip where their force
    would pass μ f."""
    slot, pressing = int(m.slots[i]), m.normals[i, PRESS]
    longest = m.surface[i, FRICTION] * pressing / m.surface[i, STIFFNESS]
    s = m.grips[i, BENT] + h * along(m, 4 * i)
    t = m.grips[i, BENT2] + h * along(m, 4 * i + 1)
    cut = min(1.0, longest / sqrt(s * s + t * t + TINY))
    widest = longest / (m.surface[i, PATCH] + TINY)
    twist = m.grips[i, TWIST] + h * along(m, 4 * i + 3)
    for j in range(3):
        m.held_after[slot, j] = cut * (s * m.axes[i, j] + t * m.axes[i, 3 + j])
    m.held_after[slot, 3] = min(max(twist, -widest), widest)
    m.held_after[slot, 4] = m.normals[i, TOUCH] if m.surface[i, MARGIN] > m.normals[i, LEFT] else 0.0
    x, y, turn = m.grips[i, PULL], m.grips[i, PULL2], m.grips[i, TURN]
    m.forces[i, 0], m.forces[i, 1], m.forces[i, 2], m.forces[i, 3] = x, y, pressing, turn
    m.forces[i, 4], m.forces[i, 5] = m.normals[i, LEFT], m.normals[i, MISSED]
    for side in range(2):
        tree = int(m.trees[int(m.sides[slot, side])])
        other = int(m.trees[int(m.sides[slot, 1 - side])])
        if tree >= 0 and tree != other:
            way = h if side == 0 else -h
            for j in range(3):
                k, l = (j + 1) % 3, (j + 2) % 3
                one = x * m.axes[i, k] + y * m.axes[i, 3 + k] + pressing * m.axes[i, 6 + k]
                two = x * m.axes[i, l] + y * m.axes[i, 3 + l] + pressing * m.axes[i, 6 + l]
                force = x * m.axes[i, j] + y * m.axes[i, 3 + j] + pressing * m.axes[i, 6 + j]
                moment = m.table[i, 1 + k] * two - m.table[i, 1 + l] * one + turn * m.axes[i, 6 + j]
                m.momenta_after[tree, j] += way * moment
                m.momenta_after[tree, 3 + j] += way * force


def implicit_forces(m: Arrays) -> None:
    """The whole step: rows, normal forces and friction, and what is left of them."""
    h, places = m.numbers[0], int(m.numbers[1])
    for j in range(NV):
        m.w[j], m.rubs[j], m.stops_it[j] = m.rates[j], 0.0, 1.0 / (h * m.inverse[j, j])
    for i in range(SLOTS):
        for j in range(5):
            m.held_after[i, j] = 0.0
    for i in range(ROOTS):
        for j in range(6):
            m.momenta_after[i, j] = m.momenta[i, j]
    rubbing = gather(m)
    for j in range(NV):
        rubbing = max(rubbing, m.dry[0, j] + m.dry[1, j])
    count = places
    for s in range(STOPS):
        m.pushes[s] = -1.0
        if stop_near(m, s, count, h) > 0.0:
            m.pushes[s] = count
            count += 1
    begin(m, count, h)
    missed = solve(m, places, count, rubbing, h)
    for s in range(STOPS):
        m.pushes[s] = m.normals[int(max(m.pushes[s], 0.0)), PRESS] if m.pushes[s] >= 0.0 else 0.0
    for i in range(places):
        keep(m, i, h)
    total = 0.0
    for j in range(NV):
        total += m.w[j]
        held_still = m.rubs[j] > -m.dry[0, j] and m.rubs[j] < m.dry[1, j]
        if held_still and abs(m.w[j]) < RESTS:
            m.w[j] = 0.0
    m.report[0] = missed + 0.0 * total  # NaN where anything was


FORCES = (*LAW, *ROWS, *SOLVING, gather, begin, keep, implicit_forces)


@lru_cache(maxsize=64)
def compiled_forces(places: int, nv: int, nq: int, stops: int, slots: int, roots: int, bodies: int) -> Any:
    """`implicit_forces` for given sizes: it takes the inputs flat, and gives `Solved` and its working memory."""
    given = {"numbers": (2,), "table": (places, MEASURED), "slots": (places,), "held": (slots, HELD)}
    given |= {"parameters": (slots, 9), "sides": (slots, 2), "spans": (slots, 4), "masks": (bodies, nv)}
    given |= {"trees": (bodies,), "stops": (stops, 4), "stop_surface": (9,), "dry": (2, nv), "q": (nq,)}
    given |= {"rates": (nv,), "inverse": (nv, nv), "screws": (nv, 6), "momenta": (roots, 6)}
    normals, rows = places + stops, 4 * places + stops
    made = {"w": (nv,), "momenta_after": (roots, 6), "held_after": (slots, HELD), "forces": (places, FORCED)}
    made |= {
        "pushes": (stops,),
        "report": (2,),
        "axes": (places, 9),
        "rubs": (nv,),
        "stops_it": (nv,),
        "jacobian": (rows, nv),
        "answers": (rows, nv),
    }
    made |= {"surface": (normals, 9), "matrix": (normals, normals), "factor": (normals, normals)}
    made |= {"normals": (normals, 10), "grips": (places, 10)}
    sizes = {"NV": nv, "PLACES": places, "STOPS": stops, "SLOTS": slots, "ROOTS": roots}
    return native(FORCES, given, made, sizes)
