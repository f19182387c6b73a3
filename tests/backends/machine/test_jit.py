"""Machine code in this process: it lives as long as what was made of it, and no longer."""

import gc
import weakref

import numpy as np
import pytest

import phistar as ps
from phistar.backends.kernel import Kernel
from phistar.backends.machine.call_doors import single_of
from phistar.backends.machine.jit import compile_object, host, objects_of

STATE = np.random.default_rng(0).normal(size=(3, 2))


def test_the_log_tells_what_is_compiled(caplog):
    with caplog.at_level("DEBUG", "phistar"):
        code = compile_object("define void @loop() {\n  ret void\n}", host())
    assert f"{len(code)} bytes for {host().cpu}" in caplog.text


def made():
    model = ps.planar_chain(2, length=0.123)
    ps.forward_dynamics(model, *STATE)
    function = ps.compile(ps.forward_dynamics.statement, model).kernel.function
    return model, function, function(*STATE)


def test_code_is_given_back_with_the_robot_it_was_made_for():
    model, function, _ = made()
    ps.mass_matrix(model, STATE[0])
    ps.forward_dynamics_derivatives(model, *STATE)
    kernels = [x[0] for x in model._kernels.values() if isinstance(x, tuple) and isinstance(x[0], Kernel)]
    functions = [function, *(kernel.function for kernel in kernels)]
    codes = [weakref.ref(objects_of(each).code) for each in functions]
    assert len(codes) >= 3 and all(code() is not None for code in codes)
    del model, function, functions, kernels
    gc.collect()
    assert [code() for code in codes] == [None] * len(codes)


@pytest.mark.parametrize("way", [lambda function: function, single_of], ids=["gufunc", "one state"])
def test_a_function_alone_keeps_its_code(way):
    model, function, expected = made()
    kept, code = way(function), weakref.ref(objects_of(function).code)
    del model, function
    gc.collect()
    assert code() is not None
    np.testing.assert_array_equal(kept(*STATE), expected)


@pytest.mark.parametrize("function", [np.add, np.frompyfunc(abs, 1, 1), abs, None], ids=str)
def test_other_functions_are_refused(function):
    with pytest.raises(TypeError, match="not a gufunc"):
        objects_of(function)
