"""Log of a course's steps: events as codes with their times, extremes, and the books since it began."""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    FAILED,
    FULL,
    LAW,
    LIMIT_LAW,
    LOSS,
    MET,
    MET_LAST,
    MET_NORMAL,
    MET_PEAK,
    MET_SLIDES,
    MET_WHEN,
    NEAREST,
    OUTSIDE,
    RESIDUAL,
    ROOM,
    ROW_IMPULSE,
    ROWS,
    WORK,
)
from phistar.plant.course_columns import (
    BEGUN,
    BOOKED_LOSS,
    BOOKED_OUTSIDE,
    BOOKED_WORK,
    CODE,
    FIRST_CODED,
    HIGHEST,
    KEEPS_MET,
    KEPT_MET,
    LARGEST,
    LEAVES_STOP,
    LOGGED,
    LOWEST,
    MEETS,
    MEETS_STOP,
    MET_FIRST,
    MISSED,
    PARTS,
    SAMPLES_TIMES,
    SECOND_CODED,
    SLIPS,
    STEP_ERROR,
    STEP_LOGGED,
    STEPS_LOGGED,
    STEPS_MADE,
    STEPS_UNSETTLED,
    STICKS,
    THROUGHPUT,
    TIME,
    TOUCHES,
    UNSETTLED,
)


def log_event(m: Arrays, code: int, first: int, second: int, time: float) -> None:
    at = m.course_wholes[LOGGED]
    m.log_times[at], m.log[at, CODE], m.log[at, STEP_LOGGED] = time, code, m.course_wholes[STEPS_LOGGED]
    m.log[at, FIRST_CODED], m.log[at, SECOND_CODED] = first, second
    m.course_wholes[LOGGED] = at + 1


def known_touch(m: Arrays, a: int, b: int, start: int) -> int:
    """The row of `touched` of two shapes, looked for from `start` on, where it mostly is; −1 where there is none."""
    count = m.course_wholes[TOUCHES]
    for i in range(count):
        at = start + i if start + i < count else start + i - count
        if m.touched[at, 0] == a and m.touched[at, 1] == b:
            return at
    return -1


def note_contacts(m: Arrays) -> None:
    """Log which shapes met, left each other, began to slide or held again."""
    known, found, start, ended = m.course_wholes[TOUCHES], 0, 0, m.course[TIME]
    for i in range(known):
        m.touched[i, 3] = 0
    for i in range(m.counts[MET]):
        a, b = min(m.met_shapes[i, 0], m.met_shapes[i, 1]), max(m.met_shapes[i, 0], m.met_shapes[i, 1])
        at, slid = known_touch(m, a, b, start), 0
        if at >= 0:
            start, slid = at + 1, m.touched[at, 2]
            m.touched[at, 3] = 1
        else:
            log_event(m, MEETS, a, b, min(m.course[BEGUN] + m.met[i, MET_WHEN], ended))
        if m.met[i, MET_LAST] > 0.0:
            slides = 1 if m.met[i, MET_SLIDES] > 0.0 else 0
            if slides > slid:
                log_event(m, SLIPS, a, b, ended)
            elif slides < slid:
                log_event(m, STICKS, a, b, ended)
            m.touching_now[found, 0], m.touching_now[found, 1], m.touching_now[found, 2] = a, b, slides
            found += 1
        else:
            log_event(m, PARTS, a, b, ended)
    for i in range(known):
        if m.touched[i, 3] == 0:
            log_event(m, PARTS, m.touched[i, 0], m.touched[i, 1], ended)
    for i in range(found):
        for k in range(3):
            m.touched[i, k] = m.touching_now[i, k]
    m.course_wholes[TOUCHES] = found


def note_stops(m: Arrays) -> None:
    """Log which stops of joints began or ceased to push."""
    for r in range(m.counts[ROWS]):
        if m.row_wholes[r, LAW] == LIMIT_LAW:
            pushes = 1 if m.rows[r, ROW_IMPULSE] > 0.0 else 0
            if pushes > m.stopped[r]:
                log_event(m, MEETS_STOP, r, -1, m.course[TIME])
            elif pushes < m.stopped[r]:
                log_event(m, LEAVES_STOP, r, -1, m.course[TIME])
            m.stopped[r] = pushes


def note_given(m: Arrays) -> None:
    """Add the normal impulses of a step to what the pairs gave since the last sample; where there may be no room for
    those of another step, the call ends to make some."""
    first, cursor = m.course_wholes[MET_FIRST], m.course_wholes[MET_FIRST]
    for i in range(m.counts[MET]):
        count, at = m.course_wholes[KEPT_MET] - first, -1
        for j in range(count):
            own = cursor + j if cursor + j < first + count else cursor + j - count
            if m.kept_met_shapes[own, 0] == m.met_shapes[i, 0] and m.kept_met_shapes[own, 1] == m.met_shapes[i, 1]:
                at = own
                break
        if at < 0:
            at = first + count
            m.kept_met_shapes[at, 0], m.kept_met_shapes[at, 1] = m.met_shapes[i, 0], m.met_shapes[i, 1]
            m.kept_met[at] = 0.0
            m.course_wholes[KEPT_MET] = at + 1
        m.kept_met[at] += m.met[i, MET_NORMAL]
        cursor = at + 1
    if m.course_wholes[KEPT_MET] > (SAMPLES_TIMES - 1) * m.counts[ROOM]:
        m.counts[FULL] = 1


def note_step(m: Arrays) -> None:
    """Note a step that was made, from `course[BEGUN]` to `course[TIME]`."""
    note_contacts(m)
    note_stops(m)
    if m.course_wholes[KEEPS_MET] > 0:
        note_given(m)
    m.course_wholes[STEPS_LOGGED] += 1
    m.course_wholes[STEPS_MADE] += 1
    m.course[LARGEST] = max(m.course[LARGEST], m.course[STEP_ERROR])
    m.course[MISSED] = max(m.course[MISSED], m.numbers[RESIDUAL])
    if m.counts[FAILED] > 0:
        m.course_wholes[STEPS_UNSETTLED] += 1
        m.course[UNSETTLED] = max(m.course[UNSETTLED], m.numbers[RESIDUAL])
    m.course[LOWEST] = min(m.course[LOWEST], m.numbers[NEAREST])
    for i in range(m.counts[MET]):
        m.course[HIGHEST] = max(m.course[HIGHEST], m.met[i, MET_PEAK])
    m.course[BOOKED_WORK] += m.numbers[WORK]
    m.course[THROUGHPUT] += abs(m.numbers[WORK])
    m.course[BOOKED_LOSS] += m.numbers[LOSS]
    for i in range(6):
        m.course[BOOKED_OUTSIDE + i] += m.numbers[OUTSIDE + i]


COURSE_LOG = (log_event, known_touch, note_contacts, note_stops, note_given, note_step)
