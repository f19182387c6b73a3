"""Commands and whole runs as loops that are compiled: actuators driven, one step, or many scenes through many steps.

The way in is `serve`, which `batch[MODE]` tells what to do, so that one piece of machine code has the step and all that
goes around it. Tables of a batch are flat: code does not depend on a robot's numbers.
"""

from __future__ import annotations

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import (
    BOUND,
    CONTACT_FLOATS,
    CONTACTS,
    FAILED,
    FULL,
    HIGH,
    LENGTH,
    LOOKING,
    LOW,
    MEMORY,
    READY,
    RESIDUAL,
    ROWS,
    SETTLED,
    THIRD,
)
from phistar.plant.course_columns import NOTES_STEPS
from phistar.plant.course_log import note_step
from phistar.plant.impacts import any_lively, excuse, first_impact
from phistar.plant.sample_loop import IN_SAMPLES, through_samples
from phistar.plant.step_loop import STEPS, STUCK, begin_step, prepare, solve_part, step
from phistar.plant.tolerance_loop import TO_TOLERANCE, course

STEP_ONLY, DRIVE_ONLY, SCENES_THROUGH, PART_ONLY, COURSE_ONLY, SAMPLES_ONLY = range(6)

# `batch`: what to do, numbers of scenes, steps and rates; how many contacts a scene remembers; the number of lanes;
# whether every step has a command of its own and is kept; entries of a command, actuators, and the line of commands
MODE, SCENES, STEPS_EACH, NQ, NV, REMEMBERED, LANES, EACH, KEEPS = range(9)
ENTRIES, DRIVES, LINE_ROOM, LINE_AT = range(9, 13)
BATCH = 13

# `drive_wholes`: the kind, the rate (−1: a tendon, by its row), the row and the first entry of the command
FORCE_DRIVE, POSITION_DRIVE, VELOCITY_DRIVE, IMPEDANCE_DRIVE, PRESCRIBED_DRIVE = range(5)
DRIVE_KIND, DRIVE_RATE, DRIVE_ROW, DRIVE_ENTRY = range(4)
DRIVE_WHOLES = 4
# `drives`: what a command is multiplied by and what is added, its range, that of the force, the delay in s
DRIVE_GEAR, DRIVE_OFFSET, DRIVE_LEAST, DRIVE_MOST, DRIVE_LOW, DRIVE_HIGH, DRIVE_DELAY = range(7)
DRIVE_FLOATS = 7


def remember_command(m: Arrays) -> None:
    """The command goes to the line of those before; the first fills it."""
    room, entries = m.batch[LINE_ROOM], m.batch[ENTRIES]
    if m.batch[LINE_AT] < 0:
        for i in range(room):
            for e in range(entries):
                m.line[i * entries + e] = m.command[e]
        m.batch[LINE_AT] = 0
        return
    m.batch[LINE_AT] = (m.batch[LINE_AT] + 1) % room
    for e in range(entries):
        m.line[m.batch[LINE_AT] * entries + e] = m.command[e]


def delayed_entry(m: Arrays, k: int, e: int) -> float:
    """Entry e of actuator k's command, as late as it is."""
    delay, room = m.drives[k, DRIVE_DELAY], m.batch[LINE_ROOM]
    late = 0
    if delay > 0.0:
        late = min(int(delay / m.numbers[LENGTH] + 0.5), room - 1)
    at = m.batch[LINE_AT] - late
    at = at if at >= 0 else at + room
    return m.line[at * m.batch[ENTRIES] + m.drive_wholes[k, DRIVE_ENTRY] + e]


def drive(m: Arrays) -> None:
    """`command` (entries) and `outer` (nv) as forces and servos of the next step."""
    for i in range(m.batch[NV]):
        m.force[i] = m.outer[i]
    if m.batch[DRIVES] > 0:
        remember_command(m)
    for k in range(m.batch[DRIVES]):
        kind, rate, row = m.drive_wholes[k, DRIVE_KIND], m.drive_wholes[k, DRIVE_RATE], m.drive_wholes[k, DRIVE_ROW]
        low, high = m.drives[k, DRIVE_LOW], m.drives[k, DRIVE_HIGH]
        value = min(max(delayed_entry(m, k, 0), m.drives[k, DRIVE_LEAST]), m.drives[k, DRIVE_MOST])
        value = m.drives[k, DRIVE_GEAR] * value + m.drives[k, DRIVE_OFFSET]
        if kind == FORCE_DRIVE:
            value = min(max(value, low), high)
            if rate >= 0:
                m.force[rate] += value
            else:  # a servo's law between equal bounds is a force
                m.rows[row, LOW], m.rows[row, HIGH] = value, value
        elif kind == VELOCITY_DRIVE:
            m.rows[row, THIRD] = value
        elif kind == PRESCRIBED_DRIVE:
            m.rows[row, THIRD] = m.rates[rate] + m.numbers[LENGTH] * value
        else:
            m.rows[row, BOUND] = value
        if kind == IMPEDANCE_DRIVE:  # K(r − q) + B(ṙ − q̇) + f within bounds
            push = min(max(delayed_entry(m, k, 2), low), high)
            m.rows[row, THIRD] = delayed_entry(m, k, 1)
            m.rows[row, LOW], m.rows[row, HIGH] = low - push, high - push
            m.force[rate] += push


def slow_floating(m: Arrays) -> None:
    """The drag of floating bodies and bases, at the rates that a step starts with."""
    for i in range(m.batch[NV]):
        m.force[i] -= m.drag[i] * m.rates[i]


