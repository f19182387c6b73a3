"""Instructions as late as they keep nothing waiting: the same numbers, and fewer that wait."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.traces.order import ORDERED_AS_WRITTEN, arrange, late
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import ADD, INPUT, SIN, Tape, finish
from tests.trees import KINDS, mechanism


def waiting(trace):
    """How long values wait for their last use, added up; inputs wait nowhere."""
    code, last = trace.code, {}
    for index, (op, left, right) in enumerate(code):
        if op < INPUT:
            last |= {x: index for x in (left, right) if x is not None and code[x][0] < INPUT}
    return sum(end - start for start, end in last.items())


def numbers(trace, count):
    x = np.random.default_rng(2).normal(size=count)
    return np.array(replay(trace, list(x)), dtype=float)


@pytest.mark.parametrize("kind", KINDS)
def test_late_instructions_give_the_same_numbers(kind):
    model = mechanism(62, kind=kind, bodies=3, serial=False).model
    for function in (ps.forward_dynamics, ps.inverse_dynamics):
        wanted, _ = function.statements_for(model, ())
        trace, _, signature = wanted.cheapest()
        moved = late(trace)
        assert sorted(op for op, _, _ in moved.code) == sorted(op for op, _, _ in trace.code)
        assert np.array_equal(numbers(moved, sum(signature.inputs)), numbers(trace, sum(signature.inputs)))


def test_a_sum_waits_for_its_use_if_its_operands_do():
    """x + y is used last, where x and y are used too: it moves down; sines stay where they are."""
    tape = Tape()
    a, b = tape.inputs((2,))
    x, y = a.sin(), b.sin()
    early = x + y
    middle = (x * 2.0 - y) * (x * y)
    trace = finish(tape, [middle, ((early * x) * y) * x])
    moved = late(trace)
    before, after = ([op for op, _, _ in each.code].index(ADD) for each in (trace, moved))
    sines = [[index for index, (op, _, _) in enumerate(each.code) if op == SIN] for each in (trace, moved)]
    assert after > before and np.diff(sines[0]) == np.diff(sines[1])
    assert np.array_equal(numbers(moved, 2), numbers(trace, 2)) and waiting(moved) < waiting(trace)


def test_many_instructions_are_arranged_and_few_stay():
    """The numbers are those of the trace but for the order of sums."""
    for bodies, changes in ((2, False), (12, True)):
        model = ps.chain(bodies)
        wanted, _ = ps.forward_dynamics.statements_for(model, ())
        trace, _, signature = wanted.cheapest()
        made, count = arrange(trace), sum(signature.inputs)
        assert (made is not trace) == (len(trace.code) > ORDERED_AS_WRITTEN) == changes
        assert np.allclose(numbers(made, count), numbers(trace, count), rtol=1e-9, atol=1e-9)
