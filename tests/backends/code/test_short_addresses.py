"""Places told from nearby pointers are the same places, in fewer bytes."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code import packed
from phistar.backends.code.packed import module_text
from phistar.backends.code.short_addresses import POINTERS, REACH, nearby
from phistar.backends.kernels import F64, I64, Let, Store, Value, vector
from phistar.backends.machine.jit import compile_object, gufunc, host, load_object
from phistar.backends.traces.trace import Tape, finish

STATED = ps.forward_dynamics.statements_for(ps.load("puma560"), ())[0]


def text(lanes, long, monkeypatch):
    monkeypatch.setattr(packed, "DECODED", long)
    trace, _, signature = STATED.cheapest()
    return module_text(trace, signature, lanes, host().fma), signature


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_results_stay_what_they_are_to_the_bit(lanes, monkeypatch):
    given, found = np.random.default_rng(0).normal(size=(3, 10, 6)), []
    for long in (0, 10**6):
        module, signature = text(lanes, long, monkeypatch)
        assert ("ptrmask" in module) == (long == 0)
        function = gufunc(load_object(compile_object(module, host())), signature, "long" if long else "short", "a test")
        found.append(function(*given))
    assert np.array_equal(*found)


@pytest.mark.skipif(
    not host().triple.startswith("x86_64"), reason="addresses of other processors are as long as others"
)
def test_long_code_becomes_shorter(monkeypatch):
    """The body's own code: what stands around it, in every kernel, is left out of the count."""
    tape = Tape()
    (first, *_) = tape.inputs((18,))
    around = module_text(finish(tape, [first] * 6), STATED.cheapest()[2], 4, host().fma)
    rest, near, far = (
        len(compile_object(module, host()))
        for module in (around, *(text(4, long, monkeypatch)[0] for long in (0, 10**6)))
    )
    assert near - rest < 0.97 * (far - rest)


def told(statement):
    """The pointer and the offset of a place."""
    match statement:
        case Let(operation="read", operands=[pointer], detail=(offset, _)):
            return pointer.name, offset
        case Let(operands=[pointer, offset]):
            return pointer.name, offset.name
    return statement.place.name, statement.offset


def test_every_place_is_told_once_from_its_own_window():
    rng, made = np.random.default_rng(0), []
    places = [(str(rng.choice(["in", "out", "scratch"])), 32 * int(rng.integers(200))) for _ in range(500)]
    for number, (memory, place) in enumerate(places):
        pointer, target = Value(memory, F64.to), Value(f"x{number}", vector(4))
        ways = (
            Let(target, "read", (pointer,), (place, 32)),
            Store(Value(0.0, vector(4)), pointer, 32, offset=place),
            Let(Value(f"x{number}", F64.to), "bytes", (pointer, Value(place, I64))),
        )
        made.append(ways[number % 3])
    made = nearby(made, ("in", "out", "scratch"), F64.to)
    opening, rest = made[: 2 * POINTERS], made[2 * POINTERS :]
    middles = {x.target.name.removesuffix(".p"): told(x)[1] for x in opening if x.operation == "bytes"}
    assert len(middles) == POINTERS and len(rest) == 500
    for line, (memory, place) in zip(rest, places, strict=True):
        pointer, offset = told(line)
        if pointer in middles:
            assert pointer.startswith(f"{memory}.") and abs(offset) <= REACH // 2
        assert middles.get(pointer, 0) + offset == place
