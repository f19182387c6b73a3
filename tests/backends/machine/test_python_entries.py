"""Plain batches: the short way gives what the gufunc gives, keeps nothing, and leaves all else to NumPy."""

import gc
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import phistar as ps
from phistar.backends.machine.call_doors import layout_is_known, single_of
from phistar.backends.machine.python_entries import HAS_FLAGS, MOST

MODEL = ps.load("puma560")
Q, V, T = np.random.default_rng(0).normal(size=(3, 13, 6))
ps.forward_dynamics_derivatives(MODEL, Q, V, T)
VECTORS = ps.compile(ps.forward_dynamics.statement, MODEL).kernel.function
TABLES = MODEL.__dict__["_kernels"]["forward_dynamics_derivatives"].function
TABLE = ps.compile(ps.mass_matrix.statement, MODEL, matrix=True).kernel.function
NUMBERS = ps.compile(ps.kinetic_energy.statement, MODEL).kernel.function

pytestmark = pytest.mark.skipif(not (layout_is_known() and HAS_FLAGS), reason="there is only the long way here")


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("function", [VECTORS, TABLES, TABLE, NUMBERS])
def test_a_batch_is_what_the_gufunc_makes_of_it(function, count):
    given = [x[:count] for x in (Q, V, T)[: function.nin]]
    found, expected = single_of(function)(*given), function(*given)
    pairs = zip(found, expected, strict=True) if function.nout > 1 else [(found, expected)]
    for x, y in pairs:
        assert type(x) is np.ndarray and x.dtype == np.float64 and x.flags.c_contiguous and x.flags.writeable
        assert x.shape == y.shape and np.array_equal(x, y)


def test_rows_may_be_apart_and_read_only():
    wide = np.concatenate([Q, V, T], axis=-1)
    wide.flags.writeable = False
    rows = wide[::-2, :6], wide[::-2, 6:12], wide[::-2, 12:]
    assert np.array_equal(single_of(VECTORS)(*rows), VECTORS(*rows))


OTHERS = {
    "no states": (Q[:0], V[:0], T[:0]),
    "fewer rows": (Q, V, T[:5]),
    "one row for all": (Q, V, T[:1]),
    "a vector for all": (Q, V, T[0]),
    "three axes": (Q[None], V[None], T[None]),
    "another length": (Q, V, T[:, :5]),
    "single precision": (Q, V, T.astype(np.float32)),
    "another byte order": (Q, V, T.astype(">f8")),
    "columns": (Q, V, np.asfortranarray(T)),
    "backwards": (Q, V, T[:, ::-1]),
    "a list": (Q, V, T.tolist()),
    "traced": (Q, V, T.astype(object)),
    "a kind of array": (Q, V, T.view(np.recarray)),
    "too few": (Q, V),
    "enough for threads": (np.zeros((MOST, 6)),) * 3,
}


@pytest.mark.parametrize("name", OTHERS)
def test_anything_else_is_left_to_numpy(name):
    assert single_of(VECTORS)(*OTHERS[name]) is NotImplemented


@pytest.mark.parametrize("value", [np.inf, 1e308])
def test_what_is_invalid_or_too_large_is_said_by_numpy_and_spoils_its_own_row(value):
    tau = T.copy()
    tau[3] = value
    assert single_of(VECTORS)(Q, V, tau) is NotImplemented
    with pytest.warns(RuntimeWarning, match="encountered in"):
        found = ps.forward_dynamics(MODEL, Q, V, tau)
    others = np.arange(len(Q)) != 3
    assert np.array_equal(found[others], ps.forward_dynamics(MODEL, Q, V, T)[others])
    assert not np.isfinite(found[3]).all()


def test_what_was_invalid_before_is_no_concern():
    with np.errstate(all="ignore"):
        np.sqrt(np.full(3, -1.0))
        np.float64(1.0) / np.zeros(3)
    assert single_of(VECTORS)(Q, V, T) is not NotImplemented


def test_a_nan_is_handed_on_in_silence():
    tau = T.copy()
    tau[2] = np.nan
    with np.errstate(all="raise"):
        found = ps.forward_dynamics(MODEL, Q, V, tau)
    assert np.isnan(found[2]).all() and np.isfinite(found[[0, 1, 3]]).all()


def test_several_results_begin_on_a_line_of_the_cache_and_stay_when_the_others_go():
    first, *others = single_of(TABLES)(Q, V, T)
    kept = first.copy()
    assert first.ctypes.data % 64 == 0
    assert all(x.base is first.base for x in others)
    del others
    again = single_of(TABLES)(V, Q, T)
    assert np.array_equal(first, kept) and not any(np.shares_memory(first, x) for x in again)


def test_nothing_is_leaked_or_freed_too_often():
    spoiled = np.full_like(T, np.inf)
    double = np.dtype(np.float64)
    for function in (VECTORS, TABLES):
        for given in ((Q, V, T), (Q, V, T[:1]), (Q, V, spoiled)):
            single_of(function)(*given)
            gc.collect()
            before = [sys.getrefcount(x) for x in (*given, double, NotImplemented)]
            tracemalloc.start()
            for _ in range(200):
                single_of(function)(*given)
            kept, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert [sys.getrefcount(x) for x in (*given, double, NotImplemented)] == before
            assert kept < 10_000  # bytes; one call's results are 600 and more


def test_threads_share_it():
    states = np.random.default_rng(1).normal(size=(40, 3, 50, 6))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: single_of(VECTORS)(*x), states))
    assert np.array_equal(found, VECTORS(*np.moveaxis(states, 1, 0)))
