"""Contacts of a step, linearized: J*λ as a function of rates and configuration (the implicit function theorem's part).

λ(u, d, bristle): ∂λ/∂u is unsymmetric where a contact slides, since friction's bound follows the normal impulse
(C = μ t̂ ∂λ/∂u). With the configuration change the gap, the point, the normal and both tangents (`place_changes`), and
the screws of the bodies.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    BENT,
    BODY_A,
    BODY_B,
    BRISTLE,
    BRISTLE_DAMPING,
    CONTACTS,
    DAMPING,
    FRICTION,
    GAP,
    HESSIAN,
    IMPULSE,
    LIMIT,
    LINEAR,
    MARGIN,
    NODE_A,
    NODE_B,
    NORMAL,
    OFFSET,
    OWN,
    OWN_AT,
    PATCH,
    POINT,
    PRINTED,
    RATE,
    SIDEWAYS,
    STRENGTH,
    TANGENT,
)
from phistar.constraints.laws import FADE
from phistar.plant.tangent_columns import (
    COLUMNS_OF,
    FRESH_STATE,
    RATES_OF,
    adjoint,
    bend_at,
    coadjoint,
    screw_at,
    still,
)

# `by_law`: ∂λ/∂u (4, 4), ∂λ/∂d (4), ∂λ/∂pull (4, 2), of rows t, s, n and about n
BY_RATE, BY_GAP, BY_PULL = 0, 16, 20
# `place_by`: changes of the gap, the point, t, s and n; of the contact's wrench base (6, 4), and of its impulses
GAP_BY, POINT_BY, AXES_BY, BASE_BY, IMPULSE_BY, RATES_BY, WRENCH_BY = 0, 1, 4, 13, 37, 41, 45


def opening_slope(m: Arrays, c: int, h: float) -> float:
    """∂λ/∂d of the normal impulse."""
    margin, u, linear = m.contacts[c, MARGIN], m.contacts[c, RATE + 2], m.contacts[c, LINEAR]
    before = m.contacts[c, GAP] + m.contacts[c, OFFSET]
    y, lively = before + h * u, 1.0 - m.contacts[c, DAMPING] * u
    total = 0.0
    if y < margin and lively > 0.0:
        total = -h * m.contacts[c, STRENGTH] * margin / (y * y) * lively
    if linear > 0.0 and m.contacts[c, PRINTED] == 0.0:
        if m.contacts[c, IMPULSE + 2] <= 0.0:
            return 0.0
        share = (margin - (y if u < 0.0 else before)) / (FADE * margin)
        if share > 0.0 and share < 1.0:
            total += h * linear * u / (FADE * margin)
    return total


def law_tangents(m: Arrays, c: int, h: float) -> None:
    """`by_law` of a contact."""
    for i in range(28):
        m.by_law[i] = 0.0
    slope, opening = -m.contacts[c, HESSIAN + 3], opening_slope(m, c, h)
    m.by_law[BY_RATE + 10], m.by_law[BY_GAP + 2] = slope, opening
    firm = h * (m.contacts[c, BRISTLE_DAMPING] + h * m.contacts[c, BRISTLE])
    limit = m.contacts[c, LIMIT]
    rough = m.contacts[c, FRICTION] if m.contacts[c, IMPULSE + 2] > 0.0 else 0.0
    s, t = -firm * m.contacts[c, RATE], -firm * m.contacts[c, RATE + 1]
    for i in range(3):
        pulled = h * m.contacts[c, BRISTLE] * m.contacts[c, BENT + i]
        s -= pulled * m.contacts[c, TANGENT + i]
        t -= pulled * m.contacts[c, SIDEWAYS + i]
    size = sqrt(s * s + t * t)
    a, b, cut = 0.0, 0.0, 1.0 if limit > 0.0 else 0.0
    if size > limit:
        a, b, cut = s / size, t / size, limit / size
    m.by_law[BY_PULL], m.by_law[BY_PULL + 1] = cut * (1.0 - a * a), -cut * a * b
    m.by_law[BY_PULL + 2], m.by_law[BY_PULL + 3] = -cut * a * b, cut * (1.0 - b * b)
    m.by_law[BY_RATE], m.by_law[BY_RATE + 1] = -firm * m.by_law[BY_PULL], -firm * m.by_law[BY_PULL + 1]
    m.by_law[BY_RATE + 4], m.by_law[BY_RATE + 5] = -firm * m.by_law[BY_PULL + 2], -firm * m.by_law[BY_PULL + 3]
    m.by_law[BY_RATE + 2], m.by_law[BY_RATE + 6] = rough * a * slope, rough * b * slope
    m.by_law[BY_GAP], m.by_law[BY_GAP + 1] = rough * a * opening, rough * b * opening
    patch, turn = m.contacts[c, PATCH], m.contacts[c, IMPULSE + 3]
    if patch > 0.0:
        if abs(turn) < limit * patch:
            m.by_law[BY_RATE + 15] = -patch * patch * firm
        else:
            way = rough * patch if turn > 0.0 else -rough * patch
            m.by_law[BY_RATE + 14], m.by_law[BY_GAP + 3] = way * slope, way * opening


def involve(m: Arrays, a: int, b: int) -> int:
    """The rates of two nodes (−1: none) in `involved`; how many."""
    count = 0
    if a >= 0:
        for j in range(m.nodes[a, OWN_AT], m.nodes[a, OWN_AT] + m.nodes[a, OWN]):
            m.involved[count] = j
            count += 1
    if b >= 0 and b != a:
        for j in range(m.nodes[b, OWN_AT], m.nodes[b, OWN_AT] + m.nodes[b, OWN]):
            m.involved[count] = j
            count += 1
    return count


def relative_screws(m: Arrays, c: int, count: int) -> None:
    """Screws of the first body less those of the second in `relative`, the second's in `other`, and the base of the
    contact's wrench, (6, 4): [p × d; d] of t, s, n, and [n; 0]."""
    for x in range(count):
        j = m.involved[x]
        one, two = screw_at(m, m.contact_wholes[c, BODY_A], j), screw_at(m, m.contact_wholes[c, BODY_B], j)
        for i in range(6):
            m.relative[x, i], m.other[x, i] = m.axes[one, i] - m.axes[two, i], m.axes[two, i]
    p, q, r = m.contacts[c, POINT], m.contacts[c, POINT + 1], m.contacts[c, POINT + 2]
    for k in range(3):
        at = NORMAL if k == 2 else TANGENT + 3 * k
        a, b, d = m.contacts[c, at], m.contacts[c, at + 1], m.contacts[c, at + 2]
        m.base[k], m.base[4 + k], m.base[8 + k] = q * d - r * b, r * a - p * d, p * b - q * a
        m.base[12 + k], m.base[16 + k], m.base[20 + k] = a, b, d
    for i in range(3):
        m.base[4 * i + 3] = m.contacts[c, NORMAL + i] if m.contacts[c, PATCH] > 0.0 else 0.0
        m.base[12 + 4 * i + 3] = 0.0


