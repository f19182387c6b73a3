"""One case tried: it loads, or is refused with a short sentence; anything else is a failure, and so is a long wait."""

import logging
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from phistar.errors import PhistarError

LONGEST_SECONDS = 20.0  # of the processor
LONGEST_WAIT = 300.0
LONGEST_SENTENCE = 2600  # characters
MOST_GROWTH = 1500  # MB that one case may add to the process


class TooLong(BaseException):
    """A case that did not end in time; no `except Exception` in a reader may swallow it."""


@dataclass
class Tally:
    """What became of the cases of one kind; failures with their number and why."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def add(self, number: int, attempt: Callable[[], object]) -> None:
        outcome = tried(attempt)
        kind = outcome if outcome in ("loaded", "refused") else "failed"
        self.outcomes[kind] += 1
        if kind == "failed":
            self.failures.append((number, outcome))


def tried(attempt: Callable[[], object]) -> str:
    """ "loaded", "refused", or what went wrong."""
    before = _peak()
    try:
        with _time_limit(), _quiet():
            attempt()
        outcome = "loaded"
    except PhistarError as refusal:
        sentence = str(refusal)
        outcome = "refused" if 10 < len(sentence) < LONGEST_SENTENCE else f"a sentence of {len(sentence)} characters"
    except TooLong:
        outcome = f"took more than {LONGEST_SECONDS:g} s"
    except MemoryError:
        outcome = "took all the memory"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        outcome = (
            f"{type(error).__name__}: {error!s:.150} ({place.filename.rpartition('site-packages/')[2]}:{place.lineno})"
        )
    grown = _peak() - before
    return f"took {grown} MB" if grown > MOST_GROWTH else outcome


def _peak() -> int:
    """The most memory that the process has had, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "linux" else 1024**2)


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong

    # Of the processor's time, which others on the machine do not take; a reader that waits for ever uses none of it.
    limits = {signal.ITIMER_PROF: (signal.SIGPROF, LONGEST_SECONDS), signal.ITIMER_REAL: (signal.SIGALRM, LONGEST_WAIT)}
    before = {number: signal.signal(number, stop) for number, _ in limits.values()}
    for timer, (_, seconds) in limits.items():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer in limits:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _quiet() -> Iterator[None]:
    """Warnings of the logger are for people; here they would fill screens."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)
