"""The least of a quadratic between bounds, as loops that compile: a joint's rate between its stops.

½d*Dd + g*d is least by Newton steps in the rates that are free, cut at the bounds, until none wants to leave one or
meets another (Tassa 2014). D⁻¹ is then that of the free rates alone, zero for those at a stop.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays

RATES, LAST = 1, 0  # how many; the column of X that is the gradient; given when the loops are compiled
NEWTON = 30  # changes of the set of bounds that are met
EDGE = 1e-12  # how near to a bound is at it


def free_inverse(m: Arrays) -> bool:
    """The inverse of D for the rates that are not at a stop, by Gauss and Jordan; whether D is positive on them."""
    for i in range(RATES):
        for j in range(i + 1):
            m.inverse[i, j] = m.D[i, j]
            m.inverse[j, i] = m.D[i, j]
    for l in range(RATES):
        if m.fixed[l] == 0.0:
            pivot = m.inverse[l, l]
            if not pivot > 0.0:
                return False
            m.inverse[l, l] = 1.0
            for j in range(RATES):
                m.inverse[l, j] = m.inverse[l, j] / pivot
            for i in range(RATES):
                if i != l:
                    factor = m.inverse[i, l]
                    m.inverse[i, l] = 0.0
                    for j in range(RATES):
                        m.inverse[i, j] -= factor * m.inverse[l, j]
    for i in range(RATES):
        for j in range(RATES):
            if m.fixed[i] == 1.0 or m.fixed[j] == 1.0:
                m.inverse[i, j] = 0.0
    return True


def least_between_stops(m: Arrays) -> bool:
    """d between `low` and `high`, and the inverse of D on the rates that are free; whether D is positive on them."""
    for i in range(RATES):
        m.d[i] = min(max(0.0, m.low[i]), m.high[i])
        m.fixed[i] = 0.0
    for _ in range(NEWTON):
        changed, largest = 0, 0.0
        for i in range(RATES):
            total = m.X[i, LAST]
            for j in range(RATES):
                total += (m.D[i, j] if j <= i else m.D[j, i]) * m.d[j]
            below, above = m.d[i] - m.low[i] <= EDGE, m.high[i] - m.d[i] <= EDGE
            now = 1.0 if (below and total > 0.0) or (above and total < 0.0) else 0.0
            if now != m.fixed[i]:
                changed = 1
            m.fixed[i] = now
            m.slope[i] = total
        if not free_inverse(m):
            return False
        for i in range(RATES):
            before, change = m.d[i], 0.0
            for j in range(RATES):
                change -= m.inverse[i, j] * m.slope[j]
            if m.fixed[i] == 0.0:
                m.d[i] = min(max(before + change, m.low[i]), m.high[i])
            largest = max(largest, abs(m.d[i] - before))
        if changed == 0 and largest <= EDGE:
            break
    return True


STOPS = (free_inverse, least_between_stops)