def add_to_nodes(m: Arrays, c: int, to_rates: int, column: int) -> None:
    """The wrenches on both nodes gain a change, in `place_by`: of a rate's column, or of a place's."""
    total = m.tangent_counts[RATES_OF]
    for side in range(2):
        node = m.contact_wholes[c, NODE_A + side]
        if node >= 0:
            sign = 1.0 if side == 0 else -1.0
            for i in range(6):
                at = (6 * node + i) * total + column
                if to_rates > 0:
                    m.wrench_rates[at] += sign * m.place_by[WRENCH_BY + i]
                else:
                    m.wrench_place[at] += sign * m.place_by[WRENCH_BY + i]


def contact_by_rates(m: Arrays, c: int, count: int) -> None:
    """N loses J* ∂λ/∂u J."""
    total = m.tangent_counts[RATES_OF]
    for x in range(count):
        for k in range(4):
            rate = 0.0
            for i in range(6):
                rate += m.base[4 * i + k] * m.relative[x, i]
            m.place_by[RATES_BY + k] = rate
        for k in range(4):
            answer = 0.0
            for l in range(4):
                answer += m.by_law[BY_RATE + 4 * k + l] * m.place_by[RATES_BY + l]
            m.place_by[IMPULSE_BY + k] = answer
        for i in range(6):
            change = 0.0
            for k in range(4):
                change += m.base[4 * i + k] * m.place_by[IMPULSE_BY + k]
            m.place_by[WRENCH_BY + i] = change
        add_to_nodes(m, c, 1, m.involved[x])
        for y in range(count):
            along = 0.0
            for i in range(6):
                along += m.relative[y, i] * m.place_by[WRENCH_BY + i]
            m.system[m.involved[y] * total + m.involved[x]] -= along


