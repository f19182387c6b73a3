"""WebAssembly of every construct of the kernel language that has one lane does what machine code does."""

import json
import subprocess

import numpy as np
import pytest

from phistar.backends.kernels import (
    F64,
    I1,
    I64,
    TABLES,
    U32,
    Func,
    Let,
    Store,
    Table,
    Unit,
    Value,
    kernel_ir,
    wasm_module,
)
from phistar.errors import StatementError
from tests.backends.kernels.test_kernel_language import compiled
from tests.export.test_export_wasm import NODE, needs_node

GIVEN, OUT = Value("given", F64.read), Value("out", F64.to)
RUN = """
const fs = require("fs"), given = %s;
WebAssembly.instantiate(fs.readFileSync("m.wasm"), { math: { sin: Math.sin, cos: Math.cos } }).then(({ instance }) => {
  const { main, memory, free } = instance.exports, at = Math.ceil(free.value / 8) * 8;
  const [numbers, out] = [[at, given.length], [at + 800, %d]].map((x) => new Float64Array(memory.buffer, ...x));
  numbers.set(given);
  main(at, at + 800);
  console.log(JSON.stringify(Array.from(out)));
});
"""


def whole(number):
    return Value(number, I64)


def let(name, kind, operation, *operands, detail=None):
    return Let(Value(name, kind), operation, operands, detail)


def put(value, entry, *before):
    """What makes a value, and the value to an entry of the results."""
    return [*before, Store(value, OUT, offset=8 * entry)]


def main(*body):
    return Func("main", (GIVEN, OUT), tuple(x for each in body for x in each), inner=False)


def carried_loop():
    """Σ k·x over k = 0, 2, 4, … with the sum handed on, and the same downwards."""
    body = []
    for entry, (start, stop, step) in enumerate([(0, 9, 2), (5, -1, -1), (3, 3, 1)]):
        k, total, term, nxt, after = (Value(f"{n}{entry}", F64) for n in ("k", "total", "term", "next", "after"))
        index = Value(f"i{entry}", I64)
        turn = (
            Let(k, "float", (index,)),
            Let(Value(f"x{entry}", F64), "read", (GIVEN,), (0, 8)),
            Let(term, "fmul", (k, Value(f"x{entry}", F64))),
            Let(nxt, "fadd", (total, term)),
        )
        hand = kernel_ir.Carried(total, Value(1.5, F64), nxt, after)
        loop = kernel_ir.For(index, whole(start), whole(stop), step, turn, (hand,))
        body.append([loop, Store(after, OUT, offset=8 * entry)])
    return main(*body), 3


def squares():
    """Where squares of three begin of eight and of three."""
    body = []
    for entry, stop in enumerate((8, 3)):
        index, at, x = Value(f"i{entry}", I64), Value(f"at{entry}", F64.to), Value(f"x{entry}", F64)
        before, then = Value(f"before{entry}", F64), Value(f"then{entry}", F64)
        inner = (
            Let(at, "at", (OUT, index)),
            Let(before, "load", (at,), 8),
            Let(x, "float", (index,)),
            Let(then, "fadd", (before, x)),
            Store(then, at),
            Store(Value(1.0, F64), at, offset=80),
        )
        clear = kernel_ir.Clear(OUT, whole(8 * 20)) if entry == 0 else None
        body.append([*([clear] if clear else []), kernel_ir.Squares(index, whole(stop), 3, inner)])
    return main(*body), 20


def branches():
    """Joined values, choices and cases."""
    body = []
    for entry in range(5):
        x, test, joined, index = (Value(f"{n}{entry}", t) for n, t in zip("xtji", (F64, I1, F64, I64), strict=True))
        read = Let(x, "read", (GIVEN,), (8 * entry, 8))
        root = let(f"r{entry}", F64, "sqrt", x)
        less = let(f"l{entry}", F64, "fneg", x)
        choice = kernel_ir.If(test, (root,), (less,), (kernel_ir.Joined(joined, root.target, less.target),))
        cases = tuple((Store(Value(10.0 * k, F64), OUT, offset=8 * (5 + entry)),) for k in range(3))
        number = Let(index, "add", (whole(entry), whole(-1)))
        body.append([read, Let(test, "ogt", (x, Value(0.0, F64))), choice, Store(joined, OUT, offset=8 * entry)])
        body.append([Store(x, OUT, offset=8 * (5 + entry)), number, kernel_ir.Switch(index, cases)])
    return main(*body), 10


