"""Packed kernels: every width, few and many entries, tails, strides and constants give what the trace gives."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code import packed
from phistar.backends.code.packed import PackedPlaces, module_text
from phistar.backends.code.straight_line import Body
from phistar.backends.kernels import vector
from phistar.backends.machine.jit import Signature, assembly, compile_object, dtype_of, gufunc, host, load_object
from phistar.backends.traces.solve import solve_symmetric
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import Tape, depth_first, finish

SHAPES = [((3,), ((2,),)), ((9, 8), ((2, 5), (6,))), ((1, 5), ((3, 3), (1,))), ((9, 4), ((4, 5), (7,), (2, 2)))]


def trace_of(rows, shapes):
    """Outputs that tell entries apart: sums of neighbours, every third one a constant."""
    tape = Tape()
    x = np.concatenate([tape.inputs((n,)) for n in rows])
    count = sum(int(np.prod(shape)) for shape in shapes)
    values = [float(i) if i % 3 == 2 else x[i % x.size] * 2.0 + x[(i + 1) % x.size] * x[0] for i in range(count)]
    return finish(tape, values)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("long", [0, 6000])
@pytest.mark.parametrize(("kind", "lanes"), [*(("f64", n) for n in (1, 2, 4, 8)), ("f32", 4), ("f32", 8), ("f32", 16)])
@pytest.mark.parametrize(("rows", "shapes"), SHAPES)
def test_packed_kernels_give_what_their_trace_gives(rows, shapes, kind, lanes, long, monkeypatch):
    """Blocks one by one, or several abreast as in long code."""
    monkeypatch.setattr(packed, "FAR_CODE", long)
    trace, signature, target = trace_of(rows, shapes), Signature(rows, shapes, kind=kind), host()
    code = compile_object(module_text(trace, signature, lanes, target.fma), target)
    function = gufunc(load_object(code), signature, "packed", "a test")
    rng, dtype = np.random.default_rng(0), dtype_of(kind)
    for count in (0, 1, 3, 4, 8, 13, 35):
        arrays = [rng.normal(size=(count, n)).astype(dtype) for n in rows]
        expected = _expected(trace, arrays, shapes)
        strided = [np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2] for x in arrays]
        for given in (arrays, strided):
            found = function(*given)
            found = found if isinstance(found, tuple) else (found,)
            rounding = 64 * np.finfo(dtype).eps
            assert all(np.allclose(x, y, rtol=0, atol=rounding) for x, y in zip(found, expected, strict=True))
            assert all(x.dtype == dtype for x in found)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_results_that_others_are_made_of_are_read_again_where_they_were_put(lanes):
    """Each entry is made of all before it, so that most wait in the memory of the results."""
    tape, target, signature = Tape(), host(), Signature((5,), ((6, 6), (3,)))
    x = list(tape.inputs((5,)))
    values = []
    for i in range(39):
        values.append(sum(((0.3 + k / 99) * y for k, y in enumerate(values)), x[i % 5] * x[(i + 1) % 5]))
    values = [*values[:30], values[3], values[7], *values[32:]]
    trace = finish(tape, values)
    code = compile_object(module_text(trace, signature, lanes, target.fma), target)
    function = gufunc(load_object(code), signature, "packed", "a test")
    given = np.random.default_rng(0).normal(size=(11, 5))
    for found, expected in zip(function(given), _expected(trace, [given], signature.outputs), strict=True):
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def _expected(trace, arrays, shapes):
    count = len(arrays[0])
    entries = replay(trace, np.concatenate(arrays, axis=-1).T)
    table = np.stack([np.broadcast_to(x, count) for x in entries], axis=-1)
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    return [part.reshape(count, *shape) for part, shape in zip(np.split(table, cuts, axis=-1), shapes, strict=True)]


def test_a_solution_made_from_its_last_row_on_waits_less_in_memory():
    """X⁻¹Y of seven rows: a column stays in registers where the first row comes last."""
    tape = Tape()
    matrix, right = tape.inputs((7, 7)), tape.inputs((7, 12))
    trace = finish(tape, list(solve_symmetric(np.triu(matrix) + np.triu(matrix, 1).T, right).reshape(-1)))
    places = PackedPlaces(vector(4), tuple(range(7 * 12)))
    rows, last = (Body("part", depth_first(trace, first), places, 4, True) for first in (False, True))
    assert last.traffic < 0.9 * rows.traffic


def test_a_plan_that_writes_less_and_reads_no_more_is_taken():
    def body(writes, reads):
        return SimpleNamespace(plan=SimpleNamespace(writes=writes, read_count=reads))

    others = iter([body(8, 6), better := body(8, 5), body(7, 6)])
    assert packed._fewer_writes(body(9, 5), lambda _: next(others)) is better


def test_the_last_entry_of_a_row_is_packed_as_a_whole_vector():
    """Halves would be waited for by whoever reads the whole."""
    target = host()
    if target.lanes != 4 or not target.triple.startswith("x86_64"):
        pytest.skip("vectors of four states are those of AVX2")
    tape = Tape()
    x = tape.inputs((5,))
    text = module_text(finish(tape, [x[0] + x[4]]), Signature((5,), ((1,),)), 4, target.fma)
    lines = assembly(text, target).split("\nblock:")[1].split(".Lfunc_end")[0].splitlines()
    stores = [line for line in lines if line.endswith("(%rsp)") and line.startswith("\tvmov")]
    assert len(stores) == 5 and all("%ymm" in line for line in stores)


def test_rows_make_again_what_is_read_once():
    """Products that wait for the end while registers are few."""
    tape = Tape()
    x = list(tape.inputs((20,)))
    known = [y.sin() for y in x]
    waiting = [a * b for a, b in pairwise(known)]
    total = sum(known, 0.0)
    trace = finish(tape, [total * total + (sum((w * w * total for w in waiting), 0.0))])
    places = PackedPlaces(vector(4), (0,))
    plain, sparing = (Body("part", trace, places, 4, True, sparing=again) for again in (False, True))
    assert len(sparing.plan.remade) > 0 == len(plain.plan.remade)
    assert len(sparing.slots) < len(plain.slots)
    target, signature = host(), Signature((20,), ((1,),))
    code = compile_object(module_text(trace, signature, target.lanes, target.fma), target)
    given = np.random.default_rng(0).normal(size=(9, 20))
    found = gufunc(load_object(code), signature, "packed", "a test")(given)
    np.testing.assert_allclose(found, _expected(trace, [given], signature.outputs)[0], rtol=1e-13)


def test_one_state_of_a_sparse_table_is_a_row_of_the_batch_to_the_sign_of_its_zeros():
    """Constants of a single state go to its row, not to packed memory: zeros, minus zeros, ones and what is made."""

    def table(x):
        fixed = np.full(60, -0.0)
        fixed[::7], fixed[1::5] = 2.5, 0.0
        return np.concatenate([np.zeros(90), x * x[::-1], fixed, np.sin(x)])

    made = ps.compile(table, ps.chain(2), rows={"x": 30})
    rows = np.random.default_rng(0).standard_normal((9, 30))
    batch = made(rows)
    np.testing.assert_allclose(batch, [table(x) for x in rows], atol=1e-15)
    for x, known in zip(rows, batch, strict=True):
        one = made(x)
        np.testing.assert_array_equal(one, known)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(known))
