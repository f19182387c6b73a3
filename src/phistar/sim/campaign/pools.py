"""Pools that do the runs: processes of this machine (loky, by joblib), or the workers of a dask scheduler."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from phistar.errors import PhistarError

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
PATIENCE = 20.0  # s, for a scheduler and its first worker


class Pool(Protocol):
    """`size` runs are in flight at once. A future that raises one of `deaths` lost its process; `starts_over` tells
    that every other future is lost with it and the pool must be renewed."""

    deaths: tuple[type[BaseException], ...]
    starts_over: bool

    @property
    def size(self) -> int: ...

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]: ...

    def renew(self) -> None: ...

    def close(self) -> None: ...


class Processes:
    """Processes of this machine. They end with the one that started them, even when that one is killed."""

    deaths: tuple[type[BaseException], ...] = (BrokenExecutor,)
    starts_over = True

    def __init__(self, workers: int | None) -> None:
        try:
            from joblib import cpu_count
            from joblib.externals.loky import ProcessPoolExecutor
        except ImportError:
            raise PhistarError("Campaigns need the package joblib: pip install 'phistar[campaign]'.") from None
        if workers is not None and workers < 1:
            raise PhistarError(f"A campaign needs a worker at least; {workers} were asked for.")
        self._workers, self._make = workers or cpu_count(), ProcessPoolExecutor
        self.renew()

    @property
    def size(self) -> int:
        return self._workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return self._executor.submit(function, *arguments)

    def renew(self) -> None:
        self._executor = self._make(self._workers, env=ONE_THREAD, initializer=_end_with, initargs=(os.getpid(),))

    def close(self) -> None:
        self._executor.shutdown(wait=True, kill_workers=True)


class Cluster:
    """The workers of a dask scheduler. It gives a run whose worker died to another one, three times at most unless it
    is set otherwise."""

    starts_over = False

    def __init__(self, scheduler: str) -> None:
        try:
            from distributed import Client
            from distributed.scheduler import KilledWorker
        except ImportError:
            raise PhistarError("Campaigns on many machines need dask: pip install 'phistar[cluster]'.") from None
        self.address = scheduler
        self.deaths: tuple[type[BaseException], ...] = (KilledWorker,)
        try:
            self._client: Any = Client(scheduler, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise PhistarError(
                f"No dask scheduler answers at {scheduler} ({error}); start one with `dask scheduler` and give its "
                "address, as in tcp://192.168.0.7:8786."
            ) from None
        try:
            self._check()
        except PhistarError:
            self.close()
            raise
        self._executor = self._client.get_executor(pure=False)

    def _check(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise PhistarError(
                f"The scheduler at {self.address} has no workers; start some with `dask worker {self.address}`, "
                "in environments with phistar."
            ) from None
        own = own_version()
        try:
            found = self._client.run(own_version)
        except Exception as error:  # dask passes on whatever the worker raised, in its own wrapping
            raise PhistarError(
                f"Workers of {self.address} cannot load phistar ({error}); install phistar[campaign] there too."
            ) from None
        for worker, theirs in found.items():
            if theirs != own:
                raise PhistarError(f"The worker {worker} has phistar {theirs}, here it is {own}; results would differ.")

    @property
    def size(self) -> int:
        """Twice the threads, so that none waits for its next run."""
        return 2 * max(1, sum(self._client.nthreads().values()))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return self._executor.submit(function, *arguments)

    def renew(self) -> None:
        raise AssertionError("dask renews its workers itself")

    def close(self) -> None:
        self._client.close()


def own_version() -> str:
    """The version of phistar in this process; a source tree that was never installed has none."""
    try:
        return version("phistar")
    except PackageNotFoundError:
        return "not installed"


def _end_with(parent: int) -> None:
    """End this worker soon after the process that started it is gone."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
