"""Plan of a benchmark run: which functions of which robots, for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from phistar.cli.benchmark import robots
from phistar.cli.benchmark.benchmark_tasks import (
    DERIVATIVES,
    FORWARD,
    FUNCTIONS,
    INVERSE,
    MASS,
    MASS_INVERSE,
    ROLLOUT,
    TASK_SPACE,
)

ARMS = (FORWARD, INVERSE, MASS, MASS_INVERSE, DERIVATIVES)
COMPILING, ONE_STATE, TWO_THREADS = "compiling", "one state at a time", "two threads"
SHORT_FLOATS = "float32 against float64"
EACH_OTHER, EVERY_FUNCTION = "chains against each other", "every public function"
CALLED = ("ur5", "panda", "anymal", "talos", "chain100", "panda_gripper")


@dataclass(frozen=True)
class Plan:
    """Functions to measure by robot; robots called one state at a time, and with every public function; those with
    float32; those on two threads; chains by length."""

    functions: Mapping[str, tuple[str, ...]]
    single: tuple[str, ...]
    calls: tuple[str, ...]
    short: tuple[str, ...]
    threads: tuple[str, ...]
    chains: tuple[str, ...]
    seconds: float  # per comparison
    patience: float  # seconds until all functions of a robot must have been compiled

    @property
    def steps(self) -> tuple[str, ...]:
        """Progress labels of a run, in order; steps that do not apply to a robot are skipped."""
        robots = (step(name, part) for name, parts in self.functions.items() for part in (COMPILING, *parts))
        single = (step(name, ONE_STATE) for name in self.single)
        threads = (step(name, TWO_THREADS) for name in self.threads)
        calls = (step(name, EVERY_FUNCTION) for name in self.calls)
        short = (step(name, SHORT_FLOATS) for name in self.short)
        return (*calls, *robots, *single, *short, EACH_OTHER, *threads)


def step(robot: str, part: str) -> str:
    return f"{robot}: {part}"


FULL = Plan(
    {
        **dict.fromkeys(("pendulum", "planar2"), (FORWARD, INVERSE, MASS, MASS_INVERSE)),
        **dict.fromkeys(("ur5", "panda"), FUNCTIONS),
        "baxter": (*ARMS, TASK_SPACE),
        "anymal": (*ARMS, ROLLOUT),
        "talos": (*ARMS, TASK_SPACE),
        **dict.fromkeys((f"chain{n}" for n in robots.CHAINS), (FORWARD, INVERSE)),
        **dict.fromkeys(("chain50", "chain100"), ARMS),
    },
    single=("ur5", "panda", "talos"),
    calls=CALLED,
    short=("ur5", "panda", "anymal", "talos", "chain100"),
    threads=("ur5", "panda"),
    chains=("chain100", "chain1000", "chain10000"),
    seconds=0.8,
    patience=90.0,
)
QUICK = Plan(
    {
        "ur5": (*ARMS, ROLLOUT),
        "panda": ARMS,
        "talos": (FORWARD, INVERSE, DERIVATIVES),
        **dict.fromkeys(("chain10", "chain100"), (FORWARD, INVERSE)),
    },
    single=("ur5",),
    calls=("ur5",),
    short=("ur5", "panda"),
    threads=("ur5",),
    chains=("chain100", "chain10000"),
    seconds=0.2,
    patience=20.0,
)


def plan_for(names: tuple[str, ...], quick: bool, seconds: float | None) -> Plan:
    """A quick or full run, without robots whose files are not installed; or the robots named, with all functions."""
    plan = QUICK if quick else FULL
    seconds = plan.seconds if seconds is None else seconds
    if names:
        long = {f"chain{n}" for n in robots.CHAINS}  # a file may be called chain.urdf
        functions = {name: FULL.functions[name] if name in long else FUNCTIONS for name in names}
        chains = tuple(name for name in names if name in FULL.chains)  # too long for matrices, and for the peers
        others = tuple(name for name in names if name not in chains)
        return Plan(functions, others, others, others, others, chains, seconds, FULL.patience)
    here = {name: functions for name, functions in plan.functions.items() if robots.available(name)}
    single, threads = (tuple(name for name in part if name in here) for part in (plan.single, plan.threads))
    calls, short = (tuple(name for name in part if robots.available(name)) for part in (plan.calls, plan.short))
    return Plan(here, single, calls, short, threads, plan.chains, seconds, plan.patience)
