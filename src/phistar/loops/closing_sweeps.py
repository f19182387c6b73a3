"""S λ = γ along the tree in O(n): loops are closed at the link where their two ways meet, on the way inward.

S = Aℳ⁻¹A* is full, but λ of a loop is felt only between its frames and their nearest common ancestor. The articulated
inertia is therefore carried inward together with the forces of loops still open (Brandl, Johanni and Otter 1987): of
what hangs on link k, with the accelerations α(k) and the forces λ,

    force    Pα − Cλ − c               closures   C*α + Sλ = g
    a joint  D = HPH* + A, e = HC + C_θ:    P − PH*D⁻¹HP    C − PH*D⁻¹e    S + e*D⁻¹e    g − e*D⁻¹Hc
    a loop   λ = S⁻¹(g − C*α − S_o λ_o):    P + CS⁻¹C*      C_o − CS⁻¹S_o  S_oo − S_o*S⁻¹S_o   c + CS⁻¹g

and outward α, θ̈ and λ follow. Closures that meet at one link are eliminated largest pivot first, compared with what
they would be without the others, so that redundant ones are seen. World axes, each link about its own origin; the
functions are written in the language of loops (`native.py`).
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays

EMPTY = 1e-11  # of a row's own compliance: below it, other closures ask for the same
UNSURE = 100.0  # pivots nearer to that than by this factor are in doubt
ELSEWHERE = 1e-9  # of what a row would give if no moment cancelled another: below it, it gives nothing
LINKS, RATES, ROWS, ENDS, ACTIVE, COUPLED = 0, 1, 2, 3, 4, 5  # of `sizes`


def place_links(m: Arrays, b: int) -> None:
    """Rotation and origin of each link of state b in the world, and the screws of its rates about that origin."""
    n = m.sizes[LINKS]
    for k in range(n):
        own, above = b * (n + 1) + k, b * (n + 1) + m.parent[k]
        joint = b * n + k
        for i in range(3):
            for j in range(3):
                m.first[3 * i + j] = (
                    m.turn[above, 3 * i] * m.before[k, j]
                    + m.turn[above, 3 * i + 1] * m.before[k, 3 + j]
                    + m.turn[above, 3 * i + 2] * m.before[k, 6 + j]
                )
        for i in range(3):
            total = m.origin[above, i]
            for j in range(3):
                total += m.turn[above, 3 * i + j] * m.shift[k, j] + m.first[3 * i + j] * m.joint[joint, 9 + j]
            m.origin[own, i] = total
            for j in range(3):
                m.second[3 * i + j] = (
                    m.first[3 * i] * m.joint[joint, j]
                    + m.first[3 * i + 1] * m.joint[joint, 3 + j]
                    + m.first[3 * i + 2] * m.joint[joint, 6 + j]
                )
        for i in range(3):
            for j in range(3):
                total = 0.0
                for x in range(3):
                    total += m.second[3 * i + x] * m.after[k, 3 * x + j]
                m.turn[own, 3 * i + j] = total
        for rate in range(m.first_rate[k], m.first_rate[k + 1]):
            at = b * m.sizes[RATES] + rate
            for i in range(3):
                angular, linear = 0.0, 0.0
                for x in range(3):
                    angular += m.second[3 * i + x] * m.axes[at, x]
                    linear += m.second[3 * i + x] * m.axes[at, 3 + x]
                m.screws[at, i] = angular
                m.screws[at, 3 + i] = linear


def place_ends(m: Arrays, b: int) -> None:
    """Pose, motion and acceleration of each loop's frames, in world axes, and where they are from their links."""
    n = m.sizes[LINKS]
    for end in range(m.sizes[ENDS]):
        link, at = b * (n + 1) + m.end_link[end], b * m.sizes[ENDS] + end
        for i in range(3):
            lever = 0.0
            for j in range(3):
                total = 0.0
                for x in range(3):
                    total += m.turn[link, 3 * i + x] * m.end_turn[end, 3 * x + j]
                m.pose[at, 4 * i + j] = total
                lever += m.turn[link, 3 * i + j] * m.end_offset[end, j]
            m.lever[at, i] = lever
            m.pose[at, 4 * i + 3] = m.origin[link, i] + lever
        m.pose[at, 15] = 1.0
        for part in range(4):  # ω and v, ω̇ and v̇, of the link
            for i in range(3):
                total = 0.0
                for x in range(3):
                    total += m.turn[link, 3 * i + x] * m.link_motion[link, 3 * part + x]
                m.moved[at, 3 * part + i] = total
        for i in range(3):
            y, z = (i + 1) % 3, (i + 2) % 3
            m.moved[at, 3 + i] += m.moved[at, y] * m.lever[at, z] - m.moved[at, z] * m.lever[at, y]
            m.moved[at, 9 + i] += m.moved[at, 6 + y] * m.lever[at, z] - m.moved[at, 6 + z] * m.lever[at, y]
            spin = m.moved[at, y] * m.lever[at, y] + m.moved[at, z] * m.lever[at, z]
            fast = m.moved[at, y] * m.moved[at, y] + m.moved[at, z] * m.moved[at, z]
            m.moved[at, 9 + i] += m.moved[at, i] * spin - m.lever[at, i] * fast


