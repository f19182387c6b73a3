"""A run from sample to sample, as a compiled loop: steps of one length or to a tolerance, and what a sample keeps."""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    CONTACTS,
    FAILED,
    IMPULSE,
    MET,
    MET_NORMAL,
    POINT,
    RESIDUAL,
    ROOM,
    STEP,
)
from phistar.plant.course_columns import (
    ALL_COORDINATES,
    ALL_RATES,
    ARRIVED,
    ENDED,
    KEPT_MET,
    KEPT_PUSHING,
    LARGEST,
    LAST_SAMPLE,
    NEXT_SAMPLE,
    NO_MORE_KEPT,
    SAMPLE_ERROR,
    SAMPLE_FLOATS,
    SAMPLE_PART,
    SAMPLE_RESIDUAL,
    SAMPLE_STEP,
    SAMPLE_STEPS,
    SAMPLE_UNSETTLED,
    SAMPLES,
    SAMPLES_ROOM,
    SAMPLES_TIMES,
    STEPS_MADE,
    TOO_FAST,
    UNTIL,
)
from phistar.plant.tolerance_loop import course

FASTEST = 1e6  # rad/s and m/s: no mechanism moves so fast; what does has diverged


def keep_contacts(m: Arrays) -> None:
    """What pushes: points, axes and impulses; and the normal impulses of what met since the sample before."""
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
    at = m.course_wholes[KEPT_MET]
    for i in range(m.counts[MET]):
        m.kept_met[at + i] = m.met[i, MET_NORMAL]
        m.kept_met_shapes[at + i, 0], m.kept_met_shapes[at + i, 1] = m.met_shapes[i, 0], m.met_shapes[i, 1]
    m.sample_counts[m.course_wholes[SAMPLES], 1] = m.counts[MET]
    m.course_wholes[KEPT_MET] = at + m.counts[MET]


def keep_sample(m: Arrays) -> None:
    """A row of the samples: residual, the length of the last part, error, steps, whether all settled, q and v."""
    nq, nv = m.course_wholes[ALL_COORDINATES], m.course_wholes[ALL_RATES]
    at = m.course_wholes[SAMPLES] * (SAMPLE_FLOATS + nq + nv)
    part = m.numbers[STEP] if m.numbers[STEP] > 0.0 else m.course[SAMPLE_STEP]
    m.samples[at + SAMPLE_RESIDUAL], m.samples[at + SAMPLE_PART] = m.numbers[RESIDUAL], part
    m.samples[at + SAMPLE_ERROR], m.samples[at + SAMPLE_STEPS] = m.course[LARGEST], float(m.course_wholes[STEPS_MADE])
    m.samples[at + SAMPLE_UNSETTLED] = 1.0 if m.counts[FAILED] > 0 else 0.0
    for i in range(nq):
        m.samples[at + SAMPLE_FLOATS + i] = m.q[i]
    for i in range(nv):
        m.samples[at + SAMPLE_FLOATS + nq + i] = m.rates[i]
    keep_contacts(m)
    m.course_wholes[SAMPLES] += 1
    m.course_wholes[NEXT_SAMPLE] += 1
    m.course_wholes[STEPS_MADE], m.course[LARGEST] = 0, 0.0


def too_fast(m: Arrays) -> bool:
    """Whether rates are no numbers that a mechanism has."""
    total = 0.0
    for i in range(m.course_wholes[ALL_RATES]):
        total += m.rates[i] * m.rates[i]
    return not total < FASTEST * FASTEST


def through_samples(m: Arrays) -> None:
    """From sample to sample, up to the last one, to where touches change, or to where no more can be kept."""
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


IN_SAMPLES = (keep_contacts, keep_sample, too_fast, through_samples)
