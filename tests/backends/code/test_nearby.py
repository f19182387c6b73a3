"""Places told from nearby pointers are the same places, in fewer bytes."""

import re

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code import packed
from phistar.backends.code.nearby import POINTERS, REACH, nearby
from phistar.backends.code.packed import module_text
from phistar.backends.machine.jit import compile_object, gufunc, host, load_object

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
        assert ("near" in module) == (long == 0)
        function = gufunc(load_object(compile_object(module, host())), signature, "long" if long else "short", "a test")
        found.append(function(*given))
    assert np.array_equal(*found)


@pytest.mark.skipif(
    not host().triple.startswith("x86_64"), reason="addresses of other processors are as long as others"
)
def test_long_code_becomes_shorter(monkeypatch):
    near, far = (len(compile_object(text(4, long, monkeypatch)[0], host())) for long in (0, 10**6))
    assert near < 0.97 * far


def test_every_place_is_told_once_from_its_own_window():
    rng = np.random.default_rng(0)
    places = [(str(rng.choice(["in", "out", "scratch"])), 32 * int(rng.integers(200))) for _ in range(500)]
    lines = [f"  %x{i} = getelementptr i8, ptr %{m}, i64 {p}" for i, (m, p) in enumerate(places)]
    head, *made = nearby("\n".join(["define void @f() {", *lines, "}"])).splitlines()
    assert head == "define void @f() {" and made[-1] == "}" and len(made) == 2 * POINTERS + 501
    middles = dict(re.findall(r"(%\S+)\.p = getelementptr i8, ptr %\w+, i64 (\d+)", "\n".join(made)))
    for line, (memory, place) in zip(made[2 * POINTERS :], places, strict=False):
        start, offset = re.search(r"ptr (%\S+), i64 (-?\d+)$", line).groups()
        if start in middles:
            assert start.startswith(f"%{memory}.") and abs(int(offset)) <= REACH // 2
        assert int(middles.get(start, 0)) + int(offset) == place
