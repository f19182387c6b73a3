"""Columns of the tables of a course, steps of one length or to a tolerance, and of the samples that it keeps."""

from __future__ import annotations

# `course`: the time, where it ends, the step wanted next, the tolerance (m and rad; 0: steps have one length), the
# longest step; of the step that was last made its begin, length and error in units of the tolerance; the largest of
# these errors; when the forces of a short step are asked for; `numbers[SETTLED]` at the start of a step; the time
# between samples
TIME, UNTIL, WANTED, TOLERANCE, LONGEST, BEGUN, TOOK, STEP_ERROR, LARGEST, AT_TIME, START_SETTLED = range(11)
SAMPLE_STEP, MISSED, UNSETTLED, LOWEST, HIGHEST, BOOKED_WORK, THROUGHPUT, BOOKED_LOSS, BOOKED_OUTSIDE = range(11, 20)
COURSE_FLOATS = 25

# `course_wholes`: rows of the tableau at most and at least; entries of a row, those there is room for, and of them the
# first of trees, of rows' memories, of books and of contacts; coordinates and rates of the model; steps that were made,
# whether each of them ends the call, why it ended; whether Python gives forces, and the address of its function;
# contacts at the start of a step, how many all rows have (−1: they differ), and how many touches the last step had;
# numbers of the next and the last sample, how many are kept, and of how many contacts that push and pairs that met;
# events that are logged, how many may be before they must be read, steps that were noted, whether single steps are,
# and how many steps did not settle since the last sample; the first of the pairs that met since then, and whether those
# are kept
MOST_ROWS, FEWEST_ROWS, WIDTH, ENTRIES_ROOM, TREES_AT, MEMORIES_AT, BOOKS_AT, CONTACTS_AT = range(8)
ALL_COORDINATES, ALL_RATES, STEPS_MADE, EACH_STEP, ENDED, DRIVEN, DRIVEN_BY = range(8, 15)
START_CONTACTS, SAME, TOUCHES, NEXT_SAMPLE, LAST_SAMPLE, SAMPLES, KEPT_PUSHING, KEPT_MET = range(15, 23)
LOGGED, MOST_LOGGED, STEPS_LOGGED, NOTES_STEPS, STEPS_UNSETTLED, MET_FIRST, KEEPS_MET = range(23, 30)
COURSE_WHOLES = 30

ARRIVED, STEPPED, NO_ROOM, TOO_SHORT, TOO_FAST, NO_MORE_KEPT = range(6)  # why a course ended

# `samples`: what a sample has before its q and v. There is room for so many samples, and in them for so many times as
# many contacts as a step has room for
SAMPLE_RESIDUAL, SAMPLE_PART, SAMPLE_ERROR, SAMPLE_STEPS, SAMPLE_UNSETTLED, SAMPLE_MISSED = range(6)
SAMPLE_LOWEST, SAMPLE_HIGHEST, SAMPLE_STORED, SAMPLE_WORK, SAMPLE_THROUGHPUT, SAMPLE_LOSS, SAMPLE_OUTSIDE = range(6, 13)
SAMPLE_FLOATS, SAMPLES_ROOM, SAMPLES_TIMES = 18, 64, 8

# `log`: what happened, in the order that events of one step are told in, to which two shapes (lower number first) or to
# which row, and in which step; `log_times` has when
MEETS, PARTS, SLIPS, STICKS, MEETS_STOP, LEAVES_STOP = range(6)
CODE, FIRST_CODED, SECOND_CODED, STEP_LOGGED = range(4)
LOG_WHOLES, LOG_TIMES = 4, 16

# Entries of a free body: centre of mass, quaternion, its velocity, angular momentum about the world's origin, ω
CENTER_AT, QUATERNION_AT, VELOCITY_AT, MOMENT_AT, SPIN_AT = 0, 3, 7, 10, 13
FREE_ENTRIES = 16
BOOKS = 8  # work, loss and the impulse from outside
