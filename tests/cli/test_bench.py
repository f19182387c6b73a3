"""`phistar bench` says how far it is."""

import pytest

from phistar.cli.benchmark.benchmark_plan import (
    COMPILING,
    EACH_OTHER,
    FULL,
    FUNCTIONS,
    ONE_STATE,
    SHORT_FLOATS,
    Plan,
    plan_for,
    step,
)
from phistar.cli.benchmark.benchmark_tasks import FORWARD, INVERSE, TASK_SPACE
from phistar.cli.benchmark.measure import measure
from phistar.cli.benchmark.robots import build
from phistar.cli.benchmark.start import starts


@pytest.mark.slow
def test_a_run_tells_the_steps_of_its_plan_in_order():
    """A pendulum has no task space to speak of: that step is passed over."""
    plan = Plan(
        {"pendulum": (FORWARD, TASK_SPACE, INVERSE)},
        ("pendulum",),
        (),
        ("pendulum",),
        (),
        (),
        seconds=0.0,
        patience=60.0,
    )
    told: list[str] = []
    facts = measure(plan, told.append)
    assert told == [step("pendulum", part) for part in (COMPILING, FORWARD, INVERSE, ONE_STATE, SHORT_FLOATS)] + [
        EACH_OTHER
    ]
    assert all(row["ratio"] > 0 and row["lost"] <= row["error"] < 1e-3 for row in facts["float32"])
    assert [name for name in plan.steps if name in told] == told


def test_only_the_chains_of_the_list_are_planned_as_chains():
    planned = plan_for(("chain100", "chain.urdf", "chain0"), True, 0.1)
    assert planned.functions["chain100"] == FULL.functions["chain100"]
    assert planned.functions["chain.urdf"] == planned.functions["chain0"] == FUNCTIONS  # to be loaded, or refused


@pytest.mark.slow
def test_first_calls_of_a_robot_that_runs_link_by_link_are_counted(tmp_path):
    """Its kernels are of several kinds, and some of them only move numbers."""
    begun = starts("chain50", build("chain50"), (FORWARD,), tmp_path, patience=60.0)[FORWARD]
    assert not begun.problem
    assert begun.operations is not None and 50 * 400 < begun.operations < 50 * 600
    assert begun.code_bytes is not None and begun.code_bytes > 0