def axes_change(m: Arrays, c: int) -> None:
    """Changes of t and s from that of n: t = n × e/|n × e|, s = n × t."""
    x, y, z = m.contacts[c, NORMAL], m.contacts[c, NORMAL + 1], m.contacts[c, NORMAL + 2]
    u, v, w = m.place_by[AXES_BY + 6], m.place_by[AXES_BY + 7], m.place_by[AXES_BY + 8]
    a, b, d = m.contacts[c, TANGENT], m.contacts[c, TANGENT + 1], m.contacts[c, TANGENT + 2]
    e, f, g = 0.0, w, -v  # as `tangents` chooses the axis
    r, s, t = 0.0, z, -y
    if abs(y) < abs(x) and abs(y) <= abs(z):
        e, f, g, r, s, t = -w, 0.0, u, -z, 0.0, x
    elif abs(z) < abs(x):
        e, f, g, r, s, t = v, -u, 0.0, y, -x, 0.0
    size = sqrt(r * r + s * s + t * t)
    e, f, g = e / size, f / size, g / size
    along = a * e + b * f + d * g
    e, f, g = e - along * a, f - along * b, g - along * d
    m.place_by[AXES_BY], m.place_by[AXES_BY + 1], m.place_by[AXES_BY + 2] = e, f, g
    m.place_by[AXES_BY + 3] = v * d - w * b + y * g - z * f
    m.place_by[AXES_BY + 4] = w * a - u * d + z * e - x * g
    m.place_by[AXES_BY + 5] = u * b - v * a + x * f - y * e


def place_change(m: Arrays, c: int, x: int) -> None:
    """Derivatives of a contact's place, axes and base by the place of rate `involved[x]`."""
    for i in range(7):
        change = 0.0
        for k in range(6):
            change += m.place_changes[c, 7 * k + i] * m.relative[x, k]
        m.place_by[i if i < 4 else AXES_BY + 2 + i] = change
    if m.contacts[c, OFFSET] > 0.0 and m.tangent_counts[FRESH_STATE] > 0:
        m.place_by[GAP_BY] = 0.0
    a, b, d = m.other[x, 0], m.other[x, 1], m.other[x, 2]
    p, q, r = m.contacts[c, POINT], m.contacts[c, POINT + 1], m.contacts[c, POINT + 2]
    u, v, w = m.contacts[c, NORMAL], m.contacts[c, NORMAL + 1], m.contacts[c, NORMAL + 2]
    m.place_by[POINT_BY] += m.other[x, 3] + b * r - d * q
    m.place_by[POINT_BY + 1] += m.other[x, 4] + d * p - a * r
    m.place_by[POINT_BY + 2] += m.other[x, 5] + a * q - b * p
    m.place_by[AXES_BY + 6] += b * w - d * v
    m.place_by[AXES_BY + 7] += d * u - a * w
    m.place_by[AXES_BY + 8] += a * v - b * u
    axes_change(m, c)
    a, b, d = m.place_by[POINT_BY], m.place_by[POINT_BY + 1], m.place_by[POINT_BY + 2]
    for k in range(3):
        at, by = NORMAL if k == 2 else TANGENT + 3 * k, AXES_BY + 3 * k
        u, v, w = m.place_by[by], m.place_by[by + 1], m.place_by[by + 2]
        e, f, g = m.contacts[c, at], m.contacts[c, at + 1], m.contacts[c, at + 2]
        m.place_by[BASE_BY + k] = q * w - r * v + b * g - d * f
        m.place_by[BASE_BY + 4 + k] = r * u - p * w + d * e - a * g
        m.place_by[BASE_BY + 8 + k] = p * v - q * u + a * f - b * e
        m.place_by[BASE_BY + 12 + k], m.place_by[BASE_BY + 16 + k], m.place_by[BASE_BY + 20 + k] = u, v, w
    for i in range(3):
        m.place_by[BASE_BY + 4 * i + 3] = m.place_by[AXES_BY + 6 + i] if m.contacts[c, PATCH] > 0.0 else 0.0
        m.place_by[BASE_BY + 12 + 4 * i + 3] = 0.0


def twist_change(m: Arrays, c: int, x: int, count: int) -> None:
    """`tail`, the change of the relative twist by the place of rate `involved[x]`: on both sides ad(s_j) of what comes
    after j, and what modes that bend each other's screws add."""
    total, j = m.tangent_counts[RATES_OF], m.involved[x]
    for i in range(6):
        m.tail[i] = 0.0
    for side in range(2):
        body, sign = m.contact_wholes[c, BODY_A + side], 1.0 if side == 0 else -1.0
        at, first = screw_at(m, body, j), 1.0 if side == 0 else 0.0
        if at < still(m):
            for i in range(6):
                m.twisted[i] = 0.0
            for y in range(count):
                rate = m.v[m.involved[y]]
                if m.comes_before[j * total + m.involved[y]] > 0.0:
                    for i in range(6):
                        m.twisted[i] += (m.other[y, i] + first * m.relative[y, i]) * rate
                entry = bend_at(m, screw_at(m, body, m.involved[y]), at)
                if entry >= 0:
                    for i in range(6):
                        m.tail[i] += sign * m.bends[entry + i] * rate
            adjoint(m, at)
            for i in range(6):
                m.tail[i] += sign * m.carried[i]


