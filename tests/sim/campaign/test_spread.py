"""Runs spread over processes that may die."""

import os
import threading
from collections import Counter
from concurrent.futures import BrokenExecutor, Future

import pytest

from phistar.errors import PhistarError
from phistar.sim.campaign.campaign import MOST_DEATHS, spread
from phistar.sim.campaign.pools import Processes


class Pretended:
    """A pool of threads; a run in `deadly` breaks it, and every run that flies with it is lost."""

    deaths, starts_over = (BrokenExecutor,), True

    def __init__(self, size, deadly):
        self.size, self.deadly, self.tries = size, deadly, Counter()
        self.renew()

    def submit(self, work, run):
        if self.broken:
            raise BrokenExecutor
        self.tries[run] += 1
        future = Future()
        self.flying.append(future)
        threading.Timer(0.01, self.end, (self.flying, future, work, run)).start()
        return future

    def end(self, flying, future, work, run):
        with self.turn:
            if future.done():
                return
            if run not in self.deadly:
                flying.remove(future)
                future.set_result(work(run))
                return
            self.broken = True
            for each in flying:
                each.set_exception(BrokenExecutor())

    def renew(self):
        self.broken, self.flying, self.turn = False, [], threading.Lock()

    def close(self):
        pass


def test_every_run_ends_once_whatever_the_size():
    for size in (1, 3, 9):
        ended = list(spread(Pretended(size, ()), lambda run: run * run, range(9)))
        assert sorted(ended) == [(run, run * run) for run in range(9)]


def test_a_deadly_run_is_found_and_the_others_are_not_taken_for_it():
    pool = Pretended(3, {1, 7})
    ended = dict(spread(pool, lambda run: run * run, range(9)))
    assert ended == {run: None if run in (1, 7) else run * run for run in range(9)}
    assert pool.tries[1] == pool.tries[7] == MOST_DEATHS
    assert all(pool.tries[run] <= 2 for run in range(9) if run not in (1, 7))


def test_a_process_that_dies_takes_no_run_with_it_but_its_own():
    """Real processes, one of which a run ends each time."""

    def work(run):
        if run == 2:
            os._exit(3)
        return run * run

    pool = Processes(2)
    try:
        ended = dict(spread(pool, work, range(6)))
    finally:
        pool.close()
    assert ended == {run: None if run == 2 else run * run for run in range(6)}


def test_a_run_that_survives_the_second_time_is_kept(tmp_path):
    marker = str(tmp_path / "once")

    def work(run):
        if run == 1 and not os.path.exists(marker):
            open(marker, "w").close()
            os.kill(os.getpid(), 9)
        return run

    pool = Processes(1)
    try:
        assert dict(spread(pool, work, range(3))) == {0: 0, 1: 1, 2: 2}
    finally:
        pool.close()


def test_no_workers_are_refused():
    with pytest.raises(PhistarError, match="a worker at least"):
        Processes(0)
