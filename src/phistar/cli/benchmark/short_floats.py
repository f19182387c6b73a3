"""float32 against float64: time per state in one contest, the stated bound and what was lost."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import phistar as ps
from phistar.cli.benchmark.benchmark_tasks import FORWARD, INVERSE, MASS, random_states
from phistar.cli.benchmark.timing import Contestant, contest
from phistar.errors import StatementError
from phistar.model import Model

Facts = dict[str, Any]
COMPARED = (FORWARD, INVERSE, MASS)
BATCH = 1024


def short_floats(name: str, model: Model, seconds: float) -> list[Facts]:
    """One row per function; what float32 would lose too much of says why."""
    states = random_states(model, BATCH, np.random.default_rng(4))
    return [_compare(name, model, function, (states.q, states.v, states.tau), seconds) for function in COMPARED]


def _compare(name: str, model: Model, function: str, arrays: tuple[np.ndarray, ...], seconds: float) -> Facts:
    call, facts = getattr(ps, function), {"robot": name, "function": function, "batch": BATCH}
    wide = ps.compile(call, model)
    arrays = arrays[: len(wide.inputs)]
    try:
        short = ps.compile(call, model, dtype=np.float32)
    except StatementError as problem:
        return facts | dict.fromkeys(("wide_ns", "short_ns", "ratio", "error", "lost")) | {"problem": str(problem)}
    few = [x.astype(np.float32) for x in arrays]
    calls = {"wide": partial(wide, *arrays), "short": partial(short, *few)}
    timed = contest({each: Contestant(run, BATCH) for each, run in calls.items()}, seconds)
    exact = wide(*(x.astype(float) for x in few))
    axes = tuple(range(1, exact.ndim))
    lost = float((np.abs(short(*few) - exact).max(axes) / np.abs(exact).max(axes)).max())
    times = {"wide_ns": timed["wide"].best, "short_ns": timed["short"].best}
    return facts | times | {"ratio": times["wide_ns"] / times["short_ns"], "error": short.error, "lost": lost}
