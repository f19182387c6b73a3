"""`ps.campaign`: many runs of one scene, on this machine or on many, kept as they finish."""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from phistar.errors import PhistarError
from phistar.sim.campaign.campaign_html import as_html, one_line
from phistar.sim.campaign.campaign_plan import Plan
from phistar.sim.campaign.counting import by_cell, count_outcomes
from phistar.sim.campaign.perform import GOOD, Done, perform, row_of_crash
from phistar.sim.campaign.pools import Cluster, Pool, Processes
from phistar.sim.campaign.run_rows import Row
from phistar.sim.campaign.sampling import GENERATION, Case, Point, badness, next_generation
from phistar.sim.campaign.sensitivity import ranking
from phistar.sim.campaign.store import Store, read_description
from phistar.sim.scenes.scene import Scene

MOST_DEATHS = 3  # of processes by one run: it is redone twice
DIED = "The process of this run died each time it was tried: out of memory, or a crash."
Run = TypeVar("Run", int, Case)


class Campaign(NamedTuple):
    """A row (a dict) for every run in order, and the summary of them, which campaign.json holds too."""

    rows: tuple[Row, ...]
    summary: Mapping[str, Any]

    def __repr__(self) -> str:
        return one_line(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def campaign(
    scene: Scene | str | os.PathLike[str],
    runs: int,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    keep: str = "failed",
    resume: bool = False,
    progress: Callable[[Row], None] | None = None,
    sampling: str = "random",
    score: str = "peak_force",
    vary: Mapping[str, Sequence[Any]] | None = None,
) -> Campaign:
    """Run a scene many times, each with its own random numbers.

    Run i draws from child i of the seed: the same rows on one worker or many, in whatever order they end. A run that
    fails, stops or kills its process is a row with its reason, and its scene is kept as a file that runs it again. The
    summary ranks what is drawn and varied by what it has to do with failures and with the score.

    Parameters
    ----------
    scene : Scene, str or path
    runs : int
    seed : int
    out : path, optional
        A folder in which every finished run is kept at once.
    workers : int, optional
        Processes of this machine; by default one for each core.
    scheduler : str, optional
        Address of a dask scheduler whose workers run instead.
    keep : "failed", "all" or "none"
        Whose trajectories are kept in `out`.
    resume : bool
        Do what is missing in `out`.
    progress : callable, optional
        Given each row when it is there, those of an earlier time first.
    sampling : "random", "latin" or "search"
        Independent draws; a Latin hypercube over every random number; or a search that goes where runs fail or have
        the largest `score`, twenty runs at a time.
    score : str
        Name of a number in a run's summary; with a minus before it the least is the worst, as in "-min_distance".
    vary : mapping, optional
        Values for places of the scene, as in {"surface.friction": [0.2, 0.5], "parts.satellite.mass": [20, 200]}. All
        combinations are run with the same draws in turn, and the summary counts each of them.

    Returns
    -------
    Campaign

    Examples
    --------
    >>> found = ps.campaign("bouncing", 20, sampling="search", score="peak_force")  # doctest: +SKIP
    >>> found.summary["sensitivity"][0]["parameter"]  # doctest: +SKIP
    'drawn.parts.ball.xyz.2'
    """
    if scheduler is not None and workers is not None:
        raise PhistarError("A scheduler has its own workers; give workers or scheduler, not both.")
    if resume and out is None:
        raise PhistarError("To resume a campaign, give the folder that holds it as out.")
    source = scene if isinstance(scene, Scene) else Scene.load(scene)
    plan = Plan(source, runs, seed, "none" if out is None else keep, sampling, score, vary or {})
    store = None if out is None else Store.open(Path(out), plan.identity, resume)
    return _run_all(
        plan, store, lambda left: _rows_of_runs(plan, left, workers, scheduler), progress or (lambda row: None)
    )


def _run_all(
    plan: Plan,
    store: Store | None,
    performed: Callable[[list[Case]], Iterator[Done]],
    tell: Callable[[Row], None],
) -> Campaign:
    """The runs that are not in the store yet; what is there when it ends, or is ended, is summed up."""
    runs = plan.runs
    rows: dict[int, Row] = {} if store is None else {run: row for run, row in store.rows.items() if run < runs}
    began = time.perf_counter()
    try:
        for row in list(rows.values()):
            tell(row)
        for cases in _batches(plan, rows):
            for done in performed([case for case in cases if case.run not in rows]):
                if store is not None:
                    store.add(done)
                rows[done.row["run"]] = done.row
                tell(done.row)
    finally:
        made = _summary(plan, rows, time.perf_counter() - began)
        if store is not None:
            store.describe(made.summary)
            store.close()
    return made


def _batches(plan: Plan, rows: Mapping[int, Row]) -> Iterator[list[Case]]:
    """All runs in the batches that are done together: one, or the generations of a search, each chosen when the rows of
    those before it are there."""
    if plan.sampling != "search":
        points = plan.latin_points() if plan.sampling == "latin" else {}
        yield [Case(run, points.get(run)) for run in range(plan.runs)]
        return
    chosen: list[Point] = []
    while len(chosen) < plan.runs:
        done = [(point, badness(rows[run], plan.score, GOOD)) for run, point in enumerate(chosen)]
        chosen += next_generation(plan.scene, int(plan.seed), len(chosen) // GENERATION, done)
        yield [Case(run, chosen[run]) for run in range(len(chosen) - GENERATION, min(len(chosen), plan.runs))]


def summary_of(folder: str | os.PathLike[str]) -> Mapping[str, Any]:
    """campaign.json of a folder: what came of a campaign, or what had when it was stopped."""
    known = read_description(Path(folder))
    if known is None:
        raise PhistarError(f"{folder} holds no campaign.")
    return known


def _summary(plan: Plan, rows: Mapping[int, Row], wall: float) -> Campaign:
    ordered = tuple(rows[run] for run in sorted(rows))
    found = dict(count_outcomes(ordered)) | {"cells": by_cell(ordered), "sensitivity": ranking(ordered, plan.score)}
    facts = {"runs": plan.runs, "complete": len(ordered) == plan.runs, **found, "score": plan.score, "wall_time": wall}
    return Campaign(ordered, dict(plan.identity) | facts)


def _rows_of_runs(plan: Plan, cases: list[Case], workers: int | None, scheduler: str | None) -> Iterator[Done]:
    if not cases:
        return
    pool: Pool = Cluster(scheduler) if scheduler is not None else Processes(workers and min(workers, len(cases)))
    try:
        for case, done in spread(pool, partial(_perform, plan), cases):
            yield row_of_crash(plan, *case, DIED) if done is None else done
    finally:
        pool.close()


def _perform(plan: Plan, case: Case) -> Done:
    return perform(plan, *case)


def spread(pool: Pool, work: Callable[[Run], Any], runs: Iterable[Run]) -> Iterator[tuple[Run, Any]]:
    """(run, work(run)) of each run as it ends; None for the work of one whose process died each time. Runs in flight
    when a process died are done again one by one: so the one that kills is found, and no other is taken for it."""
    waiting, suspects, deaths = deque(runs), deque[Run](), Counter[Run]()
    flying: dict[Future[Any], Run] = {}
    while waiting or suspects or flying:
        _launch(pool, work, flying, waiting, suspects, deaths)
        ended, _ = wait(flying, return_when=FIRST_COMPLETED)
        lost = []
        for future in ended:
            run = flying.pop(future)
            try:
                yield run, future.result()
            except pool.deaths:
                lost.append(run)
            except CancelledError:
                raise PhistarError("The scheduler is gone; --resume does the rest.") from None
        if lost and pool.starts_over:
            lost += flying.values()
            flying.clear()
            pool.renew()
        for run in sorted(lost):
            deaths[run] += 1
            if deaths[run] < MOST_DEATHS and pool.starts_over:
                suspects.append(run)
            else:
                yield run, None


def _launch(
    pool: Pool,
    work: Callable[[Run], Any],
    flying: dict[Future[Any], Run],
    waiting: deque[Run],
    suspects: deque[Run],
    deaths: Counter[Run],
) -> None:
    """Launch as many runs as the pool takes; one whose process died before runs alone."""
    while waiting or suspects:
        alone = bool(suspects) or any(deaths[run] for run in flying.values())
        if len(flying) >= (1 if alone else pool.size):
            return
        source = suspects or waiting
        try:
            flying[pool.submit(work, source[0])] = source[0]
        except pool.deaths:  # found out only now; what flies will say so too
            if flying:
                return
            pool.renew()
            continue
        source.popleft()
