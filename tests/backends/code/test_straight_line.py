"""Traces as machine code: every instruction, long traces cut in parts, exact constants, NaN where it belongs."""

import re

import numpy as np
import pytest

from phistar.backends.choice import PART
from phistar.backends.code.packed import module_text
from phistar.backends.machine.jit import Signature, compile_object, gufunc, host, load_object
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import Tape, finish

LANES = [1, 2, 4, 8]


def compiled(record, inputs, outputs, lanes=None):
    """`record(*inputs)` as a gufunc of one array and its trace; the results are one array."""
    tape = Tape()
    trace = finish(tape, list(record(*tape.inputs((inputs,)))))
    signature, target = Signature((inputs,), ((outputs,),)), host()
    text = module_text(trace, signature, lanes or target.lanes, target.fma)
    return gufunc(load_object(compile_object(text, target)), signature, "test", ""), trace, text


def agrees(function, trace, states, rtol=1e-14):
    expected = np.broadcast_arrays(*replay(trace, list(states.T)), states[:, 0])[:-1]
    np.testing.assert_allclose(function(states), np.stack(expected, axis=-1), rtol=rtol)


@pytest.mark.parametrize("lanes", LANES)
def test_every_instruction(lanes):
    def record(x, y):
        return x + y, x - y, x * y, x / y, -x, x.sin(), y.cos(), (x * x).sqrt(), x.sign(), abs(y), 2.5, x

    function, trace, _ = compiled(record, 2, 12, lanes)
    assert len(set(trace.counts())) == 9
    agrees(function, trace, np.random.default_rng(0).normal(size=(23, 2)))


def nested(x, y):
    """A long chain of values, many of which are needed again at the end."""
    values = [x, y]
    for k in range(2 * PART):
        values.append(values[-1] * 0.5 + values[-2] * (values[-1 - k // 2] * 0.25 + 1.0 / (k + 3)))
    return [values[-1], values[7], sum(values[k] for k in range(0, len(values), 50)), x]


@pytest.mark.parametrize("lanes", LANES)
def test_long_traces_are_cut_into_parts_that_hand_on_their_values(lanes):
    function, trace, text = compiled(nested, 2, 4, lanes)
    assert text.count("define internal void @part") > 3
    agrees(function, trace, np.random.default_rng(0).normal(size=(19, 2)), rtol=1e-12)


def test_constants_are_exact():
    values = [0.1, -1 / 3, 5e-324, 2.0**1023, 1e-310, np.pi, -0.7]
    function, _, _ = compiled(lambda x: [value * x for value in values] + values, 1, 2 * len(values))
    np.testing.assert_array_equal(function(np.array([1.0])), values + values)


def test_equal_constants_are_one_vector_in_memory():
    """Of a row, up to four lanes; wider vectors are made of one number as they are used."""

    def record(x, y):
        return (x + 0.1) * y + 0.1 * x, (y - 0.3) * x

    text = compiled(record, 2, 2, lanes=4)[2]
    assert text.count("!invariant.load") >= 3 and "@part.constants = internal constant [2 x <4 x double>]" in text
    assert "@part.constants" not in compiled(record, 2, 2, lanes=8)[2]


def test_a_trace_of_constants_alone():
    function, _, _ = compiled(lambda x: [1.5, 0.0], 1, 2)
    np.testing.assert_array_equal(function(np.zeros((5, 1))), np.tile([1.5, 0.0], (5, 1)))


def test_nan_and_infinity_keep_their_meaning():
    function, _, _ = compiled(lambda x, y: [x - y, x * y, 1.0 / x, x + y, x.sqrt()], 2, 5)
    with np.errstate(all="ignore"):
        rows = function(np.array([[np.inf, np.inf], [np.inf, 0.0], [0.0, 1.0], [np.nan, 1.0], [-1.0, 2.0]]))
    assert np.isnan(rows[0, 0]) and np.isnan(rows[1, 1]) and rows[2, 2] == np.inf and np.isnan(rows[4, 4])
    assert np.isnan(rows[3]).all() and rows[1, 2] == 0.0


def test_fast_flags_never_promise_finite_numbers():
    """`nnan` or `ninf` would let the compiler drop what a NaN row must show."""
    _, _, text = compiled(nested, 2, 4)
    assert not re.search(r"= f\w+ [a-z ]*\b(nnan|ninf|fast|afn)\b", text)