def place(m: Arrays) -> None:
    """Links and frames of the states of a block."""
    for b in range(m.count[0]):
        place_links(m, b)
        place_ends(m, b)


def open_rows(m: Arrays, b: int) -> None:
    """P = M of every link in the world, C of the frames on it, and g = γ."""
    n = m.sizes[LINKS]
    for k in range(n):
        own = b * (n + 1) + k
        for i in range(3):
            for j in range(3):
                total = 0.0
                for x in range(3):
                    part = 0.0
                    for y in range(3):
                        part += m.inertia[k, 4 + 3 * x + y] * m.turn[own, 3 * j + y]
                    total += m.turn[own, 3 * i + x] * part
                m.P[k, 6 * i + j] = total
                m.P[k, 6 * (3 + i) + 3 + j] = m.inertia[k, 0] if i == j else 0.0
                m.P[k, 6 * i + 3 + j] = 0.0
                m.P[k, 6 * (3 + i) + j] = 0.0
        for i in range(3):
            y, z = (i + 1) % 3, (i + 2) % 3
            moment = 0.0
            for x in range(3):
                moment += m.turn[own, 3 * i + x] * m.inertia[k, 1 + x]
            m.P[k, 6 * z + 3 + y] = moment
            m.P[k, 6 * y + 3 + z] = -moment
            m.P[k, 6 * (3 + y) + z] = moment
            m.P[k, 6 * (3 + z) + y] = -moment
        for i in range(6):
            m.known[k, i] = 0.0
    for entry in range(m.first_open[n + 1]):
        for i in range(6):
            m.C[entry, i] = 0.0
    for row in range(m.sizes[ROWS]):
        m.g[row] = m.gamma[b * m.sizes[ROWS] + row]
        m.own[row], m.bound[row], m.force[row] = 0.0, 0.0, 0.0
        for side in range(2):
            if m.row_end[row, side] >= 0:
                end, entry, at = b * m.sizes[ENDS] + m.row_end[row, side], m.row_open[row, side], 6 * side
                own = b * m.sizes[ROWS] + row
                for i in range(3):
                    y, z = (i + 1) % 3, (i + 2) % 3
                    turned = m.lever[end, y] * m.pull[own, at + 3 + z] - m.lever[end, z] * m.pull[own, at + 3 + y]
                    m.C[entry, i] += m.pull[own, at + i] + turned
                    m.C[entry, 3 + i] += m.pull[own, at + 3 + i]


def close_rows(m: Arrays, k: int) -> None:
    """Eliminate the closures whose ways meet at link k, the largest of what is left first."""
    first, closing = m.first_open[k], m.closing[k]
    count, active = m.first_open[k + 1] - first, m.sizes[ACTIVE]
    for i in range(closing):
        m.turns[first + i] = -1
        m.done[i] = 0
        row, loop = m.open_row[first + i], m.row_loop[m.open_row[first + i]]
        total = 0.0
        for other in range(m.first_row[loop], m.first_row[loop + 1]):
            total += (m.own[other] + ELSEWHERE * m.bound[other]) / m.unit[other]
        m.scale[i] = total * m.unit[row]
    for step in range(closing):
        best, largest = -1, 0.0
        for i in range(closing):
            slot = m.slot[m.open_row[first + i]]
            if m.done[i] == 0 and m.scale[i] > 0.0:
                size = m.S[slot * active + slot] / m.scale[i]
                if size > largest:
                    best, largest = i, size
        if largest > EMPTY / UNSURE and largest < EMPTY * UNSURE:
            m.doubt[0] = 1
        if largest <= EMPTY:
            break
        m.done[best] = 1
        m.turns[first + step] = best
        m.rank[0] += 1
        eliminate_row(m, k, best)
    for i in range(closing):
        slot = m.slot[m.open_row[first + i]]
        for j in range(count):
            other = m.slot[m.open_row[first + j]]
            m.S[slot * active + other] = 0.0
            m.S[other * active + slot] = 0.0


