"""Calls with room on the stack: what recurses over a statement or a function, where the caller's thread may be a small
one.

LLVM needs up to some MB for long functions, Python itself some hundred bytes for each level of a nested statement, and
a stack that ends in the middle of it ends the process. How much a caller has left no one can ask in a way that holds
everywhere, so a thread of our own is taken for each call: some 50 µs, where the least module takes milliseconds.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from typing import Any

ROOM = 256 * 2**20 if sys.maxsize > 2**32 else 32 * 2**20
"""Bytes of stack: addresses, not memory, which only what is touched takes."""
LEAST = 8 * 2**20  # what a main thread usually has
_one_at_a_time = threading.Lock()  # the size for new threads belongs to the whole process
_here = threading.local()


def with_room(work: Callable[[], Any]) -> Any:
    """The result of `work()`, done on a thread with a large stack; what it raises is raised here."""
    if getattr(_here, "roomy", False):
        return work()
    outcome: list[Any] = []
    settings = contextvars.copy_context()  # NumPy's error handling is among them

    def run() -> None:
        _here.roomy = True
        try:
            outcome.append((settings.run(work), None))
        except BaseException as error:
            outcome.append((None, error))

    size = ROOM
    while not _run_with_stack(run, size):
        size //= 2
        if size < LEAST:  # no thread can be started: the interpreter is ending, or the process has all it may have
            return work()
    made, error = outcome[0]
    if error is not None:
        raise error
    return made


def _run_with_stack(work: Callable[[], None], size: int) -> bool:
    """Whether a thread with a stack of `size` bytes could be started; if so, it has done its work."""
    thread = threading.Thread(target=work, name="phistar-compile")
    with _one_at_a_time:
        before = threading.stack_size(size)
        try:
            thread.start()
        except RuntimeError:
            return False
        finally:
            threading.stack_size(before)
    thread.join()
    return True
