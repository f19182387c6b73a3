"""Large batches split over threads: the caller works too, the rest goes to a small pool. PHISTAR_THREADS sets how many.

Machine code runs without the interpreter lock and keeps no state, so the parts only have to be cut.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import accumulate, pairwise
from math import prod
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import numpy as np

from phistar.errors import PhistarError

Dtype = type[np.float64] | type[np.float32]
STATES_PER_THREAD = 3000  # states per thread below which handing over costs more than it saves
SMALLEST_PIECE = 1500  # states that a thread takes at once when the end is near,
MOST_PIECES = 16  # or a part of its share: between pieces threads wait for the interpreter and for each other


def thread_count() -> int:
    """PHISTAR_THREADS, or as many as this process may use."""
    given = os.environ.get("PHISTAR_THREADS", "")
    if not given:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdigit() or int(given) < 1:
        raise PhistarError(f"PHISTAR_THREADS must be a whole number from 1 on; it is {given!r}.")
    return int(given)


@dataclass(frozen=True, eq=False)
class _Share:
    """Work offered to another thread: whoever acquires `taken` first does it, or takes it back."""

    work: Callable[[], None]
    taken: Lock = field(default_factory=Lock)
    ended: SimpleQueue[BaseException | None] = field(default_factory=SimpleQueue)

    def run(self) -> None:
        if self.taken.acquire(blocking=False):
            try:
                self.work()
            except BaseException as problem:
                self.ended.put(problem)
            else:
                self.ended.put(None)

    def wait(self) -> BaseException | None:
        """Exception of the work, or None; a share not begun is taken back."""
        return None if self.taken.acquire(blocking=False) else self.ended.get()


@cache
def _workers(count: int) -> SimpleQueue[_Share]:
    """Queue served by `count` threads. A pool of futures takes some twenty times as long to dispatch work: the time of
    a thousand states."""
    asked: SimpleQueue[_Share] = SimpleQueue()
    for _ in range(count):
        Thread(target=_serve, args=(asked,), name="phistar", daemon=True).start()
    return asked


def _serve(asked: SimpleQueue[_Share]) -> None:
    while True:
        asked.get().run()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.cache_clear)  # a child has none of its parent's threads


def spread(
    function: Any, arrays: tuple[Any, ...], shapes: list[tuple[int, ...]], out: Any = None, dtype: Dtype = np.float64
) -> Any:
    """function(*arrays, out=out), a gufunc, over threads where the batch is large; `shapes` are the outputs' core
    shapes, `dtype` is that of all its numbers. NumPy itself makes float64 of whole numbers, but no number shorter."""
    if dtype is not np.float64:
        arrays = tuple(np.asarray(x).astype(dtype, casting="same_kind", copy=False) for x in arrays)
    size = max(getattr(x, "size", 0) for x in arrays)
    if size < (2 * STATES_PER_THREAD if len(shapes) < 2 else STATES_PER_THREAD // 20):  # few states must be cheap
        return function(*arrays) if out is None else function(*arrays, out=out)
    given = [np.asarray(x) for x in arrays]
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in given))
    count = prod(batch)
    threads = min(thread_count(), count // STATES_PER_THREAD)
    alone = threads < 2 or not batch or batch[0] < threads
    outputs = None if out is None else out if isinstance(out, tuple) else (out,)
    if (alone and (outputs or len(shapes) < 2)) or (outputs and not _cuttable(given, outputs, batch, shapes)):
        return function(*given, out=out)
    outputs = outputs or together(batch, shapes, dtype)
    if alone:
        return function(*given, out=outputs)
    smallest = max(-(-batch[0] * SMALLEST_PIECE // count), batch[0] // (MOST_PIECES * threads))
    pieces = deque(_pieces(batch[0], threads, smallest))
    work = partial(_work, function, given, outputs, len(batch), pieces)
    shares = [_Share(work) for _ in range(threads - 1)]
    for share in shares:
        _workers(threads - 1).put(share)
    try:
        work()
    finally:
        pieces.clear()  # after a mistake in one thread the others have nothing more to do
        problems = [problem for share in shares if (problem := share.wait()) is not None]
    if problems:
        raise problems[0]
    return outputs[0] if len(outputs) == 1 else outputs


def _cuttable(
    given: list[np.ndarray], outputs: tuple[Any, ...], batch: tuple[int, ...], shapes: list[tuple[int, ...]]
) -> bool:
    """Whether the room given has a row for every row of the batch and none that is read too; else NumPy decides."""
    fits = [isinstance(y, np.ndarray) and y.shape == batch + shape for y, shape in zip(outputs, shapes, strict=False)]
    others = [*given, *outputs]
    return (
        len(outputs) == len(shapes)
        and all(fits)
        and not any(np.may_share_memory(y, x) for y in outputs for x in others if x is not y)
    )


def together(
    batch: tuple[int, ...], shapes: Sequence[tuple[int, ...]], dtype: Dtype = np.float64
) -> tuple[np.ndarray, ...]:
    """Room for all outputs in one piece: what is freed in several is given back to the system at each call, which then
    has to clear it again. It begins where vectors are stored fastest: large blocks of memory come 16 bytes after a
    multiple of 32."""
    if len(set(shapes)) == 1:  # of one shape: faster than to cut the room up
        size = len(shapes) * prod(batch) * prod(shapes[0])
        return tuple(np.empty(size + 2, dtype)[2:].reshape(len(shapes), *batch, *shapes[0]))
    ends = list(accumulate((prod(batch) * prod(shape) for shape in shapes), initial=2))
    whole = np.empty(ends[-1], dtype)
    return tuple(whole[a:b].reshape(batch + shape) for (a, b), shape in zip(pairwise(ends), shapes, strict=True))


def _pieces(rows: int, threads: int, smallest: int) -> Iterator[tuple[int, int]]:
    """Rows start … stop of the first axis, fewer and fewer: whoever is late or disturbed takes less, and all end
    together (Polychronopoulos and Kuck, IEEE Transactions on Computers 1987)."""
    start = 0
    while start < rows:
        stop = min(rows, start + max(smallest, 4 * (rows - start) // (5 * threads)))
        yield start, stop
        start = stop


def _work(
    function: Any,
    arrays: list[np.ndarray],
    outputs: tuple[np.ndarray, ...],
    axes: int,
    pieces: deque[tuple[int, int]],
) -> None:
    """Piece by piece while there are any; what is broadcast along the first axis is passed whole."""
    while pieces:
        try:
            start, stop = pieces.popleft()
        except IndexError:  # another thread took the last one
            return
        cut = [x[start:stop] if x.ndim == axes + 1 and x.shape[0] > 1 else x for x in arrays]
        function(*cut, out=tuple(x[start:stop] for x in outputs))
