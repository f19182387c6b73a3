"""Laws of constraints as impulses of the rate at a step's end: each monotone, so that the step is a convex problem.

contact      h K_p(ε − y)/y · (1 − αu)₊ with y = d + hu: a barrier that bodies never pass (WD89 §2.5)
             h (K_p(ε − y)/y − K_d w u)₊ where a damping K_d is stated, which fades in by w; WD89 prints it with w = 1
             inside the margin and without ₊, so that it pulls
friction     P(μλ)[−h(k b + (c + hk)u)], P the projection on a disc, b the bristle, λ the normal impulse
patch        the same about the normal, k and c times r², within μλr: a soft finger of radius r
impact       (−e u⁻ − u)₊/(σw): a nearly rigid bound on the rate after it
limit        the contact's barrier on a joint's room
dry friction −h(k b + (c + hk)u) within −F₊ and F₋
servo        h(K(r − q − hu) + B(r' − u)) within bounds
equality     −(φ/2h + u)/(σw), nearly rigid: closures, couplings and welds, drawn together at 0.5 m/s at most
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    BEFORE,
    BENT,
    BRISTLE,
    BRISTLE_DAMPING,
    CHANGE,
    DAMPING,
    DRY_LAW,
    EQUAL_LAW,
    FIRST,
    FRICTION,
    GAP,
    HESSIAN,
    HIGH,
    IMPULSE,
    LAW,
    LIMIT,
    LIMIT_LAW,
    LINEAR,
    LOW,
    MARGIN,
    MEMORY,
    OFFSET,
    PATCH,
    PRINTED,
    RATE,
    ROW_HESSIAN,
    ROW_IMPULSE,
    ROW_SPEED,
    SECOND,
    SERVO_LAW,
    SIDEWAYS,
    STRENGTH,
    TANGENT,
    THIRD,
    TWIST,
    VALUE,
)

RIGID = 1e-7  # σ of an equality, as a part of the inverse mass w that meets it
DRAWN = 0.5  # m/s or rad/s
FADE = 0.25  # of the margin: damping K_d fades in over it, so that forces do not jump when bodies come near


def barrier(y: float, margin: float, strength: float, damping: float, u: float, h: float) -> float:
    """The impulse of a gap y that changes at u."""
    lively = 1.0 - damping * u
    if y >= margin or lively <= 0.0:
        return 0.0
    return h * strength * (margin - y) / y * lively


def barrier_slope(y: float, margin: float, strength: float, damping: float, u: float, h: float) -> float:
    """−dλ/du ≥ 0."""
    lively = 1.0 - damping * u
    if y >= margin or lively <= 0.0:
        return 0.0
    return h * strength * (margin * h / (y * y) * lively + (margin - y) / y * damping)


def fading(m: Arrays, c: int, y: float, u: float) -> float:
    """w: how much of the damping K_d acts. By the gap y that is left where it closes, by the gap before where it opens:
    both are 1 at rest, and the force falls with u throughout."""
    margin = m.contacts[c, MARGIN]
    before = m.contacts[c, GAP] + m.contacts[c, OFFSET]
    if m.contacts[c, PRINTED] > 0.0:
        return 1.0 if before < margin else 0.0
    inside = margin - (y if u < 0.0 else before)
    return min(max(inside / (FADE * margin), 0.0), 1.0)


def normal_impulse(m: Arrays, c: int, h: float, u: float, impact: int) -> float:
    if impact > 0:
        return max(-m.contacts[c, BEFORE] - u, 0.0) * m.stiff[c]
    y = m.contacts[c, GAP] + m.contacts[c, OFFSET] + h * u
    total = barrier(y, m.contacts[c, MARGIN], m.contacts[c, STRENGTH], m.contacts[c, DAMPING], u, h)
    if m.contacts[c, LINEAR] > 0.0:
        total -= h * m.contacts[c, LINEAR] * fading(m, c, y, u) * u
        if m.contacts[c, PRINTED] == 0.0:
            total = max(total, 0.0)
    return total


def normal_slope(m: Arrays, c: int, h: float, u: float, impact: int) -> float:
    """−dλ/du ≥ 0."""
    if impact > 0:
        return m.stiff[c] if u < -m.contacts[c, BEFORE] else 0.0
    y, margin = m.contacts[c, GAP] + m.contacts[c, OFFSET] + h * u, m.contacts[c, MARGIN]
    slope = barrier_slope(y, margin, m.contacts[c, STRENGTH], m.contacts[c, DAMPING], u, h)
    if m.contacts[c, LINEAR] > 0.0:
        share = fading(m, c, y, u)
        if m.contacts[c, PRINTED] == 0.0:
            if normal_impulse(m, c, h, u, 0) == 0.0:
                return 0.0
            if u < 0.0 and share < 1.0:
                slope -= h * h * m.contacts[c, LINEAR] * u / (FADE * margin)
        slope += h * m.contacts[c, LINEAR] * share
    return slope


def grip(m: Arrays, c: int, h: float, impact: int) -> float:
    """h(c + hk): how friction that holds answers to a rate."""
    if impact > 0:
        return m.stiff[c]
    return h * (m.contacts[c, BRISTLE_DAMPING] + h * m.contacts[c, BRISTLE])


def bristle_impulse(m: Arrays, c: int, h: float, axis: int, impact: int) -> float:
    """The impulse of the bristle as it is, along a tangent."""
    if impact > 0:
        return 0.0
    total = 0.0
    for j in range(3):
        total -= m.contacts[c, BENT + j] * m.contacts[c, axis + j]
    return h * m.contacts[c, BRISTLE] * total


def evaluate(m: Arrays, c: int, h: float, impact: int, fresh: int) -> None:
    """Impulses and their slopes at the rates; `fresh`: friction's limit follows the normal impulse."""
    u = m.contacts[c, RATE + 2]
    normal = normal_impulse(m, c, h, u, impact)
    m.contacts[c, IMPULSE + 2] = normal
    m.contacts[c, HESSIAN + 3] = normal_slope(m, c, h, u, impact)
    if fresh > 0:
        m.contacts[c, LIMIT] = m.contacts[c, FRICTION] * max(normal, 0.0)
    limit, firm = m.contacts[c, LIMIT], grip(m, c, h, impact)
    s = bristle_impulse(m, c, h, TANGENT, impact) - firm * m.contacts[c, RATE]
    t = bristle_impulse(m, c, h, SIDEWAYS, impact) - firm * m.contacts[c, RATE + 1]
    size = sqrt(s * s + t * t)
    if size <= limit:
        m.contacts[c, IMPULSE], m.contacts[c, IMPULSE + 1] = s, t
        m.contacts[c, HESSIAN], m.contacts[c, HESSIAN + 1], m.contacts[c, HESSIAN + 2] = firm, 0.0, firm
        if limit == 0.0:
            m.contacts[c, HESSIAN], m.contacts[c, HESSIAN + 2] = 0.0, 0.0
    else:
        cut = limit / size
        a, b = s / size, t / size
        m.contacts[c, IMPULSE], m.contacts[c, IMPULSE + 1] = cut * s, cut * t
        m.contacts[c, HESSIAN] = firm * cut * (1.0 - a * a)
        m.contacts[c, HESSIAN + 1] = -firm * cut * a * b
        m.contacts[c, HESSIAN + 2] = firm * cut * (1.0 - b * b)
    if m.contacts[c, PATCH] > 0.0:
        most = m.contacts[c, LIMIT] * m.contacts[c, PATCH]
        m.contacts[c, IMPULSE + 3] = patch_impulse(m, c, h, impact, m.contacts[c, RATE + 3])
        soft = m.contacts[c, PATCH] * m.contacts[c, PATCH]
        m.contacts[c, HESSIAN + 4] = soft * firm if abs(m.contacts[c, IMPULSE + 3]) < most else 0.0


