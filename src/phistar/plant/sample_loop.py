"""A run from sample to sample, as a compiled loop: steps of one length or to a tolerance, and what a sample keeps."""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    CONTACTS,
    GAP,
    IMPULSE,
    MARGIN,
    OFFSET,
    POINT,
    ROOM,
    STEP,
    STRENGTH,
)
from phistar.plant.course_columns import (
    ALL_COORDINATES,
    ALL_RATES,
    ARRIVED,
    BOOKED_WORK,
    ENDED,
    HIGHEST,
    KEPT_MET,
    KEPT_PUSHING,
    LARGEST,
    LAST_SAMPLE,
    LOWEST,
    MET_FIRST,
    MISSED,
    NEXT_SAMPLE,
    NO_MORE_KEPT,
    SAMPLE_ERROR,
    SAMPLE_FLOATS,
    SAMPLE_HIGHEST,
    SAMPLE_LOWEST,
    SAMPLE_MISSED,
    SAMPLE_PART,
    SAMPLE_RESIDUAL,
    SAMPLE_STEP,
    SAMPLE_STEPS,
    SAMPLE_STORED,
    SAMPLE_UNSETTLED,
    SAMPLE_WORK,
    SAMPLES,
    SAMPLES_ROOM,
    SAMPLES_TIMES,
    STEPS_MADE,
    STEPS_UNSETTLED,
    TOO_FAST,
    UNSETTLED,
    UNTIL,
)
from phistar.plant.tolerance_loop import course

FASTEST = 1e6  # rad/s and m/s: no mechanism moves so fast; what does has diverged


def keep_contacts(m: Arrays) -> None:
    """Keep contacts that push: points, axes and impulses; and how many pairs gave impulses since the last sample."""
    at = m.course_wholes[KEPT_PUSHING]
    for c in range(m.counts[CONTACTS]):
        if m.contacts[c, IMPULSE + 2] > 0.0:
            m.kept_shapes[at, 0], m.kept_shapes[at, 1] = m.contact_wholes[c, 0], m.contact_wholes[c, 1]
            for i in range(12):
                m.kept_pushing[at, i] = m.contacts[c, POINT + i]
            for i in range(3):
                m.kept_pushing[at, 12 + i] = m.contacts[c, IMPULSE + i]
            at += 1
    m.sample_counts[m.course_wholes[SAMPLES], 0] = at - m.course_wholes[KEPT_PUSHING]
    m.course_wholes[KEPT_PUSHING] = at
    m.sample_counts[m.course_wholes[SAMPLES], 1] = m.course_wholes[KEPT_MET] - m.course_wholes[MET_FIRST]
    m.course_wholes[MET_FIRST] = m.course_wholes[KEPT_MET]


def logarithm(x: float) -> float:
    """ln x of x ≥ 1: powers of 2 apart, 2 artanh((x − 1)/(x + 1)) as a series up to its last digit."""
    halved, rest = 0, x
    while rest > 1.5:
        rest *= 0.5
        halved += 1
    y = (rest - 1.0) / (rest + 1.0)
    total, power = 0.0, 2.0 * y
    for k in range(12):
        total += power / (2.0 * k + 1.0)
        power *= y * y
    return total + 0.6931471805599453 * halved


def stored_energy(m: Arrays) -> float:
    """The elastic energy of the gaps, K_p(ε ln(ε/d) − (ε − d)) each."""
    total = 0.0
    for c in range(m.counts[CONTACTS]):
        gap, margin = m.contacts[c, GAP] + m.contacts[c, OFFSET], m.contacts[c, MARGIN]
        if gap > 0.0 and gap < margin:
            total += m.contacts[c, STRENGTH] * (margin * logarithm(margin / gap) - (margin - gap))
    return total


def keep_sample(m: Arrays) -> None:
    """A row of the samples: how well its steps did, their extremes, the books so far, q and v."""
    nq, nv = m.course_wholes[ALL_COORDINATES], m.course_wholes[ALL_RATES]
    at = m.course_wholes[SAMPLES] * (SAMPLE_FLOATS + nq + nv)
    part = m.numbers[STEP] if m.numbers[STEP] > 0.0 else m.course[SAMPLE_STEP]
    m.samples[at + SAMPLE_RESIDUAL], m.samples[at + SAMPLE_PART] = m.course[MISSED], part
    m.samples[at + SAMPLE_ERROR], m.samples[at + SAMPLE_STEPS] = m.course[LARGEST], float(m.course_wholes[STEPS_MADE])
    m.samples[at + SAMPLE_UNSETTLED] = float(m.course_wholes[STEPS_UNSETTLED])
    m.samples[at + SAMPLE_MISSED] = m.course[UNSETTLED]
    m.samples[at + SAMPLE_LOWEST], m.samples[at + SAMPLE_HIGHEST] = m.course[LOWEST], m.course[HIGHEST]
    m.samples[at + SAMPLE_STORED] = stored_energy(m)
    for i in range(9):
        m.samples[at + SAMPLE_WORK + i] = m.course[BOOKED_WORK + i]
    for i in range(nq):
        m.samples[at + SAMPLE_FLOATS + i] = m.q[i]
    for i in range(nv):
        m.samples[at + SAMPLE_FLOATS + nq + i] = m.rates[i]
    keep_contacts(m)
    m.course_wholes[SAMPLES] += 1
    m.course_wholes[NEXT_SAMPLE] += 1
    clear_extremes(m)


def clear_extremes(m: Arrays) -> None:
    """Begin anew what is counted between samples."""
    m.course_wholes[STEPS_MADE], m.course_wholes[STEPS_UNSETTLED] = 0, 0
    m.course[LARGEST], m.course[MISSED], m.course[UNSETTLED] = 0.0, 0.0, 0.0
    m.course[LOWEST], m.course[HIGHEST] = 1e300, 0.0


def too_fast(m: Arrays) -> bool:
    """Whether rates are no numbers that a mechanism has."""
    total = 0.0
    for i in range(m.course_wholes[ALL_RATES]):
        total += m.rates[i] * m.rates[i]
    return not total < FASTEST * FASTEST


def through_samples(m: Arrays) -> None:
    """Go from sample to sample: to the last one, to a change of touches, or to where no more can be kept."""
    m.course_wholes[ENDED] = ARRIVED  # also where the last one was kept before, as the last there was room for
    while m.course_wholes[NEXT_SAMPLE] <= m.course_wholes[LAST_SAMPLE]:
        m.course[UNTIL] = m.course_wholes[NEXT_SAMPLE] * m.course[SAMPLE_STEP]
        course(m)
        if too_fast(m):
            m.course_wholes[ENDED] = TOO_FAST
        if m.course_wholes[ENDED] != ARRIVED:
            return
        keep_sample(m)
        rows = m.counts[ROOM] * (SAMPLES_TIMES - 1)
        if m.course_wholes[KEPT_PUSHING] > rows or m.course_wholes[KEPT_MET] > rows:
            m.course_wholes[ENDED] = NO_MORE_KEPT
            return
        if m.course_wholes[SAMPLES] == SAMPLES_ROOM:
            m.course_wholes[ENDED] = NO_MORE_KEPT
            return


IN_SAMPLES = (keep_contacts, logarithm, stored_energy, clear_extremes, keep_sample, too_fast, through_samples)
