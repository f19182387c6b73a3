"""One run: every robot and function, ours and the peers in turn; the result is plain data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import phistar as ps
from phistar.cli.benchmark import peer_mujoco, peer_pinocchio, robots
from phistar.cli.benchmark.benchmark_plan import (
    COMPILING,
    EACH_OTHER,
    EVERY_FUNCTION,
    ONE_STATE,
    SHORT_FLOATS,
    TWO_THREADS,
    Plan,
    step,
)
from phistar.cli.benchmark.benchmark_tasks import (
    FORWARD,
    ROLLOUT,
    SMALLEST_BATCH,
    TASK_SPACE,
    States,
    applies,
    evaluations,
    frame_of,
    ours,
    present,
    random_states,
    states_for,
    values,
)
from phistar.cli.benchmark.machine import machine
from phistar.cli.benchmark.peak import peak
from phistar.cli.benchmark.profile import profiles
from phistar.cli.benchmark.short_floats import short_floats
from phistar.cli.benchmark.single_calls import single_calls
from phistar.cli.benchmark.start import Start, environment, kernels, starts
from phistar.cli.benchmark.timing import Contestant, Timing, calls_for, calls_in_turn, contest, rows_of
from phistar.errors import PhistarError
from phistar.model import Model

Facts = dict[str, Any]

COMPARED_STATES = 8
SHORT_BATCH = 64
CHAIN_LINKS = 80_000  # states times links in one call, for a chain of any length
THREADED_BATCH = 100_000
BATCH_CALL, ESTIMATED = "batch call", "Python call less binding"
ONE_THREAD = {"PHISTAR_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True, eq=False)
class Entrant:
    """A robot in phistar and in the peers that take it; `problems` says why the others do not."""

    name: str
    model: Model
    pinocchio: peer_pinocchio.Pinocchio | None
    mujoco: peer_mujoco.Mujoco | None
    problems: tuple[str, ...]


def entrant(name: str) -> Entrant:
    model = robots.build(name)
    problems: list[str] = []
    pinocchio = _peer_or_problem(
        peer_pinocchio.is_installed(), lambda: peer_pinocchio.pinocchio_of(model, frame_of(model)), problems
    )
    mujoco = _peer_or_problem(peer_mujoco.is_installed(), lambda: peer_mujoco.mujoco_of(model), problems)
    return Entrant(name, model, pinocchio, mujoco, tuple(problems))


def _peer_or_problem(installed: bool, make: Callable[[], Any], problems: list[str]) -> Any:
    try:
        return make() if installed else None
    except PhistarError as error:
        problems.append(str(error))
        return None


def measure(plan: Plan, tell: Callable[[str], None]) -> Facts:
    """Everything a report shows; `tell` is told which of the plan's steps begins."""
    facts: Facts = {"machine": machine(), "seconds_per_comparison": plan.seconds, "problems": []}
    facts["calls"] = public_calls(plan.calls, plan.seconds / 4, tell)  # with the kernels that the user has already
    rows: list[Facts] = []
    with TemporaryDirectory(prefix="phistar-bench-") as folder, environment(**ONE_THREAD, PHISTAR_CACHE=folder):
        peaks = [peak(plan.seconds)]
        entrants = {}
        for name in plan.functions:
            tell(step(name, COMPILING))
            robot = entrants[name] = entrant(name)
            facts["problems"] += [f"{name}: {problem}" for problem in robot.problems]
            rows += _robot(robot, plan, Path(folder), facts["problems"], tell)
        facts["single"] = []
        for name in plan.single:
            tell(step(name, ONE_STATE))
            facts["single"].append(single(entrants[name], plan.seconds))
        facts["float32"] = []
        for name in plan.short:
            tell(step(name, SHORT_FLOATS))
            model = entrants[name].model if name in entrants else robots.build(name)
            facts["float32"] += short_floats(name, model, plan.seconds)
        tell(EACH_OTHER)
        facts["chains"] = chains([entrants.get(name) or entrant(name) for name in plan.chains], plan.seconds)
        facts["threads"] = [threads(entrants[name], plan.seconds, tell) for name in plan.threads]
        facts["peak_gflops"] = max([*peaks, peak(plan.seconds)])
    for row in rows:
        row["peak_fraction"] = _ratio(row["operations"], row["ours_ns"] * facts["peak_gflops"])
    models = {name: robot.model for name, robot in entrants.items()}
    return facts | {"results": rows, "profiles": profiles(rows, models, facts["peak_gflops"])}