def patch_impulse(m: Arrays, c: int, h: float, impact: int, u: float) -> float:
    """The impulse about the normal of a patch that turns at u."""
    soft, most = m.contacts[c, PATCH] * m.contacts[c, PATCH], m.contacts[c, LIMIT] * m.contacts[c, PATCH]
    wanted = -soft * grip(m, c, h, impact) * u
    if impact == 0:
        wanted -= soft * h * m.contacts[c, BRISTLE] * m.contacts[c, TWIST]
    return min(max(wanted, -most), most)


def work_along(m: Arrays, c: int, h: float, impact: int, part: float) -> float:
    """λ(u + sδ)·δ at a part s of the direction δ, friction's limit as it was."""
    s = m.contacts[c, RATE] + part * m.contacts[c, CHANGE]
    t = m.contacts[c, RATE + 1] + part * m.contacts[c, CHANGE + 1]
    u = m.contacts[c, RATE + 2] + part * m.contacts[c, CHANGE + 2]
    total = normal_impulse(m, c, h, u, impact) * m.contacts[c, CHANGE + 2]
    limit = m.contacts[c, LIMIT]
    if limit > 0.0:
        firm = grip(m, c, h, impact)
        s = bristle_impulse(m, c, h, TANGENT, impact) - firm * s
        t = bristle_impulse(m, c, h, SIDEWAYS, impact) - firm * t
        size = sqrt(s * s + t * t)
        cut = limit / size if size > limit else 1.0
        total += cut * (s * m.contacts[c, CHANGE] + t * m.contacts[c, CHANGE + 1])
        if m.contacts[c, PATCH] > 0.0:
            turn = m.contacts[c, RATE + 3] + part * m.contacts[c, CHANGE + 3]
            total += patch_impulse(m, c, h, impact, turn) * m.contacts[c, CHANGE + 3]
    return total


