"""One state at a time: the short way gives what the gufunc gives, and refuses whatever else it is given."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import phistar as ps
from phistar.backends.machine import call_doors
from phistar.backends.machine.call_doors import layout_is_known, single_of

MODEL = ps.load("puma560")
HANDLE = ps.compile(ps.forward_dynamics.statement, MODEL)
FUNCTION, SINGLE = HANDLE.kernel.function, single_of(HANDLE.kernel.function)
Q, V, T = np.random.default_rng(0).normal(size=(3, 6))

pytestmark = pytest.mark.skipif(not layout_is_known(), reason="this Python holds arrays in another way")


def test_one_state_is_what_the_gufunc_makes_of_it():
    found = SINGLE(Q, V, T)
    assert type(found) is np.ndarray and found.dtype == np.float64 and found.flags.owndata and found.flags.c_contiguous
    assert np.array_equal(found, FUNCTION(Q, V, T))
    assert np.array_equal(HANDLE(Q, V, T), found)
    assert np.array_equal(ps.forward_dynamics(MODEL, Q, V, T), found)


OTHERS = {
    "too few": (Q, V),
    "too many": (Q, V, T, T),
    "nothing": (),
    "a list": (Q, V, list(T)),
    "a number": (Q, V, 0.0),
    "a batch": (Q[None], V, T),
    "another length": (Q, V, T[:5]),
    "single precision": (Q, V, T.astype(np.float32)),
    "integers": (Q, V, np.arange(6)),
    "another byte order": (Q, V, T.astype(">f8")),
    "strides": (Q, V, np.repeat(T, 2)[::2]),
    "backwards": (Q, V, T[::-1]),
    "no axis": (Q, V, np.array(1.0)),
    "traced": (Q, V, T.astype(object)),
    "a kind of array": (Q, V, T.view(np.recarray)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_anything_else_is_left_to_others(name):
    assert SINGLE(*OTHERS[name]) is NotImplemented


def test_read_only_arrays_and_results_of_results_are_plain_arrays():
    q = Q.copy()
    q.flags.writeable = False
    assert np.array_equal(SINGLE(q, V, SINGLE(Q, V, T)), FUNCTION(Q, V, FUNCTION(Q, V, T)))


def test_nothing_is_leaked_or_freed_too_often():
    double = np.dtype(np.float64)
    for call in (lambda: SINGLE(Q, V, T), lambda: SINGLE(Q, V)):
        call()
        gc.collect()
        before = [sys.getrefcount(x) for x in (Q, V, T, double, NotImplemented)]
        for _ in range(1000):
            call()
        assert [sys.getrefcount(x) for x in (Q, V, T, double, NotImplemented)] == before
    result, usual = SINGLE(Q, V, T), FUNCTION(Q, V, T)
    assert sys.getrefcount(result) == sys.getrefcount(usual)


def test_several_results_come_as_a_tuple():
    first, second = (ps.forward_dynamics_derivatives(MODEL, Q, V, T) for _ in range(2))
    batch = ps.forward_dynamics_derivatives(MODEL, Q[None], V, T)
    for one, two, many in zip(first, second, batch, strict=True):
        assert one.shape == (6, 6) and np.array_equal(one, two) and np.array_equal(one, many[0])


def test_threads_share_it():
    states = np.random.default_rng(1).normal(size=(400, 3, 6))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: SINGLE(*x), states))
    assert np.array_equal(found, FUNCTION(*np.moveaxis(states, 1, 0)))


def test_without_the_short_way_results_are_the_same(monkeypatch):
    """On a Python that holds arrays in another way there is only the long way."""
    monkeypatch.setattr(call_doors, "layout_is_known", lambda: False)
    handle = ps.compile(ps.inverse_dynamics.statement, MODEL)
    assert single_of(handle.kernel.function)(Q, V, T) is NotImplemented
    assert np.array_equal(handle(Q, V, T), ps.inverse_dynamics(MODEL, Q, V, T))


LONG = ps.chain(45)
STATES = np.random.default_rng(2).normal(size=(3, 9, 45))
LONG_FUNCTIONS = {
    "vectors": lambda: ps.compile(ps.forward_dynamics.statement, LONG).kernel.function,
    "a table": lambda: ps.compile(ps.mass_matrix.statement, LONG, matrix=True).kernel.function,
    "tables": lambda: _kernel_of("forward_dynamics_derivatives"),
    "a number": lambda: ps.compile(ps.kinetic_energy.statement, LONG).kernel.function,
}


def _kernel_of(name):
    getattr(ps, name)(LONG, *STATES[:, 0])
    return LONG.__dict__["_kernels"][name].function


@pytest.mark.parametrize("name", LONG_FUNCTIONS)
def test_robots_run_link_by_link_have_a_door_too(name):
    function = LONG_FUNCTIONS[name]()
    given = STATES[: function.nin]
    for arrays in (given[:, 0], given, given[:, :1]):
        found, expected = single_of(function)(*arrays), function(*arrays)
        pairs = zip(found, expected, strict=True) if function.nout > 1 else [(found, expected)]
        for x, y in pairs:
            assert type(x) is np.ndarray and x.shape == np.shape(y) and np.array_equal(x, y)
    assert single_of(function)(*given[:-1, 0]) is NotImplemented
    assert single_of(function)(*given[:, 0, :-1]) is NotImplemented


def test_robots_of_other_lengths_share_no_door():
    for model in (LONG, ps.chain(46), LONG):
        q, v, tau = np.random.default_rng(3).normal(size=(3, model.nv))
        handle = ps.compile(ps.forward_dynamics.statement, model)
        assert np.allclose(ps.inverse_dynamics(model, q, v, single_of(handle.kernel.function)(q, v, tau)), tau)
