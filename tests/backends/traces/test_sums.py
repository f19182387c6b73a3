"""Sums as chains: the same numbers in fewer instructions."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.traces.order import chain_sums, fused_products
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import ADD, DIV, MUL, NEG, SUB, Tape, finish
from tests.trees import KINDS, mechanism


def traced(function, count):
    tape = Tape()
    return finish(tape, list(function(*tape.inputs((count,)))))


def instructions(trace):
    """Products, sums and signs, with products that vanish into sums left out."""
    fused = set(fused_products(trace).values())
    return sum(op in (ADD, SUB, MUL, NEG) and index not in fused for index, (op, _, _) in enumerate(trace.code))


def same_numbers(trace, other, count):
    x = np.random.default_rng(5).normal(size=count)
    ours, theirs = (np.array(replay(each, list(x)), dtype=float) for each in (other, trace))
    return np.allclose(ours, theirs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("function", "count", "before", "after"),
    [
        (lambda a, b, c, d: [(a * b + c * d) + (a * c + b * d)], 4, 5, 4),
        (lambda a, b, c, d: [(a * b - c * d) + (d - a * c)], 4, 4, 3),
        (lambda a, b, c, d: [(a * b - c) - (c * d + a)], 4, 4, 3),
        (lambda a, b, c, d: [(a * b - c * d) - (a * c + b * d), a + a], 4, 6, 5),
        (lambda a, b, c, d: [(a * b + c) - (c + d * d)], 4, 4, 2),
        (lambda a, b, c, d: [(a + b) - ((a + c) + b)], 4, 4, 1),
        (lambda a, b, c, d: [(a + b) - (a + b) * 1.0, (a + c) - ((a + c) - d)], 4, 3, 0),
        (lambda a, b, c, d: [(a * b + c * d) * (a * c + b * d), a * b + c * d], 4, 5, 5),
    ],
)
def test_a_sum_takes_an_instruction_a_term(function, count, before, after):
    """p products and t numbers: p + t − 1, or p where t is none; what cancels is left out, what others read is kept."""
    trace = traced(function, count)
    made = chain_sums(trace)
    assert instructions(made) == after <= instructions(trace)
    assert instructions(trace) <= before
    assert same_numbers(trace, made, count)


@pytest.mark.parametrize("kind", KINDS)
def test_forward_dynamics_in_chains_is_the_same(kind):
    model = mechanism(61, kind=kind, bodies=3, serial=False).model
    wanted, _ = ps.forward_dynamics.statements_for(model, ())
    trace, _, signature = wanted.cheapest()
    made = chain_sums(trace)
    assert made.operations <= trace.operations and instructions(made) <= instructions(trace)
    assert kind != "revolute" or instructions(made) < 0.95 * instructions(trace)
    assert same_numbers(trace, made, sum(signature.inputs))


def test_the_term_that_is_ready_last_is_added_last():
    code = chain_sums(traced(lambda a, b, c: [a / b + (b * c + a)], 3)).code
    op, left, right = code[-1]
    assert op == ADD and DIV in (code[left][0], code[right][0])