def eliminate_row(m: Arrays, k: int, best: int) -> None:
    """λ of one closure in those of the others that are open at link k."""
    first, active, closing = m.first_open[k], m.sizes[ACTIVE], m.closing[k]
    count = m.first_open[k + 1] - first
    chosen, at = m.open_row[first + best], m.first_kept[first + best]
    slot = m.slot[chosen]
    inverse = 1.0 / m.S[slot * active + slot]
    m.inverse[chosen] = inverse
    for i in range(count):
        other = m.open_row[first + i]
        m.kept[at + i] = 0.0 if i < closing and m.done[i] == 1 else m.S[slot * active + m.slot[other]]
    for i in range(count):
        factor = inverse * m.kept[at + i]
        if factor != 0.0:
            row = m.open_row[first + i]
            start = m.slot[row] * active
            for j in range(count):
                m.S[start + m.slot[m.open_row[first + j]]] -= factor * m.kept[at + j]
            m.g[row] -= factor * m.g[chosen]
            for x in range(6):
                m.C[first + i, x] -= factor * m.C[first + best, x]
    if k < m.sizes[LINKS]:
        for i in range(6):
            factor = inverse * m.C[first + best, i]
            m.known[k, i] += factor * m.g[chosen]
            for j in range(6):
                m.P[k, 6 * i + j] += factor * m.C[first + best, j]


def pass_rate(m: Arrays, b: int, k: int, rate: int) -> None:
    """Let a rate of the joint of link k give way."""
    at, first, active = b * m.sizes[RATES] + rate, m.first_open[k] + m.closing[k], m.sizes[ACTIVE]
    count, start = m.first_open[k + 1] - first, m.first_felt[rate]
    inertia, bias = m.armature[rate], 0.0
    for i in range(6):
        total = 0.0
        for j in range(6):
            total += m.P[k, 6 * i + j] * m.screws[at, j]
        m.push[rate, i] = total
        inertia += total * m.screws[at, i]
        bias += m.known[k, i] * m.screws[at, i]
    inverse = 1.0 / inertia
    m.compliance[rate], m.bias[rate] = inverse, bias
    for j in range(count):
        total, size = 0.0, 0.0
        for i in range(6):
            part = m.C[first + j, i] * m.screws[at, i]
            total += part
            size += abs(part)
        m.felt[start + j], m.size[j] = total, size
    for c in range(m.first_coupled[k], m.first_coupled[k + 1]):
        slope = m.slope[b * m.sizes[COUPLED] + c]
        m.felt[start + m.coupled_at[c]] += slope
        m.size[m.coupled_at[c]] += abs(slope)
    for j in range(count):
        row, factor = m.open_row[first + j], inverse * m.felt[start + j]
        m.own[row] += factor * m.felt[start + j]
        m.bound[row] += inverse * m.size[j] * m.size[j]
        m.g[row] -= factor * bias
        for i in range(6):
            m.C[first + j, i] -= factor * m.push[rate, i]
        for other in range(count):
            m.S[m.slot[row] * active + m.slot[m.open_row[first + other]]] += factor * m.felt[start + other]
    for i in range(6):
        factor = inverse * m.push[rate, i]
        m.known[k, i] -= factor * bias
        for j in range(6):
            m.P[k, 6 * i + j] -= factor * m.push[rate, j]