def impulse_change(m: Arrays, c: int, h: float) -> None:
    """Changes of the impulses, and of the wrench, of the change of place; `tail` is that of the relative twist."""
    for k in range(4):
        rate = 0.0
        for i in range(6):
            rate += m.place_by[BASE_BY + 4 * i + k] * m.contact_twist[i] + m.base[4 * i + k] * m.tail[i]
        m.place_by[RATES_BY + k] = rate
    s, t = 0.0, 0.0
    for i in range(3):
        pulled = h * m.contacts[c, BRISTLE] * m.contacts[c, BENT + i]
        s -= pulled * m.place_by[AXES_BY + i]
        t -= pulled * m.place_by[AXES_BY + 3 + i]
    for k in range(4):
        change = m.by_law[BY_GAP + k] * m.place_by[GAP_BY]
        change += m.by_law[BY_PULL + 2 * k] * s + m.by_law[BY_PULL + 2 * k + 1] * t
        for l in range(4):
            change += m.by_law[BY_RATE + 4 * k + l] * m.place_by[RATES_BY + l]
        m.place_by[IMPULSE_BY + k] = change
    for i in range(6):
        total = 0.0
        for k in range(4):
            impulse = m.contacts[c, IMPULSE + k] if k < 3 or m.contacts[c, PATCH] > 0.0 else 0.0
            total += m.place_by[BASE_BY + 4 * i + k] * impulse + m.base[4 * i + k] * m.place_by[IMPULSE_BY + k]
        m.place_by[WRENCH_BY + i] = total


def contact_by_place(m: Arrays, c: int, count: int, h: float) -> None:
    """`sides` gain ∂(J*λ)/∂δ."""
    columns = m.tangent_counts[COLUMNS_OF]
    for i in range(6):
        m.contact_twist[i], m.contact_force[i] = 0.0, 0.0
        for x in range(count):
            m.contact_twist[i] += m.relative[x, i] * m.v[m.involved[x]]
        for k in range(4):
            impulse = m.contacts[c, IMPULSE + k] if k < 3 or m.contacts[c, PATCH] > 0.0 else 0.0
            m.contact_force[i] += m.base[4 * i + k] * impulse
    for x in range(count):
        j = m.involved[x]
        place_change(m, c, x)
        twist_change(m, c, x, count)
        impulse_change(m, c, h)
        add_to_nodes(m, c, 0, j)
        for y in range(count):
            along = 0.0
            for i in range(6):
                along += m.relative[y, i] * m.place_by[WRENCH_BY + i]
            m.sides[m.involved[y] * columns + j] += along
        for side in range(2):
            turn_screws(m, c, x, count, side)


def turn_screws(m: Arrays, c: int, x: int, count: int, side: int) -> None:
    """`sides` gain ∂s_k/∂δ_j·F of one side's screws, j = `involved[x]`: ad(s_j)s_k where k comes after j."""
    total, columns, j = m.tangent_counts[RATES_OF], m.tangent_counts[COLUMNS_OF], m.involved[x]
    body, sign = m.contact_wholes[c, BODY_A + side], 1.0 if side == 0 else -1.0
    at, first = screw_at(m, body, j), 1.0 if side == 0 else 0.0
    if at == still(m):
        return
    for i in range(6):
        m.twisted[i] = m.contact_force[i]
    coadjoint(m, at)
    for y in range(count):
        k, along = m.involved[y], 0.0
        if m.comes_before[j * total + k] > 0.0:
            for i in range(6):
                along += (m.other[y, i] + first * m.relative[y, i]) * m.carried[i]
        entry = bend_at(m, screw_at(m, body, k), at)
        if entry >= 0:
            for i in range(6):
                along += m.bends[entry + i] * m.contact_force[i]
        m.sides[k * columns + j] += sign * along


def contact_sides(m: Arrays, h: float) -> None:
    """The contacts that push, in N and `sides`."""
    for c in range(m.counts[CONTACTS]):
        acts = abs(m.contacts[c, IMPULSE]) + abs(m.contacts[c, IMPULSE + 1]) + abs(m.contacts[c, IMPULSE + 2])
        if acts > 0.0 or m.contacts[c, HESSIAN + 3] != 0.0:
            count = involve(m, m.contact_wholes[c, NODE_A], m.contact_wholes[c, NODE_B])
            relative_screws(m, c, count)
            law_tangents(m, c, h)
            contact_by_rates(m, c, count)
            contact_by_place(m, c, count, h)


CONTACT_TANGENTS = (
    *(opening_slope, law_tangents, involve, relative_screws, add_to_nodes, contact_by_rates, axes_change),
    *(place_change, twist_change, impulse_change, contact_by_place, turn_screws, contact_sides),
)
