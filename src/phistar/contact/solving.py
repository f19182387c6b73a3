"""Normal forces and friction of an implicit step: the loops that repeat until nothing changes."""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.contact.rows import (
    ABOUT,
    ACROSS,
    BENT,
    BENT2,
    CHANGE,
    FREE,
    GAP,
    GIVE,
    GRIPS,
    LEFT,
    MISSED,
    NV,
    PRESS,
    PULL,
    PULL2,
    ROOT,
    ROW,
    SIDE,
    TINY,
    TOUCH,
    TURN,
    TWIST,
    add,
    along,
)
from phistar.contact.surface import BRISTLE_DAMPING, FRICTION, MARGIN, PATCH, STIFFNESS, push, push_slope

ROUNDS = 40  # of normal forces and friction
SWEEPS = 4  # over friction in each
NEWTON = 40
NEARLY, SETTLED = 1e-7, 1e-13  # of a gap: what Newton's method takes to the last digits in a step, and that
KEPT = 1e-9  # of a gap, after friction
CHANGED = 1e-8  # of the largest force, for friction


def factorize(m: Arrays, count: int) -> None:
    """L of I + SAS = LL*, S the roots of the stiffnesses: (I + AΦ)⁻¹ = I − AS(I + SAS)⁻¹S."""
    for i in range(count):
        for j in range(i + 1):
            total = m.normals[i, ROOT] * m.matrix[i, j] * m.normals[j, ROOT]
            if i == j:
                total += 1.0
            for k in range(j):
                total -= m.factor[i, k] * m.factor[j, k]
            m.factor[i, j] = sqrt(total) if i == j else total / m.factor[j, j]


def substitute(m: Arrays, count: int) -> None:
    """(LL*)⁻¹ times the column SIDE."""
    for i in range(count):
        total = m.normals[i, SIDE]
        for k in range(i):
            total -= m.factor[i, k] * m.normals[k, SIDE]
        m.normals[i, SIDE] = total / m.factor[i, i]
    for back in range(count):
        i = count - 1 - back
        total = m.normals[i, SIDE]
        for k in range(i + 1, count):
            total -= m.factor[k, i] * m.normals[k, SIDE]
        m.normals[i, SIDE] = total / m.factor[i, i]


def miss(m: Arrays, count: int, h: float) -> float:
    """By how much gaps y miss y = d + h u + h²G f(y), and the forces and the roots of their slopes; the worst, as a
    part of its gap."""
    for i in range(count):
        y = m.normals[i, LEFT]
        rate = (y - m.normals[i, GAP]) / h
        m.normals[i, PRESS] = push(m.surface, i, y, rate, m.normals[i, TOUCH])
        m.normals[i, ROOT] = sqrt(push_slope(m.surface, i, y, rate, m.normals[i, TOUCH], h))
    worst = 0.0
    for i in range(count):
        total = m.normals[i, LEFT] - m.normals[i, FREE]
        for j in range(count):
            total -= m.matrix[i, j] * m.normals[j, PRESS]
        m.normals[i, MISSED] = total
        worst = max(worst, abs(total) / m.normals[i, LEFT])
    return worst


def newton(m: Arrays, count: int, h: float) -> float:
    """Newton's method on the gaps that are left; one may shrink tenfold at once, and never closes. What it missed at
    first."""
    first = miss(m, count, h)
    worst, before, steps = first, 1.0, 0
    while worst > SETTLED and before > NEARLY and steps < NEWTON:
        for i in range(count):
            m.normals[i, SIDE] = m.normals[i, ROOT] * m.normals[i, MISSED]
        factorize(m, count)
        substitute(m, count)
        for i in range(count):
            m.normals[i, SIDE] *= m.normals[i, ROOT]
        scale = 1.0
        for i in range(count):
            change = -m.normals[i, MISSED]
            for j in range(count):
                change += m.matrix[i, j] * m.normals[j, SIDE]
            m.normals[i, CHANGE] = change
            scale = min(scale, 0.9 * m.normals[i, LEFT] / max(-change, 1e-12 * m.surface[i, MARGIN]))
        for i in range(count):
            m.normals[i, LEFT] += scale * m.normals[i, CHANGE]
        before, worst = worst, miss(m, count, h)
        steps += 1
    return first