def _robot(robot: Entrant, plan: Plan, folder: Path, problems: list[str], tell: Callable[[str], None]) -> list[Facts]:
    wanted = plan.functions[robot.name]
    functions = tuple(name for name in wanted if present(name) and applies(name, robot.model))
    begun = starts(robot.name, robot.model, functions, folder, plan.patience)
    problems += [f"{robot.name}, {name}: {begun[name].problem}" for name in functions if begun[name].problem]
    rows = []
    for function in (name for name in functions if not begun[name].problem):
        tell(step(robot.name, function))
        with environment(PHISTAR_CACHE=str(kernels(folder, robot.name, function))):
            rows.append(compare(robot, function, begun[function], plan.seconds))
    return rows


def compare(robot: Entrant, function: str, begun: Start, seconds: float) -> Facts:
    """One function of one robot on a batch, and whoever else has it."""
    states = states_for(function, robot.model, np.random.default_rng(0))
    entered = {"ours": Contestant(ours(function, robot.model, states), evaluations(function, states))}
    entered |= _pinocchio(robot.pinocchio, function, states) | _mujoco(robot.mujoco, function, states)
    timed = contest(entered, seconds)
    return {
        "function": function,
        "robot": robot.name,
        "dof": robot.model.nv,
        "links": len(robot.model.bodies),
        "batch": states.count,
        **_times(timed),
        "difference": difference(robot, function, states[:COMPARED_STATES]),
        "operations": begun.operations,
        "first_call_s": begun.first,
        "cached_call_s": begun.cached,
        "code_bytes": begun.code_bytes,
    }


def _pinocchio(peer: peer_pinocchio.Pinocchio | None, function: str, states: States) -> dict[str, Contestant]:
    if peer is None:
        return {}
    single = peer.single(function, states)
    binding = _binding(function) if single is not None and peer.model.nv > 1 else None
    return _present({"pin_batch": peer.batch(function, states), "pin_python": single, "binding": binding})


def _binding(function: str) -> Contestant | None:
    """The same Python call on a one-joint robot; a composition in NumPy has no such twin."""
    if function == TASK_SPACE:
        return None
    pendulum = robots.build("pendulum")
    states = random_states(pendulum, SHORT_BATCH, np.random.default_rng(0))
    return peer_pinocchio.pinocchio_of(pendulum).single(function, states)


