"""Instructions in another order: the same results, and fewer values that wait."""

import numpy as np
import pytest

from phistar.backends.traces.order import few_alive, fused_products
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import INPUT, Tape, finish


def shuffled(seed, pairs=24):
    """Sums of products, all products first: each waits for its sum."""
    rng, tape = np.random.default_rng(seed), Tape()
    x = tape.inputs((8,))
    products = [x[i] * x[j] for i, j in rng.integers(0, 8, size=(pairs, 2))]
    quotients = [product / (x[0] + 3.0) for product in products]
    sums = [a + b * x[1] for a, b in zip(quotients[::2], quotients[1::2], strict=True)]
    return finish(tape, [a - b for a, b in zip(sums[::2], sums[1::2], strict=True)])


def most_alive(trace):
    """The most values that are computed and still to be used."""
    last = {}
    for index, (op, left, right) in enumerate(trace.code):
        if op < INPUT:
            last |= {x: index for x in (left, right) if x is not None}
    alive, most = set(), 0
    for index, (op, _, _) in enumerate(trace.code):
        alive = {x for x in alive if last[x] > index} | ({index} if op < INPUT and index in last else set())
        most = max(most, len(alive))
    return most


@pytest.mark.parametrize("fma", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_another_order_computes_the_same(seed, fma):
    trace = shuffled(seed)
    inputs = list(np.random.default_rng(seed).normal(size=8))
    assert replay(few_alive(trace, fma), inputs) == replay(trace, inputs)


def test_operands_come_before_what_needs_them():
    ordered = few_alive(shuffled(0), True)
    for index, (op, left, right) in enumerate(ordered.code):
        assert op >= INPUT or all(x is None or x < index for x in (left, right))


def test_fewer_values_wait():
    trace = shuffled(1)
    assert most_alive(few_alive(trace, False)) < 0.75 * most_alive(trace)


def test_products_still_vanish_into_sums():
    trace = shuffled(2)
    assert len(fused_products(few_alive(trace, True))) == len(fused_products(trace))
