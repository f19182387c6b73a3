"""Places told from nearby pointers are the same places, in fewer bytes."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code import packed
from phistar.backends.code.nearby import POINTERS, REACH, Address, nearby
from phistar.backends.code.packed import module_text
from phistar.backends.machine.jit import compile_object, gufunc, host, load_object
from phistar.backends.traces.trace import Tape, finish

STATED = ps.forward_dynamics.wanted(ps.load("puma560"), ())[0]


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


def test_every_place_is_told_once_from_its_own_window():
    rng = np.random.default_rng(0)
    places = [(str(rng.choice(["in", "out", "scratch"])), 32 * int(rng.integers(200))) for _ in range(500)]
    made = nearby([Address(f"x{i}", memory, place) for i, (memory, place) in enumerate(places)])
    opening, rest = made[: 2 * POINTERS], made[2 * POINTERS :]
    middles = {x.name.removesuffix(".p"): x.offset for x in opening if isinstance(x, Address)}
    assert len(middles) == POINTERS and len(rest) == 500
    for line, (memory, place) in zip(rest, places, strict=True):
        if line.pointer in middles:
            assert line.pointer.startswith(f"{memory}.") and abs(line.offset) <= REACH // 2
        assert middles.get(line.pointer, 0) + line.offset == place