def sweep_places(m: Arrays, count: int, h: float, most: float) -> float:
    """Friction of every place against the rates the others leave it; the largest change, as a part of `most`."""
    changed = 0.0
    for i in range(count):
        limit = m.surface[i, FRICTION] * m.normals[i, PRESS]
        if m.grips[i, GRIPS] > 0.0:
            stiffness, across = m.surface[i, STIFFNESS], m.grips[i, ACROSS]
            firm, give = m.surface[i, BRISTLE_DAMPING] + h * stiffness, m.grips[i, GIVE]
            x, y, u, v = m.grips[i, PULL], m.grips[i, PULL2], 0.0, 0.0
            for j in range(NV):
                u += m.jacobian[4 * i, j] * m.w[j]
                v += m.jacobian[4 * i + 1, j] * m.w[j]
            s = -(stiffness * m.grips[i, BENT] + firm * (u - across * x)) * give
            t = -(stiffness * m.grips[i, BENT2] + firm * (v - across * y)) * give
            if s * s + t * t > limit * limit:
                cut = limit / sqrt(s * s + t * t)
                s, t = cut * s, cut * t
            for j in range(NV):
                m.w[j] += h * (m.answers[4 * i, j] * (s - x) + m.answers[4 * i + 1, j] * (t - y))
            changed = max(changed, max(abs(s - x), abs(t - y)))
            m.grips[i, PULL], m.grips[i, PULL2] = s, t
        if m.grips[i, GRIPS] > 1.0:
            patch, about = m.surface[i, PATCH], m.grips[i, ABOUT]
            stiffness = patch * patch * m.surface[i, STIFFNESS]
            firm = patch * patch * m.surface[i, BRISTLE_DAMPING] + h * stiffness
            x = m.grips[i, TURN]
            u = along(m, 4 * i + 3) - about * x
            s = -(stiffness * m.grips[i, TWIST] + firm * u) / (1.0 + about * firm)
            s = min(max(s, -limit * patch), limit * patch)
            add(m, 4 * i + 3, h * (s - x))
            changed = max(changed, abs(s - x) / patch)
            m.grips[i, TURN] = s
    return changed / most


def sweep_joints(m: Arrays, h: float) -> float:
    """Dry friction of every joint: f within −F₊ and F₋ that brings its rate to rest, or as far as it can. The largest
    change, as a part of F₊ + F₋."""
    changed = 0.0
    for i in range(NV):
        whole = m.dry[0, i] + m.dry[1, i]
        if whole > 0.0:
            before = m.rubs[i]
            force = min(max(before - m.w[i] * m.stops_it[i], -m.dry[0, i]), m.dry[1, i])
            change = h * (force - before)
            if change != 0.0:
                for j in range(NV):
                    m.w[j] += m.inverse[i, j] * change
                changed = max(changed, abs(force - before) / whole)
                m.rubs[i] = force
    return changed


def solve(m: Arrays, places: int, count: int, rubbing: float, h: float) -> float:
    """Rounds of normal forces and friction, until neither changes the other; by how much normal forces missed. In
    `report` by how much friction changed last where the rounds ran out first, else 0."""
    changed, missed, rounds = 1.0, 0.0, 0
    while rounds < ROUNDS:
        for i in range(count):
            add(m, int(m.normals[i, ROW]), -h * m.normals[i, PRESS])
        for i in range(count):
            m.normals[i, FREE] = m.normals[i, GAP] + h * along(m, int(m.normals[i, ROW]))
        first = newton(m, count, h)
        most = TINY
        for i in range(count):
            add(m, int(m.normals[i, ROW]), h * m.normals[i, PRESS])
            most = max(most, m.surface[i, FRICTION] * m.normals[i, PRESS])
        if rubbing == 0.0 or (changed < CHANGED and first < KEPT):
            break
        sweeps = 0
        changed = 1.0
        while sweeps < SWEEPS and changed > CHANGED:
            changed = sweep_places(m, places, h, most)
            changed = max(changed, sweep_joints(m, h))
            sweeps += 1
        rounds += 1
    m.report[1] = changed if rounds == ROUNDS else 0.0
    for i in range(count):
        missed = max(missed, abs(m.normals[i, MISSED]) / m.normals[i, LEFT])
    return missed


SOLVING = (factorize, substitute, miss, newton, sweep_places, sweep_joints, solve)
