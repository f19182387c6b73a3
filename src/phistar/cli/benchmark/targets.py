"""Performance targets, and whether a run met them: ratios of one run, one thread against one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from phistar.cli.benchmark.benchmark_tasks import DERIVATIVES, FORWARD, INVERSE, MASS, MASS_INVERSE, ROLLOUT

Facts = dict[str, Any]
REACHED, MISSED, UNKNOWN = "reached", "missed", "not measured"
BATCH, ESTIMATE = "against Pinocchio's C++ batch call", "against Pinocchio, Python call less binding"


@dataclass(frozen=True)
class Target:
    """A goal: what is measured, the bound and its unit; `at_most` where less is better."""

    what: str
    goal: float
    found: Callable[[Facts], float | None]
    unit: str = "×"
    at_most: bool = False

    def judge(self, facts: Facts) -> Facts:
        reached = self.found(facts)
        met = None if reached is None else reached <= self.goal if self.at_most else reached >= self.goal
        return {
            "what": self.what,
            "goal": self.goal,
            "at_most": self.at_most,
            "unit": self.unit,
            "reached": reached,
            "verdict": UNKNOWN if met is None else REACHED if met else MISSED,
        }


def verdicts(facts: Facts) -> list[Facts]:
    """Every target with what this run reached."""
    return [target.judge(facts) for target in targets()]


def targets() -> Iterator[Target]:
    arms = {"ur5": "UR5", "panda": "Panda"}
    for robot, name in arms.items():
        yield Target(f"forward dynamics, {name}, {BATCH}", 40, result(FORWARD, robot, "pin_cpp_ratio"))
    for robot, name in arms.items():
        yield Target(f"inverse dynamics, {name}, {BATCH}", 45, result(INVERSE, robot, "pin_cpp_ratio"))
    for function, title in ((MASS, "mass matrix"), (MASS_INVERSE, "its inverse")):
        for robot, name in arms.items():
            yield Target(f"{title}, {name}, {ESTIMATE}", 20, result(function, robot, "pin_cpp_ratio"))
    for robot, name, goal in (("ur5", "UR5", 40), ("panda", "Panda", 40), ("talos", "Talos", 15)):
        what = f"forward dynamics derivatives, {name}, {ESTIMATE}"
        yield Target(what, goal, result(DERIVATIVES, robot, "pin_cpp_ratio"))
    yield Target(f"forward dynamics, Talos, floating, {BATCH}", 25, result(FORWARD, "talos", "pin_cpp_ratio"))
    yield Target(f"forward dynamics, chain of 100, {BATCH}", 18, result(FORWARD, "chain100", "pin_cpp_ratio"))
    single = "one forward dynamics call, UR5, {}, against Pinocchio's Python call"
    yield Target(single.format("compiled function"), 2, of_robot("single", "ur5", "handle_ratio"))
    yield Target(single.format("public function"), 1.4, of_robot("single", "ur5", "public_ratio"))
    for robot, name in {"panda": "Panda", "talos": "Talos"}.items():
        what = f"any other function of one state, {name}, the slowest, against Pinocchio's Python call"
        yield Target(what, 1.2, slowest_call(robot))
    what = "forward dynamics, float32 against float64, the robot that gains least"
    yield Target(what, 1.7, short_floats_gain)
    yield Target("rollout step, UR5, against mujoco.rollout", 30, result(ROLLOUT, "ur5", "mujoco_ratio"))
    yield Target("two threads over one, UR5, 100,000 states", 1.7, of_robot("threads", "ur5", "ratio"))
    yield Target("cost per link, chain of 10,000 over chain of 100", 1.5, per_link, "", at_most=True)
    yield from starting()


def starting() -> Iterator[Target]:
    first, cached = "first_call_s", "cached_call_s"
    yield Target("first call, forward dynamics, Panda", 0.4, result(FORWARD, "panda", first), "s", at_most=True)
    yield Target("first call, forward dynamics, Talos", 2, result(FORWARD, "talos", first), "s", at_most=True)
    what = "first call, forward dynamics derivatives, Talos"
    yield Target(what, 4, result(DERIVATIVES, "talos", first), "s", at_most=True)
    what = "first call from the cache, forward dynamics, Panda"
    yield Target(what, 0.010, result(FORWARD, "panda", cached), "s", at_most=True)


def result(function: str, robot: str, column: str) -> Callable[[Facts], float | None]:
    def figure(facts: Facts) -> float | None:
        rows = (row for row in facts["results"] if (row["function"], row["robot"]) == (function, robot))
        return next((row[column] for row in rows), None)

    return figure


def of_robot(section: str, robot: str, column: str) -> Callable[[Facts], float | None]:
    return lambda facts: next((row.get(column) for row in facts[section] if row["robot"] == robot), None)


def slowest_call(robot: str) -> Callable[[Facts], float | None]:
    def figure(facts: Facts) -> float | None:
        rows = (row["calls"] for row in facts["calls"] if row["robot"] == robot)
        return min((call["ratio"] for calls in rows for call in calls if call["ratio"] is not None), default=None)

    return figure


def short_floats_gain(facts: Facts) -> float | None:
    rows = (row["ratio"] for row in facts["float32"] if row["function"] == FORWARD)
    return min((ratio for ratio in rows if ratio is not None), default=None)


def per_link(facts: Facts) -> float | None:
    cost = {row["links"]: row["per_link_ns"] for row in facts["chains"]}
    return cost[10_000] / cost[100] if {100, 10_000} <= cost.keys() else None