def row_impulse(m: Arrays, r: int, h: float, u: float) -> float:
    law = m.row_wholes[r, LAW]
    if law == LIMIT_LAW:
        y = m.rows[r, VALUE] + h * u
        return barrier(y, m.rows[r, FIRST], m.rows[r, SECOND], m.rows[r, THIRD], u, h)
    if law == SERVO_LAW:
        wanted = m.rows[r, FIRST] * (m.rows[r, VALUE] - h * u) + m.rows[r, SECOND] * (m.rows[r, THIRD] - u)
        return h * min(max(wanted, m.rows[r, LOW]), m.rows[r, HIGH])
    if law == DRY_LAW:
        held = -(m.rows[r, FIRST] * (m.rows[r, MEMORY] + h * u) + m.rows[r, SECOND] * u)
        return h * min(max(held, m.rows[r, LOW]), m.rows[r, HIGH])
    wanted = min(max(0.5 * m.rows[r, VALUE] / h, -DRAWN), DRAWN) if h > 0.0 else 0.0  # impacts draw nothing together
    return -m.rows[r, FIRST] * (wanted + u) / RIGID


def row_slope(m: Arrays, r: int, h: float, u: float) -> float:
    law = m.row_wholes[r, LAW]
    if law == EQUAL_LAW:
        return m.rows[r, FIRST] / RIGID
    if law == LIMIT_LAW:
        y = m.rows[r, VALUE] + h * u
        return barrier_slope(y, m.rows[r, FIRST], m.rows[r, SECOND], m.rows[r, THIRD], u, h)
    firm = h * (m.rows[r, SECOND] + h * m.rows[r, FIRST])
    if law == SERVO_LAW or law == DRY_LAW:  # noqa: SIM109  # the language has no tuples
        impulse = row_impulse(m, r, h, u)
        return firm if impulse > h * m.rows[r, LOW] and impulse < h * m.rows[r, HIGH] else 0.0
    return firm


def evaluate_row(m: Arrays, r: int, h: float) -> None:
    """Impulse and slope of a row at its rate."""
    u = m.rows[r, ROW_SPEED]
    m.rows[r, ROW_IMPULSE] = row_impulse(m, r, h, u)
    m.rows[r, ROW_HESSIAN] = row_slope(m, r, h, u)


LAWS = (
    *(
        barrier,
        barrier_slope,
        fading,
        normal_impulse,
        normal_slope,
        grip,
        bristle_impulse,
        patch_impulse,
        evaluate,
        work_along,
    ),
    *(row_impulse, row_slope, evaluate_row),
)
