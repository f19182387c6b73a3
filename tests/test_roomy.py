"""What is compiled has room on the stack, whoever asks for it. The process that tries it may die: it is another one."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from phistar import roomy

FIRST_CALLS = """
import threading, numpy as np, phistar as ps
long, arm = ps.chain(37), ps.load("freeflyer")
q, p, found = long.random(0), arm.random(0), []
def work():
    found.extend(ps.forward_dynamics_derivatives(long, q, q, q))
    found.append(ps.forward_dynamics(arm, p, np.ones(arm.nv), np.zeros(arm.nv)))
    found.append(ps.rollout(arm, p, np.ones(arm.nv), np.zeros((4, arm.nv)), 1e-3, 4).q)
    for rows in (60, 120, 230, 470, 3000):  # at most, just below what goes to the heap, and far beyond
        found.append(ps.compile(lambda x: np.sin(x) + x[-1], arm, rows={"x": rows})(np.ones(rows)))
threading.stack_size(64 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert len(found) == 10 and all(np.isfinite(x).all() for x in found)
"""


NESTED = """
import threading, numpy as np, phistar as ps
arm, found = ps.chain(3), []
q, x = arm.random(0), np.ones(3)
def nested(A, times):
    made = A.D
    for k in range(times):
        made = (A.mass if k % 2 else A.D) + A.D @ made.inv @ A.D
    return made
def work():
    for times in (4, 30, 45):
        e = nested(ps.algebra(arm), times)
        told = e.show(), e.latex(), str(e.derivation()), str(e.algorithm()), e.cost().total, e.T.inv == e.inv.T
        assert all(told) and e.equals(e.T).proved and str(e.equals(e)), told
        for value in (e.apply(q, x), ps.compile(e)(q, x), nested(ps.algebra({"a": arm}).a, times).apply({"a": q}, x)):
            assert np.allclose(value, e.dense(q) @ x)
        found.append(e)
threading.stack_size(64 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert len(found) == 3
"""


@pytest.mark.slow
@pytest.mark.parametrize("program", [FIRST_CALLS, NESTED], ids=["first calls", "nested statements"])
def test_a_thread_with_64_kb_of_stack_compiles_and_answers(program):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PHISTAR_CACHE": "off"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_within_such_a_thread_no_other_is_taken_and_settings_of_the_caller_hold():
    def inside():
        return threading.get_ident() == roomy.with_room(threading.get_ident), np.geterr()["divide"]

    with np.errstate(divide="raise"):
        assert roomy.with_room(inside) == (True, "raise")


def test_work_is_done_on_another_thread_and_what_it_raises_is_raised_here():
    assert roomy.with_room(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        roomy.with_room(lambda: 1 // 0)


def test_the_stack_of_other_threads_stays_as_large_as_it_was():
    before = threading.stack_size(512 * 1024)
    try:
        roomy.with_room(lambda: None)
        assert threading.stack_size() == 512 * 1024
    finally:
        threading.stack_size(before)


def test_where_no_thread_is_to_be_had_the_caller_does_the_work_itself(monkeypatch):
    asked = []

    def refuses(self):
        asked.append(threading.stack_size())
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuses)
    assert roomy.with_room(threading.get_ident) == threading.get_ident()
    assert asked[0] == roomy.ROOM and asked[-1] == roomy.LEAST == min(asked)
