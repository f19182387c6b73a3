"""First calls, each from nothing and from the kernels on disk: measured in fresh processes, after all imports.

Run as a program (`python -m phistar.cli.benchmark.start ROBOT FOLDER FUNCTION …`) it prints each function and the
seconds of its first call. It is run twice with one folder: the first process compiles, the second finds what the first
has kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import phistar as ps
from phistar.backends.links.common_frame import single_axes
from phistar.backends.machine import cache
from phistar.backends.pairwise.pair_kernel import pair_operations
from phistar.cli.benchmark.benchmark_tasks import ROLLOUT, ours, random_states
from phistar.cli.benchmark.robots import build
from phistar.model import Model


@dataclass(frozen=True)
class Start:
    """Seconds of the first call when compiling and when not, bytes of machine code, operations per state."""

    first: float | None = None
    cached: float | None = None
    code_bytes: int | None = None
    operations: int | None = None
    problem: str = ""


def starts(robot: str, model: Model, functions: tuple[str, ...], folder: Path, patience: float) -> dict[str, Start]:
    """Start times by function; the kernels stay in `folder`, so that the caller need not compile them again."""
    first, problem = _process(robot, functions, folder, patience)
    compiled = tuple(name for name in functions if name in first)
    cached, _ = _process(robot, compiled, folder, patience)
    found = {
        name: Start(first[name], cached.get(name), *_kernel_sizes(kernels(folder, robot, name), model))
        for name in compiled
    }
    return dict.fromkeys(functions, Start(problem=problem)) | found


def kernels(folder: Path, robot: str, function: str) -> Path:
    """Folder of the kernels of one function of one robot."""
    return folder / Path(robot).stem / function


def _process(robot: str, functions: tuple[str, ...], folder: Path, patience: float) -> tuple[dict[str, float], str]:
    """Seconds of the first calls that ended, and why the others did not."""
    command = [sys.executable, "-m", "phistar.cli.benchmark.start", robot, str(folder), *functions]
    try:
        done = subprocess.run(command, capture_output=True, timeout=patience)
        printed, said = done.stdout, done.stderr.decode().strip().splitlines()
        ended = said[-1] if said else f"ended with code {done.returncode}"
    except subprocess.TimeoutExpired as expired:
        printed, ended = expired.stdout or b"", f"not compiled within {patience:.0f} s"
    lines = (line.split() for line in printed.decode().splitlines())
    return {name: float(seconds) for name, seconds in lines}, ended


def _kernel_sizes(folder: Path, model: Model) -> tuple[int | None, int | None]:
    """Bytes and operations of the kernels in a folder; a rolled kernel's header has those of one link."""
    with environment(PHISTAR_CACHE=str(folder)):
        found = [cache.load(path.stem) for path in sorted(folder.glob("*.kernel"))]
    entries = [entry for entry in found if entry is not None]
    if not entries:
        return None, None
    operations = sum(_operations(header, model) for header, _ in entries)
    return sum(len(code) for _, code in entries), operations


def _operations(header: Mapping[str, Any], model: Model) -> int:
    """Operations per state of one kernel; those that only move numbers between tables count none."""
    if "pairs" in header:
        return pair_operations(header["pairs"], single_axes(model))
    if "by_column" not in header:
        return header.get("operations", 0)
    once, again = (next(reversed(header[name]), 0) for name in ("operations", "by_column"))  # of the last kind of link
    return len(model.bodies) * (once + model.nv * again)


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Variables of this process for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def main() -> None:
    import llvmlite.binding  # noqa: F401 - imports are not counted

    robot, folder, *functions = sys.argv[1:]
    model = build(robot)
    for function in functions:
        getattr(ps, function)
        call = ours(function, model, random_states(model, 1, np.random.default_rng(0), rollout=function == ROLLOUT))
        os.environ["PHISTAR_CACHE"] = str(kernels(Path(folder), robot, function))
        begin = time.perf_counter()
        call()
        print(function, time.perf_counter() - begin, flush=True)


if __name__ == "__main__":
    main()
