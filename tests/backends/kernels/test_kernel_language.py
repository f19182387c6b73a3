"""The kernel language: what is written down is what machine code does, and what breaks a rule is refused."""

import ctypes

import numpy as np
import pytest

from phistar.backends.kernels import (
    F64,
    I1,
    I64,
    U32,
    Code,
    Let,
    Module,
    Value,
    copy_function,
    copy_one_function,
    kernel_ir,
    llvm_text,
    show,
    transpose_vectors,
    validate,
)
from phistar.backends.kernels.copies import AT_ONCE
from phistar.backends.kernels.kernel_ir import OPERATIONS
from phistar.backends.kernels.validate import _RULES
from phistar.backends.machine.jit import compile_object, host, load_object
from phistar.errors import StatementError


def compiled(*codes):
    """The last of some functions as Python calls it, on arrays and whole numbers."""
    functions = [code.function if isinstance(code, Code) else code for code in codes]
    last = functions[-1]
    functions[-1] = kernel_ir.Func(last.name, last.parameters, last.body, inner=False)
    loaded = load_object(compile_object(llvm_text(Module(tuple(functions))), host()), last.name)
    address = loaded.address
    kinds = [ctypes.c_void_p if x.type.pointers else ctypes.c_int64 for x in last.parameters]
    call = ctypes.CFUNCTYPE(None, *kinds)(address)

    def function(*arguments):
        call(*(x.ctypes.data if isinstance(x, np.ndarray) else x for x in arguments))
        return loaded  # which must outlive the call

    return function


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize(("states", "count"), [(1, 1), (3, 2), (8, 3), (5, 7), (11, 16)])
@pytest.mark.parametrize("strided", [False, True])
def test_rows_are_packed_to_lanes_and_back(lanes, states, count, strided):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(states, 2 * count))[:, :: 2 if strided else 1][:, :count]
    places = rng.permutation(count).astype(np.uint32)
    functions = {name: compiled(copy_function(name, lanes, placed=True)) for name in ("pack", "unpack")}
    back = np.zeros((states, count))
    for first in range(0, states, lanes):
        work = np.full((count, lanes), np.nan)
        table = (lanes * places).astype(np.uint32)
        given = (rows.strides[0], rows.strides[1] * count, rows.strides[1], count, count, table, work)
        functions["pack"](rows, *given, first, states - 1)
        chosen = np.minimum(first + np.arange(lanes), states - 1)
        assert np.array_equal(work[places].T, rows[chosen])
        given = (8 * count, 8 * count, 8, count, count, table, work)
        functions["unpack"](back, *given, first, states - 1)
    assert np.array_equal(back, rows)


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("count", [AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE - 1])
def test_one_state_fills_every_lane(lanes, count):
    row, work, back = np.arange(float(count)), np.zeros((count, lanes)), np.zeros(count)
    compiled(copy_one_function("pack", lanes))(row, work, count)
    assert np.array_equal(work, np.repeat(row[:, None], lanes, axis=1))
    compiled(copy_one_function("unpack", lanes))(back, work, count)
    assert np.array_equal(back, row)


@pytest.mark.parametrize("side", [1, 2, 4])
def test_squares_are_transposed(side):
    code = Code("turn", x=F64.read, y=F64.to)
    rows = [code["x"].at(side * i).load(side) for i in range(side)]
    for i, column in enumerate(transpose_vectors(rows)):
        code["y"].at(side * i).store(column)
    x, y = np.random.default_rng(0).normal(size=(side, side)), np.zeros((side, side))
    compiled(code)(x, y)
    assert np.array_equal(y, x.T)


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, 5, 1), (0, 5, 2), (4, -1, -1), (3, 3, 1), (5, 2, 1), (2, 5, -1)]
)
@pytest.mark.parametrize("known", [True, False])
def test_a_loop_takes_the_turns_of_range(start, stop, step, known):
    code = Code("count", x=F64.to, start=I64, stop=I64)
    bounds = (start, stop) if known else (code["start"], code["stop"])
    with code.loop(*bounds, step) as i:
        place = code["x"].at(i)
        place.store(place.load() + 1.0)
    x, expected = np.zeros(8), np.zeros(8)
    expected[list(range(start, stop, step))] = 1.0
    compiled(code)(x, start, stop)
    assert np.array_equal(x, expected)


