"""Steps to a tolerance as compiled loops: 1, 2, 3 … short steps over the same time, extrapolated to infinitely many.

A plant's step is of first order and takes stiff contact; where motion is smooth its error is a series in h, whose first
terms cancel in Aitken-Neville's tableau (Hairer and Wanner, Solving ODEs II, §IV.9). How far the last two columns
differ says how far to trust the result: in places, m and rad, and in rates by how far they lead astray in a while, as
rates jump where bodies meet.
"""

from __future__ import annotations

from math import sqrt

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    BEFORE,
    BOUND,
    CONTACTS,
    FAILED,
    FULL,
    GAP,
    JOINS,
    LAW,
    LENGTH,
    LIMIT_LAW,
    MARGIN,
    NEAREST,
    OFFSET,
    RATE,
    READY,
    ROW_Q,
    ROW_RATE,
    ROWS,
    SIGN,
)
from phistar.constraints.constraint_rates import contact_rates
from phistar.geometry.broad_phase import look
from phistar.plant.contact_jacobians import jacobians
from phistar.plant.course_columns import (
    ALL_RATES,
    ARRIVED,
    AT_TIME,
    BEGUN,
    DRIVEN,
    DRIVEN_BY,
    EACH_STEP,
    ENDED,
    FEWEST_ROWS,
    LOGGED,
    LONGEST,
    MOST_LOGGED,
    MOST_ROWS,
    NO_MORE_KEPT,
    NO_ROOM,
    STEP_ERROR,
    STEPPED,
    TIME,
    TOLERANCE,
    TOO_SHORT,
    TOOK,
    UNTIL,
    WANTED,
)
from phistar.plant.course_log import COURSE_LOG, note_step
from phistar.plant.course_states import (
    AHEAD,
    COURSE_STATES,
    extrapolate,
    gather_state,
    keep_start,
    reach_state,
    return_to_start,
    widest_error,
)
from phistar.plant.impacts import give
from phistar.plant.step_loop import STUCK, begin_step, prepare, step
from phistar.plant.tree_columns import ask

SHORTEST = 1e-10  # s
LARGEST_TURN = 1.0  # rad or m that a rate may move in one step
LAST = 1e-5  # of the margin: nearer to it, what leaves has left


def make_row(m: Arrays, h: float, count: int) -> bool:
    """h seconds in so many short steps, their books joined; False where one cannot be made."""
    short = h / count
    m.counts[JOINS] = 0
    for number in range(count):
        if m.course_wholes[DRIVEN] > 0:
            m.course[AT_TIME], m.numbers[LENGTH] = m.course[TIME] + number * short, short
            ask(m.course_wholes[DRIVEN_BY], 0)
            if m.counts[FULL] > 0:
                return False
        m.numbers[LENGTH] = short
        step(m)
        if m.counts[FULL] > 0 or m.counts[FAILED] >= STUCK:
            return False
        m.counts[JOINS] = 1
    return True


def joints_within(m: Arrays) -> bool:
    """Whether no joint was extrapolated beyond a limit that it was inside of."""
    for r in range(m.counts[ROWS]):
        if m.row_wholes[r, LAW] == LIMIT_LAW and m.row_wholes[r, ROW_RATE] >= 0:
            q, sign, bound = m.row_wholes[r, ROW_Q], m.rows[r, SIGN], m.rows[r, BOUND]
            if sign * (m.q[q] - bound) <= 0.0 and sign * (m.start_q[q] - bound) > 0.0:
                return False
    return True


def attempt(m: Arrays, h: float) -> bool:
    """A step of h, whose error is told; False, back at its start, where it misses the tolerance or cannot be made."""
    keep_start(m)
    if m.course[TOLERANCE] == 0.0:
        m.course[STEP_ERROR] = 0.0
        if make_row(m, h, 1):
            return True
        return_to_start(m)
        return False
    m.course[STEP_ERROR] = 1e300
    most = m.course_wholes[MOST_ROWS]
    for row in range(most):
        if row > 0:
            return_to_start(m)
        if not make_row(m, h, row + 1):
            break
        gather_state(m, row)
        extrapolate(m, row)
        if row + 1 >= m.course_wholes[FEWEST_ROWS]:
            error = widest_error(m, row) / m.course[TOLERANCE]
            m.course[STEP_ERROR] = error if error < 1e300 else 1e300
            if error <= 1.0:
                m.course[WANTED] = next_step(m, h, row + 1)
                reach_state(m, row)
                look(m, m.course[WANTED])
                jacobians(m)
                if m.numbers[NEAREST] > 0.0 and joints_within(m):
                    return True
                m.course[STEP_ERROR] = 1e300
                break
    return_to_start(m)
    return False