def load_scene(m: Arrays) -> None:
    """The engine at the state of `scene`, with what its contacts, rows and commands remember (−1: nothing yet)."""
    scene = m.scene[0]
    nq, nv, each = m.batch[NQ], m.batch[NV], m.batch[REMEMBERED]
    for i in range(nq):
        m.q[i] = m.scene_q[scene * nq + i]
    for i in range(nv):
        m.rates[i] = m.scene_v[scene * nv + i]
        m.outer[i] = 0.0
    count = m.scene_contacts[scene]
    m.counts[READY], m.counts[CONTACTS] = 0, max(count, 0)
    m.numbers[SETTLED] = 1.0 if count >= 0 else 0.0
    for c in range(m.counts[CONTACTS]):
        at = scene * each + c
        m.contact_wholes[c, 0], m.contact_wholes[c, 1] = m.scene_shapes[2 * at], m.scene_shapes[2 * at + 1]
        for j in range(CONTACT_FLOATS):
            m.contacts[c, j] = m.scene_memory[at * CONTACT_FLOATS + j]
    for r in range(m.counts[ROWS]):
        m.rows[r, MEMORY] = m.scene_rows[scene * m.counts[ROWS] + r]
    m.batch[LINE_AT] = m.scene_line_at[scene]
    size = m.batch[LINE_ROOM] * m.batch[ENTRIES]
    for i in range(size):
        m.line[i] = m.scene_line[scene * size + i]


def save_scene(m: Arrays) -> None:
    """The way back."""
    scene = m.scene[0]
    nq, nv, each = m.batch[NQ], m.batch[NV], m.batch[REMEMBERED]
    for i in range(nq):
        m.scene_q[scene * nq + i] = m.q[i]
    for i in range(nv):
        m.scene_v[scene * nv + i] = m.rates[i]
    m.scene_contacts[scene] = m.counts[CONTACTS]
    for c in range(m.scene_contacts[scene]):
        at = scene * each + c
        m.scene_shapes[2 * at], m.scene_shapes[2 * at + 1] = m.contact_wholes[c, 0], m.contact_wholes[c, 1]
        for j in range(CONTACT_FLOATS):
            m.scene_memory[at * CONTACT_FLOATS + j] = m.contacts[c, j]
    for r in range(m.counts[ROWS]):
        m.scene_rows[scene * m.counts[ROWS] + r] = m.rows[r, MEMORY]
    m.scene_line_at[scene] = m.batch[LINE_AT]
    size = m.batch[LINE_ROOM] * m.batch[ENTRIES]
    for i in range(size):
        m.scene_line[scene * size + i] = m.line[i]


def keep_step(m: Arrays, k: int) -> None:
    """The state after step k, where all are kept."""
    nq, nv, steps = m.batch[NQ], m.batch[NV], m.batch[STEPS_EACH]
    at = m.scene[0] * steps + k
    for i in range(nq):
        m.kept_q[at * nq + i] = m.q[i]
    for i in range(nv):
        m.kept_v[at * nv + i] = m.rates[i]


def one_scene(m: Arrays) -> None:
    """`scene` through its steps, unless there is no room for its contacts: it is not done then. One that diverges ends
    there."""
    scene, steps, entries = m.scene[0], m.batch[STEPS_EACH], m.batch[ENTRIES]
    load_scene(m)
    m.scene_failed[scene], m.scene_residual[scene] = steps, 0.0
    for k in range(steps):
        at = scene * steps + k if m.batch[EACH] > 0 else scene
        for e in range(entries):
            m.command[e] = m.commands[at * entries + e]
        drive(m)
        slow_floating(m)
        step(m)
        if m.counts[FULL] > 0:
            return
        if m.counts[FAILED] >= STUCK:
            m.scene_failed[scene], m.scene_done[scene] = k, 1
            return
        m.scene_residual[scene] = max(m.scene_residual[scene], m.numbers[RESIDUAL])
        if m.batch[KEEPS] > 0:
            keep_step(m, k)
    if m.counts[CONTACTS] > m.batch[REMEMBERED]:
        m.scene_done[scene] = -m.counts[CONTACTS]
        return
    save_scene(m)
    m.scene_done[scene] = 1


def all_scenes(m: Arrays) -> None:
    """The scenes that are not done yet, as many at once as there are lanes; `lane` is the number of each."""
    first = 0
    while first < m.batch[SCENES]:
        m.scene[0] = first + m.lane[0]
        if m.scene[0] < m.batch[SCENES] and m.scene_done[m.scene[0]] <= 0:
            m.counts[FULL] = 0
            one_scene(m)
        first += m.batch[LANES]


def solve_first(m: Arrays) -> None:
    """The first part of a step up to its rates and impulses; nothing moves."""
    begin_step(m)
    h = m.numbers[LENGTH]
    prepare(m, h)
    if any_lively(m):
        first_impact(m, h)
        excuse(m, h)
    solve_part(m, h)


def serve(m: Arrays) -> None:
    if m.batch[MODE] == PART_ONLY:
        solve_first(m)
        return
    if m.batch[MODE] == STEP_ONLY:
        step(m)
        if m.course_wholes[NOTES_STEPS] > 0 and m.counts[LOOKING] == 0 and m.counts[FULL] == 0:
            note_step(m)
        return
    if m.batch[MODE] == DRIVE_ONLY:
        drive(m)
        return
    if m.batch[MODE] == COURSE_ONLY:
        course(m)
        return
    if m.batch[MODE] == SAMPLES_ONLY:
        through_samples(m)
        return
    all_scenes(m)


ROLLS = (
    *(
        *STEPS,
        remember_command,
        delayed_entry,
        drive,
        slow_floating,
        load_scene,
        save_scene,
        keep_step,
        one_scene,
        all_scenes,
    ),
)
SERVES = (*ROLLS, *TO_TOLERANCE, *IN_SAMPLES, solve_first, serve)
