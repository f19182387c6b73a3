"""Products that vanish into sums: which ones, and that the numbers stay what they are."""

import numpy as np

from phistar.backends.code.packed import module_text
from phistar.backends.machine.jit import Signature, compile_object, gufunc, host, load_object
from phistar.backends.traces.order import fused_products
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import ADD, MUL, SUB, Tape, finish


def traced(function, count):
    tape = Tape()
    return finish(tape, list(function(*tape.inputs((count,)))))


def test_a_product_used_once_is_fused():
    trace = traced(lambda x, y, z: (x * y + z, x * z - y * z), 3)
    found = fused_products(trace)
    assert len(found) == 2 == len(set(found.values()))  # of two products of its own a sum takes one
    assert all(trace.code[user][0] in (ADD, SUB) and trace.code[product][0] == MUL for user, product in found.items())


def test_a_product_that_two_sums_use_is_fused_into_both():
    trace = traced(lambda x, y, z: (x * y + z, z - x * y), 3)
    found = fused_products(trace)
    assert len(found) == 2 and len(set(found.values())) == 1


def test_a_product_that_is_wanted_itself_is_computed():
    assert fused_products(traced(lambda x, y, z: (x * y, x * y + z, x * y - z), 3)) == {}
    assert fused_products(traced(lambda x, y, z: (x * y + z, (x * y) * z), 3)) == {}
    assert fused_products(traced(lambda x, y: (x * y + x * y,), 2)) == {}


def test_a_sum_takes_in_one_product():
    trace = traced(lambda x, y, z: (x * y + z * z, x * y - z), 3)
    (product,) = fused_products(trace).values()
    assert trace.code[product][1] == trace.code[product][2]  # z² is the first sum's own; x y is computed for both
    found = fused_products(traced(lambda x, y, z: (x * y + y * z, x * y - y * z, x * y + z, y * z + x), 3))
    assert len(found) == len(set(found)) and len(set(found.values())) == 1


def test_fused_sums_have_the_value_of_the_instructions():
    def function(x, y, z, w):
        p = x * y
        return p + z, z - p, p - z, w + p, z * 3.0 + w, x * 2.0 - z, w - x * 2.0

    trace, target = traced(function, 4), host()
    assert len(fused_products(trace)) >= 5
    signature = Signature((4,), ((len(trace.outputs),),))
    code = compile_object(module_text(trace, signature, target.lanes, target.fma), target)
    run = gufunc(load_object(code), signature, "fused", "a test")
    points = np.random.default_rng(0).normal(size=(11, 4))
    expected = np.array([replay(trace, list(point)) for point in points], dtype=float)
    np.testing.assert_allclose(run(points), expected, rtol=0, atol=1e-15 * 20)
