"""Operations of the public functions on ten robots: equal or fewer than what is kept in tests/data/operations.json.

A count that falls is written down anew with `python -m tests.backends.test_operation_counts`. Hosts round products of
rotations differently, so that a constant of ANYmal or Talos is 0 on one and 1e-17 on another, which costs a few
operations: kept is the larger count.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar import dynamics
from phistar.backends.kernel import trace_statements
from phistar.backends.links.concise import is_about_origins
from phistar.backends.links.link_frames import link_frames
from phistar.backends.rolled.code import operations_per_link, traced_stages
from phistar.backends.rolled.flat_steps import FlatTracer
from phistar.backends.rolled.link_memory import drop_unneeded
from phistar.backends.rolled.rolled_links import kinds_of
from phistar.backends.rolled_kernel import rolled_plan
from phistar.cli.benchmark import robots
from phistar.derivatives import RECORDED, regressor
from phistar.stated import Stated
from tests.trees import mechanism

REFERENCE = Path(__file__).parents[1] / "data" / "operations.json"
STATED = {name: x for name in dir(dynamics) if isinstance(x := getattr(dynamics, name), Stated)} | {
    "regressor": regressor
}
WRITTEN = {
    "chain of 6": lambda: ps.chain(6),
    "chain of 16": lambda: ps.chain(16),
    "puma560": lambda: ps.load("puma560"),
    "arm with rotors": lambda: mechanism(81, serial=True, rotors=True, armature=True, bodies=6, kind="revolute").model,
    "tree": lambda: mechanism(82, serial=False, floating=False, armature=True, rotors=False, bodies=9).model,
    "floating tree": lambda: mechanism(83, serial=False, floating=True, rotors=False, bodies=12, kind="revolute").model,
} | {name: lambda name=name: robots.build(name) for name in ("ur5", "panda", "anymal", "talos")}
ROLLED = {"chain of 41": lambda: ps.chain(41), "long tree": lambda: mechanism(84, floating=True, bodies=44).model}


def frames_of(name, model):
    tasks = (
        "jacobian",
        "frame_load",
        "velocity",
        "dot_v",
        "space",
        "mobility",
        "tip_acceleration",
        "frame_acceleration",
    )
    moving = [frame for frame in model.frames if model.frame(frame).body >= 0]
    return (moving[-1],) if any(x in name for x in tasks) else ()


def written_out(model):
    """Of each function, the instructions of a state; of derivatives with the loops that follow."""
    counts = {}
    for name, function in STATED.items():
        wanted, _ = function.statements_for(model, frames_of(name, model))
        counts[name] = min(trace_statements(form)[0].operations for form in wanted.forms())
    for name, function in RECORDED.items():
        trace, loops = function.trace(model)
        counts[name] = trace.operations + (loops.operations if loops else 0)
    return counts


def link_by_link(model):
    """Of each function, the instructions of a link."""
    counts = {}
    for name, function in STATED.items():
        wanted, _ = function.statements_for(model, frames_of(name, model))
        plan = rolled_plan(wanted)
        if plan is not None:
            fixed = is_about_origins(node for _, node in wanted.nodes)
            kinds, _ = kinds_of(model, link_frames(model, fixed or plan.keeps_origins))
            flat = {field for field, _ in plan.program.outputs if field not in plan.outputs}
            counts[name] = operations_per_link(
                drop_unneeded(traced_stages(plan, kinds, FlatTracer(plan)), set(plan.outputs), flat)
            )
    return counts


@cache
def counted(name):
    return written_out(WRITTEN[name]()) if name in WRITTEN else link_by_link(ROLLED[name]())


LARGE = ("anymal", "talos")


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.slow] if x in LARGE else []) for x in (*WRITTEN, *ROLLED)]
)
def test_no_function_takes_more_operations_than_it_did(name):
    if name in robots.FILES and not robots.available(name):
        pytest.skip("example-robot-data is not installed")
    reference = json.loads(REFERENCE.read_text())[name]
    found = counted(name)
    assert not np.setdiff1d(list(reference), list(found)).size
    more = {function: (found[function], before) for function, before in reference.items() if found[function] > before}
    assert not more


if __name__ == "__main__":
    made = {name: counted(name) for name in (*WRITTEN, *ROLLED)}
    REFERENCE.write_text(json.dumps(made, indent=1) + "\n")