def _mujoco(peer: peer_mujoco.Mujoco | None, function: str, states: States) -> dict[str, Contestant]:
    if peer is None:
        return {}
    if function != ROLLOUT:
        return _present({"mujoco": peer.single(function, states)})
    some = states[: SHORT_BATCH // 4]
    return {"mujoco": Contestant(peer.rollout(some), evaluations(function, some))}


def _present(contestants: Mapping[str, Contestant | None]) -> dict[str, Contestant]:
    return {name: each for name, each in contestants.items() if each is not None}


def _times(timed: Mapping[str, Timing]) -> Facts:
    """Nanoseconds per state of the best runs, and ratios to ours."""
    best = {name: timing.best for name, timing in timed.items()}
    crossing = best.get("binding")
    estimate = None if crossing is None else max(best["pin_python"] - crossing, 0.0) or None
    cpp = best.get("pin_batch", estimate)
    found = {"pin_cpp": cpp, "pin_python": best.get("pin_python"), "mujoco": best.get("mujoco")}
    return {
        "ours_ns": best["ours"],
        **{f"{name}_ns": time for name, time in found.items()},
        **{f"{name}_ratio": _ratio(time, best["ours"]) for name, time in found.items()},
        "pin_cpp_is": BATCH_CALL if "pin_batch" in best else ESTIMATED if cpp else None,
        "pin_estimate_ns": estimate,
        "medians_ns": {name: timing.median for name, timing in timed.items()},
    }


def difference(robot: Entrant, function: str, states: Any) -> float | None:
    """The largest difference between ours and a peer's results, relative to the largest entry."""
    peer = robot.mujoco if function == ROLLOUT else robot.pinocchio
    theirs = None if peer is None else peer.value(function, states)
    if theirs is None:
        return None
    found = values(function, ours(function, robot.model, states)())
    relative = float(np.abs(found - theirs).max() / np.abs(theirs).max())
    return relative if np.isfinite(relative) else None


def single(robot: Entrant, seconds: float) -> Facts:
    """Forward dynamics one state at a time: what `ps.compile` gives, the gufunc in it, the public function, peers."""
    model, pin, mujoco = robot.model, robot.pinocchio, robot.mujoco
    states = random_states(model, SHORT_BATCH, np.random.default_rng(1))
    rows = rows_of((states.q, states.v, states.tau), calls_for(model.nv))
    handle = ps.compile(ps.forward_dynamics.statement, model)
    calls = {"handle": handle, "gufunc": handle.kernel.function, "public": partial(ps.forward_dynamics, model)}
    run = {name: calls_in_turn(call, rows) for name, call in calls.items()}
    run |= _present({"pin_python": pin.single(FORWARD, states) if pin else None})
    run |= _present({"mujoco": mujoco.single(FORWARD, states) if mujoco else None})
    best = {f"{name}_ns": timing.best for name, timing in contest(run, seconds).items()}
    pin = best.get("pin_python_ns")
    ratios = {f"{name}_ratio": _ratio(pin, best[f"{name}_ns"]) for name in calls}
    return {"robot": robot.name, "dof": model.nv, **best, **ratios}


def public_calls(names: tuple[str, ...], seconds: float, tell: Callable[[str], None]) -> list[Facts]:
    """Every public function one state at a time, robot by robot."""
    found = []
    with environment(**ONE_THREAD):
        for name in names:
            tell(step(name, EVERY_FUNCTION))
            robot = entrant(name)
            states = random_states(robot.model, SHORT_BATCH, np.random.default_rng(1))
            calls = single_calls(robot.model, robot.pinocchio, states, seconds)
            found.append({"robot": name, "dof": robot.model.nv, "calls": calls})
    return found


def chains(robots: list[Entrant], seconds: float) -> list[Facts]:
    """Forward dynamics of chains in one contest: nanoseconds per state and link."""
    run = {}
    for robot in robots:
        links = len(robot.model.bodies)
        states = random_states(robot.model, max(CHAIN_LINKS // links, SMALLEST_BATCH), np.random.default_rng(2))
        run[robot.name] = Contestant(ours(FORWARD, robot.model, states), states.count * links)
    timed = contest(run, 2 * seconds) if run else {}
    return [
        {"robot": robot.name, "links": len(robot.model.bodies), "per_link_ns": timed[robot.name].best}
        for robot in robots
    ]


def threads(robot: Entrant, seconds: float, tell: Callable[[str], None]) -> Facts:
    """Forward dynamics of a large batch on one thread and on two."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    facts: Facts = {"robot": robot.name, "batch": THREADED_BATCH, "cores": cores, "ratio": None}
    if cores < 2:
        return facts
    tell(step(robot.name, TWO_THREADS))
    call = ours(FORWARD, robot.model, random_states(robot.model, THREADED_BATCH, np.random.default_rng(3)))

    def on(count: str) -> None:
        os.environ["PHISTAR_THREADS"] = count
        call()

    run = {name: Contestant(partial(on, name), THREADED_BATCH) for name in ("1", "2")}
    timed = contest(run, 2 * seconds)
    os.environ["PHISTAR_THREADS"] = ONE_THREAD["PHISTAR_THREADS"]
    one, two = timed["1"].best, timed["2"].best
    return facts | {"one_ns": one, "two_ns": two, "ratio": one / two}


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above and below else None
