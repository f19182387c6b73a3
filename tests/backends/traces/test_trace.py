"""Traced numbers: the record computes what the code computes, zeros and ones leave no trace, and nothing branches."""

import gc
import math
import weakref
from operator import add, mul, sub, truediv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phistar as ps
from phistar.backends.traces.arrays import record
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import CONST, INPUT, MUL, NEG, Scalar, Tape, depth_first, finish, restrict
from tests.trees import KINDS

BINARY = {"+": add, "-": sub, "*": mul, "/": truediv}
CONSTANTS = [0.0, 1.0, -1.0, 2.0, -0.5, 1e-3]


def expressions():
    """Nested tuples: an input's number, a constant, or an operation on such."""
    leaves = st.integers(0, 2) | st.sampled_from(CONSTANTS)

    def deeper(inner):
        binary = st.tuples(st.sampled_from(sorted(BINARY)), inner, inner)
        return binary | st.tuples(st.sampled_from(["neg", "sin", "cos", "square"]), inner)

    return st.recursive(leaves, deeper, max_leaves=25)


def evaluated(expression, inputs):
    """The expression on floats or on traced numbers; a division by what is nearly zero is left out."""
    if isinstance(expression, int):
        return inputs[expression]
    if isinstance(expression, float):
        return expression
    name, *arguments = expression
    values = [evaluated(x, inputs) for x in arguments]
    if name == "/":
        return values[0] / (values[1] * values[1] + 1.0)
    if name in BINARY:
        return BINARY[name](*values)
    (x,) = values
    if name in ("neg", "square"):
        return -x if name == "neg" else x**2
    return getattr(x, name)() if isinstance(x, Scalar) else getattr(math, name)(x)


@given(expressions(), st.lists(st.floats(-3, 3), min_size=3, max_size=3))
def test_a_trace_computes_what_the_code_computes(expression, state):
    tape = Tape()
    trace = finish(tape, [evaluated(expression, list(tape.inputs((3,))))])
    expected = evaluated(expression, state)
    (value,) = replay(trace, state)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-12 * max(1.0, abs(expected)))


@pytest.fixture
def numbers():
    tape = Tape()
    return [tape, *tape.inputs((2,))]


def test_zero_and_one_vanish(numbers):
    tape, x, _ = numbers
    before = len(tape.code)
    assert x + 0.0 is x and 0.0 + x is x and x - 0.0 is x and x * 1.0 is x and 1.0 * x is x and x / 1.0 is x
    assert x * 0.0 == 0.0 and 0.0 * x == 0.0 and 0.0 / x == 0.0 and x - x == 0.0 and x**0 == 1.0
    assert len(tape.code) == before


def test_equal_instructions_are_recorded_once(numbers):
    tape, x, y = numbers
    first = (x + y) * x.sin()
    before = len(tape.code)
    assert (x.sin() * (y + x)).index == first.index
    assert len(tape.code) == before


def test_numbers_that_nobody_holds_are_gone_at_once(numbers):
    """A tape and its numbers are no ring, which only a search of the whole memory would find."""
    tape, x, y = numbers
    product = x * y
    gone = weakref.ref(tape)
    gc.disable()
    try:
        del tape, x, y, product
        numbers.clear()
        assert gone() is None
    finally:
        gc.enable()


def test_signs_move_outward_until_an_addition_takes_them(numbers):
    tape, x, y = numbers
    pairs = [(x + (-y), x - y), (-(x - y), y - x), ((-x) - y, -(x + y)), ((-x) * (-y), x * y)]
    assert all(moved.index == expected.index for moved, expected in pairs)
    assert [op for op, _, _ in finish(tape, [(-x) * y + y * 2.0]).code].count(NEG) == 0


def test_constant_factors_become_one(numbers):
    tape, x, _ = numbers
    code = finish(tape, [2.0 * (3.0 * x) / 4.0]).code
    assert [value for op, value, _ in code if op == CONST] == [1.5]
    assert [op for op, _, _ in code].count(MUL) == 1


def test_a_number_times_its_inverse_is_one(numbers):
    _, x, _ = numbers
    assert x * (1.0 / x) == 1.0 and (1.0 / x) * x == 1.0