def test_branches_and_cases_are_taken_by_their_values():
    code = Code("choose", x=F64.to, k=I64)
    code.branch(code["k"] < 2, lambda: code["x"].store(1.0), lambda: code["x"].store(2.0))
    code.switch(code["k"], [lambda: code["x"].at(1).store(3.0), lambda: code["x"].at(1).store(4.0)])
    function, found = compiled(code), []
    for k in range(3):
        x = np.zeros(2)
        function(x, k)
        found.append(x.tolist())
    assert found == [[1.0, 3.0], [1.0, 4.0], [2.0, 0.0]]


@pytest.mark.parametrize("entries", [3, 100_000])
def test_working_memory_is_aligned_and_as_long_as_it_is_asked_for(entries):
    code = Code("sum", x=F64.to, n=I64)
    known, asked = code.room(entries, 64), code.room(code["n"], 128)
    for place in (known, asked):
        with code.loop(0, code["n"]) as i:
            place.at(i).store(i.floating())
    with code.loop(0, code["n"]) as i:
        code["x"].store(code["x"].load() + known.at(i).load() + asked.at(i).load())
    x = np.zeros(1)
    compiled(code)(x, entries)
    assert x[0] == entries * (entries - 1)


def test_lanes_are_taken_and_put():
    code = Code("swap", x=F64.to)
    x = code["x"].load(2)
    code["x"].store(code.gather([x.take(1), x.take(0)]) + code.number(1.0, 2))
    given = np.array([1.0, 2.0])
    compiled(code)(given)
    assert given.tolist() == [3.0, 2.0]


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_a_loop_hands_values_on(turns):
    code = Code("sums", x=F64.to, n=I64)

    def turn(i, values):
        return [values[0] + i.floating(), values[1] + values[0]]

    after = code.carry(0, code["n"], [code.number(1.0), code.number(2.0)], turn)
    for place, value in enumerate(after):
        code["x"].at(place).store(value)
    x, expected = np.zeros(2), [1.0, 2.0]
    for i in range(turns):
        expected = [expected[0] + i, expected[1] + expected[0]]
    compiled(code)(x, turns)
    assert x.tolist() == expected


def test_a_value_is_joined_from_two_blocks():
    code = Code("join", x=F64.to, k=I64)
    test, (one, other, made) = code["k"] < 2, (Value(name, F64) for name in ("one", "other", "made"))
    doubled = Let(one, "fadd", (Value(1.0, F64), Value(1.0, F64)))
    halved = Let(other, "fdiv", (Value(1.0, F64), Value(2.0, F64)))
    code.put(kernel_ir.If(test.value, (doubled,), (halved,), (kernel_ir.Joined(made, one, other),)))
    code.put(kernel_ir.Store(made, code["x"].value))
    function, x = compiled(code), np.zeros(1)
    assert [(function(x, k), x[0])[1] for k in (1, 2)] == [2.0, 0.5]


def test_functions_give_values_and_loops_are_left():
    """The first number from n on that seven divides, found by a loop that is skipped through and left."""
    inner, n, at = Code("divides", k=I64), Value("n", I64), Value("at", I64.to)
    inner.result = I1
    inner.give((inner["k"] % 7).same(0))
    k, found, following = (Value(name, kind) for name, kind in (("k", I64), ("found", I1), ("following", I64)))
    body = (
        Let(at, "local", ()),
        kernel_ir.Store(n, at),
        kernel_ir.While(
            (Let(k, "load", (at,), 8), Let(found, "call", (k,), "divides")),
            Value(True, I1),
            (kernel_ir.If(found, (kernel_ir.Break(),), (kernel_ir.Continue(),)),),
            (Let(following, "add", (k, Value(1, I64))), kernel_ir.Store(following, at)),
        ),
        Let(Value("last", I64), "load", (at,), 8),
        Let(Value("float", F64), "float", (Value("last", I64),)),
        kernel_ir.Store(Value("float", F64), Value("x", F64.to)),
    )
    x, outer = np.zeros(1), kernel_ir.Func("search", (Value("x", F64.to), n), body)
    compiled(inner, outer)(x, 15)
    assert x[0] == 21.0