def carry(m: Arrays, b: int, k: int) -> None:
    """Add what hangs on link k to its parent's, about the parent's origin; P of link k is used up."""
    n, p, first = m.sizes[LINKS], m.parent[k], m.first_open[k] + m.closing[k]
    own, above = b * (n + 1) + k, b * (n + 1) + p
    lx, ly, lz = (
        m.origin[own, 0] - m.origin[above, 0],
        m.origin[own, 1] - m.origin[above, 1],
        m.origin[own, 2] - m.origin[above, 2],
    )
    for j in range(6):
        fx, fy, fz = m.P[k, 18 + j], m.P[k, 24 + j], m.P[k, 30 + j]
        m.P[k, j] += ly * fz - lz * fy
        m.P[k, 6 + j] += lz * fx - lx * fz
        m.P[k, 12 + j] += lx * fy - ly * fx
    for i in range(6):
        fx, fy, fz = m.P[k, 6 * i + 3], m.P[k, 6 * i + 4], m.P[k, 6 * i + 5]
        m.P[p, 6 * i] += m.P[k, 6 * i] + ly * fz - lz * fy
        m.P[p, 6 * i + 1] += m.P[k, 6 * i + 1] + lz * fx - lx * fz
        m.P[p, 6 * i + 2] += m.P[k, 6 * i + 2] + lx * fy - ly * fx
        for j in range(3):
            m.P[p, 6 * i + 3 + j] += m.P[k, 6 * i + 3 + j]
    fx, fy, fz = m.known[k, 3], m.known[k, 4], m.known[k, 5]
    m.known[p, 0] += m.known[k, 0] + ly * fz - lz * fy
    m.known[p, 1] += m.known[k, 1] + lz * fx - lx * fz
    m.known[p, 2] += m.known[k, 2] + lx * fy - ly * fx
    for i in range(3, 6):
        m.known[p, i] += m.known[k, i]
    for entry in range(first, m.first_open[k + 1]):
        to = m.open_above[entry]
        fx, fy, fz = m.C[entry, 3], m.C[entry, 4], m.C[entry, 5]
        m.C[to, 0] += m.C[entry, 0] + ly * fz - lz * fy
        m.C[to, 1] += m.C[entry, 1] + lz * fx - lx * fz
        m.C[to, 2] += m.C[entry, 2] + lx * fy - ly * fx
        for i in range(3, 6):
            m.C[to, i] += m.C[entry, i]


def answer(m: Arrays, b: int, k: int) -> None:
    """α, θ̈ and λ at link k from its parent's α and the λ that are known."""
    n, p, first, closing = m.sizes[LINKS], m.parent[k], m.first_open[k], m.closing[k]
    own, above = b * (n + 1) + k, b * (n + 1) + p
    for i in range(3):
        y, z = (i + 1) % 3, (i + 2) % 3
        m.alpha[k, i] = m.alpha[p, i]
        across = m.alpha[p, y] * (m.origin[own, z] - m.origin[above, z])
        across -= m.alpha[p, z] * (m.origin[own, y] - m.origin[above, y])
        m.alpha[k, 3 + i] = m.alpha[p, 3 + i] + across
    count = m.first_open[k + 1] - first - closing
    rates = m.first_rate[k + 1] - m.first_rate[k]
    for back in range(rates):
        rate = m.first_rate[k + 1] - 1 - back
        at, total = b * m.sizes[RATES] + rate, m.bias[rate]
        for i in range(6):
            total -= m.push[rate, i] * m.alpha[k, i]
        for j in range(count):
            total += m.felt[m.first_felt[rate] + j] * m.force[m.open_row[first + closing + j]]
        m.response[at] = m.compliance[rate] * total
        for i in range(6):
            m.alpha[k, i] += m.screws[at, i] * m.response[at]
    answer_rows(m, k)


def answer_rows(m: Arrays, k: int) -> None:
    """λ of the closures that were eliminated at link k, the last first; what was redundant has none."""
    first, closing = m.first_open[k], m.closing[k]
    count = m.first_open[k + 1] - first
    for back in range(closing):
        i = m.turns[first + closing - 1 - back]
        if i >= 0:
            row, at = m.open_row[first + i], m.first_kept[first + i]
            total = m.g[row]
            for j in range(count):
                if j != i:
                    total -= m.kept[at + j] * m.force[m.open_row[first + j]]
            if k < m.sizes[LINKS]:
                for x in range(6):
                    total -= m.C[first + i, x] * m.alpha[k, x]
            m.force[row] = m.inverse[row] * total


def close_loops(m: Arrays) -> None:
    """ℳ⁻¹A*λ with Sλ = γ for the states of a block, the rank of S and whether it is in doubt."""
    n = m.sizes[LINKS]
    for b in range(m.count[0]):
        m.rank[0], m.doubt[0] = 0, 0
        open_rows(m, b)
        for place_in_order in range(n):
            k = m.order[place_in_order]
            close_rows(m, k)
            for rate in range(m.first_rate[k], m.first_rate[k + 1]):
                pass_rate(m, b, k, rate)
            if m.parent[k] < n:
                carry(m, b, k)
        close_rows(m, n)
        answer_rows(m, n)
        for place_in_order in range(n):
            answer(m, b, m.order[n - 1 - place_in_order])
        m.ranks[b], m.doubts[b] = m.rank[0], m.doubt[0]
        for row in range(m.sizes[ROWS]):
            m.forces[b * m.sizes[ROWS] + row] = m.force[row]


PLACE = (place_links, place_ends, place)
CLOSE = (open_rows, eliminate_row, close_rows, pass_rate, carry, answer_rows, answer, close_loops)