def test_what_no_output_needs_is_dropped(numbers):
    tape, x, y = numbers
    (x * y).cos()
    trace = finish(tape, [x + y, 2.0, x])
    assert trace.operations == 1 and trace.counts() == {"add": 1}
    assert replay(trace, [3.0, 4.0]) == [7.0, 2.0, 3.0]
    assert replay(restrict(trace, [2, 1]), [3.0, 4.0]) == [3.0, 2.0]
    assert restrict(trace, [2, 1]).operations == 0


@pytest.mark.parametrize(
    "branch",
    [bool, float, int, lambda x: x > 0, lambda x: x < x, lambda x: x >= 1.0, lambda x: 1 if x else 2, math.sin],
    ids=["bool", "float", "int", ">", "<", ">=", "if", "math.sin"],
)
def test_traced_code_must_not_branch(numbers, branch):
    _, x, _ = numbers
    with pytest.raises(TypeError):
        branch(x)


@pytest.mark.parametrize("compare", [np.sign, np.maximum.reduce, np.sort, np.linalg.det, np.linalg.inv])
def test_numpy_cannot_branch_on_traced_arrays_either(compare):
    array = Tape().inputs((2, 2))
    with pytest.raises(TypeError):
        compare(array)


def test_whole_powers_are_products_and_others_are_refused(numbers):
    tape, x, _ = numbers
    assert replay(finish(tape, [x**3, x**2.0]), [2.0, 0.0]) == [8.0, 4.0]
    for power in (-1, 0.5, 9, x):
        with pytest.raises(TypeError):
            x**power


def test_sign_and_magnitude_need_no_branch(numbers):
    tape, x, _ = numbers
    trace = finish(tape, [x.sign(), abs(x)])
    for value in (-2.5, 0.0, 3.0):
        assert replay(trace, [value, 0.0]) == [np.sign(value), abs(value)]


@pytest.mark.parametrize("name", KINDS)
def test_every_joint_kind_is_traced_without_branching(name):
    kind = KINDS[name](np.random.default_rng(0))
    tape = Tape()
    q, v = tape.inputs((kind.nq,)), tape.inputs((kind.nv,))
    for block in (*kind.pose(q), kind.subspace(q), kind.subspace_rate(q, v)):
        assert block is None or all(isinstance(x, Scalar | float | int) for x in np.asarray(block).flat)


def test_a_trace_of_a_robot_names_its_inputs_in_order():
    from phistar.recording import record

    found = record(ps.forward_dynamics, ps.load("planar2"))
    assert found.arguments == (("q", 2), ("v", 2), ("tau", 2)) and found.results == (("out", (2,)),)


@pytest.mark.parametrize("last_first", [False, True])
def test_depth_first_order_keeps_every_value_and_follows_the_outputs(last_first):
    rng, tape = np.random.default_rng(4), Tape()
    x = tape.inputs((4, 4))
    block = np.matmul(np.matmul(x, x.T), x) + np.sin(x[0, 0])
    trace = finish(tape, [*block.reshape(-1), 2.0, x[1, 1]])
    ordered, numbers = depth_first(trace, last_first), list(rng.normal(size=16))
    assert sorted(op for op, _, _ in ordered.code) == sorted(op for op, _, _ in trace.code)
    assert replay(ordered, numbers) == replay(trace, numbers)
    arguments = [(i, x) for i, (op, *pair) in enumerate(ordered.code) if op < INPUT for x in pair if x is not None]
    assert all(argument < index for index, argument in arguments)
    first, last = ordered.outputs[0], ordered.outputs[15]
    assert last < first if last_first else first < trace.outputs[0]


@pytest.mark.parametrize("several", [False, True])
def test_a_function_of_vectors_is_recorded_with_what_it_gives_in_order(several):
    def function(x, y):
        return (x[0] * y, np.abs(x)) if several else x[0] * y

    trace = record(function, (2, 3))
    x, y = np.array([-2.0, 5.0]), np.array([1.0, 2.0, 3.0])
    expected = [-2.0, -4.0, -6.0, *([2.0, 5.0] if several else [])]
    assert list(replay(trace, [*x, *y])) == expected