def whole_numbers():
    """Every operation on whole numbers and truths that has a form."""
    body, entry = [], 0
    for operation in ("add", "sub", "mul", "sdiv", "srem", "and", "or", "xor", "shl"):
        made = let(f"w{entry}", I64, operation, whole(-29), whole(3))
        body.append(put(Value(f"f{entry}", F64), entry, made, let(f"f{entry}", F64, "float", made.target)))
        entry += 1
    for operation in ("slt", "sle", "sgt", "sge", "ult", "ule", "eq", "ne"):
        made = let(f"w{entry}", I1, operation, whole(-29), whole(3))
        chosen = let(f"f{entry}", F64, "select", made.target, Value(1.0, F64), Value(2.0, F64))
        body.append(put(chosen.target, entry, made, chosen))
        entry += 1
    return main(*body), entry


def floats():
    body = []
    for entry, operation in enumerate(("fadd", "fsub", "fmul", "fdiv", "copysign", "fneg", "fabs", "floor", "sqrt")):
        two = operation in ("fadd", "fsub", "fmul", "fdiv", "copysign")
        operands = [Value(2.75, F64), Value(-0.3, F64)][: 1 + two]
        made = let(f"x{entry}", F64, operation, *operands)
        body.append(put(made.target, entry, made))
    return main(*body), 9


CASES = {f.__name__: f for f in (carried_loop, squares, branches, whole_numbers, floats)}
NUMBERS = [4.0, -2.5, 0.25, 9.0, -1.0]


def run(units, count, folder):
    (folder / "m.wasm").write_bytes(wasm_module(units, "main"))
    (folder / "run.cjs").write_text(RUN % (json.dumps(NUMBERS), count))
    done = subprocess.run([NODE, "run.cjs"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.array(json.loads(done.stdout))


@needs_node
@pytest.mark.parametrize("case", CASES)
def test_constructs_do_what_machine_code_does(case, tmp_path):
    function, count = CASES[case]()
    expected = np.zeros(count)
    compiled(function)(np.array(NUMBERS), expected)
    assert np.array_equal(run([Unit((function,))], count, tmp_path), expected)
    assert len(set(expected)) > 2


@needs_node
def test_tables_of_tables_and_functions_of_another_unit(tmp_path):
    """Each unit's names are its own: both have a function `part` and a table `numbers`."""
    numbers = (
        Table("numbers", F64, (0.5, -7.25)),
        Table("short", U32, (3, 1)),
        Table("all", TABLES, ("numbers", "short")),
    )
    tables, places = Value("tables", TABLES), [Value(f"place{k}", kind) for k, kind in enumerate((F64.read, U32.read))]
    x, u, w, f = Value("x", F64), Value("u", U32), Value("w", I64), Value("f", F64)
    body = (
        Let(tables, "table", (), "all"),
        Let(places[0], "load", (tables,), 8),
        Let(x, "read", (places[0],), (8, 8)),
        Let(Value("second", TABLES), "at", (tables, whole(1))),
        Let(places[1], "load", (Value("second", TABLES),), 8),
        Let(Value("entry", U32.read), "at", (places[1], whole(1))),
        Let(u, "load", (Value("entry", U32.read),), 4),
        Let(w, "wide", (u,)),
        Let(f, "float", (w,)),
        Store(x, OUT),
        Store(f, OUT, offset=8),
    )
    there = Unit((Func("part", (OUT,), body),), numbers, "there_")
    room, sine = Value("room", F64.to), Value("sine", F64)
    own = Func("part", (OUT,), (Let(sine, "call", (Value(0.5, F64),), "sin"), Store(sine, OUT, offset=16)))
    calls = (
        Let(room, "room", (), (4, 8, "")),
        kernel_ir.Call("there_part", (OUT,)),
        kernel_ir.Call("part", (room,)),
        Let(Value("y", F64), "read", (room,), (16, 8)),
        Store(Value("y", F64), OUT, offset=16),
    )
    units = [there, Unit((own, main(calls)), (Table("numbers", F64, (9.0,)),))]
    assert run(units, 3, tmp_path) == pytest.approx([-7.25, 1.0, np.sin(0.5)], rel=1e-15)


def test_what_has_no_form_is_refused_with_a_sentence():
    x = let("x", F64, "fma", *(Value(2.0, F64),) * 3)
    with pytest.raises(StatementError, match="main: fma has no form in WebAssembly"):
        wasm_module([Unit((main(put(x.target, 0, x)),))], "main")
    y = let("y", F64.__class__("f64", 4), "every", Value(2.0, F64))
    with pytest.raises(StatementError, match="4 lanes; in WebAssembly"):
        wasm_module([Unit((main([y]),))], "main")
