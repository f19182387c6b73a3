"""A session through time, by compiled loops: steps of one length, or long ones extrapolated from short ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.backends.kernel_calls import python_call
from phistar.constraints import columns as c
from phistar.plant import course_columns as k
from phistar.plant.batch_loop import COURSE_ONLY, SAMPLES_ONLY
from phistar.plant.course_tables import ROWS
from phistar.plant.session import Session

Drive = Callable[[Session, float, np.ndarray, np.ndarray], None]  # gives a session its forces at (t, q, v)
ORDERS = ((1e-4, (2, 4)), (1e-6, (3, 4)))  # down to which tolerance, m and rad, so many rows do


class Extrapolation:
    """Steps of a session whose places err by at most `tolerance`, m and rad, each at most `longest` seconds; if
    that is 0, steps of the length that is wanted.

    `drive` gives the session its forces at every short step; without it they stay as they are. `rows` are those of a
    tableau at least, 2 or more, and at most; by default as many as the tolerance makes worth while.
    """

    def __init__(
        self,
        session: Session,
        tolerance: float,
        longest: float,
        drive: Drive | None = None,
        rows: tuple[int, int] | None = None,
    ) -> None:
        self.session, self._drive = session, drive
        self.tolerance, self.longest = tolerance, longest
        self.rows = rows or next((counts for least, counts in ORDERS if tolerance >= least), (ROWS - 1, ROWS))
        self._call = python_call(self._ask_forces, (), (), session.engine.moves.keep_error) if self._is_driven else None

    @property
    def _is_driven(self) -> bool:
        return self._drive is not None or self.session.is_pushed

    def begin(self, time: float, wanted: float) -> None:
        """Start from the session's state."""
        numbers, wholes = self._tables()
        numbers[[k.TIME, k.WANTED, k.TOLERANCE, k.LONGEST]] = time, wanted, self.tolerance, self.longest
        wholes[[k.FEWEST_ROWS, k.MOST_ROWS]] = self.rows
        wholes[[k.DRIVEN, k.DRIVEN_BY]] = (0, 0) if self._call is None else (1, self._call.address)
        engine = self.session.engine
        self._clear(numbers, wholes)
        numbers[k.BOOKED_WORK :] = 0.0
        if self.tolerance > 0.0:
            engine.counts[c.READY] = min(2 * engine.counts[c.READY], 2)  # contacts are looked for anew

    def advance(self, until: float, each: bool) -> int:
        """Go on to `until`, to where the log is full, or with `each` by one step; say why it ended, by
        `course_columns`."""
        numbers, wholes = self._tables()
        numbers[k.UNTIL], wholes[k.EACH_STEP], wholes[k.KEEPS_MET] = until, each, 0
        self.session.forget()
        self._clear(numbers, wholes)
        self.session.engine.serve_course(COURSE_ONLY)
        return int(wholes[k.ENDED])

    def sample(self, first: int, last: int, step: float) -> None:
        """Prepare the samples from one number to another, `step` seconds apart."""
        numbers, wholes = self._tables()
        numbers[k.SAMPLE_STEP] = step
        wholes[[k.NEXT_SAMPLE, k.LAST_SAMPLE]] = first, last
        wholes[[k.EACH_STEP, k.SAMPLES, k.KEPT_PUSHING, k.KEPT_MET, k.MET_FIRST]] = 0
        wholes[k.KEEPS_MET] = 1
        self._clear(numbers, wholes)

    def advance_samples(self) -> int:
        """Go on to the last sample, or to where no more can be kept; say why it ended."""
        self.session.forget()
        self.session.engine.serve_course(SAMPLES_ONLY)
        return int(self._tables()[1][k.ENDED])

    def advance_once(self, begun: float, ended: float, length: float) -> None:
        """A single step of the session, noted as one between two times."""
        numbers, wholes = self._tables()
        numbers[k.BEGUN], numbers[k.TIME], numbers[k.STEP_ERROR], wholes[k.NOTES_STEPS] = begun, ended, 0.0, 1
        wholes[k.KEEPS_MET] = 0
        try:
            self.session.advance(length)
        finally:
            wholes[k.NOTES_STEPS] = 0

    @staticmethod
    def _clear(numbers: np.ndarray, wholes: np.ndarray) -> None:
        """Begin anew what is counted from sample to sample."""
        wholes[[k.STEPS_MADE, k.STEPS_UNSETTLED]] = 0
        numbers[[k.LARGEST, k.MISSED, k.UNSETTLED, k.LOWEST, k.HIGHEST]] = 0.0, 0.0, 0.0, 1e300, 0.0

    @property
    def numbers(self) -> np.ndarray:
        """The table `course`."""
        return self._tables()[0]

    @property
    def steps_made(self) -> int:
        """Steps that the last `advance` made."""
        return int(self._tables()[1][k.STEPS_MADE])

    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        tables = self.session.engine.tables
        return tables["course"], tables["course_wholes"]

    def _ask_forces(self) -> tuple[Any, ...]:
        """Forces at the start of a short step."""
        engine, model = self.session.engine, self.session.model
        short, time = float(engine.numbers[c.LENGTH]), float(self.numbers[k.AT_TIME])
        if self._drive is not None:
            q, v = engine.q[: model.nq].copy(), engine.v[: model.nv].copy()
            self._drive(self.session, time, q, v)
        self.session.act_fields(short, time)
        return ()