def scale_step(error: float, order: int, least: float, most: float) -> float:
    """0.9/error^(1/order) between bounds, by Newton's method from above."""
    factor = 1.0
    for _ in range(order):
        factor *= 0.9
    y, aim = most, factor / max(error, 1e-30)
    for _ in range(40):
        power = 1.0
        for _ in range(order - 1):
            power *= y
        y = max(y - (power * y - aim) / (order * power), least)
    return min(y, most)


def next_step(m: Arrays, h: float, order: int) -> float:
    """The step that is wanted after one of h; a cut one tells little of how long it might have been."""
    grown = h * scale_step(m.course[STEP_ERROR], order, 0.2, 4.0)
    kept = m.course[WANTED] if m.course[STEP_ERROR] < 0.1 else 0.0
    return min(max(grown, kept), m.course[LONGEST])


def look_ahead(m: Arrays) -> None:
    """The contacts of the state as it stands, up to those that may act within the step that is wanted."""
    if m.counts[READY] != 1:
        m.numbers[LENGTH] = m.course[WANTED]
        m.counts[JOINS] = 0
        begin_step(m)
        m.counts[READY] = 1


def arrival(m: Arrays, h: float) -> float:
    """When, within h, what comes near first arrives at its margin, or what leaves does: rates jump there, and what
    jumps inside a step spoils its estimate. What is too slow to lead astray may. A short step moves by the rates at its
    end, d + ut + at² = ε; WD89 §2.5 has a = 0."""
    prepare(m, h)
    give(m, 0)
    for c in range(m.counts[CONTACTS]):
        contact_rates(m, c, RATE)
        m.contacts[c, BEFORE] = m.contacts[c, RATE + 2]
    give(m, 1)
    first, slowest = h, m.course[TOLERANCE] / (h + AHEAD)
    for c in range(m.counts[CONTACTS]):
        contact_rates(m, c, RATE)
        margin, rate = m.contacts[c, MARGIN], m.contacts[c, BEFORE]
        outside, pull = m.contacts[c, GAP] + m.contacts[c, OFFSET] - margin, (m.contacts[c, RATE + 2] - rate) / h
        inside = rate * rate - 4.0 * pull * outside
        if outside > 1e-3 * margin and inside > slowest * slowest and sqrt(inside) > rate:
            first = min(first, 1.998 * outside / (sqrt(inside) - rate))
        elif outside < -LAST * margin and rate > slowest:
            first = min(first, -0.999 * outside / rate)
    return max(first, 10.0 * SHORTEST)


def shorter(m: Arrays, h: float) -> float:
    """The step to try after one of h that failed."""
    if not m.course[STEP_ERROR] < 1e300:
        return 0.25 * h
    return h * scale_step(m.course[STEP_ERROR], m.course_wholes[MOST_ROWS], 0.1, 0.7)


def longest_turn(m: Arrays, h: float) -> float:
    """A step within which no rate moves anything too far."""
    fastest = 0.0
    for j in range(m.course_wholes[ALL_RATES]):
        fastest = max(fastest, abs(m.rates[j]))
    return min(h, max(LARGEST_TURN / fastest, 10.0 * SHORTEST)) if fastest > 0.0 else h


def course(m: Arrays) -> None:
    """Steps to `course[UNTIL]`, each as long as its error allows; up to where no more can be logged, or one by one."""
    while m.course[TIME] < m.course[UNTIL]:
        left = m.course[UNTIL] - m.course[TIME]
        h = min(m.course[WANTED], left)
        if m.course[TOLERANCE] > 0.0:
            look_ahead(m)
            h = longest_turn(m, h)
            h = min(h, arrival(m, h))
        if m.counts[FULL] == 0 and attempt(m, h):
            m.course[TOOK], m.course[BEGUN] = h, m.course[TIME]
            m.course[TIME] = m.course[UNTIL] if h >= left - SHORTEST else m.course[TIME] + h
            note_step(m)
            if m.course_wholes[EACH_STEP] > 0:
                m.course_wholes[ENDED] = STEPPED
                return
            if m.course_wholes[LOGGED] > m.course_wholes[MOST_LOGGED]:
                m.course_wholes[ENDED] = NO_MORE_KEPT
                return
        elif m.counts[FULL] > 0:
            m.course_wholes[ENDED] = NO_ROOM
            return
        else:
            if h < SHORTEST or m.course[TOLERANCE] == 0.0:
                m.course_wholes[ENDED] = TOO_SHORT
                return
            m.course[WANTED] = shorter(m, h)
    m.course_wholes[ENDED] = ARRIVED


TO_TOLERANCE = (
    *(*COURSE_STATES, *COURSE_LOG),
    *(make_row, joints_within, attempt, scale_step, next_step, look_ahead, arrival, shorter, longest_turn),
    course,
)
