"""Large batches split over threads: the caller works too, the rest goes to a small pool. PHISTAR_THREADS sets how many.

Machine code runs without the interpreter lock and keeps no state, so the parts only have to be cut.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from phistar.errors import PhistarError

STATES_PER_THREAD = 3000  # states per thread below which handing over costs more than it saves


def thread_count() -> int:
    """PHISTAR_THREADS, or as many as this process may use."""
    given = os.environ.get("PHISTAR_THREADS", "")
    if not given:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdigit() or int(given) < 1:
        raise PhistarError(f"PHISTAR_THREADS must be a whole number from 1 on; it is {given!r}.")
    return int(given)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="phistar")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its parent's threads


def spread(function: Any, arrays: tuple[Any, ...], shapes: list[tuple[int, ...]], **options: Any) -> Any:
    """function(*arrays), a gufunc, over threads where the batch is large; `shapes` are the outputs' core shapes."""
    if max(getattr(x, "size", 0) for x in arrays) < 2 * STATES_PER_THREAD:  # one state at a time must be cheap
        return function(*arrays, **options)
    given = [np.asarray(x) for x in arrays]
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in given))
    count = int(np.prod(batch))
    threads = min(thread_count(), count // STATES_PER_THREAD)
    if threads < 2 or not batch or options or batch[0] < threads:
        return function(*arrays, **options)
    outputs = [np.empty((*batch, *shape)) for shape in shapes]
    bounds = [batch[0] * i // threads for i in range(threads + 1)]
    tasks = [_part(function, given, outputs, len(batch), *pair) for pair in pairwise(bounds)]
    waiting = [_pool(threads - 1).submit(task) for task in tasks[1:]]
    tasks[0]()
    for task in waiting:
        task.result()
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _part(
    function: Any, arrays: list[np.ndarray], outputs: list[np.ndarray], axes: int, start: int, stop: int
) -> Callable[[], Any]:
    """The call for rows start … stop of the first axis; what is broadcast along it is passed whole."""
    cut = [x[start:stop] if x.ndim == axes + 1 and x.shape[0] > 1 else x for x in arrays]
    out = tuple(x[start:stop] for x in outputs)
    return lambda: function(*cut, out=out)