def test_places_are_told_in_bytes_from_a_pointer_on():
    x = np.arange(4.0)
    made, pointer = Value("made", F64), Value("x", F64.to)
    body = (Let(made, "read", (pointer,), (16, 8)), kernel_ir.Store(made, pointer, offset=8))
    compiled(kernel_ir.Func("move", (pointer,), body))(x)
    assert x.tolist() == [0.0, 2.0, 2.0, 3.0]


def broken(*statements):
    return kernel_ir.Func("broken", (Value("x", F64.read), Value("n", I64)), statements)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (Let(Value("a", I64), "add", (Value("b", I64), Value(1, I64))), "a: i64 = b \\+ 1 is not known"),
        (Let(Value("n", I64), "add", (Value("n", I64), Value(1, I64))), "is defined twice"),
        (Let(Value("a", F64), "add", (Value("n", I64), Value(1, I64))), "does not fit together"),
        (Let(Value("a", F64), "twist", (Value("n", I64),)), "does not fit together"),
        (kernel_ir.Store(Value(1.0, F64), Value("x", F64.read)), "cannot be written there"),
        (kernel_ir.Call("nowhere", ()), "calls what there is not"),
        (kernel_ir.For(Value("i", I64), Value(0, I64), Value("n", I64), 0, ()), "never ends"),
        (kernel_ir.If(Value("n", I64), ()), "is no test"),
        (kernel_ir.Break(), "stands in no loop"),
        (kernel_ir.Return(Value("n", I64)), "is not what the function gives"),
        (Let(Value("a", F64.read), "table", (), "nowhere"), "is of a table that there is not"),
        (Let(Value("a", F64), "fadd", (Value(1.0, F64), Value(1.0, F64)), "quick"), "does not fit together"),
    ],
)
def test_what_breaks_a_rule_is_refused(statement, reason):
    with pytest.raises(StatementError, match=f"broken: .*{reason}"):
        validate(Module((broken(statement),)))


def test_what_is_defined_in_a_block_is_not_known_behind_it():
    inside = Let(Value("a", I64), "add", (Value("n", I64), Value(1, I64)))
    after = Let(Value("b", I64), "add", (Value("a", I64), Value(1, I64)))
    test = Let(Value("c", I1), "slt", (Value("n", I64), Value(1, I64)))
    with pytest.raises(StatementError, match="is not known"):
        validate(Module((broken(test, kernel_ir.If(Value("c", I1), (inside,)), after),)))


def test_a_call_gives_what_the_function_takes():
    inner = Code("inner", x=F64.to)
    code = Code("outer", x=F64.read)
    code.call("inner", code["x"])
    with pytest.raises(StatementError, match="does not give what inner takes"):
        validate(Module((inner.function, code.function)))


def test_a_function_is_shown_statement_by_statement():
    code = Code("half", x=F64.to, table=U32.read, n=I64)
    with code.loop(0, code["n"]) as i:
        place = code["x"].at(code["table"].at(i).load())
        place.store(place.load() * 0.5)
    assert show(code.function).splitlines() == [
        "half(x: f64*, table: const u32*, n: i64)",
        "  for t1 in 0 … n by 1",
        "    t2: const u32* = table + t1",
        "    t3: u32 = [t2]",
        "    t4: i64 = wide(t3)",
        "    t5: f64* = x + t4",
        "    t6: f64 = [t5]",
        "    t7: f64 = t6 * 0.5",
        "    [t5] = t7",
    ]


def test_every_operation_that_the_language_lists_has_a_rule_and_no_other():
    assert set(_RULES) == OPERATIONS
